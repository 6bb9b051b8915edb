"""Checks that make the health record of a trace: each one returns a note or none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import count_codes, distinct_values, equal, is_among, take, where
from ...base.intervals import union
from ...base.machine import each
from ...base.regex import regex
from ...base.units import duration
from ..build.categories import is_graph_node, is_known
from ..build.devices import Devices
from ..build.host import Host
from ..build.metadata import Census, ProcessMetadata
from ..build.route import UnusedRows
from ..health_record import COSTLY, HealthRecord, Note, worst_first
from ..link.flows import Autograd, MatchedFlows
from ..link.launches import Launches
from ..model import (
    CounterTable,
    DeviceKind,
    DeviceTable,
    HostKind,
    Link,
    MemoryTable,
    RangeTable,
    Recording,
    StepTable,
    is_of_other_recorder,
)
from ..raw import RANGED, Fault, Texts
from .notes import CATALOG, UNKNOWN

ORPHAN_WARNING_RATIO = 0.05
OVERHEAD_WARNING_RATIO = 0.05
LOST_NAME = "unknown"
AFTER_LOOP_NS = 1_000_000  # an only step without any work that is shorter than this is none
MOST_STEPS = 1_000_000
# Kineto itself rounds; a kernel this little before its launch is no sign of a skewed clock.
SKEW_NS = 1000


class HealthInputs(Struct, frozen=True, eq=False):
    """The inputs of all checks."""

    texts: Texts
    identity: ProcessMetadata
    census: Census
    tally: UnusedRows
    flows: MatchedFlows
    host: Host
    device: DeviceTable
    annotations: RangeTable
    syncs: RangeTable
    ranges: RangeTable
    memory: MemoryTable
    counters: CounterTable
    steps: StepTable
    devices: Devices
    launches: Launches
    occupancy: tuple[int, int]  # kernels whose occupancy was computed, and cannot be
    autograd: Autograd
    recording: Recording
    faults: Sequence[Fault]
    end_ns: int
    events: int
    file_bytes: int
    text_bytes: int


def examine(evidence: HealthInputs) -> HealthRecord:
    """Counts that reconcile, and the notes, worst first."""
    ignored = dict(evidence.tally.ignored)
    lonely = {
        "flow start without an end": evidence.flows.lonely_starts,
        "flow end without a start": evidence.flows.lonely_ends,
    }
    ignored |= {reason: count for reason, count in lonely.items() if count}
    checks = [_of_file, _of_time, _of_overlaps, _of_clocks]
    if evidence.recording.file_format != "other_perfetto":
        checks += [_of_links, _of_content, _of_steps, _of_recorder]
    of_file, *others = each(lambda check: list(check(evidence)), checks)
    notes = [*of_file, *(one for found in others for one in found)]
    lost = any(note.severity == "error" for note in notes)
    lost = lost or any(note.severity in COSTLY for note in of_file)
    counted = {"skipped": 0, "repaired": 0}
    for fault in evidence.faults:
        kind = CATALOG.get(fault.kind, UNKNOWN)
        if kind.counts_as:
            counted[kind.counts_as] += fault.count
    if not lost and not any(counted.values()) and evidence.events:
        notes.append(note("complete", evidence.events))
    return HealthRecord(
        file_bytes=evidence.file_bytes,
        text_bytes=evidence.text_bytes,
        events=evidence.events,
        used=_used(evidence),
        ignored=ignored,
        skipped=counted["skipped"],
        repaired=counted["repaired"],
        notes=worst_first(_addressed(one, evidence) for one in notes),
    )


def _addressed(one: Note, evidence: HealthInputs) -> Note:
    """The note with the remedy that the recorder of this file has, for this kind of device."""
    kinds = [device.type for device in evidence.devices.devices]
    remedy = CATALOG.get(one.kind, UNKNOWN).remedy_of(
        evidence.recording.torch_era, kinds[0] if kinds else ""
    )
    return replace(one, remedy=remedy)


_VERBS = {"have": "has", "are": "is", "were": "was", "start": "starts", "end": "ends",
          "last": "lasts", "mark": "marks", "name": "names", "lack": "lacks",
          "belong": "belongs"}  # fmt: skip
_ONE = regex(r"^((?:.* )?1) (\w+?)s\b(?: (\w+))?(.*)$")


def one_of(text: str) -> str:
    """A title that counts one thing, in the singular.

    >>> one_of("1 events end before they start")
    '1 event ends before it starts'
    """
    match = _ONE.match(text)
    if match is None:
        return text
    before, noun, verb, rest = match.groups()
    said = f" {_VERBS.get(verb, verb)}" if verb else ""
    rest = re.sub(r"\bthey (\w+)", lambda m: f"it {_VERBS.get(m[1], m[1])}", rest)
    if verb == "of":
        rest = rest.replace(" are not events", " is not an event")
        rest = re.sub(r"(?<! that)(?<! may) (are|have)\b", lambda m: f" {_VERBS[m[1]]}", rest)
    noun = noun[:-1] if noun.endswith(("che", "sse")) else noun
    return f"{before} {noun}{said}{rest.replace(' their ', ' its ').replace(' them', ' it')}"


def note(
    kind: str,
    count: int = 0,
    total: int = 0,
    *,
    detail: str = "",
    example: str = "",
    offset: int = -1,
) -> Note:
    """A note of a kind of the catalog, with its texts filled in, and torch.profiler's remedy."""
    entry = CATALOG.get(kind, UNKNOWN)
    share = f"{100 * count / total:.1f} %" if total else ""
    values = {
        "count": f"{count:,}",
        "total": f"{total:,}",
        "share": share,
        "detail": detail or kind,
    }
    title = entry.title.format(**values)
    return Note(
        kind=kind,
        severity=entry.severity,
        title=one_of(title) if count == 1 else title,
        count=count,
        total=total,
        consequence=entry.consequence.format(**values),
        remedy=entry.remedy_of(),
        example=example,
        offset=offset,
        taints=entry.taints,
    )


def _used(evidence: HealthInputs) -> int:
    tables: tuple[Any, ...] = (
        evidence.device,
        evidence.annotations,
        evidence.syncs,
        evidence.ranges,
        evidence.memory,
        evidence.counters,
    )
    flows = evidence.flows
    paired = evidence.tally.flow_ends - (flows.lonely_starts + flows.lonely_ends)
    return (
        len(evidence.host.ts)
        + sum(len(table) for table in tables)
        + paired
        + evidence.tally.used_elsewhere
    )


def _of_file(evidence: HealthInputs) -> Iterator[Note]:
    for fault in evidence.faults:
        yield note(fault.kind, fault.count, example=fault.example, offset=fault.offset)
    if evidence.recording.file_format == "other_perfetto":
        yield note("not_torch")
    if evidence.recording.file_format == "perfetto":
        yield note("perfetto")
        if cut := _cut_rows(evidence):
            yield note("cut_rows", cut, len(evidence.device) + _graph_nodes(evidence))
    if not len(evidence.host.ts) + len(evidence.device) + len(evidence.memory):
        yield note("empty")


def _cut_rows(evidence: HealthInputs) -> int:
    """Rows of a device's lane that end exactly where the next one starts."""
    device, syncs = evidence.device, evidence.syncs
    nodes = np.flatnonzero(_is_graph_node(evidence))
    stream = np.concatenate([device.stream, syncs.stream[nodes]])
    ts = np.concatenate([device.ts, syncs.ts[nodes]])
    end = np.concatenate([device.end, syncs.end[nodes]])
    order = np.lexsort((end, ts, stream))
    stream, ts, end = stream[order], ts[order], end[order]
    return int(np.count_nonzero((stream[1:] == stream[:-1]) & (end[:-1] == ts[1:])))


def _is_graph_node(evidence: HealthInputs) -> np.ndarray[Any, Any]:
    graph_node = evidence.texts.table(evidence.syncs.category, is_graph_node, np.bool_)
    result: np.ndarray[Any, Any] = graph_node[evidence.syncs.category]
    return result


def _graph_nodes(evidence: HealthInputs) -> int:
    return int(np.count_nonzero(_is_graph_node(evidence)))


def _of_time(evidence: HealthInputs) -> Iterator[Note]:
    tally, host, device = evidence.tally, evidence.host, evidence.device
    ignored = tally.ignored
    unreadable = {fault.kind: fault.count for fault in evidence.faults}  # have notes of their own
    without_ts = ignored.get("event without a time stamp", 0)
    for kind, count in (
        ("timeless", ignored.get("event without a believable time", 0)),
        ("no_time", max(without_ts - unreadable.get("bad_ts", 0), 0)),
        ("stray_ends", ignored.get("end without a begin", 0)),
        ("negative_duration", tally.negative),
        ("absurd_duration", tally.absurd),
        ("missing_duration", max(tally.without_dur - unreadable.get("bad_dur", 0), 0)),
        ("unfinished", len(_unfinished(host))),
        ("partial_overlap", len(host.nesting.overrun.row)),
    ):
        if count:
            yield note(kind, count, example=_example(evidence, kind))
    if evidence.recording.resolution_ns >= 1000 and len(host.ts) + len(device):
        zero = np.count_nonzero(host.dur == 0) + np.count_nonzero(device.dur == 0)
        yield note("rounded_time", int(zero), len(host.ts) + len(device))


def _of_overlaps(evidence: HealthInputs) -> Iterator[Note]:
    if overlaps := _stream_overlaps(evidence.device):
        yield note("stream_overlap", overlaps, len(evidence.device))


def _unfinished(host: Host) -> np.ndarray[Any, Any]:
    finished = host.args.get("finished")
    return np.empty(0, np.int32) if finished is None else finished.row


def _example(evidence: HealthInputs, kind: str) -> str:
    host = evidence.host
    rows = {
        "unfinished": _unfinished(host),
        "partial_overlap": host.nesting.overrun.row,
    }.get(kind)
    return "" if rows is None or not len(rows) else evidence.texts[int(host.name[rows[0]])][:200]


def _stream_overlaps(device: DeviceTable) -> int:
    """Rows that start before everything ahead of them on their stream has ended."""
    if len(device) < 2:
        return 0
    total, end = 0, device.end
    edges = np.flatnonzero(np.diff(device.stream)) + 1
    for low, high in zip([0, *edges.tolist()], [*edges.tolist(), len(device)], strict=True):
        reach = np.maximum.accumulate(end[low:high])
        total += int(np.count_nonzero(device.ts[low + 1 : high] < reach[:-1]))
    return total


def _of_clocks(evidence: HealthInputs) -> Iterator[Note]:
    device, host = evidence.device, evidence.host
    linked = np.flatnonzero(device.launch >= 0)
    early = take(host.ts, device.launch[linked]) - device.ts[linked]
    bad = early > SKEW_NS
    if bad.any():
        worst = int(early.max())
        detail = f"{worst / 1000:,.0f} µs" if worst < 10_000_000 else f"{worst / 1e6:,.0f} ms"
        yield note("clock_skew", int(np.count_nonzero(bad)), len(linked), detail=detail)


def _of_links(evidence: HealthInputs) -> Iterator[Note]:
    device, launches = evidence.device, evidence.launches
    runtime = equal(evidence.host.kind, HostKind.RUNTIME).any()
    if len(device):
        counts = np.bincount(device.link, minlength=len(Link)).tolist()
        if not runtime:
            yield note("no_runtime", len(device))
            if evidence.recording.torch_era in ("G", "H"):  # older recorders have no choice
                yield note("chosen_kinds")
        else:
            yield from _orphans(counts, len(device))
        replayed = device.kind[device.link == Link.GRAPH] == DeviceKind.KERNEL
        if replayed.any():
            kernels = device.kind == DeviceKind.KERNEL
            yield note("graphs", int(replayed.sum()), int(np.count_nonzero(kernels)))
        if (launches.launch >= 0).all() and runtime:
            yield note("all_linked", len(device), len(device))
        if not launches.external_id_used and len(evidence.host.ts) and launches.external_id_seen:
            yield note("external_id_ignored")
        if launches.disagree:
            yield note("external_id_disagrees", launches.disagree, launches.checked)
    if nodes := _graph_nodes(evidence):
        yield note("graph_nodes", nodes)
    if len(evidence.flows.dependencies):
        yield note("graph_dependencies", len(evidence.flows.dependencies))
    if launches.shared:
        yield note("shared_correlation", launches.shared)
    if lonely := evidence.flows.lonely_starts + evidence.flows.lonely_ends:
        yield note("lonely_flows", lonely)


def _orphans(counts: Sequence[int], total: int) -> Iterator[Note]:
    for link, few, many in (
        (Link.PROLOGUE, "prologue", "long_prologue"),
        (Link.UNLINKED, "orphans", "many_orphans"),
    ):
        if counts[link]:
            kind = many if counts[link] > ORPHAN_WARNING_RATIO * total else few
            yield note(kind, counts[link], total)


def _of_content(evidence: HealthInputs) -> Iterator[Note]:
    host, device, recording = evidence.host, evidence.device, evidence.recording
    count = count_codes(host.kind).tolist()
    ops = count[HostKind.OP]
    if not len(device) and len(host.ts):
        launched = _launch_calls(evidence)
        other = is_of_other_recorder(recording.torch_era)
        none = note("unknown_device" if other else "no_device")
        yield note("lost_kernels", launched) if launched else none
    if len(device):
        yield from _left_out(evidence)
    if len(device) and not ops:
        yield note("device_only", len(device))
    if ops and not recording.record_shapes:
        yield note("no_shapes", 0, ops)
    if ops and not count[HostKind.PYTHON] + count[HostKind.MODULE]:
        yield note("stacks_as_text" if recording.with_stack else "no_stacks", 0, ops)
    if count[HostKind.PYTHON]:
        yield note("python_tracing", count[HostKind.PYTHON])
    if not len(evidence.memory) and ops:
        yield note("no_memory")
    elif len(evidence.memory) and not evidence.memory.address.any():
        yield note("no_addresses", len(evidence.memory))
    if unknown := _unknown_categories(evidence):
        yield note("unknown_categories", len(unknown), detail=", ".join(sorted(set(unknown)))[:200])
    lost = evidence.texts.table(host.names, lambda text: text == LOST_NAME, np.bool_)
    if lost.any() and not is_of_other_recorder(evidence.recording.torch_era):
        yield note("lost_names", int(np.count_nonzero(take(lost, host.name))), len(host.ts))
    if derived := _derived(evidence):
        yield note("derived_rows", derived)


def _unknown_categories(evidence: HealthInputs) -> list[str]:
    """Categories that are not listed, of the host and then of the devices."""
    texts = evidence.texts
    if all(is_known(texts[code]) for code in evidence.census.categories(RANGED)):
        return []
    return [
        texts[code]
        for table in (evidence.host, evidence.device)
        for code in texts.used(table.category).tolist()
        if not is_known(texts[code])
    ]


def _launch_calls(evidence: HealthInputs) -> int:
    host = evidence.host
    launching = evidence.texts.table(host.names, lambda text: "LaunchKernel" in text, np.bool_)
    runtime = where(equal(host.kind, HostKind.RUNTIME))
    return int(np.count_nonzero(launching[host.name[runtime]]))


# What calls ask a device for, and the kind of row that it leaves where that kind is recorded.
_ASKED = (
    (
        "left_out_kernels",
        regex(r"(cuda|cu|hip)\w*(LaunchKernel|GraphLaunch)"),
        DeviceKind.KERNEL,
    ),
    ("left_out_copies", regex(r"(cuda|cu|hip)Memcpy"), DeviceKind.MEMCPY),
)


def _left_out(evidence: HealthInputs) -> Iterator[Note]:
    """Kinds of work of which there is none, though calls that launched nothing asked for some."""
    host, device, launch = evidence.host, evidence.device, evidence.launches.launch
    missing = [one for one in _ASKED if not (device.kind == one[2]).any()]
    if not missing:
        return
    without = equal(host.kind, HostKind.RUNTIME)
    without[launch[launch >= 0]] = False
    called = host.name[where(without)]
    for kind, pattern, _ in missing:
        asks = evidence.texts.table(called, partial(_begins, pattern), np.bool_)
        if calls := int(np.count_nonzero(asks[called])):
            yield note(kind, calls)


def _begins(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.match(text) is not None


def _derived(evidence: HealthInputs) -> int:
    """Rows of processes that repeat others (``Overlap Analysis``): they have no category."""
    bare = evidence.texts.table(evidence.ranges.category, lambda text: not text, np.bool_)
    return int(np.count_nonzero(bare[evidence.ranges.category]))


def _of_steps(evidence: HealthInputs) -> Iterator[Note]:
    steps, host = evidence.steps, evidence.host
    if steps.source == "whole_trace":
        if len(host.ts) + len(evidence.device):
            yield note("no_steps")
        return
    if steps.source == "annotation":
        yield note("steps_from_annotations", len(steps), detail=steps.family)
    if (np.diff(steps.number) <= 0).any():
        yield note("step_numbers", int(np.count_nonzero(np.diff(steps.number) <= 0)), len(steps))
    if len(steps) and is_among(steps.host[-1:], _unfinished(host)).any():
        yield note("unfinished_step", example=evidence.texts[int(steps.name[-1])])
    if steps.source == "profiler_step":
        yield from _of_window(evidence)


def _of_window(evidence: HealthInputs) -> Iterator[Note]:
    """Less was recorded than the schedule asked for, as far as our handler or the file tells."""
    steps, told = evidence.steps, evidence.recording.handler
    window = told.get("window")
    asked, done = _count(window, "asked"), _count(window, "recorded")
    is_told = 0 <= done < asked <= MOST_STEPS
    length = int(steps.end[0] - steps.ts[0]) if len(steps) == 1 else AFTER_LOOP_NS
    works = len(evidence.device) or equal(evidence.host.kind, HostKind.OP).any()
    if length < AFTER_LOOP_NS and not works:
        yield note("after_loop", detail=duration(length))
    elif is_told and told.get("step_num") == 0:
        yield note("step_not_called")
    elif is_told:
        yield note("partial_window", done, asked)


def _count(told: object, key: str) -> int:
    """A number that our handler wrote; −1 for anything else."""
    value = told.get(key) if isinstance(told, Mapping) else None
    return value if type(value) is int else -1


def _of_recorder(evidence: HealthInputs) -> Iterator[Note]:
    host, metadata = evidence.host, evidence.recording.metadata
    for key, kind in (("ERROR", "recorder_errors"), ("WARNING", "recorder_warnings")):
        lines = _lines(metadata, key)
        if lines:
            yield note(kind, len(lines), example=lines[0][:200])
    overhead = where(equal(host.kind, HostKind.OVERHEAD))
    if len(overhead) and evidence.end_ns:
        lost = union(host.ts[overhead], host.end_of(overhead)).total_ns
        if lost > OVERHEAD_WARNING_RATIO * evidence.end_ns:
            yield note("profiler_overhead", lost, evidence.end_ns)
    is_op = equal(host.kind, HostKind.OP)
    working = [bool(is_op[low:high].any()) for low, high in pairwise(host.first.tolist())]
    pids = host.threads.pid[np.array(working, bool)]
    processes = len(distinct_values(pids))
    if processes > 1:
        yield note("several_processes", processes)
    if evidence.identity.renamed:
        yield note("thread_renamed", evidence.identity.renamed)
    if evidence.recording.torch_era == "H":
        yield note("cuspy")
    kernels = int(np.count_nonzero(equal(evidence.device.kind, DeviceKind.KERNEL)))
    for kind, kernel_count in zip(
        ("occupancy_computed", "occupancy_unknown"), evidence.occupancy, strict=True
    ):
        if kernel_count:
            yield note(kind, kernel_count, kernels)
    if evidence.devices.misused_key:
        yield note("python_exporter")


def _lines(metadata: Mapping[str, Any], key: str) -> list[str]:
    value = metadata.get(key)
    return [str(line) for line in value] if isinstance(value, list) else []
