"""Communication that holds a device up, and communication that only fills a wait for the host."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.facts import Communication
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.drawing import draw

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclArgs)"


def of(picture: str, **names: str) -> Communication:
    """In µs."""
    found = select(summarize(draw(picture, names={"n": NCCL, **names}))).communication
    return Communication(*(getattr(found, name) // 1000 for name in found.__struct_fields__))


def test_before_the_next_kernel_was_launched_the_host_holds_the_device_up() -> None:
    """At no cost of communication the device would have waited until b was launched."""
    found = of(
        """
        step    |11111111111111111111|
        call    |an        b         |
        gpu     | aaa         bbbb   |
        gpu.9   |  nnnnnnnnnnn       |
        """
    )
    # Compute hides 2 µs; [4, 10) came before the launch of b, [10, 13) after it.
    assert found == Communication(11, 9, 3, 6, 0)


def test_a_host_that_waits_for_the_collective_is_held_up_by_it() -> None:
    found = of(
        """
        step    |11111111111111111111|
        call    |anssssssssssb       |
        gpu     | aa           bbbb  |
        gpu.9   |   nnnnnnnnn        |
        """,
        **{"call s": "cudaStreamSynchronize"},
    )
    assert found == Communication(9, 9, 9, 0, 0)


def test_without_a_kernel_behind_it_nothing_tells() -> None:
    found = of(
        """
        step    |1111111111|
        call    |n         |
        gpu.9   | nnnn     |
        """
    )
    assert found == Communication(4, 4, 0, 0, 4)


def test_compute_hides_it_all() -> None:
    found = of(
        """
        step    |1111111111|
        call    |an        |
        gpu     | aaaaaaaa |
        gpu.9   |   nnnn   |
        """
    )
    assert found == Communication(4, 0, 0, 0, 0)


@pytest.mark.parametrize("launched", [True, False])
def test_a_kernel_whose_launch_is_not_known_tells_nothing(launched: bool) -> None:
    found = of(
        f"""
        step    |1111111111|
        call    |n{"b" if launched else " "}        |
        gpu     |      bbb |
        gpu.9   |  nnnn    |
        """
    )
    assert (found.blocking_ns, found.unknown_ns) == ((4, 0) if launched else (0, 4))
