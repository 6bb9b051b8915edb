"""Metadata of a file: kinds of events, names of processes and threads, the recording.

The counts by phase and category are taken once for all later stages. Names and labels come from
the metadata events (phase ``M``). How the trace was recorded follows from the top-level keys and
from the marks that each age of the format left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from ...base.arrays import (
    I32,
    I64,
    U8,
    cells,
    chunks,
    combine,
    distinct,
    is_any,
    seen,
    tally,
    where,
)
from ...base.regex import regex
from ..model import Recording
from ..perfetto import ORIGIN
from ..raw import META, MISSING, RANGED, RawEvents, RawTrace, Texts
from .categories import (
    DEVICE_LABELS,
    PROCESS_ROLES,
    ROLES,
    EventRole,
    is_graph_node,
)

_PHASES = 256
_MOST = 1 << 12  # categories to be counted in a table


class Census(Struct, frozen=True, eq=False):
    """Kinds of events: ``count[i]`` events have ``phase[i]`` and the category code ``category[i]``.

    No pair of the two occurs twice; kinds are in the order of the category code, then of the phase.
    """

    phase: I64
    category: I64
    count: I64
    index: I32  # by category code: what ``tally`` adds to the phase; empty where there are too many

    def of_phase(self, phase: int) -> int:
        """Number of events of this phase."""
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
        nothing = np.empty(0, np.int32)
        return Census(kind % _PHASES, kind // _PHASES, count.astype(np.int64), nothing)
    index = np.zeros(len(texts), np.int32)
    index[used] = np.arange(len(used), dtype=np.int32) * _PHASES
    table = tally(events.category, events.phase, index, len(used) * _PHASES)
    kind = np.flatnonzero(table)
    return Census(kind % _PHASES, used[kind // _PHASES].astype(np.int64), table[kind], index)


def by_kind(
    events: RawEvents, texts: Texts, census: Census, answer: Callable[[int, str], int], default: int
) -> U8:
    """For each event ``answer(phase, category)``, asked once per kind that occurs."""
    told = [
        answer(phase, texts[code])
        for phase, code in zip(census.phase.tolist(), census.category.tolist(), strict=True)
    ]
    if len(census.index):
        kind = census.index[census.category] + census.phase
        table = np.full(int(census.index.max()) + _PHASES, default, np.uint8)
        table[kind] = told
        return combine(events.category, events.phase, census.index, table)
    result = np.empty(len(events), np.uint8)
    kinds = census.category * _PHASES + census.phase  # ascending
    for part in chunks(len(events)):
        kind = events.category[part].astype(np.int64) * _PHASES + events.phase[part]
        result[part] = np.array(told, np.uint8)[np.searchsorted(kinds, kind)]
    return result


_GENERIC_THREAD = regex(r"thread -?\d+( \((.*)\))?$", re.IGNORECASE)
_LABEL = regex(rf"({'|'.join(DEVICE_LABELS)})(?:[\s:_-]*(\d+))?$", re.IGNORECASE)
_LABELS = {label.casefold(): kind for label, kind in DEVICE_LABELS.items()}


class DeviceLabel(Struct, frozen=True):
    """The device in a process label: "GPU 3" is (GPU, 3); "NPU" is (NPU, None)."""

    type: str
    index: int | None


class ProcessMetadata(Struct, frozen=True):
    """Everything the metadata events say; pids and tids are codes."""

    process_name: Mapping[int, str]
    label: Mapping[int, DeviceLabel]  # processes that are devices, not those an exporter derived
    host_labelled: frozenset[int]  # processes labelled "CPU"
    thread_name: Mapping[tuple[int, int], str]
    renamed: int  # threads that were named twice, differently
    rows: I32  # of the file, that are metadata events


def identify(raw: RawTrace, texts: Texts) -> ProcessMetadata:
    """Read the metadata events. Of several names of a thread the last informative one is used."""
    events = raw.events
    rows = where(events.phase == META)
    name = cells(raw.texts.get("label_name"), rows, -1).tolist()
    labels = cells(raw.texts.get("labels"), rows, -1).tolist()
    process_name: dict[int, str] = {}
    label: dict[int, DeviceLabel] = {}
    host_labelled: set[int] = set()
    thread_name: dict[tuple[int, int], str] = {}
    named: dict[tuple[int, int], set[str]] = {}
    # Some recorders repeat these events hundreds of thousands of times.
    told = dict.fromkeys(
        zip(
            events.name[rows].tolist(),
            events.pid[rows].tolist(),
            events.tid[rows].tolist(),
            name,
            labels,
            strict=True,
        )
    )
    for kind, pid, tid, name_code, label_code in told:
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
        rows,
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


# --- the recording --------------------------------------------------------------------------------

# Epoch stamps of this century; stamps relative to a base are far below.
_EPOCH_NS = 10**18
_HANDLER_KEY = "kinetoscope"
_OWN_KEYS = frozenset({_HANDLER_KEY, ORIGIN, "traceEvents"})
_FLOWS_OF_D = frozenset({"async_cpu_to_gpu", "async_gpu", "forward_backward"})
_FLOWS_OF_E = frozenset({"ac2g", "fwdbwd", "cuda_driver"})
_KEYS_OF_E = frozenset({"traceName", "record_shapes", "with_stack", "profile_memory"})
_KEYS_OF_TORCH = _KEYS_OF_E | {
    "schemaVersion",
    "deviceProperties",
    "computeProperties",
    "distributedInfo",
    "baseTimeNanoseconds",
    "with_modules",
    "with_flops",
    _HANDLER_KEY,
}
# Files of any recorder may mark their steps as annotations, and call a category “trace”.
_ROLES_OF_ANY = (EventRole.ANNOTATION, EventRole.RANGE)
_OPS_OF_TORCH = ("aten::", "torch::", "autograd::")
_OLD_CATEGORIES = frozenset({"Operator", "Runtime", "Kernel", "Memcpy", "Memset"})


def describe(
    raw: RawTrace,
    texts: Texts,
    identity: ProcessMetadata,
    census: Census,
    start: int,
    resolution: int,
) -> Recording:
    """The recording of a file whose events begin at ``start`` (as written)."""
    metadata = raw.metadata
    distributed = metadata.get("distributedInfo")
    info: Mapping[str, Any] = distributed if isinstance(distributed, dict) else {}
    told = metadata.get(_HANDLER_KEY)
    handler: Mapping[str, Any] = told if isinstance(told, dict) else {}
    categories = {texts[code] for code in census.categories()}
    return Recording(
        torch_era=era(raw, texts, identity, census, start, resolution),
        resolution_ns=resolution,
        trace_id=_text(metadata.get("trace_id")),
        host_name=_text(metadata.get("host_name")) or _text(handler.get("host")),
        backend=_text(info.get("backend")),
        rank=_number(info.get("rank")),
        world_size=_number(info.get("world_size")),
        with_stack=_flag(metadata, "with_stack")
        or "python_function" in categories
        or _has_text(raw, texts, "call_stack"),
        with_modules=_flag(metadata, "with_modules")
        or _has_text(raw, texts, "module_hierarchy")
        or "python_module_id" in raw.ints,
        record_shapes=_flag(metadata, "record_shapes") or "input_dims" in raw.texts,
        profile_memory=_flag(metadata, "profile_memory") or "memory_bytes" in raw.ints,
        with_flops=_flag(metadata, "with_flops"),
        handler=handler,
        metadata={key: value for key, value in metadata.items() if key not in _OWN_KEYS},
        file_format=file_format(metadata),
    )


def file_format(metadata: Mapping[str, Any]) -> str:
    """The format of a file by what its reader noted: "json", "perfetto" or "other_perfetto"."""
    origin = metadata.get(ORIGIN)
    if not isinstance(origin, dict):
        return "json"
    return "perfetto" if origin.get("writer") == "torch" else "other_perfetto"


def era(
    raw: RawTrace,
    texts: Texts,
    identity: ProcessMetadata,
    census: Census,
    start: int,
    resolution: int,
) -> str:
    """The age of the format, "A" … "H", or another program than torch, by what only that one has.

    ========  ==============================================================
    A         no categories (torch ≤ 1.7 and the legacy profiler)
    B, C      ``Operator``; C (1.9) knows devices or allocator events
    D         ``cpu_op`` with stamps since the epoch (1.11 – 1.13)
    E         the same, with ``ac2g`` arrows or keys such as ``traceName`` (2.0 – 2.3)
    F1        stamps since the epoch with fractions (nightlies of spring 2024)
    F         stamps relative to ``baseTimeNanoseconds`` (2.4 – 2.11)
    G         the same, metadata events first (2.12 and later)
    H         device work by Cuspy, the second engine (2.15 and later, where chosen)
    Perfetto  of Perfetto's format, written by another program than torch
    Other     of JSON, without anything that torch writes
    ========  ==============================================================
    """
    metadata = raw.metadata
    categories = {texts[code] for code in census.categories()}
    ranged = census.categories(RANGED)
    bare = not any(texts[code] for code in ranged)
    old = bool(categories & _OLD_CATEGORIES)
    devices = bool({"deviceProperties", "computeProperties"} & metadata.keys())
    based = "baseTimeNanoseconds" in metadata
    later = bool(_KEYS_OF_E & metadata.keys() or categories & _FLOWS_OF_E)
    evidence = (
        ("Perfetto", file_format(metadata) == "other_perfetto"),
        ("H", file_format(metadata) == "perfetto"),
        ("Ascend", "task_type" in raw.texts or "async_npu" in categories or _has_npu(identity)),
        ("unknown", not ranged),
        ("Other", not is_by_torch(raw, texts, identity, census)),
        ("A", bare),
        ("C", old and (devices or "memory_bytes" in raw.ints)),
        ("B", old),
        ("H", based and _is_cuspy(raw, categories)),
        ("G", based and _metadata_first(raw)),
        ("F", based),
        ("unknown", start < _EPOCH_NS),
        ("F1", resolution == 1),
        ("D", bool(categories & _FLOWS_OF_D)),
        ("E", later),
    )
    return next((name for name, found in evidence if found), "D")


def is_by_torch(raw: RawTrace, texts: Texts, identity: ProcessMetadata, census: Census) -> bool:
    """True if something in a file of JSON is written by torch alone: a key, a kind, or a name.

    Ranges of known kinds alone say so. The first recorders wrote no kinds, but processes of their
    own, and names of operators.
    """
    ranged = {texts[code].casefold() for code in census.categories(RANGED)}
    roles = {ROLES[one] for one in ranged if one in ROLES}
    if _KEYS_OF_TORCH & raw.metadata.keys() or roles.difference(_ROLES_OF_ANY):
        return True
    if roles and ranged <= ROLES.keys():
        return True
    if "" not in ranged:
        return False
    events = raw.events
    pids = np.flatnonzero(seen(events.pid, len(texts))).tolist()
    if any(identity.process_name.get(pid, texts[pid]) in PROCESS_ROLES for pid in pids):
        return True
    named = texts.table(events.name, lambda text: text.startswith(_OPS_OF_TORCH), np.bool_)
    return bool(named.any())


def _is_cuspy(raw: RawTrace, categories: set[str]) -> bool:
    """True if there are rows that only Cuspy writes: graph nodes, arguments of copies and sets."""
    own = ("source_memory", "target_memory", "memory_kind")
    return any(map(is_graph_node, categories)) or any(name in raw.texts for name in own)


def _metadata_first(raw: RawTrace) -> bool:
    """True if the first event with a time is a metadata event, as Kineto writes since 2026."""
    phase = raw.events.phase
    return bool(len(phase) and phase[0] == META and raw.events.ts[0] != MISSING)


def _has_npu(identity: ProcessMetadata) -> bool:
    return any(label.type == DEVICE_LABELS["NPU"] for label in identity.label.values())


def _has_text(raw: RawTrace, texts: Texts, column: str) -> bool:
    """True if a text column has a text that is not empty; old recorders always write empty ones."""
    sparse = raw.texts.get(column)
    if sparse is None:
        return False
    return any(texts[code] for code in np.flatnonzero(seen(sparse.value, len(texts))).tolist())


def _flag(metadata: Mapping[str, Any], key: str) -> bool:
    return metadata.get(key) in (1, True, "1", "true", "True")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return int(value) if abs(value) < 1 << 53 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}", value.strip()):
        return int(value)
    return None
