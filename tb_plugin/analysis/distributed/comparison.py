"""What do the recordings of several ranks say together?

``compare`` is the whole analysis of a run on the digests of its ranks: who is there, which
collectives belong together, whose clock is off, who waited for whom, who is to blame and why, how
fast data moved. Pure; O(calls). What cannot be computed is said in ``notes``, in a
``reason`` or in ``refused``, and the rest is computed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from ...base.arrays import I64
from ...base.units import listing, share
from .bandwidth import Bandwidth, bandwidth
from .clocks import Clocks, fit_clocks
from .lateness.nodes import Node, nodes_of, rows_of
from .lateness.origins import Origins, origins
from .lateness.own_time import TIE_NS, OwnTime, own_time
from .lateness.replay import (
    MOST_RESIDUAL,
    JointGraph,
    Refusal,
    Residual,
    anchors,
    joint_graph,
    residual,
    shortest,
)
from .lateness.verdict import LatenessEvidence, Verdict, verdict
from .matching import Matches, RunGroup, match
from .model import DigestSteps, RankDigest
from .pictures import Pictures, pictures
from .pipeline import Pipeline, pipelines
from .roles import GroupRole, guess_roles
from .waiting import Waiting, wait

MOST_SAID = 8
STAGES = 9
"""Of ``compare``: matching, clocks, waiting, replay, verdict, bandwidth, roles, pipelines, rest."""

T = TypeVar("T")


class Member(Struct, frozen=True):
    """One recording of the run."""

    label: str
    rank: int
    digest: int  # row of Comparison.digests, −1: left out
    problem: str


class SetNote(Struct, frozen=True):
    """Something to know about the set of recordings."""

    kind: str  # "missing_ranks", "duplicate_ranks", "step_sets", "no_communication", "unmatched" …
    text: str


class Replay(Struct, frozen=True, eq=False):
    """The replay of a run, or why there is none."""

    refused: str  # "" where questions are answered
    joint: JointGraph | None  # None where not even a graph can be made
    error: Residual | None
    own: OwnTime | None  # None: own times are not available


class Comparison(Struct, frozen=True, eq=False):
    """Everything that a set of digests says; R digests, S steps, I collectives."""

    members: tuple[Member, ...]
    digests: tuple[RankDigest, ...]  # of the members that are used, by rank, steps aligned
    step_numbers: I64  # (S,)
    world_size: int
    missing: tuple[int, ...]
    notes: tuple[SetNote, ...]
    nodes: tuple[Node, ...]
    groups: tuple[RunGroup, ...]
    roles: tuple[GroupRole, ...]
    matches: Matches
    clocks: Clocks
    waiting: Waiting
    replay: Replay
    verdict: Verdict
    origins: Origins | None  # None where the replay is refused
    bandwidth: Bandwidth
    pipelines: tuple[Pipeline, ...]
    pictures: Pictures

    def rank(self, digest: int) -> int:
        """The rank of a digest."""
        return self.digests[digest].rank


def compare(
    digests: Sequence[RankDigest],
    labels: Sequence[str],
    ranks: Sequence[int | None] | None = None,
    on_stage: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  # nobody asks
) -> Comparison:
    """The analysis of a run.

    ``ranks`` are what is known of the ranks otherwise, by file name or worker; what a recording
    says itself goes before. Recordings of unknown rank are counted in the order given.
    ``on_stage`` takes how many of its stages are done, and how many there are.
    """
    stages = iter(range(1, STAGES))

    def passed(result: T) -> T:
        on_stage(next(stages), STAGES)
        return result

    on_stage(0, STAGES)
    members, used, notes = _members(digests, labels, ranks)
    numbers, aligned = align_steps(used)
    world = max((one.world_size for one in aligned), default=0)
    present = {one.rank for one in aligned}
    missing = tuple(rank for rank in range(world) if rank not in present)
    notes.extend(_set_notes(aligned, world, missing))
    groups, matches = passed(match(aligned))
    notes.extend(_match_notes(aligned, groups, matches))
    clocks = passed(fit_clocks(aligned, matches))
    if not clocks.comparable:
        notes.append(SetNote("clocks", clocks.reason))
    waiting = passed(wait(aligned, matches, clocks))
    replay = passed(_replay(aligned, groups, matches, clocks))
    nodes = nodes_of(aligned)
    told = replay.joint, replay.own, replay.refused, _unknown_groups(groups, matches)
    said = passed(verdict(LatenessEvidence(aligned, matches, clocks, waiting, nodes, *told)))
    speed = passed(bandwidth(aligned, groups, matches, waiting, rows_of(nodes, len(aligned))))
    return Comparison(
        members=tuple(members),
        digests=tuple(aligned),
        step_numbers=numbers,
        world_size=world,
        missing=missing,
        notes=tuple(notes),
        nodes=nodes,
        groups=groups,
        roles=passed(guess_roles(aligned, groups, matches)),
        matches=matches,
        clocks=clocks,
        waiting=waiting,
        replay=replay,
        verdict=said,
        origins=origins(replay.joint, replay.own, waiting)
        if not replay.refused and replay.joint is not None and replay.own is not None
        else None,
        bandwidth=speed,
        pipelines=passed(pipelines(aligned, groups, matches, clocks)),
        pictures=pictures(aligned, matches),
    )  # fmt: skip


# --- who is there ---------------------------------------------------------------------------------


def _members(
    digests: Sequence[RankDigest], labels: Sequence[str], given: Sequence[int | None] | None
) -> tuple[list[Member], list[RankDigest], list[SetNote]]:
    ranks = []
    unknown = 0
    for at, one in enumerate(digests):
        told = given[at] if given is not None else None
        if one.rank >= 0:
            ranks.append(one.rank)
        elif told is not None:
            ranks.append(told)
        else:
            ranks.append(unknown)
            unknown += 1
    first: dict[int, int] = {}
    for at, rank in enumerate(ranks):
        first.setdefault(rank, at)
    order = sorted(first.values(), key=lambda at: ranks[at])
    row = {at: number for number, at in enumerate(order)}
    members, notes = [], []
    for at, rank in enumerate(ranks):
        problem = ""
        if at not in row:
            problem = f"rank {rank} is also claimed by {labels[first[rank]]}, which is used"
        members.append(Member(labels[at], rank, row.get(at, -1), problem))
    twice = sorted({rank for at, rank in enumerate(ranks) if at not in row})
    if twice:
        claims = [
            f"rank {rank} by {listing([m.label for m in members if m.rank == rank])}"
            for rank in twice[:MOST_SAID]
        ]
        notes.append(
            SetNote(
                "duplicate_ranks",
                f"Several recordings claim one rank: {'; '.join(claims)}. The first is used.",
            )
        )
    if unknown:
        notes.append(
            SetNote(
                "unknown_ranks",
                "One recording does not say which rank it is: it is counted in order."
                if unknown == 1
                else f"{unknown} recordings do not say which rank they are: they are counted in"
                " order.",
            )
        )
    used = [msgspec.structs.replace(digests[at], rank=ranks[at]) for at in order]
    return members, used, notes


def align_steps(digests: Sequence[RankDigest]) -> tuple[I64, list[RankDigest]]:
    """The step numbers of all digests, and the digests with a row for each of them.

    A step that a digest does not have is empty and left out; one that any rank leaves out, all do.
    """
    if not digests:
        return np.zeros(0, np.int64), []
    lists = [one.steps.number for one in digests]
    unique = all(len(np.unique(one)) == len(one) for one in lists)
    if not unique:
        most = max(lists, key=len)
        lists = [np.arange(len(one), dtype=np.int64) for one in lists]
        numbers = np.arange(len(most), dtype=np.int64)
    else:
        numbers = np.unique(np.concatenate(lists))
    placed = []
    for one, own in zip(digests, lists, strict=True):
        row = np.searchsorted(numbers, own)
        placed.append(_at_rows(one, numbers, row))
    left_out = np.max([one.steps.excluded for one in placed], axis=0)
    if left_out.all():
        return numbers, placed
    return numbers, [
        msgspec.structs.replace(one, steps=msgspec.structs.replace(one.steps, excluded=left_out))
        for one in placed
    ]


def _at_rows(digest: RankDigest, numbers: I64, row: I64) -> RankDigest:
    """A digest whose steps are at other rows of a longer table."""
    if len(row) == len(numbers) and (row == np.arange(len(row))).all():
        return digest
    columns = {}
    for name in DigestSteps.__struct_fields__:
        values = getattr(digest.steps, name)
        wide = np.zeros((len(numbers), *values.shape[1:]), values.dtype)
        wide[row] = values
        columns[name] = wide
    absent = np.ones(len(numbers), np.bool_)
    absent[row] = False
    columns["number"] = numbers
    columns["excluded"][absent] = 1
    moved = {
        name: msgspec.structs.replace(
            table,
            step=np.where(table.step >= 0, row[np.maximum(table.step, 0)], -1).astype(np.int32),
        )
        for name in ("sums", "families", "calls", "junctions")
        if len(table := getattr(digest, name))
    }
    return msgspec.structs.replace(digest, steps=DigestSteps(**columns), **moved)


def _set_notes(digests: Sequence[RankDigest], world: int, missing: Sequence[int]) -> list[SetNote]:
    notes = []
    if missing:
        notes.append(
            SetNote(
                "missing_ranks",
                f"{len(digests)} of {world} ranks {'is' if len(digests) == 1 else 'are'} here. "
                f"{_ranks(missing)} missing. Waits for a "
                "missing rank are counted as waits for the last one that is here.",
            )
        )
    silent = [one.rank for one in digests if not len(one.calls)]
    if silent and len(silent) < len(digests):
        notes.append(SetNote("no_communication", f"{_ranks(silent)} without any collective."))
    elif silent:
        notes.append(SetNote("no_communication", "No recording has a collective."))
    absent = [
        one.rank for one in digests if ((one.steps.end_ns == 0) & (one.steps.excluded == 1)).any()
    ]
    if absent:
        notes.append(
            SetNote(
                "step_sets",
                f"The ranks recorded different steps: {_ranks(absent)} without some of them. "
                "A step counts where all have it.",
            )
        )
    worlds = {one.world_size for one in digests if one.world_size}
    if len(worlds) > 1:
        notes.append(
            SetNote(
                "world_size",
                "The recordings name different numbers of ranks "
                f"({listing(sorted(map(str, worlds)))}): they may be of different runs.",
            )
        )
    for text in sorted({note for one in digests for note in one.notes}):
        with_it = [one.rank for one in digests if text in one.notes]
        notes.append(SetNote("recording", f"{_named(with_it)}: {text}"))
    return notes


def _match_notes(
    digests: Sequence[RankDigest], groups: Sequence[RunGroup], matches: Matches
) -> list[SetNote]:
    notes = []
    inside = np.flatnonzero(matches.inside)
    if len(inside):
        calls = ", ".join(
            f"rank {digests[m].rank}: {matches.inside[m]}" for m in inside[:MOST_SAID].tolist()
        )
        notes.append(
            SetNote(
                "unmatched",
                "Collectives without a counterpart on the other ranks, between matched ones "
                f"({calls}).",
            )
        )
    outside = matches.unmatched - matches.inside
    if outside.any():
        notes.append(
            SetNote(
                "windows",
                f"{int(outside.sum())} collectives at the edges of the recordings are on some "
                "ranks only: the windows differ. They are left out.",
            )
        )
    notes.extend(
        SetNote("groups", f"{group.label}: {group.low_confidence}.")
        for group in groups
        if group.low_confidence
    )
    return notes


def _ranks(ranks: Sequence[int]) -> str:
    """Says "Rank 3 is" or "Ranks 1 and 2 are"."""
    return f"{_named(ranks)} {'is' if len(ranks) == 1 else 'are'}"


def _named(ranks: Sequence[int]) -> str:
    """Says "Rank 3" or "Ranks 1 and 2", cut where there are many."""
    shown = [str(rank) for rank in ranks[:MOST_SAID]]
    if len(ranks) > MOST_SAID:
        shown.append(f"{len(ranks) - MOST_SAID} more")
    return f"{'Rank' if len(ranks) == 1 else 'Ranks'} {listing(shown)}"


# --- the replay -----------------------------------------------------------------------------------


def _replay(
    digests: Sequence[RankDigest],
    groups: Sequence[RunGroup],
    matches: Matches,
    clocks: Clocks,
) -> Replay:
    if len(digests) < 2 or not len(matches):
        return Replay("There are no collectives on two ranks.", None, None, None)
    on_device = all(one.on_device for one in digests)
    refused = "" if on_device or clocks.comparable else clocks.reason
    offsets = anchors(digests, matches, clocks.shift_ns, by_clock=not on_device)
    if isinstance(offsets, Refusal):  # what each rank needs by itself asks for no common clock
        refused, offsets = offsets.reason, clocks.shift_ns
    joint = joint_graph(digests, matches, offsets, shortest(digests, matches))
    if isinstance(joint, Refusal):
        return Replay(joint.reason, None, None, None)
    error = residual(joint, matches, TIE_NS if on_device else _host_tie(joint, matches))
    refused = refused or _refusal(digests, groups, matches, error, on_device=on_device)
    own = own_time(digests, joint, matches, with_gains=not refused)
    return Replay(refused, joint, error, own)


def _host_tie(joint: JointGraph, matches: Matches) -> int:
    """Twice what ranges of a host back end usually last beyond their transfer; 20 µs at least."""
    collective = matches.collective
    here = np.flatnonzero(matches.symmetric[collective] & (joint.release >= 0))
    ends = joint.measured[joint.release[here]]
    first = np.full(len(matches), np.iinfo(np.int64).max)
    np.minimum.at(first, collective[here], ends)
    extra = ends - first[collective[here]]
    return max(TIE_NS, 2 * int(np.median(extra))) if len(extra) else TIE_NS


def _refusal(  # noqa: PLR0911  one reason each
    digests: Sequence[RankDigest],
    groups: Sequence[RunGroup],
    matches: Matches,
    error: Residual,
    *,
    on_device: bool,
) -> str:
    """Why no question about other ranks' times is answered, "" where it may be."""
    for one in digests:
        if one.refused:
            return f"Rank {one.rank}: {one.refused}."
    taking_part = [groups[g] for g in np.unique(matches.group).tolist()]
    absent = sorted({rank for group in taking_part for rank in group.missing})
    if absent:
        who = "it" if len(absent) == 1 else "they"
        return f"{_ranks(absent)} missing from a group: what {who} would have done is not known."
    if matches.inside.any():
        return (
            "Between collectives of all ranks, some ranks call collectives that others do not: a "
            "replay would not know the rank that they wait for."
        )
    if unknown := _unknown_groups(groups, matches):
        return f"{unknown}."
    if not on_device and len({one.host_name for one in digests}) > 1:
        return (
            "The ranks ran on several hosts with a back end on the host: their clocks are not one."
        )
    if error.early > 1:
        return (
            f"{error.early} collectives a step end on some rank before another has begun them: "
            "they are matched wrongly, or not every rank waits in them."
        )
    if np.isnan(error.median):
        return "The recordings hold no step to replay."
    if error.median > MOST_RESIDUAL:
        return (
            f"Replayed without any change, a step is off by {share(error.median)} in the "
            f"median (at most {share(error.most)}): above {share(MOST_RESIDUAL)} there is no "
            "answer."
        )
    return _not_modelled(digests, matches)


def _unknown_groups(groups: Sequence[RunGroup], matches: Matches) -> str:
    """Why calls may be of other groups than they are matched in; "" where they are known."""
    taking_part = (groups[g] for g in np.unique(matches.group).tolist())
    doubtful = (f"{one.label}: {one.low_confidence}" for one in taking_part if one.low_confidence)
    return next(doubtful, "")


def _not_modelled(digests: Sequence[RankDigest], matches: Matches) -> str:
    """Operations that are replayed as they were; refused where they take a part of the step."""
    kinds = {"reduce", "gather", "scatter", "other"}
    kinds |= {"broadcast"} if digests[0].on_device else set()
    told = np.array([kind in kinds for kind in matches.kind], np.bool_)[matches.collective]
    spent = int(matches.calls(digests, "exposed_ns")[told].sum())
    total = sum(int((one.steps.end_ns - one.steps.start_ns).sum()) for one in digests)
    if total and spent > 0.01 * total:
        present = sorted(kinds & set(matches.kind))
        return (
            f"{listing(present)} take {share(spent / total)} of the steps, and whom each rank "
            "waits for in them is not known."
        )
    return ""
