"""Bytes of a collective where its sizes or its type are unknown: ``rank.calls``."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.distributed.rank.calls import Call


@pytest.mark.parametrize(
    ("dtype", "elements", "size"),
    [("Float", 6, 24), ("Float", 0, 0), ("Float", -1, -1), ("", 6, -1), ("no type", 6, -1)],
)
def test_bytes_are_elements_of_a_known_type(dtype: str, elements: int, size: int) -> None:
    call = Call("all_reduce", "", -1, -1, (), -1, 0, 0, 0, dtype=dtype, in_elements=elements,
                out_elements=elements + 1 if elements > 0 else elements)  # fmt: skip
    assert call.in_bytes == size
    assert call.out_bytes == (28 if size == 24 else size)
