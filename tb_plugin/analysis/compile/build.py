"""Facts of torch.compile: the regions of the trace, and the handler's record beside it.

A region is named ``Torch-Compiled Region: F/C`` (torch 2.6): version C of frame F. What follows a
graph break is a function of its own in torch,
``torch_dynamo_resume_in_NAME_at_LINE``; here it is NAME, from line LINE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from ...base.arrays import I32, I64, distinct_values, matches, search, where_code
from ...base.intervals import Intervals, length_within, subtract, union
from ...base.regex import regex
from ...trace.compile_record import CompileRecord, RecordedCompilation
from ...trace.model import Trace
from .kernels import kernel_sources
from .model import (
    MOST_BREAKS,
    MOST_OCCURRENCES,
    MOST_REASONS,
    MOST_VERSIONS,
    Break,
    CompiledFacts,
    Function,
    GuardReason,
    Occurrence,
    Version,
    frame_label,
)
from .occurrences import compilations_in, phases_ns
from .remainder import remainder_of

_REGION = regex(r"^Torch-Compiled Region(?:: (?P<id>\d+/\d+))?$")
_GRAPH = regex(r"^(## Call CompiledFxGraph|CompiledFunction$)")
_LOOKUP = regex(r"^TorchDynamo Cache Lookup$")
_RESUMES = regex(r"^torch_dynamo_resume_in_(?P<name>.*)_at_(?P<line>\d+)$")
_AROUND = regex(
    r"^(Torch-Compiled Region|## Call|CompiledFunction|TorchDynamo Cache Lookup|Pregraph)"
)


def compiled_facts(trace: Trace) -> CompiledFacts | None:
    """The facts; None where nothing was compiled and nothing compiled ran."""
    record = trace.compile_record or CompileRecord()
    regions = _Regions(trace)
    kernels, fused_ns, lined_ns = kernel_sources(trace, record)
    times = compilations_in(trace)
    known = regions.rows_by_id or record.compilations or record.breaks or record.problem
    if not known and not kernels and not times:
        return None
    functions = {one.id: row for row, one in enumerate(record.functions[:MOST_VERSIONS])}
    shown = tuple(function_of(one.name, one.file, one.line) for one in record.functions)
    of_id: dict[str, list[RecordedCompilation]] = {}
    for one in record.compilations:
        of_id.setdefault(one.id or "", []).append(one)
    ids = sorted({*of_id, *regions.rows_by_id, *(one for one, _, _ in times)} - {""}, key=_number)[
        :MOST_VERSIONS
    ]
    ids += [""] if "" in regions.rows_by_id else []
    versions = tuple(
        _version(trace, one, of_id.get(one, []), regions, times, functions) for one in ids
    )
    rows = {one: row for row, one in enumerate(ids)}
    occurrences = tuple(
        Occurrence(rows[one], ts, dur) for one, ts, dur in times[:MOST_OCCURRENCES] if one in rows
    )
    lookups = np.flatnonzero(matches(trace.strings, trace.host.name, _LOOKUP))
    return CompiledFacts(
        functions=shown[:MOST_VERSIONS],
        versions=versions,
        breaks=_breaks(trace, record, regions, versions, shown),
        occurrences=occurrences,
        kernels=kernels,
        fused_ns=fused_ns,
        lined_ns=lined_ns,
        recorded=trace.compile_record is not None and not record.problem,
        problem=record.problem,
        missing=record.missing,
        lookup_ns=int(trace.host.dur[lookups].sum()),
        lookups=len(lookups),
        phases_ns=phases_ns(trace),
        remainder=remainder_of(trace),
    )


def _number(identity: str) -> tuple[int, int]:
    frame, _, version = identity.partition("/")
    return (
        int(frame) if frame.isdecimal() else -1,
        int(version) if version.isdecimal() else -1,
    )


def function_of(name: str, file: str, line: int) -> Function:
    """The function of a code object, or the rest of one behind a graph break."""
    match = _RESUMES.match(name)
    if match is None:
        return Function(name, file, line)
    inner = function_of(match["name"], file, line)
    return Function(inner.name, file, line, int(match["line"]))


def region_places(trace: Trace) -> tuple[I32, tuple[str, ...]]:
    """The compiled function that each host row is a run of, −1 of none, and their labels.

    Versions of a function are one place.
    """
    record = trace.compile_record or CompileRecord()
    shown = {one.id: function_of(one.name, one.file, one.line) for one in record.functions}
    of_id = {one.id: shown.get(one.function) for one in record.compilations if not one.backward}
    places: dict[str, int] = {}
    code_of = np.full(len(trace.strings), -1, np.int32)
    for code, name in enumerate(trace.strings):
        match = _REGION.match(name) if name.startswith("Torch-Compiled Region") else None
        if match is not None:
            function = of_id.get(match["id"])
            label = function.full_label if function is not None else frame_label(match["id"] or "")
            code_of[code] = places.setdefault(label, len(places))
    found: I32 = code_of[trace.host.name]
    return found, tuple(places)


class _Regions:
    """The runs of compiled code, by compile id; "" before torch 2.6."""

    def __init__(self, trace: Trace) -> None:
        self.rows_by_id: dict[str, I64] = {}
        host = trace.host
        for code, name in enumerate(trace.strings):
            match = _REGION.match(name) if name.startswith("Torch-Compiled Region") else None
            if match is None:
                continue
            only = np.zeros(len(trace.strings), np.bool_)
            only[code] = True
            rows = where_code(host.name, only).astype(np.int64)
            if len(rows):
                self.rows_by_id[match["id"] or ""] = rows


def _version(
    trace: Trace,
    identity: str,
    told: list[RecordedCompilation],
    regions: _Regions,
    times: list[tuple[str, int, int]],
    functions: Mapping[int, int],
) -> Version:
    rows = regions.rows_by_id.get(identity, np.zeros(0, np.int64))
    host = trace.host
    inside = [(ts, dur) for one, ts, dur in times if one == identity]
    before = [
        one.dur_us * 1000 for one in told if one.dur_us is not None and one.in_window is False
    ]
    reasons = tuple(
        GuardReason(one.of or "", one.kind, one.guard, f"{one.file}:{one.line}" if one.file else "")
        for each in told
        for one in each.reasons
    )
    longest = int(rows[np.argmax(host.dur[rows])]) if len(rows) else -1
    ts, dur = max(inside, key=lambda one: one[1]) if inside else (-1, 0)
    if longest >= 0 and not inside:
        ts, dur = int(host.ts[longest]), int(host.dur[longest])
    return Version(
        id=identity,
        function=next((functions[one.function] for one in told if one.function in functions), -1),
        calls=len(rows),
        run_ns=int(host.dur[rows].sum()),
        compile_ns=sum(dur for _, dur in inside) if inside or told else None,
        before_ns=sum(before) if told else None,
        reasons=reasons[:MOST_REASONS],
        failed=next((one.failed for one in told if one.failed), ""),
        cache_hit=any(one.cache_hit for one in told),
        guards=next((one.guards for one in told if one.guards is not None), None),
        ts=ts,
        dur_ns=dur,
        slice=longest if not inside else -1,
        event=int(host.raw[longest]) if longest >= 0 and not inside else -1,
        compiled_ts=min((ts for ts, _ in inside), default=-1),
    )


def _breaks(
    trace: Trace,
    record: CompileRecord,
    regions: _Regions,
    versions: tuple[Version, ...],
    functions: tuple[Function, ...],
) -> tuple[Break, ...]:
    """The lines at which functions leave their graphs, the costly ones first."""
    of_id = {one.id: one.function for one in versions}
    found: dict[tuple[str, int, str], Break] = {}
    counts: Counter[tuple[str, int, str]] = Counter()
    for one in record.breaks:
        if not one.stack:
            continue
        file, line, name = one.stack[0]
        key = file, line, one.reason
        counts[key] += one.count
        if key in found:
            continue
        found[key] = Break(
            function=of_id.get(one.compilation or "", -1),
            name=function_of(name, file, line).name,
            file=file,
            line=line,
            reason=one.reason,
            explanation=one.explanation,
            hint=one.hint,
            callers=tuple(f"{path}:{number}" for path, number, _ in one.stack[1:]),
            versions=0,
            calls=0,
            gap_ns=None,
        )
    behind = _behind(trace, regions, versions, functions)
    rows = [
        replace(one, versions=counts[key], **behind.get((one.name, one.line), {}))
        for key, one in found.items()
    ]
    return tuple(sorted(rows, key=lambda one: -(one.gap_ns or 0))[:MOST_BREAKS])


def _behind(
    trace: Trace,
    regions: _Regions,
    versions: tuple[Version, ...],
    functions: tuple[Function, ...],
) -> dict[tuple[str, int], dict[str, int | None]]:
    """Of each function that goes on behind a break: its runs, and the host time before them."""
    host = trace.host
    graphs = np.flatnonzero(matches(trace.strings, host.name, _GRAPH))
    found: dict[tuple[str, int], list[I64]] = {}
    for one in versions:
        if (
            one.function >= 0
            and functions[one.function].resumes_at
            and one.id in regions.rows_by_id
        ):
            place = functions[one.function]
            key = place.name, place.resumes_at
            found.setdefault(key, []).append(regions.rows_by_id[one.id])
    return {key: _gaps(trace, np.concatenate(some), graphs) for key, some in found.items()}


def _gaps(trace: Trace, rows: I64, graphs: I64) -> dict[str, int | None]:
    """Runs, and the time from the end of the graph before each to its begin, without ops.

    The graph lies in the region that also holds the run behind the break. Ops in between are the
    work of the user's line.
    """
    host = trace.host
    result: dict[str, int | None] = {"calls": len(rows), "gap_ns": None}
    longest = int(rows[np.argmax(host.dur[rows])])
    result["ts"], result["slice"] = int(host.ts[longest]), longest
    starts, ends = [], []
    for thread in distinct_values(host.thread[rows]).tolist():
        mine = rows[host.thread[rows] == thread]
        of_thread = graphs[host.thread[graphs] == thread]
        if not len(of_thread):
            continue
        end = np.sort(host.ts[of_thread] + host.dur[of_thread])
        at = search(end, host.ts[mine], side="right") - 1
        outer = host.parent[mine]
        begin = end[np.maximum(at, 0)]
        fits = (at >= 0) & (outer >= 0) & (begin >= host.ts[np.maximum(outer, 0)])
        starts.append(begin[fits])
        ends.append(host.ts[mine][fits])
    if not starts or not sum(map(len, starts)):
        return result
    start, end = np.concatenate(starts), np.concatenate(ends)
    gaps = union(start, end)
    ops = np.flatnonzero(host.kind == 0)
    ops = ops[~matches(trace.strings, host.name[ops], _AROUND)]
    left = subtract(gaps, _clipped(trace, ops, gaps))
    result["gap_ns"] = int(length_within(left, left.start, left.end).sum())
    return result


def _clipped(trace: Trace, rows: I64, gaps: Intervals) -> Intervals:
    """The union of the events that begin in the gaps."""
    host = trace.host
    at = search(gaps.start, host.ts[rows], side="right") - 1
    inside = (at >= 0) & (host.ts[rows] < gaps.end[np.maximum(at, 0)])
    some = rows[inside]
    return union(host.ts[some], host.ts[some] + host.dur[some])
