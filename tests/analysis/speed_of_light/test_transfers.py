"""Bytes that ops must move, by hand: ``transfers``."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.speed_of_light.arguments import CallArguments, TensorArgument
from kinetoscope.analysis.speed_of_light.transfers import ordered, scanned

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
