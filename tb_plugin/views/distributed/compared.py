"""Which recordings of a run are compared, and what came of it; the last comparisons are kept."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ...analysis.distributed.comparison import Comparison, compare
from ...analysis.distributed.model import RankDigest
from ...analysis.distributed.rank.digest import DIGEST
from ...analysis.facts import Facts
from ...analysis.steps import parse_steps
from ...base.arrays import I64
from ...trace.worker_names import process_role
from ..view import Gathered, Recordings, RunWorker, Subject

KEPT = 2
READ = "read; compared when all are"
READING = "being read"
ONE_RANK = (
    "This run has one recording. Who makes the others wait is told by the recordings of at least"
    " two ranks: let every rank write its trace into one folder."
)
ALONE = (
    "One file was opened alone. Open the folder that holds the recordings of all ranks: who makes"
    " the others wait is told by at least two."
)
SILENT = (
    "No communication between ranks was recorded: no collective of NCCL, RCCL, gloo, XCCL or HCCL,"
    " and one process."
)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The comparison of a run.

    Attributes:
        workers: of each digest of the comparison, by its row.
        others: workers whose recordings take no part: why, and their digest if it is there.
        read: recordings that are there.
        waiting: recordings that are still being read: no conclusion is drawn yet.
    """

    comparison: Comparison
    workers: tuple[RunWorker, ...]
    others: tuple[tuple[RunWorker, str, RankDigest | None], ...]
    read: int
    waiting: int


def among(facts: Facts, recordings: Recordings) -> str | None:
    """Why a trace and those around it cannot be compared; None if they can."""
    if not facts.recording.collectives and (facts.world_size or 1) < 2:
        return SILENT
    if recordings.own is None:
        return ALONE
    usable = sum(not one.problem for one in recordings.workers())
    return ONE_RANK if usable < 2 else None


class _Kept:
    """The last few comparisons, by the digests that they are of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[tuple[RankDigest, ...], tuple[str, ...], Comparison]] = []

    def comparison(
        self, digests: Sequence[RankDigest], labels: Sequence[str], ranks: Sequence[int | None]
    ) -> Comparison:
        with self._lock:
            for at, (known, names, found) in enumerate(self._kept):
                same = len(known) == len(digests) and names == tuple(labels)
                if same and all(map(_is, known, digests)):
                    self._kept.insert(0, self._kept.pop(at))
                    return found
            found = compare(digests, labels, ranks)
            self._kept = [(tuple(digests), tuple(labels), found), *self._kept][:KEPT]
            return found


def _is(a: RankDigest, b: RankDigest) -> bool:
    return a is b


_kept = _Kept()


def compared(subject: Subject, *, so_far: bool = False) -> Compared:
    """The comparison of the run that a trace is of.

    While recordings are being read nothing is compared, unless what is there ``so_far`` is asked
    for: each one that joins would make all figures anew, and change them.

    Raises:
        NotReadyError: its own recording is being read.
    """
    subject.artifact("")  # the recording that is asked for comes first
    workers = subject.recordings.workers()
    places = [one.place for one in workers if not one.problem]
    return _compared(workers, subject.recordings.gather(places), so_far=so_far)


def compared_around(subject: Subject, names: Collection[str]) -> Compared:
    """The comparison of some workers of a run, with all that were digested before.

    Others are not read for it: who looks at two ranks of a thousand waits for two.

    Raises:
        NotReadyError: the recording of one of these workers is being read.
        NotFoundError: there is no such worker.
        TraceFormatError: its trace was refused.
    """
    recordings = subject.recordings
    workers = recordings.workers()
    chosen = [one for one in workers if one.place.worker in names or one.place == recordings.own]
    opened = dict(recordings.stored([one.place for one in workers if not one.problem]))
    for one in chosen:
        if one.place not in opened:
            opened[one.place] = recordings.artifact(one.place, DIGEST)
    # In the order of the workers, so that the comparison of the view is found again.
    return _compared(workers, Gathered(opened), so_far=True)


def _compared(workers: Sequence[RunWorker], found: Gathered, *, so_far: bool) -> Compared:
    usable = [one for one in workers if not one.problem]
    there = [one for one in usable if one.place in found.opened]
    problems = [(one, one.problem, None) for one in workers if one.problem]
    problems += [
        (one, found.problems[one.place], None) for one in usable if one.place in found.problems
    ]
    if found.waiting and not so_far:
        read = [(one, READ, found.opened[one.place]) for one in there]
        reading = [(one, READING, None) for one in usable if one.place in found.waiting]
        nothing = _kept.comparison((), (), ())
        others = (*read, *reading, *problems)
        return Compared(nothing, (), others, len(there), len(found.waiting))
    comparison = _kept.comparison(
        [found.opened[one.place] for one in there],
        [one.place.worker for one in there],
        [one.rank for one in there],
    )
    used = [at for at, member in enumerate(comparison.members) if member.digest >= 0]
    used.sort(key=lambda at: comparison.members[at].digest)
    twice = [
        (there[at], member.problem, found.opened[there[at].place])
        for at, member in enumerate(comparison.members)
        if member.digest < 0
    ]
    reading = [(one, READING, None) for one in usable if one.place in found.waiting]
    return Compared(
        comparison,
        tuple(there[at] for at in used),
        (*twice, *reading, *problems),
        len(there),
        len(found.waiting),
    )


def chosen_steps(comparison: Comparison, facts: Facts, text: str) -> I64:
    """RunRows of the steps that are meant: those named, else those that no rank leaves out.

    Raises:
        QueryError: there are no such steps.
    """
    numbers = comparison.step_numbers
    if text.strip():
        named = {facts.steps[at].number for at in parse_steps(text, facts)}
        return np.flatnonzero(np.isin(numbers, sorted(named)))
    if not comparison.digests:
        return np.zeros(0, np.int64)
    left_out = comparison.digests[0].steps.excluded == 1
    rows = np.flatnonzero(~left_out)
    return rows if len(rows) else np.arange(len(numbers))


def step_of(comparison: Comparison) -> I64:
    """The row of the step of each collective; −1 outside of all."""
    matches = comparison.matches
    told = matches.calls(comparison.digests, "step")
    known = np.flatnonzero(told >= 0)
    collective, first = np.unique(matches.collective[known], return_index=True)
    step = np.full(len(matches), -1, np.int64)
    step[collective] = told[known[first]]
    return step


def roles_of_processes(names: Sequence[str], digests: Sequence[RankDigest]) -> tuple[str, ...]:
    """The role of each process: by the worker's name, else by a process group of some of them."""
    told = [process_role(name) for name in names]
    by_group: dict[tuple[int, ...], str] = {}
    for digest in digests:
        for group in (*digest.groups, *digest.declared):
            role = process_role(group.description) or process_role(group.name)
            if role and 0 < len(group.ranks) < len(digests):
                by_group[group.ranks] = role
    roles = []
    for at, digest in enumerate(digests):
        given = {role for ranks, role in by_group.items() if digest.rank in ranks}
        roles.append(told[at] or (given.pop() if len(given) == 1 else ""))
    return tuple(roles)
