"""Which recordings of a folder belong to one start of a program?

    starts(recordings)      # oldest first; of each its recordings, by their places

A script that is edited and run again, or a job that is launched again, writes into the same folder.
What tells the starts apart, the surest first:

* Recordings of one process belong together, whatever they are called.
* Processes of different jobs, as the launcher names them, are of different starts. It decides
  only if all name one: what a recording does not say is no evidence.
* Two processes with one rank are of different starts.
* Else time: processes of one host that say no rank and save more than ``ALONE_NS`` apart, and
  others that save more than ``RANKS_NS`` apart. Times of files tell nothing of different ranks,
  because files are copied.

Where a rank comes again, the start ended at the longest pause since it was there before:

    rank    0 1 2 3        2 0 3 1
            first start    second start: rank 2 comes again, then rank 0 …
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from ...trace.worker_names import process_role

ALONE_NS = 5 * 10**9
RANKS_NS = 60 * 10**9
_MOST_BACK = 100  # processes of a start looked at for the longest pause


class FoundRecording(Struct, frozen=True):
    """One recording: data from its name, and from its content after reading."""

    worker: str
    at_ns: int  # when it was saved: by the stamp in its name, else by the file
    is_stamped: bool
    is_snapshot: bool = False
    rank: int | None = None
    node: str = ""
    process: int | None = None
    job: str = ""


class Start(Struct, frozen=True):
    """One start: its recordings by place, the time of the first one, and doubts."""

    members: tuple[int, ...]
    at_ns: int
    note: str = ""


class _Process(Struct):
    """The recordings of one process."""

    members: list[int]
    first: int
    last: int
    recorded: FoundRecording  # one that says most

    @property
    def job(self) -> str:
        return self.recorded.job


def starts(recordings: Sequence[FoundRecording]) -> tuple[Start, ...]:
    """The starts that recordings of one folder are of, oldest first."""
    traces = [at for at, one in enumerate(recordings) if not one.is_snapshot]
    if not traces:
        everything = tuple(range(len(recordings)))
        return (Start(everything, min(r.at_ns for r in recordings)),) if recordings else ()
    jobs: dict[str, list[_Process]] = defaultdict(list)
    processes = _processes(recordings, traces)
    is_told = all(process.job for process in processes)
    for process in processes:
        jobs[process.job if is_told else ""].append(process)
    groups = [group for those in jobs.values() for group in _grouped(those)]
    groups.sort(key=lambda group: group[0].first)
    found = [[at for process in group for at in process.members] for group in groups]
    ends = [max(process.last for process in group) for group in groups]
    for at, one in enumerate(recordings):
        if one.is_snapshot:
            nearest = min(range(len(ends)), key=lambda number: abs(ends[number] - one.at_ns))
            found[nearest].append(at)
    return tuple(
        Start(tuple(sorted(members)), group[0].first, _note(group, recordings))
        for members, group in zip(found, groups, strict=True)
    )


def _processes(recordings: Sequence[FoundRecording], traces: Sequence[int]) -> list[_Process]:
    """The recordings by process, in order of time; of one that is unknown by the worker's name."""
    known: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for at in traces:
        one = recordings[at]
        if one.process is not None:
            known[one.worker].add((one.node, one.process))
    by: dict[object, list[int]] = defaultdict(list)
    for at in traces:
        one = recordings[at]
        mine = known[one.worker]
        if one.process is not None:
            by[one.node, one.process].append(at)
        elif len(mine) == 1:
            by[next(iter(mine))].append(at)
        else:
            by[one.worker].append(at)
    found = []
    for members in by.values():
        times = [recordings[at].at_ns for at in members]
        best = max(members, key=lambda at: _says(recordings[at]))
        found.append(_Process(members, min(times), max(times), recordings[best]))
    return sorted(found, key=lambda one: (one.first, one.members))


def _says(one: FoundRecording) -> tuple[bool, bool, bool]:
    return one.process is not None, one.rank is not None, bool(one.job)


class _Group:
    """The processes of the start that is being put together, and what they claim."""

    def __init__(self, processes: Sequence[_Process] = ()) -> None:
        self.processes: list[_Process] = []
        self.nodes: set[str] = set()
        self.last = 0
        self._ranks: dict[tuple[str, int], int] = {}
        self._workers: dict[str, int] = {}
        for one in processes:
            self.add(one)

    def add(self, one: _Process) -> None:
        at, told = len(self.processes), one.recorded
        self.processes.append(one)
        self.nodes.add(told.node)
        self.last = max(self.last, one.last)
        self._workers[told.worker] = at
        if told.rank is not None:
            self._ranks[process_role(told.worker), told.rank] = at

    def other(self, one: _Process) -> int:
        """The last process that cannot be of one start with another, by its place; −1 none."""
        told = one.recorded
        found = self._workers.get(told.worker, -1)
        if told.rank is None:
            return found
        return max(found, self._claimed(one, process_role(told.worker), told.rank))

    def _claimed(self, one: _Process, role: str, rank: int) -> int:
        """The process of that rank; of one that is unknown only if it was not at the same time."""
        at = self._ranks.get((role, rank), -1)
        if at < 0:
            return -1
        mine = self.processes[at]
        both = mine.recorded.process is not None and one.recorded.process is not None
        return at if both or one.first - mine.last > ALONE_NS else -1

    def is_over(self, one: _Process) -> bool:
        """True if a process that nothing else tells of saved too late to be of this start."""
        told = one.recorded
        if told.rank is not None:
            return told.is_stamped and one.first - self.last > RANKS_NS
        near = not told.node or told.node in self.nodes
        return one.first - self.last > (ALONE_NS if near else RANKS_NS)


def _grouped(processes: Sequence[_Process]) -> list[list[_Process]]:
    done: list[list[_Process]] = []
    group = _Group()
    for one in processes:
        if group.processes:
            other = group.other(one)
            if other >= 0:
                cut = _longest_pause(group.processes, other, one)
                done.append(group.processes[:cut])
                group = _Group(group.processes[cut:])
            elif group.is_over(one):
                done.append(group.processes)
                group = _Group()
        group.add(one)
    if group.processes:
        done.append(group.processes)
    return done


def _longest_pause(group: Sequence[_Process], other: int, one: _Process) -> int:
    """Where the next start begins: behind ``other``, at the longest pause up to ``one``."""
    begin = max(other, len(group) - _MOST_BACK)
    ahead = [mine.first for mine in group[begin:]] + [one.first]
    pauses = [b - a for a, b in itertools.pairwise(ahead)]
    longest = max(range(len(pauses)), key=lambda at: (pauses[at], at))
    return begin + longest + 1


def _note(group: Sequence[_Process], recordings: Sequence[FoundRecording]) -> str:
    """Doubts about a start; "" for none."""
    for one in group:
        told = one.recorded
        if told.process is None and len(one.members) > 1:
            worker = recordings[one.members[0]].worker
            return (
                f"The files of {worker} do not say which process wrote them: recordings of several"
                " starts would look the same."
            )
    return ""
