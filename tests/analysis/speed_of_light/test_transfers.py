"""Bytes that ops must move, by hand: ``transfers``."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.speed_of_light.arguments import (
    CallArguments,
    RefusedError,
    TensorArgument,
)
from kinetoscope.analysis.speed_of_light.transfers import (
    group_norm_backward,
    layer_norm,
    ordered,
    scanned,
    taken,
)

SIZES = (3, 5)


@pytest.mark.parametrize(
    ("dtype", "scan", "sort"),
    [
        ("float32", (60, 60), (60, 180)),
        ("int32", (60, 120), (60, 180)),
        ("float64", (120, 120), (120, 240)),
    ],
)
def test_a_scan_widens_integers_and_a_sort_adds_indices(
    dtype: str, scan: tuple[int, int], sort: tuple[int, int]
) -> None:
    call = CallArguments((TensorArgument(SIZES, (5, 1), dtype),), ("",))
    assert (scanned(call).read, scanned(call).written) == scan
    assert (ordered(call).read, ordered(call).written) == sort


@pytest.mark.parametrize(
    ("mask", "written"),
    [
        ("[True, True, True]", 480 + 2 * 12),
        ("[False, True, False]", 12),
        ("[True, False, False]", 480),
    ],
)
def test_group_norm_writes_the_gradients_that_its_mask_asks_for(mask: str, written: int) -> None:
    own = TensorArgument((4, 3, 10), (30, 10, 1), "float32")
    small, weight = TensorArgument((4, 1), (1, 1), "float32"), TensorArgument((3,), (1,), "float32")
    call = CallArguments((own, own, small, small, weight), ("",) * 5 + ("4", "3", "10", "1", mask))
    assert group_norm_backward(call).written == written
    assert group_norm_backward(call).read == 480 + 480 + 16 + 16 + 12


def test_a_weight_tells_the_shape_of_a_layer_norm_without_plain_arguments() -> None:
    own = TensorArgument((4, 3, 10), (30, 10, 1), "float32")
    weight = TensorArgument((3, 10), (10, 1), "float32")
    work = layer_norm(2)(CallArguments((own, None, weight, weight, None), (), has_values=False))
    assert (work.read, work.written) == (480 + 120 + 120, 480 + 4 * 2 * 4)
    with pytest.raises(RefusedError, match="values"):
        layer_norm(2)(CallArguments((own, None, None), (), has_values=False))


@pytest.mark.parametrize(
    ("table", "index", "values", "row"),
    [
        (0, 1, (), 5 * 4),  # a row of 5 of a table of 3
        (0, 2, ("", "0", ""), 5 * 4),  # index_select along the rows
        (0, 2, ("", "1", ""), 3 * 4),  # and along the columns
        (1, 2, ("", "1", ""), 5 * 4),  # the table is another argument: no dimension is given
    ],
)
def test_rows_that_are_taken_are_of_the_dimension_that_is_indexed(
    table: int, index: int, values: tuple[str, ...], row: int
) -> None:
    own, which = TensorArgument(SIZES, (5, 1), "float32"), TensorArgument((2,), (1,), "int64")
    work = taken(table, index)(
        CallArguments(tuple({table: own, index: which}.get(at) for at in range(3)), values)
    )
    assert (work.read, work.written) == (16 + 2 * row, 2 * row)


def test_at_most_the_whole_table_is_read() -> None:
    own, which = TensorArgument(SIZES, (5, 1), "float32"), TensorArgument((7,), (1,), "int64")
    work = taken(0, 1)(CallArguments((own, which), ()))
    assert (work.read, work.written) == (56 + 60, 7 * 20)
