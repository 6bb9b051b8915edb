"""What is remembered of every file: what was seen, what is tried, and the last good answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..base.errors import NotReadyError
from . import names, settle
from .catalog_types import ErrorInfo, ReadProgress, State, StepFigures
from .discovery import Found, Identity
from .names import TraceName
from .news import Key as Key


class Attempt(Enum):
    """Where a file stands, in its present state on disk."""

    WAITING = "waiting"  # unfinished by its name, still changing, or not looked into yet
    LAZY = "lazy"  # a trace; read when somebody asks for it, or when it is among the newest
    QUEUED = "queued"  # handed to the pool
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    LOCKED = "locked"  # cannot be opened; tried again at every look


@dataclass(slots=True)
class MakingState:
    """Where an artifact of a trace stands; one that is stored needs none."""

    is_queued: bool = True
    tries: int = 1
    error: ErrorInfo | None = None
    cls: str = ""  # of base.errors
    missing: str = ""  # why it is in no folder


@dataclass(slots=True)
class Answer:
    """The result of reading a file."""

    digest: str
    identity: Identity
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
    found: Found
    name: TraceName
    watch: settle.Watch
    attempt: Attempt = Attempt.WAITING
    accepted: bool = False  # a trace, by its name or its first bytes: part of a run
    answer: Answer | None = None
    error: ErrorInfo | None = None
    reason: str = "Not looked into yet."  # why it waits
    as_is: bool = False  # it never rests: it is read although it changes meanwhile
    listed: bool = True  # False: no trace, and nobody would think so
    rank_hint: int | None = None

    @classmethod
    def of(cls, key: Key, found: Found, now: float) -> Record:
        name = names.parse(found.name)
        return cls(
            key,
            found,
            name,
            settle.begin(found.identity, now),
            rank_hint=names.rank_in_name(name.worker),
        )

    def see(self, found: Found, now: float) -> bool:
        """Another look at the file; True when it is not what it was."""
        changed = found.identity != self.found.identity
        self.found = found
        if not changed:
            return False
        if self.attempt is Attempt.WAITING:
            self.watch = self.watch.seen(found.identity, now)
        else:
            self.watch = settle.begin(found.identity, now)
        self.attempt, self.error = Attempt.WAITING, None
        return True

    @property
    def is_undecided(self) -> bool:
        """Whether looking at it again may change something, although it did not change."""
        return self.attempt in (Attempt.WAITING, Attempt.LOCKED)

    @property
    def is_read_as_is(self) -> bool:
        """Whether a change of the file does not matter now."""
        return self.as_is and self.attempt is Attempt.QUEUED

    @property
    def is_settling(self) -> bool:
        """Whether it will be decided soon."""
        return self.attempt is Attempt.WAITING and not self.found.unfinished

    @property
    def rank(self) -> int | None:
        """From the file when it says so, else from its name."""
        told = self.answer.rank if self.answer else None
        return told if told is not None else self.rank_hint

    def state(self, running: Mapping[Key, object]) -> State:
        """The state shown. An older answer counts until there is a newer one, or none any more."""
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
    """The trace is not there yet; ``progress`` says how far it is."""

    def __init__(self, message: str, progress: ReadProgress) -> None:
        super().__init__(message, hint="It is shown as soon as it is there.")
        self.progress = progress
