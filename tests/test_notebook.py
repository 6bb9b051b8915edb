"""`kinetoscope.open`: a trace as DataFrames, and the views without a server."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kinetoscope
from kinetoscope import views
from kinetoscope.base.errors import NotFoundError, QueryError, TraceFormatError, UnavailableError
from kinetoscope.notebook import OpenTrace
from kinetoscope.session.session import Session, TraceSession
from tests.cli.runs import run, write_logdir
from tests.conftest import ROOT, TRACES, requires_traces
from tests.trace.drawn import (
    Event,
    annotation,
    drawn,
    kernel,
    launch,
    memory,
    python,
    x,
)
from tests.web.trace_files import write_trace

FRAMES = (
    "host",
    "ops",
    "annotations",
    "runtime_calls",
    "python",
    "device",
    "kernels",
    "device_annotations",
    "syncs",
    "memory",
    "counters",
    "steps",
)


DIMS: dict[str, Any] = {"Input Dims": [[2, 2], [2, 2]]}


def thread_name(tid: int, name: str) -> Event:
    """The event that names a thread."""
    return {"ph": "M", "name": "thread_name", "pid": 100, "tid": tid, "args": {"name": name}}


def of_drawn(*events: Any) -> Session:
    """A session over a drawn trace."""
    return TraceSession(drawn(*events))


@pytest.fixture
def trace() -> OpenTrace:
    """One step: a function calls an op, the op launches a kernel and allocates 512 bytes.

    thread 1   ├──────────── ProfilerStep#4 ────────────┤   0 … 100 µs
                 ├─ train.py(7): step ─┤                   10 …  60
                    ├── aten::mm ──┤                       20 …  50
                      ├ launch ┤                           25 …  30
    stream 7                ├─ gemm ─┤                     40 …  80
    """
    return OpenTrace(
        of_drawn(
            thread_name(1, "trainer"),
            annotation("ProfilerStep#4", 0, 100),
            python("train.py(7): step", 10, 50),
            x("aten::mm", 20, 30, external_id=1, **DIMS),
            launch(25, 5, 9),
            kernel("gemm", 40, 40, correlation=9, **{"blocks per SM": 0.5, "bytes": 7}),
            memory(26, 512, **{"Device Type": 0, "Device Id": -1, "Addr": 4096}),
        )
    )


def test_times_are_ns_and_rows_link_by_index(trace: OpenTrace) -> None:
    (row,) = trace.kernels.to_dict("records")
    assert (row["start_ns"], row["dur_ns"]) == (40_000, 40_000)
    assert trace.host.loc[int(row["launch"]), "name"] == "cudaLaunchKernel"
    assert trace.host.loc[int(row["op"]), "name"] == row["op_name"] == "aten::mm"
    op = trace.ops.loc[int(row["op"])]
    assert trace.host.loc[op["parent"], "name"] == "train.py(7): step"
    assert (op["start_ns"], op["dur_ns"], op["self_ns"]) == (20_000, 30_000, 25_000)


def test_the_parts_of_host_keep_its_index(trace: OpenTrace) -> None:
    parts = {
        "annotations": ["ProfilerStep#4"],
        "python": ["train.py(7): step"],
        "ops": ["aten::mm"],
        "runtime_calls": ["cudaLaunchKernel"],
    }
    for name, expected in parts.items():
        frame = getattr(trace, name)
        assert list(frame["name"]) == expected
        assert list(trace.host.loc[frame.index, "name"]) == expected


def test_what_is_not_there_is_missing_not_minus_one(trace: OpenTrace) -> None:
    step = trace.annotations.iloc[0]
    assert step["parent"] is pd.NA
    assert step["external_id"] is pd.NA
    assert pd.isna(step["input_dims"])


def test_steps_carry_their_numbers(trace: OpenTrace) -> None:
    assert list(trace.steps["number"]) == [4]
    assert list(trace.ops["step"]) == [4]
    assert list(trace.kernels["step"]) == [4]


def test_names_and_labels_are_categoricals(trace: OpenTrace) -> None:
    for column in ("name", "kind", "thread"):
        assert isinstance(trace.host[column].dtype, pd.CategoricalDtype)
    assert trace.ops["thread"].iloc[0] == "100/1 trainer"
    assert trace.kernels["class"].iloc[0] == "compute"
    assert trace.kernels["device"].iloc[0] == "GPU 0"


def test_args_come_with_their_units(trace: OpenTrace) -> None:
    assert trace.kernels["blocks_per_sm"].iloc[0] == 0.5
    assert trace.kernels["bytes"].iloc[0] == 7
    assert trace.ops["input_dims"].iloc[0] == "[[2,2],[2,2]]"


def test_memory(trace: OpenTrace) -> None:
    (row,) = trace.memory.itertuples()
    assert (row.start_ns, row.bytes, row.address) == (26_000, 512, 4096)
    assert row.total_allocated_bytes is pd.NA


def test_frames_are_made_once(trace: OpenTrace) -> None:
    assert trace.host is trace.host


def test_views(trace: OpenTrace) -> None:
    assert [step.dur_ns for step in trace.overview(steps="all").steps] == [100_000]
    assert trace.health().counts
    with pytest.raises(QueryError, match="no step 7"):
        trace.overview(steps="7")


def test_the_timeline_is_asked_without_a_server(trace: OpenTrace) -> None:
    manifest = trace.timeline()
    assert [track.slices for track in manifest.tracks] == [3, 1, 1]
    assert len(trace.timeline(layout="merged").tracks) == 2
    area = trace.area(20_000, 50_000, tracks="0")
    assert {row.text: row.self_ns for row in area.rows} == {
        "ProfilerStep#4": 0,
        "aten::mm": 25_000,
        "cudaLaunchKernel": 5_000,
    }
    assert trace.search("GEMM").slices == 1
    assert trace.search("^aten::", mode="regex").names[0].text == "aten::mm"
    with pytest.raises(QueryError, match="empty"):
        trace.area(5, 5)
    with pytest.raises(QueryError, match="there is no 'upside down'"):
        trace.timeline(layout="upside down")


def test_a_trace_without_anything_has_empty_frames() -> None:
    empty = OpenTrace(of_drawn(x("aten::mm", 0, 1)))
    for name in FRAMES:
        frame = getattr(empty, name)
        assert list(frame.columns)
    assert len(empty.device) == len(empty.memory) == 0


def test_its_html_holds_texts_not_markup(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    path = write_trace(tmp_path / f"{hostile}`.json", op=hostile)
    html = kinetoscope.open(path)._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html


def test_two_threads_of_one_name_stay_two() -> None:
    both = OpenTrace(
        of_drawn(
            thread_name(1, "same"),
            thread_name(2, "same"),
            x("a", 0, 1, tid=1),
            x("b", 0, 1, tid=2),
        )
    )
    assert both.ops["thread"].nunique() == 2


# --- open ---------------------------------------------------------------------------------------


def test_open_takes_the_only_trace_of_a_folder(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "log" / "run" / "host_1.pt.trace.json")
    assert kinetoscope.open(tmp_path / "log").trace.path == str(path)


@pytest.mark.parametrize(
    ("names", "path", "others"),
    [
        ({}, "new/rank0.1700000060000", 3),
        ({"run": "old"}, "old/host_1", 0),
        ({"run": "new", "worker": "rank1"}, "new/rank1.1700000000000", 0),
        ({"run": "new", "worker": "rank0", "span": 1}, "new/rank0.1700000000000", 0),
    ],
)
def test_open_chooses_below_a_folder_as_the_command_line_does(
    tmp_path: Path, names: dict[str, Any], path: str, others: int
) -> None:
    trace = kinetoscope.open(write_logdir(tmp_path / "log"), **names)
    assert path in trace.trace.path
    assert bool(trace.notice) is bool(others)
    assert not others or f"{others} other trace" in repr(trace).replace("\u00a0", " ")


def test_open_says_which_names_there_are(tmp_path: Path) -> None:
    logdir = write_logdir(tmp_path / "log")
    with pytest.raises(NotFoundError) as error:
        kinetoscope.open(logdir, worker="rank7")
    assert "rank0" in error.value.hint
    with pytest.raises(QueryError, match="is one file"):
        kinetoscope.open(logdir / "old" / "host_1.pt.trace.json", run="old")
    with pytest.raises(UnavailableError, match="Protocol not known"):
        kinetoscope.open("nowhere://bucket/log")
    with pytest.raises(UnavailableError, match="Protocol not known"):
        kinetoscope.open(Path("nowhere://bucket/log"))


# --- tables of the views --------------------------------------------------------------------------


def test_the_table_of_a_view_is_a_frame(trace: OpenTrace) -> None:
    frame = trace.table("operators", group_by="shape", kinds="op")
    (row,) = frame.to_dict("records")
    assert (row["name"], row["calls"], row["self_ns"]) == ("aten::mm", 1, 25_000)
    assert row["device_self_ns"] == 40_000
    assert isinstance(frame["name"].dtype, pd.CategoricalDtype)
    assert "children" in frame.attrs["definitions"]["total_ns"]


@pytest.mark.parametrize("view", [one.stem for one in views.all_views() if one.among is None])
def test_every_view_has_the_tables_that_the_command_line_writes(view: str, tmp_path: Path) -> None:
    module = x("nn.Module: Net_0", 5, 60, cat="python_function")
    region = x("Torch-Compiled Region: 0/0", 6, 2)
    path = write_trace(tmp_path / "x.pt.trace.json", more=[memory(15, 512), module, region])
    tables = kinetoscope.open(path).tables(view)
    for number, frame in enumerate(tables.values(), start=1):
        written = run("show", view, path, "--format", "csv", "--table", number).stdout
        head, *rows = csv.reader(StringIO(written))
        assert head == list(frame.columns)
        assert len(rows) == len(frame)


def test_a_table_has_all_rows_unless_there_is_a_limit(tmp_path: Path) -> None:
    trace = OpenTrace(of_drawn(x(f"aten::op_{at}", 10 * at, 5) for at in range(300)))
    assert len(trace.table("operators")) == 300
    assert len(trace.table("operators", limit=7)) == 7


def test_a_table_that_cannot_be_had_says_why(trace: OpenTrace) -> None:
    for name in ("Classes", 2):
        assert trace.table("kernels", name)["total_ns"].iloc[0] == 40_000
    with pytest.raises(NotFoundError) as error:
        trace.table("kernels", "Clases")
    assert "2 Classes" in error.value.hint
    with pytest.raises(NotFoundError, match="no view 'memoir'"):
        trace.table("memoir")
    with pytest.raises(QueryError) as wrong:
        trace.table("operators", group_by="nmae")
    assert wrong.value.hint == "did you mean name?"
    with pytest.raises(QueryError, match="limit"):
        trace.table("operators", limit="7")
    with pytest.raises(UnavailableError, match="device"):
        OpenTrace(of_drawn(x("aten::mm", 0, 1))).table("kernels")


# --- a trace in a notebook ------------------------------------------------------------------------


def test_its_html_answers_first(trace: OpenTrace) -> None:
    html = trace._repr_html_()
    overview = trace.overview()
    assert overview.sentence.headline.partition("`")[0] in html
    assert overview.ruler.title in html
    for share in overview.ruler.shares:
        assert (f"{share.label} " in html) is (share.ratio > 0)
    assert "kinetoscope serve" in html


def test_its_html_has_the_first_finding_and_loads_nothing() -> None:
    trace = kinetoscope.open(ROOT / "samples" / "traces" / "train_cpu")
    html = trace._repr_html_()
    assert trace.overview().findings[0].title in html
    assert "`" not in html
    for loaded in ("<script", "<style", "<link", "<img", "http", "url(", "class="):
        assert loaded not in html
    assert "<" not in repr(trace)[1:-1]


def test_open_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "page.json").write_text("<!doctype html>")
    with pytest.raises(TraceFormatError):
        kinetoscope.open(tmp_path / "page.json")
    with pytest.raises(NotFoundError):
        kinetoscope.open(tmp_path / "nothing")


def test_a_recorded_training_has_every_frame() -> None:
    trace = kinetoscope.open(ROOT / "samples" / "traces" / "train_cpu")
    for name in FRAMES:
        assert list(getattr(trace, name).columns)
    assert len(trace.ops) > 100
    assert (trace.ops["dur_ns"] >= 0).all()


@requires_traces
def test_kernel_time_is_that_of_the_columns() -> None:
    trace = kinetoscope.open(TRACES / "kineto_tb_samples" / "resnet50_num_workers_0")
    by_name = trace.kernels.groupby("name", observed=True)["dur_ns"].sum()
    assert by_name.sum() == trace.trace.device.dur[trace.trace.device.kind == 0].sum()
    assert trace.kernels["launch"].notna().mean() > 0.99
    assert np.array_equal(trace.device["start_ns"], trace.trace.device.ts)
