"""The straggler: the first of these verdicts that holds, with its figures.

| said | where |
|---|---|
| from a step on | as *time*, from one step on: three steps on both sides, a change that is beyond chance (1 % over all ranks, nodes and steps) |
| time | own time above the peers' median by 10 % (back end of the host) or 2 % (device) in the median step, beyond what ranks differ by anyway, longest of the peers in two thirds of three steps or more; it costs 2 % of the median step |
| work | the only rank that runs something for 2 % of every step, in two steps or more; it costs 2 % of a step |
| some steps | two steps or more of one rank are 1.5 times as far above, and cost 1.5 times what any other costs; of other ranks none are, or so few that chance does not deal them so (1 % over all ranks) |
| nobody | three steps or more, nobody costs 10 % (host) or 2 % (device) of the median step, and ranks vary so little that such a rank would be seen |

On the host, ranks whose excess no range or op explains are not named if another rank has a step as
far above: processes that share a CPU look so.

Ranks that are late together are named together, up to half of the ranks and at most eight; where
they are two thirds of a node and few elsewhere, the node is. In all other cases it cannot be told,
and the largest costs are said.
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....base.arrays import F64, I64
from ....base.units import duration, listing, plural, share
from ...diff.noise import two_sided
from ..clocks import Clocks
from ..matching import Matches
from ..model import RankDigest
from ..waiting import Waiting
from .causes import (
    LatenessCause,
    LongerWork,
    cause_of,
    is_longer_in_each,
    longer_work,
    own_parts,
    work_of_one,
)
from .cost import late_cost, uncertainty
from .excess import end_excess, without_excess
from .nodes import Node, rows_of
from .own_time import (
    LEAST_GAIN,
    OUTLIER,
    TIE_NS,
    OwnTime,
    by_step,
    is_beyond_chance,
    is_often_longest,
    least_share,
    mean_length,
    usual_above,
    usual_spread,
)
from .replay import JointGraph, lengths

LEAST_STEPS = 3
MOST_NAMED = 8
MOST_OF_ITS_RANKS = 2 / 3
FEW_ELSEWHERE = 0.1
CHANCE = 0.01
"""Chance that a change of own time is claimed at some step of some rank without one."""
PAIR_CHANCE = 0.02
"""Chance that one of two equal ranks is called slower; no third rank shows the spread."""
CLEAR = 1.5
"""Times the usual threshold that a few steps have to be above."""
APART = 1.5
"""Times the largest other cost that the cost in a few steps has to be."""
MOST_CANDIDATES = 2


class Verdict(Struct, frozen=True):
    """Verdict on late ranks, as a sentence and as data."""

    kind: str  # "onset", "time", "work", "some_steps", "none", "unknown"
    members: tuple[int, ...]  # digests that are named, those of a node too
    sentence: str
    cause: LatenessCause | None = None
    gain_ns: int = -1  # per step, by the replay; −1 not available
    ceiling_ns: int = -1  # per step, what their lateness costs; −1 not available
    first_late: tuple[int, int] = (-1, -1)  # digest and collective of the first own lateness
    node: int = -1  # row of the nodes, where a whole node is late
    since: int = -1  # row of the steps from which on, of an onset

    @property
    def member(self) -> int:
        """The rank that is named, the first of several; −1 of a node, and where none is."""
        return self.members[0] if self.members and self.node < 0 else -1


class _Found(Struct, frozen=True):
    """Ranks that are late together, and in which steps."""

    members: tuple[int, ...]
    steps: tuple[int, ...]
    node: int = -1


class LatenessEvidence(Struct, frozen=True, eq=False):
    """Inputs of a verdict."""

    digests: Sequence[RankDigest]
    matches: Matches
    clocks: Clocks
    waiting: Waiting
    nodes: Sequence[Node]
    joint: JointGraph | None
    own: OwnTime | None
    refused: str  # why the replay answers no question about gains
    unknown_groups: str  # why calls may be of other groups than they are matched in, "" known


def verdict(run: LatenessEvidence) -> Verdict:
    """The named ranks, if any."""
    meets = run.matches.meetings(run.digests) & (run.matches.count > 1)
    if len(run.digests) < 2 or not meets.any():
        return Verdict(
            "unknown", (), "Fewer than two ranks share a collective in these recordings."
        )
    if run.own is None or run.joint is None:
        return Verdict("unknown", (), f"Cannot tell which rank is late. {run.refused}".strip())
    return _Judge(run, run.own, run.joint).said()


class _Judge:
    def __init__(self, run: LatenessEvidence, own: OwnTime, joint: JointGraph) -> None:
        self.run, self.own, self.joint = run, own, joint
        self.steps = own.steps
        self.count = len(run.digests)
        self.least = least_share(run.digests)
        lengths_ns = own.measured_ns[:, list(own.steps)]
        self.length: F64 = np.median(lengths_ns, axis=0) if len(own.steps) else np.zeros(0)
        self.cost = self._cost(None)
        self.above = own.above[:, list(own.steps)]
        self.compared = [m for m in range(self.count) if not np.isnan(self.above[m]).any()]

    def _cost(self, place: I64 | None) -> F64:
        """Cost of places as a share of each step that counts (places, S).

        No more than the longest wait of a rank of another place: on the host, not all time without
        an op is waiting.
        """
        place = np.arange(self.count) if place is None else place
        cost = late_cost(self.run.digests, self.run.matches, self.run.clocks, place)
        cost = cost[:, list(self.steps)]
        waits = (self.own.measured_ns - self.own.own_ns)[:, list(self.steps)]
        order = np.argsort(-waits, axis=0, kind="stable")
        for at in range(len(self.steps)):
            first = order[0, at]
            rest = [m for m in order[:, at].tolist() if place[m] != place[first]]
            most = np.full(len(cost), waits[first, at])
            if place[first] >= 0:
                most[place[first]] = waits[rest[0], at] if rest else 0
            cost[:, at] = np.minimum(cost[:, at], np.maximum(most, 0))
        shares: F64 = cost / np.maximum(self.length, 1)
        return shares

    def _cost_of(self, members: Sequence[int]) -> F64:
        """The cost of ranks that count as one, of each step."""
        place = np.arange(self.count)
        place[list(members)] = members[0]
        shares = self.cost if len(members) == 1 else self._cost(place)
        mine: F64 = shares[members[0]]
        return mine

    def said(self) -> Verdict:
        if not self.steps:
            return Verdict(
                "unknown", (), "Cannot tell which rank is late: no step is on all ranks."
            )
        for kind, find in (("onset", self._onset), ("time", self._time)):
            found = find() if self.compared else None
            if found is not None and self._is_of_machine(found):
                return self._work() or self._of_machine(found)
            if found is not None:
                return self._named(kind, found)
        return self._work() or self._some_steps() or self._not_named()

    def _is_of_machine(self, found: _Found) -> bool:
        """True if ranks may only have got less of a busy CPU.

        No work explains the excess, and another rank is as far above its peers in some step.
        """
        if any(one.on_device for one in self.run.digests) or self._longer(found) is not None:
            return False
        others = [m for m in self.compared if m not in found.members]
        return bool((self.above[others] >= self.least).any())

    def _of_machine(self, found: _Found) -> Verdict:
        who, count = self._names(found.members).lower(), max(2 * len(self.steps), 10)
        text = (
            f"Cannot tell which rank is late: {who} may be, by {duration(self._excess(found))} a"
            " step. No work of its own explains it, and others take longer in some steps, as on a"
            f" busy CPU. Record {count} steps on an idle machine."
        )
        return Verdict("unknown", (), text)

    # --- time -------------------------------------------------------------------------------------

    def _time(self, least_cost: float = LEAST_GAIN) -> _Found | None:
        if len(self.steps) < LEAST_STEPS:
            return None
        middle = np.full(self.count, -np.inf)
        middle[self.compared] = np.median(self.above[self.compared], axis=1)
        late = np.flatnonzero(middle >= self.least).tolist()
        return self._together(late, middle, range(len(self.steps)), least_cost)

    def _together(
        self, late: Sequence[int], above: F64, at: Sequence[int], least_cost: float = LEAST_GAIN
    ) -> _Found | None:
        """A node of late ranks, else all of them, else the latest alone."""
        steps = tuple(self.steps[one] for one in at)
        node = self._node(late, above, at)
        if node >= 0:
            return _Found(self.run.nodes[node].members, steps, node)
        order = sorted(late, key=lambda m: -above[m])
        tries = [order] if 1 < len(order) <= min(self.count // 2, MOST_NAMED) else []
        for members in [*tries, order[:1]]:
            if members and self._holds(members, at, least_cost):
                return _Found(tuple(sorted(members)), steps)
        return None

    def _holds(self, members: Sequence[int], at: Sequence[int], least_cost: float) -> bool:
        """True if ranks are longest, beyond chance, and cost the others something."""
        steps = [self.steps[one] for one in at]
        here = self.above[:, list(at)]
        above = float(np.median(np.median(here[list(members)], axis=1)))
        return bool(
            is_often_longest(self.own, members, steps)
            and is_beyond_chance(self.own, members, above, steps)
            and (self.count > 2 or _is_certain(here[members[0]]))
            and np.median(self._cost_of(members)[list(at)]) >= least_cost
        )

    def _node(self, late: Sequence[int], above: F64, at: Sequence[int]) -> int:
        """The node whose ranks are late, and few others are; −1 none."""
        nodes = self.run.nodes
        if len(nodes) < 2 or sum(len(one.members) for one in nodes) < self.count:
            return -1
        by_node = np.array([np.median(self.above[list(one.members)], axis=0) for one in nodes])
        by_node = np.nan_to_num(by_node[:, list(at)], nan=-np.inf)
        for number, node in enumerate(nodes):
            mine = [m for m in node.members if m in late]
            few = max(FEW_ELSEWHERE * self.count, 1 if len(node.members) > 2 else 0)
            if len(node.members) < 2 or len(mine) < MOST_OF_ITS_RANKS * len(node.members):
                continue
            longest = (by_node.argmax(axis=0) == number).mean() >= MOST_OF_ITS_RANKS
            usual = float(np.median(above[mine]))
            steps = [self.steps[one] for one in at]
            if (
                len(late) - len(mine) <= few
                and longest
                and is_beyond_chance(self.own, node.members, usual, steps)
                and np.median(self._cost_of(node.members)[list(at)]) >= LEAST_GAIN
            ):
                return number
        return -1

    # --- from a step on ---------------------------------------------------------------------------

    def _onset(self) -> _Found | None:
        count = len(self.steps)
        if count < 2 * LEAST_STEPS:
            return None
        nodes = [one for one in self.run.nodes if 1 < len(one.members) < self.count]
        units: list[tuple[int, ...]] = [(m,) for m in self.compared]
        units += [one.members for one in nodes if set(one.members) <= set(self.compared)]
        tests = len(units) * (count - 2 * LEAST_STEPS + 1)
        begins = {}
        for unit in units:
            at, p = self._change(np.median(self.above[list(unit)], axis=0))
            if at and p * tests <= CHANCE:
                begins[unit] = at
        late = [unit[0] for unit in begins if len(unit) == 1]
        late += [m for unit in begins if len(unit) > 1 for m in unit]
        late = sorted(set(late))
        if not late:
            return None
        begin = int(np.median(list(begins.values())))
        after = range(begin, count)
        above = np.full(self.count, -np.inf)
        above[self.compared] = np.median(self.above[self.compared][:, begin:], axis=1)
        late = [m for m in late if above[m] >= self.least]
        return self._together(late, above, after) if late else None

    def _change(self, values: F64) -> tuple[int, float]:
        """The step from which on a rank is late, 0 none; and the chance of such a change."""
        found, least = 0, 1.0
        for at in range(LEAST_STEPS, len(values) - LEAST_STEPS + 1):
            before, after = values[:at], values[at:]
            if np.median(after) < self.least or np.median(before) >= self.least / 2:
                continue
            errors = [one.var(ddof=1) / len(one) for one in (before, after)]
            square = sum(errors)
            if square <= 0:
                return at, 0.0
            free = square**2 / sum(
                error**2 / (len(one) - 1)
                for error, one in zip(errors, (before, after), strict=True)
            )
            p = two_sided(float(after.mean() - before.mean()) / math.sqrt(square), free)
            if p < least:
                found, least = at, p
        return found, least

    # --- work of one rank, and a few steps --------------------------------------------------------

    def _work(self) -> Verdict | None:
        """The rank that runs for long what no other runs."""
        if len(self.steps) < 2:
            return None
        costly = [m for m in self.compared if self.cost[m].max() >= LEAST_GAIN
                  and usual_above(self.own, [m]) > 0]  # fmt: skip
        found = work_of_one(self.run.digests, self.steps, costly)
        if not found:
            return None
        m = max(found, key=lambda one: found[one].mine_ns)
        one = found[m]
        text = (
            f"{self._names([m])} runs `{one.name}` for {duration(one.mine_ns)} a step;"
            " no other rank does."
        )
        return self._verdict("work", _Found((m,), self.steps), text)

    def _late_steps(self, times: float = CLEAR) -> NDArray[np.bool_]:
        """The steps in which each rank is late, by so many usual thresholds (R, S)."""
        least, above = times * self.least, np.nan_to_num(self.above)
        late: NDArray[np.bool_] = (self.cost >= least) & (above >= least)
        return late

    def _some_steps(self) -> Verdict | None:
        """A rank that is late in a few steps, at least two; others hardly are, or by chance."""
        if len(self.steps) < LEAST_STEPS or not self.compared:
            return None
        is_late = self._late_steps()
        times = is_late.sum(axis=1)
        m = int(times.argmax())
        if times[m] < 2 or not self._is_often_it(times, m):
            return None
        at = np.flatnonzero(is_late[m]).tolist()
        over = np.nan_to_num(self.above) * self.own.bare_ns[:, list(self.steps)] / self.length
        others = np.where(is_late, 0, np.minimum(self.cost, over))  # the rest is inherited
        if self.cost[m, at].min() < APART * others.max(initial=0):
            return None
        found = _Found((m,), tuple(self.steps[one] for one in at))
        numbers = self.run.digests[m].steps.number
        which = listing([str(int(numbers[step])) for step in found.steps])
        who, count, work = self._names([m]), len(self.steps), self._longer(found)
        if work is not None and is_longer_in_each(
            self.run.digests, self.steps, m, self._peers(found), work
        ):
            found = _Found((m,), self.steps)  # other times vary, so that it is not always longest
            at, which = list(range(count)), ""
        by = f"by {duration(self._excess(found))}{self._why(found)}."
        if len(at) == count or ((self.above[m] > 0).all() and self.cost[m].min() >= LEAST_GAIN):
            some = f"; in {len(at)} of them ({which}) " if len(at) < count else ", "
            text = f"{who} is slower by itself in all {count} steps{some}{by}"
        else:
            text = f"{who} is slower by itself in {len(at)} of {count} steps ({which}), {by}"
        return self._verdict("some_steps", found, text)

    def _in_doubt(self, most: float) -> str:
        """Why no rank is named although one may be late, by the largest cost; "" for none."""
        if most >= self.least:
            return "no rank is the slowest in most steps"
        times = self._late_steps(1.0).sum(axis=1)
        m = int(times.argmax())
        if times[m] > 1 and self._is_often_it(times, m):
            return f"{self._names([m]).lower()} may be, in {times[m]} of {len(self.steps)} steps"
        if self._late_steps().sum(axis=1).max() > 1:
            return "several ranks are, in a few steps each"
        spread = OUTLIER * usual_spread(self.own)
        varies = f"own times vary too much to see less than {share(spread)}"
        return varies if spread > self.least else ""

    def _hidden_by_clocks(self) -> str:
        """The ranks that need longer, where clocks do not tell if others wait for it; "" none."""
        unsure = int(uncertainty(self.run.digests, self.run.clocks).max())
        found = self._time(0.0) if self.run.clocks.comparable and unsure else None
        if found is None:
            return ""
        are = "is" if len(found.members) == 1 else "are"
        return (
            f"{self._names(found.members).lower()} {are} {duration(self._excess(found))} a step"
            f" slower, but clocks may be off by {duration(unsure)}, so that it is not known if"
            " others wait for that"
        )

    def _is_often_it(self, times: I64, m: int) -> bool:
        """True if one rank has more of all late steps than chance explains."""
        total, mine = int(times.sum()), int(times[m])
        if total == mine:
            return True
        count, p = len(self.compared), 1 / len(self.compared)
        tail = sum(
            math.comb(total, k) * p**k * (1 - p) ** (total - k) for k in range(mine, total + 1)
        )
        return count * tail <= CHANCE

    # --- sentences --------------------------------------------------------------------------------

    def _named(self, kind: str, found: _Found) -> Verdict:
        text = ""
        if kind == "onset":
            text = f"From step {self.run.digests[0].steps.number[found.steps[0]]} on, "
        amount = f"{duration(self._excess(found))} a step"
        if found.node >= 0:
            node = self.run.nodes[found.node]
            text += f"node {node.name} is {amount} slower than its peers{self._why(found)}."
        else:
            who = self._names(found.members)
            are = "is" if len(found.members) == 1 else "are"
            other = ""
            if self.count == 2:
                other = f" than rank {self.run.digests[1 - found.members[0]].rank}"
            who = who.lower() if text else who
            text += f"{who} {are} {amount} slower by {'itself' if are == 'is' else 'themselves'}"
            text += f"{other}{self._why(found)}."
        return self._verdict(kind, found, text[0].upper() + text[1:])

    def _verdict(self, kind: str, found: _Found, text: str) -> Verdict:
        gain = self._gain(found.members)
        if gain > 0:
            # The gain is one of replayed steps, so its share is of them, as in a what-if.
            replayed = mean_length(lengths(self.joint, self.joint.times()), self.own.chosen)
            amount = f"{duration(gain)} ({share(gain / replayed)})"
            text += f" Without that, steps would be {amount} shorter."
        m = self._typical(found)
        peers = self._peers(found)
        parts = own_parts(self.joint, self.joint.alone(), self.own.chosen)
        cost = float((self._cost_of(found.members) * self.length).mean())
        return Verdict(
            kind=kind,
            members=found.members,
            sentence=text,
            cause=cause_of(self.run.digests, self.joint, parts, self.own.chosen, m, peers),
            gain_ns=gain,
            ceiling_ns=round(cost),
            first_late=self._first_late(m) if found.node < 0 else (-1, -1),
            node=found.node,
            since=found.steps[0] if kind == "onset" else -1,
        )

    def _names(self, members: Sequence[int]) -> str:
        ranks = [self.run.digests[m].rank for m in members]
        said = [
            str(rank) if rank >= 0 else f"of worker {m}"
            for rank, m in zip(ranks, members, strict=True)
        ]
        return f"Rank {said[0]}" if len(said) == 1 else f"Ranks {listing(said)}"

    def _excess_of(self, m: int, steps: Sequence[int]) -> float:
        own, above = self.own.bare_ns[m, list(steps)], self.own.above[m, list(steps)]
        return float(np.median(own * above / (1 + above)))

    def _excess(self, found: _Found) -> float:
        """Own time beyond that of the peers, per step; the median of the ranks."""
        return float(np.median([self._excess_of(m, found.steps) for m in found.members]))

    def _typical(self, found: _Found) -> int:
        """The rank in the middle of those that are named."""
        order = sorted(found.members, key=lambda m: self._excess_of(m, found.steps))
        return order[len(order) // 2]

    def _peers(self, found: _Found) -> list[int]:
        """The peers of the rank in the middle that are not named with it."""
        peers = self.own.peers[self._typical(found)]
        return [int(one) for one in peers if one not in found.members]

    def _longer(self, found: _Found) -> LongerWork | None:
        """The work that takes longer there than on peers, or runs there alone; None unknown."""
        m = self._typical(found)
        excess = self._excess_of(m, found.steps)
        alone = work_of_one(self.run.digests, found.steps, [m]).get(m)
        if alone and alone.mine_ns >= excess / 2:
            return alone
        return longer_work(self.run.digests, found.steps, m, self._peers(found), excess)

    def _why(self, found: _Found) -> str:
        """The longer work there, as the end of a sentence; "" unknown."""
        work = self._longer(found)
        return f": {work.text}" if work else ""

    def _gain(self, members: Sequence[int]) -> int:
        """Shorter steps without the excess of these ranks; −1 where that is not known."""
        if self.run.refused:
            return -1
        if len(members) == 1 and self.own.gain_ns[members[0]] >= 0:
            return int(self.own.gain_ns[members[0]])
        alone = self.joint.alone()
        weight = without_excess(
            self.joint, alone, self.own.excess_ns, end_excess(self.joint, alone), members
        )
        before = lengths(self.joint, self.joint.times())
        after = lengths(self.joint, self.joint.times(weight))
        chosen = self.own.chosen
        return round(float((by_step(before, chosen) - by_step(after, chosen)).mean()))

    def _first_late(self, m: int) -> tuple[int, int]:
        """The first collective to which the rank brings an own excess that is no tie."""
        matches, own = self.run.matches, self.own
        here = matches.entries_of(m)
        late = here[(own.excess_ns[here] > TIE_NS) & (own.lateness_ns[here] > TIE_NS)]
        return m, int(matches.collective[late[0]]) if len(late) else -1

    # --- nobody, or not known ---------------------------------------------------------------------

    def _not_named(self) -> Verdict:
        cost = np.median(self.cost, axis=1)
        by_node = np.zeros(1)
        if len(self.run.nodes) > 1:
            by_node = np.median(self._cost(np.array(rows_of(self.run.nodes, self.count))), axis=1)
        most = max(float(cost.max(initial=0)), float(by_node.max(initial=0)))
        start = self._late_start()
        if len(self.steps) < LEAST_STEPS:
            steps = plural(len(self.steps), "step")
            text = f"Cannot tell which rank is late from {steps}: record {2 * LEAST_STEPS} or more."
        elif not self.compared:
            text = "Cannot tell which rank is late: no two ranks make the same calls."
        elif hidden := self._hidden_by_clocks():
            text = f"Cannot tell which rank is late: {hidden}."
        elif (doubt := self._in_doubt(most)) and self.run.unknown_groups:
            text = f"Cannot tell which rank is late: {self.run.unknown_groups}."
        elif doubt:
            text = (
                f"Cannot tell which rank is late: {doubt}."
                f" Record {max(2 * len(self.steps), 10)} steps."
            )
        elif not self.run.clocks.comparable and np.nan_to_num(self.above).max() >= self.least:
            text = "Cannot tell which rank is late: the clocks of the ranks cannot be compared."
        else:
            return Verdict("none", (), f"{self._nobody()}{self._one_step()}{start}")
        largest = [m for m in np.argsort(-cost, kind="stable").tolist() if cost[m] >= LEAST_GAIN]
        if largest:
            said = [f"{self._names([m]).lower()} {share(float(cost[m]))}" for m in largest]
            text += f" Largest costs of a step: {listing(said[:MOST_CANDIDATES])}."
        return Verdict("unknown", (), f"{text}{start}")

    def _nobody(self) -> str:
        """Verdict that no rank makes the others wait, and which is slower at no cost."""
        stages = len({int(self.own.peers[m][0]) for m in self.compared}) > 1
        middle = np.nan_to_num(np.median(self.above, axis=1))
        m = int(np.argmax(middle))
        if middle[m] >= self.least:
            return (
                f"No rank makes the others wait. {self._names([m])} needs"
                f" {share(float(middle[m]))} more time than its peers, which costs others"
                f" {share(float(np.median(self.cost[m])))} of a step."
            )
        if stages:
            return "No rank is a straggler among the ranks that make the same calls."
        return "No rank is a straggler."

    def _one_step(self) -> str:
        """The step in which one rank alone held up the others; "" none."""
        is_late = (self.cost >= CLEAR * self.least) & (
            np.nan_to_num(self.above) >= CLEAR * self.least
        )
        who, at = np.nonzero(is_late)
        if len(who) != 1:
            return ""
        m, step = int(who[0]), self.steps[int(at[0])]
        number = int(self.run.digests[m].steps.number[step])
        late = duration(self._excess_of(m, (step,)))
        return f" In step {number} alone, {self._names([m]).lower()} takes {late} longer."

    def _late_start(self) -> str:
        """Which rank began late, which is from before the recording; "" none."""
        own = self.own
        if not self.run.clocks.comparable:
            return ""
        late = int(np.argmax(own.brought_in_ns))
        brought = int(own.brought_in_ns[late] - np.median(own.brought_in_ns))
        usual = np.nan_to_num(self.above[late])
        length = float(np.median(self.length))
        if brought <= max(LEAST_GAIN * length, TIE_NS) or np.median(usual) >= self.least:
            return ""
        start = duration(int(own.brought_in_ns[late]))
        return f" {self._names([late])} starts {start} late; its own work is normal."


def _is_certain(above: F64) -> bool:
    """True if the slower of two ranks is so beyond chance, by its steps alone."""
    times = np.log1p(above)  # a rank that is twice as slow is as far away as one twice as fast
    error = float(times.std(ddof=1)) / math.sqrt(len(times)) if len(times) > 1 else math.inf
    mean = float(times.mean())
    return error == 0 or two_sided(mean / error, len(above) - 1) <= PAIR_CHANCE
