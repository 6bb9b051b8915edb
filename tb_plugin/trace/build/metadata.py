"""How many events of each kind does a file hold, and what are its processes and threads called?

The counts by phase and category are taken once for all later stages. Names and labels come from
the metadata events (phase ``M``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ...base.arrays import I64, cells, chunks, distinct, is_any
from ..raw import RawEvents, RawTrace
from .categories import DEVICE_LABELS, PROCESS_ROLES, EventRole
from .strings import Texts

_PHASES = 256
_MOST = 1 << 12  # categories to be counted in a table


@dataclass(frozen=True, slots=True, eq=False)
class Census:
    """Kinds of events: ``count[i]`` events have ``phase[i]`` and the category code ``category[i]``.

    No pair of the two occurs twice; kinds are in the order of the category code, then of the phase.
    """

    phase: I64
    category: I64
    count: I64

    def of_phase(self, phase: int) -> int:
        """How many events have this phase."""
        return int(self.count[self.phase == phase].sum())

    def categories(self, phases: Collection[int] | None = None) -> list[int]:
        """Codes of the categories of all events, or of those with one of these phases."""
        chosen = np.ones(len(self.phase), bool)
        if phases is not None:
            chosen = is_any(self.phase, tuple(phases))
        return sorted(set(self.category[chosen].tolist()))


def take_census(events: RawEvents, texts: Texts) -> Census:
    """Count the events of a file."""
    used = distinct(events.category, len(texts))
    if len(used) > _MOST:
        kind, count = np.unique(
            events.category.astype(np.int64) * _PHASES + events.phase, return_counts=True
        )
        return Census(kind % _PHASES, kind // _PHASES, count.astype(np.int64))
    index = np.zeros(len(texts), np.int32)
    index[used] = np.arange(len(used), dtype=np.int32) * _PHASES
    table = np.zeros(len(used) * _PHASES, np.int64)
    for part in chunks(len(events), 1 << 20 if len(used) > 64 else 1 << 16):
        table += np.bincount(
            index[events.category[part]] + events.phase[part], minlength=len(table)
        )
    kind = np.flatnonzero(table)
    return Census(kind % _PHASES, used[kind // _PHASES].astype(np.int64), table[kind])


META = ord("M")

_GENERIC_THREAD = re.compile(r"thread -?\d+( \((.*)\))?$", re.IGNORECASE)
_LABEL = re.compile(rf"({'|'.join(DEVICE_LABELS)})(?:[\s:_-]*(\d+))?$", re.IGNORECASE)
_LABELS = {label.casefold(): kind for label, kind in DEVICE_LABELS.items()}


@dataclass(frozen=True, slots=True)
class DeviceLabel:
    """What a process label says: "GPU 3" is (GPU, 3); "NPU" is (NPU, None)."""

    type: str
    index: int | None


@dataclass(frozen=True, slots=True)
class ProcessMetadata:
    """Everything the metadata events say; pids and tids are codes."""

    process_name: Mapping[int, str]
    label: Mapping[int, DeviceLabel]  # processes that are devices, not those an exporter derived
    host_labelled: frozenset[int]  # processes labelled "CPU"
    thread_name: Mapping[tuple[int, int], str]
    renamed: int  # threads that were named twice, differently


def identify(raw: RawTrace, texts: Texts) -> ProcessMetadata:
    """Read the metadata events. Of several names of a thread the last informative one is used."""
    events = raw.events
    rows = np.flatnonzero(events.phase == META)
    name = cells(raw.texts.get("label_name"), rows, -1).tolist()
    labels = cells(raw.texts.get("labels"), rows, -1).tolist()
    process_name: dict[int, str] = {}
    label: dict[int, DeviceLabel] = {}
    host_labelled: set[int] = set()
    thread_name: dict[tuple[int, int], str] = {}
    named: dict[tuple[int, int], set[str]] = {}
    # Some recorders repeat these events hundreds of thousands of times.
    seen = dict.fromkeys(
        zip(
            events.name[rows].tolist(),
            events.pid[rows].tolist(),
            events.tid[rows].tolist(),
            name,
            labels,
            strict=True,
        )
    )
    for kind, pid, tid, name_code, label_code in seen:
        what = texts[kind]
        if what == "process_name" and name_code >= 0:
            process_name[pid] = texts[name_code]
        elif what == "process_labels" and label_code >= 0:
            if found := device_label(texts[label_code]):
                label[pid] = found
            elif texts[label_code].strip().upper() == "CPU":
                host_labelled.add(pid)
        elif what == "thread_name" and name_code >= 0:
            new, old = texts[name_code], thread_name.get((pid, tid), "")
            if telling(new) > 2:
                named.setdefault((pid, tid), set()).add(new)
            if telling(new) >= telling(old):
                thread_name[pid, tid] = new
    derived = {
        pid for pid, name in process_name.items() if PROCESS_ROLES.get(name) == EventRole.RANGE
    }
    return ProcessMetadata(
        process_name,
        {pid: found for pid, found in label.items() if pid not in derived},
        frozenset(host_labelled - label.keys()),
        thread_name,
        sum(len(names) > 1 for names in named.values()),
    )


def device_label(text: str) -> DeviceLabel | None:
    """The device in a process label; None for "CPU" and everything else.

    >>> device_label("GPU 3")
    DeviceLabel(type='GPU', index=3)
    """
    match = _LABEL.match(text.strip())
    if not match:
        return None
    return DeviceLabel(device_type(match[1]), int(match[2]) if match[2] else None)


def device_type(word: str) -> str:
    """The type that a word of ``DEVICE_LABELS`` names, in any case.

    >>> device_type("cuda")
    'GPU'
    """
    return _LABELS[word.casefold()]


def telling(name: str) -> int:
    """Rank of a thread name: 0 empty, 1 only its number, 2 its program, 3 a given name."""
    if not name.strip():
        return 0
    match = _GENERIC_THREAD.match(name.strip())
    if not match:
        return 3
    return 2 if match[2] else 1
