"""Who is who: names and labels of processes and threads, from the metadata events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .categories import DEVICE_LABELS, PROCESS_ROLES, Role
from .columns import cells
from .raw import RawTrace
from .texts import Texts

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
class Identity:
    """Everything the metadata events say; pids and tids are codes."""

    process_name: Mapping[int, str]
    label: Mapping[int, DeviceLabel]  # processes that are devices, not those an exporter derived
    host_labelled: frozenset[int]  # processes labelled "CPU"
    thread_name: Mapping[tuple[int, int], str]
    renamed: int  # threads that were named twice, differently


def identify(raw: RawTrace, texts: Texts) -> Identity:
    """Read the metadata events. Of several names of a thread the last telling one wins."""
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
    derived = {pid for pid, name in process_name.items() if PROCESS_ROLES.get(name) == Role.RANGE}
    return Identity(
        process_name,
        {pid: found for pid, found in label.items() if pid not in derived},
        frozenset(host_labelled - label.keys()),
        thread_name,
        sum(len(names) > 1 for names in named.values()),
    )


def device_label(text: str) -> DeviceLabel | None:
    """The device a process label names, or None for "CPU" and everything else.

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
    """How much a thread name says: 0 nothing, 1 only its number, 2 its program, 3 a given name."""
    if not name.strip():
        return 0
    match = _GENERIC_THREAD.match(name.strip())
    if not match:
        return 3
    return 2 if match[2] else 1
