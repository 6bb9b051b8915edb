"""Why does a rank take longer than its peers: slower or more work, its host, copies, input?

The own time of a step is the longest way through the rank's graph in the solo replay. Its parts are
compared with the median of its peers; of kernels (of ops, without a device) the same signatures are
compared, so that slower ones are told from more of them:

    slower = Σ count · (p50 − p50 of the peers)     more = Σ (count − count of the peers) · p50

over signatures, those that no peer has being more work.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ....base.arrays import I32, I64
from ....base.regex import regex
from ....base.units import duration
from ..model import Junction, RankDigest, WorkPart
from ..rank.ranges import common_name, hash_of
from .replay import JointGraph

CAUSES = (
    "slower_kernels", "more_work", "host", "copies", "input", "blocking_calls", "launches",
    "transfers",
)  # fmt: skip
"""Causes of a slow rank; "transfers" is time of its collectives, which is no fault of it."""
MOST_PEERS = 32
"""Peers whose kernels are compared: their median does not need all of a thousand."""
LEAST_WORK = 0.02
"""Share of every step that work of one rank alone takes at least."""
MOST_OF_IT = 0.5
"""Least part of an excess that a name must explain."""
INNER = 0.8
"""Part of the largest excess that a shorter range inside must have to replace it."""
_PARTS = len(WorkPart)
_LOADER = "enumerate(DataLoader)#"
_BUILT_IN = regex(r"^<built-in (?:function|method) ([^\s>]+)[^>]*>$")
_OF_WORK = {
    WorkPart.COPIES: "copies",
    WorkPart.LOADER: "input",
    WorkPart.BLOCKED: "blocking_calls",
    WorkPart.LATENCY: "launches",
    WorkPart.QUEUE: "transfers",
}


class LatenessCause(Struct, frozen=True):
    """Why a rank is slower than the median of its peers."""

    name: str  # of CAUSES
    operator: str  # the kernel or op of the longest excess, "" unknown
    line: str  # the Python frame around it, "" unknown


class OwnParts(Struct, frozen=True, eq=False):
    """Parts of the own time of each rank, over the chosen steps: (R, len(WorkPart) + 1).

    The last column is transfers of collectives on the way.
    """

    ns: I64
    edges: tuple[tuple[int, ...], ...]  # edges of the joint graph on the way, by digest


def own_parts(joint: JointGraph, alone: I64, chosen: Sequence[Sequence[int]]) -> OwnParts:
    """Walks back from the end of each chosen step of each digest."""
    count = len(joint.steps)
    parts = np.zeros((count, _PARTS + 1), np.int64)
    collective = joint.matches.collective
    ways = []
    for m in range(count):
        low, high = joint.first_edge[m : m + 2].tolist()
        into: dict[int, list[int]] = {}
        for edge in range(low, high):
            into.setdefault(int(joint.target[edge]), []).append(edge)
        here = joint.entries_of(m)
        took = joint.transfer_ns[collective[here]].tolist()
        across = zip(joint.arrival[here].tolist(), took, strict=True)
        released = dict(zip(joint.release[here].tolist(), across, strict=True))
        way: list[int] = []
        for step in chosen[m]:
            start, point = joint.steps[m][step].tolist()
            begin = int(alone[start]) if start >= 0 else None
            while point >= 0 and point != start and (begin is None or alone[point] > begin):
                if point in released:
                    point, took = released[point]
                    parts[m, _PARTS] += took
                    continue
                edges = into.get(point)
                if not edges:
                    break
                edge = max(edges, key=lambda e: int(alone[joint.source[e]] + joint.weight[e]))
                way.append(edge)
                point = int(joint.source[edge])
        ways.append(tuple(way))
    return OwnParts(parts, tuple(ways))


def add_edge_parts(digests: Sequence[RankDigest], joint: JointGraph, parts: OwnParts) -> I64:
    """The parts with those of the edges on the ways."""
    result: I64 = parts.ns.copy()
    for m, digest in enumerate(digests):
        edges = np.array(parts.edges[m], np.int64) - joint.first_edge[m]
        if len(edges):
            result[m, :_PARTS] += digest.edges.parts[edges].sum(axis=0)
    return result


def cause_of(
    digests: Sequence[RankDigest],
    joint: JointGraph,
    parts: OwnParts,
    chosen: Sequence[Sequence[int]],
    member: int,
    peers: Sequence[int] = (),
) -> LatenessCause | None:
    """Why a digest's own time is longer than the median of its peers; None for fewer than two.

    Its peers are all others, unless some are given.
    """
    peers = peers or [m for m in range(len(digests)) if m != member]
    if len(peers) < 2:
        return None
    sums = add_edge_parts(digests, joint, parts)
    over = sums[member] - np.median(sums[list(peers)], axis=0).astype(np.int64)
    slower, more, _ = signatures(digests, chosen, member, peers)
    found = dict.fromkeys(CAUSES, 0)
    for work, name in _OF_WORK.items():
        found[name] += int(over[work])
    found["transfers"] += int(over[_PARTS])
    # On the host, ops are a part of the host's time; what they do not explain is other code.
    working = int(over[WorkPart.KERNELS] if digests[member].on_device else over[WorkPart.HOST])
    if digests[member].on_device:
        found["host"] += int(over[WorkPart.HOST])
        slow, much = _shared_out(working, slower, more)
    else:
        slow, much = _at_most(working, slower, more)
        found["host"] += working - slow - much
    found["slower_kernels"] += slow
    found["more_work"] += much
    name = max((one for one in CAUSES if one != "transfers"), key=lambda one: found[one])
    if found[name] <= 0:
        return None
    operator, line = _where(digests, joint, parts, chosen, member, peers, name)
    return LatenessCause(name, operator, line)


def _shared_out(total: int, slower: int, more: int) -> tuple[int, int]:
    """An excess of kernel time as slower kernels and more of them, in their proportion."""
    slower, more = max(slower, 0), max(more, 0)
    if not slower + more:
        return total, 0
    slow = round(total * slower / (slower + more))
    return slow, total - slow


def _at_most(total: int, slower: int, more: int) -> tuple[int, int]:
    slower, more = max(slower, 0), max(more, 0)
    if slower + more <= max(total, 0):
        return slower, more
    return _shared_out(max(total, 0), slower, more)


def signatures(
    digests: Sequence[RankDigest],
    chosen: Sequence[Sequence[int]],
    member: int,
    peers: Sequence[int],
) -> tuple[int, int, str]:
    """Time by slower signatures, by more of them, and the signature with the largest excess."""
    own = _by_signature(digests[member], chosen[member])
    asked = peers[:: max(len(peers) // MOST_PEERS, 1)]
    others = [_by_signature(digests[m], chosen[m]) for m in asked]
    slower = more = 0
    best, name = 0, ""
    for key, (count, p50, total, code) in own.items():
        alike = [table[key] for table in others if key in table]
        if len(alike) * 2 < len(others):
            excess, kind_slow = total, 0
            more += total
        else:
            usual = float(np.median([one[0] for one in alike]))
            usual_p50 = float(np.median([one[1] for one in alike]))
            kind_slow = round(min(count, usual) * (p50 - usual_p50))
            extra = round((count - usual) * p50)
            slower += kind_slow
            more += extra
            excess = kind_slow + extra
        if excess > best:
            best, name = excess, digests[member].text(code)
    for key, (count, _, total, _) in _medians(others).items():
        if key not in own:
            more -= total if count else 0
    return slower, more, name


def _medians(
    tables: Sequence[dict[int, tuple[float, float, int, int]]],
) -> dict[int, tuple[float, float, int, int]]:
    """Signatures that most of the tables have, with the medians of their figures."""
    keys = {key for table in tables for key in table}
    result = {}
    for key in keys:
        rows = [table[key] for table in tables if key in table]
        if len(rows) * 2 > len(tables):
            middle = np.median([row[:3] for row in rows], axis=0)
            result[key] = (float(middle[0]), float(middle[1]), int(middle[2]), rows[0][3])
    return result


def _by_signature(
    digest: RankDigest, steps: Sequence[int]
) -> dict[int, tuple[float, float, int, int]]:
    """Signature → count per step, median length, summed time, name; over the chosen steps."""
    table = digest.families
    result: dict[int, list[int]] = {}
    for row in np.flatnonzero(np.isin(table.step, list(steps))).tolist():
        result.setdefault(int(table.signature[row]), []).append(row)
    return {
        key: (
            float(table.count[rows].sum()),
            float(np.median(table.p50_ns[rows])),
            int(table.total_ns[rows].sum()),
            int(table.name[rows[0]]),
        )
        for key, rows in result.items()
    }


def _where(
    digests: Sequence[RankDigest],
    joint: JointGraph,
    parts: OwnParts,
    chosen: Sequence[Sequence[int]],
    member: int,
    peers: Sequence[int],
    cause: str,
) -> tuple[str, str]:
    """The operator and the line of a cause: of the edge on the way with most time of its kind."""
    digest = digests[member]
    if cause in ("slower_kernels", "more_work"):
        name = signatures(digests, chosen, member, peers)[2]
        rows = np.flatnonzero(digest.edges.op == (_code(digest, name) if name else -1))
        line = digest.text(int(digest.edges.line[rows[0]])) if len(rows) else ""
        return name, line
    kinds = [work for work, named in _OF_WORK.items() if named == cause] or [WorkPart.HOST]
    edges = np.array(parts.edges[member], np.int64) - joint.first_edge[member]
    if not len(edges):
        return "", ""
    own = digest.edges.parts[edges][:, kinds].sum(axis=1)
    usual = _typical(digests, joint, parts, peers, kinds)
    # What a rank does for long on every rank is no excess.
    over = own - np.array([usual.get(_place(digest, int(edge)), 0) for edge in edges])
    edge = int(edges[int(np.argmax(over))])
    return digest.text(int(digest.edges.op[edge])), digest.text(int(digest.edges.line[edge]))


def _place(digest: RankDigest, edge: int) -> tuple[int, int, int]:
    """Where in a step an edge is, so that edges of several ranks can be compared."""
    target = int(digest.edges.target[edge])
    junctions = digest.junctions
    step = int(junctions.step[target])
    before = int(np.count_nonzero((junctions.step[:target] == step)
                                  & (junctions.kind[:target] == Junction.ARRIVAL)))  # fmt: skip
    return step, before, int(junctions.kind[target])


def _typical(
    digests: Sequence[RankDigest],
    joint: JointGraph,
    parts: OwnParts,
    peers: Sequence[int],
    kinds: Sequence[int],
) -> dict[tuple[int, int, int], int]:
    """The median of peers by place; at most eight peers count."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for m in peers[:8]:
        for edge in parts.edges[m]:
            own = edge - int(joint.first_edge[m])
            value = int(digests[m].edges.parts[own, list(kinds)].sum())
            found.setdefault(_place(digests[m], own), []).append(value)
    return {key: int(np.median(values)) for key, values in found.items()}


def _code(digest: RankDigest, text: str) -> int:
    return digest.strings.index(text) if text in digest.strings else -1


# --- by name --------------------------------------------------------------------------------------


class LongerWork(Struct, frozen=True):
    """Work that a rank runs for longer than its peers, per step."""

    name: str
    mine_ns: int  # of the median step
    peers_ns: int  # of the median peer; 0 where no other rank runs it
    alone: bool  # no other rank runs it

    @property
    def text(self) -> str:
        """The comparison as the end of a sentence."""
        name = _BUILT_IN.sub(r"\1", self.name)
        name = "the DataLoader" if name.startswith(_LOADER) else f"`{name}`"
        mine = f"{name} takes {duration(self.mine_ns)} there"
        if self.alone:
            return f"{mine} and runs on no other rank"
        return f"{mine}, {duration(self.peers_ns)} elsewhere"


def work_of_one(
    digests: Sequence[RankDigest], steps: Sequence[int], members: Sequence[int]
) -> dict[int, LongerWork]:
    """Of the members that run what no other rank runs, in every step, what takes them longest.

    A rank whose names are unknown may run anything, so that no rank runs something alone then.
    """
    if any(not len(one.names) for one in digests):
        return {}
    every, count = np.unique(np.concatenate([one.names for one in digests]), return_counts=True)
    alone = set(every[count == 1].tolist())
    result = {}
    for m in members:
        digest = digests[m]
        lengths = (digest.steps.end_ns - digest.steps.start_ns)[list(steps)]
        found = []
        for name, by_step in _ranges(digest, steps).items():
            if hash_of(name) in alone and (by_step >= LEAST_WORK * lengths).all():
                found.append(LongerWork(name, round(float(np.median(by_step))), 0, alone=True))
        if found:
            result[m] = max(found, key=lambda one: one.mine_ns)
    return result


def longer_work(
    digests: Sequence[RankDigest],
    steps: Sequence[int],
    member: int,
    peers: Sequence[int],
    excess_ns: float,
) -> LongerWork | None:
    """The range, op or kernel that explains most of a rank's excess; None where none does."""
    asked = peers[:: max(len(peers) // MOST_PEERS, 1)]
    found: list[LongerWork] = []
    for table_of in (_kernels, _ranges):
        mine = table_of(digests[member], steps)
        theirs = [
            {common_name(name): by_step for name, by_step in table_of(digests[m], steps).items()}
            for m in asked
        ]
        for name, by_step in mine.items():
            there = [table.get(common_name(name)) for table in theirs]
            if any(one is None for one in there):
                continue  # a peer may run it for less than is kept
            usual = float(np.median([np.median(one) for one in there if one is not None]))
            found.append(
                LongerWork(name, round(float(np.median(by_step))), round(usual), alone=False)
            )
    found = [one for one in found if one.mine_ns - one.peers_ns >= MOST_OF_IT * excess_ns]
    return _innermost(found) if found else None


def is_longer_in_each(
    digests: Sequence[RankDigest],
    steps: Sequence[int],
    member: int,
    peers: Sequence[int],
    work: LongerWork,
) -> bool:
    """True if in each step a rank runs that work for longer, by a quarter of the usual excess."""
    name = common_name(work.name)
    by_step = []
    for m in (member, *peers[:: max(len(peers) // MOST_PEERS, 1)]):
        tables = [table_of(digests[m], steps) for table_of in (_kernels, _ranges)]
        mine = [each for table in tables for key, each in table.items() if common_name(key) == name]
        by_step.append(np.max(mine, axis=0) if mine else np.zeros(len(steps)))
    over = by_step[0] - np.median(by_step[1:], axis=0)
    return bool((4 * over >= work.mine_ns - work.peers_ns).all())


def _innermost(found: Sequence[LongerWork]) -> LongerWork:
    """The shortest of those with nearly the largest excess: it lies in the longer ones."""
    most = max(one.mine_ns - one.peers_ns for one in found)
    near = [one for one in found if one.mine_ns - one.peers_ns >= INNER * most]
    return min(near, key=lambda one: one.mine_ns)


def _ranges(digest: RankDigest, steps: Sequence[int]) -> dict[str, I64]:
    """Name → time in each of the steps, 0 where it is not among those that are kept."""
    return _by_step(digest, steps, digest.ranges.step, digest.ranges.name, digest.ranges.total_ns)


def _kernels(digest: RankDigest, steps: Sequence[int]) -> dict[str, I64]:
    """The same of kernels, and of ops by their own time where there is no device."""
    table = digest.families
    return _by_step(digest, steps, table.step, table.name, table.total_ns)


def _by_step(
    digest: RankDigest, steps: Sequence[int], step: I32, name: I32, total_ns: I64
) -> dict[str, I64]:
    place = {number: at for at, number in enumerate(steps)}
    result: dict[str, I64] = {}
    for row, number in enumerate(step.tolist()):
        if number in place:
            text = digest.text(int(name[row]))
            by_step = result.setdefault(text, np.zeros(len(steps), np.int64))
            by_step[place[number]] += total_ns[row]
    return result
