"""What do the packets of a file say? Names, clocks and tracks, resolved packet by packet.

A file has sequences, each with tables of its own: names that are given once and then meant by a
number, clocks, defaults. ``Packets`` keeps them, and makes events of the packets.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from msgspec import Struct, field

from kinetoscope.trace.perfetto.native import BOOT, REAL
from tests.reference.perfetto.wire import BadPacket, Bytes, Message, Packet

from .json_values import quoted
from .slices import wrapped

"""Clocks: that of a trace, and that of the wall."""
_CLEARED = 1
_OF_SEQUENCE = range(64, 128)  # clocks
STAGES = ("Kernel", "Memcpy", "Memset", "Annotation", "EventRecord", "HostNode")
"""Names of the render stages 1 to 6 in a file that torch wrote, and in no other."""
HOUSEKEEPING = frozenset({2, 6, 9, 12, 33, 34, 35, 36, 41, 42, 43, 44, 45, 59, 60, 69, 87, 89})
"""Fields of packets that hold no event: descriptors, the set-up and the state of the recorder."""


class Kind(Enum):
    """What happened."""

    TRACK = auto()  # a track was described
    BEGIN = auto()
    END = auto()
    INSTANT = auto()
    VALUE = auto()  # of a counter that is a track
    STAGE = auto()  # work of a device
    COUNTERS = auto()  # values of a device's counters
    OTHER = auto()  # a packet that is not read


_OF_TRACKS = {1: Kind.BEGIN, 2: Kind.END, 3: Kind.INSTANT, 4: Kind.VALUE}


class SequenceClock(Struct):
    """A clock of a sequence: its value in ns on the clock of the trace is ``offset + value``."""

    offset: int = 0
    unit_ns: int = 1
    incremental: bool = False
    value: int = 0


class CounterNames(NamedTuple):
    """The counters of a device: quoted names by their ids."""

    gpu: int
    names: dict[int, str]


class Sequence(Struct):
    """What a writer has said so far. Texts are quoted, but for specs and launch arguments."""

    event_names: dict[int, str] = field(default_factory=dict)
    categories: dict[int, str] = field(default_factory=dict)
    arg_names: dict[int, str] = field(default_factory=dict)
    arg_texts: dict[int, str] = field(default_factory=dict)
    kernels: dict[int, str] = field(default_factory=dict)
    specs: dict[int, str] = field(default_factory=dict)
    launch_args: dict[int, str] = field(default_factory=dict)
    counters: dict[int, CounterNames] = field(default_factory=dict)
    clocks: dict[int, SequenceClock] = field(default_factory=dict)
    track: int = 0
    clock: int = BOOT


class TrackDescriptor(Struct):
    """A track as its descriptor says it; −1: not said."""

    name: str = ""
    parent: int = 0
    pid: int = -1
    tid: int = -1
    process: str = ""
    thread: str = ""
    unit: str = ""
    unit_factor: int = 1
    incremental: bool = False


class Event(NamedTuple):
    """Something that happened at ``ts`` (ns on the trace's clock), on a track or on a device."""

    kind: Kind
    ts: int
    track: int
    message: Message
    sequence: Sequence


# Interned texts: the number of their table, its name, the number of the text in an entry.
_QUOTED = ((1, "categories", 2), (2, "event_names", 2), (3, "arg_names", 2), (29, "arg_texts", 2),
           (1000, "kernels", 3))  # fmt: skip


class Packets:
    """Makes events of packets, in the order of the file."""

    def __init__(self, data: Bytes) -> None:
        self.from_torch = False
        self.tracks: dict[int, TrackDescriptor] = {}
        self._data = data
        self._sequences: dict[int, Sequence] = {}
        self._offsets: dict[int, int] = {}  # of clocks to that of the trace
        self._first = True
        self._equal_clocks = False

    def read(self, packet: Packet) -> list[Event]:
        """The events of a packet.

        Raises:
            BadPacket: a message in it is none; what was said before the fault counts.
        """
        message, data = packet.message, self._data
        sequence = self._sequence(message)
        first, self._first = self._first, False
        for part in message.messages(data, 59):
            sequence.clock = part.number(58, BOOT)
            sequence.track = next(
                (one.number(11) for one in part.messages(data, 11) if 11 in one.ints), 0
            )
        for part in message.messages(data, 6):
            self._snapshot(sequence, part, first=first)
        for part in message.messages(data, 12):
            self._interned(sequence, part)
        events = [self._track(sequence, part) for part in message.messages(data, 60)]
        if message.parts.keys() <= HOUSEKEEPING:
            return events
        ts = self._ts(sequence, message)
        known = False
        for part in message.messages(data, 11):
            kind = _OF_TRACKS.get(part.number(9))
            if kind is not None:
                known = True
                track = part.number(11, sequence.track)
                events.append(Event(kind, ts, track, part, sequence))
        for number, kind in ((53, Kind.STAGE), (52, Kind.COUNTERS)):
            for part in message.messages(data, number):
                known = True
                events.append(Event(kind, ts, 0, part, sequence))
        return events if known else [*events, Event(Kind.OTHER, ts, 0, message, sequence)]

    def _sequence(self, message: Message) -> Sequence:
        number = message.number(10)
        sequence = self._sequences.get(number)
        if sequence is None:
            sequence = self._sequences[number] = Sequence()
        elif message.number(13) & _CLEARED:
            sequence = self._sequences[number] = Sequence(clocks=sequence.clocks)
        return sequence

    # --- clocks ---

    def _snapshot(self, sequence: Sequence, part: Message, *, first: bool) -> None:
        told = list(part.messages(self._data, 1))
        clocks = {
            one.number(1): SequenceClock(
                unit_ns=max(1, one.number(4)), incremental=one.number(3) > 0, value=one.number(2)
            )
            for one in told
        }
        if BOOT not in clocks:
            return
        boot = clocks[BOOT].value
        if first:
            self._equal_clocks = REAL in clocks and clocks[REAL].value == boot
        for number, clock in clocks.items():
            clock.offset = wrapped(boot - clock.value * clock.unit_ns)
            if number in _OF_SEQUENCE:
                sequence.clocks[number] = clock
            elif number != BOOT:
                self._offsets.setdefault(number, clock.offset)

    def _ts(self, sequence: Sequence, message: Message) -> int:
        ts = message.number(8)
        if ts >= 1 << 63:
            raise BadPacket
        number = message.number(58, sequence.clock)
        clock = sequence.clocks.get(number)
        if clock is None:
            return wrapped(ts + self._offsets.get(number, 0))
        if clock.incremental:
            clock.value = ts = wrapped(clock.value + ts)
        return wrapped(clock.offset + ts * clock.unit_ns)

    # --- names ---

    def _interned(self, sequence: Sequence, part: Message) -> None:
        data = self._data
        for number, name, text in _QUOTED:
            table: dict[int, str] = getattr(sequence, name)
            for one in part.messages(data, number):
                table[one.number(1)] = quoted(one.text(data, text))
        for one in part.messages(data, 24):
            sequence.specs[one.number(1)] = one.text(data, 2)
        for one in part.messages(data, 1001):
            sequence.launch_args[one.number(1)] = one.text(data, 2)
        for one in part.messages(data, 47):
            names = counter_names(data, one, 2)
            sequence.counters[one.number(1)] = CounterNames(one.number(3), names)
        if self._equal_clocks and not self.from_torch:
            self.from_torch = all(
                sequence.specs.get(iid) == name for iid, name in enumerate(STAGES, 1)
            )

    # --- tracks ---

    def _track(self, sequence: Sequence, part: Message) -> Event:
        data, uuid = self._data, part.number(1)
        track = TrackDescriptor(
            name=part.text(data, 10) or part.text(data, 2),
            parent=part.number(5),
        )
        for one in part.messages(data, 3):
            track.pid, track.process = wrapped(one.number(1)), one.text(data, 6)
        for one in part.messages(data, 4):
            track.pid, track.tid = wrapped(one.number(1)), wrapped(one.number(2))
            track.thread = one.text(data, 5)
        for one in part.messages(data, 8):
            track.unit = one.text(data, 6)
            track.unit_factor, track.incremental = max(1, one.number(4)), one.number(5) > 0
        self.tracks[uuid] = track
        return Event(Kind.TRACK, 0, uuid, part, sequence)


def counter_names(data: Bytes, message: Message, number: int) -> dict[int, str]:
    """The quoted names of counters by their ids, from the descriptors with this number.

    Raises:
        BadPacket: a descriptor is no message.
    """
    return {
        spec.number(1): quoted(spec.text(data, 2))
        for descriptor in message.messages(data, number)
        for spec in descriptor.messages(data, 1)
    }
