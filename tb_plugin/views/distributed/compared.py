"""Which recordings of a run are compared, and what came of it; the last comparisons are kept."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...analysis.distributed.comparison import Comparison, compare
from ...analysis.distributed.model import RankDigest
from ...analysis.facts import Facts
from ...analysis.steps import parse_steps
from ...base.arrays import I64
from ..view import Recordings, RunWorker, Subject

KEPT = 4
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
        others: workers whose recordings take no part, and why.
        waiting: workers that are still being read.
    """

    comparison: Comparison
    workers: tuple[RunWorker, ...]
    others: tuple[tuple[RunWorker, str], ...]
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


def compared(subject: Subject) -> Compared:
    """The comparison of the run that a trace is of, with the recordings that are there.

    Raises:
        NotReadyError: its own recording is being read.
    """
    subject.artifact("")  # the recording that is asked for comes first
    workers = subject.recordings.workers()
    usable = [one for one in workers if not one.problem]
    found = subject.recordings.gather([one.place for one in usable])
    there = [one for one in usable if one.place in found.opened]
    comparison = _kept.comparison(
        [found.opened[one.place] for one in there],
        [one.place.worker for one in there],
        [one.rank for one in there],
    )
    used = [at for at, member in enumerate(comparison.members) if member.digest >= 0]
    used.sort(key=lambda at: comparison.members[at].digest)
    problems = [
        (there[at], member.problem)
        for at, member in enumerate(comparison.members)
        if member.digest < 0
    ]
    problems += [(one, one.problem) for one in workers if one.problem]
    problems += [(one, found.problems[one.place]) for one in usable if one.place in found.problems]
    return Compared(
        comparison, tuple(there[at] for at in used), tuple(problems), len(found.waiting)
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
    row = comparison.matches.row
    step = np.full(len(row), -1, np.int64)
    for m, digest in enumerate(comparison.digests):
        here = np.flatnonzero((row[:, m] >= 0) & (step < 0))
        step[here] = digest.calls.step[row[here, m]]
    return step


NODE = re.compile(r"^(?P<node>.*(?<!step)(?<!rank)(?<!worker))[_.-](?P<process>\d+)$")
ROLES = re.compile(
    r"(?:^|[^a-z])(prefill|decode|actor|rollout|critic|reward|reference|learner|trainer|"
    r"generator|router|encoder|decoder)(?:[^a-z]|$)",
    re.IGNORECASE,
)


def process_role(name: str) -> str:
    """The role that the name of a worker tells: "prefill", "actor"; "" none.

    >>> process_role("host_prefill-3")
    'prefill'
    """
    found = ROLES.search(name)
    return found[1].lower() if found else ""
