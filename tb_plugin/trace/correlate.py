"""From device work to the call that launched it and the op around that call.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .activity import Activity
from .arrows import Sides, follow_arrows
from .categories import Role, role_of
from .flows import Flows
from .host import Host
from .links import join, repeated
from .model import HostKind, Link
from .ops import index_ops
from .raw import ID_INT, RawTrace
from .rows import Rows
from .texts import Texts

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

PROLOGUE_RATIO = 0.01
_LAUNCHING = ("Launch", "Memcpy", "Memset")
_COPYING = ("Memcpy", "Memset")


@dataclass(frozen=True, slots=True, eq=False)
class Launches:
    """One entry per device activity; ``disagree`` counts ops that External id names differently."""

    launch: I32
    op: I32
    link: I8
    external_id_seen: bool
    external_id_used: bool
    checked: int
    disagree: int
    shared: int  # correlations that several calls carry


def correlate(
    raw: RawTrace, texts: Texts, rows: Rows, host: Host, device: Activity, flows: Flows, start: int
) -> Launches:
    """Find launch and op of every device activity."""
    ops = index_ops(host)
    calls = np.flatnonzero((host.kind == HostKind.RUNTIME) & (host.correlation > 0)).astype(
        np.int32
    )
    calls, shared = _best_last(raw, texts, rows, host, calls, start)
    launch = join(host.correlation[calls], calls, device.correlation)
    by_correlation = launch >= 0
    launched_by = launch[by_correlation]
    op = np.full(len(launch), -1, np.int32)
    called, inverse = np.unique(launched_by, return_inverse=True)
    op[by_correlation] = ops.around(host, called)[inverse]
    del called, inverse

    follow_arrows(Sides(raw, texts, host, ops, device, flows, start), launch, op)
    link = np.full(len(launch), Link.UNLINKED, np.int8)
    link[launch >= 0] = Link.CORRELATION
    link[_graphs(texts, host, device, launch, by_correlation)] = Link.GRAPH

    named = np.full(len(launch), -1, np.int32)
    believed = _external_id_believed(device)
    if believed:
        owners = np.flatnonzero(host.external_id > 0).astype(np.int32)
        # Of several owners of one id the first counts.
        named = join(host.external_id[owners][::-1], owners[::-1], device.external_id)
    checked = (named >= 0) & (op >= 0) & (link != Link.GRAPH)
    disagree = int(np.count_nonzero(named[checked] != op[checked]))
    is_op = np.zeros(len(launch), bool)
    is_op[named >= 0] = host.kind[named[named >= 0]] == HostKind.OP
    fill = (op < 0) & is_op
    op[fill] = named[fill]
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
        shared,
    )


def _best_last(
    raw: RawTrace, texts: Texts, rows: Rows, host: Host, calls: I32, start: int
) -> tuple[I32, int]:
    """Calls in an order such that of several with one correlation the launching one is the last."""
    double = repeated(host.correlation[calls])
    if not double.any():
        return calls, 0
    some = calls[double]
    wanted = set(host.correlation[some].tolist())
    column = raw.ints.get(ID_INT)
    arrows: set[tuple[int, int, int, int]] = set()
    if column is not None:
        is_start = np.isin(column.row, rows.flow_starts)
        for row, number in zip(
            column.row[is_start].tolist(), column.value[is_start].tolist(), strict=True
        ):
            if number in wanted:
                events = raw.events
                arrows.add(
                    (
                        int(events.pid[row]),
                        int(events.tid[row]),
                        int(events.ts[row]) - start,
                        number,
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
    return np.concatenate([calls[~double], ordered]), len(wanted)


def _graphs(
    texts: Texts, host: Host, device: Activity, launch: I32, by_correlation: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Work that a captured graph launched: so named, so numbered, or many for one call."""
    rows = np.flatnonzero(by_correlation)
    result = np.zeros(len(launch), bool)
    if not len(rows):
        return result
    name = host.name[launch[rows]]
    graph = texts.table(name, lambda text: "GraphLaunch" in text, np.bool_)[name]
    copying = texts.table(name, lambda text: any(word in text for word in _COPYING), np.bool_)[name]
    # MTIA writes two events of its own for each call.
    vendor = texts.table(device.category[rows], _is_vendor, np.bool_)[device.category[rows]]
    _, inverse, count = np.unique(launch[rows], return_inverse=True, return_counts=True)
    many = (count[inverse] > 1) & ~vendor & ~copying
    result[rows] = graph | many
    number = device.args.get("graph_id")
    if number is not None:
        result[number.row[(number.value > 0) & (launch[number.row] >= 0)]] = True
    return result


def _is_vendor(category: str) -> bool:
    return role_of(category) == Role.DEVICE_OTHER


def _external_id_believed(device: Activity) -> bool:
    """False when the file writes the correlation again instead of the id of the op."""
    both = (device.external_id > 0) & (device.correlation > 0)
    if not both.any():
        return bool((device.external_id > 0).any())
    same = np.count_nonzero(device.external_id[both] == device.correlation[both])
    return bool(2 * same <= np.count_nonzero(both))


def _prologue(device: Activity, launch: I32, link: I8) -> NDArray[np.bool_]:
    """Unlinked work before the first launched work of its stream, or in the first hundredth."""
    orphan = link == Link.UNLINKED
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
