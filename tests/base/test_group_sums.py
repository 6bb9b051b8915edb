"""Sums, ranks and call paths: the native library and the reference agree, and both are right."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.call_tree.paths import (
    SlicePaths,
    find_paths,
    find_paths_in_python,
    innermost,
    innermost_in_python,
)
from kinetoscope.base import group_sums as module
from kinetoscope.base.group_sums import (
    GroupRanks,
    first_largest,
    group_medians,
    group_ranks,
    group_ranks_in_python,
    group_sums,
    middles,
    middles_in_python,
)
from tests.analysis.timeline.asked import nearest_rank
from tests.conftest import requires_native

wide = st.integers(-(2**40), 2**62)
rows = st.lists(st.tuples(st.integers(0, 6), st.one_of(st.integers(0, 9), wide)), max_size=80)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Codes and values."""
    return (
        np.array([code for code, _ in pairs], np.int32),
        np.array([value for _, value in pairs], np.int64),
    )


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2**53)), max_size=80))
def test_sums_are_exact(pairs: list[tuple[int, int]]) -> None:
    code, value = columns(pairs)
    sums = group_sums(code, value, 8)
    for group in range(8):
        members = [value for code, value in pairs if code == group]
        assert (sums.total[group], sums.count[group]) == (sum(members), len(members))


@given(rows)
def test_ranks_are_the_nearest(pairs: list[tuple[int, int]]) -> None:
    code, value = columns(pairs)
    ranks = group_ranks(code, value, np.bincount(code, minlength=8))
    for group in range(8):
        members = [value for code, value in pairs if code == group]
        if not members:
            assert ranks.most[group] == 0
            continue
        assert ranks.least[group] == min(members)
        assert ranks.most[group] == max(members)
        assert ranks.median[group] == statistics.median_low(members)
        assert ranks.p95[group] == nearest_rank(members, 95)
        assert ranks.longest[group] == pairs.index((group, max(members)))


@pytest.mark.parametrize("rank", [group_ranks, group_ranks_in_python])
def test_each_rank_of_a_hundred_values_is_another(rank: Callable[..., GroupRanks]) -> None:
    value = np.random.default_rng(1).permutation(np.arange(1, 101))
    found = rank(np.zeros(100, np.int32), value, np.array([100]))
    ranks = (found.least[0], found.median[0], found.p95[0], found.most[0], found.longest[0])
    assert ranks == (1, 50, 95, 100, value.argmax())


@requires_native
@given(rows)
def test_both_rank_alike(pairs: list[tuple[int, int]]) -> None:
    code, value = columns(pairs)
    count = np.bincount(code, minlength=8)
    fast, plain = group_ranks(code, value, count), group_ranks_in_python(code, value, count)
    for column in GroupRanks.__struct_fields__:
        assert getattr(fast, column).tolist() == getattr(plain, column).tolist()


@st.composite
def trees(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Parents, each before its children, and names."""
    size = draw(st.integers(0, 60))
    parents = [draw(st.integers(-1, row - 1)) for row in range(size)]
    names = [draw(st.integers(0, 3)) for _ in range(size)]
    return np.array(parents, np.int32), np.array(names, np.int32)


@given(trees())
def test_rows_of_one_path_share_a_node(tree: tuple[np.ndarray, np.ndarray]) -> None:
    parent, name = tree
    found: list[tuple[int, ...]] = []
    for row in range(len(parent)):
        above = found[parent[row]] if parent[row] >= 0 else ()
        found.append((*above, int(name[row])))
    order = list(dict.fromkeys(found))
    for paths in (find_paths(parent, name), find_paths_in_python(parent, name)):
        assert paths.node.tolist() == [order.index(path) for path in found]
        assert paths.first.tolist() == [found.index(path) for path in order]
        assert paths.name.tolist() == [path[-1] for path in order]
        assert paths.parent.tolist() == [
            order.index(path[:-1]) if len(path) > 1 else -1 for path in order
        ]


@requires_native
def test_many_nodes_are_found_alike() -> None:
    random = np.random.default_rng(3)
    size = 200_000
    parent = np.maximum(np.arange(size) - random.integers(1, 40, size), -1).astype(np.int32)
    name = random.integers(0, 50, size).astype(np.int32)
    fast, plain = find_paths(parent, name), find_paths_in_python(parent, name)
    for column in SlicePaths.__struct_fields__:
        assert np.array_equal(getattr(fast, column), getattr(plain, column))


@given(rows)
def test_medians_of_groups(pairs: list[tuple[int, int]]) -> None:
    code, value = columns(pairs)
    found = group_medians(code, value, 8)
    for group in range(8):
        mine = value[code == group]
        assert np.isnan(found[group]) if not len(mine) else found[group] == np.median(mine)


@requires_native
@given(rows)
def test_both_find_the_same_middles(pairs: list[tuple[int, int]]) -> None:
    code, value = columns(pairs)
    found, plain = middles(code, value, 8), middles_in_python(code, value, 8)
    for one, other in zip(found, plain, strict=True):
        assert one.tolist() == other.tolist()


@requires_native
@pytest.mark.parametrize("width", [np.int8, np.int32])
@given(tree=trees())
def test_both_inherit_alike(tree: tuple[np.ndarray, np.ndarray], width: type) -> None:
    parent, name = tree
    own = name.astype(width) - width(1)
    found, plain = innermost(own, parent), innermost_in_python(own, parent)
    assert found.dtype == plain.dtype == width
    assert found.tolist() == plain.tolist()


@pytest.mark.parametrize("many", [0, 1 << 62])
@given(pairs=rows)
def test_the_first_of_the_largest(pairs: list[tuple[int, int]], many: int) -> None:
    code, value = columns(pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MANY", many)
        largest = first_largest(code, value, 8)
    for group, found in enumerate(largest.tolist()):
        mine = np.flatnonzero(code == group)
        assert found == (mine[value[mine].argmax()] if len(mine) else -1)
