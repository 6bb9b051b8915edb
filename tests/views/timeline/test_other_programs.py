"""A Perfetto file of another program: its slices are shown, and no advice on torch is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.session.session import TraceSession
from kinetoscope.trace.read import read
from kinetoscope.views.timeline.details import details
from kinetoscope.views.timeline.queries import LayoutQuery, SliceQuery
from kinetoscope.views.timeline.view import VIEW, build
from tests.conftest import requires_native
from tests.trace.perfetto.drawn import begin, end, packet, process, thread, trace_file

pytestmark = requires_native


@pytest.fixture(name="path")
def written(tmp_path: Path) -> Path:
    path = tmp_path / "browser.pftrace"
    path.write_bytes(
        trace_file(
            process(1, 40, "app"),
            thread(2, 1, 40, 41, "main"),
            packet(flags=1, interned=[(2, [(1, 1), (2, "paint")])]),
            packet(ts=100, event=begin(2, 1)),
            packet(ts=400, event=end(2)),
        )
    )
    return path


def test_no_advice_on_torch_is_given(path: Path) -> None:
    subject = TraceSession(read(str(path))).seen_by(VIEW)
    manifest = build(subject, LayoutQuery())
    assert list(manifest.missing) == ["pytorch"]
    assert manifest.slices == 1
    one = details(subject, SliceQuery(slice=0))
    assert one.slice.name == "paint"
    assert one.stack_missing.startswith("Another program than PyTorch wrote this file")
    assert "with_stack" not in str(one)
