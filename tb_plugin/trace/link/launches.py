"""Which call launched each device activity, and which op surrounds that call?

The evidence, best first; ``Link`` keeps which one was used:

1. the same ``correlation`` on a runtime or driver call;
2. an arrow from a call (Ascend), where there is no correlation;
3. ``External id`` of the op, where no call was recorded. In some versions it repeats the
   correlation and means nothing; a file where it mostly does is not believed;
4. none: work launched before the recording began sits at the start of its stream; other work is
   unlinked.

The op around a call is the innermost one open on the thread of the call when the call starts.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import (
    I8,
    I32,
    I64,
    Sparse,
    distinct,
    distinct_values,
    equal,
    handed,
    is_among,
    occur_twice,
    put,
    take,
    where,
)
from ...base.native import call
from ..build.categories import EventRole, role_of
from ..build.device import Activity
from ..build.devices import Streams
from ..build.host import Host
from ..build.route import Rows
from ..model import HostKind, Link
from ..raw import ID_INT, RawTrace, Texts
from .flows import Ends, LaunchArrows, follow_arrows, op_around

_DENSE = 1 << 20


def join(key: I64 | I32, row: I32, wanted: I64, *, first_counts: bool = False) -> I32:
    """For each wanted id the row that carries it, −1 where none does; ids below 1 carry nothing.

    Where several rows carry one id, the last of ``key`` counts (sort the best to the end), or the
    first.
    """
    is_plain = handed(key, np.int64) or handed(key, np.int32)
    if is_plain and handed(row, np.int32) and handed(wanted, np.int64, least=0):
        found = np.empty(len(wanted), np.int32)
        limit = max(_DENSE, 8 * len(key))
        keys = key, key.itemsize, row, len(key)
        asked = *keys, wanted, len(wanted), limit, int(first_counts), found
        if call("kinetoscope_join", *asked):
            return found
    if first_counts:
        key, row = key[::-1], row[::-1]
    return join_in_python(key, row, wanted)


def join_in_python(key: I64 | I32, row: I32, wanted: I64) -> I32:
    """The reference of ``join``, of which the last counts."""
    nothing = np.full(len(wanted), -1, np.int32)
    useful = where(key > 0)
    key, row = take(key, useful), take(row, useful)
    if not len(key) or not len(wanted):
        return nothing
    low, high = int(key.min()), int(key.max())
    ask = where((wanted >= low) & (wanted <= high))
    wanted = take(wanted, ask)
    if high - low < max(_DENSE, 8 * len(key)):
        table = np.full(high - low + 1, -1, np.int32)
        put(table, key - low, row)
        found = take(table, wanted - low)
    else:
        order = np.argsort(key, kind="stable")
        key, row = key[order], row[order]
        at = np.searchsorted(key, wanted, side="right") - 1
        found = np.where((at >= 0) & (key[at] == wanted), row[at], np.int32(-1))
    put(nothing, ask, found)
    return nothing


def in_common(owner: NDArray[np.integer], size: int) -> NDArray[np.bool_]:
    """True for entries that share their owner, a number below ``size``, with another entry."""
    return take(occur_twice(owner, size), owner)


def repeated(key: I64) -> NDArray[np.bool_]:
    """True for ids above 0 that occur more than once."""
    result = np.zeros(len(key), bool)
    if len(key) and int(key.min()) > 0:
        low, high = int(key.min()), int(key.max())
        if high - low < max(_DENSE, 8 * len(key)):
            return in_common(key - low, high - low + 1)
    useful = np.flatnonzero(key > 0)
    if not len(useful):
        return result
    ids = key[useful]
    low, high = int(ids.min()), int(ids.max())
    if high - low < max(_DENSE, 8 * len(ids)):
        result[useful] = in_common(ids - low, high - low + 1)
        return result
    order = useful[np.argsort(ids, kind="stable")]
    same = key[order[1:]] == key[order[:-1]]
    result[order[1:][same]] = True
    result[order[:-1][same]] = True
    return result


PROLOGUE_RATIO = 0.01
_LAUNCHING = ("Launch", "Memcpy", "Memset")
_COPYING = ("Memcpy", "Memset")


class Launches(Struct, frozen=True, eq=False):
    """One entry per device activity; ``disagree`` counts ops that External id names differently."""

    launch: I32
    op: I32
    link: I8
    external_id_seen: bool
    external_id_used: bool
    checked: int
    disagree: int
    shared: int  # correlations that several calls carry


class SharedStarts(Struct, frozen=True, eq=False):
    """Starts of the arrows whose number is a correlation shared by several calls."""

    at: Ends
    number: I64
    are_shared: bool  # whether there is such a correlation


def shared_starts(raw: RawTrace, rows: Rows) -> SharedStarts:
    """Starts of such arrows, found while the columns of the file exist; few files have one."""
    written, ids = raw.ints.get("correlation"), raw.ints.get(ID_INT)
    row, number = np.empty(0, np.int32), np.empty(0, np.int64)
    if written is None:
        return SharedStarts(Ends.at(raw.events, row), number, are_shared=False)
    is_call = equal(take(rows.role, written.row), EventRole.RUNTIME)
    correlation = take(written.value, where(is_call))
    wanted = distinct_values(correlation[repeated(correlation)])
    if len(wanted) and ids is not None:
        chosen = is_among(ids.value, wanted) & is_among(ids.row, rows.flow_starts)
        row, number = ids.row[chosen], ids.value[chosen]
    return SharedStarts(Ends.at(raw.events, row), number, are_shared=bool(len(wanted)))


def correlate(
    texts: Texts,
    host: Host,
    device: Activity,
    streams: Streams,
    arrows: LaunchArrows,
    shared: SharedStarts,
    start: int,
) -> Launches:
    """Find launch and op of every device activity."""
    carried, shared_count = _best_last(texts, host, shared, start)
    launch = join(carried.value, carried.row, device.correlation)
    by_correlation = launch >= 0
    op = np.full(len(launch), -1, np.int32)
    launched = where(by_correlation)
    put(op, launched, op_around(host, take(launch, launched)))

    follow_arrows(texts, host, device, streams, arrows, start, launch, op)
    link = np.full(len(launch), Link.UNLINKED, np.int8)
    link[launch >= 0] = Link.CORRELATION
    link[_graphs(texts, host, device, launch, by_correlation)] = Link.GRAPH

    named = np.full(len(launch), -1, np.int32)
    believed = _external_id_believed(device)
    if believed:
        # Of several owners of one id the first counts.
        owners = host.owners
        named = join(owners.value, owners.row, device.external_id, first_counts=True)
    checked = (named >= 0) & (op >= 0) & (link != Link.GRAPH)
    disagree = int(np.count_nonzero(checked & (named != op)))
    fill = where((named >= 0) & (op < 0))
    fill = fill[equal(take(host.kind, take(named, fill)), HostKind.OP)]
    put(op, fill, take(named, fill))
    link[(launch < 0) & (op >= 0)] = Link.EXTERNAL_ID
    link[_prologue(device, launch, link)] = Link.PROLOGUE
    return Launches(
        launch,
        op,
        link,
        bool((device.external_id > 0).any()),
        believed,
        int(np.count_nonzero(checked)),
        disagree,
        shared_count,
    )


def _best_last(texts: Texts, host: Host, shared: SharedStarts, start: int) -> tuple[Sparse, int]:
    """Calls ordered so that of several with one correlation the launching one comes last.

    And how many correlations several calls have.
    """
    calls = host.calls
    if not shared.are_shared or not (double := repeated(calls.value)).any():
        return calls, 0
    some = calls.row[double]
    arrows = set(
        zip(
            shared.at.pid.tolist(),
            shared.at.tid.tolist(),
            (shared.at.ts - start).tolist(),
            shared.number.tolist(),
            strict=True,
        )
    )
    threads = host.threads
    thread = host.thread[some]
    score = np.array(
        [
            (key in arrows) * 2 + any(word in texts[name] for word in _LAUNCHING)
            for key, name in zip(
                zip(
                    threads.pid[thread].tolist(),
                    threads.tid[thread].tolist(),
                    host.ts[some].tolist(),
                    host.correlation[some].tolist(),
                    strict=True,
                ),
                host.name[some].tolist(),
                strict=True,
            )
        ],
        np.int64,
    )
    ordered = some[np.lexsort((host.ts[some], score))]
    wanted = len(distinct_values(host.correlation[some]))
    row = np.concatenate([calls.row[~double], ordered])
    return Sparse(row, host.correlation[row]), wanted


def _graphs(
    texts: Texts, host: Host, device: Activity, launch: I32, by_correlation: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Work that a captured graph launched: by name, by number, or many activities for one call."""
    rows = where(by_correlation)
    result = np.zeros(len(launch), bool)
    if not len(rows):
        return result
    call_row = take(launch, rows)
    name, category = take(host.name, call_row), take(device.category, rows)
    names = distinct(name, len(texts))
    graph = texts.table(names, lambda text: "GraphLaunch" in text, np.bool_)
    copying = texts.table(names, lambda text: any(word in text for word in _COPYING), np.bool_)
    # MTIA writes two events of its own for each call.
    vendor = texts.table(category, _is_vendor, np.bool_)
    many = in_common(call_row, len(host)) & ~take(vendor, category) & ~take(copying, name)
    put(result, rows, take(graph, name) | many)
    number = device.args.get("graph_id")
    if number is not None:
        result[number.row[(number.value > 0) & (launch[number.row] >= 0)]] = True
    return result


def _is_vendor(category: str) -> bool:
    return role_of(category) == EventRole.DEVICE_OTHER


def _external_id_believed(device: Activity) -> bool:
    """False when the file writes the correlation in place of the op's id."""
    both = (device.external_id > 0) & (device.correlation > 0)
    if not both.any():
        return bool((device.external_id > 0).any())
    same = np.count_nonzero(device.external_id[both] == device.correlation[both])
    return bool(2 * same <= np.count_nonzero(both))


def _prologue(device: Activity, launch: I32, link: I8) -> NDArray[np.bool_]:
    """Unlinked work before the first launched work of its stream, or in the first hundredth."""
    orphan = equal(link, Link.UNLINKED)
    linked = launch >= 0
    if not orphan.any() or not linked.any():
        return np.zeros(len(launch), bool)
    never = np.iinfo(np.int64).max
    first = np.full(int(device.stream.max()) + 1, never, np.int64)
    rows = np.flatnonzero(linked)[::-1]  # in a stream rows are in time order: the first is set last
    first[device.stream[rows]] = device.ts[rows]
    first[first == never] = np.iinfo(np.int64).min
    low = int(device.ts.min())
    early = low + PROLOGUE_RATIO * (int(device.end.max()) - low)
    return np.asarray(orphan & ((device.ts < first[device.stream]) | (device.ts <= early)))
