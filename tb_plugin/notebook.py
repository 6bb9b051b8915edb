"""A trace in a notebook: its tables as pandas DataFrames, its views as Structs.

    trace = kinetoscope.open("log/host_7.1694128201545.pt.trace.json.gz")
    trace.kernels.groupby("name", observed=True)["dur_ns"].sum().nlargest(10)
    trace.overview(steps="2-5").sentence.headline

Times are int64 nanoseconds from the start of the trace. Names are categoricals. A link to another
row is the index of that row, <NA> where there is none. Frames are made when they are asked for.
"""

from __future__ import annotations

import os
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from . import views
from .analysis.facts import Facts
from .analysis.summarize import summarize
from .base import units
from .base.errors import QueryError
from .frames import (
    counter_frame,
    device_frame,
    host_frame,
    memory_frame,
    range_frame,
    step_frame,
)
from .store.choose import only
from .trace.model import DeviceKind, HostKind, Trace
from .trace.reader import read
from .views.timeline_answers import AreaAnswer, SearchAnswer, TimelineManifest
from .views.view import Subject
from .web.local_subject import subject_of_trace
from .web.subject import available

if TYPE_CHECKING:
    import pandas as pd

    from .views.health import Health
    from .views.overview import Overview

Value = str | int | float | bool | None
A = TypeVar("A")


def open_trace(path: str | os.PathLike[str]) -> OpenTrace:
    """Read a trace file, or the only one below a folder.

    Raises:
        TraceFormatError: the file is no PyTorch trace; names what it is.
        NotFoundError: there is no such file, or no trace below the folder.
        QueryError: there are several below the folder.
    """
    return OpenTrace(read(only(os.path.expanduser(path))))


class OpenTrace:
    """One trace. ``trace`` holds the numpy columns that the frames are made from."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._subjects: dict[str, Subject] = {}

    # --- tables -----------------------------------------------------------------------------------

    @cached_property
    def host(self) -> pd.DataFrame:
        """Every duration event of host threads: ops, annotations, Python frames, runtime calls."""
        return host_frame(self.trace)

    @property
    def ops(self) -> pd.DataFrame:
        """Operators; the index is that of ``host``."""
        return self._host(HostKind.OP)

    @property
    def annotations(self) -> pd.DataFrame:
        """Annotations of the user and of the profiler; the index is that of ``host``."""
        return self._host(HostKind.ANNOTATION)

    @property
    def runtime_calls(self) -> pd.DataFrame:
        """Calls of the runtime or driver; the index is that of ``host``."""
        return self._host(HostKind.RUNTIME)

    @property
    def python(self) -> pd.DataFrame:
        """Python frames, calls of modules among them; the index is that of ``host``."""
        return self._host(HostKind.PYTHON, HostKind.MODULE)

    @cached_property
    def device(self) -> pd.DataFrame:
        """Kernels, copies, memsets; ``launch`` and ``op`` are rows of ``host``."""
        return device_frame(self.trace)

    @property
    def kernels(self) -> pd.DataFrame:
        """Kernels; the index is that of ``device``."""
        chosen: pd.DataFrame = self.device[self.trace.device.kind == DeviceKind.KERNEL]
        return chosen

    @cached_property
    def device_annotations(self) -> pd.DataFrame:
        """Annotations as the device saw them."""
        return range_frame(self.trace, self.trace.device_annotations)

    @cached_property
    def syncs(self) -> pd.DataFrame:
        """Records of waiting: they are no work."""
        return range_frame(self.trace, self.trace.syncs)

    @cached_property
    def memory(self) -> pd.DataFrame:
        """What the allocator did, in time order; ``bytes`` < 0 is a release."""
        return memory_frame(self.trace)

    @cached_property
    def counters(self) -> pd.DataFrame:
        """Samples of counters."""
        return counter_frame(self.trace)

    @cached_property
    def steps(self) -> pd.DataFrame:
        """Steps, host side as recorded."""
        return step_frame(self.trace)

    # --- views ------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> Facts:
        """What the views are computed from."""
        return summarize(self.trace)

    def overview(self, *, steps: str = "", device: int | None = None) -> Overview:
        """Where did the step's time go?

        Raises:
            QueryError: there are no such steps, or no such device.
        """
        return self._view("overview", views.overview.Overview, steps=steps, device=device)

    def health(self) -> Health:
        """What was read, what is missing, and how to record it better."""
        return self._view("health", views.health.Health)

    def timeline(self, *, layout: str = "split") -> TimelineManifest:
        """What ran when: tracks, counters, steps, and what the picture cannot show."""
        return self._view("timeline", TimelineManifest, layout=layout)

    def area(
        self, start_ns: int, end_ns: int, *, tracks: str = "", layout: str = "split"
    ) -> AreaAnswer:
        """What lies in a range of time: sums by name, devices, counters.

        ``tracks`` are numbers of the timeline's, such as "0,4-7"; "" = all.

        Raises:
            QueryError: the range is empty, or there is no such track.
        """
        query: dict[str, Value] = {
            "start_ns": start_ns,
            "end_ns": end_ns,
            "tracks": tracks,
            "layout": layout,
        }
        return self._part("timeline", "area", AreaAnswer, query)

    def search(self, text: str, *, mode: str = "text", tracks: str = "") -> SearchAnswer:
        """Which names match, how often, and where on the time axis.

        ``mode`` is "text" (every word, in any case), "regex" or "exact".
        """
        query: dict[str, Value] = {"text": text, "mode": mode, "tracks": tracks}
        return self._part("timeline", "search", SearchAnswer, query)

    def _view(self, stem: str, answer: type[A], **query: Value) -> A:
        view = views.view_named(stem)
        asked = self._subject(stem) if view.artifact else available(view, self.facts)
        return _as(answer, view.build(asked, _query(view.query, query)))

    def _part(self, stem: str, name: str, answer: type[A], query: dict[str, Value]) -> A:
        part = next(part for part in views.view_named(stem).parts if part.stem == name)
        return _as(answer, part.build(self._subject(stem), _query(part.query, query)))

    def _subject(self, stem: str) -> Subject:
        """What a view with an artifact is asked about; made once."""
        found = self._subjects.get(stem)
        if found is None:
            view = views.view_named(stem)
            found = self._subjects[stem] = subject_of_trace(view, self.trace, self.facts)
        return found

    def _host(self, *kinds: HostKind) -> pd.DataFrame:
        chosen: pd.DataFrame = self.host[np.isin(self.trace.host.kind, kinds)]
        return chosen

    # --- in a notebook ----------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<OpenTrace {self.trace.path}: {', '.join(f'{k} {v}' for k, v in self._rows())}>"

    def _repr_html_(self) -> str:
        """A small table; every text of the trace is escaped."""
        rows = [("file", self.trace.path), *self._rows()]
        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
        return f"<table>{cells}</table>"

    def _rows(self) -> list[tuple[str, str]]:
        trace = self.trace
        kinds = trace.host.kind
        rows = {
            "steps": len(trace.steps),
            "ops": int((kinds == HostKind.OP).sum()),
            "annotations": int((kinds == HostKind.ANNOTATION).sum()),
            "device activity": len(trace.device),
            "memory events": len(trace.memory),
        }
        devices = ", ".join(d.name or f"{d.type} {d.index}" for d in trace.devices if d.used)
        return [
            ("length", units.duration(trace.end_ns)),
            ("devices", devices or "none"),
            *((label, units.count(number)) for label, number in rows.items()),
        ]


def _as(answer: type[A], built: object) -> A:
    if not isinstance(built, answer):
        raise TypeError(f"{answer.__name__} was asked for, and {type(built).__name__} answered")
    return built


def _query(query: type[Struct], values: dict[str, Value]) -> Struct:
    try:
        return msgspec.convert(values, query)
    except msgspec.ValidationError as error:
        raise QueryError(str(error)) from error
