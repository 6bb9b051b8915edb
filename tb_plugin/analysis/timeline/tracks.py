"""The tracks of the timeline: their groups, their labels, and the slices of each.

Groups are processes, devices, and the recorder's own events. Allocator events are assigned to a
device by type and number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import I32, I64, Mask, distinct, distinct_values, equal, is_any, search
from ...base.group_sums import GroupSums, group_sums
from ...base.regex import regex
from ...base.units import plural
from ...trace.build.host import OVERHEAD_PID
from ...trace.model import Device, DeviceClass, HostKind, RangeTable, Trace
from ..host_activity import HostRole, main_thread, roles_of
from .build.graph_rows import FoldedTrack, Folding, note_of
from .build.slices import narrow
from .model import Group, Places

# c10 DeviceType → the type of device as the trace names it; "" fits any.
_TYPES = {1: "GPU", 6: "GPU", 12: "XPU", 13: "MPS", 15: "HPU", 19: "MTIA", 20: ""}
HOST = 0  # c10 DeviceType of the CPU


def memory_devices(trace: Trace) -> dict[tuple[int, int], int]:
    """(device type, device id) of allocator events → row of ``Trace.devices``, where one matches.

    On AMD the allocator counts the devices that the process sees and the tracer those of the
    machine: where one device worked and one allocated, they are the same.
    """
    pairs = trace.memory.allocating_devices()
    ours = [(kind, number) for kind, number in pairs if kind != HOST and number >= 0]
    used = [row for row, device in enumerate(trace.devices) if device.used]
    if len(ours) == 1 and len(used) == 1:
        return {ours[0]: used[0]}
    found = {}
    for kind, number in ours:
        for row, device in enumerate(trace.devices):
            if device.index == number and _TYPES.get(kind, device.type) in ("", device.type):
                found[kind, number] = row
                break
    return found


class TrackGroups(Struct, frozen=True):
    """The groups in order, and the group of each process and device; −1 where there is none."""

    groups: tuple[Group, ...]
    main_thread: int  # row of ThreadTable, −1
    of_thread: tuple[int, ...]
    of_device: tuple[int, ...]  # by row of Trace.devices
    host: int  # the main process; where there is none the recorder
    recorder: int


def groups_of(trace: Trace) -> TrackGroups:
    """The groups in order: the process that runs the steps, others by time, devices, recorder."""
    main = main_thread(trace)
    sums = group_sums(trace.host.thread, trace.host.self_ns, len(trace.threads))
    count = sums.count
    groups: list[Group] = []
    of_pid: dict[int, int] = {}
    for pid in _processes(trace, main, sums):
        of_pid[pid] = len(groups)
        groups.append(_process(trace, pid, is_main=main >= 0 and pid == trace.threads.pid[main]))
    of_device = []
    for row in _devices(trace):
        of_device.append((row, len(groups)))
        groups.append(_device(trace.devices[row]))
    recorder = -1
    if _has_recorder(trace, count) or (len(trace.memory) and not groups):
        recorder = len(groups)
        groups.append(Group("recorder", "recorder", "Recorder"))
    placed = dict(of_device)
    return TrackGroups(
        groups=tuple(groups),
        main_thread=main,
        of_thread=tuple(of_pid.get(pid, recorder) for pid in trace.threads.pid.tolist()),
        of_device=tuple(placed.get(row, -1) for row in range(len(trace.devices))),
        host=0 if of_pid else recorder,
        recorder=recorder,
    )


def _processes(trace: Trace, main: int, sums: GroupSums) -> list[int]:
    """Codes of the pids that have host events: the one that runs the steps, then by busy time."""
    weight: dict[int, int] = {}
    for thread, pid in enumerate(trace.threads.pid.tolist()):
        if sums.count[thread] and trace.strings[pid] != OVERHEAD_PID:
            weight[pid] = weight.get(pid, 0) + int(sums.total[thread])
    first = int(trace.threads.pid[main]) if main >= 0 else -1
    return sorted(weight, key=lambda pid: (pid != first, -weight[pid], trace.strings[pid]))


def _process(trace: Trace, pid: int, *, is_main: bool) -> Group:
    text = trace.strings[pid]
    label = f"Process {text}" if text.lstrip("-").isdecimal() else text or "Process"
    if is_main and trace.recording.rank is not None:
        label += f" · rank {trace.recording.rank}"
    return Group(f"process/{text}", "process", label)


def _devices(trace: Trace) -> list[int]:
    """Rows of the devices with recorded events."""
    tables = (trace.device, trace.device_annotations, trace.syncs, trace.ranges)
    found: set[int] = set(memory_devices(trace).values())
    found |= set(distinct_values(trace.counters.device[trace.counters.device >= 0]).tolist())
    for table in tables:
        found |= set(distinct_values(table.device[table.device >= 0]).tolist())
    return sorted(found, key=lambda row: (trace.devices[row].index, row))


def _device(device: Device) -> Group:
    label = f"{device.type} {device.index}"
    if device.name:
        label += f" · {device.name}"
    return Group(device_key(device.type, device.index), "device", label)


def device_key(type_: str, index: int) -> str:
    """Key of the group of a device."""
    return f"device/{type_}/{index}"


def _has_recorder(trace: Trace, count: I64) -> bool:
    pids = trace.threads.pid[count > 0].tolist()
    return bool(
        (trace.counters.device < 0).any()
        or (trace.ranges.device < 0).any()
        or (trace.syncs.device < 0).any()
        or (trace.device_annotations.device < 0).any()
        or any(trace.strings[pid] == OVERHEAD_PID for pid in pids)
    )


_GENERIC_THREAD = regex(r"thread -?\d+( \((?P<program>.*)\))?$", re.IGNORECASE)
_GENERIC_STREAM = regex(r"stream (\d+)$", re.IGNORECASE)
_INTERPRETER = regex(r"(python[\d.]*|pt_main_thread)$")
_ORDER = ("annotations", "thread", "python", "stream", "syncs", "ranges")
_OTHER = {"annotations": "Annotations", "syncs": "Waits", "ranges": "Ranges"}
_WORK = {
    DeviceClass.COMPUTE: "compute",
    DeviceClass.COMMUNICATION: "communication",
    DeviceClass.COPY: "copies",
    DeviceClass.MEMSET: "memsets",
}


class Heading(Struct, frozen=True):
    """A track before its lanes are known; ``rank`` orders the tracks of a group."""

    key: str
    group: int
    kind: str
    label: str
    detail: str
    rank: tuple[int, float, int, int]
    hidden: int = 0  # Python frames of the thread that the layout hides
    note: str = ""


class Division(Struct, frozen=True, eq=False):
    """The tracks in the order they are shown, and the track of each slice."""

    headings: tuple[Heading, ...]
    track: Places  # by slice id; −1 for hidden slices


def divide(
    trace: Trace, groups: TrackGroups, python: I32 | None, folding: Folding | None
) -> Division:
    """Sort the slices into tracks.

    ``python`` says of each host row: 0 with the ops, 1 among the Python frames, −1 hidden; None
    leaves everything of a thread together. ``folding`` says where the nodes of graphs go that do
    not stay on their streams; None leaves all of them there.
    """
    threads = _Threads(trace, groups, python)
    streams = _Streams(trace, groups, folding)
    thread = trace.host.thread * 2
    if python is not None:
        thread += python
        thread[python < 0] = -1
    parts: list[tuple[I32, Callable[[int], Heading]]] = [
        (thread, threads.heading),
        (streams.work(), streams.heading),
        (streams.annotations(), partial(streams.other, "annotations")),
        (streams.device_number(trace.syncs), partial(streams.other, "syncs")),
        (streams.number(trace.ranges), partial(streams.other, "ranges")),
    ]
    found = [
        (part, number, make(number))
        for part, (column, make) in enumerate(parts)
        for number in distinct(column[column >= 0], int(column.max(initial=0)) + 1).tolist()
    ]
    found.sort(key=lambda one: (one[2].group, one[2].rank))
    track = np.empty(sum(len(column) for column, _ in parts), narrow(len(found)))
    at = 0
    for part, (column, _) in enumerate(parts):
        place = np.full(int(column.max(initial=0)) + 2, -1, track.dtype)
        for row, (mine, number, _) in enumerate(found):
            if mine == part:
                place[number] = row
        place[-1] = -1  # of hidden slices
        track[at : at + len(column)] = place[column]
        at += len(column)
    return Division(_with_own_keys([heading for *_, heading in found]), track)


def _with_own_keys(headings: list[Heading]) -> tuple[Heading, ...]:
    """Tracks with unique keys: repeated names, as of two streams, get a count."""
    seen: dict[str, int] = {}
    own = []
    for heading in headings:
        count = seen[heading.key] = seen.get(heading.key, 0) + 1
        own.append(heading if count == 1 else replace(heading, key=f"{heading.key}#{count}"))
    return tuple(own)


class _Threads:
    """Names of host threads."""

    def __init__(self, trace: Trace, groups: TrackGroups, python: I32 | None) -> None:
        host = trace.host
        self._is_split = python is not None
        count = len(trace.threads)
        self._trace = trace
        self._groups = groups
        self._busy = group_sums(host.thread, host.self_ns, count).total
        self._edges = search(host.thread, np.arange(count + 1, dtype=np.int32)).tolist()
        backward = equal(roles_of(trace.strings, host.name), HostRole.BACKWARD)
        self._backward = self._of_each(backward & equal(host.kind, HostKind.OP))
        self._ops = self._of_each(is_any(host.kind, (HostKind.OP, HostKind.ANNOTATION)))
        apart = np.zeros(len(host.thread), np.int32) if python is None else python
        self._hidden, self._frames = self._of_each(apart < 0), self._of_each(apart > 0)

    def _of_each(self, mask: Mask) -> list[int]:
        """For how many host rows of each thread the mask holds; they are one behind the other."""
        return [int(np.count_nonzero(mask[low:high])) for low, high in pairwise(self._edges)]

    def heading(self, number: int) -> Heading:
        """The track ``2 · thread``, or ``2 · thread + 1`` of its Python frames."""
        thread, is_python = divmod(number, 2)
        threads, strings = self._trace.threads, self._trace.strings
        pid, tid = strings[threads.pid[thread]], strings[threads.tid[thread]]
        program = _program(strings[threads.name[thread]])
        label, rank = self._label(thread, program)
        if self._is_split:
            what = "Python" if is_python else "ops" if self._ops[thread] else "calls"
            label = f"{label} · {what}"
        return Heading(
            key=f"thread/{pid}/{tid}/{'python' if is_python else 'ops'}",
            group=self._groups.of_thread[thread],
            kind="python" if is_python else "thread",
            label=label,
            detail=f"thread {tid} ({program})" if program else f"thread {tid}",
            rank=(rank, -float(self._busy[thread]), thread, is_python),
            # Told beside the frames that are left; where none is, beside the ops.
            hidden=self._hidden[thread] if is_python or not self._frames[thread] else 0,
        )

    def _label(self, thread: int, program: str) -> tuple[str, int]:
        if thread == self._groups.main_thread:
            return "Main thread", 0
        if self._backward[thread]:
            return "Autograd thread", 1
        if program and not _INTERPRETER.match(program):
            return program, 2
        return f"Thread {self._trace.strings[self._trace.threads.tid[thread]]}", 2


def _program(name: str) -> str:
    """The text of a thread's name beside its number."""
    generic = _GENERIC_THREAD.match(name)
    return (generic["program"] or "") if generic else name


def _told(trace: Trace, name: str) -> dict[int, list[int]]:
    """For each row of StreamTable the numbers of streams that its work says in an argument."""
    column = trace.device.args.get(name)
    if column is None or not len(column.row):
        return {}
    pairs = np.stack([trace.device.stream[column.row].astype(np.int64), column.value])
    found: dict[int, list[int]] = {}
    for stream, number in np.unique(pairs, axis=1).T.tolist():
        if number != int(trace.streams.stream[stream]):
            found.setdefault(stream, []).append(number)
    return found


_MOST_NAMED = 4


def _streams(numbers: list[int], word: str = "stream") -> str:
    """Some numbers of streams, in words.

    >>> _streams([29, 35]), _streams([29, 35], "")
    ('streams 29, 35', '29, 35')
    """
    if len(numbers) > _MOST_NAMED:
        return plural(len(numbers), "stream")
    plain = ", ".join(map(str, numbers))
    return f"{word}{'s' if len(numbers) > 1 else ''} {plain}" if word else plain


class _Streams:
    """Names of streams, and of other tracks of devices."""

    def __init__(self, trace: Trace, groups: TrackGroups, folding: Folding | None) -> None:
        self._trace = trace
        self._groups = groups
        self._folding = folding
        self._count = len(trace.streams)
        # Numbers of tracks: of streams, of devices and of none, of what is folded.
        self._folded = self._count + len(trace.devices) + 1
        classes = len(DeviceClass)
        cell = trace.device.stream.astype(np.int64) * classes + trace.device.klass
        if folding is not None:
            cell = cell[folding.work < 0]
        stays = trace.device.dur if folding is None else trace.device.dur[folding.work < 0]
        spent = np.bincount(cell, stays, self._count * classes)
        self._spent = spent.reshape(self._count, classes)
        self._renamed = {
            name: _told(trace, name) for name in ("original_stream", "annotated_stream")
        }

    def work(self) -> I32:
        """The track number of each row of device work."""
        stream = self._trace.device.stream
        if self._folding is None:
            return stream
        track = self._folding.work
        number: I32 = np.where(track >= 0, track + np.int32(self._folded), stream)
        return number

    def annotations(self) -> I32:
        """The track number of each annotation on a device."""
        table = self._trace.device_annotations
        number = self.number(table)
        if self._folding is not None and len(self._folding.annotations):
            track = np.where(table.stream >= 0, self._folding.annotations[table.stream], -1)
            number = np.where(track >= 0, track + np.int32(self._folded), number)
        return number

    def number(self, table: RangeTable) -> I32:
        """The track number of a stream; devices come after all streams, no device last."""
        return np.where(table.stream >= 0, table.stream, self.device_number(table))

    def device_number(self, table: RangeTable) -> I32:
        """The track number of a device, after all streams; −1 becomes the last."""
        device = np.where(table.device >= 0, table.device, np.int32(len(self._trace.devices)))
        number: I32 = device + np.int32(self._count)
        return number

    def heading(self, stream: int) -> Heading:
        """The work of a stream, or of replayed graphs."""
        if stream >= self._folded:
            return self._graph(stream - self._folded)
        device = int(self._trace.streams.device[stream])
        work = DeviceClass(int(self._spent[stream].argmax()))
        key = f"stream/{self._device_key(device)}/{self._stream_key(stream)}"
        label = f"{self._name(stream)}{self._told(stream)} · {_WORK[work]}"
        return Heading(
            key,
            self._group(device),
            "stream",
            label,
            self._detail(stream),
            (0, 0, stream, 1),
            note=self._note(stream),
        )

    def _graph(self, number: int) -> Heading:
        """Heading of a folded track, above the streams."""
        if self._folding is None:
            raise ValueError("nothing is folded")
        one: FoldedTrack = self._folding.tracks[number]
        kind = "annotations" if one.stem == "annotations" else "graph"
        rows = one.streams
        return Heading(
            key=f"{kind}/{self._device_key(one.device)}/graphs-{one.stem}",
            group=self._group(one.device),
            kind=kind,
            label=one.label,
            detail=self._detail(rows[0]) if len(rows) == 1 else f"{plural(len(rows), 'stream')}",
            rank=(-1, 0.0, one.place, 0),
            note=note_of(one),
        )

    def other(self, kind: str, number: int) -> Heading:
        """Annotations, waits or ranges of a stream, of a device, or of none."""
        if number >= self._folded:
            return self._graph(number - self._folded)
        if number < self._count:
            device = int(self._trace.streams.device[number])
            key = f"{kind}/{self._device_key(device)}/{self._stream_key(number)}"
            label = f"{self._name(number)} · {kind}" if kind != "ranges" else self._name(number)
            rank = (0, 0.0, number, 0) if kind == "annotations" else (2, 0.0, number, 0)
            return Heading(key, self._group(device), kind, label, self._detail(number), rank)
        device = number - self._count
        if device == len(self._trace.devices):
            device = -1
        label = _OTHER[kind] if device >= 0 or kind != "ranges" else "Recording"
        key = f"{kind}/{self._device_key(device)}"
        rank = (1, 0.0, _ORDER.index(kind), 0)
        return Heading(key, self._group(device), kind, label, "", rank)

    def _group(self, device: int) -> int:
        return self._groups.of_device[device] if device >= 0 else self._groups.recorder

    def _device_key(self, device: int) -> str:
        if device < 0:
            return "host"
        one = self._trace.devices[device]
        return f"{one.type}/{one.index}"

    def _stream_key(self, stream: int) -> str:
        number = int(self._trace.streams.stream[stream])
        return str(number) if number >= 0 else self._trace.strings[self._trace.streams.name[stream]]

    def _name(self, stream: int) -> str:
        name = self._trace.strings[self._trace.streams.name[stream]]
        generic = _GENERIC_STREAM.match(name)
        return f"Stream {generic[1]}" if generic else name or f"Stream {stream}"

    def _detail(self, stream: int) -> str:
        number = int(self._trace.streams.stream[stream])
        own = f"stream {number}" if number >= 0 else ""
        moved = self._renamed["original_stream"].get(stream)
        asked = self._renamed["annotated_stream"].get(stream)
        if moved:
            own = f"{_streams(moved)} · lane {number}"
        return f"{own} · captured as {_streams(asked)}" if asked else own

    def _told(self, stream: int) -> str:
        """Original and capture streams for the label, which has room where the detail has none."""
        moved = self._renamed["original_stream"].get(stream)
        asked = self._renamed["annotated_stream"].get(stream)
        told = [_streams(moved, "")] if moved else []
        told += [f"captured {_streams(asked, '')}"] if asked else []
        return f" ({', '.join(told)})" if told else ""

    def _note(self, stream: int) -> str:
        """Meaning of the numbers in ``_detail``; "" if only the stream's number is there."""
        said = []
        if self._renamed["original_stream"].get(stream):
            said.append("The recording assigns this work to a lane; it ran on the original stream.")
        if self._renamed["annotated_stream"].get(stream):
            said.append(
                "A replay may run on another stream than its capture did: the first number is the"
                " stream it ran on, the second the one that the graph's annotation names."
            )
        return " ".join(said)
