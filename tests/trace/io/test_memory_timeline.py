"""Exported memory timelines: sums and single changes say the same; what is none is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.curve import by_category, layers_at
from kinetoscope.analysis.memory.model import Category
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.session.session import FileSession
from kinetoscope.trace.io.memory_timeline import read_timeline
from kinetoscope.trace.io.source import root_of
from kinetoscope.trace.memory_model import MemoryTimeline
from kinetoscope.trace.read import read
from kinetoscope.views import view_named
from kinetoscope.views.memory.contract import MemoryQuery
from kinetoscope.views.memory.view import build
from tests.conftest import TRACES, requires_traces

#        unused, parameter, optimizer state, input, temporary, activation, gradient, autograd, other
SUMS = [
    [1_700_000_000_000_000, 1_700_000_000_000_005, 1_700_000_000_000_009],
    [[0, 100, 0, 0, 0, 0, 0, 0, 8], [0, 100, 0, 0, 0, 40, 0, 0, 8], [0, 100, 0, 0, 0, 0, 0, 0, 8]],
]
CHANGES = [
    [-1, 1, 100, 0],
    [-1, 1, 8, 7],
    [1_700_000_000_000_000_000, 2, 40, 7],
    [1_700_000_000_000_005_000, 3, -40, 7],
    [1_700_000_000_000_005_000, 3, 40, 4],
    [1_700_000_000_000_009_000, 4, -40, 4],
]


def stored(folder: Path, content: object, name: str = "memory.json") -> Path:
    path = folder / name
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def test_sums_and_changes_are_read(tmp_path: Path) -> None:
    sums = read_timeline(stored(tmp_path, SUMS))
    assert (sums.base, sums.bytes.tolist()) == ((100, 0, 0, 0, 0, 0, 0, 8), [40, -40])
    changes = read_timeline(stored(tmp_path, CHANGES, "memory.raw.json.gz"))
    assert (changes.base, changes.bytes.tolist()) == (sums.base, [40, -40, 40, -40])
    assert changes.category.tolist() == [7, 7, 4, 4]


def test_the_curve_is_by_the_categories_of_torch(tmp_path: Path) -> None:
    session = FileSession(str(stored(tmp_path, SUMS)))
    answer = build(session.subject(view_named("memory")), MemoryQuery())
    assert [(one.label, one.bytes, one.confidence) for one in answer.peak.categories] == [
        ("Parameters", 100, "high"),
        ("Activations", 40, "high"),
        ("Unknown", 8, "high"),
    ]
    assert answer.curve.allocated == (108, 148, 108, 108)
    assert session.unavailable(view_named("operators")) is not None


@pytest.mark.parametrize(
    "content",
    [
        [[1_700_000_000_000_000, 5], [[0] * 9]],
        [[-1, 1, 5, 9]],
        [[-1, 1, 5, 0], [1, 2]],
        [[-1, 1, 5, 0], "x"],
        [[-1, 1, 5, 0], [1e40, 2, 5, 0]],
    ],
)
def test_what_only_begins_like_one_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(TraceFormatError, match="exported memory timeline, and cannot be read"):
        read_timeline(stored(tmp_path, content))


def test_the_page_with_a_picture_says_what_to_export() -> None:
    page = (
        b'<html>\n<head><meta charset="utf-8" /><title>CPU memory</title></head>\n<body>\n'
        b"<img src='data:image/png;base64,iVBORw0KGgo="
    )
    with pytest.raises(TraceFormatError, match="a picture") as refused:
        root_of(page)
    assert ".raw.json.gz" in (refused.value.hint or "")


@requires_traces
def test_the_exports_of_one_recording_agree_at_their_peak() -> None:
    folder = TRACES / "fresh_torch2.13" / "exports"
    found = []
    for name in ("memory_timeline.json", "memory_timeline.json.gz", "memory_timeline.raw.json.gz"):
        trace = read(folder / name)
        assert isinstance(trace.timeline, MemoryTimeline)
        columns = memory_of(trace)
        (device,) = columns.devices
        top = int(columns.events.allocated.argmax())
        rows = np.array([top])
        layers = layers_at(columns, device, rows, by_category(columns, device))[:, 0]
        assert layers.sum() == columns.events.allocated[top] == 2_274_128
        found.append(layers.tolist())
    assert found[0] == found[1] == found[2]
    assert found[0][Category.ACTIVATION] == 1_508_072
