"""How fast did collectives move their data, which links are slow, and is work spread evenly?

Algorithm bandwidth is size / time; bus bandwidth multiplies it by the part of the data that each
link must carry, so that it can be held against the hardware whatever the number of ranks is.
Sizes and factors are those of NVIDIA nccl-tests, PERFORMANCE.md. The time is the *transfer*: from
the last arrival to the first release where several ranks are there, so it holds no waiting.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64
from .matching import Matches, RunGroup
from .model import RankDigest
from .waiting import Waiting

SMALL_BYTES = 256 * 1024
SLOW_LINK = 0.6
IMBALANCED = 1.3


def bus_factor(kind: str, ranks: int) -> float | None:
    """Bus bandwidth / algorithm bandwidth; None where there is none (NVIDIA nccl-tests).

    >>> bus_factor("all_reduce", 2), bus_factor("all_gather", 64)
    (1.0, 0.984375)
    """
    if ranks < 2:
        return None
    if kind == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if kind in ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"):
        return (ranks - 1) / ranks
    if kind in ("broadcast", "reduce", "send", "recv", "send_recv"):
        return 1.0
    return None


def message_bytes(kind: str, in_bytes: int, out_bytes: int, ranks: int) -> int | None:
    """The size by which a collective's bandwidth is reckoned (NVIDIA nccl-tests); None unknown."""
    if kind == "all_gather":
        size = out_bytes if out_bytes >= 0 else in_bytes * ranks
    elif kind in ("gather", "scatter"):
        size = in_bytes * ranks
    else:
        size = in_bytes if in_bytes >= 0 else out_bytes
    return size if size > 0 else None


class SlowLink(Struct, frozen=True):
    """A group, or a sender and its receiver, far below the bus bandwidth of others of its size."""

    group: int
    ranks: tuple[int, ...]
    across: bool  # they are on several nodes, as those are that it is held against
    kind: str
    bytes: int
    bus_gbps: float
    usual_gbps: float
    count: int
    extra_ns: int  # beyond the usual transfer, per step


class Imbalance(Struct, frozen=True):
    """Unequal parts of an all_to_all: bytes that the ranks of a group receive."""

    group: int
    ranks: tuple[int, ...]
    received_bytes: tuple[int, ...]
    most_to_mean: float  # median over the instances
    hot_rank: int  # the same in at least half of them, −1
    instances: int
    expert_ns: int  # time of these collectives and per step


class SmallMessages(Struct, frozen=True):
    """Collectives below 256 KiB, means over the ranks."""

    share: float  # of the time of all collectives
    count: int  # per step
    exposed_ns: int  # per step: nothing computed meanwhile


class Bandwidth(Struct, frozen=True, eq=False):
    """One entry per collective of the run (I,); NaN and −1 where it is not available."""

    bytes: I64
    ranks: I32
    transfer_ns: I64
    algorithm_gbps: F64
    bus_gbps: F64
    includes_wait: NDArray[np.bool_]  # only one rank is there: the time may hold waiting
    why: tuple[str, ...]  # why there is no bandwidth, "" where there is
    slow_links: tuple[SlowLink, ...]
    links_compared: bool  # two links had the same operation and size, so that one could be slow
    imbalance: tuple[Imbalance, ...]
    small: SmallMessages


def bandwidth(
    digests: Sequence[RankDigest],
    groups: Sequence[RunGroup],
    matches: Matches,
    waiting: Waiting,
    node: Sequence[int] = (),
) -> Bandwidth:
    """Bandwidth of every matched collective; O(calls).

    ``node`` is the node of each digest, −1 where it is not known.
    """
    count = len(matches)
    size, ranks = np.full(count, -1, np.int64), np.zeros(count, np.int32)
    algorithm, bus = np.full(count, np.nan), np.full(count, np.nan)
    why = []
    sent, received = matches.calls(digests, "in_bytes"), matches.calls(digests, "out_bytes")
    for i, kind in enumerate(matches.kind):
        here = matches.entries(i)
        group = groups[matches.group[i]]
        ranks[i] = 2 if kind == "send" else len(group.ranks)
        # Most members say the same: each size is reckoned once.
        said_bytes = set(zip(sent[here].tolist(), received[here].tolist(), strict=True))
        sizes = (message_bytes(kind, *both, int(ranks[i])) for both in said_bytes)
        moved = max((known for known in sizes if known), default=0)
        split = _split_bytes(digests, matches, i)
        if split is not None:
            moved = split
        factor = 1.0 if split is not None else bus_factor(kind, int(ranks[i]))
        took = int(waiting.transfer_ns[i])
        if moved:
            size[i] = moved
        said = _reason(kind, moved, factor, took)
        why.append(said)
        if not said and factor is not None:
            algorithm[i] = moved / took
            bus[i] = algorithm[i] * factor
    steps = max((len(one.steps) for one in digests), default=1)
    result = Bandwidth(
        bytes=size,
        ranks=ranks,
        transfer_ns=waiting.transfer_ns,
        algorithm_gbps=algorithm,
        bus_gbps=bus,
        includes_wait=matches.count < 2,
        why=tuple(why),
        slow_links=(),
        links_compared=False,
        imbalance=imbalance(digests, groups, matches, waiting),
        small=_small(digests, steps),
    )
    placed = np.array(node if len(node) else [-1] * len(digests), np.int64)
    cells = [one for one in _links(digests, groups, matches, result, placed) if len(one[1]) > 1]
    return msgspec.structs.replace(
        result, slow_links=_slow_of(cells, result, steps), links_compared=bool(cells)
    )


def _reason(kind: str, moved: int, factor: float | None, took: int) -> str:
    if factor is None:
        return "this operation has no bandwidth" if kind != "all_reduce" else "one rank alone"
    if not moved:
        return "the recording does not say how much was moved"
    return "" if took > 0 else "its transfer took no measurable time"


def _split_bytes(digests: Sequence[RankDigest], matches: Matches, instance: int) -> int | None:
    """Most bytes that a rank sends or receives in an all_to_allv; None where splits are unknown."""
    table = _splits(digests, matches, instance)
    if table is None:
        return None
    own = np.eye(len(table), dtype=bool)
    others = np.where(own, 0, table)
    return int(max(others.sum(axis=1).max(), others.sum(axis=0).max()))


def _splits(digests: Sequence[RankDigest], matches: Matches, instance: int) -> I64 | None:
    """Bytes from each rank of a group to each; None unless all ranks say so."""
    here, rows = matches.entries(instance), []
    members = matches.member[here].tolist()
    for m, call in zip(members, matches.call[here].tolist(), strict=True):
        first = int(digests[m].calls.splits[call])
        if first < 0:
            return None
        part = digests[m].split_bytes[first : first + len(members)]
        if len(part) < len(members):
            return None
        rows.append(part)
    return np.array(rows, np.int64) if len(rows) > 1 else None


def imbalance(
    digests: Sequence[RankDigest],
    groups: Sequence[RunGroup],
    matches: Matches,
    waiting: Waiting,
) -> tuple[Imbalance, ...]:
    """Imbalance of the data in the all_to_alls of each group."""
    found: dict[int, list[tuple[int, I64]]] = {}
    for i in np.flatnonzero([kind == "all_to_all" for kind in matches.kind]).tolist():
        table = _splits(digests, matches, i)
        if table is not None and matches.count[i] == len(groups[matches.group[i]].ranks):
            found.setdefault(int(matches.group[i]), []).append((i, table.sum(axis=0)))
    result = []
    steps = max((len(one.steps) for one in digests), default=1)
    for group, instances in found.items():
        received = np.array([one for _, one in instances])
        mean = np.maximum(received.mean(axis=1), 1)
        ratio = received.max(axis=1) / mean
        hot = np.bincount(received.argmax(axis=1), minlength=received.shape[1])
        most = int(hot.argmax())
        persistent = hot[most] * 2 >= len(instances) and float(np.median(ratio)) > 1
        spent = int(waiting.transfer_ns[[i for i, _ in instances]].clip(0).sum())
        result.append(
            Imbalance(
                group=group,
                ranks=groups[group].ranks,
                received_bytes=tuple(received.sum(axis=0).tolist()),
                most_to_mean=float(np.median(ratio)),
                hot_rank=groups[group].ranks[most] if persistent else -1,
                instances=len(instances),
                expert_ns=spent // max(steps, 1),
            )
        )
    return tuple(result)


_Link = tuple[int, tuple[int, ...]]
_Cell = tuple[tuple[str, int, int, int], dict[_Link, list[int]]]


def _links(
    digests: Sequence[RankDigest],
    groups: Sequence[RunGroup],
    matches: Matches,
    found: Bandwidth,
    node: I64,
) -> list[_Cell]:
    """Links that may be compared, by operation, size, number of ranks and whether across nodes.

    A link is a group, or of messages a sender and its receiver. Those within a node are held
    against others within one, those across nodes against others across: the wires are not the same.
    """
    usable = np.flatnonzero(~np.isnan(found.bus_gbps) & ~found.includes_wait)
    bucket = np.log2(np.maximum(found.bytes, 1)).astype(np.int64)
    cells: dict[tuple[str, int, int, int], dict[_Link, list[int]]] = {}
    for i in usable.tolist():
        here = matches.member[matches.entries(i)]
        kind, group = matches.kind[i], int(matches.group[i])
        ends = groups[group].ranks
        if kind == "send":
            ends = tuple(digests[m].rank for m in here.tolist())
        key = (kind, int(bucket[i]), int(found.ranks[i]), _spread_over(node[here]))
        cells.setdefault(key, {}).setdefault((group, ends), []).append(i)
    return list(cells.items())


def _slow_of(cells: Sequence[_Cell], found: Bandwidth, steps: int) -> tuple[SlowLink, ...]:
    """Links below 60 % of the median of the others."""
    result = []
    for (kind, _, _, spread), by_link in cells:
        middle = {link: float(np.median(found.bus_gbps[rows])) for link, rows in by_link.items()}
        for link, rows in by_link.items():
            usual = float(np.median([value for other, value in middle.items() if other != link]))
            if len(rows) >= 2 and middle[link] < SLOW_LINK * usual:
                spent = found.transfer_ns[rows].sum()
                result.append(
                    SlowLink(
                        group=link[0],
                        ranks=link[1],
                        across=spread == _ACROSS,
                        kind=kind,
                        bytes=int(np.median(found.bytes[rows])),
                        bus_gbps=middle[link],
                        usual_gbps=usual,
                        count=len(rows),
                        extra_ns=int(spent * (1 - middle[link] / usual)) // max(steps, 1),
                    )
                )
    return tuple(sorted(result, key=lambda one: -one.extra_ns))


_WITHIN, _ACROSS, _UNKNOWN = range(3)


def _spread_over(nodes: I64) -> int:
    """Ranks of one node or of several; unknown if the node of any is."""
    if (nodes < 0).any():
        return _UNKNOWN
    return _ACROSS if len(np.unique(nodes)) > 1 else _WITHIN


def _small(digests: Sequence[RankDigest], steps: int) -> SmallMessages:
    spent = small = count = exposed = 0
    for one in digests:
        dur = one.calls.release_ns - one.calls.arrival_ns
        tiny = (one.calls.in_bytes >= 0) & (one.calls.in_bytes < SMALL_BYTES)
        spent += int(dur.sum())
        small += int(dur[tiny].sum())
        count += int(tiny.sum())
        exposed += int(one.calls.exposed_ns[tiny].sum())
    each = max(len(digests) * steps, 1)
    return SmallMessages(small / spent if spent else 0.0, count // each, exposed // each)
