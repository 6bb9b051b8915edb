"""The digest of a rank: small, the same again after storing, refused when damaged."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.distributed.rank.digest import decode, encode
from kinetoscope.base.columnar import DamagedError
from tests.conftest import requires_traces

from .sets import digests

FOLDERS = ("dlrm_8rank_v100", "fresh_torch2.13/fsdp2_gpt", "hta/trace_filter")


@requires_traces
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_stored_digest_is_the_same_again(folder: str) -> None:
    for one in digests(folder):
        stored = encode(one)
        again = decode(*stored)
        assert encode(again) == stored
        assert again.rank == one.rank
        assert (again.calls.arrival_ns == one.calls.arrival_ns).all()
        assert (again.edges.parts == one.edges.parts).all()


@requires_traces
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_summary_takes_at_most_four_kilobytes_a_step(folder: str) -> None:
    for one in digests(folder):
        assert len(encode(one)[0]) <= 4096 * len(one.steps)


@requires_traces
def test_the_parts_of_an_edge_sum_to_its_weight() -> None:
    for folder in FOLDERS:
        for one in digests(folder):
            assert (one.edges.parts.sum(axis=1) == one.edges.weight_ns).all()
            assert (one.edges.weight_ns >= 0).all()


@requires_traces
def test_the_recorded_time_of_a_junction_is_reached_by_an_edge() -> None:
    """The longest way to each junction is as long as it was: nothing is lost in between."""
    for one in digests("dlrm_8rank_v100"):
        time, edges = one.junctions.time_ns, one.edges
        reach = time[edges.source] + edges.weight_ns
        latest = dict.fromkeys(edges.target.tolist(), -1)
        for target, value in zip(edges.target.tolist(), reach.tolist(), strict=True):
            latest[target] = max(latest[target], value)
        assert all(time[target] == value for target, value in latest.items())


@pytest.mark.parametrize("damage", [b"", b"no digest", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_what_is_no_digest_is_refused(damage: bytes) -> None:
    with pytest.raises(DamagedError, match="digest"):
        decode(damage, damage)
