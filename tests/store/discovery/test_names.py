"""What a file name tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.store.discovery import file_names


@pytest.mark.parametrize(
    ("name", "worker", "stamp"),
    [
        ("worker0.1694128201545.pt.trace.json.gz", "worker0", "1694128201545"),
        (
            "host.domain_71.1795227611181206185.pt.trace.json",
            "host.domain_71",
            "1795227611181206185",
        ),
        ("worker0.pt.trace.json", "worker0", None),
        ("worker3_step_12.1694128201557.pt.trace.json.gz", "worker3_step_12", "1694128201557"),
        ("rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", "rank-0.Apr_03_18_51_38", "1102"),
        ("1.2.pt.trace.json", "1", "2"),
        ("trace.json", "trace", None),
        ("trace.json.gz", "trace", None),
        ("rank-0.json.gz", "rank-0", None),
        ("rank3_trace.json", "rank3_trace", None),
        ("1713456789.25-TP-3-DP-0.trace.json.gz", "TP-3-DP-0", "1713456789.25"),
        ("libkineto_activities_4711.json", "libkineto_activities_4711", None),
        ("a.1694128201545.json", "a", "1694128201545"),
        (".json", ".json", None),
        ("node0_4242.1795335000000000000.pt.trace.pftrace.gz", "node0_4242", "1795335000000000000"),
        ("rank-3.pftrace", "rank-3", None),
        ("app.perfetto-trace", "app", None),
    ],
)
def test_worker_and_stamp(name: str, worker: str, stamp: str | None) -> None:
    found = file_names.parse(name)
    assert (found.worker, found.stamp) == (worker, stamp)


@given(
    st.text(max_size=40), st.sampled_from(["", ".pt.trace.json", ".json.gz", ".1.pt.trace.json.gz"])
)
def test_every_name_has_a_worker(stem: str, suffix: str) -> None:
    name = stem + suffix
    if name:
        assert file_names.parse(name).worker


@pytest.mark.parametrize(
    ("stamp", "ns"),
    [
        ("1694128201", 1694128201 * 10**9),
        ("1694128201.5", 1694128201 * 10**9 + 5 * 10**8),
        ("1694128201545", 1694128201545 * 10**6),
        ("1694128201545000", 1694128201545 * 10**6),
        ("1694128201545000001", 1694128201545000001),
        ("1102", None),
        ("9" * 19, None),
        ("9" * 40, None),
    ],
)
def test_units_of_stamps(stamp: str, ns: int | None) -> None:
    assert file_names.wall_clock_ns(stamp) == ns


@pytest.mark.parametrize(
    ("name", "plausible"),
    [
        ("trace.json", True),
        ("TRACE.JSON.GZ", True),
        ("memory_timeline.raw.gz", True),
        ("capture.gz", True),
        ("x.pt.trace", True),
        ("trace", False),
        ("w.1.compile.json.gz", False),
        ("kernel_details.csv.gz", False),
        ("code.tar.gz", False),
        ("events.out.tfevents.1694128201.host", False),
        ("model.pt", False),
        ("picture.png", False),
    ],
)
def test_which_names_are_worth_a_look(name: str, plausible: bool) -> None:
    assert file_names.is_plausible(name) is plausible


@pytest.mark.parametrize(
    ("name", "unfinished"),
    [
        ("w.1.pt.trace.json.tmp", True),
        (".w.1.pt.trace.json.a1b2c3d4.tmp", True),
        (".w.1.pt.trace.json.a1b2c3d4.tmp.tmp", True),
        (".w.1.pt.trace.json.0123456789ab-4711-99-a1b2c3d4.tmp.tmp", True),
        ("w.1.pt.trace.json.gz.part", True),
        (".w.1.pt.trace.json.gz.Kq81Zb", True),
        (".hidden.trace.json", True),
        (".eslintrc.json", False),
        ("notes.txt.tmp", False),
        ("w.1.pt.trace.json", False),
    ],
)
def test_names_of_files_being_written(name: str, unfinished: bool) -> None:
    assert file_names.is_unfinished(name) is unfinished


@pytest.mark.parametrize(
    ("worker", "rank"),
    [
        ("rank-3", 3),
        ("rank3_trace", 3),
        ("node0_rank5", 5),
        ("worker3_step_12", 3),
        ("profile_trace_rank_0", 0),
        ("TP-3", 3),
        ("TP-3-DP-0", 3),
        ("TP-3-DP-1", None),
        ("dp0_pp0_tp0_dcp0_ep0_rank7", 7),
        ("host_4711", None),
        ("frank3", None),
        ("trace", None),
    ],
)
def test_ranks_in_names(worker: str, rank: int | None) -> None:
    assert file_names.rank_in_name(worker) == rank
