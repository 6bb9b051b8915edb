"""The page's requests for a recording, sent to the application in this process.

``ASKED`` has a function for each view; ``ask_timeline`` takes as many levels as there is room for.
A test in a browser holds them against what the page wants.
"""

from __future__ import annotations

import base64
import gzip
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct
from werkzeug.test import Client

from ...base.errors import UnavailableError
from ...views.timeline.common import MOST_BLOCKS, MOST_TILES
from ...views.timeline.tiles import ALIGNMENT, COUNTER_ENTRY, COUNTERS, HEADER, TILE_ENTRY, TILES
from ...views.view import TracePlace, View

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

MOST_ROWS = 1000  # of a table
DETAILS = 50  # rows whose details are there
_MOST_FRAMES = 40_000  # tiles of one level
_PATIENCE_S = 600.0  # for one answer
_SLICES = 1000  # whose details are there, those that are drawn first as one zooms in
_FINEST_LEVEL = 8  # a bucket of 256 ns: what is shorter is no op
_NAME_PAGE = 8192  # `names/name_table.ts`


class Answers:
    """Answers so far, by question."""

    def __init__(
        self, app: WSGIApplication, place: TracePlace, views: Iterable[View], folder: str
    ) -> None:
        self._client = Client(app)
        self._folder = msgspec.json.encode(f"{folder}/")[1:-1] if folder else b""
        self._names = dict(zip(("run", "worker", "span"), place, strict=True))
        self.digest = ""
        self.program = ""
        self.usual = _usual(views)
        self.by_group: dict[str, dict[str, bytes]] = {}

    def bytes_of(self, route: str, **parameters: object) -> bytes | None:
        """The answer, stored; None where the server has none for this recording."""
        body = self._asked(route, parameters)
        if body is not None:
            self.put(route, self.question(route, parameters), body)
        return body

    def json(self, route: str, **parameters: object) -> Any:  # noqa: ANN401  # as JSON has it
        """The same, decoded."""
        body = self.bytes_of(route, **parameters)
        return None if body is None else msgspec.json.decode(body)

    def rows(self, route: str, **parameters: object) -> Sequence[Mapping[str, Any]]:
        """The rows of a table in its usual order, stored for every order and window."""
        body = self._asked(route, {**parameters, "offset": 0, "limit": MOST_ROWS})
        if body is None:
            return ()
        self.put(route, f"rows:{self.question(route, parameters)}", body)
        found: Sequence[Mapping[str, Any]] = msgspec.json.decode(body)["rows"]
        return found

    def frame(self, route: str, **parameters: object) -> bytes | None:
        """A binary answer, not stored."""
        return self._asked(route, parameters)

    def put(self, route: str, question: str, body: bytes) -> None:
        """Store an answer among those of its view."""
        self.by_group.setdefault(route, {})[question] = body

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
        until = time.monotonic() + _PATIENCE_S
        while True:
            response = self._client.get(f"/api/{route}", query_string=query)
            is_whole = response.status_code != 202 and not _is_waiting(response.get_data())
            if is_whole or time.monotonic() > until:
                break
            time.sleep(0.05)
        self.program = response.headers["Kinetoscope-Program"]
        if response.status_code != 200:
            return None
        body = response.get_data()
        return body.replace(self._folder, b"") if self._folder and body[:1] == b"{" else body


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


def _usual(views: Iterable[View]) -> Mapping[str, Mapping[str, str]]:
    """Route → parameter → its value where it is not given."""
    queries = {f"view/{view.stem}": view.query for view in views}
    for view in views:
        queries |= {f"view/{view.stem}/{part.stem}": part.query for part in view.parts}
    found = {}
    for route, query in queries.items():
        fields = msgspec.structs.fields(query)
        given = {
            one.name: _text(one.default) for one in fields if one.default is not msgspec.NODEFAULT
        }
        found[route] = {name: text for name, text in given.items() if text}
    return found


# --- what the page asks ---------------------------------------------------------------------------


def ask_shell(answers: Answers) -> Sequence[str]:
    """Requests that every view needs; the stems of the views that can be filled."""
    answers.bytes_of("info")
    answers.bytes_of("catalog")
    trace = answers.json("trace")
    if trace is None:
        raise UnavailableError("the recording cannot be read", hint="kinetoscope doctor says why")
    return [view["stem"] for view in trace["views"] if not view["unavailable"]]


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
    for row in rows[:DETAILS]:
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
            for row in rows[:DETAILS]:
                answers.bytes_of("view/kernels/graph", key=row["key"])
                answers.rows("view/kernels/nodes", key=row["key"])
            continue
        for row in rows[: DETAILS if group == "name" else 0]:
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


def ask_health(answers: Answers) -> None:
    """Health."""
    answers.bytes_of("view/health")


def ask_distributed(answers: Answers) -> None:
    """Distributed: ranks, collectives, what if each rank were like its peers."""
    view = answers.json("view/distributed")
    if view is None:
        return
    for rank in range(-1, min(len(view["ranks"]), DETAILS)):
        answers.bytes_of("view/distributed/ops", rank=rank)
    for rank in range(min(len(view["ranks"]), DETAILS)):
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
    "health": ask_health,
}


# --- the timeline ---------------------------------------------------------------------------------


class _Level(Struct, frozen=True):
    """The frames of a level by their questions; whether every slice is drawn by itself."""

    frames: Mapping[str, bytes]
    is_whole: bool


def ask_timeline(answers: Answers, room: int) -> tuple[int, str]:
    """Levels of the timeline, the coarse ones first, while they fit.

    Returns:
        The finest level, and what is missing as a sentence; "" nothing.
    """
    manifest = answers.json("view/timeline", layout="user")
    if manifest is None:
        return 0, ""
    layout = manifest["layout"]
    answers.bytes_of("view/timeline/minimap", columns=1024, layout=layout)
    room -= _ask_names(answers, manifest["name_count"])
    buckets = manifest["tile_buckets"]
    level = 0
    while level < manifest["max_level"] and buckets << level <= manifest["end_ns"]:
        level += 1
    finest = level + 1
    detailed: set[int] = set()
    for at in range(level, min(level, _FINEST_LEVEL) - 1, -1):
        found = _level(answers, manifest, at)
        if found is None:
            break
        room -= packed_size(found.frames.values())
        if room < 0 and at < level - 2:  # a few levels are there in any case
            break
        for question, frame in found.frames.items():
            answers.put(f"view/timeline/level {at}", question, frame)
        for slice_ in _drawn(found.frames):
            if slice_ not in detailed and len(detailed) < _SLICES:
                detailed.add(slice_)
                answers.bytes_of("view/timeline/slice", slice=slice_, layout=layout)
                answers.bytes_of("view/timeline/flows", slice=slice_, hops=1, layout=layout)
        finest = at
        if found.is_whole:
            return at, ""
    if finest == _FINEST_LEVEL:
        return finest, ""
    shown = f"{(1 << finest) / 1000:,.3g} µs"
    return finest, f"slices of the timeline shorter than {shown}, one by one"


def _ask_names(answers: Answers, names: int) -> int:
    """All names of slices, in the pages that the page asks for; the bytes they take."""
    taken = 0
    for first in range(0, names, _NAME_PAGE):
        page = {"first": first, "count": min(_NAME_PAGE, names - first)}
        taken += packed_size([answers.bytes_of("view/timeline/names", **page) or b""])
    return taken


def _drawn(frames: Mapping[str, bytes]) -> Iterator[int]:
    """The slices that frames of tiles draw by themselves."""
    for question, frame in frames.items():
        if not question.startswith("view/timeline/tiles"):
            continue
        entry = np.frombuffer(frame, TILE_ENTRY, 1, HEADER.itemsize)[0]
        count, lanes = int(entry["rects"]), int(entry["lanes"])
        begin = int(entry["rects_at"]) + _padded(4 * (lanes + 1)) + 2 * _padded(4 * count)
        yield from np.frombuffer(frame, "<u4", count, begin).tolist()


def _padded(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


def _level(answers: Answers, manifest: Mapping[str, Any], level: int) -> _Level | None:
    """One level; None where it has too many tiles."""
    wide = manifest["tile_buckets"] << level
    count = manifest["end_ns"] // wide + 1
    blocks = [
        f"{number}.{lane}"
        for number, track in enumerate(manifest["tracks"])
        for lane in range(0, track["lanes"], manifest["lane_block"])
    ]
    series = [str(number) for number in range(len(manifest["counters"]))]
    if count * (len(blocks) + len(series)) > _MOST_FRAMES:
        return None
    frames: dict[str, bytes] = {}
    is_whole = True
    for first in range(0, count, MOST_TILES):
        tiles = _range(first, min(count, first + MOST_TILES) - 1)
        for names in _chunks(blocks, MOST_BLOCKS):
            asked = {"level": level, "layout": manifest["layout"]}
            body = answers.frame(
                "view/timeline/tiles", tiles=tiles, blocks=",".join(names), **asked
            )
            for entry, frame in split_frame(body or b""):
                is_whole &= not entry["buckets"]
                place = f"{entry['track']}.{entry['lane']}"
                one = {**asked, "tiles": int(entry["tile"]), "blocks": place}
                frames[answers.question("view/timeline/tiles", one)] = frame
        for names in _chunks(series, MOST_BLOCKS):
            body = answers.frame(
                "view/timeline/counters", level=level, tiles=tiles, series=",".join(names)
            )
            for entry, frame in split_frame(body or b""):
                one = {"level": level, "tiles": int(entry["tile"]), "series": entry["series"]}
                frames[answers.question("view/timeline/counters", one)] = frame
    return _Level(frames, is_whole)


def split_frame(frame: bytes) -> Iterator[tuple[np.void, bytes]]:
    """A frame of tiles or counters as frames of one entry each: the entry, and its frame."""
    if not frame:
        return
    head = np.frombuffer(frame, HEADER, 1)[0]
    kinds = {
        TILES: (TILE_ENTRY, ("rects_at", "buckets_at")),
        COUNTERS: (COUNTER_ENTRY, ("points_at",)),
    }
    form, offsets = kinds[int(head["kind"])]
    entries = np.frombuffer(frame, form, int(head["entries"]), HEADER.itemsize)
    begins = [int(entry[offsets[0]]) for entry in entries]
    ends = [*begins[1:], len(frame)]
    own = HEADER.itemsize + form.itemsize
    for entry, begin, end in zip(entries, begins, ends, strict=True):
        header, moved = head.copy(), entry.copy()
        header["entries"], header["took_us"] = 1, 0
        for name in offsets:
            moved[name] = int(entry[name]) - begin + own if entry[name] else 0
        yield entry, header.tobytes() + moved.tobytes() + frame[begin:end]


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _chunks(items: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    for at in range(0, len(items), most):
        yield items[at : at + most]


def packed(content: bytes) -> str:
    """Bytes as a line of a report."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")


def packed_size(bodies: Iterable[bytes]) -> int:
    """Letters that bodies take as one line."""
    return len(packed(b"".join(bodies)))
