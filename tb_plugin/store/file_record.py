"""The record of one file: its state on disk, its attempts, its last good result.

``walk`` lists the files below all logdirs; ``judge`` decides which are complete and are traces.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..base.errors import NotReadyError
from ..base.units import plural
from .contract import ErrorInfo, ReadProgress, State, StepFigures
from .discovery import file_names, stability
from .discovery import walk as discovery
from .discovery.file_names import TraceName
from .discovery.logdirs import Logdir
from .discovery.stability import Patience
from .discovery.walk import FileVersion, FoundFile, PassedOver, Unreadable
from .ingest.events import Key as Key
from .ingest.protocol import info_of


class Attempt(Enum):
    """State of a file, in its present version on disk."""

    WAITING = "waiting"  # unfinished by its name, still changing, or not looked into yet
    LAZY = "lazy"  # a trace; read at its first request, or when it is among the newest
    QUEUED = "queued"  # handed to the pool
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    LOCKED = "locked"  # cannot be opened; tried again at every look


@dataclass(slots=True)
class MakingState:
    """State of an artifact that is not stored yet."""

    is_queued: bool = True
    tries: int = 1
    error: ErrorInfo | None = None
    cls: str = ""  # of base.errors
    missing: str = ""  # why it is in no folder


@dataclass(slots=True)
class ReadResult:
    """The result of reading a file."""

    digest: str
    identity: FileVersion
    events: int
    seconds: float
    from_cache: bool
    rank: int | None
    truncated: str  # the sentence, "" when the file is whole
    steps: StepFigures | None
    note: str  # why it is not in the cache, or what happened to the cached copy
    columns: bool = False  # they are on disk
    missing: str = ""  # why they are not, and will not be
    rereads: int = 0  # times the columns were lost and read again
    artifacts: dict[tuple[str, str], MakingState] = field(default_factory=dict)  # name, variant


@dataclass(slots=True)
class Record:
    """One file. Changed only under the catalog's lock."""

    key: Key
    found: FoundFile
    name: TraceName
    watch: stability.FileWatch
    attempt: Attempt = Attempt.WAITING
    accepted: bool = False  # a trace, by its name or its first bytes: part of a run
    answer: ReadResult | None = None
    error: ErrorInfo | None = None
    reason: str = "Not looked into yet."  # why it waits
    as_is: bool = False  # it never rests: it is read although it changes meanwhile
    listed: bool = True  # False: no trace, by its name and by its content
    rank_hint: int | None = None

    @classmethod
    def of(cls, key: Key, found: FoundFile, now: float) -> Record:
        name = file_names.parse(found.name)
        return cls(
            key,
            found,
            name,
            stability.begin(found.identity, now),
            rank_hint=file_names.rank_in_name(name.worker),
        )

    def see(self, found: FoundFile, now: float) -> bool:
        """Take in another look at the file; True when it has changed."""
        changed = found.identity != self.found.identity
        self.found = found
        if not changed:
            return False
        if self.attempt is Attempt.WAITING:
            self.watch = self.watch.seen(found.identity, now)
        else:
            self.watch = stability.begin(found.identity, now)
        self.attempt, self.error = Attempt.WAITING, None
        return True

    @property
    def is_undecided(self) -> bool:
        """True if another look may change something, although the file did not change."""
        return self.attempt in (Attempt.WAITING, Attempt.LOCKED)

    @property
    def is_read_as_is(self) -> bool:
        """True if a change of the file does not matter now."""
        return self.as_is and self.attempt is Attempt.QUEUED

    @property
    def is_settling(self) -> bool:
        """True if the file will be decided soon."""
        return self.attempt is Attempt.WAITING and not self.found.unfinished

    @property
    def rank(self) -> int | None:
        """The rank in the file, else the one in its name."""
        told = self.answer.rank if self.answer else None
        return told if told is not None else self.rank_hint

    def state(self, running: Mapping[Key, object]) -> State:
        """The state shown. An older result counts until there is a newer one, or none any more."""
        if self.attempt is Attempt.REFUSED:
            return "refused"
        if self.attempt in (Attempt.FAILED, Attempt.LOCKED):
            return "failed"
        if self.answer is not None:
            return "ready"
        if self.attempt is Attempt.WAITING:
            return "waiting"
        return "reading" if self.key in running else "queued"


class BeingRead(NotReadyError):
    """The trace is not there yet; ``progress`` is the progress of reading it."""

    def __init__(self, message: str, progress: ReadProgress) -> None:
        super().__init__(message, hint="It is shown as soon as it is there.")
        self.progress = progress


UNREADABLE_SHOWN = 20
_OF_NO_INTEREST = ("text", "binary", "csv", "empty")  # what an unrelated .gz may be
_MAY_LIST = (
    "A logdir is a folder this user may list; a single file is opened with kinetoscope show."
)
_UNFINISHED = (
    "The name is that of a file being written; it is read as soon as it has its final name."
)


@dataclass(slots=True)
class Outcome:
    """Findings of one walk over all logdirs."""

    found: dict[Key, FoundFile] = field(default_factory=dict)
    problems: list[ErrorInfo] = field(default_factory=list)
    kept: list[Key] = field(
        default_factory=list
    )  # folders that could not be listed: what was below stays
    unreadable: int = 0  # folders
    tally: PassedOver = field(default_factory=PassedOver)

    def covers(self, key: Key) -> bool:
        """True if a file that was not found is really gone."""
        return not any(
            key[0] == number and (not path or key[1].startswith(path + "/"))
            for number, path in self.kept
        )


def walk(logdirs: tuple[Logdir, ...], outcome: Outcome) -> Iterator[tuple[Key, FoundFile]]:
    """Every file worth listing, as it is found; problems and the rest go into ``outcome``."""
    yield from _walk(logdirs, outcome)
    more = outcome.unreadable - UNREADABLE_SHOWN
    if more > 0:
        outcome.problems.append(
            ErrorInfo(
                "folder_unreadable", f"{plural(more, 'more folder')} cannot be read.", _MAY_LIST
            )
        )


def _walk(logdirs: tuple[Logdir, ...], outcome: Outcome) -> Iterator[tuple[Key, FoundFile]]:
    for number, logdir in enumerate(logdirs):
        if logdir.problem is not None:
            outcome.problems.append(logdir.problem)
            continue
        for item in discovery.look(logdir.path, outcome.tally):
            if isinstance(item, Unreadable):
                _note(outcome, number, logdir, item)
            else:
                key = (number, item.path)
                outcome.found[key] = item
                yield key, item


def _note(outcome: Outcome, number: int, logdir: Logdir, item: Unreadable) -> None:
    if not item.missing:
        outcome.kept.append((number, item.path))
    outcome.unreadable += 1
    if outcome.unreadable <= UNREADABLE_SHOWN:
        outcome.problems.append(_problem(logdir, item))


def _problem(logdir: Logdir, item: Unreadable) -> ErrorInfo:
    if item.missing:
        return ErrorInfo(
            "logdir_missing",
            f"{logdir.shown}: there is no such folder.",
            "Check the spelling; a folder that appears later is found by itself.",
        )
    where = f"{logdir.shown}: {item.path}" if item.path else logdir.shown
    return ErrorInfo(
        "folder_unreadable",
        f"{where}: the folder cannot be read: {item.reason}.",
        _MAY_LIST,
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgement of a waiting file."""

    attempt: Attempt
    reason: str = ""
    error: ErrorInfo | None = None
    accepted: bool = False
    listed: bool = True
    as_is: bool = False

    def note_in(self, record: Record) -> None:
        """Write the judgement into the record of the file."""
        record.attempt, record.error = self.attempt, self.error
        record.accepted, record.listed = self.accepted, self.listed
        record.reason, record.as_is = self.reason, self.as_is


def judge(record: Record, patience: Patience, now: Callable[[], float] = time.monotonic) -> Judged:
    """Is a waiting file complete, and is it a trace? Reads a little of it."""
    found = record.found
    if found.unfinished:
        abandoned = stability.is_abandoned(found.identity, time.time())
        return Judged(Attempt.WAITING, stability.ABANDONED if abandoned else _UNFINISHED)
    by_rule = record.name.by_rule
    listed = by_rule or file_names.is_notable(found.name)
    try:
        complete = _is_complete(record, patience, now())
        if not stability.is_settled(
            record.watch, now(), time.time(), complete=complete, patience=patience
        ):
            reason = stability.why_waiting(record.watch, complete=complete)
            # Named by the rule, it belongs to its run before it can be read.
            return Judged(Attempt.WAITING, reason, accepted=by_rule or record.accepted)
        other = None if by_rule else stability.not_a_trace(found.absolute)
        if by_rule and not os.access(found.absolute, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except FileNotFoundError:
        return Judged(Attempt.WAITING, "The file went away a moment ago.", listed=False)
    except OSError as error:
        return Judged(Attempt.LOCKED, error=info_of(error), accepted=by_rule, listed=listed)
    if other is not None:
        listed = listed or other.kind not in _OF_NO_INTEREST
        return Judged(Attempt.REFUSED, error=other, listed=listed)
    return Judged(
        Attempt.LAZY, accepted=True, as_is=stability.is_restless(record.watch, now(), patience)
    )


def needs_bytes(record: Record) -> bool:
    """True if judging a file means opening it, which is limited per look."""
    return not record.found.unfinished and not record.name.by_rule


def _is_complete(record: Record, patience: Patience, now: float) -> bool:
    """True for a complete file; looks at its end only where it makes a difference."""
    incomplete = stability.is_settled(
        record.watch, now, time.time(), complete=False, patience=patience
    )
    if incomplete:
        return True
    return stability.looks_complete(record.found.absolute, record.found.identity.bytes)
