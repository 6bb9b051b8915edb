"""The page's requests for a recording, sent to the application in this process.

``ASKED`` has functions of views; the timeline's questions are in ``timeline``. A test in a
browser holds them against what the page wants.
"""

from __future__ import annotations

import base64
import gzip
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from werkzeug.test import Client

from ...base.errors import UnavailableError
from ...base.units import duration
from ...session.catalog import Traces
from ...views.view import TracePlace, View
from ..contract import ErrorAnswer

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_STEPS = "steps"
MOST_ROWS = 1000  # of a table
DETAILS = 50  # rows whose details are there
FEW_ROWS = 100  # of a table, where there is no room for all
_AT_ONCE = 8
_MOST_STEPS = 12  # that have answers of their own
_STEPS_S = 60.0  # to compute these
PATIENCE_S = 3600.0  # for one answer, and for the recordings to be read
_NONE_HERE = {"not_available", "not_found", "bad_query"}  # kinds of errors of a missing answer


class Answers:
    """Answers so far, by question."""

    def __init__(
        self,
        app: WSGIApplication,
        catalog: Traces,
        place: TracePlace,
        views: Iterable[View],
        folder: str,
    ) -> None:
        self._client = Client(app, use_cookies=False)  # so that threads may share it
        self._is_outdated = catalog.is_outdated
        self._folder = msgspec.json.encode(f"{folder}/")[1:-1] if folder else b""
        self._names = dict(zip(("run", "worker", "span"), place, strict=True))
        self.digest = ""
        self.program = ""
        self.usual = _usual(views)
        self._takes_steps = {route for route, query in _queries(views).items() if _STEPS in query}
        self.steps = ""  # of which answers are asked; "" the usual ones
        self.details = DETAILS
        self.failed: dict[str, str] = {}  # route → why an answer of it could not be made
        self.by_group: dict[str, dict[str, bytes]] = {}

    def bytes_of(self, route: str, **parameters: object) -> bytes | None:
        """The answer, stored; None where the server has none for this recording."""
        asked = self._of_steps(route, parameters)
        body = self._asked(route, asked)
        if body is not None:
            self.put(route, self.question(route, asked), body)
        return body

    def ask_at_once(self, questions: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Store many answers that wait for one of the reading processes each."""
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            bodies = threads.map(lambda one: self._asked(*one), questions)
            for (route, asked), body in zip(questions, bodies, strict=True):
                if body is not None:
                    self.put(route, self.question(route, asked), body)

    def json(self, route: str, **parameters: object) -> Any:  # noqa: ANN401  # as JSON has it
        """The same, decoded."""
        body = self.bytes_of(route, **parameters)
        return None if body is None else msgspec.json.decode(body)

    def rows(self, route: str, **parameters: object) -> Sequence[Mapping[str, Any]]:
        """The rows of a table in its usual order, stored for every order and window."""
        asked = self._of_steps(route, parameters)
        body = self._asked(route, {**asked, "offset": 0, "limit": MOST_ROWS})
        if body is None:
            return ()
        self.put(route, f"rows:{self.question(route, asked)}", body)
        found: Sequence[Mapping[str, Any]] = msgspec.json.decode(body)["rows"]
        return found

    def frame(self, route: str, **parameters: object) -> bytes | None:
        """A binary answer, not stored."""
        return self._asked(route, parameters)

    def put(self, route: str, question: str, body: bytes) -> None:
        """Store an answer among those of its view, and of the same steps."""
        group = f"{route} {self.steps}" if self.steps else route
        self.by_group.setdefault(group, {})[question] = body

    def size(self) -> int:
        """Letters that all answers take in the file."""
        return sum(packed_size(group.values()) for group in self.by_group.values())

    def without(self, dropped: Callable[[str], bool]) -> None:
        """Drop the groups that are named so."""
        self.by_group = {name: one for name, one in self.by_group.items() if not dropped(name)}

    def only_first_rows(self) -> None:
        """Cut all tables to their first rows."""
        for group in self.by_group.values():
            for question, body in group.items():
                if question.startswith("rows:"):
                    table = msgspec.json.decode(body)
                    table["rows"] = table["rows"][:FEW_ROWS]
                    group[question] = msgspec.json.encode(table)

    def _of_steps(self, route: str, parameters: Mapping[str, object]) -> Mapping[str, object]:
        """Add the chosen steps to the parameters of a route that takes steps."""
        known = self.steps and route in self._takes_steps and "start_ns" not in parameters
        return {_STEPS: self.steps, **parameters} if known else parameters

    def question(self, route: str, parameters: Mapping[str, object]) -> str:
        """Key of ``questionOf`` in the page: without defaults and names of the trace."""
        usual = self.usual.get(route, {})
        texts = {name: _text(value) for name, value in parameters.items()}
        if route.startswith(("trace", "view/")):
            texts["digest"] = self.digest
        said = sorted(
            f"{name}={value}" for name, value in texts.items() if value and usual.get(name) != value
        )
        return f"{route}?{'&'.join(said)}" if said else route

    def _asked(self, route: str, parameters: Mapping[str, object]) -> bytes | None:
        names = {**self._names, "digest": self.digest} if route not in {"info", "catalog"} else {}
        texts = {name: _text(value) for name, value in parameters.items()}
        query = {name: value for name, value in {**names, **texts}.items() if value}
        until = time.monotonic() + PATIENCE_S
        while True:
            response = self._client.get(f"/api/{route}", query_string=query)
            body = response.get_data()
            if response.status_code != 202 and not _is_waiting(body):
                break
            if time.monotonic() > until:
                raise UnavailableError(
                    f"{route} was not answered within {duration(PATIENCE_S * 1e9)}"
                )
            time.sleep(0.05)
        self.program = response.headers["Kinetoscope-Program"]
        if response.status_code != 200:
            self.must_be_current()
            error = msgspec.json.decode(body, type=ErrorAnswer).error
            if error.kind not in _NONE_HERE:
                self.failed.setdefault(route, error.message)
            return None
        return body.replace(self._folder, b"") if self._folder and body[:1] == b"{" else body

    def must_be_current(self) -> None:
        """Check that the files of kinetoscope are still those that made the earlier answers.

        Raises:
            UnavailableError: the files of kinetoscope changed, so what is not yet made stays so.
        """
        if self._is_outdated():
            raise UnavailableError(
                "the files of kinetoscope changed while the report was made",
                hint="make it again, where a server makes it after a restart",
            )


def _is_waiting(body: bytes) -> bool:
    """True if other recordings are still being read for a view over several."""
    if not body.startswith(b"{") or b'"waiting":' not in body:
        return False
    answer = msgspec.json.decode(body)
    return isinstance(answer.get("waiting"), int) and answer["waiting"] > 0


def _text(value: object) -> str:
    """A parameter as the page writes it; "" where it leaves it out."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _queries(views: Iterable[View]) -> Mapping[str, Mapping[str, object]]:
    """Route → parameter → its default, ``NODEFAULT`` without one."""
    queries = {f"view/{view.stem}": view.query for view in views}
    for view in views:
        queries |= {f"view/{view.stem}/{part.stem}": part.query for part in view.parts}
    return {
        route: {one.name: one.default for one in msgspec.structs.fields(query)}
        for route, query in queries.items()
    }


def _usual(views: Iterable[View]) -> Mapping[str, Mapping[str, str]]:
    """Route → parameter → its value where it is not given."""
    found = {}
    for route, defaults in _queries(views).items():
        texts = {name: _text(one) for name, one in defaults.items() if one is not msgspec.NODEFAULT}
        found[route] = {name: text for name, text in texts.items() if text}
    return found


# --- what the page asks ---------------------------------------------------------------------------


class Shell(Struct, frozen=True):
    """The views that can be filled, and the steps, of which each has a number or a place."""

    stems: Sequence[str]
    steps: Sequence[str]


def ask_shell(answers: Answers, places: Sequence[TracePlace]) -> Shell:
    """Requests that every view needs; the catalog names the traces of the report alone."""
    answers.bytes_of("info")
    catalog = answers.json("catalog")
    if catalog is not None:
        runs = [_only(run, places) for run in catalog["runs"]]
        catalog["runs"] = [run for run in runs if run["workers"]]
        answers.put("catalog", "catalog", msgspec.json.encode(catalog))
    trace = answers.json("trace")
    if trace is None:
        raise UnavailableError("the recording cannot be read", hint="kinetoscope doctor says why")
    numbers = [step["number"] for step in trace["steps"]]
    names = [
        f"i{step['index']}" if numbers.count(step["number"]) > 1 else str(step["number"])
        for step in trace["steps"]
    ]
    return Shell([view["stem"] for view in trace["views"] if not view["unavailable"]], names)


def _only(run: Mapping[str, Any], places: Sequence[TracePlace]) -> Mapping[str, Any]:
    """A run of the catalog with the workers and spans of these places."""

    def kept(workers: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        of_places = [
            {
                **worker,
                "spans": [
                    span
                    for span in worker["spans"]
                    if (run["name"], worker["name"], span["key"]) in places
                ],
            }
            for worker in workers
        ]
        return [worker for worker in of_places if worker["spans"]]

    return {**run, "workers": kept(run["workers"]), "captures": kept(run["captures"])}


def ask_views(answers: Answers, stems: Sequence[str], steps: str = "") -> None:
    """All answers of the views, of the usual steps or of these."""
    answers.steps = steps
    for stem in stems:
        if stem in ASKED:
            ASKED[stem](answers)
        elif stem not in ASKED_APART:
            answers.bytes_of(f"view/{stem}")
    answers.steps = ""


def ask_single_steps(answers: Answers, shell: Shell, room: int) -> int:
    """Answers of each step alone, without details of rows, while they fit; how many steps fit."""
    until = time.monotonic() + _STEPS_S
    answers.details = 0
    fitting = 0
    for step in shell.steps[:_MOST_STEPS]:
        before = dict(answers.by_group)
        ask_views(answers, shell.stems, step)
        added = [one for name, one in answers.by_group.items() if name not in before]
        room -= sum(packed_size(one.values()) for one in added)
        if room < 0:
            answers.by_group = before
            break
        fitting += 1
        if time.monotonic() > until:
            break
    answers.details = DETAILS
    return fitting


def ask_overview(answers: Answers) -> None:
    """Overview, and its chains of what holds the step."""
    answers.bytes_of("view/overview")
    answers.bytes_of("view/overview/path")
    answers.bytes_of("view/overview/idle")
    answers.bytes_of("view/distributed/sentence")


def ask_operators(answers: Answers) -> None:
    """Operator: shares, rows with details, the flame graph."""
    kinds = "op,annotation"
    view = answers.json("view/operators", kinds=kinds, limit=1, parts=10)
    rows = answers.rows("view/operators/table", group_by="name", kinds=kinds)
    answers.rows("view/operators/table", group_by="shape", kinds=kinds)
    for row in rows[: answers.details]:
        answers.bytes_of("view/operators/row", key=row["key"], group_by="name")
    answers.bytes_of("view/operators/flame", metric="host")
    if view is not None and view.get("device_ns") is not None:
        answers.bytes_of("view/operators/flame", metric="device")


def ask_kernels(answers: Answers) -> None:
    """Kernel: shares, rows with details, by properties, class and graph."""
    answers.bytes_of("view/kernels", limit=1000)  # that the page draws
    for group in ("name", "properties", "class", "graph"):
        rows = answers.rows("view/kernels/table", group_by=group)
        if group == "graph":
            for row in rows[: answers.details]:
                answers.bytes_of("view/kernels/graph", key=row["key"])
                answers.rows("view/kernels/nodes", key=row["key"])
            continue
        for row in rows[: answers.details if group == "name" else 0]:
            answers.bytes_of("view/kernels/row", key=row["key"], group_by=group)


def ask_memory(answers: Answers) -> None:
    """Memory: curves, live blocks at the peak, events and sums of each device."""
    view = answers.json("view/memory", by="category", limit=1)
    if view is None:
        return
    answers.bytes_of("view/memory", by="module", limit=1)
    answers.bytes_of("view/memory", by="line", limit=1)
    answers.bytes_of("view/memory", by="total", limit=1)
    scope = {name: view[name] for name in ("device", "start_ns", "end_ns") if name in view}
    for at in ("peak", "second"):
        answers.bytes_of("view/memory/alive", at=at, at_ns=0, **scope)
    answers.rows("view/memory/events", **scope)
    answers.rows("view/memory/statistics", **scope)
    answers.bytes_of("view/memory/steps", **scope)
    answers.bytes_of("view/memory/free", **scope)


def ask_modules(answers: Answers) -> None:
    """Module: the tree and the boxes of each weight."""
    answers.bytes_of("view/modules")
    for metric in ("device", "op", "host", "idle"):
        answers.bytes_of("view/modules/flame", metric=metric)


def ask_speed_of_light(answers: Answers) -> None:
    """Speed of light: the step and its table."""
    answers.bytes_of("view/speed_of_light")
    answers.rows("view/speed_of_light/table")


def ask_distributed(answers: Answers) -> None:
    """Distributed: ranks, collectives, what if each rank were like its peers."""
    view = answers.json("view/distributed")
    if view is None:
        return
    for rank in range(-1, min(len(view["ranks"]), answers.details)):
        answers.bytes_of("view/distributed/ops", rank=rank)
    for rank in range(min(len(view["ranks"]), answers.details)):
        answers.bytes_of("view/distributed/what_if", kind="rank", target=rank)
    answers.bytes_of("view/distributed/what_if", kind="input", target=0)
    answers.bytes_of("view/distributed/hang")


def ask_diff(answers: Answers, base: TracePlace | None) -> None:
    """Diff against the other recording of the report, if there is one."""
    if base is None:
        return
    names = {
        f"base_{name}": value for name, value in zip(("run", "worker", "span"), base, strict=True)
    }
    scope = {**names, "equal_clocks": False}
    if answers.json("view/diff", **scope) is None:
        return
    answers.bytes_of("view/diff/pieces", **scope)
    for group in ("operators", "kernels", "modules"):
        shown = {"by_shape": False, "group": group, "kernels_by": "name", "sort_by": "change_ns"}
        for metric in ("self_ns", "device_ns", "total_ns"):
            answers.rows("view/diff/table", **scope, **shown, metric=metric)


ASKED: Mapping[str, Callable[[Answers], None]] = {
    "overview": ask_overview,
    "operators": ask_operators,
    "kernels": ask_kernels,
    "memory": ask_memory,
    "modules": ask_modules,
    "speed_of_light": ask_speed_of_light,
    "distributed": ask_distributed,
}
"""View → its questions beside the usual answer; other views have the usual answer only."""

ASKED_APART = {"timeline", "diff"}


def packed(content: bytes) -> str:
    """Bytes as a line of a report."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")


def packed_size(bodies: Iterable[bytes]) -> int:
    """Letters that bodies take as one line."""
    return len(packed(b"".join(bodies)))
