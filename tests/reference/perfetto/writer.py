"""The second pass over a file: packets as the JSON text of a trace.

A row is complete when it is written, so the text is read from its front, in pieces, like that of
any other trace. The reference of ``native/src/perfetto``, with the first pass (``survey``).

====================  =======================================================================
packet                row
====================  =======================================================================
slice                 ``X``; without ``dur`` where its end is lost; ``B`` where it has none
instant, counter      ``i``, ``C``
render stage          ``X``: in files of torch's with the category that its JSON has for it
wait id               ``s`` at the end of the work that was waited for, ``f`` at the start of
                      what waited; ids from 2^40 on
====================  =======================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kinetoscope.base.regex import regex
from kinetoscope.trace.perfetto.native import INT_EXTRAS, RENAMED, Notes
from tests.reference.perfetto.wire import BadPacket, Frames, Message, Packet, text_at

from .json_values import MOST_DEPTH, argument, decimal, double_at, quoted, us
from .packets import (
    STAGES,
    CounterNames,
    Event,
    Kind,
    Packets,
    Sequence,
    TrackDescriptor,
    counter_names,
)
from .slices import LOST, OPEN, wrapped
from .survey import Survey, lane_of

FIRST_DEPENDENCY = 1 << 40
_CATEGORIES = dict(
    zip(
        STAGES,
        (
            "kernel",
            "gpu_memcpy",
            "gpu_memset",
            "gpu_user_annotation",
            "graph_event_node",
            "graph_host_node",
        ),
        strict=True,
    )
)
_HOST_NODE = STAGES[-1]
_INTS = frozenset(INT_EXTRAS)
_INTEGER = regex(r"-?(?:0|[1-9]\d{0,17})", re.ASCII)
_MASKED = 0x7FFFFFFF
_NEGATIVE_THREAD = regex(r"thread -(\d{1,18})", re.ASCII)
_GPU = regex(r"GPU \d{1,9}", re.ASCII)


class RowWriter:
    """Takes a file piece by piece, and gives the text of its rows."""

    def __init__(self, survey: Survey, subtract: int) -> None:
        self.notes = Notes()
        self._frames = Frames()
        self._packets = Packets(self._frames.data)
        # Known by now; so what stands before the names is written as what it is.
        self._torch = survey.packets.from_torch
        self._durations = survey.slices.durations if survey.slices is not None else ()
        self._ends = survey.ends
        self._subtract = subtract
        self._slice = 0
        self._dependency = FIRST_DEPENDENCY
        self._out: list[str] = []
        self._begun = False
        self._packet: Packet | None = None
        self._places: dict[int, tuple[str, str]] = {}
        self._named: set[int] = set()
        self._named_lanes: set[tuple[int, str]] = set()
        self._named_gpus: set[int] = set()
        self._sums: dict[int, int] = {}
        self._double_sums: dict[int, float] = {}

    def feed(self, piece: bytes, *, last: bool) -> bytes:
        """Take the next bytes of the file; the text of the rows that they end."""
        self._out = []
        for taken in self._frames.feed(piece, last=last):
            if isinstance(taken, Packet):
                self._packet = taken
                before = len(self._out)
                try:
                    for event in self._packets.read(taken):
                        self._write(event)
                except BadPacket:
                    del self._out[before:]
                    self.notes.add("bad_packet", taken.place, taken.bytes)
        text = "".join(self._out)
        if text and not self._begun:
            self._begun = True
            text = text[1:]  # no comma before the first row
        return text.encode("utf-8", "replace")

    def _write(self, event: Event) -> None:
        match event.kind:
            case Kind.TRACK:
                self._describe(self._packets.tracks[event.track])
            case Kind.BEGIN:
                self._begin(event)
            case Kind.INSTANT:
                self._event('"ph":"i","s":"t"', event, "")
            case Kind.VALUE:
                self._value(event)
            case Kind.STAGE:
                self._stage(event)
            case Kind.COUNTERS:
                self._counters(event)
            case Kind.OTHER:
                self._note("other_packet", max(event.message.parts))
            case Kind.END:
                pass  # Its slice has been written.

    def _note(self, kind: str, value: int) -> None:
        self.notes.add(kind, self._packet.place if self._packet else 0, value)

    def _row(self, *parts: str) -> None:
        self._out.append(",\n{" + ",".join(parts) + "}")

    def _ts(self, ns: int) -> str:
        return f'"ts":{us(wrapped(ns - self._subtract))}'

    # --- tracks ---

    def _describe(self, track: TrackDescriptor) -> None:
        """Write the names of its process and thread."""
        self._places.clear()
        if track.tid != -1:
            if track.thread:
                self._meta("thread_name", *self._place(track), "name", quoted(track.thread))
        elif track.pid != -1 and track.process:
            if self._torch and _GPU.fullmatch(track.process):
                self._name_gpu(track.pid)
            else:
                pid = self._pid(track.pid)
                self._meta("process_name", pid, "0", "name", quoted(track.process))

    def _meta(self, name: str, pid: str, tid: str, key: str, value: str) -> None:
        self._row(
            f'"ph":"M","name":"{name}"', f'"pid":{pid},"tid":{tid}', f'"args":{{"{key}":{value}}}'
        )

    def _name_gpu(self, gpu: int) -> None:
        if wrapped(gpu) not in self._named_gpus:
            self._named_gpus.add(wrapped(gpu))
            self._meta("process_labels", str(gpu), "0", "labels", f'"GPU {gpu}"')

    def _pid(self, pid: int) -> str:
        return "-1" if self._torch and pid == _MASKED else str(pid)

    def _place(self, track: TrackDescriptor) -> tuple[str, str]:
        """Process and thread of a thread's track, as JSON."""
        tid = track.tid
        if self._torch:
            # Negative numbers were cut to 31 bits; torch's JSON has them without their sign.
            match = _NEGATIVE_THREAD.fullmatch(track.thread)
            if match and -int(match[1]) & _MASKED == tid:
                tid = int(match[1])
            elif tid == _MASKED:
                tid = -1
        return self._pid(track.pid), str(tid)

    def _place_of(self, uuid: int) -> tuple[str, str]:
        """Process and thread of a track, as JSON."""
        place = self._places.get(uuid)
        if place is None:
            track = self._packets.tracks.get(uuid, TrackDescriptor())
            place = self._place(track) if track.tid != -1 else self._own_place(uuid, track)
            self._places[uuid] = place
        return place

    def _own_place(self, uuid: int, track: TrackDescriptor) -> tuple[str, str]:
        """A thread of its own for a track that is none, in the process above it."""
        above: TrackDescriptor | None = track
        for _ in range(MOST_DEPTH):
            if above is None or above.pid != -1:
                break
            above = self._packets.tracks.get(above.parent)
        known = above is not None and above.pid != -1
        pid = self._pid(above.pid) if above is not None and known else '"tracks"'
        tid = f'"track {uuid}"'
        name = track.name or track.process
        if name and uuid not in self._named:
            self._named.add(uuid)
            self._meta("thread_name", pid, tid, "name", quoted(name))
        return pid, tid

    # --- events of tracks ---

    def _begin(self, event: Event) -> None:
        at, self._slice = self._slice, self._slice + 1
        dur = self._durations[at]
        phase = '"ph":"B"' if dur == OPEN else '"ph":"X"'
        self._event(phase, event, "" if dur in (OPEN, LOST) else f',"dur":{us(dur)}')

    def _event(self, phase: str, event: Event, dur: str) -> None:
        data, message, sequence = self._frames.data, event.message, event.sequence
        pid, tid = self._place_of(event.track)
        name = '""'
        if 23 in message.parts:
            name = quoted(message.text(data, 23))
        elif 10 in message.ints:
            name = self._interned(sequence.event_names, message.number(10))
        categories = [
            self._interned(sequence.categories, iid) for iid in message.numbers(data, 3)
        ] + [quoted(text_at(data, *part)) for part in message.parts.get(22, ())]
        category = ",".join(text[1:-1] for text in categories)
        if self._torch and not category:
            category = self._implied(event.track)
        args = (argument(data, one, sequence, self._interned) for one in message.messages(data, 4))
        self._row(
            phase,
            f'"cat":"{category}","name":{name}',
            f'"pid":{pid},"tid":{tid}',
            self._ts(event.ts) + dur,
            '"args":{' + ",".join(f"{key}:{value}" for key, value in args) + "}",
        )

    def _implied(self, uuid: int) -> str:
        """The category that torch's JSON has where its protobuf has none: told by the process."""
        tracks = self._packets.tracks
        process = tracks.get(tracks.get(uuid, TrackDescriptor()).parent, TrackDescriptor())
        if process.pid == _MASKED:
            return "overhead"
        return "cuda_sync" if _GPU.fullmatch(process.process) else ""

    def _interned(self, table: dict[int, str], iid: int) -> str:
        found = table.get(iid)
        if found is None:
            self._note("lost_iid", iid)
            return f'"#{iid}"'
        return found

    def _value(self, event: Event) -> None:
        """Write a value of a counter that is a track."""
        uuid, message = event.track, event.message
        track = self._packets.tracks.get(uuid, TrackDescriptor())
        pid, _ = self._place_of(uuid)
        if 44 in message.doubles:
            real = double_at(self._frames.data, message.doubles[44]) * track.unit_factor
            if track.incremental:
                real = self._double_sums[uuid] = self._double_sums.get(uuid, 0.0) + real
            text = decimal(real)
        elif 30 in message.ints:
            whole = wrapped(message.number(30) * track.unit_factor)
            if track.incremental:
                whole = self._sums[uuid] = wrapped(self._sums.get(uuid, 0) + whole)
            text = str(whole)
        else:
            raise BadPacket
        self._row(
            f'"ph":"C","name":{quoted(track.name)}',
            f'"pid":{pid}',
            self._ts(event.ts),
            f'"args":{{{quoted(track.unit or "value")}:{text}}}',
        )

    # --- devices ---

    def _stage(self, event: Event) -> None:
        """Write the work of a device."""
        message, sequence = event.message, event.sequence
        gpu, spec = message.number(11), sequence.specs.get(message.number(14), "")
        if 20 in message.ints:
            title = self._interned(sequence.event_names, message.number(20))
        elif 19 in message.ints:
            title = self._interned(sequence.kernels, message.number(19))
        else:
            title = quoted(spec)
        times = f'{self._ts(event.ts)},"dur":{us(wrapped(message.number(2)))}'
        extras = [
            (one.text(self._frames.data, 1), one.text(self._frames.data, 2))
            for one in message.messages(self._frames.data, 6)
        ]
        if not self._torch:
            lane = sequence.specs.get(message.number(13), f"lane {message.number(13)}")
            self._row(
                '"ph":"X","cat":"gpu_render_stage"',
                f'"name":{title}',
                f'"pid":"GPU {gpu}","tid":{quoted(lane)}',
                times,
                '"args":{'
                + ",".join(f"{quoted(key)}:{quoted(text)}" for key, text in extras)
                + "}",
            )
            return
        if spec == _HOST_NODE:
            title = _host_node(title, extras)
        tid, label = lane_of(sequence, message.number(13))
        self._name_gpu(gpu)
        if (gpu, tid) not in self._named_lanes:
            self._named_lanes.add((gpu, tid))
            self._meta("thread_name", str(gpu), tid, "name", quoted(label))
        where = f'"pid":{gpu},"tid":{tid}'
        args = [*self._launch(message, sequence), *_extras(extras, tid)]
        self._row(
            f'"ph":"X","cat":"{_CATEGORIES.get(spec, "gpu_render_stage")}"',
            f'"name":{title}',
            where,
            times,
            '"args":{' + ",".join(args) + "}",
        )
        for wait in message.numbers(self._frames.data, 18):
            self._waits(wait, where, event.ts)

    def _waits(self, event_id: int, where: str, ts: int) -> None:
        flow = f'"id":{self._dependency},"cat":"ac2g","name":"ac2g"'
        self._dependency += 1
        found = self._ends.get(event_id)
        if found is not None:
            at, gpu, tid = found
            self._row('"ph":"s"', flow, f'"pid":{gpu},"tid":{tid}', self._ts(at))
        self._row('"ph":"f"', flow, where, self._ts(ts), '"bp":"e"')

    def _launch(self, message: Message, sequence: Sequence) -> Iterator[str]:
        """Grid, block and the numbers of a launch."""
        data = self._frames.data
        for launch in message.messages(data, 21):
            for number, name in ((1, "grid"), (2, "block")):
                for size in launch.messages(data, number):
                    yield f'"{name}":[{size.number(1)},{size.number(2)},{size.number(3)}]'
            for one in launch.messages(data, 3):
                key = sequence.launch_args.get(one.number(1), f"#{one.number(1)}")
                value = str(one.number(4, one.number(3)))
                yield f"{quoted(RENAMED.get(key, key))}:{value}"

    def _counters(self, event: Event) -> None:
        """Write the values of a device's counters."""
        data, message, counters = self._frames.data, event.message, event.sequence.counters
        if 1 in message.parts:
            counters[-1] = CounterNames(message.number(3), counter_names(data, message, 1))
        found = counters.get(message.number(4, -1), CounterNames(message.number(3), {}))
        for one in message.messages(data, 2):
            text = "null"
            if 3 in one.doubles:
                text = decimal(double_at(data, one.doubles[3]))
            elif 2 in one.ints:
                text = str(wrapped(one.number(2)))
            self._row(
                f'"ph":"C","name":{self._interned(found.names, one.number(1))}',
                f'"pid":"GPU {found.gpu} Counters"',
                self._ts(event.ts),
                f'"args":{{"":{text}}}',
            )


def _host_node(title: str, extras: list[tuple[str, str]]) -> str:
    """The name with the function that the host runs, as torch's JSON has it."""
    function = next((text for key, text in extras if key == "host fn"), None)
    return title if function is None else quoted(f"{_HOST_NODE}: {function}")


def _extras(extras: list[tuple[str, str]], lane: str) -> Iterator[str]:
    """The pairs of texts of a device's work; integers where torch's JSON has integers."""
    for key, value in extras:
        integer = _INTEGER.fullmatch(value) is not None
        if key == "stream id":
            yield f'"stream":{lane}'
            if value != lane:
                yield f'"original_stream":{value if integer else quoted(value)}'
            continue
        name = RENAMED.get(key, key)
        yield f"{quoted(name)}:{value if integer and name in _INTS else quoted(value)}"
