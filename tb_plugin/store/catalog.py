"""The catalog: what is below the logdirs, kept up to date, and the answers to what is asked of it.

One thread looks at the folders, one makes the catalog the page sees, the pool's threads bring news. All of them end
with ``close``, or with the program.

Read in advance are the newest ``EAGER_SPANS`` traces, up to ``EAGER_BYTES`` of text; every other one is read when
it is first asked for.
"""

from __future__ import annotations

import atexit
import logging
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
from typing_extensions import Self

from ..base.errors import KinetoscopeError, NotFoundError, UnavailableError
from . import fingerprint, ingest, looking
from .cache import Cache
from .cache_place import close_session, open_cache
from .catalog_types import Catalog, ErrorInfo
from .discovery import Found
from .ingest import Answered, IngestPool, Kept, Limits, Lost, Request, Restless, Work
from .keep import Recent
from .logdirs import Logdir
from .lookup import Entry, find, pick
from .messages import error_of
from .progress import waiting
from .publish import Published, View, publish
from .records import Answer, Attempt, BeingRead, Key, Record
from .settle import Patience
from .worker import load_callable

if TYPE_CHECKING:
    from ..trace.model import Trace

__all__ = ["BeingRead", "CatalogService", "Entry", "Timing"]

log = logging.getLogger(__name__)

EAGER_SPANS = 64
EAGER_BYTES = 16 << 30
READER = "kinetoscope.trace.reader:read"
SUMMARIZE = "kinetoscope.analysis.summarize:summarize"
SUMMARY_TYPE = "kinetoscope.analysis.facts:Facts"
SUMMARIES_KEPT, TRACES_KEPT = 256, 4
IN_PROCESS_BYTES = (
    256 << 20
)  # of memory: a trace that could not be kept on disk is read here up to this
MOST_REREADS = 2


@dataclass(frozen=True, slots=True)
class Timing:
    """How often things happen, in seconds."""

    look: float = 10.0  # between two looks
    busy_look: float = 1.0  # the same, while a file is waited for
    look_share: float = 0.05  # of the time may be spent looking
    judge: float = 5.0  # for opening files, per look
    publish: float = 0.2  # between two catalogs
    patience: Patience = Patience()


class CatalogService:
    """What is below the logdirs. Nothing happens before ``start``."""

    def __init__(
        self,
        logdirs: Sequence[Logdir],
        *,
        summarize: str = SUMMARIZE,
        summary_type: str = SUMMARY_TYPE,
        read: str = READER,
        cache: Cache | None = None,
        limits: Limits | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._logdirs = tuple(logdirs)
        self._names = (read, summarize, summary_type)
        self._given_cache = cache
        self._limits = limits
        self._timing = timing or Timing()
        self._lock = threading.RLock()
        self._records: dict[Key, Record] = {}
        self._problems: list[ErrorInfo] = []
        self._looked = 0.0
        self._looks_begun = self._looks_ended = 0
        self._look_wanted = threading.Condition(self._lock)
        self._dirty = threading.Event()
        self._first_look = threading.Event()
        self._closed = threading.Event()
        self._boot, self._count = secrets.token_hex(4), 0
        self._publishing = threading.Lock()
        self._published = self._empty()
        self._summaries: Recent[Any] = Recent(SUMMARIES_KEPT)
        self._traces: Recent[Trace] = Recent(TRACES_KEPT)
        self._loading = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._cache: Cache
        self._pool: IngestPool

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begins to look, in the background; the second call does nothing."""
        with self._lock:
            if self._threads or self._closed.is_set():
                return
            self._cache = self._given_cache or open_cache()
            read, summarize, summary_type = self._names
            work = Work(read, summarize, self._decode, fingerprint.code_version(*self._names))
            self._summary_type = load_callable(summary_type)
            self._pool = IngestPool(work, self._cache, self._hear, self._limits)
            for name, target in (("look", self._look_forever), ("publish", self._publish_forever)):
                thread = threading.Thread(target=target, name=f"kinetoscope-{name}", daemon=True)
                self._threads.append(thread)
                thread.start()
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the threads and the reading processes that were started here."""
        with self._lock:
            started, already = bool(self._threads), self._closed.is_set()
            self._closed.set()
            self._dirty.set()
            self._look_wanted.notify_all()
        if already or not started:
            return
        atexit.unregister(self.close)
        self._pool.close()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(5.0)
        if self._given_cache is None:
            close_session(self._cache)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what is there ------------------------------------------------------------------------

    def snapshot(self) -> Catalog:
        """The catalog as last published; cheap, never blocks.

        Its ``version`` stays the same while nothing but ``looked`` changes.
        """
        return self._published.catalog

    def wait_first_look(self, timeout: float) -> bool:
        """Waits until the first look is finished; False when it is not within ``timeout`` seconds."""
        return self._first_look.wait(timeout)

    def rescan(self, timeout: float = 10.0) -> Catalog:
        """Looks again at once, and waits for the end of that look, ``timeout`` seconds at most."""
        until = time.monotonic() + timeout
        with self._look_wanted:
            wanted = self._looks_begun + 1
            self._asked = wanted
            self._look_wanted.notify_all()
            while self._looks_ended < wanted and not self._closed.is_set():
                if not self._look_wanted.wait(until - time.monotonic()):
                    break
        self._publish()
        return self.snapshot()

    def retry(self, logdir: str, path: str) -> Catalog:
        """Reads a file again that failed or was refused.

        Raises:
            NotFoundError: no such file is known.
        """
        with self._lock:
            for record in self._records.values():
                if self._logdirs[record.key[0]].shown == logdir and record.found.path == path:
                    if record.attempt in (Attempt.FAILED, Attempt.REFUSED):
                        self._submit(record, urgent=True)
                    break
            else:
                raise NotFoundError(
                    f"There is no file {path} in {logdir}.", hint="It may have been deleted."
                )
        self._publish()
        return self.snapshot()

    def locate(self, run: str | None, worker: str | None, span: str | None) -> Entry:
        """The trace of a worker and span; what is not given is chosen (newest run, first worker, last span).

        Asking makes it urgent.

        Raises:
            NotFoundError: there is none; says what there is.
            BeingRead: it is queued or being read.
            TraceFormatError: it was refused, or reading it failed.
        """
        published = self._published
        place = pick(published.catalog, run, worker, span)
        key = find(published, place)
        with self._lock:
            record = self._records.get(key)
            if record is None:
                raise NotFoundError(
                    f"{place[0]} / {place[1]}: the file was deleted.", hint="Choose another trace."
                )
            if record.attempt in (Attempt.REFUSED, Attempt.FAILED) and record.error is not None:
                raise error_of(record.error)
            self._hasten(record)
            answer = record.answer
            if answer is None:
                raise self._being_read(record)
            return Entry(*place, record.found.absolute, answer.digest, record.rank, key)

    def summary(self, entry: Entry) -> Any:
        """The summary of a trace, an object of the summary type.

        Raises:
            BeingRead: the stored one is gone; it is being read again.
        """
        found = self._summaries.get(entry.digest)
        if found is not None:
            return found
        with self._lock:
            record = self._records.get(entry.key)
            if record and record.answer and record.answer.pinned is not None:
                return record.answer.pinned
        stored = self._cache.load_summary(entry.digest)
        if stored is None:
            raise self._lost(entry)
        return self._summaries.put(
            entry.digest, self._at(entry.path, self._decode(bytes(stored.summary)))
        )

    def trace(self, entry: Entry) -> Trace:
        """The columns of a trace; shared, read-only.

        Raises:
            BeingRead: they are still being written, or were lost and are being read again.
            UnavailableError: they could not be kept anywhere.
        """
        with self._loading:
            found = self._traces.get(entry.digest)
            if found is not None:
                return found
            with self._lock:
                record = self._records.get(entry.key)
                answer = record.answer if record else None
                if record and answer and not answer.columns and not answer.missing:
                    self._hasten(record)
                    raise self._being_read(record)
            if answer is not None and (answer.missing or answer.rereads > MOST_REREADS):
                return self._traces.put(entry.digest, self._read_here(entry, answer))
            trace = self._cache.load_trace(entry.digest, entry.path)
            if trace is None:
                raise self._lost(entry)
            return self._traces.put(entry.digest, trace)

    # --- looking ------------------------------------------------------------------------------

    def _look_forever(self) -> None:
        while not self._closed.is_set():
            began = time.monotonic()
            with self._lock:
                self._looks_begun += 1
            try:
                unfinished = self._look()
            except Exception:
                log.exception("looking at the logdirs")
                unfinished = False
            took = time.monotonic() - began
            with self._look_wanted:
                self._looks_ended += 1
                self._looked = time.time()
                self._dirty.set()
                self._look_wanted.notify_all()
                self._look_wanted.wait_for(
                    lambda: self._closed.is_set() or self._asked > self._looks_begun,
                    0.05 if unfinished else self._pause(took),
                )

    _asked = 0

    def _pause(self, took: float) -> float:
        timing = self._timing
        waits = any(
            r.attempt is Attempt.WAITING and not r.found.unfinished for r in self._records.values()
        )
        pause = timing.busy_look if waits else timing.look
        return max(pause, took / timing.look_share)

    def _look(self) -> bool:
        """One look; True when there are still files to open."""
        outcome = looking.Outcome()
        walk = looking.walk(self._logdirs, outcome)
        for batch in _batches(walk, self._closed):
            now = time.monotonic()
            with self._lock:
                for key, found in batch:
                    self._see(key, found, now)
            self._dirty.set()
        with self._lock:
            for key in [k for k in self._records if k not in outcome.found and outcome.covers(k)]:
                del self._records[key]
                self._pool.cancel(key)
            self._problems = outcome.problems
        unfinished = self._judge_waiting()
        if not unfinished and not self._first_look.is_set():
            self._looked = time.time()
            self._publish(first=True)
            self._first_look.set()
        return unfinished

    def _see(self, key: Key, found: Found, now: float) -> None:
        record = self._records.get(key)
        if record is None:
            self._records[key] = Record.of(key, found, now)
        elif record.see(found, now):
            self._pool.cancel(key)

    def _judge_waiting(self) -> bool:
        """Opens the files that wait for it, newest first; True when time ran out."""
        with self._lock:
            waiting = [r for r in self._records.values() if r.attempt is Attempt.WAITING]
        waiting.sort(key=lambda r: -r.found.identity.modified_ns)
        until = time.monotonic() + self._timing.judge
        for number, record in enumerate(waiting):
            if self._closed.is_set():
                return False
            if time.monotonic() > until and looking.needs_bytes(record):
                return True
            judged = looking.judge(record, self._timing.patience)
            with self._lock:
                record.attempt, record.error = judged.attempt, judged.error
                record.accepted, record.listed = judged.accepted, judged.listed
                record.reason = judged.reason
            if number % 64 == 63:
                self._read_newest()
                self._dirty.set()
        self._read_newest()
        return False

    def _read_newest(self) -> None:
        """Queues the newest traces, as many as are read in advance."""
        with self._lock:
            traces = [r for r in self._records.values() if r.accepted]
            traces.sort(key=lambda r: (-r.found.identity.modified_ns, r.key))
            text = 0
            for record in traces[:EAGER_SPANS]:
                text += ingest.memory_needed(record.found.absolute, record.found.identity.bytes)
                if text > EAGER_BYTES:
                    break
                if record.attempt is Attempt.LAZY:
                    self._submit(record)

    # --- reading ------------------------------------------------------------------------------

    def _submit(self, record: Record, *, urgent: bool = False) -> None:
        record.attempt, record.error = Attempt.QUEUED, None
        identity = record.found.identity
        request = Request(record.key, record.found.absolute, identity, -identity.modified_ns)
        self._pool.submit(request, urgent=urgent)
        self._dirty.set()

    def _hasten(self, record: Record) -> None:
        if record.attempt is Attempt.LAZY:
            self._submit(record, urgent=True)
        elif record.attempt is Attempt.QUEUED:
            self._pool.promote(record.key)

    def _being_read(self, record: Record) -> BeingRead:
        progress = self._pool.progress(record.key) or waiting(record.found.identity.bytes)
        if record.attempt is Attempt.WAITING:
            return BeingRead(record.reason or "The file is still being written.", progress)
        return BeingRead("The trace is being read.", progress)

    def _lost(self, entry: Entry) -> KinetoscopeError:
        """The stored answer is gone: read the file again."""
        with self._lock:
            record = self._records.get(entry.key)
            if record is None:
                return NotFoundError(f"{entry.path} was deleted.", hint="Choose another trace.")
            answer = record.answer
            if (
                answer is not None
                and answer.digest == entry.digest
                and record.attempt is Attempt.DONE
            ):
                answer.columns = False
                answer.rereads += 1
                answer.note = "The stored copy was damaged or removed, so the file was read again."
                self._submit(record, urgent=True)
            return self._being_read(record)

    def _read_here(self, entry: Entry, answer: Answer) -> Trace:
        """Reads a small trace in this process, because no disk would keep its columns."""
        needed = ingest.memory_needed(entry.path, answer.identity.bytes)
        if needed > IN_PROCESS_BYTES:
            raise UnavailableError(
                answer.missing or "The columns of this trace cannot be kept on disk.",
                hint="Make room on the disk, or set KINETOSCOPE_CACHE_DIR to a folder that has some, and retry.",
            )
        trace: Trace = load_callable(self._names[0])(entry.path, lambda _: None)
        return trace

    def _hear(self, news: Answered | Kept | Lost | Restless) -> None:
        """What the pool has to say; called from its threads."""
        with self._lock:
            record = self._records.get(news.request.key)  # type: ignore[call-overload]
            if record is None or record.found.identity != news.request.identity:
                return
            if isinstance(news, Answered):
                self._take(record, news)
            elif isinstance(news, Kept):
                record.attempt = Attempt.DONE
                if record.answer:
                    record.answer.columns, record.answer.missing = not news.missing, news.missing
            elif isinstance(news, Restless):
                record.watch = record.watch.seen(record.found.identity, time.monotonic())
                record.attempt = Attempt.WAITING
            elif record.answer and record.answer.identity == news.request.identity:
                # The summary is there, only the columns are not: what there is can be used.
                record.attempt, record.answer.missing = Attempt.DONE, news.error.message
            else:
                record.attempt = Attempt.REFUSED if news.refused else Attempt.FAILED
                record.error, record.answer = news.error, None
        self._dirty.set()

    def _take(self, record: Record, news: Answered) -> None:
        before = record.answer if record.answer and record.answer.digest == news.digest else None
        summary = self._at(record.found.absolute, news.summary)
        self._summaries.put(news.digest, summary)
        pinned = summary if news.note and self._cache.load_summary(news.digest) is None else None
        record.accepted = True
        record.answer = Answer(
            digest=news.digest,
            identity=news.request.identity,
            events=news.stored.events,
            seconds=news.stored.seconds,
            from_cache=news.from_cache,
            rank=_field(summary, "rank"),
            truncated=_truncated(summary),
            note=before.note if before else _note(news.note, self._cache.problem),
            pinned=pinned,
            columns=before.columns if before else False,
            rereads=before.rereads if before else 0,
        )

    def _decode(self, text: bytes) -> Any:
        return msgspec.json.decode(text, type=self._summary_type)

    @staticmethod
    def _at(path: str, summary: Any) -> Any:
        """The summary of a file, with its own path: the stored one may stem from a copy elsewhere."""
        if isinstance(summary, msgspec.Struct) and "path" in summary.__struct_fields__:
            return msgspec.structs.replace(summary, path=path)
        return summary

    # --- publishing ---------------------------------------------------------------------------

    def _publish_forever(self) -> None:
        while not self._closed.is_set():
            busy = bool(self._pool.running())
            self._dirty.wait(0.5 if busy else None)
            self._dirty.clear()
            began = time.monotonic()
            try:
                self._publish()
            except Exception:
                log.exception("making the catalog")
            self._closed.wait(max(self._timing.publish, 10 * (time.monotonic() - began)))

    def _publish(self, *, first: bool = False) -> None:
        with self._publishing:
            with self._lock:
                view = View(self._pool.running(), self._pool.progress)  # type: ignore[arg-type]
                new = publish(
                    self._records.values(),
                    self._logdirs,
                    self._problems,
                    view,
                    scanning=not (first or self._first_look.is_set()),
                    looked=self._looked,
                )
            old = self._published.catalog
            same = replace_version(old, "", 0.0) == replace_version(new.catalog, "", 0.0)
            self._count += not same
            catalog = replace_version(
                new.catalog, f"{self._boot}-{self._count}", new.catalog.looked
            )
            self._published = replace(new, catalog=catalog)

    def _empty(self) -> Published:
        view = View({}, lambda _: None)
        empty = publish([], self._logdirs, [], view, scanning=True, looked=0.0)
        return replace(empty, catalog=replace_version(empty.catalog, f"{self._boot}-0", 0.0))


def replace_version(catalog: Catalog, version: str, looked: float) -> Catalog:
    """The catalog under another version."""
    return msgspec.structs.replace(catalog, version=version, looked=looked)


def _batches(walk: Any, closed: threading.Event) -> Any:
    """What a walk yields, in lists of what came within a quarter of a second."""
    batch: list[Any] = []
    until = time.monotonic() + 0.25
    for item in walk:
        batch.append(item)
        if time.monotonic() > until:
            yield batch
            batch, until = [], time.monotonic() + 0.25
        if closed.is_set():
            return
    yield batch


def _field(summary: Any, name: str) -> Any:
    return summary.get(name) if isinstance(summary, dict) else getattr(summary, name, None)


def _truncated(summary: Any) -> str:
    """The sentence of the health record that says the file is cut short, "" when it is whole."""
    health = _field(summary, "health")
    notes = _field(health, "notes") if health is not None else None
    for note in notes or ():
        if "truncated" in str(_field(note, "kind")):
            return f"{_field(note, 'title')}. {_field(note, 'consequence')}".strip()
    return ""


def _note(note: str, problem: str) -> str:
    if problem:
        return f"{problem} Answers are kept for this session only."
    return f"The answer could not be kept in the cache: {note}." if note else ""
