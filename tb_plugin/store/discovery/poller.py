"""The thread that looks at the logdirs at intervals, and judges the files that it sees."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from ..catalog_state import (
    Attempt,
    CatalogEvent,
    Decided,
    Judged,
    Looked,
    Record,
    Seen,
    newest_first,
)
from ..ingest.protocol import info_of
from . import file_names, stability
from .stability import Patience
from .walk import Key, Logdir, Outcome, walk

if TYPE_CHECKING:
    from ..filesystems.copies import Copies

log = logging.getLogger(__name__)

T = TypeVar("T")
BATCH = 256


class Timing(Struct, frozen=True):
    """Intervals and limits of the poller, in seconds."""

    look: float = 10.0  # between two looks
    busy_look: float = 1.0  # the same, while a file is waited for
    look_share: float = 0.05  # of the time may be spent on looking
    judge: float = 5.0  # for opening files, per look
    publish: float = 0.2  # between two catalogs
    longest_pause: float = 120.0  # between two looks, however long one takes
    patience: Patience = Patience()


class Poller:
    """Lists the logdirs, frequently at first, and passes changes to the catalog.

    ``only``: the numbers of those that it looks at. A remote one has a poller of its own, so that
    no other waits for it.
    """

    def __init__(
        self,
        logdirs: tuple[Logdir, ...],
        records: Callable[[], Mapping[Key, Record]],
        tell: Callable[[CatalogEvent[Any]], None],
        timing: Timing,
        on_first_look: Callable[[], None],
        copies: Copies | None,
        only: Collection[int],
    ) -> None:
        self.looked = 0.0  # end of the last look, seconds since the epoch
        self.first_look = threading.Event()
        self._logdirs = logdirs
        self._records = records
        self._tell = tell
        self._timing = timing
        self._on_first_look = on_first_look
        self._copies = copies
        self._only = frozenset(only)
        self._changed = threading.Condition()
        self._begun = self._ended = self._wanted = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="kinetoscope-look", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, timeout: float = 5.0) -> None:
        """End the thread, after the current file."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def look_now(self, timeout: float) -> bool:
        """Look at once and wait for the end; False when that took too long."""
        with self._changed:
            wanted = self._wanted = self._begun + 1
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._closed or self._ended >= wanted, timeout)

    def _run(self) -> None:
        while not self._closed:
            began = time.monotonic()
            with self._changed:
                self._begun += 1
            try:
                unfinished = self._look()
            except Exception:
                log.exception("looking at the logdirs")
                unfinished = False
            pause = 0.02 if unfinished else self._pause(time.monotonic() - began)
            with self._changed:
                self._ended += 1
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._closed or self._wanted > self._begun, pause)

    def _look(self) -> bool:
        """One look; True when there are still files to open."""
        outcome = Outcome()
        for batch in _batches(walk(self._logdirs, outcome, self._copies, self._only), BATCH):
            self._tell(Seen(batch, time.monotonic()))
            if self._closed:
                return False
        self._tell(Looked(outcome))
        unfinished = self._judge()
        self.looked = time.time()
        if not unfinished and not self.first_look.is_set():
            self.first_look.set()
            self._on_first_look()
        return unfinished

    def _judge(self) -> bool:
        """Judge the files that wait for it; True when time ran out."""
        until = time.monotonic() + self._timing.judge
        judged: dict[Key, Judged] = {}
        waiting = undecided(self._mine())
        fetch_heads(waiting, self._copies, self._timing.judge)
        for record in waiting:
            if self._closed:
                return False
            is_late = time.monotonic() > until and needs_bytes(record)
            if not is_late:
                judged[record.key] = judge(record, self._timing.patience, self._copies)
            if is_late or len(judged) == BATCH:
                self._tell(Decided(judged))
                judged = {}
            if is_late:
                return True
        self._tell(Decided(judged))
        return False

    def _pause(self, took: float) -> float:
        waits = any(record.is_settling for record in self._mine())
        pause = self._timing.busy_look if waits else self._timing.look
        longest = max(pause, self._timing.longest_pause)
        return min(max(pause, took / self._timing.look_share), longest)

    def _mine(self) -> list[Record]:
        return [record for record in self._records().values() if record.key[0] in self._only]


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


_OF_NO_INTEREST = ("text", "binary", "csv", "empty")  # what an unrelated .gz may be
_UNFINISHED = (
    "The name is that of a file being written; it is read as soon as it has its final name."
)


def undecided(records: Iterable[Record]) -> list[Record]:
    """Files to be judged: those that wait, and those that could not be opened.

    First those that need not be opened for that, so that most runs appear at once.
    """
    found = [record for record in records if record.is_undecided]
    return sorted(found, key=lambda r: (needs_bytes(r), *newest_first(r)))


def fetch_heads(records: Iterable[Record], copies: Copies | None, seconds: float | None) -> None:
    """Have the beginnings of remote files here that are to be judged by them.

    ``copies`` is None where no logdir is on another machine.
    """
    found = [
        record.found.origin
        for record in records
        if record.found.origin is not None and needs_bytes(record) and record.found.identity.bytes
    ]
    if copies is not None:
        copies.bring_heads(found, seconds)


def judge(
    record: Record,
    patience: Patience,
    copies: Copies | None,
    now: Callable[[], float] = time.monotonic,
) -> Judged:
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
        head = found.absolute
        if copies is not None and found.origin is not None and not by_rule:
            head = str(copies.head(found.origin))
        other = None if by_rule else stability.not_a_trace(head)
        if by_rule and found.origin is None and not os.access(head, os.R_OK):
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
    if record.found.origin is not None:  # its end is far; object stores show whole files alone
        return record.found.identity.bytes > 0
    return stability.looks_complete(record.found.absolute, record.found.identity.bytes)
