"""Immutable state of every file, and its change by each event.

    state, commands = state.apply(event)

A state is never changed: an event makes a new one, and commands for the ingest pool. Events come
from the poller, from the pool and from requests. Nothing here touches a file, a clock or a lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from ..base.artifact_spec import ReadBounds
from ..trace.worker_names import process_behind
from .contract import ErrorInfo, State, StepFigures
from .discovery import file_names, stability
from .discovery.file_names import TraceName
from .discovery.walk import FileVersion, FoundFile, Key, Outcome
from .ingest import resources
from .ingest.events import (
    Answered,
    Cancel,
    Kept,
    Lost,
    Made,
    MakeRequest,
    PoolCommand,
    PoolEvent,
    Promote,
    Request,
    Restless,
    S,
    Submit,
    SummaryOnly,
    Unmade,
)
from .ingest.worker import job_of, process_of, rank_of, steps_of, truncation_of

MOST_TRIES = 3  # to make an artifact that is gone each time
EAGER_SPANS = 64
EAGER_BYTES = 16 << 30
_UNREADABLE = ErrorInfo(
    "not_available",
    "The prepared data of this view could not be read back.",
    "Restart the server if kinetoscope was upgraded while it ran;"
    " else look at the disk of the cache folder, then retry.",
)
_READ_AGAIN = "The stored copy was damaged or removed, so the file was read again."

# --- one file -------------------------------------------------------------------------------------


class Attempt(Enum):
    """State of a file, in its present version on disk."""

    WAITING = "waiting"  # unfinished by its name, still changing, or not looked into yet
    LAZY = "lazy"  # a trace; read when asked for, or among the newest; or only its columns are not
    QUEUED = "queued"  # handed to the pool
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    LOCKED = "locked"  # cannot be opened; tried again at every look


class MakingState(Struct, frozen=True):
    """State of an artifact that is not stored yet."""

    is_queued: bool = False
    tries: int = 0
    error: ErrorInfo | None = None
    cls: str = ""  # of base.errors
    missing: str = ""  # why it is in no folder


class ReadResult(Struct, frozen=True):
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
    process: tuple[str, int | None] = ("", None)  # its host, its number there
    job: str = ""  # its name to the launcher
    rereads: int = 0  # times the columns were lost and read again
    artifacts: Mapping[tuple[str, str], MakingState] = field(default_factory=dict)  # name, variant


class Record(Struct, frozen=True):
    """One file: its state on disk, its attempts, its last good result."""

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

    @property
    def is_snapshot(self) -> bool:
        """It is a memory snapshot, by its name."""
        return file_names.is_pickle(self.found.name)

    @classmethod
    def of(cls, key: Key, found: FoundFile, now: float) -> Record:
        name = file_names.parse(found.name)
        watch = stability.begin(found.identity, now)
        return cls(key, found, name, watch, rank_hint=file_names.rank_in_name(name.worker))

    def seen(self, found: FoundFile, now: float) -> Record:
        """The record after another look at the file."""
        identity = found.identity
        if identity == self.found.identity:
            return replace(self, found=found)
        is_waiting = self.attempt is Attempt.WAITING
        watch = self.watch.seen(identity, now) if is_waiting else stability.begin(identity, now)
        return replace(self, found=found, watch=watch, attempt=Attempt.WAITING, error=None)

    def decided(self, judged: Judged) -> Record:
        """The record with a judgement in it."""
        return replace(
            self,
            attempt=judged.attempt,
            reason=judged.reason,
            error=judged.error,
            accepted=judged.accepted,
            listed=judged.listed,
            as_is=judged.as_is,
        )

    @property
    def is_undecided(self) -> bool:
        """True if another look may change something, although the file did not change."""
        return self.attempt in (Attempt.WAITING, Attempt.LOCKED)

    @property
    def is_read_as_is(self) -> bool:
        """True if a change of the file does not matter now."""
        return self.as_is and self.attempt is Attempt.QUEUED

    @property
    def is_summarized(self) -> bool:
        """True if the result is of the file as it is now."""
        return self.answer is not None and self.answer.identity == self.found.identity

    @property
    def is_settling(self) -> bool:
        """True if the file will be decided soon."""
        return self.attempt is Attempt.WAITING and not self.found.unfinished

    @property
    def rank(self) -> int | None:
        """The rank in the file, else the one in its name."""
        told = self.answer.rank if self.answer else None
        return told if told is not None else self.rank_hint

    @property
    def process(self) -> tuple[str, int | None]:
        """Host and number of the process, by the file, else by its name."""
        told = self.answer.process if self.answer else ("", None)
        return process_behind(self.name.worker if self.name.by_rule else "", *told)

    def state(self, running: Collection[Key]) -> State:
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


def newest_first(record: Record) -> tuple[int, Key]:
    """Sort key of records."""
    return (-record.found.identity.modified_ns, record.key)


# --- events, beside those of the pool -------------------------------------------------------------


class Judged(Struct, frozen=True):
    """Judgement of an undecided file."""

    attempt: Attempt
    reason: str = ""
    error: ErrorInfo | None = None
    accepted: bool = False
    listed: bool = True
    as_is: bool = False


class Seen(Struct, frozen=True):
    """A look came by these files, at ``now`` on the monotonic clock."""

    files: Sequence[tuple[Key, FoundFile]]
    now: float


class Looked(Struct, frozen=True):
    """A look at all logdirs has ended."""

    outcome: Outcome


class Decided(Struct, frozen=True):
    """Undecided files were judged: the newest traces may be read in advance."""

    judged: Mapping[Key, Judged]


class Asked(Struct, frozen=True):
    """A request for a trace, or for its columns."""

    key: Key
    columns: bool = False


class Retried(Struct, frozen=True):
    """A request to read failed or refused files again."""

    keys: Sequence[Key]


class ColumnsLost(Struct, frozen=True):
    """The stored summary or columns of a file are gone or damaged."""

    key: Key
    digest: str


class ColumnsRead(Struct, frozen=True):
    """The stored columns of a file are there and whole."""

    key: Key
    digest: str


class ArtifactAsked(Struct, frozen=True):
    """A request for an artifact that is not stored."""

    key: Key
    digest: str
    make: str
    name: str
    variants: tuple[str, ...]  # all that must be there; the last one is wanted
    argument: str = ""
    bounds: ReadBounds | None = None


class ArtifactFound(Struct, frozen=True):
    """An artifact is stored: earlier failures no longer count."""

    key: Key
    digest: str
    name: str
    variant: str


Demand: TypeAlias = Asked | Retried | ColumnsLost | ColumnsRead | ArtifactAsked | ArtifactFound
CatalogEvent: TypeAlias = Seen | Looked | Decided | Demand | PoolEvent[S]
Transition: TypeAlias = "tuple[CatalogState, Sequence[PoolCommand]]"

# --- all files ------------------------------------------------------------------------------------


class CatalogState(Struct, frozen=True):
    """The records of all files. A changed state costs a copy of the table, not of its records."""

    records: Mapping[Key, Record] = field(default_factory=dict)
    told: Mapping[frozenset[int] | None, tuple[ErrorInfo, ...]] = field(default_factory=dict)
    # of the logdirs of each poller, by their numbers

    @property
    def problems(self) -> tuple[ErrorInfo, ...]:
        """Problems of the logdirs."""
        by_number = sorted(self.told.items(), key=lambda item: sorted(item[0] or ()))
        return tuple(problem for _, problems in by_number for problem in problems)

    def apply(self, event: CatalogEvent[Any]) -> Transition:
        """The state after an event, and the commands that the pool is to get, in this order.

        An event about a file, or a version of it, that is no longer known changes nothing.
        """
        match event:
            case Seen():
                change = self._seen(event)
            case Looked():
                change = self._looked(event.outcome)
            case Decided():
                change = self._decided(event)
            case Asked():
                change = self._asked(event)
            case Retried():
                change = self._retried(event.keys)
            case ColumnsLost() | ColumnsRead():
                change = self._columns(event)
            case ArtifactAsked():
                change = self._artifact_asked(event)
            case ArtifactFound():
                place = (event.name, event.variant)
                change = self._with_making(event.key, event.digest, place, None)
            case Made() | Unmade():
                change = self._made(event)
            case _:
                change = self._read(event)
        return change

    def answer_of(self, key: Key, digest: str) -> ReadResult | None:
        """The result of a file, if it still is the one with this content key."""
        record = self.records.get(key)
        answer = record.answer if record else None
        return answer if answer and answer.digest == digest else None

    def making_of(self, key: Key, digest: str, name: str, variant: str) -> MakingState | None:
        """The state of an artifact; None where it is stored or was never asked for."""
        answer = self.answer_of(key, digest)
        return answer.artifacts.get((name, variant)) if answer else None

    def _with(self, *changed: Record, commands: Sequence[PoolCommand] = ()) -> Transition:
        if not changed:
            return self, commands
        records = {**self.records, **{record.key: record for record in changed}}
        return replace(self, records=records), commands

    # --- from the poller ------------------------------------------------------------------------

    def _seen(self, event: Seen) -> Transition:
        changed, commands = [], []
        for key, found in event.files:
            record = self.records.get(key)
            if record is None:
                changed.append(Record.of(key, found, event.now))
            elif found != record.found and not record.is_read_as_is:
                changed.append(record.seen(found, event.now))
                if found.identity != record.found.identity:
                    commands.append(Cancel(key))
        return self._with(*changed, commands=commands)

    def _looked(self, outcome: Outcome) -> Transition:
        gone = [key for key in self.records if key not in outcome.found and outcome.covers(key)]
        problems = tuple(outcome.problems)
        if not gone and problems == self.told.get(outcome.numbers, ()):
            return self, ()
        records = dict(self.records)
        for key in gone:
            del records[key]
        told = {**self.told, outcome.numbers: problems}
        return CatalogState(records, told), [Cancel(key) for key in gone]

    def _decided(self, event: Decided) -> Transition:
        known = [(self.records.get(key), judged) for key, judged in event.judged.items()]
        after, _ = self._with(
            *(one.decided(judged) for one, judged in known if one is not None and one.is_undecided)
        )
        queued = [_queued(record) for record in _read_in_advance(after.records.values())]
        return after._with(
            *(record for record, _ in queued), commands=[command for _, command in queued]
        )

    # --- from requests --------------------------------------------------------------------------

    def _asked(self, event: Asked) -> Transition:
        record = self.records.get(event.key)
        if record is not None and record.attempt is Attempt.QUEUED:
            return self, [Promote(event.key)]
        if record is None or record.attempt is not Attempt.LAZY:
            return self, ()
        if record.is_summarized and not event.columns:
            return self, ()
        queued, command = _queued(record, urgent=True, columns=event.columns)
        return self._with(queued, commands=[command])

    def _retried(self, keys: Sequence[Key]) -> Transition:
        changed, commands = [], []
        for record in filter(None, map(self.records.get, keys)):
            answer = replace(record.answer, artifacts={}) if record.answer else None
            again = replace(record, answer=answer)
            if record.error is not None or (answer and answer.missing):
                wants = answer is not None and bool(answer.missing)
                again, command = _queued(again, urgent=True, columns=wants)
                commands.append(command)
            changed.append(again)
        return self._with(*changed, commands=commands)

    def _columns(self, event: ColumnsLost | ColumnsRead) -> Transition:
        answer = self.answer_of(event.key, event.digest)
        if answer is None:
            return self, ()
        record = self.records[event.key]
        if isinstance(event, ColumnsRead):
            found = replace(record, answer=replace(answer, rereads=0))
            return self._with(found) if answer.rereads else (self, ())
        if record.attempt is not Attempt.DONE:
            return self, ()
        lost = replace(answer, columns=False, rereads=answer.rereads + 1, note=_READ_AGAIN)
        queued, command = _queued(replace(record, answer=lost), urgent=True, columns=True)
        return self._with(queued, commands=[command])

    def _artifact_asked(self, event: ArtifactAsked) -> Transition:
        answer = self.answer_of(event.key, event.digest)
        if answer is None:
            return self, ()
        place = (event.name, event.variants[-1])
        making = answer.artifacts.get(place, MakingState())
        if making.error is not None or making.is_queued:
            return self, ()
        if making.tries >= MOST_TRIES:
            lost = replace(making, error=_UNREADABLE, cls="UnavailableError")
            return self._with_making(event.key, event.digest, place, lost)
        making = replace(making, is_queued=True, tries=making.tries + 1)
        after, _ = self._with_making(event.key, event.digest, place, making)
        request = MakeRequest(
            file=event.key,
            path=self.records[event.key].found.absolute,
            identity=answer.identity,
            digest=event.digest,
            events=answer.events,
            make=event.make,
            name=event.name,
            variants=event.variants,
            argument=event.argument,
            bounds=event.bounds,
        )
        return after, [Submit(request, urgent=True)]

    # --- from the pool --------------------------------------------------------------------------

    def _read(self, event: Answered[Any] | Kept | SummaryOnly | Lost | Restless) -> Transition:
        record = self.records.get(event.request.key)
        if record is None or record.found.identity != event.request.identity:
            return self, ()
        answer = record.answer
        match event:
            case Answered():
                record = replace(record, accepted=True, answer=_answer(answer, event))
            case Kept() if answer is not None:
                note = answer.note or _note("" if event.missing else event.note)
                kept = replace(answer, columns=not event.missing, missing=event.missing, note=note)
                record = replace(record, attempt=Attempt.DONE, answer=kept)
            case SummaryOnly():
                record = replace(record, attempt=Attempt.LAZY)
            case Restless():
                record = replace(record, attempt=Attempt.WAITING)
            case Lost() if answer is not None and answer.identity == event.request.identity:
                # The summary is there, only the columns are not: what there is can be used.
                kept = replace(answer, missing=event.error.message)
                record = replace(record, attempt=Attempt.DONE, answer=kept)
            case Lost():
                attempt = Attempt.REFUSED if event.refused else Attempt.FAILED
                record = replace(record, attempt=attempt, error=event.error, answer=None)
        return self._with(record)

    def _made(self, event: Made | Unmade) -> Transition:
        request = event.request
        place = (request.name, request.variants[-1])
        making = self.making_of(request.file, request.digest, *place)
        if making is None:
            return self, ()
        making = replace(making, is_queued=False)
        if isinstance(event, Made):
            making = replace(making, missing=event.missing)
        elif event.error is not None:
            making = replace(making, error=event.error, cls=event.cls)
        after, _ = self._with_making(request.file, request.digest, place, making)
        if isinstance(event, Unmade) and event.error is None:
            return after.apply(ColumnsLost(request.file, request.digest))
        return after, ()

    def _with_making(
        self, key: Key, digest: str, place: tuple[str, str], making: MakingState | None
    ) -> Transition:
        """With another state of an artifact; None: there is no need to remember one."""
        answer = self.answer_of(key, digest)
        if answer is None or making is answer.artifacts.get(place):
            return self, ()
        others = {one: state for one, state in answer.artifacts.items() if one != place}
        known = others if making is None else {**others, place: making}
        return self._with(replace(self.records[key], answer=replace(answer, artifacts=known)))


def _read_in_advance(records: Iterable[Record]) -> list[Record]:
    """The newest traces, as many as are read in advance, of which nothing was read yet."""
    found, text = [], 0
    for record in sorted((one for one in records if one.accepted), key=newest_first)[:EAGER_SPANS]:
        text += resources.likely_text_bytes(record.found.absolute, record.found.identity.bytes)
        if text > EAGER_BYTES:
            break
        if record.attempt is Attempt.LAZY and not record.is_summarized:
            found.append(record)
    return found


def _queued(
    record: Record, *, urgent: bool = False, columns: bool = False
) -> tuple[Record, Submit]:
    """The record of a file that is handed to the pool, and the command for it."""
    found = record.found
    order = -found.identity.modified_ns
    request = Request(
        record.key, found.absolute, found.identity, order, record.as_is, columns, found.origin
    )
    answer = replace(record.answer, missing="") if record.answer else None
    queued = replace(record, attempt=Attempt.QUEUED, error=None, answer=answer)
    return queued, Submit(request, urgent=urgent)


def _answer(before: ReadResult | None, event: Answered[S]) -> ReadResult:
    """The result of a file whose summary is there; ``before``: the one so far."""
    again = before if before is not None and before.digest == event.digest else None
    return ReadResult(
        digest=event.digest,
        identity=event.request.identity,
        events=event.stored.events,
        seconds=event.stored.seconds,
        from_cache=event.from_cache,
        rank=rank_of(event.summary),
        process=process_of(event.summary),
        job=job_of(event.summary),
        truncated=truncation_of(event.summary),
        steps=steps_of(event.summary),
        note=again.note if again else _note(event.note),
        columns=bool(again and again.columns),
        rereads=again.rereads if again else 0,
    )


def _note(note: str) -> str:
    return f"Not everything could be kept in the cache: {note}." if note else ""
