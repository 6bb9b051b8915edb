"""Two lists aligned, against every subsequence there is."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base.alignment import align

LISTS = st.lists(st.sampled_from("abc"), max_size=7)


def common(a: list[str], b: list[str]) -> int:
    """Length of a longest common subsequence, by trying all."""
    for length in range(min(len(a), len(b)), 0, -1):
        inside = set(combinations(b, length))
        if any(one in inside for one in combinations(a, length)):
            return length
    return 0


@given(LISTS, LISTS)
def test_the_longest_common_subsequence(a: list[str], b: list[str]) -> None:
    pairs = align(a, b)
    assert all(a[mine] == b[theirs] for mine, theirs in pairs)
    assert [pair[0] for pair in pairs] == sorted({pair[0] for pair in pairs})
    assert [pair[1] for pair in pairs] == sorted({pair[1] for pair in pairs})
    assert len(pairs) == common(a, b)
