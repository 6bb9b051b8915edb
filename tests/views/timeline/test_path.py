"""The critical path in a window: pieces that tile it, narrow ones together."""

from __future__ import annotations

import pytest

from kinetoscope.base.errors import QueryError
from kinetoscope.session.session import TraceSession
from kinetoscope.views.overview.idle import IdleQuery, PathQuery, flame, path
from kinetoscope.views.timeline.path import (
    PathArrowsQuery,
    PathBandQuery,
    path_arrows,
    path_band,
)
from kinetoscope.views.timeline.view import VIEW
from kinetoscope.views.view import Subject
from tests.drawing import draw


def subject() -> Subject:
    trace = draw(
        """
        step   |11111111112222222222|
        op     |oooo      oooo      |
        call   |  ll        mm      |
        gpu    |     lllll     mmmmm|
        """
    )
    found = TraceSession(trace).subject(VIEW)
    assert isinstance(found, Subject)
    return found


def test_the_pieces_of_a_window_touch_and_sum_to_the_steps() -> None:
    found = path_band(subject(), PathBandQuery(start_ns=0, end_ns=20_000, columns=400))
    assert [(one.label, one.dur_ns) for one in found.pieces] == [
        ("Host dispatch", 2_000), ("Launch API", 2_000), ("Launch latency", 1_000),
        ("Compute", 5_000),
    ] * 2  # fmt: skip
    assert all(
        one.ts + one.dur_ns == after.ts
        for one, after in zip(found.pieces[:-1], found.pieces[1:], strict=True)
    )


def test_what_is_narrower_than_a_column_is_one_piece_with_its_neighbours() -> None:
    found = path_band(subject(), PathBandQuery(start_ns=0, end_ns=80_000, columns=16))
    assert [(one.ts, one.dur_ns, one.parts) for one in found.pieces] == [
        (0, 5_000, 3), (5_000, 5_000, 1), (10_000, 5_000, 3), (15_000, 5_000, 1),
    ]  # fmt: skip
    assert found.pieces[0].label in ("Host dispatch", "Launch API")


def test_arrows_lead_from_track_to_track_at_the_instant_of_release() -> None:
    """op → its call stays on the thread; call → kernel goes over, when the call has returned."""
    found = path_arrows(subject(), PathArrowsQuery(start_ns=0, end_ns=20_000))
    told = [
        (one.source.name, one.leave_ns, one.target.name, one.arrive_ns, one.label, one.slack_ns)
        for one in found.arrows
    ]
    assert told == [
        ("cudaLaunchKernel", 4_000, "kernel_l", 5_000, "Launch latency", -1),
        ("cudaLaunchKernel", 14_000, "kernel_m", 15_000, "Launch latency", 2_000),
    ]
    assert found.count == 2
    assert found.arrows[0].source.track != found.arrows[0].target.track
    later = path_arrows(subject(), PathArrowsQuery(start_ns=10_000, end_ns=20_000))
    assert [one.target.name for one in later.arrows] == ["kernel_m"]


def test_a_blocking_call_is_let_go_by_the_device() -> None:
    trace = draw(
        """
        step   |111111111111|
        call   |a ssssssss  |
        gpu    | aaaaaaaa   |
        op     |          oo|
        """,
        names={"call s": "cudaStreamSynchronize"},
    )
    opened = TraceSession(trace).subject(VIEW)
    assert isinstance(opened, Subject)
    found = path_arrows(opened, PathArrowsQuery(start_ns=0, end_ns=12_000))
    assert [
        (one.source.name, one.leave_ns, one.target.name, one.arrive_ns) for one in found.arrows
    ] == [
        ("cudaLaunchKernel", 1_000, "kernel_a", 1_000),
        ("kernel_a", 9_000, "cudaStreamSynchronize", 9_000),
    ]


def test_an_empty_window_is_refused() -> None:
    with pytest.raises(QueryError):
        path_band(subject(), PathBandQuery(start_ns=5, end_ns=5))


def test_the_tables_of_the_overview_sum_to_the_chosen_steps() -> None:
    found = path(subject(), PathQuery(steps="all"))
    assert found.total_ns == 20_000
    assert sum(one.ns for one in found.shares) == sum(one.ns for one in found.rows) == 20_000
    first = found.rows[0]
    assert (first.label, first.ns, first.count) == ("Compute", 5_000, 1)
    assert (first.link.view, first.link.params["path"]) == ("timeline", "1")
    assert int(first.link.params["select"]) >= 0


def test_the_flame_graph_sums_to_the_idle_time() -> None:
    found = flame(subject(), IdleQuery(steps="1"))
    assert (found.unit, found.total, found.missing) == ("ns", 5_000, "")
    assert {one.name for one in found.nodes} >= {"ProfilerStep", "aten::o", "(launch latency)"}


def test_without_a_device_there_is_no_idle_time_but_a_path() -> None:
    found = TraceSession(draw("step |1111|\n op |oo  |")).subject(VIEW)
    assert isinstance(found, Subject)
    assert "No device activity" in flame(found, IdleQuery()).missing
    assert path(found, PathQuery()).shares[0].label in ("Ops", "Host, no known operator")
