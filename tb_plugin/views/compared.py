"""Which recordings of a run are compared, and what came of it; the last comparisons are kept."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Collection, Sequence

import numpy as np
from msgspec import Struct

from ..analysis.distributed.comparison import Comparison, compare
from ..analysis.distributed.model import RankDigest
from ..analysis.distributed.rank.digest import DIGEST
from ..analysis.facts import Facts
from ..analysis.recording import not_recorded
from ..analysis.steps import parse_steps
from ..base.arrays import I64
from ..trace.worker_names import process_role
from .progress import StageProgress, heard_by, tell
from .view import Gathered, Recordings, RunWorker, Subject

KEPT = 2
RESTS = 4.0
"""A comparison during reading is repeated after this many times its own duration."""
TELLS = 0.2
"""Seconds between progress reports of a request that waits for another's comparison."""
READ = "read; compared when all are"
READ_LATER = "read; it takes part in the next comparison"
READING = "being read"
ONE_RANK = (
    "This run has one recording, and the comparison needs at least two ranks: let every rank write"
    " its trace into one folder."
)
ALONE = (
    "One file was opened alone, and the comparison needs at least two ranks: open the folder that"
    " holds the recordings of all ranks."
)
SILENT = (
    "No communication between ranks was recorded: no collective of NCCL, RCCL, gloo, XCCL or HCCL,"
    " and one process."
)


class Compared(Struct, frozen=True, eq=False):
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
        return not_recorded("communication between ranks", SILENT, facts.torch_era)
    if recordings.own is None:
        return ALONE
    usable = sum(not one.problem for one in recordings.workers())
    return ONE_RANK if usable < 2 else None


class _Finished(Struct, frozen=True, eq=False):
    """A comparison, the digests and names that it is of, and when it was made, in seconds."""

    digests: tuple[RankDigest, ...]
    labels: tuple[str, ...]
    comparison: Comparison
    took: float
    at: float

    def rows_in(self, digests: Sequence[RankDigest], labels: Sequence[str]) -> list[int] | None:
        """Where its digests stand among others; None unless all do, in its order."""
        others = enumerate(zip(digests, labels, strict=True))
        places = {(id(one), name): row for row, (one, name) in others}
        mine = zip(self.digests, self.labels, strict=True)
        rows = [places.get((id(one), name), -1) for one, name in mine]
        return rows if -1 not in rows and rows == sorted(rows) else None


class Comparisons:
    """The last few comparisons, by the digests that they are of. One is made at a time.

    While recordings join, each comparison is of a few more than the one before and costs as much as
    that of all. So what is there ``so_far`` is answered with the last finished one while another is
    made, and for ``RESTS`` times as long as it took: a fifth of the time at most goes into them.
    """

    def __init__(
        self,
        make: Callable[..., Comparison] = compare,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make, self._clock = make, clock
        self._making = threading.Lock()
        self._told = StageProgress("comparing ranks", 0, 0)  # of the one that is made
        self._kept: tuple[_Finished, ...] = ()  # replaced as a whole: reading needs no lock

    def of(
        self, workers: Sequence[RunWorker], digests: Sequence[RankDigest], needed: Collection[int]
    ) -> tuple[Sequence[int], Comparison]:
        """A comparison of these, or of fewer with the rows ``needed``; the rows that it is of."""
        if not digests:
            return (), _nothing()
        rows, last = self._last(workers, digests, needed)
        if last is not None and (self._making.locked() or self._is_enough(last, digests)):
            return rows, last.comparison
        while not self._making.acquire(timeout=TELLS):
            tell(*self._told)
        try:
            rows, last = self._last(workers, digests, needed)  # it may have been made meanwhile
            if last is not None and self._is_enough(last, digests):
                return rows, last.comparison
            with heard_by(self._hear):
                return range(len(digests)), self._made(workers, digests)
        finally:
            self._making.release()

    def _hear(self, told: StageProgress) -> None:
        self._told = told

    def _last(
        self, workers: Sequence[RunWorker], digests: Sequence[RankDigest], needed: Collection[int]
    ) -> tuple[list[int], _Finished | None]:
        """The kept comparison of most of these and of no other, and their rows."""
        labels = [one.place.worker for one in workers]
        most: tuple[list[int], _Finished | None] = [], None
        for one in self._kept:
            rows = one.rows_in(digests, labels)
            if rows is not None and len(rows) > len(most[0]) and set(needed) <= set(rows):
                most = rows, one
        return most

    def _is_enough(self, last: _Finished, digests: Sequence[RankDigest]) -> bool:
        is_whole = len(last.digests) == len(digests)
        return is_whole or self._clock() - last.at < RESTS * last.took

    def _made(self, workers: Sequence[RunWorker], digests: Sequence[RankDigest]) -> Comparison:
        labels = [one.place.worker for one in workers]
        begin = self._clock()
        found = self._make(digests, labels, [one.rank for one in workers], _compares)
        end = self._clock()
        # One of fewer is not asked for again.
        others = [one for one in self._kept if one.rows_in(digests, labels) is None]
        made = _Finished(tuple(digests), tuple(labels), found, end - begin, end)
        self._kept = (made, *others)[:KEPT]
        return found


_comparisons = Comparisons()


def _compares(done: int, total: int) -> None:
    tell("comparing ranks", done, total)


@functools.cache
def _nothing() -> Comparison:
    return compare((), ())


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
    opened = dict(recordings.stored([one.place for one in workers if not one.problem], DIGEST))
    for one in chosen:
        if one.place not in opened:
            opened[one.place] = recordings.artifact(one.place, DIGEST)
    # In the order of the workers, so that the comparison of the view is found again.
    return _compared(workers, Gathered(opened), so_far=True, chosen=chosen)


MOST_BESIDE = 64
"""Of a run with more workers, an answer about one of them reads no other."""


def compared_beside(subject: Subject, *, read: bool) -> Compared | None:
    """The comparison of the run, for an answer about one of its workers; None without others.

    Nothing is waited for, unless those that are missing are to be ``read`` now.
    """
    recordings = subject.recordings
    if among(subject.facts, recordings) is not None:
        return None
    workers = recordings.workers()
    places = [one.place for one in workers if not one.problem]
    if len(places) > MOST_BESIDE:
        return Compared(_nothing(), (), (), 0, len(places))
    return _compared(workers, recordings.ready(places, DIGEST, read=read), so_far=False)


def _compared(
    workers: Sequence[RunWorker],
    found: Gathered,
    *,
    so_far: bool,
    chosen: Collection[RunWorker] = (),
) -> Compared:
    usable = [one for one in workers if not one.problem]
    there = [one for one in usable if one.place in found.opened]
    digests = [found.opened[one.place] for one in there]
    waiting = set(found.waiting)
    reading = [(one, READING, None) for one in usable if one.place in waiting]
    problems = [(one, one.problem, None) for one in workers if one.problem]
    problems += [
        (one, found.problems[one.place], None) for one in usable if one.place in found.problems
    ]
    if waiting and not so_far:
        read = [(one, READ, digest) for one, digest in zip(there, digests, strict=True)]
        return Compared(_nothing(), (), (*read, *reading, *problems), len(there), len(waiting))
    is_whole = len(there) + len(found.problems) == len(usable)
    needed = {row for row, one in enumerate(there) if is_whole or one in chosen}
    rows, comparison = _comparisons.of(there, digests, needed)
    used = {
        member.digest: there[row]
        for row, member in zip(rows, comparison.members, strict=True)
        if member.digest >= 0
    }
    twice = [
        (there[row], member.problem, digests[row])
        for row, member in zip(rows, comparison.members, strict=True)
        if member.digest < 0
    ]
    inside = set(rows)
    later = [(one, READ_LATER, digests[row]) for row, one in enumerate(there) if row not in inside]
    return Compared(
        comparison,
        tuple(used[digest] for digest in sorted(used)),
        (*twice, *later, *reading, *problems),
        len(there),
        len(waiting),
    )


def chosen_steps(comparison: Comparison, facts: Facts, text: str) -> I64:
    """Rows of the steps that are meant: those named, else those that no rank leaves out.

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
