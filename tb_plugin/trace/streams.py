"""Streams: the rows of a device on which work, its annotations and its waits were recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .categories import is_graph_node
from .columns import cells, has_cell, pairs_of, seen, take
from .devices import Devices
from .identity import Identity
from .model import StreamTable
from .raw import RawTrace
from .rows import Rows
from .texts import Texts

I32 = NDArray[np.int32]

_NUMBER = re.compile(r"(?:stream[\s:]*)?(\d{1,18})$", re.IGNORECASE)
# Waits for a whole device are written with this tid.
_NO_STREAM = "-1"
# Names that a recorder gives to the lane of such waits, though a stream may have its number.
_NOT_A_STREAM = re.compile(r"stream -\d+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """The table, and for each row of a row list of ``Rows`` its stream (−1 = none)."""

    table: StreamTable
    of_lane: Mapping[tuple[int, int], int]  # by codes of (pid, tid) of device work
    of_device: I32
    of_annotation: I32
    of_sync: I32
    of_range: I32


def find_streams(
    raw: RawTrace, texts: Texts, rows: Rows, identity: Identity, devices: Devices
) -> Streams:
    """Streams by (device process, tid). A wait belongs to the stream that its arg names."""
    events = raw.events
    by_pid = np.full(len(texts), -1, np.int32)
    for code, row in devices.row_of_pid.items():
        by_pid[code] = row
    lists = [part.row for part in (rows.device, rows.device_annotations, rows.syncs, rows.ranges)]
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
    """Where the tid is not a number, the arg ``stream`` of the first event may be one."""
    if (number >= 0).all():
        return
    mine = index[: len(rows.device)]
    first = np.full(len(number), -1, np.int64)
    first[mine[::-1]] = rows.device.row[::-1]
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
    """Newer recorders give waits a tid of their own; the arg says which stream waits."""
    of_sync = of_sync.copy()
    told = raw.ints.get("stream")
    named = cells(told, rows.syncs.row, -1)
    # A graph's node is on the lane it is drawn on: its arg may be overwritten by an annotation. A
    # wait for the whole device has a tid that may be that of a stream.
    nodes = texts.table(raw.events.category[rows.syncs.row], is_graph_node, np.bool_)
    node = nodes[raw.events.category[rows.syncs.row]]
    of_sync[~node & has_cell(told, rows.syncs.row) & (named == -1)] = -1
    known = {
        (int(device[at]), int(number[at])): at
        for at in range(len(number))
        if work[at] and number[at] >= 0
    }
    owner = by_pid[raw.events.pid[rows.syncs.row]]
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


def _name(identity: Identity, texts: Texts, pid: int, tid: int, number: int) -> str:
    given = identity.thread_name.get((pid, tid), "").strip()
    if given and not _NOT_A_STREAM.match(given):
        return given
    return f"stream {number}" if number >= 0 else texts[tid]
