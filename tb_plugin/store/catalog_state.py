"""The records of all files, and every change to them.

Every change is made here, under one lock. The lock is never held while a file is touched, and the
pool never calls while holding its own, so that no thread waits for a slow disk.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from ..base.artifact_spec import ArtifactSpec
from ..base.errors import KinetoscopeError, NotFoundError
from .cache import artifacts
from .contract import ErrorInfo
from .discovery.walk import FoundFile
from .file_record import (
    Attempt,
    BeingRead,
    Judged,
    MakingState,
    Outcome,
    ReadResult,
    Record,
    needs_bytes,
)
from .ingest import resources
from .ingest.events import (
    Answered,
    FileEvent,
    Kept,
    Key,
    Made,
    MakeRequest,
    PoolEvent,
    Request,
    Restless,
    S,
    Unmade,
)
from .ingest.pool import IngestPool
from .ingest.protocol import error_of, waiting
from .ingest.worker import rank_of, steps_of, truncation_of

MOST_TRIES = 3  # to make an artifact that is gone each time
_UNREADABLE = ErrorInfo(
    "not_available",
    "What was prepared for this view could not be read back.",
    "Look at the disk of the cache folder, then retry.",
)
EAGER_SPANS = 64
EAGER_BYTES = 16 << 30


class CatalogState:
    """Records by key. ``on_change`` is called, without the lock, after every visible change."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self.records: dict[Key, Record] = {}
        self.problems: tuple[ErrorInfo, ...] = ()
        self.pool: IngestPool[Any]
        self._on_change = on_change

    def copies(self) -> list[Record]:
        """Copies of the records, for slow readers."""
        with self.lock:
            return [copy.copy(record) for record in self.records.values()]

    # --- from looking ---------------------------------------------------------------------------

    def see(self, batch: Iterable[tuple[Key, FoundFile]]) -> None:
        """Take in the files that a look found."""
        now = time.monotonic()
        with self.lock:
            for key, found in batch:
                record = self.records.get(key)
                if record is None:
                    self.records[key] = Record.of(key, found, now)
                elif not record.is_read_as_is and record.see(found, now):
                    self.pool.cancel(key)
        self._on_change()

    def forget_missing(self, outcome: Outcome) -> None:
        """Remove files that a complete look did not find."""
        with self.lock:
            for key in [k for k in self.records if k not in outcome.found and outcome.covers(k)]:
                del self.records[key]
                self.pool.cancel(key)
            self.problems = tuple(outcome.problems)
        self._on_change()

    def undecided(self) -> list[Record]:
        """Files to be judged: those that wait, and those that could not be opened.

        First those that need not be opened for that, so that most runs appear at once.
        """
        with self.lock:
            found = [r for r in self.records.values() if r.is_undecided]
        return sorted(found, key=lambda r: (needs_bytes(r), *_newest_first(r)))

    def decide(self, record: Record, judged: Judged) -> None:
        """Take in the judgement of an undecided file."""
        with self.lock:
            if record.is_undecided:
                judged.note_in(record)

    def read_newest(self) -> None:
        """Queue the newest traces, as many as are read in advance."""
        with self.lock:
            traces = [r for r in self.records.values() if r.accepted]
            traces.sort(key=_newest_first)
            text = 0
            for record in traces[:EAGER_SPANS]:
                text += resources.likely_text_bytes(
                    record.found.absolute, record.found.identity.bytes
                )
                if text > EAGER_BYTES:
                    break
                if record.attempt is Attempt.LAZY:
                    self._submit(record)
        self._on_change()

    # --- from the pool --------------------------------------------------------------------------

    def hear(self, event: PoolEvent[S]) -> None:
        """Apply an event of the pool."""
        if isinstance(event, Made | Unmade):
            self._hear_of_artifact(event)
            return
        with self.lock:
            record = self.records.get(event.request.key)
            if record is not None and record.found.identity == event.request.identity:
                self._take(record, event)
        self._on_change()

    def _take(self, record: Record, event: FileEvent[S]) -> None:
        if isinstance(event, Answered):
            record.accepted = True
            record.answer = self._answer(record, event)
        elif isinstance(event, Kept):
            if record.answer:
                record.attempt = Attempt.DONE
                record.answer.columns = not event.missing
                record.answer.missing = event.missing
                if event.note and not event.missing:
                    record.answer.note = record.answer.note or _note(event.note)
        elif isinstance(event, Restless):
            record.attempt = Attempt.WAITING
        elif record.answer and record.answer.identity == event.request.identity:
            # The summary is there, only the columns are not: what there is can be used.
            record.attempt = Attempt.DONE
            record.answer.missing = event.error.message
        else:
            record.attempt = Attempt.REFUSED if event.refused else Attempt.FAILED
            record.error, record.answer = event.error, None

    def _hear_of_artifact(self, event: Made | Unmade) -> None:
        request = event.request
        with self.lock:
            answer = self.answer_of(request.file, request.digest)
            state = answer and answer.artifacts.get((request.name, request.variants[-1]))
            if not state:
                return
            state.is_queued = False
            if isinstance(event, Made):
                state.missing = event.missing
            elif event.error is not None:
                state.error, state.cls = event.error, event.cls
        if isinstance(event, Unmade) and event.error is None:
            with suppress(NotFoundError):
                self.read_again(request.file, request.digest, request.path)
        self._on_change()

    def _answer(self, record: Record, event: Answered[S]) -> ReadResult:
        before = record.answer
        again = before is not None and before.digest == event.digest
        return ReadResult(
            digest=event.digest,
            identity=event.request.identity,
            events=event.stored.events,
            seconds=event.stored.seconds,
            from_cache=event.from_cache,
            rank=rank_of(event.summary),
            truncated=truncation_of(event.summary),
            steps=steps_of(event.summary),
            note=before.note if before and again else _note(event.note),
            columns=bool(before and again and before.columns),
            rereads=before.rereads if before and again else 0,
        )

    # --- from users -----------------------------------------------------------------------------

    def retry(self, number: Sequence[int], path: str) -> None:
        """Read a failed or refused file again.

        Raises:
            NotFoundError: no such file is known.
        """
        with self.lock:
            records = [self.records.get((n, path)) for n in number]
            known = [record for record in records if record is not None]
            if not known:
                raise NotFoundError(f"There is no file {path}.", hint="It may have been deleted.")
            for record in known:
                if record.answer:
                    record.answer.artifacts.clear()
                if record.error is not None or (record.answer and record.answer.missing):
                    self._submit(record, urgent=True)
        self._on_change()

    def hasten(self, record: Record) -> None:
        """Read a requested trace now."""
        if record.attempt is Attempt.LAZY:
            self._submit(record, urgent=True)
        elif record.attempt is Attempt.QUEUED:
            self.pool.promote(record.key)

    def read_again(self, key: Key, digest: str, path: str) -> BeingRead:
        """Queue a file whose stored result is gone or damaged; returns the answer for the request.

        Raises:
            NotFoundError: the file is gone, too.
        """
        with self.lock:
            record = self.records.get(key)
            if record is None:
                raise NotFoundError(f"{path} was deleted.", hint="Choose another trace.")
            answer = record.answer
            if answer and answer.digest == digest and record.attempt is Attempt.DONE:
                answer.columns = False
                answer.rereads += 1
                answer.note = "The stored copy was damaged or removed, so the file was read again."
                self._submit(record, urgent=True)
            return self.being_read(record)

    def answer_of(self, key: Key, digest: str) -> ReadResult | None:
        """The result of a file, if it still is the one with this content key."""
        record = self.records.get(key)
        answer = record.answer if record else None
        return answer if answer and answer.digest == digest else None

    def make(
        self, key: Key, digest: str, path: str, spec: ArtifactSpec[Any], variant: str
    ) -> KinetoscopeError:
        """Queue a missing artifact; returns the answer for the request.

        Raises:
            NotFoundError: the file is gone.
        """
        with self.lock:
            answer = self.answer_of(key, digest)
            if answer is None:
                raise NotFoundError(f"{path} was deleted or replaced.", hint="Open it again.")
            state = answer.artifacts.get((spec.name, variant))
            if state is not None and state.error is not None:
                return error_of(state.error, state.cls)
            request = MakeRequest(
                file=key,
                path=path,
                identity=answer.identity,
                digest=digest,
                events=answer.events,
                make=spec.make,
                name=spec.name,
                variants=artifacts.needed(spec.variants, variant),
            )
            if state is None:
                state = answer.artifacts[spec.name, variant] = MakingState(tries=0)
            if state.tries == 0 or not state.is_queued:
                if state.tries >= MOST_TRIES:
                    state.error, state.cls = _UNREADABLE, "UnavailableError"
                    return error_of(state.error, state.cls)
                state.is_queued, state.tries = True, state.tries + 1
                self.pool.submit(request, urgent=True)
            progress = self.pool.progress(request.key) or waiting(answer.identity.bytes)
        return BeingRead("The view is being prepared.", progress)

    def found(self, key: Key, digest: str, spec: ArtifactSpec[Any], variant: str) -> None:
        """Record that an artifact is there: earlier failures no longer count."""
        with self.lock:
            answer = self.answer_of(key, digest)
            if answer is not None:
                answer.artifacts.pop((spec.name, variant), None)

    def being_read(self, record: Record) -> BeingRead:
        """The answer to a request for an unfinished trace."""
        progress = self.pool.progress(record.key) or waiting(record.found.identity.bytes)
        if record.attempt is Attempt.WAITING:
            return BeingRead(record.reason, progress)
        return BeingRead("The trace is being read.", progress)

    def _submit(self, record: Record, *, urgent: bool = False) -> None:
        record.attempt, record.error = Attempt.QUEUED, None
        if record.answer is not None:
            record.answer.missing = ""
        found = record.found
        order = -found.identity.modified_ns
        request = Request(record.key, found.absolute, found.identity, order, record.as_is)
        self.pool.submit(request, urgent=urgent)


def _newest_first(record: Record) -> tuple[int, Key]:
    return (-record.found.identity.modified_ns, record.key)


def _note(note: str) -> str:
    return f"Not everything could be kept in the cache: {note}." if note else ""
