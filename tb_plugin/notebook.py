"""A trace in a notebook: its tables as pandas DataFrames, its views as Structs.

    trace = kinetoscope.open("log/host_7.1694128201545.pt.trace.json.gz")
    trace.kernels.groupby("name", observed=True)["dur_ns"].sum().nlargest(10)
    trace.overview(steps="2-5").sentence.headline

Times are int64 nanoseconds from the start of the trace. Names are categoricals. A link to another
row is the index of that row, <NA> where there is none. Frames are made when they are asked for.
"""

from __future__ import annotations

import os
import shlex
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from . import views
from .analysis.advice.rule import read_thresholds
from .analysis.advice.rule import thresholds as named_thresholds
from .analysis.facts import Facts
from .ask.sources import Source
from .base import units
from .base.errors import NotFoundError, QueryError, UnavailableError
from .frames import frame_of, table_frame
from .session.session import ChosenTrace, Session, Wanted, choose
from .trace.model import DeviceKind, HostKind, Trace
from .views.distributed.contract import WhatIfAnswer
from .views.health import Health
from .views.overview.document import AdviceDocument
from .views.overview.idle import CriticalPathAnswer
from .views.overview.view import Overview, Ruler, Share, advice_on
from .views.shared import EVERY_ROW, LIMIT, misfit, with_limit
from .views.table import Column, Table
from .views.timeline.contract import AreaAnswer, SearchAnswer, TimelineManifest
from .views.view import Subject, View
from .web.report import MOST_SIZE

if TYPE_CHECKING:
    import pandas as pd

    from .ask.worker import SqlWorker
    from .web.report.document import WrittenReport

Value = str | int | float | bool | None
A = TypeVar("A")


def open_trace(
    path: str | os.PathLike[str],
    *,
    run: str | None = None,
    worker: str | None = None,
    span: str | int | None = None,
    start: int | None = None,
) -> OpenTrace:
    """Read a trace file, or the one below a folder that the command line would choose.

    ``start`` is the number of a start of the run: 1 the oldest, -1 the newest (the default).

    Raises:
        TraceFormatError: the file is no PyTorch trace; names what it is.
        NotFoundError: there is no such file, no trace below the folder, or no such run, start,
            worker or span.
        QueryError: a run, start, worker or span is given, but the path is one file.
        UnavailableError: the library for an address of another machine is not installed.
    """
    named = None if span is None else str(span)
    chosen = choose(os.fspath(path), Wanted(run, worker, named, start))
    session = chosen.session()
    session.facts()  # says now what is wrong with the file
    return OpenTrace(session, chosen.notice(), chosen)


class OpenTrace:
    """One trace, read where the cache does not have it.

    ``notice`` says which trace of a folder was chosen, where there was a choice.
    """

    def __init__(
        self, session: Session, notice: str = "", chosen: ChosenTrace | None = None
    ) -> None:
        self._session = session
        self._chosen = chosen
        self.notice = notice
        self._subjects: dict[str, Subject] = {}
        self._worker: SqlWorker | None = None

    @cached_property
    def trace(self) -> Trace:
        """The numpy columns that the frames are made from."""
        return self._session.trace()

    # --- tables -----------------------------------------------------------------------------------

    @cached_property
    def host(self) -> pd.DataFrame:
        """Every duration event of host threads: ops, annotations, Python frames, runtime calls."""
        return self.events("host")

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
        return self.events("device")

    @property
    def kernels(self) -> pd.DataFrame:
        """Kernels; the index is that of ``device``."""
        chosen: pd.DataFrame = self.device[self.trace.device.kind == DeviceKind.KERNEL]
        return chosen

    @cached_property
    def device_annotations(self) -> pd.DataFrame:
        """Annotations as the device saw them."""
        return self.events("device_annotations")

    @cached_property
    def syncs(self) -> pd.DataFrame:
        """Records of waiting: they are no work."""
        return self.events("syncs")

    @cached_property
    def memory(self) -> pd.DataFrame:
        """Allocator events in time order; ``bytes`` < 0 is a release."""
        return self.events("memory")

    @cached_property
    def counters(self) -> pd.DataFrame:
        """Samples of counters."""
        return self.events("counters")

    @cached_property
    def steps(self) -> pd.DataFrame:
        """Steps as the views count them, and their ranges on the host."""
        return self.events("steps")

    def events(self, table: str) -> pd.DataFrame:
        """A table of ``kinetoscope sql`` by its name, such as "idle" or "functions".

        Raises:
            NotFoundError: there is no such table.
            UnavailableError: this recording does not have it; says why.
        """
        return frame_of(Source(self._session).columns(table))

    def sql(self, query: str, *, seconds: float = 60.0) -> pd.DataFrame:
        """The rows of one SELECT over the tables of ``kinetoscope sql``.

            trace.sql("SELECT cause, sum(idle_ns) AS ns FROM idle_causes GROUP BY cause")

        Needs DuckDB, the extra ``sql``. The query runs in a process of its own, which reads nothing
        but this recording.

        Raises:
            QueryError: it is no single SELECT, it is wrong, or it takes too long or too much.
            UnavailableError: the recording does not have a table that it names; says why.
            KinetoscopeError: DuckDB is not installed.
        """
        from .ask.sql import MOST_BYTES, MOST_ROWS, SqlRequest, advice_among_ranks
        from .ask.worker import SqlWorker

        if self._worker is None:
            self._worker = SqlWorker()
        request = SqlRequest(query, MOST_ROWS, MOST_BYTES, seconds)
        advice = advice_among_ranks(self._session, query)
        found = self._worker.ask(self.trace.path, request, advice)
        columns = tuple(Column(key, key) for key in found.columns)
        return table_frame(Table("Rows", columns, found.rows, len(found.rows)))

    # --- tables of the views ----------------------------------------------------------------------

    def table(self, view: str, which: str | int = 1, **query: Value) -> pd.DataFrame:
        """A table of a view: its first one, or the one of that title or number.

            trace.table("operators", group_by="shape", kinds="op")
            trace.table("kernels", "Copies and sets", steps="2-5")

        The parameters are those of the view on the page; all rows are there unless there is a
        ``limit``. Column names carry their unit; ``frame.attrs["definitions"]`` explains them.

        Raises:
            NotFoundError: there is no such view, or no such table in it.
            QueryError: a parameter has no meaning here; says what may be given.
            UnavailableError: this recording cannot fill the view; says why.
        """
        tables = self.tables(view, **query)
        found = dict(enumerate(tables.values(), start=1)) | tables
        if which not in found:
            known = ", ".join(f"{number} {title}" for number, title in enumerate(tables, start=1))
            raise NotFoundError(f"{view} has no table {which!r}", hint=f"tables: {known}")
        return found[which]

    def tables(self, view: str, **query: Value) -> dict[str, pd.DataFrame]:
        """All tables of a view by their titles, the main one first; see ``table``.

        Raises:
            NotFoundError: there is no such view.
            QueryError: a parameter has no meaning here; says what may be given.
            UnavailableError: this recording cannot fill the view; says why.
        """
        found = views.view_named(view)
        answer = found.build(self._asked(found), _whole(found.query, query))
        return {table.title: table_frame(table) for table in found.tables(answer)}

    # --- views ------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> Facts:
        """Input of all views."""
        return self._session.facts()

    def overview(self, *, steps: str = "", device: str = "") -> Overview:
        """Where did the step's time go?

        Raises:
            QueryError: there are no such steps, or no such device.
        """
        return self._view("overview", Overview, steps=steps, device=device)

    def advice(self, *, steps: str = "", device: str = "", thresholds: str = "") -> AdviceDocument:
        """Causes of the steps' time, with remedies: the document of ``kinetoscope advise``.

        ``thresholds`` is the path of a file with other thresholds; "" takes the one that
        ``KINETOSCOPE_THRESHOLDS`` names.

        Raises:
            QueryError: there are no such steps, no such device, or the file makes no sense.
            UnavailableError: the trace cannot fill the Overview; says why.
        """
        limits = read_thresholds(thresholds) if thresholds else named_thresholds()
        return advice_on(self._subject("overview"), steps, device, limits)

    def critical_path(self, *, steps: str = "", inferred: bool = True) -> CriticalPathAnswer:
        """Critical path of the steps, by kind and by name.

        Raises:
            QueryError: there are no such steps.
        """
        query: dict[str, Value] = {"steps": steps, "inferred": inferred}
        return self._part("overview", "path", CriticalPathAnswer, query)

    def what_if(self, kind: str = "late", target: int = 0) -> WhatIfAnswer:
        """The step of all ranks, replayed with one change; ``refused`` says why there is none.

        ``kind`` is "late" (the ranks that make the others wait, else the input), "rank", "node",
        "stage", "group" or "input"; ``target`` its row or number.

        Raises:
            QueryError: there is no such rank, node, stage or group.
            UnavailableError: there is one recording only.
        """
        return self._part("distributed", "what_if", WhatIfAnswer, {"kind": kind, "target": target})

    def health(self) -> Health:
        """Events read, missing data, and better ways to record."""
        return self._view("health", Health)

    def timeline(self, *, layout: str = "split") -> TimelineManifest:
        """Tracks, counters, steps, and limits of the picture."""
        return self._view("timeline", TimelineManifest, layout=layout)

    def area(
        self, start_ns: int, end_ns: int, *, tracks: str = "", layout: str = "split"
    ) -> AreaAnswer:
        """Contents of a range of time: sums by name, devices, counters.

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
        return _as(answer, view.build(self._asked(view), _query(view.query, query)))

    def _asked(self, view: View) -> Facts | Subject:
        return self._subject(view.stem) if view.artifact else self._session.asked(view)

    def _part(self, stem: str, name: str, answer: type[A], query: dict[str, Value]) -> A:
        part = next(part for part in views.view_named(stem).parts if part.stem == name)
        return _as(answer, part.build(self._subject(stem), _query(part.query, query)))

    def _subject(self, stem: str) -> Subject:
        """The input of a view with an artifact; made once."""
        found = self._subjects.get(stem)
        if found is None:
            view = views.view_named(stem)
            found = self._subjects[stem] = self._session.subject(view)
        return found

    def _host(self, *kinds: HostKind) -> pd.DataFrame:
        chosen: pd.DataFrame = self.host[np.isin(self.trace.host.kind, kinds)]
        return chosen

    # --- in a notebook ----------------------------------------------------------------------------

    def report(
        self,
        path: str | os.PathLike[str] = "report.html",
        *,
        max_size: str = MOST_SIZE,
        steps: str = "",
        redact: bool = False,
    ) -> Path:
        """Write one HTML file with all views, to be sent to someone; its path.

        It opens with ``steps``; ``redact`` replaces folders, hosts and users by codes.

        Raises:
            QueryError: ``max_size`` is no size, or there are no such steps.
            UnavailableError: the file would be larger, or the trace is in memory alone.
            KinetoscopeError: the file cannot be written.
        """
        target = Path(path)
        self._written(max_size, steps, redact).write(target)
        return target

    def show(
        self,
        *,
        height: int = 700,
        mode: Literal["auto", "server", "report"] = "auto",
        max_size: str = MOST_SIZE,
    ) -> Shown:
        """All views below a cell of a notebook.

        ``server`` shows the page of a server in this process, over jupyter-server-proxy where that
        is installed; ``report`` shows one file without a server, which stays in the saved notebook.
        ``auto`` takes the server where the browser is sure to reach it, else the report.

        Raises:
            QueryError: ``max_size`` is no size.
            UnavailableError: the views would be larger, the trace is in memory alone, or its
                folder cannot be served.
        """
        from .web.embed import frame_of, reaches_browser

        if mode == "server" or (mode == "auto" and self._chosen and reaches_browser()):
            if self._chosen is None:
                raise UnavailableError("a trace in memory has no server", hint="open its file")
            return Shown(frame_of(self._chosen, height))
        return Shown.of_report(self._written(max_size, "", redact=False).content, height)

    def _written(self, max_size: str, steps: str, redact: bool) -> WrittenReport:
        from .web.report.document import ReportOptions, report_of

        if self._chosen is None:
            raise UnavailableError("a trace in memory has no report", hint="open its file")
        options = ReportOptions(max_size, steps=steps, redact=redact)
        return report_of(self._chosen, None, options)

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {value}" for name, value in self._rows())
        chosen = f"; {self.notice}" if self.notice else ""
        return f"<OpenTrace {self.trace.path!r}: {rows}{chosen}>".replace(units.NBSP, " ")

    def _repr_html_(self) -> str:
        """Headline, ruler, first finding, and how to open the page.

        Every text of the trace is escaped. Styles are inline, colours fit light and dark pages, and
        nothing is loaded from anywhere.
        """
        overview = self.overview()
        facts = " · ".join(f"{name} {value}" for name, value in self._rows())
        said = overview.sentence
        parts = (
            f'<div style="font-size:1.15em;font-weight:600">{_prose(said.headline)}</div>',
            _paragraph(_prose(" · ".join(t for t in (said.detail, said.agreement) if t))),
            _ruler(overview.ruler),
            _finding(overview),
            *(_dim(_text(self.notice)) for _ in (1,) if self.notice),
            _dim(f"{_text(self.trace.path)}<br>{_text(facts)}"),
            _dim(f"The page: {_code(_serve_command(self.trace.path))}"),
        )
        return f'<div style="{_BOX}">{"".join(parts)}</div>'

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


# --- a trace as HTML ------------------------------------------------------------------------------

_BOX = (
    "font-family:system-ui,sans-serif;max-width:60em;line-height:1.4;color:inherit;"
    "padding:.6em .8em;border:1px solid rgba(128,128,128,.4);border-radius:6px"
)
_COLORS = {
    "compute": "#5576d3",
    "comm": "#e8672b",
    "memcpy": "#22a680",
    "memset": "#83d3ad",
    "runtime": "#e0ac1e",
    "loader": "#96359a",
    "cpu": "#61b4ea",
    "cpu-light": "#a9d6f4",
    "cpu-deep": "#3d93cc",
    "cpu-deepest": "#2a6f9e",
    "other": "#8d95a1",
}
"""Category of a part → a colour that can be seen on white and on black."""


class Shown:
    """A page as the output of a cell.

    A report has no origin of its own (``allow-scripts`` alone), so nothing in it reaches the
    notebook around it. A server's page has the server's.
    """

    def __init__(self, html: str) -> None:
        self._html = html

    @classmethod
    def of_report(cls, content: bytes, height: int) -> Shown:
        """The file of a report in a frame."""
        return cls(
            f'<iframe sandbox="allow-scripts" width="100%" height="{int(height)}"'
            f' style="border: 0" srcdoc="{escape(content.decode())}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self._html


def _text(text: str) -> str:
    """A text as HTML; invalid UTF-8 becomes a question mark."""
    return escape(text.encode("utf-8", "replace").decode())


def _code(text: str) -> str:
    return f'<code style="color:inherit;background:rgba(128,128,128,.15)">{_text(text)}</code>'


def _prose(text: str) -> str:
    """A sentence as HTML; text between backticks becomes code."""
    pieces = text.strip().split("`")
    if len(pieces) % 2 == 0:  # a backtick of a name
        return _text(text)
    return "".join(_code(p) if at % 2 else _text(p) for at, p in enumerate(pieces))


def _paragraph(html: str) -> str:
    return f'<div style="margin:.2em 0 .5em">{html}</div>'


def _dim(html: str) -> str:
    return f'<div style="font-size:.85em;opacity:.75;overflow-wrap:anywhere">{html}</div>'


def _fill(share: Share) -> str:
    """The colour of a part; hatched where the device was idle."""
    color = _COLORS.get(share.category, _COLORS["other"])
    if not share.ghost:
        return f"background:{color}"
    stripes = f"{color} 0 2px,transparent 2px 5px"
    return f"background:repeating-linear-gradient(135deg,{stripes});outline:1px solid {color}"


def _ruler(ruler: Ruler) -> str:
    """The mean step as a bar with a legend; nothing where no time was recorded."""
    shares = [share for share in ruler.shares if share.ratio > 0]
    if not shares:
        return ""
    bar = "".join(
        f'<span title="{_text(_words(one))}" style="flex:{one.ratio:.6f} 1 0;min-width:1px;'
        f'outline-offset:-1px;{_fill(one)}"></span>'
        for one in shares
    )
    legend = "".join(
        f'<span style="margin-right:1.2em;white-space:nowrap"><span style="display:inline-block;'
        f'width:.8em;height:.8em;outline-offset:-1px;margin-right:.35em;{_fill(one)}"></span>'
        f"{_text(_words(one))}</span>"
        for one in shares
    )
    title = f"{ruler.title}: {units.duration(ruler.mean_ns)}"
    return (
        f'<div style="font-size:.9em">{_text(title)}</div>'
        f'<div style="display:flex;height:1.4em;margin:.2em 0" role="img">{bar}</div>'
        f'<div style="font-size:.85em;margin-bottom:.6em">{legend}</div>'
    )


def _words(share: Share) -> str:
    return f"{share.label} {units.duration(share.mean_ns)}, {units.share(share.ratio)}"


def _finding(overview: Overview) -> str:
    """The first finding, and how many more there are."""
    if not overview.findings:
        return ""
    first, *rest = overview.findings
    gain = f", up to {units.share(first.gain.ratio)} of the step" if first.gain else ""
    more = f" ({units.plural(len(rest), 'more finding')})" if rest else ""
    return _paragraph(
        f"<b>{_prose(first.title)}</b>{_text(gain)}{_text(more)}<br>{_prose(first.text)}"
    )


def _serve_command(path: str) -> str:
    """The command that opens the page on the folder of a trace."""
    return f"kinetoscope serve {shlex.quote(os.path.dirname(os.path.abspath(path)))}"


def _as(answer: type[A], built: object) -> A:
    if not isinstance(built, answer):
        raise TypeError(f"{answer.__name__} was asked for, and {type(built).__name__} answered")
    return built


def _whole(query: type[Struct], values: dict[str, Value]) -> Struct:
    """The query; a table without a given limit has all its rows."""
    limit = values.get(LIMIT, EVERY_ROW)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise QueryError(f"limit: {limit!r} is not a whole number from 1")
    rest = {name: value for name, value in values.items() if name != LIMIT}
    if LIMIT in values and LIMIT not in query.__struct_fields__:
        return _query(query, values)  # says that there is none
    return with_limit(_query(query, rest), limit)


def _query(query: type[Struct], values: dict[str, Value]) -> Struct:
    try:
        return msgspec.convert(values, query)
    except msgspec.ValidationError as error:
        raise misfit(error, values, query) from error
