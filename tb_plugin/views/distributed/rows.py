"""The figures of the Distributed view as its contract has them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from ...analysis.distributed.clocks import extents
from ...analysis.distributed.comparison import Comparison
from ...analysis.distributed.hang import said_ranks
from ...analysis.distributed.matching import METHODS
from ...analysis.distributed.model import RankDigest
from ...analysis.distributed.pictures import OperationRow, operations
from ...analysis.findings import Reference, at_time
from ...base.arrays import I32, I64
from ...base.units import size
from ...trace.worker_names import node_of, process_role
from ..compared import Compared, roles_of_processes, step_of
from . import contract as answers
from .declared import (
    FAST_RATIO,
    SLOW_RATIO,
    SMALL_BYTES,
    BandwidthPoint,
    DistributedCollective,
    DistributedGroup,
    DistributedRank,
    RankOperation,
    RankStep,
)
from .layout import ROLE_NAMES, GroupOfRanks, layout_of, other_role


class RunRows:
    """A comparison over chosen steps; ``steps`` are rows of ``Comparison.step_numbers``."""

    def __init__(self, compared: Compared, steps: I64, roles: Mapping[str, str]) -> None:
        self.compared, self.steps, self.given_roles = compared, steps, roles
        self.of: Comparison = compared.comparison
        self.per = max(len(steps), 1)
        self.step = step_of(self.of)
        # Without steps, all that was recorded is one.
        inside = np.isin(self.step, steps) if len(self.of.step_numbers) else self.step < 0
        self.chosen: NDArray[np.bool_] = inside
        last = self.of.waiting.last
        self.known = np.flatnonzero(inside & (last >= 0))
        # Where all begin at one instant, none of them comes last.
        self.uneven = np.flatnonzero(inside & (self.of.waiting.skew_ns > 0))
        count = len(self.of.digests)
        waits, matches = self.of.waiting.wait_ns, self.of.matches
        self.waited: I64 = matches.sum_of(waits)  # in each collective, of all ranks
        self.cost = np.zeros(count, np.int64)
        np.add.at(self.cost, last[self.known], self.waited[self.known])
        self.collective = matches.collective
        # Entries of collectives that somebody came last in, and of all that are inside.
        self.known_entries = np.flatnonzero((inside & (last >= 0))[self.collective])
        entries = np.flatnonzero(inside[self.collective])
        self.lost = np.zeros(count, np.int64)
        np.add.at(self.lost, matches.member[self.known_entries], waits[self.known_entries])
        own = self.of.replay.own
        self.excess = np.zeros(count, np.int64)
        if own is not None:
            np.add.at(self.excess, matches.member[entries], own.excess_ns[entries])
        self.times_last = np.bincount(last[self.uneven], minlength=count)
        waits_known = matches.member[self.known_entries]
        self.takes_part: NDArray[np.bool_] = np.bincount(waits_known, minlength=count) > 0
        names = [one.place.worker for one in compared.workers]
        self.labels = _labels([(group.label, group.ranks) for group in self.of.groups])
        self.process_roles = roles_of_processes(names, self.of.digests)
        self.extents = extents(self.of.digests, matches, self.of.clocks.shift_ns)

    # --- ranks ----------------------------------------------------------------------------------

    def waiting_for(self, member: int) -> list[int]:
        """Members that wait in a collective where a member comes last."""
        entries, waiting = self.known_entries, self.of.waiting
        late = waiting.last[self.collective[entries]] == member
        entries = entries[late & (waiting.wait_ns[entries] > 0)]
        return [*set(self.of.matches.member[entries].tolist())]

    def ranks(self) -> tuple[DistributedRank, ...]:
        """All workers: the rows of the digests first, those that take no part after them."""
        passed_on, whom = self.inherited()
        bytes_in, is_told = _received(self.of), self.of.origins is not None
        rows = [
            structs.replace(
                self._rank(at, one),
                inherited_ns=int(passed_on[at]) // self.per if is_told else None,
                inherited_from=_known(int(whom[at])),
                received_bytes=bytes_in.get(one.rank),
            )
            for at, one in enumerate(self.of.digests)
        ]
        for worker, problem, digest in self.compared.others:
            rank = digest.rank if digest is not None and digest.rank >= 0 else worker.rank
            rows.append(_bare_rank(worker.place.worker, rank, problem, digest))
        return tuple(rows)

    def _rank(self, at: int, digest: RankDigest) -> DistributedRank:
        own = self.of.replay.own
        step = self._step(at, digest)
        verdict = self.of.verdict
        unsure = int(self.of.clocks.uncertainty_ns[at])
        is_named = verdict.member == at and verdict.gain_ns > 0 and not self.compared.waiting
        name = self.compared.workers[at].place.worker
        return structs.replace(
            _bare_rank(name, digest.rank, "", digest),
            used=True,
            role=self.process_roles[at],
            step=step,
            busy_ratio=None if step is None else 1 - step.idle_ns / max(step.length_ns, 1),
            own_ns=_mean(own.own_ns[at, self.steps]) if own is not None else None,
            excess_ns=int(self.excess[at]) // self.per if own is not None else None,
            cost_ns=int(self.cost[at]) // self.per if self.takes_part[at] else None,
            lost_ns=int(self.lost[at]) // self.per if self.takes_part[at] else None,
            times_last=int(self.times_last[at]) if self.takes_part[at] else None,
            brought_in_ns=_known(int(own.brought_in_ns[at])) if own is not None else None,
            gain_ns=verdict.gain_ns if is_named else None,
            uncertainty_ns=unsure if unsure >= 0 and self.of.clocks.fitted else None,
        )

    def _step(self, at: int, digest: RankDigest) -> RankStep | None:
        table = digest.steps
        here = self.steps[(table.end_ns > table.start_ns)[self.steps]]
        if not len(here):
            return None

        def mean(values: I64) -> int:
            return round(float(values[here].mean()))

        shown = self.of.pictures
        compute, overlap, communication, _ = (mean(part) for part in shown.overlap_ns[at].T)
        length = mean(table.length_ns)
        copy = mean(table.exposed_copy_ns) + mean(table.memset_ns)
        transferring, synchronizing = (mean(part) for part in shown.transfer_ns[at].T)
        is_shared = self.of.waiting.instances > 0
        return RankStep(
            compute_ns=compute,
            overlap_ns=overlap,
            communication_ns=communication,
            copy_ns=copy,
            idle_ns=length - compute - overlap - communication - copy,
            length_ns=length,
            transferring_ns=transferring if is_shared else None,
            synchronizing_ns=synchronizing if is_shared else None,
        )

    def inherited(self) -> tuple[I64, I64]:
        """Inherited part of each rank's cost to others, and its main origin; −1 none."""
        count = len(self.of.digests)
        of_whom = np.zeros((count, count), np.int64)
        if self.of.origins is not None:
            last = self.of.waiting.last[self.known]
            whom = self.of.origins.member[self.known]
            here = (whom >= 0) & (whom != last)
            np.add.at(of_whom, (last[here], whom[here]), self.waited[self.known[here]])
        total: I64 = of_whom.sum(axis=1)
        return total, np.where(total > 0, of_whom.argmax(axis=1) if count else 0, -1)

    def look_at(self) -> tuple[answers.WhoWaits, ...]:
        """The rank that costs most, the one that waits most, and one between; () during reading."""
        count = len(self.of.digests)
        if count < 2 or not self.cost.any() or self.compared.waiting:
            return ()
        named = self.of.verdict.member
        culprit = named if named >= 0 else int(np.argmax(self.cost))
        others = [at for at in range(count) if at != culprit]
        victim = max(others, key=lambda at: int(self.lost[at]))
        rest = sorted((at for at in others if at != victim), key=lambda at: int(self.lost[at]))
        kind: answers.RankPlaceKind = "late" if named >= 0 else "last"
        found = (answers.WhoWaits(culprit, kind), answers.WhoWaits(victim, "waits most"))
        return (*found, answers.WhoWaits(rest[len(rest) // 2], "median")) if rest else found

    @property
    def blame_ranks(self) -> int:
        """Ranks that share a row of the matrix, so that it can be looked at."""
        return max(-(-len(self.of.digests) // answers.MOST_IN_MATRIX), 1)

    def blame(self) -> tuple[tuple[int, ...], ...]:
        """Waiting time by last rank and waiting rank, per step; ``blame_ranks`` share a row."""
        if not len(self.known):
            return ()
        count, each = len(self.of.digests), self.blame_ranks
        matrix = np.zeros((-(-count // each), -(-count // each)), np.int64)
        here, waiting = self.known_entries, self.of.waiting
        last, waited = waiting.last[self.collective[here]], self.of.matches.member[here]
        np.add.at(matrix, (last // each, waited // each), waiting.wait_ns[here])
        return tuple(tuple(row) for row in (matrix // self.per).tolist())

    # --- heat maps ------------------------------------------------------------------------------

    def step_map(self) -> answers.HeatColumns:
        """Ranks by steps."""
        if not self.of.digests:
            return answers.HeatColumns((), (), (), (), ())
        numbers = self.of.step_numbers[self.steps]
        waiting = self.of.waiting.waiting_ns[:, self.steps]
        present = np.stack(
            [(one.steps.end_ns > one.steps.start_ns)[self.steps] for one in self.of.digests]
        )
        last = np.zeros(waiting.shape, np.int64)
        column = {int(step): at for at, step in enumerate(self.steps.tolist())}
        places = np.array([column[int(s)] for s in self.step[self.uneven]], np.int64)
        np.add.at(last, (self.of.waiting.last[self.uneven], places), 1)
        most = last.max(axis=0, initial=0)
        is_last = (last == most) & (last > 0) & ((last == most).sum(axis=0) == 1)
        own = self.of.replay.own
        excess = np.zeros(waiting.shape, np.int64)
        if own is not None:
            step = self.step[self.collective]
            here = np.flatnonzero(np.isin(step, self.steps))
            place = np.searchsorted(self.steps, step[here])
            np.add.at(excess, (self.of.matches.member[here], place), own.excess_ns[here])
        start: tuple[answers.RankCell, ...] = ()
        if self.of.clocks.comparable:
            begin = np.stack(
                [
                    self.of.clocks.at(at, one.steps.start_ns)[self.steps]
                    for at, one in enumerate(self.of.digests)
                ]
            )
            first = np.where(present, begin, np.iinfo(np.int64).max).min(axis=0)
            start = _cells(begin - first, present, is_last)
        return answers.HeatColumns(
            columns=tuple(map(str, numbers.tolist())),
            details=(),
            waiting=_cells(waiting, present, is_last) if self.of.waiting.instances else (),
            own=_cells(excess, present, is_last) if own is not None else (),
            start=start,
            links=tuple(
                Reference(f"Step {number} in Trace", "timeline", {"steps": str(number)})
                for number in numbers.tolist()
            ),
        )

    def collective_map(self) -> answers.HeatColumns:
        """Ranks by those collectives that most was waited in, in time order."""
        waits = self.waited[self.known]
        most = self.known[np.argsort(-waits, kind="stable")][: answers.MOST_COLUMNS]
        rows = np.sort(most)
        matches = self.of.matches

        def table(values: I64 | I32) -> I64:
            """A column beside the entries of these collectives: ranks by collectives."""
            found: I64 = matches.table(values, rows).T
            return found

        present = table(matches.call) >= 0
        is_last = np.zeros(present.shape, np.bool_)
        is_last[self.of.waiting.last[rows], np.arange(len(rows))] = True
        is_last[:, self.of.waiting.skew_ns[rows] <= 0] = False
        own = self.of.replay.own
        start: tuple[answers.RankCell, ...] = ()
        if self.of.clocks.comparable and len(rows):
            arrival, _ = self.extents
            start = _cells(table(arrival) - matches.least(arrival)[rows], present, is_last)
        work: tuple[answers.RankCell, ...] = ()
        if own is not None:
            there = present & (table(own.work_ns) >= 0)
            work = _cells(table(own.excess_ns), there, is_last)
        bytes_ = self.of.bandwidth.bytes[rows].tolist()
        return answers.HeatColumns(
            columns=tuple(self.of.matches.kind[row] for row in rows.tolist()),
            details=tuple(size(one) if one >= 0 else "" for one in bytes_),
            waiting=_cells(table(self.of.waiting.wait_ns), present, is_last),
            own=work,
            start=start,
            links=tuple(self._door(row) for row in rows.tolist()),
        )

    def _door(self, row: int) -> Reference:
        """A collective in Trace from the first arrival on, on the last rank and the first."""
        of = self.of
        entries = of.matches.entries(row)
        members = of.matches.member[entries]
        arrival, release = (one[entries] for one in self.extents)
        last = int(of.waiting.last[row])
        at = int(np.flatnonzero(members == last)[0]) if last in members else 0
        # On the clock of its own recording.
        shift = int(of.clocks.shift_ns[members[at]])
        begin = int(arrival.min() if of.clocks.comparable else arrival[at]) - shift
        link = at_time("Open in Trace", begin, int(release[at]) - shift - begin)
        first = int(members[arrival.argmin()])
        names = [self.compared.workers[one].place.worker for one in (int(members[at]), first)]
        ranks = {"worker": names[0]}
        if first != members[at]:
            ranks["workers"] = names[1].replace("%", "%25").replace(",", "%2C")
        return structs.replace(link, params={**link.params, **ranks})

    # --- collectives ----------------------------------------------------------------------------

    def table(self) -> tuple[DistributedCollective, ...]:
        """Collectives with most waiting first, then by time."""
        rows = np.flatnonzero(self.chosen)
        waits = self.waited
        rows = rows[np.argsort(-waits[rows], kind="stable")][: answers.MOST_COLLECTIVES]
        fast = self._fast()
        return tuple(self._collective(int(row), int(waits[row]), fast) for row in rows.tolist())

    def _collective(
        self, row: int, waited: int, fast: Mapping[int, float]
    ) -> DistributedCollective:
        of = self.of
        speed, bytes_ = of.bandwidth.bus_gbps[row], int(of.bandwidth.bytes[row])
        group = int(of.matches.group[row])
        step = int(self.step[row])
        is_known = int(of.waiting.last[row]) >= 0
        is_uneven = is_known and int(of.waiting.skew_ns[row]) > 0
        return DistributedCollective(
            number=row + 1,
            step=str(of.step_numbers[step]) if step >= 0 and len(of.step_numbers) else "",
            group=self.labels[group],
            operation=of.matches.kind[row],
            bytes=_known(bytes_),
            ranks=int(of.matches.count[row]),
            skew_ns=_known(int(of.waiting.skew_ns[row])) if of.clocks.comparable else None,
            waiting_ns=waited if is_known else None,
            transfer_ns=_known(int(of.bandwidth.transfer_ns[row])),
            algorithm_gbs=_figure(of.bandwidth.algorithm_gbps[row]),
            bus_gbs=_figure(speed),
            last=int(of.waiting.last[row]) if is_uneven else None,
            tied=int(of.waiting.tied[row]) if is_uneven else 0,
            match=METHODS[int(of.matches.method[row])],
            verdict=_verdict(bytes_, float(speed), fast.get(group, 0.0)),
            link=self._door(row),
        )

    def _fast(self) -> dict[int, float]:
        """Bus bandwidth of the fast large collectives of each group: the 95 % quantile.

        A group without a large one is held against those of the run.
        """
        speed = self.of.bandwidth.bus_gbps
        large = ~np.isnan(speed) & (self.of.bandwidth.bytes >= SMALL_BYTES)
        usual = float(np.quantile(speed[large], 0.95)) if large.any() else 0.0
        found = {}
        for group in range(len(self.of.groups)):
            here = speed[large & (self.of.matches.group == group)]
            found[group] = float(np.quantile(here, 0.95)) if len(here) else usual
        return found

    def bandwidth(self) -> tuple[BandwidthPoint, ...]:
        """Medians of each group, operation and size."""
        of = self.of.bandwidth
        rows = np.flatnonzero(self.chosen & ~np.isnan(of.bus_gbps) & (of.bytes > 0))
        members: dict[tuple[int, str, int], list[int]] = {}
        for row in rows.tolist():
            key = (int(self.of.matches.group[row]), self.of.matches.kind[row], int(of.bytes[row]))
            members.setdefault(key, []).append(row)
        return tuple(
            BandwidthPoint(
                group=self.labels[group],
                operation=kind,
                bytes=bytes_,
                count=len(those),
                transfer_ns=int(np.median(of.transfer_ns[those])),
                algorithm_gbs=float(np.median(of.algorithm_gbps[those])),
                bus_gbs=float(np.median(of.bus_gbps[those])),
            )
            for (group, kind, bytes_), those in sorted(members.items())
        )

    # --- groups ---------------------------------------------------------------------------------

    def groups(self) -> tuple[DistributedGroup, ...]:
        """All process groups that collectives of the chosen steps ran in."""
        exposed, blocking = self._exposure()
        steps = np.arange(len(self.steps))
        shapes = [shape_of(group.ranks) for group in self.of.groups]
        alike = Counter(shapes)
        found = []
        for number, group in enumerate(self.of.groups):
            rows = np.flatnonzero(self.chosen & (self.of.matches.group == number))
            counts = Counter(self.of.matches.kind[row] for row in rows.tolist())
            key = range_text(group.ranks)
            given = self.given_roles.get(key) or self.given_roles.get(shapes[number], "")
            role = self.of.roles[number]
            bytes_ = self.of.bandwidth.bytes[rows]
            share = self.per * max(len(group.members), 1)
            each = max(len(group.members), 1)
            found.append(
                DistributedGroup(
                    key=key,
                    shape=shapes[number],
                    alike=alike[shapes[number]] if shapes[number] else 1,
                    label=self.labels[number],
                    backend=group.backend,
                    size=len(group.ranks),
                    missing=said_ranks(group.missing) if group.missing else "",
                    role=given or ROLE_NAMES.get(role.role, role.role),
                    why="chosen" if given else role.why,
                    operations=", ".join(
                        f"{_per_step(count, self.per)} {kind}{other_role(role, kind, given)}"
                        for kind, count in counts.most_common()
                    ),
                    bytes=int(bytes_[bytes_ > 0].sum()) // self.per,
                    exposed_ns=int(exposed[number].sum()) // share,
                    blocking_ns=int(blocking[number].sum()) // share,
                    exposed_by_step=tuple((exposed[number, steps] // each).tolist()),
                    blocking_by_step=tuple((blocking[number, steps] // each).tolist()),
                    note=group.low_confidence,
                )
            )
        return tuple(found)

    def layout(self, groups: Sequence[DistributedGroup]) -> answers.RankLayout:
        """The ranks by their places in the groups, whose roles are given or guessed."""
        pairs = zip(self.of.groups, groups, strict=True)
        parts = [GroupOfRanks(group.ranks, shown.role) for group, shown in pairs]
        rows = {digest.rank: at for at, digest in enumerate(self.of.digests)}
        return layout_of(parts, self.of.world_size, rows)

    def _exposure(self) -> tuple[I64, I64]:
        """Exposed and blocking time of each group, summed over ranks, by chosen step.

        The last column is of what lies in no step.
        """
        shape = (len(self.of.groups), len(self.steps) + 1)
        exposed, blocking = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        column = np.full(len(self.of.step_numbers) + 1, len(self.steps), np.int64)
        column[self.steps] = np.arange(len(self.steps))
        for m, digest in enumerate(self.of.digests):
            here = self.of.matches.entries_of(m)
            here = here[self.chosen[self.collective[here]]]
            rows = self.of.matches.call[here]
            place = (
                self.of.matches.group[self.collective[here]],
                column[self.step[self.collective[here]]],
            )
            np.add.at(exposed, place, digest.calls.exposed_ns[rows])
            np.add.at(blocking, place, digest.calls.blocking_ns[rows])
        return exposed, blocking

    # --- operations -----------------------------------------------------------------------------

    def operations(self, member: int) -> tuple[RankOperation, ...]:
        """Calls by operation and group, of one rank or of all, as the former plugin counted them.

        Latency and transfer are unions of ranges, so calls at the same time count once.
        """
        of = self.of
        members = range(len(of.digests)) if member < 0 else [member]
        rows = operations(
            of.digests, of.groups, of.matches, of.bandwidth, of.pictures.shortest_ns, members,
            self.steps,
        )  # fmt: skip
        return tuple(self._operation(row) for row in rows)

    def _operation(self, row: OperationRow) -> RankOperation:
        shared = row.calls - row.alone
        transfer = _known(row.transfer_ns)
        return RankOperation(
            operation=row.kind,
            group=self.labels[row.group] if row.group >= 0 else "",
            calls=row.calls,
            alone=row.alone,
            total_bytes=_known(row.bytes),
            mean_bytes=row.bytes / row.calls if row.bytes >= 0 else None,
            latency_ns=row.latency_ns,
            mean_latency_ns=row.latency_ns / row.calls,
            transfer_ns=transfer,
            mean_transfer_ns=None if transfer is None else transfer / shared,
            algorithm_gbs=_figure(row.algorithm_gbps),
            bus_gbs=_figure(row.bus_gbps),
        )


def _labels(groups: Sequence[tuple[str, Sequence[int]]]) -> list[str]:
    """Name of each group; groups of equal name have their ranks beside it."""
    count = Counter(label for label, _ in groups)
    return [
        label if count[label] == 1 else f"{label} {range_text(ranks)}" for label, ranks in groups
    ]


def _received(of: Comparison) -> dict[int, int]:
    """Rank → bytes received in all_to_all with recorded parts, per step."""
    steps = max((len(one.steps) for one in of.digests), default=1)
    found: dict[int, int] = {}
    for one in of.bandwidth.imbalance:
        for rank, count in zip(one.ranks, one.received_bytes, strict=True):
            found[rank] = found.get(rank, 0) + count // max(steps, 1)
    return found


def _bare_rank(
    name: str, rank: int | None, problem: str, digest: RankDigest | None
) -> DistributedRank:
    """Data from a worker's name and its recording alone."""
    node, process = node_of(name)
    devices = [one for one in digest.devices if one.used] if digest is not None else []
    first = devices[0] if devices else None
    return DistributedRank(
        worker=name,
        rank=rank,
        used=False,
        problem=problem,
        node=(digest.host_name if digest is not None else "") or node,
        process=process,
        role=process_role(name),
        device=", ".join(dict.fromkeys(one.name for one in devices if one.name)),
        device_index=", ".join(str(one.index) for one in devices),
        memory_bytes=(first.memory_bytes or None) if first else None,
        capability=first.capability if first else "",
        step=None,
        busy_ratio=None,
        own_ns=None,
        excess_ns=None,
        cost_ns=None,
        inherited_ns=None,
        inherited_from=None,
        lost_ns=None,
        times_last=None,
        brought_in_ns=None,
        gain_ns=None,
        uncertainty_ns=None,
        received_bytes=None,
    )


LEAST_STRIDED = 4


def range_text(ranks: Sequence[int]) -> str:
    """``0-7``, ``0,8,16``, ``0-56:8``: ranks as a key; at equal distances the first and last.

    >>> range_text([0, 1, 2, 5]), range_text(range(0, 64, 8))
    ('0-2,5', '0-56:8')
    """
    stride = stride_of(ranks)
    if stride > 1 and len(ranks) >= LEAST_STRIDED:
        return f"{ranks[0]}-{ranks[-1]}:{stride}"
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def stride_of(ranks: Sequence[int]) -> int:
    """The distance between neighbours; 0 where it is not the same for all, or there are none."""
    found = {b - a for a, b in itertools.pairwise(ranks)}
    return found.pop() if len(found) == 1 else 0


def shape_of(ranks: Sequence[int]) -> str:
    """``8x1``: eight neighbours; "" where they are not at equal distances.

    >>> shape_of(range(0, 64, 8)), shape_of([0, 1, 4])
    ('8x8', '')
    """
    stride = stride_of(ranks)
    return f"{len(ranks)}x{stride}" if stride else ""


def _cells(
    values: NDArray[np.int64] | NDArray[np.float64],
    present: NDArray[np.bool_],
    last: NDArray[np.bool_],
) -> tuple[answers.RankCell, ...]:
    numbers = np.where(np.isnan(values), 0, values).astype(np.int64).tolist()
    there = (present & ~np.isnan(values)).tolist()
    return tuple(
        answers.RankCell(
            tuple(n if is_there else None for n, is_there in zip(row, seen, strict=True)),
            tuple(marks),
        )
        for row, seen, marks in zip(numbers, there, last.tolist(), strict=True)
    )


def _verdict(bytes_: int, speed: float, fast: float) -> str:
    if np.isnan(speed) or fast <= 0:
        return ""
    if bytes_ < SMALL_BYTES:
        return "latency-bound" if speed < SLOW_RATIO * fast else ""
    return "bandwidth-bound" if speed >= FAST_RATIO * fast else ""


def _mean(values: NDArray[np.float64]) -> int | None:
    return None if not len(values) or np.isnan(values).all() else round(float(np.nanmean(values)))


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def _figure(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _per_step(count: int, steps: int) -> str:
    return str(count // steps) if count % steps == 0 else f"{count / steps:.1f}"
