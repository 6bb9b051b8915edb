"""The catalog at one moment, made from the records: runs, workers, spans, files."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..base.errors import NotFoundError
from ..trace.worker_names import capture_folder, is_capture
from .catalog_state import Attempt, Record
from .contract import (
    Catalog,
    ErrorInfo,
    FileInfo,
    ReadProgress,
    RunInfo,
    SpanInfo,
    StartInfo,
    State,
    WorkerInfo,
)
from .discovery import file_names, stability
from .discovery.starts import FoundRecording, starts
from .discovery.walk import Key, Logdir, shown

FILES_SHOWN = 2000
_LAZY = "Older than the ones read in advance: it is read when it is opened."
_ORDER = ("failed", "refused", "waiting", "reading", "ready", "queued")


class Published(Struct, frozen=True):
    """A catalog, and the file of each (run, worker, span) in it."""

    catalog: Catalog
    index: Mapping[tuple[str, str, str], Key]


class PoolStatus(Struct, frozen=True):
    """The state of the pool while a catalog is made."""

    running: Collection[Key]
    progress: Callable[[Key], ReadProgress | None]


def publish(
    records: Iterable[Record],
    logdirs: Sequence[Logdir],
    problems: Sequence[ErrorInfo],
    view: PoolStatus,
    *,
    scanning: bool,
    looked: float,
) -> Published:
    """The catalog of all records; its version is set later."""
    everything = [record for record in records if record.listed]
    by_run, captures = _grouped(everything)
    names = _run_names(by_run, logdirs)
    index: dict[tuple[str, str, str], Key] = {}
    runs = []
    for (logdir, folder), members in by_run.items():
        name, beside = names[logdir, folder], captures[logdir, folder]
        run = _run(name, logdirs[logdir], members, view, index)
        lent = _captures(name, beside, view, index, len(run.starts))
        runs.append(replace(run, captures=lent))
    places = {key: place for place, key in index.items()}
    files = [
        _file(r, logdirs[r.key[0]], places.get(r.key), view) for r in _most_telling(everything)
    ]
    catalog = Catalog(
        version="",
        logdirs=tuple(one.shown for one in logdirs),
        problems=tuple(problems),
        scanning=scanning,
        looked=looked,
        runs=tuple(sorted(runs, key=lambda run: natural(run.name))),
        files=tuple(sorted(files, key=lambda f: (f.logdir, natural(f.path)))),
        files_total=len(everything),
    )
    return Published(catalog, index)


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key that puts run_2 before run_10."""
    pieces = re.findall(r"(\d{1,18})|(\D+|\d+)", text)
    return [(0, int(digits), "") if digits else (1, 0, other) for digits, other in pieces]


_Folder: TypeAlias = tuple[int, str]  # number of the logdir, path below it


def _grouped(
    records: Iterable[Record],
) -> tuple[Mapping[_Folder, Sequence[Record]], Mapping[_Folder, Sequence[tuple[str, Record]]]]:
    """The recordings of each run, and those of captures of its graphs with a worker's name each.

    An engine writes captures into the folder of its run, one below it, or one beside it. Alone
    they are a run like any other.
    """
    runs: dict[_Folder, list[Record]] = defaultdict(list)
    apart: dict[_Folder, list[Record]] = defaultdict(list)
    captures: dict[_Folder, list[tuple[str, Record]]] = defaultdict(list)
    for record in records:
        if record.accepted:
            at = record.key[0], record.found.folder
            is_apart = capture_folder(record.found.folder) is not None
            (apart if is_apart else runs)[at].append(record)
    for at, members in list(runs.items()):
        own = [r for r in members if not is_capture(r.name.worker)]
        if 0 < len(own) < len(members):
            runs[at] = own
            found = (r for r in members if is_capture(r.name.worker))
            captures[at] += [(r.name.worker, r) for r in found]
    for (logdir, folder), members in apart.items():
        around = capture_folder(folder) or ""
        beside = [
            one
            for one in runs
            if one[0] == logdir and one[1] != "" and one[1].rpartition("/")[0] == around
        ]
        owners = [(logdir, around)] if (logdir, around) in runs else beside
        below = folder[len(around) :].lstrip("/")
        for owner in owners:
            captures[owner] += [(f"{below}/{r.name.worker}", r) for r in members]
        if not owners:
            runs[logdir, folder] += members
    return runs, captures


def _captures(
    run: str,
    found: Sequence[tuple[str, Record]],
    view: PoolStatus,
    index: dict[tuple[str, str, str], Key],
    start: int,
) -> tuple[WorkerInfo, ...]:
    """The recordings of captures beside a run, by name."""
    by_worker: dict[str, list[Record]] = defaultdict(list)
    for worker, record in found:
        by_worker[worker].append(record)
    workers = []
    for worker, mine in sorted(by_worker.items(), key=lambda one: natural(one[0])):
        mine.sort(key=lambda r: r.found.path)
        keys = file_names.number({worker: [r.name for r in mine]})[worker]
        spans = sorted(zip(keys, mine, strict=True), key=lambda pair: natural(pair[0]))
        index.update({(run, worker, key): record.key for key, record in spans})
        rank = next((r.rank for r in mine if r.rank is not None), None)
        told = tuple(_span(key, record, view, start) for key, record in spans)
        workers.append(WorkerInfo(worker, rank, told, *mine[-1].process))
    return tuple(workers)


def _run_names(folders: Iterable[_Folder], logdirs: Sequence[Logdir]) -> dict[_Folder, str]:
    """Names of runs: the path below the logdir, after the logdir's name when there are several.

    Traces in the logdir itself make a run of its own name, or "." where a folder has that name.
    """
    folders = set(folders)
    names = {}
    for number, folder in folders:
        logdir = logdirs[number]
        base = shown(logdir.path).rstrip("/").rpartition("/")[2] or "/"
        if logdir.name:
            name = f"{logdir.name}/{folder}" if folder else logdir.name
        else:
            name = folder or ("." if (number, base) in folders else base)
        names[number, folder] = name
    return names


def _run(
    name: str,
    logdir: Logdir,
    members: Sequence[Record],
    view: PoolStatus,
    index: dict[tuple[str, str, str], Key],
) -> RunInfo:
    members = sorted(members, key=lambda r: r.found.path)
    found = starts([_recorded(record) for record in members])
    start_of = {
        members[at].key: number for number, one in enumerate(found, 1) for at in one.members
    }
    by_worker: dict[str, list[Record]] = defaultdict(list)
    for record in members:
        by_worker[record.name.worker].append(record)
    keys = _keys(by_worker, start_of)
    workers = []
    for worker, mine in by_worker.items():
        shown = []
        for key, record in sorted(
            zip(keys[worker], mine, strict=False), key=lambda pair: natural(pair[0])
        ):
            index[name, worker, key] = record.key
            shown.append(_span(key, record, view, start_of[record.key]))
        ranks = [r.rank for r in mine if r.rank is not None]
        rank, (node, process) = ranks[0] if ranks else None, mine[-1].process
        workers.append(WorkerInfo(worker, rank, tuple(shown), node, process))
    # What is shown first is a trace of the newest start, where there is one.
    alone = {worker: all(r.is_snapshot for r in mine) for worker, mine in by_worker.items()}
    workers.sort(
        key=lambda w: (
            alone[w.name],
            -max(span.start for span in w.spans),
            w.rank is None,
            w.rank or 0,
            natural(w.name),
        )
    )
    newest = max(r.found.identity.modified for r in members)
    told = tuple(
        StartInfo(number, one.at_ns / 1e9, one.note) for number, one in enumerate(found, 1)
    )
    return RunInfo(name, logdir.shown, newest, tuple(workers), told)


def _keys(
    by_worker: Mapping[str, Sequence[Record]], start_of: Mapping[Key, int]
) -> Mapping[str, Sequence[str]]:
    """Keys of the spans of each worker: by start, unless a worker has recordings of several."""
    starts_of = {worker: {start_of[r.key] for r in mine} for worker, mine in by_worker.items()}
    one_each = all(len(numbers) == 1 for numbers in starts_of.values())
    together: dict[int, dict[str, list[file_names.TraceName]]] = defaultdict(dict)
    for worker, mine in by_worker.items():
        start = min(starts_of[worker]) if one_each else 0
        together[start][worker] = [r.name for r in mine]
    return {w: keys for names in together.values() for w, keys in file_names.number(names).items()}


def _recorded(record: Record) -> FoundRecording:
    """The data that identifies the start of a recording."""
    node, process = record.process
    stamp = record.name.recorded_ns
    return FoundRecording(
        worker=record.name.worker,
        at_ns=record.found.identity.modified_ns if stamp is None else stamp,
        is_stamped=stamp is not None,
        is_snapshot=record.is_snapshot,
        rank=record.rank,
        node=node,
        process=process,
        job=record.answer.job if record.answer else "",
    )


def _span(key: str, record: Record, view: PoolStatus, start: int) -> SpanInfo:
    state = record.state(view.running)
    return SpanInfo(
        key=key,
        label=_label(key, record),
        state=state,
        digest=record.answer.digest if record.answer and state == "ready" else "",
        file=record.found.path,
        progress=view.progress(record.key) if record.attempt is Attempt.QUEUED else None,
        error=record.error if state in ("refused", "failed") else None,
        steps=record.answer.steps if record.answer and state == "ready" else None,
        start=start,
    )


def _label(key: str, record: Record) -> str:
    wall = record.name.recorded_ns
    if wall is None:
        return key
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall / 1e9))


def _most_telling(records: Sequence[Record]) -> Sequence[Record]:
    """All files, or the most informative ones where there are too many: other files come last."""
    if len(records) <= FILES_SHOWN:
        return records
    return sorted(records, key=lambda r: (not r.accepted, _ORDER.index(r.state(()))))[:FILES_SHOWN]


def _file(
    record: Record, logdir: Logdir, place: tuple[str, str, str] | None, view: PoolStatus
) -> FileInfo:
    state = record.state(view.running)
    run, worker, span = place or (None, None, None)
    answer = record.answer if state == "ready" else None
    verdict, reason, hint = _verdict(record, state)
    return FileInfo(
        path=record.found.path,
        logdir=logdir.shown,
        run=run,
        worker=worker,
        span=span,
        bytes=record.found.identity.bytes,
        modified=record.found.identity.modified,
        state=state,
        events=answer.events if answer else None,
        read_seconds=answer.seconds if answer else None,
        from_cache=bool(answer and answer.from_cache),
        verdict=verdict,
        reason=reason,
        hint=hint,
    )


def _verdict(record: Record, state: State) -> tuple[str, str, str]:
    if record.error is not None and state in ("refused", "failed"):
        word = "failed" if state == "failed" else "not a trace"
        return word, record.error.message, record.error.hint
    if state == "ready" and record.answer is not None:
        answer = record.answer
        reason = " ".join(text for text in (answer.truncated, answer.note, answer.missing) if text)
        return "truncated" if answer.truncated else "in use", reason, ""
    if state == "waiting":
        word = "abandoned" if record.reason == stability.ABANDONED else "waiting"
        return word, record.reason, ""
    lazy = record.attempt is Attempt.LAZY
    return state, _LAZY if lazy else "", ""


def pick(
    catalog: Catalog,
    run: str | None,
    worker: str | None,
    span: str | None,
    start: int | None = None,
) -> tuple[str, str, str]:
    """Names of run, worker and span.

    By default the newest run, its newest start, the first worker of that, and its last span.
    ``start`` counts from 1, the oldest, or from −1, the newest.

    Raises:
        NotFoundError: there is no such name, or no such start.
    """
    if not catalog.runs:
        raise NotFoundError(*_nothing(catalog))
    runs = sorted(catalog.runs, key=lambda r: r.modified)
    chosen = _one(run, [r.name for r in runs], "run", "the logdir") if run else runs[-1].name
    in_run: RunInfo = next(r for r in runs if r.name == chosen)
    if start is None:
        workers = in_run.workers
    else:
        start = _start(start, in_run)
        mine = ((w, tuple(s for s in w.spans if s.start == start)) for w in in_run.workers)
        workers = tuple(replace(w, spans=spans) for w, spans in mine if spans)
    where = f"run {chosen}" if start is None else f"start {start} of run {chosen}"
    names = [w.name for w in workers]
    named = (*workers, *in_run.captures)
    name = _one(worker, [w.name for w in named], "worker", where) if worker else names[0]
    keys = [s.key for w in named if w.name == name for s in w.spans]
    return chosen, name, _one(span, keys, "span", f"{where} / {name}") if span else keys[-1]


def _start(wanted: int, run: RunInfo) -> int:
    """The number of a start, counted from the newest where it is negative."""
    count = len(run.starts)
    number = wanted if wanted > 0 else count + 1 + wanted
    if not wanted or not 1 <= number <= count:
        raise NotFoundError(
            f"There is no start {wanted} in run {run.name}.",
            hint=f"There is: 1 to {count}, and -1, the newest."
            if count > 1
            else "There is one: 1.",
        )
    return number


def _one(wanted: str, names: Sequence[str], what: str, where: str) -> str:
    if wanted in names:
        return wanted
    from difflib import get_close_matches

    close = get_close_matches(wanted, names, 3, 0.5) or list(names[-3:])
    more = f" and {len(names) - len(close)} more" if len(names) > len(close) else ""
    raise NotFoundError(
        f"There is no {what} {wanted} in {where}.", hint=f"There is: {', '.join(close)}{more}."
    )


def _nothing(catalog: Catalog) -> tuple[str]:
    if catalog.scanning:
        return ("The logdir is being looked at for the first time; no trace was found yet.",)
    return (f"There is no trace in {', '.join(catalog.logdirs) or 'the logdir (none was given)'}.",)
