"""Record of what torch.compile did in this process, written as one JSON file beside each trace.

`<worker>.<time_ns>.compile.json.gz` holds every compilation since the process began: its id, the
function, the place, the time, the guards that failed, the graph breaks with their lines, and at
level `"lines"` the nodes and source lines of each fused kernel. The trace's metadata names the file
and its SHA-256.

Sources, by what the installed torch has (`SOURCES`; all of them are semi-public):

- callbacks at the begin and end of each compilation: they tie what is new to a compile id
- `get_compilation_metrics()`: a row for each compilation
- `guard_failures`, `graph_break_reasons`: lists that torch fills in any case
- records of the logger `torch.__trace`, and `provenance_tracking_level`: nodes and lines of kernels

Nothing runs in a step that compiles nothing. `torch._dynamo` is looked up in `sys.modules` and
never imported.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..outputs import COMPILE_SUFFIX
from .provenance import KernelNodes

_log = logging.getLogger("kinetoscope.handlers")

CompileLevel = Literal["light", "lines"]
FORMAT = 1
MOST = 4096  # compilations and breaks that are kept; further ones are counted
_MOST_REASONS = 64  # of one compilation
_MOST_TEXT = 400
_MOST_VALUE = 80
_MOST_STACK = 16

SOURCES: Mapping[str, tuple[str, str]] = {
    "callbacks": ("2.3", "ties reasons and breaks to a compilation"),
    "metrics": ("2.3", "function, place, time and failure of each compilation"),
    "metrics.compile_id": ("2.4", "which version of which function"),
    "metrics.start_time_us": ("2.6", "place of a compilation on the clock, to a microsecond"),
    "metrics.recompile_reason": ("2.7", "reason of a compilation before the handler was made"),
    "guard_failures": ("2.3", "each guard that failed"),
    "graph_break_reasons": ("2.1", "each graph break, with the user's stack"),
    "provenance": ("2.9", 'nodes and lines of fused kernels, with compile="lines"'),
}
"""Data read from torch, by name: the first version that has it, and its meaning."""


def since_then(version: str) -> str:
    """Data on compilations that a version of torch has, in words.

    >>> since_then("2.2.1")
    'graph breaks only: compilations and failed guards need torch 2.3'
    """
    numbers = [int(one) for one in re.findall(r"\d+", version)[:2]]
    absent = [
        f"{tells} (torch {first})"
        for first, tells in SOURCES.values()
        if numbers < [int(one) for one in first.split(".")]
    ]
    if numbers < [2, 1]:
        return "nothing: needs torch 2.1"
    if numbers < [2, 3]:
        return "graph breaks only: compilations and failed guards need torch 2.3"
    return (
        f"all but {'; '.join(absent)}" if absent else 'all, lines of kernels with compile="lines"'
    )


_ROW = (
    ("guards", "guard_count"),
    ("nodes", "graph_op_count"),
)
_PHASES = (
    ("dynamo", "dynamo_cumulative_compile_time_us", "entire_frame_compile_time_s"),
    ("aot", "aot_autograd_cumulative_compile_time_us", "backend_compile_time_s"),
    ("inductor", "inductor_cumulative_compile_time_us", "inductor_compile_time_s"),
    ("triton", "triton_compile_time_us", ""),
)
_HITS = (
    "inductor_fx_local_cache_hit_count",
    "inductor_fx_remote_cache_hit_count",
    "aotautograd_local_cache_hit_count",
    "aotautograd_remote_cache_hit_count",
)
_FAILED_GUARD = re.compile(r"(?P<of>\d+/\d+): (?P<guard>.*)", re.DOTALL)
_USER_LINE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.*)')
_NOTE = re.compile(r"\s{2,}#.*|\s+# (?=.* in \S+$).*")
_LONG_VALUE = re.compile(rf"'[^']{{{_MOST_VALUE},}}'|\"[^\"]{{{_MOST_VALUE},}}\"")
_KINDS = (
    (
        "size",
        re.compile(r"size mismatch|stride mismatch|\.size\(\)\[|\.stride\(\)\[|rank mismatch"),
    ),
    ("dtype", re.compile(r"dtype mismatch|device mismatch|dispatch key|requires_grad")),
    (
        "object",
        re.compile(r"___check_obj_id|___check_type_id|ID_MATCH|id\(|___check_current_backend"),
    ),
    ("global", re.compile(r"^G\[|___check_global_state|grad_mode|torch_function")),
    ("size", re.compile(r"(?<![\w.])s\d+\b|Eq\(|Ne\(|Mod\(|^\d+ <= |duplicate|no more than")),
    ("value", re.compile(r"==| is |!=|not |in |len\(|[<>]")),
)


@dataclass
class _Batch:
    """Entries that torch's lists gained until the end of one compilation."""

    end_us: float
    compile_id: str | None
    failures: list[str]
    breaks: list[tuple[str, list[list[Any]]]]
    is_late: bool = False  # of all compilations before the callbacks were there


@dataclass
class _Watch:
    """Compilations of this process; a forked child goes on with a copy, as torch's caches do."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    is_registered: bool = False
    rows: list[Any] = field(default_factory=list)
    last_row: Any = None
    dropped: int = 0
    batches: list[_Batch] = field(default_factory=list)
    failures_seen: dict[Any, int] = field(default_factory=dict)
    breaks_seen: int = 0
    reported: set[str] = field(default_factory=set)
    kernels: KernelNodes | None = None
    level: CompileLevel = "light"


_watch = _Watch()


@dataclass(frozen=True)
class CompileFile:
    """The record of one trace: the name of its file, its bytes, and its entry in the trace."""

    name: str
    data: bytes

    @property
    def named(self) -> dict[str, str]:
        """The entry of the trace's metadata."""
        return {"file": self.name, "sha256": hashlib.sha256(self.data).hexdigest()}


def watch(level: CompileLevel = "light") -> None:
    """Begin to follow compilations, where `torch._dynamo` is loaded. Further calls cost nothing."""
    if _watch.is_registered and (level == "light" or _watch.kernels is not None):
        return
    with _watch.lock:
        if level == "lines" and _watch.kernels is None and "torch" in sys.modules:
            with _survived("provenance"):
                _watch.kernels = KernelNodes.switched_on()
                _watch.level = "lines"
        if _watch.is_registered or _utils() is None:
            return
        with _survived("callbacks"):
            callback = sys.modules.get("torch._dynamo.callback")
            if callback is not None:
                _collect(None)
                callback.callback_handler.register_end_callback(_at_end)
            _watch.is_registered = True


def compile_file(
    stem: str, begin_s: float | None, roots: Sequence[str], *, keeps_text: bool = True
) -> CompileFile | None:
    """The record as it is now, for the trace `<stem>.pt.trace.json`; None: nothing was compiled.

    `begin_s`: when the recording began, since 1970. Paths below `roots` become relative to them.
    """
    if _utils() is None:
        return None
    with _watch.lock:
        with _survived("collect"):
            _collect(None)
        found: dict[str, object] | None = None
        with _survived("record"):
            found = _record(_Paths(roots), begin_s, keeps_text=keeps_text)
    if found is None:
        return None
    text = json.dumps({**found, "trace": f"{stem}.pt.trace.json"}, separators=(",", ":"))
    packed = gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)
    return CompileFile(f"{stem}{COMPILE_SUFFIX}", packed)


def available() -> dict[str, bool]:
    """Which of `SOURCES` the loaded torch has; all False where `torch._dynamo` is not loaded."""
    utils = _utils()
    callback = sys.modules.get("torch._dynamo.callback")
    metrics = getattr(utils, "CompilationMetrics", None)
    fields = getattr(metrics, "__dataclass_fields__", {})
    failures = bool(hasattr(utils, "guard_failures") and callback is not None)
    return {
        "callbacks": hasattr(callback, "callback_handler"),
        "metrics": hasattr(utils, "get_compilation_metrics"),
        "metrics.compile_id": "compile_id" in fields,
        "metrics.start_time_us": "start_time_us" in fields,
        "metrics.recompile_reason": "recompile_reason" in fields,
        "guard_failures": failures,
        "graph_break_reasons": hasattr(utils, "graph_break_reasons"),
        "provenance": KernelNodes.is_possible(),
    }


# --- while torch compiles -------------------------------------------------------------------------


def _at_end(*args: Any) -> None:  # noqa: ANN401  # none before torch 2.8
    with _survived("callbacks"), _watch.lock:
        identity = getattr(args[0], "compile_id", None) if args else None
        _collect(None if identity is None else str(identity))


def _collect(compile_id: str | None) -> None:
    """Take over what torch's lists gained since the last time."""
    utils = _utils()
    failures: list[str] = []
    with _survived("guard_failures"):
        for code, some in list(getattr(utils, "guard_failures", {}).items()):
            seen = _watch.failures_seen.get(code, 0)
            if len(some) < seen:  # torch was reset
                seen = 0
            failures += map(str, some[seen:])
            _watch.failures_seen[code] = len(some)
    breaks: list[tuple[str, list[list[Any]]]] = []
    with _survived("graph_break_reasons"):
        reasons = getattr(utils, "graph_break_reasons", [])
        seen = _watch.breaks_seen if len(reasons) >= _watch.breaks_seen else 0
        breaks = [(str(one.reason), _frames(one.user_stack)) for one in reasons[seen:]]
        _watch.breaks_seen = len(reasons)
    if failures or breaks:
        if len(_watch.batches) < MOST:
            late = not _watch.is_registered
            _watch.batches.append(_Batch(time.time() * 1e6, compile_id, failures, breaks, late))
        else:
            _watch.dropped += 1
    with _survived("metrics"):
        get = getattr(utils, "get_compilation_metrics", None)
        if get is not None:
            _take_rows(get())


def _take_rows(rows: Sequence[Any]) -> None:
    new: list[Any] = []
    for row in reversed(rows):
        if row is _watch.last_row:
            break
        new.append(row)
    if new:
        _watch.last_row = new[0]
        room = max(0, MOST - len(_watch.rows))
        _watch.dropped += max(0, len(new) - room)
        _watch.rows += [_plain_row(row) for row in reversed(new)][:room]


def _plain_row(row: Any) -> dict[str, Any]:  # noqa: ANN401
    """The few fields of a row that are kept: it has 30 KB of configuration."""

    def get(name: str) -> Any:  # noqa: ANN401
        return getattr(row, name, None)

    start = get("start_time_us")
    if start is None and get("start_time") is not None:
        start = get("start_time") * 1e6
    spent = get("duration_us")
    if spent is None and get("entire_frame_compile_time_s") is not None:
        spent = get("entire_frame_compile_time_s") * 1e6
    phases: dict[str, int] = {}
    for name, micro, seconds in _PHASES:
        value = get(micro)
        if value is None and seconds and get(seconds) is not None:
            value = get(seconds) * 1e6
        if value is not None:
            phases[name] = int(value)
    failed = get("fail_type")
    return {
        "id": None if get("compile_id") is None else str(get("compile_id")),
        "name": get("co_name"),
        "file": get("co_filename"),
        "line": get("co_firstlineno"),
        "backward": get("is_forward") is False,
        "start_us": None if start is None else int(start),
        "dur_us": None if spent is None else int(spent),
        "phases_us": phases,
        "failed": None if failed is None else f"{failed}: {get('fail_reason') or ''}",
        "cache_hit": any(get(name) for name in _HITS),
        "recompile_reason": get("recompile_reason"),
        "restarts": [str(one).partition("\n")[0] for one in list(get("restart_reasons") or ())],
        **{name: get(of) for name, of in _ROW},
    }


def _frames(stack: Any) -> list[list[Any]]:  # noqa: ANN401  # a traceback.StackSummary
    """Innermost first."""
    return [[one.filename, one.lineno, one.name] for one in list(stack)[: -_MOST_STACK - 1 : -1]]


# --- the record -----------------------------------------------------------------------------------


class _Paths:
    """Paths below a root, relative to it: the longest root counts, the current directory first."""

    def __init__(self, roots: Sequence[str]) -> None:
        try:
            here = [str(Path.cwd())]
        except OSError:
            here = []
        self._roots = sorted((*here, *map(str, roots)), key=len, reverse=True)

    def __call__(self, path: object) -> str:
        text = str(path)
        for root in self._roots:
            if root and text.startswith(root.rstrip(os.sep) + os.sep):
                return text[len(root.rstrip(os.sep)) + 1 :]
        return text


def _record(paths: _Paths, begin_s: float | None, *, keeps_text: bool) -> dict[str, object] | None:
    rows, batches = _watch.rows, _watch.batches
    if not rows and not batches:
        return None
    functions: dict[tuple[str, str, int], int] = {}

    def function(name: object, file: object, line: object) -> int:
        key = str(name), paths(file), line if isinstance(line, int) else 0
        return functions.setdefault(key, len(functions))

    compilations: list[dict[str, Any]] = []
    of_frame: dict[str, int] = {}  # a backward and a refused compilation have no name
    for row in rows:
        if row["name"] is not None:
            place = function(row["name"], row["file"], row["line"])
            of_frame[str(row["id"]).partition("/")[0]] = place
        else:
            place = of_frame.get(str(row["id"]).partition("/")[0], -1)
        start = row["start_us"]
        compilations.append(
            {
                "id": row["id"],
                "function": place,
                "backward": row["backward"],
                "start_us": start,
                "dur_us": row["dur_us"],
                "in_window": None if begin_s is None or start is None else start >= begin_s * 1e6,
                "reasons": [],
                "failed": _text(row["failed"], keeps_text) if row["failed"] else None,
                "cache_hit": row["cache_hit"],
                "phases_us": row["phases_us"],
                "guards": row["guards"],
                "nodes": row["nodes"],
            }
        )
    by_frame: dict[str, list[dict[str, Any]]] = {}
    for one in compilations:
        if not one["backward"]:
            by_frame.setdefault(str(one["id"]).partition("/")[0], []).append(one)
    breaks: dict[tuple[Any, ...], dict[str, Any]] = {}
    for batch in _in_time(batches, rows):
        _tie(batch, compilations, by_frame, breaks, paths, keeps_text=keeps_text)
    graphs = _watch.kernels.graphs(paths) if _watch.kernels is not None else []
    return {
        "format": FORMAT,
        "torch": str(getattr(sys.modules.get("torch"), "__version__", "")),
        "level": _watch.level,
        "clock": "unix_us",
        "missing": sorted({name for name, has in available().items() if not has} - {"provenance"}),
        "dropped": _watch.dropped,
        "functions": [
            {"id": number, "name": name, "file": file, "line": line}
            for (name, file, line), number in functions.items()
        ],
        "compilations": compilations,
        "breaks": list(breaks.values()),
        "graphs": graphs,
    }


def _in_time(batches: Sequence[_Batch], rows: Sequence[dict[str, Any]]) -> Iterator[_Batch]:
    """The batches; rows from before the callbacks are split by their own fields."""
    for batch in batches:
        if not batch.is_late:
            yield batch
            continue
        before = [
            row for row in rows if not row["backward"] and (row["start_us"] or 0) <= batch.end_us
        ]
        yield from _failures_of(before, batch)
        yield from _breaks_of(before, batch)


def _failures_of(rows: Sequence[dict[str, Any]], batch: _Batch) -> Iterator[_Batch]:
    """Failed guards of several compilations: each begins with the one that its row names."""
    of_frame: dict[str, list[str]] = {}
    for text in batch.failures:
        of_frame.setdefault(text.partition("/")[0], []).append(text)
    for frame, texts in of_frame.items():
        at, last = 0, None
        mine = [row for row in rows if str(row["id"]).partition("/")[0] == frame]
        for row in mine:
            if row["recompile_reason"] in texts[at:]:
                begin = texts.index(row["recompile_reason"], at)
                if last is not None:
                    yield _Batch(batch.end_us, last["id"], texts[at - 1 : begin], [])
                at, last = begin + 1, row
        if last is not None:
            yield _Batch(batch.end_us, last["id"], texts[at - 1 :], [])


def _breaks_of(rows: Sequence[dict[str, Any]], batch: _Batch) -> Iterator[_Batch]:
    """Breaks of several compilations: a row names its own, and all are in the order of time."""
    at = 0
    used: set[str] = set()
    for text, stack in batch.breaks:
        first = text.partition("\n")[0]
        while at < len(rows) and (first not in rows[at]["restarts"] or first in used):
            at, used = at + 1, set()
        used.add(first)
        yield _Batch(batch.end_us, rows[at]["id"] if at < len(rows) else "", [], [(text, stack)])


def _tie(
    batch: _Batch,
    compilations: list[dict[str, Any]],
    by_frame: dict[str, list[dict[str, Any]]],
    breaks: dict[tuple[Any, ...], dict[str, Any]],
    paths: _Paths,
    *,
    keeps_text: bool,
) -> None:
    """Put failed guards and breaks where they belong: by id, else by the time of the end."""
    for text in batch.failures:
        of_frame = by_frame.get(text.partition("/")[0], [])
        mine = [one for one in of_frame if (one["start_us"] or 0) <= batch.end_us]
        exact = [one for one in mine if one["id"] == batch.compile_id]
        if not mine:
            continue
        target = (exact or mine)[-1]
        reason = _reason(text, paths, keeps_text=keeps_text)
        if reason["of"] in {target["id"], *(one["of"] for one in target["reasons"])}:
            # Guards of the last version failed and nothing was compiled: before torch 2.6 there is
            # no row for that.
            target = _refused(target, of_frame, compilations)
        if len(target["reasons"]) < _MOST_REASONS:
            target["reasons"].append(reason)
    for text, stack in batch.breaks:
        identity = batch.compile_id
        if identity is None:
            forward = (one for one in reversed(compilations) if not one["backward"])
            begun = (one for one in forward if (one["start_us"] or 0) <= batch.end_us)
            identity = next((one["id"] for one in begun), None)
        places = [[paths(file), line, name] for file, line, name in stack]
        lines = text.splitlines() or [""]
        key = identity, lines[0], tuple(map(tuple, places))
        one = breaks.get(key)
        if one is None:
            hints = [line.strip()[6:] for line in lines if line.strip().startswith("Hint: ")]
            breaks[key] = {
                "compilation": identity or None,
                "reason": _cut(lines[0]),
                "explanation": _said(lines, "Explanation: ") if keeps_text else "",
                "hint": _cut(hints[0]) if hints and keeps_text else "",
                "stack": places,
                "count": 1,
            }
        else:
            one["count"] += 1


def _refused(
    last: dict[str, Any], of_frame: list[dict[str, Any]], compilations: list[dict[str, Any]]
) -> dict[str, Any]:
    """The compilation that was refused after the last version of its function."""
    frame, _, version = str(last["id"]).partition("/")
    identity = f"{frame}/{int(version or 0) + 1}"
    known = next((one for one in of_frame if one["id"] == identity), None)
    if known is None:
        known = {
            **last,
            "id": identity,
            "start_us": None,
            "dur_us": None,
            "in_window": None,
            "reasons": [],
            "failed": "no further version was compiled: the recompile limit",
            "phases_us": {},
        }
        compilations.append(known)
        of_frame.append(known)
    return known


def _reason(text: str, paths: _Paths, *, keeps_text: bool) -> dict[str, Any]:
    """One failed guard: of which version, its kind, its text, and the user's line."""
    match = _FAILED_GUARD.match(text)
    of, rest = (match["of"], match["guard"]) if match else (None, text)
    first = rest.strip().splitlines()[0] if rest.strip() else ""
    guard = _NOTE.sub("", first).strip()
    kind = next((name for name, pattern in _KINDS if pattern.search(guard)), "other")
    # Torch cuts the guard's own location: the stack below it is whole.
    line = None
    for line in _USER_LINE.finditer(rest):  # noqa: B007  # the last one counts
        pass
    return {
        "of": of,
        "kind": kind,
        "guard": _text(guard, keeps_text),
        "file": paths(line["file"]) if line else "",
        "line": int(line["line"]) if line else 0,
    }


def _said(lines: Sequence[str], start: str) -> str:
    return next(
        (_cut(one.strip()[len(start) :]) for one in lines if one.strip().startswith(start)), ""
    )


def _text(text: str, keeps_text: bool) -> str:
    return _cut(_LONG_VALUE.sub("'…'", text)) if keeps_text else ""


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"


def _utils() -> Any:  # noqa: ANN401  # the module; it is never imported here
    return sys.modules.get("torch._dynamo.utils")


@contextmanager
def _survived(part: str) -> Iterator[None]:
    """Keep errors of one source away from the training; the first of each is logged."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # torch's semi-public names may change in any way
        if part not in _watch.reported:
            _watch.reported.add(part)
            _log.info("kinetoscope records no %s of torch.compile: %r", part, error)
