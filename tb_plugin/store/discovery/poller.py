"""The thread that looks at the logdirs at intervals."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from .. import file_record
from ..catalog_state import CatalogState
from .logdirs import Logdir
from .stability import Patience

log = logging.getLogger(__name__)

T = TypeVar("T")
BATCH = 256


@dataclass(frozen=True, slots=True)
class Timing:
    """Intervals and limits of the poller, in seconds."""

    look: float = 10.0  # between two looks
    busy_look: float = 1.0  # the same, while a file is waited for
    look_share: float = 0.05  # of the time may be spent on looking
    judge: float = 5.0  # for opening files, per look
    publish: float = 0.2  # between two catalogs
    patience: Patience = Patience()  # noqa: RUF009  frozen


class Poller:
    """Looks at the logdirs, frequently at first, and updates the catalog's state."""

    def __init__(
        self,
        logdirs: tuple[Logdir, ...],
        state: CatalogState,
        timing: Timing,
        on_first_look: Callable[[], None],
    ) -> None:
        self.looked = 0.0  # end of the last look, seconds since the epoch
        self.first_look = threading.Event()
        self._logdirs = logdirs
        self._state = state
        self._timing = timing
        self._on_first_look = on_first_look
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
        outcome = file_record.Outcome()
        for batch in _batches(file_record.walk(self._logdirs, outcome), BATCH):
            self._state.see(batch)
            if self._closed:
                return False
        self._state.forget_missing(outcome)
        unfinished = self._judge()
        self.looked = time.time()
        if not unfinished and not self.first_look.is_set():
            self.first_look.set()
            self._on_first_look()
        return unfinished

    def _judge(self) -> bool:
        """Judge the files that wait for it; True when time ran out."""
        until = time.monotonic() + self._timing.judge
        for number, record in enumerate(self._state.undecided(), start=1):
            if self._closed:
                return False
            if time.monotonic() > until and file_record.needs_bytes(record):
                self._state.read_newest()
                return True
            self._state.decide(record, file_record.judge(record, self._timing.patience))
            if number % BATCH == 0:
                self._state.read_newest()
        self._state.read_newest()
        return False

    def _pause(self, took: float) -> float:
        waits = any(record.is_settling for record in self._state.undecided())
        pause = self._timing.busy_look if waits else self._timing.look
        return max(pause, took / self._timing.look_share)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
