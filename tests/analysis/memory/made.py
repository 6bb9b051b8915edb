"""Allocator events in few words: their totals follow from them.

made = MadeMemory(base=100)
made.allocate(1, "a", 64)       at 1 µs, block a of 64 bytes
made.release(5, "a")
trace = draw("op |aaaa   |", events=made.events)
"""

from __future__ import annotations

from typing import Any

from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.model import MemoryColumns, MemoryDevice
from tests.drawing import PID, draw

CUDA, HIP, XPU, MPS, PRIVATE = 1, 6, 12, 13, 20


class MadeMemory:
    """The events of one device; names of blocks stand for addresses."""

    def __init__(self, base: int = 0, *, kind: int = CUDA, device: int = 0) -> None:
        self.total = base
        self.events: list[dict[str, Any]] = []
        self._sizes: dict[str, int] = {}
        self._place = {"Device Type": kind, "Device Id": device}

    def allocate(self, at: float, name: str, size: int, *, tid: int = 1) -> None:
        self._sizes[name] = size
        self._add(at, name, size, tid)

    def release(self, at: float, name: str, size: int = 0, *, tid: int = 1) -> None:
        """``size`` where it was there before the recording."""
        self._add(at, name, -(size or self._sizes[name]), tid)

    def lose(self) -> None:
        """The last event was not recorded; its bytes count."""
        self.events.pop()

    def _add(self, at: float, name: str, size: int, tid: int) -> None:
        self.total += size
        args = {
            **self._place,
            "Bytes": size,
            "Addr": int.from_bytes(name[:5].encode(), "big") << 9,
            "Total Allocated": self.total,
            "Total Reserved": self.total + 1000 if self._place["Device Type"] else 0,
        }
        event = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]"}
        self.events.append(event | {"pid": PID, "tid": tid, "ts": at, "args": args})


def columns_of(picture: str, *made: MadeMemory, **options: Any) -> MemoryColumns:
    """The columns of a drawn trace with these events."""
    events = [event for one in made for event in one.events]
    return memory_of(draw(picture, events=events, **options))


def only_device(columns: MemoryColumns) -> MemoryDevice:
    (device,) = columns.devices
    return device
