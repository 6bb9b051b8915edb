"""Which devices and streams does a trace have, and what does it say about them?

A device is *declared* in ``deviceProperties``, which lists all visible ones, and *used* when events
name its process. Recorders also announce up to 16 processes "GPU n" that are neither declared nor
used: those are left out. A stream is one row of a device, with its work, annotations and waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, cells, distinct, has_cell, is_any, pairs_of, seen, take, where
from ...base.regex import regex
from ..model import Device, StreamTable
from ..raw import RawTrace, Texts
from .categories import is_graph_node
from .metadata import Census, DeviceLabel, ProcessMetadata
from .occupancy import Limits, limits_of
from .route import Rows

# Vendor by the name of the device, then by what else the file mentions; first match wins.
_VENDOR_NAMES = (
    (regex(r"\bAMD\b|Radeon|Instinct|\bgfx\d|\bMI\d{3}", re.IGNORECASE), "AMD"),
    (
        regex(r"NVIDIA|Tesla|Quadro|GeForce|\b[AVHB]\d{2,3}\b|\bGP100\b|\bT4\b|\bL40?S?\b"),
        "NVIDIA",
    ),
    (regex(r"Intel|\bXe\b|Gaudi|Habana", re.IGNORECASE), "Intel"),
    (regex(r"Ascend", re.IGNORECASE), "Ascend"),
)
_VENDOR_TYPES = {"XPU": "Intel", "HPU": "Intel", "MTIA": "Meta", "NPU": "Ascend"}
_VENDOR_KEYS = (
    ("hip_runtime_version", "AMD"),
    ("hip_driver_version", "AMD"),
    ("roctracer_version", "AMD"),
    ("cuda_runtime_version", "NVIDIA"),
    ("cuda_driver_version", "NVIDIA"),
    ("cupti_version", "NVIDIA"),
)
_TYPE_OF_VENDOR = {"Intel": "XPU", "Ascend": "NPU", "Meta": "MTIA"}
# torch's Python exporter writes the number of multiprocessors under this key (up to 2.13 at least);
# real values of it are threads, 1024 and more.
_MISUSED_KEY = "maxThreadsPerMultiprocessor"
_FEWEST_THREADS = 1024


_TELLING_ROWS = 1000


class Devices(Struct, frozen=True):
    """The devices in order, and the row of each device process by pid code."""

    devices: tuple[Device, ...]
    limits: tuple[Limits | None, ...]  # of each: what occupancy is computed from
    row_of_pid: Mapping[int, int]
    misused_key: bool  # the Python exporter's slip was seen and corrected

    def numbered(self, kind: str, index: int) -> int:
        """Row of the device of a type and number, −1 where there is none."""
        rows = [row for row, one in enumerate(self.devices) if one.index == index]
        return next((row for row in rows if self.devices[row].type == kind), -1)


def find_devices(
    raw: RawTrace,
    texts: Texts,
    identity: ProcessMetadata,
    census: Census,
    pids: Iterable[int],
    active: I32,
) -> Devices:
    """The devices of the file.

    Args:
        raw: the file.
        texts: its strings.
        identity: what its metadata events say.
        census: its kinds of events.
        pids: codes of the processes that stand for devices and have rows in a device table.
        active: rows of the file with device activity.
    """
    declared = _declared(raw.metadata)
    pid_of = take(raw.events.pid, active)
    working = set(distinct(pid_of, len(texts)).tolist())
    first_rows = _first_rows(active, pid_of)
    vendor_of_file = _vendor_of_file(raw, texts, census)
    guessed = _guess_type(declared, vendor_of_file, texts, census)
    found: list[tuple[str, int, int | None]] = []
    taken: set[int] = set()
    for pid in sorted(pids, key=lambda code: _natural(texts[code])):
        label = identity.label.get(pid)
        type_ = label.type if label else guessed
        index = _index(raw, texts, pid, first_rows.get(pid), label, taken)
        taken.add(index)
        found.append((type_, index, pid))
    used_types = [type_ for type_, _, _ in found]
    default_type = used_types[0] if used_types else guessed
    found += [(default_type, number, None) for number in declared if number not in taken]
    found.sort(key=lambda item: (item[1], item[0]))
    misused = False
    devices: list[Device] = []
    limits: list[Limits | None] = []
    row_of_pid: dict[int, int] = {}
    shared = _equal_properties(declared) if vendor_of_file == "AMD" else {}
    for type_, index, code in found:
        properties = declared.get(index, shared)
        multiprocessors, slipped = _multiprocessors(properties)
        misused |= slipped
        if code is not None:
            row_of_pid[code] = len(devices)
        devices.append(
            Device(
                key="" if code is None else texts[code],
                index=index,
                type=type_,
                vendor=_vendor(properties, type_, vendor_of_file),
                name=_text(properties.get("name")),
                memory_bytes=_count(properties.get("totalGlobalMem")),
                capability=_capability(properties),
                multiprocessor_count=multiprocessors,
                used=code in working,
            )
        )
        nvidia = devices[-1].vendor == "NVIDIA" and not slipped
        capability = devices[-1].capability if nvidia else None
        limits.append(limits_of(properties, capability, multiprocessors))
    return Devices(tuple(devices), tuple(limits), row_of_pid, misused)


def _equal_properties(declared: Mapping[int, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The properties of all visible devices, if they are equal; else nothing.

    AMD's recorder numbers device activity by agents of the whole machine, CPUs among them, and
    properties by visible devices: device 0 runs the kernels of "device 2".
    """
    every = [{key: value for key, value in one.items() if key != "id"} for one in declared.values()]
    return every[0] if every and all(one == every[0] for one in every) else {}


def _declared(metadata: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    listed = metadata.get("deviceProperties", metadata.get("computeProperties"))
    result: dict[int, Mapping[str, Any]] = {}
    for place, item in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(item, dict):
            number = _count(item.get("id"))
            result.setdefault(place if number is None else number, item)
    return result


def _index(
    raw: RawTrace,
    texts: Texts,
    pid: int,
    rows: I32 | None,
    label: DeviceLabel | None,
    taken: set[int],
) -> int:
    """The number to show: from the label, the arg ``device``, the pid, or the first free one."""
    if label is not None and label.index is not None:
        return label.index
    if rows is not None:
        numbers = cells(raw.ints.get("device"), rows, -1)
        numbers = numbers[(numbers >= 0) & (numbers < 1 << 20)]
        if len(numbers):
            return int(np.bincount(numbers).argmax())
    text = texts[pid]
    if re.fullmatch(r"\d{1,3}", text) and int(text) not in taken and label is None:
        return int(text)
    return next(number for number in range(len(taken) + 1) if number not in taken)


def _first_rows(active: I32, pid: I32) -> dict[int, I32]:
    """Some rows of the file with activity of each process."""
    order = np.argsort(pid, kind="stable")
    in_order = pid[order]
    edges = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1
    parts = np.split(order, edges) if len(order) else []
    return {int(pid[part[0]]): active[part[:_TELLING_ROWS]] for part in parts}


def _guess_type(
    declared: Mapping[int, Mapping[str, Any]], vendor: str, texts: Texts, census: Census
) -> str:
    for properties in declared.values():
        for pattern, known in _VENDOR_NAMES:
            if pattern.search(_text(properties.get("name"))):
                return _TYPE_OF_VENDOR.get(known, "GPU")
    categories = {texts[code].casefold() for code in census.categories()}
    for prefix in ("xpu", "mtia", "hpu"):
        if any(category.startswith(prefix + "_") for category in categories):
            return prefix.upper()
    if any(category.startswith("privateuse1_") for category in categories):
        return "PrivateUse1"
    return _TYPE_OF_VENDOR.get(vendor, "GPU")


def _vendor(properties: Mapping[str, Any], type_: str, vendor_of_file: str) -> str:
    name = _text(properties.get("name")) + " " + _text(properties.get("vendor"))
    for pattern, known in _VENDOR_NAMES:
        if pattern.search(name):
            return known
    return _VENDOR_TYPES.get(type_, vendor_of_file)


def _vendor_of_file(raw: RawTrace, texts: Texts, census: Census) -> str:
    for key, vendor in _VENDOR_KEYS:
        if key in raw.metadata:
            return vendor
    runtime = [code for code in census.categories() if _is_runtime(texts[code])]
    rows = where(is_any(raw.events.category, runtime))
    for code in distinct(take(raw.events.name, rows), len(texts)).tolist():
        if texts[code].startswith("hip"):
            return "AMD"
        if texts[code].startswith(("cuda", "cuLaunch")):
            return "NVIDIA"
    return ""


def _is_runtime(category: str) -> bool:
    return category.casefold() in {"cuda_runtime", "cuda_driver", "runtime"}


def _multiprocessors(properties: Mapping[str, Any]) -> tuple[int | None, bool]:
    for key in ("numSms", "maxComputeUnits"):
        if (number := _count(properties.get(key))) is not None:
            return number, False
    threads = _count(properties.get(_MISUSED_KEY))
    if threads is not None and 0 < threads < _FEWEST_THREADS:
        return threads, True
    return None, False


def _capability(properties: Mapping[str, Any]) -> tuple[int, int] | None:
    major, minor = _count(properties.get("computeMajor")), _count(properties.get("computeMinor"))
    return None if major is None or minor is None else (major, minor)


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < 1 << 62 else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _natural(text: str) -> tuple[int, int, str]:
    return (0, int(text), text) if re.fullmatch(r"\d{1,18}", text) else (1, 0, text)


_NUMBER = regex(r"(?:stream[\s:]*)?(\d{1,18})$", re.IGNORECASE)
# Waits for a whole device are written with this tid.
_NO_STREAM = "-1"
# Names that a recorder gives to the lane of such waits, though a stream may have its number.
_NOT_A_STREAM = regex(r"stream -\d+$", re.IGNORECASE)


class Streams(Struct, frozen=True, eq=False):
    """The table, and for each row of a row list of ``Rows`` its stream (−1 = none)."""

    table: StreamTable
    of_lane: Mapping[tuple[int, int], int]  # by codes of (pid, tid) of device work
    of_device: I32
    of_annotation: I32
    of_sync: I32
    of_range: I32


def find_streams(
    raw: RawTrace, texts: Texts, rows: Rows, identity: ProcessMetadata, devices: Devices
) -> Streams:
    """Streams by (device process, tid). A wait belongs to the stream that its arg names."""
    events = raw.events
    by_pid = np.full(len(texts), -1, np.int32)
    for code, row in devices.row_of_pid.items():
        by_pid[code] = row
    lists = [rows.device, rows.device_annotations, rows.syncs, rows.ranges]
    both = np.concatenate(lists)
    all_pid, all_tid = take(events.pid, both), take(events.tid, both)
    kept = take(by_pid, all_pid) >= 0
    kept[len(rows.device) :] &= all_tid[len(rows.device) :] != texts.code(_NO_STREAM)
    pid, tid, place = pairs_of(all_pid[kept], all_tid[kept], len(texts))
    index = np.full(len(both), -1, np.int32)
    index[kept] = place
    device = by_pid[pid]
    busy = index[: len(rows.device) + len(rows.device_annotations)]
    work = np.zeros(len(pid), np.bool_)
    work[busy[busy >= 0]] = True
    number = np.array([_number(texts[code]) for code in tid.tolist()], np.int64)
    _numbers_from_args(raw, rows, index, number)
    split = np.cumsum([len(part) for part in lists])[:-1]
    of_device, of_annotation, of_sync, of_range = np.split(index, split)
    of_sync = _to_working_stream(raw, texts, rows, of_sync, by_pid, device, number, work)
    # Streams that only unplaced waits used are left out.
    used = np.zeros(len(pid), bool)
    for part in (of_device, of_annotation, of_sync, of_range):
        used[part[part >= 0]] = True
    order = np.lexsort((tid, number, device))
    order = order[used[order]]
    new = np.full(len(pid) + 1, -1, np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    names = [
        texts.code(_name(identity, texts, int(pid[at]), int(tid[at]), int(number[at])))
        for at in order.tolist()
    ]
    table = StreamTable(device[order], number[order], np.array(names, np.int32))
    working = np.flatnonzero(seen(of_device[of_device >= 0], len(pid)))
    lanes = zip(pid[working].tolist(), tid[working].tolist(), strict=True)
    of_lane = dict(zip(lanes, new[working].tolist(), strict=True))
    # Where a stream is −1 it reads the last entry, and stays −1.
    placed = (new[part] for part in (of_device, of_annotation, of_sync, of_range))
    return Streams(table, of_lane, *placed)


def _numbers_from_args(raw: RawTrace, rows: Rows, index: I32, number: NDArray[np.int64]) -> None:
    """Stream numbers from the arg ``stream`` of the first event, where the tid is not a number."""
    if (number >= 0).all():
        return
    mine = index[: len(rows.device)]
    first = np.full(len(number), -1, np.int64)
    first[mine[::-1]] = rows.device[::-1]
    unnamed = np.flatnonzero((number < 0) & (first >= 0))
    number[unnamed] = cells(raw.ints.get("stream"), first[unnamed], -1)


def _to_working_stream(
    raw: RawTrace,
    texts: Texts,
    rows: Rows,
    of_sync: I32,
    by_pid: I32,
    device: I32,
    number: NDArray[np.int64],
    work: NDArray[np.bool_],
) -> I32:
    """Move waits to the stream in their arg: newer recorders give waits a tid of their own."""
    of_sync = of_sync.copy()
    told = raw.ints.get("stream")
    named = cells(told, rows.syncs, -1)
    # A graph's node is on the lane it is drawn on: its arg may be overwritten by an annotation. A
    # wait for the whole device has a tid that may be that of a stream.
    nodes = texts.table(raw.events.category[rows.syncs], is_graph_node, np.bool_)
    node = nodes[raw.events.category[rows.syncs]]
    of_sync[~node & has_cell(told, rows.syncs) & (named == -1)] = -1
    known = {
        (int(device[at]), int(number[at])): at
        for at in range(len(number))
        if work[at] and number[at] >= 0
    }
    owner = by_pid[raw.events.pid[rows.syncs]]
    numbers, index = np.unique(named, return_inverse=True)
    cell = (owner.astype(np.int64) + 1) * len(numbers) + index
    lanes, lane = np.unique(cell, return_inverse=True)
    stream = np.array(
        [
            known.get((at // len(numbers) - 1, int(numbers[at % len(numbers)])), -1)
            for at in lanes.tolist()
        ],
        np.int32,
    )[lane]
    moved = (stream >= 0) & ~node
    of_sync[moved] = stream[moved]
    return of_sync


def _number(tid: str) -> int:
    match = _NUMBER.match(tid.strip())
    return int(match[1]) if match else -1


def _name(identity: ProcessMetadata, texts: Texts, pid: int, tid: int, number: int) -> str:
    given = identity.thread_name.get((pid, tid), "").strip()
    if given and not _NOT_A_STREAM.match(given):
        return given
    return f"stream {number}" if number >= 0 else texts[tid]
