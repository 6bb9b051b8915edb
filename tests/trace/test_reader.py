"""From a path to a trace."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinetoscope.base.errors import NotFoundError, TraceFormatError
from kinetoscope.trace.model import HostKind
from kinetoscope.trace.raw import Progress
from kinetoscope.trace.read import build, read
from tests.trace.drawn import drawn, drawn_by_others, kernel, launch, meta, python, raw_trace, x

DOCUMENT: dict[str, Any] = {
    "schemaVersion": 1,
    "baseTimeNanoseconds": 1790857026000000000,
    "displayTimeUnit": "ms",
    "traceEvents": [
        x("aten::mm", 4434671861331.715, 50.25, external_id=1),
        launch(4434671861340.001, 5, 3),
        kernel("gemm", 4434671861350.002, 10, correlation=3),
    ],
}


def test_a_file_packed_or_not(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.pt.trace.json", tmp_path / "a.pt.trace.json.gz"
    plain.write_text(json.dumps(DOCUMENT))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        trace = read(path)
        assert trace.path == str(path)
        assert trace.base_ns == 1790857026000000000 + 4434671861331715
        assert trace.host.ts.tolist() == [0, 8286]
        assert trace.host.dur.tolist() == [50_250, 5_000]
        assert trace.device.launch.tolist() == [1]
        assert trace.health.file_bytes == path.stat().st_size
        assert trace.health.text_bytes == plain.stat().st_size


def test_progress_ends_with_linking(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(DOCUMENT))
    seen: list[Progress] = []
    read(path, seen.append)
    assert seen[-1] == Progress("linking", path.stat().st_size, path.stat().st_size, 3)
    assert {progress.phase for progress in seen[:-1]} == {"reading"}


def test_what_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read(tmp_path / "absent.json")
    pointer = tmp_path / "pointer.json"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(TraceFormatError) as caught:
        read(pointer)
    assert caught.value.kind == "lfs_pointer"


def test_the_scanner_and_the_slow_way_make_the_same_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(DOCUMENT))
    scanned, slow = read(path), drawn(DOCUMENT["traceEvents"], **_metadata())
    for name in ("ts", "dur", "parent", "self_ns", "correlation", "external_id", "raw"):
        assert np.array_equal(getattr(scanned.host, name), getattr(slow.host, name)), name
    assert scanned.base_ns == slow.base_ns


def _metadata() -> dict[str, Any]:
    return {key: value for key, value in DOCUMENT.items() if key != "traceEvents"}


def test_the_recording_says_what_it_holds() -> None:
    trace = drawn(
        meta("process_name", 100, name="python"),
        x(
            "aten::mm",
            1_700_000_000_000_000,
            5,
            **{"Input Dims": [[2]], "Call stack": "a.py(3): f"},
        ),
        python("nn.Module: Linear_0", 1_700_000_000_000_000, 9, **{"Python module id": 0}),
        record_shapes=1,
        with_flops="1",
        trace_id="F00",
        host_name="node7",
        distributedInfo={"backend": "nccl", "rank": "3", "world_size": 8, "pg_count": 1},
        kinetoscope={"schema": 1},
        hparams={"lr": 0.1},
    )
    recording = trace.recording
    assert (recording.record_shapes, recording.with_flops, recording.profile_memory) == (
        True, True, False,
    )  # fmt: skip
    assert (recording.with_stack, recording.with_modules) == (True, True)
    assert (recording.backend, recording.rank, recording.world_size) == ("nccl", 3, 8)
    assert (recording.trace_id, recording.host_name) == ("F00", "node7")
    assert recording.handler == {"schema": 1}
    assert recording.metadata["hparams"] == {"lr": 0.1}
    assert "kinetoscope" not in recording.metadata


@pytest.mark.parametrize(
    "info", [None, [], "nccl", {"rank": None}, {"rank": True}, {"rank": 1e300}]
)
def test_a_recording_that_says_nonsense_says_nothing(info: object) -> None:
    recording = drawn(x("a", 0, 1), distributedInfo=info, trace_id=7, host_name="").recording
    assert (recording.rank, recording.trace_id, recording.host_name) == (None, None, None)


def era(*events: dict[str, Any], **metadata: Any) -> str:
    return drawn(*events, **metadata).recording.torch_era


EPOCH_US = 1_700_000_000_000_000


@pytest.mark.parametrize(
    ("expected", "events", "metadata"),
    [
        ("unknown", [], {}),
        ("A", [{**x("a", 10.5, 3, pid="CPU functions"), "cat": None}], {}),
        ("B", [x("a", EPOCH_US, 3, cat="Operator")], {}),
        ("C", [x("a", EPOCH_US, 3, cat="Operator")], {"deviceProperties": []}),
        ("D", [x("a", EPOCH_US, 3)], {}),
        ("E", [x("a", EPOCH_US, 3)], {"traceName": "x.json"}),
        ("F", [x("a", 7.25, 3)], {"baseTimeNanoseconds": 10}),
        ("G", [meta("process_name", 1), x("a", 7.25, 3)], {"baseTimeNanoseconds": 10}),
    ],
)
def test_the_age_of_the_format(
    expected: str, events: list[dict[str, Any]], metadata: dict[str, Any]
) -> None:
    assert era(*events, **metadata) == expected


@pytest.mark.parametrize(
    "events",
    [
        [x("f", EPOCH_US, 3, cat="FEE")],
        [{**x("Total Frontend", 5, 3, pid=1), "cat": None}],  # of a compiler
        [{**x("XlaModule", 5, 3, pid=1), "cat": None}, meta("process_name", 1, name="/host:CPU")],
        [x("frame", EPOCH_US, 3, cat="user_annotation"), x("f", EPOCH_US, 1, cat="FEE")],
        [x("step", 0, 3, cat="user_annotation"), {**x("f", 0, 1, pid=1), "cat": None}],
    ],
    ids=["functions", "compiler", "processes", "marked steps", "marked steps, no kinds"],
)
def test_no_version_of_torch_is_said_to_have_written_what_others_did(
    events: list[dict[str, Any]],
) -> None:
    trace = drawn_by_others(*events)
    assert trace.recording.torch_era == "Other"
    assert not (trace.host.kind == HostKind.OP).any()


@pytest.mark.parametrize(
    ("expected", "events"),
    [
        ("A", [{**x("aten::mm", 5, 3, pid=1), "cat": None}]),
        ("A", [{**x("mm", 5, 3, pid="CPU functions"), "cat": None}]),
        ("D", [x("aten::mm", EPOCH_US, 3), x("f", EPOCH_US, 1, cat="FEE")]),
        ("D", [x("ProfilerStep#1", EPOCH_US, 3, cat="user_annotation")]),
    ],
)
def test_what_torch_wrote_is_known_without_its_keys(
    expected: str, events: list[dict[str, Any]]
) -> None:
    assert drawn_by_others(*events).recording.torch_era == expected
    assert era(x("f", EPOCH_US, 1, cat="FEE"), traceName="x.json") == "E", "of a kind of its own"


def test_stamps_since_the_epoch_with_fractions() -> None:
    event = {**x("a", 0, 3), "ts": "1712195495505582.988"}
    assert era(event) == "F1"
    assert drawn(event).base_ns == 1712195495505582988


def test_reading_keeps_the_columns_of_the_caller() -> None:
    raw = raw_trace(DOCUMENT)
    first, second = build(raw, "a", 1), build(raw, "a", 1)
    assert first.host.ts.tolist() == second.host.ts.tolist()
    assert len(raw.ints) > 0
