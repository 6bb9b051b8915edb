"""Copies remote files to this machine before the pool reads them.

    catalog ── commands ─► FetchingPool ─► IngestPool
            ◄── events ──

A few files are copied at the same time, those first that a user waits for. A file that cannot be
fetched gets an event like one that cannot be read; the others go on. Files of this machine pass.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic

from msgspec import Struct
from msgspec.structs import replace

from ..contract import ReadProgress
from ..discovery.walk import FileVersion, Key
from ..filesystems.copies import AT_ONCE, ChangedMeanwhileError, Copies
from ..filesystems.listing import RemoteObject
from .events import (
    Answered,
    Kept,
    Lost,
    PoolCommand,
    PoolEvent,
    Promote,
    Request,
    Restless,
    S,
    Submit,
    SummaryOnly,
)
from .pool import AnyKey, IngestPool
from .protocol import info_of, waiting

COPYING = "copying"


class _Transfer(Struct, eq=False):
    """One file on its way, or in the queue."""

    request: Request
    origin: RemoteObject
    urgent: bool
    done: int = 0
    total: int = 0
    began: float = 0.0  # on the monotonic clock; 0: in the queue
    cancelled: bool = False

    def note(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def is_wanted(self) -> bool:
        return not self.cancelled

    def progress(self) -> ReadProgress:
        if not self.began:
            return waiting(self.origin.bytes)
        seconds = time.monotonic() - self.began
        share = self.done / self.total if self.total else 0.0
        left = round(seconds / share - seconds, 1) if share > 0.05 and seconds > 1 else None
        return ReadProgress(COPYING, self.done, self.total or self.origin.bytes, 0, seconds, left)


class FetchingPool(Generic[S]):
    """An ingest pool that reads remote files, too; ``make`` makes the pool behind it."""

    def __init__(
        self,
        copies: Copies,
        make: Callable[[Callable[[PoolEvent[S]], None]], IngestPool[S]],
        listen: Callable[[PoolEvent[S]], None],
    ) -> None:
        self._copies = copies
        self._listen = listen
        self._changed = threading.Condition()
        self._transfers: dict[AnyKey, _Transfer] = {}
        self._passed: dict[Key, tuple[Request, Request]] = {}  # as the pool has it, as it came
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._pool = make(self._hear)

    @property
    def is_busy(self) -> bool:
        """True if a file is queued, being copied or being read."""
        return bool(self._transfers) or self._pool.is_busy

    def do(self, command: PoolCommand) -> None:
        """Carry out a command; nothing is waited for."""
        if isinstance(command, Submit):
            request = command.request
            if isinstance(request, Request) and request.origin is not None:
                self._submit(request, request.origin, urgent=command.urgent)
                return
        elif isinstance(command, Promote):
            with self._changed:
                if command.key in self._transfers:
                    self._transfers[command.key].urgent = True
        else:
            self._cancel(command.key)
        self._pool.do(command)

    def progress(self, key: AnyKey) -> ReadProgress | None:
        """Progress of a file; None when it is neither queued nor being copied or read."""
        with self._changed:
            transfer = self._transfers.get(key)
        return transfer.progress() if transfer else self._pool.progress(key)

    def running(self) -> dict[Key, int | None]:
        """Files being copied or read, with the id of their process."""
        with self._changed:
            copying = [one.request.key for one in self._transfers.values() if one.began]
        return {**dict.fromkeys(copying), **self._pool.running()}

    def close(self, timeout: float = 5.0) -> None:
        """End everything; a transfer that hangs is left to the end of the program."""
        with self._changed:
            self._closed = True
            for transfer in self._transfers.values():
                transfer.cancelled = True
            self._transfers.clear()
            self._changed.notify_all()
        self._pool.close(timeout)

    def _submit(self, request: Request, origin: RemoteObject, *, urgent: bool) -> None:
        self._cancel(request.key)
        if self._copies.has(origin):
            self._pass_on(request, origin, urgent=urgent)
            return
        with self._changed:
            if self._closed:
                return
            self._transfers[request.key] = _Transfer(request, origin, urgent)
            if len(self._threads) < AT_ONCE:
                name = "kinetoscope-copy"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()

    def _cancel(self, key: AnyKey) -> None:
        with self._changed:
            transfer = self._transfers.pop(key, None)
            if transfer is not None:
                transfer.cancelled = True

    def _pass_on(self, request: Request, origin: RemoteObject, *, urgent: bool) -> None:
        """Have a copy read. The pool compares it with its own time stamp, not with the remote."""
        try:
            place = self._copies.bring(origin)
            identity = FileVersion.at(place)
        except OSError as error:
            self._fail(request, error)
            return
        passed = replace(request, path=str(place), identity=identity)
        with self._changed:
            self._passed[request.key] = passed, request
        self._pool.do(Submit(passed, urgent=urgent))

    def _work(self) -> None:
        while (transfer := self._next()) is not None:
            try:
                self._copies.bring(transfer.origin, transfer.note, transfer.is_wanted)
            except OSError as error:
                if self._end(transfer):
                    self._fail(transfer.request, error)
            else:
                urgent = transfer.urgent
                if self._end(transfer):
                    self._pass_on(transfer.request, transfer.origin, urgent=urgent)

    def _next(self) -> _Transfer | None:
        with self._changed:
            while not self._closed:
                queued = [one for one in self._transfers.values() if not one.began]
                if queued:
                    first = min(queued, key=lambda one: (not one.urgent, one.request.order))
                    first.began = time.monotonic()
                    return first
                self._changed.wait()
        return None

    def _end(self, transfer: _Transfer) -> bool:
        """True if the transfer is still wanted; it is over in any case."""
        with self._changed:
            if self._transfers.get(transfer.request.key) is transfer:
                del self._transfers[transfer.request.key]
            return not transfer.cancelled

    def _fail(self, request: Request, error: OSError) -> None:
        if isinstance(error, ChangedMeanwhileError):
            self._listen(Restless(request))
        else:
            self._listen(Lost(request, info_of(error), refused=False))

    def _hear(self, event: PoolEvent[S]) -> None:
        """Pass an event on, about the request as it came."""
        if isinstance(event, Answered | Kept | SummaryOnly | Lost | Restless):
            with self._changed:
                passed = self._passed.get(event.request.key)
            if passed is not None and event.request == passed[0]:
                event = replace(event, request=passed[1])
        self._listen(event)
