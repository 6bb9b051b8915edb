"""What rows take over from above and hand on upwards; parents come before their rows."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.call_tree.paths import (
    call_paths,
    call_paths_in_python,
    few_sums_below,
    innermost,
    innermost_in_python,
    rows_above,
    rows_above_in_python,
    sums_below,
    sums_below_in_python,
)
from kinetoscope.base.arrays import I32
from tests.conftest import requires_native

#   0 ── 1 ── 2
#    └── 3
#   4 ── 5
PARENT = np.array([-1, 0, 1, 0, -1, 4], np.int32)

TREES = st.lists(st.integers(0, 1 << 16), max_size=30).map(
    lambda numbers: np.array([n % (row + 1) - 1 for row, n in enumerate(numbers)], np.int32)
)


def codes(*values: int) -> I32:
    return np.array(values, np.int32)


def test_the_innermost_one_counts() -> None:
    assert innermost(codes(7, -1, 8, -1, -1, 9), PARENT).tolist() == [7, 7, 8, 7, -1, 9]


def test_sums_reach_the_outermost() -> None:
    value = np.array([1, 10, 100, 1000, -1, 3])
    assert sums_below(value, PARENT).tolist() == [1111, 110, 100, 1000, 2, 3]


@given(TREES, st.randoms(use_true_random=False))
def test_sums_of_few_rows_are_those_of_whole_columns(parent: I32, random: Random) -> None:
    rows = codes(*(row for row in range(len(parent)) if random.random() < 0.3))
    value = np.array([[random.randint(1, 9) for _ in rows] for _ in range(2)], np.int64)
    whole = np.zeros((2, len(parent)), np.int64)
    whole[:, rows] = value
    at, sums = few_sums_below(rows, value, parent)
    wanted = np.stack([sums_below(one, parent) for one in whole])
    assert at.tolist() == np.flatnonzero(wanted[0]).tolist()
    assert sums.tolist() == wanted[:, at].tolist()
    assert at.tolist() == rows_above_in_python(rows, parent).tolist()


def test_paths() -> None:
    """main (0) > step (1) > mm (2, not kept); main > step again (3); other roots."""
    kept = np.array([1, 1, 0, 1, 0, 1], bool)
    above, label, path = call_paths(kept, codes(10, 11, 12, 11, 13, 11), PARENT)
    assert above.tolist() == [-1, 0, -1]
    assert label.tolist() == [10, 11, 11]
    assert path.tolist() == [0, 1, 1, 1, -1, 2]


def test_paths_of_nothing() -> None:
    above, label, path = call_paths(np.zeros(6, bool), codes(0, 0, 0, 0, 0, 0), PARENT)
    assert (len(above), len(label), path.tolist()) == (0, 0, [-1] * 6)


@requires_native
@given(TREES, st.randoms(use_true_random=False))
def test_the_library_agrees(parent: I32, random: Random) -> None:
    own = codes(*(random.choice((-1, 0, 5)) for _ in parent))
    value = np.array([random.randint(-(1 << 40), 1 << 40) for _ in parent], np.int64)
    assert innermost(own, parent).tolist() == innermost_in_python(own, parent).tolist()
    rows = codes(*np.flatnonzero(own == 0))
    assert rows_above(rows, parent).tolist() == rows_above_in_python(rows, parent).tolist()
    assert sums_below(value, parent).tolist() == sums_below_in_python(value, parent).tolist()


@given(TREES, st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=30, max_size=30))
def test_rows_share_a_path_where_all_kept_names_above_are_the_same(
    parent: I32, rows: list[tuple[bool, int]]
) -> None:
    kept = np.array([keep for keep, _ in rows[: len(parent)]], bool)
    label = codes(*(name for _, name in rows[: len(parent)]))
    above, labels, path = call_paths(kept, label, parent)

    def written(row: int) -> tuple[int, ...]:
        around = written(int(parent[row])) if parent[row] >= 0 else ()
        return (*around, int(label[row])) if kept[row] else around

    def told(node: int) -> tuple[int, ...]:
        return (*told(int(above[node])), int(labels[node])) if node >= 0 else ()

    assert [told(node) for node in path.tolist()] == [written(row) for row in range(len(parent))]
    assert len({told(node) for node in range(len(above))}) == len(above)
    assert (above < np.arange(len(above))).all()


@given(TREES, st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=30, max_size=30))
def test_paths_of_the_library_are_numbered_alike(parent: I32, rows: list[tuple[bool, int]]) -> None:
    kept = np.array([keep for keep, _ in rows[: len(parent)]], bool)
    label = codes(*(name for _, name in rows[: len(parent)]))
    fast, plain = call_paths(kept, label, parent), call_paths_in_python(kept, label, parent)
    assert [one.tolist() for one in fast] == [one.tolist() for one in plain]
