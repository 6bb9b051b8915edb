"""Timelines for tests: made on disk as ever, opened, and kept as long as the test holds them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kinetoscope.analysis.timeline.build import make
from kinetoscope.analysis.timeline.model import DEFAULT_LAYOUT, Timeline
from kinetoscope.analysis.timeline.open import open_timeline
from kinetoscope.trace.model import Trace


def timeline_of(trace: Trace, layout: str = DEFAULT_LAYOUT) -> Timeline:
    """The timeline of a trace in one layout."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for variant in dict.fromkeys((DEFAULT_LAYOUT, layout)):
            place = Path(folder, f"timeline-{variant}")
            place.mkdir()
            make(trace, place, lambda _: None, variant)
        # What is mapped stays readable when its file is gone.
        return open_timeline(Path(folder, f"timeline-{layout}"))
