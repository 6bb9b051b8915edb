"""Running computations: equal questions share one, and every request is answered soon.

    computing = Computing()
    body = computing.answer(("/api/view/distributed", "…"), lambda: view.build(subject, query))

A computation has a thread of its own, so it goes on when who asked has gone. Who asks waits
``PATIENCE`` seconds; after that ``BeingRead`` tells how far it is, and they ask again. What they
were told to wait for is kept ``KEPT_SECONDS`` for them, or ``TAKEN_SECONDS`` from when the first of
them takes it; every other answer is let go at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from operator import itemgetter

from ..base.errors import NotReadyError
from ..store.catalog import BeingRead
from ..store.contract import ReadProgress
from ..views.progress import StageProgress, heard_by
from .responses import Body, encoded

PATIENCE = 1.0
KEPT_SECONDS = 10.0
TAKEN_SECONDS = 2.0
MOST_KEPT = 8
MOST_AT_ONCE = 64
"""Most computations at once; further requests are answered with "ask again"."""
COMPUTING = "computing"
BUSY = StageProgress("waiting for other answers", 0, 0)


class Computing:
    """The computations of a server, by their questions."""

    def __init__(
        self, patience: float = PATIENCE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._patience, self._clock = patience, clock
        self._computations: dict[Hashable, _Computation] = {}  # the oldest one first
        self._changing = threading.Lock()

    def answer(self, question: Hashable, make: Callable[[], Body]) -> Body:
        """Answer a question; simultaneous requests share one computation.

        Raises:
            BeingRead: it takes longer; its progress.
            Exception: whatever ``make`` raised.
        """
        with self._changing:
            self._let_old_ones_go()
            found = self._computations.get(question)
            if found is None:
                running = sum(one.until is None for one in self._computations.values())
                if running >= MOST_AT_ONCE:
                    raise _being_computed(BUSY, 0.0)
                found = self._computations[question] = _Computation(self._clock())
                self._start(question, found, make)
        is_done = found.done.wait(self._patience)
        with self._changing:
            now = self._clock()
            if not is_done and found.until is None:
                found.is_awaited = True
                raise _being_computed(found.told, now - found.began)
            found.until = min(found.until or now, now + TAKEN_SECONDS)
        return found.answer()

    def _start(self, question: Hashable, found: _Computation, make: Callable[[], Body]) -> None:
        def run() -> None:
            is_lasting = found.run(make)
            with self._changing:
                found.until = self._clock() + KEPT_SECONDS
                if not (found.is_awaited and is_lasting):
                    del self._computations[question]
            found.done.set()

        threading.Thread(target=run, name="kinetoscope-computing", daemon=True).start()

    def _let_old_ones_go(self) -> None:
        known = self._computations.items()
        kept = [(one.until, question) for question, one in known if one.until is not None]
        now = self._clock()
        for at, (until, question) in enumerate(sorted(kept, key=itemgetter(0), reverse=True)):
            if at >= MOST_KEPT or until < now:
                del self._computations[question]


class ComputingInPlace(Computing):
    """Computations for a single caller: each runs in the thread of the caller."""

    def answer(self, question: Hashable, make: Callable[[], Body]) -> Body:  # noqa: ARG002
        """Answer a question, however long it takes.

        Raises:
            Exception: whatever ``make`` raised.
        """
        return encoded(make())


class _Computation:
    """One computation, and what came of it."""

    def __init__(self, now: float) -> None:
        self.began = now
        self.until: float | None = None  # kept so long; None while it is computed
        self.told = StageProgress(COMPUTING, 0, 0)
        self.is_awaited = False  # somebody was told to ask again
        self.done = threading.Event()
        self._body: Body | None = None
        self._error: BaseException | None = None

    def run(self, make: Callable[[], Body]) -> bool:
        """Compute it; False if what came of it is of this moment: a trace is being read."""
        try:
            with heard_by(self._hear):
                self._body = encoded(make())
        except BaseException as error:  # noqa: BLE001  # it is raised again where it was asked for
            self._error = error
        return not isinstance(self._error, NotReadyError)

    def answer(self) -> Body:
        if self._error is not None:
            raise self._error
        assert self._body is not None
        return self._body

    def _hear(self, told: StageProgress) -> None:
        self.told = told


def _being_computed(told: StageProgress, seconds: float) -> BeingRead:
    return BeingRead(
        "The answer is being computed.",
        ReadProgress(told.phase, 0, 0, 0, seconds, parts_done=told.done, parts_total=told.total),
    )
