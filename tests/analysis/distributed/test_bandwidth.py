"""Bandwidth by the formulas of NVIDIA nccl-tests, and sizes by operation."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.distributed.bandwidth import bus_factor, message_bytes


@pytest.mark.parametrize(
    ("kind", "n2", "n8", "n64"),
    [
        ("all_reduce", 1.0, 1.75, 2 * 63 / 64),
        ("all_gather", 0.5, 0.875, 63 / 64),
        ("reduce_scatter", 0.5, 0.875, 63 / 64),
        ("all_to_all", 0.5, 0.875, 63 / 64),
        ("gather", 0.5, 0.875, 63 / 64),
        ("broadcast", 1.0, 1.0, 1.0),
        ("reduce", 1.0, 1.0, 1.0),
        ("send", 1.0, 1.0, 1.0),
    ],
)
def test_the_factor_of_bus_bandwidth(kind: str, n2: float, n8: float, n64: float) -> None:
    assert (bus_factor(kind, 2), bus_factor(kind, 8), bus_factor(kind, 64)) == (n2, n8, n64)


def test_one_rank_and_a_barrier_have_no_bandwidth() -> None:
    assert bus_factor("all_reduce", 1) is None
    assert bus_factor("barrier", 8) is None


@pytest.mark.parametrize(
    ("kind", "sent", "received", "expected"),
    [
        ("all_reduce", 1000, 1000, 1000),
        ("all_gather", 1000, 8000, 8000),
        ("all_gather", 1000, -1, 8000),
        ("reduce_scatter", 8000, 1000, 8000),
        ("all_to_all", 8000, 8000, 8000),
        ("gather", 1000, 8000, 8000),
        ("recv", -1, 500, 500),
        ("all_reduce", -1, -1, None),
        ("all_reduce", 0, 0, None),
    ],
)
def test_the_size_of_a_message(kind: str, sent: int, received: int, expected: int | None) -> None:
    assert message_bytes(kind, sent, received, 8) == expected
