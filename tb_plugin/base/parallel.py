"""Independent steps of one computation side by side, on as many threads as this process may use.

The interpreter runs Python one thread at a time; what runs beside it are numpy's loops over many
values and the native library. So it pays for steps over millions of rows, and costs little for
small ones.

    side_by_side(a, b, c, d)        this thread   a ▒▒▒▒▒▒▒▒▒▒ d ▒▒▒▒
                                    another       b ▒▒▒ c ▒▒▒▒▒

All calls together use no more threads than ``machine.thread_count()``, however deep one step calls
another: what finds no thread free runs where it was called. The results are those of one thread, in
the order of the steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from . import machine

T = TypeVar("T")


class _Others:
    """The threads that run steps beside those which called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = 0

    @contextmanager
    def borrowed(self, wanted: int) -> Iterator[int]:
        """As many as are free of those that may be used, at most ``wanted``."""
        most = machine.thread_count() - 1 if wanted else 0
        with self._lock:
            count = max(0, min(wanted, most - self._busy))
            self._busy += count
        try:
            yield count
        finally:
            with self._lock:
                self._busy -= count


_others = _Others()


class _Steps:
    """Steps that are taken one after the other by whoever is free."""

    def __init__(self, steps: Sequence[Callable[[], Any]]) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        self._next = 0
        self.results: list[Any] = [None] * len(steps)
        self.errors: dict[int, BaseException] = {}

    def run(self) -> None:
        """Runs steps until none is left; behind one that failed, none begins."""
        while (at := self._taken()) >= 0:
            try:
                self.results[at] = self._steps[at]()
            except BaseException as error:  # noqa: BLE001  raised again where all were called
                self.errors[at] = error

    def _taken(self) -> int:
        with self._lock:
            at = self._next
            if self.errors or at >= len(self._steps):
                return -1
            self._next += 1
            return at


def side_by_side(*steps: Callable[[], Any]) -> list[Any]:
    """The result of each step.

    Steps may not change what another one reads. Raises what the first of the steps that failed
    raised, when all that had begun are done.
    """
    todo = _Steps(steps)
    with _others.borrowed(len(steps) - 1) as count:
        threads = [threading.Thread(target=todo.run, daemon=True) for _ in range(count)]
        begun = [thread for thread in threads if _starts(thread)]
        todo.run()
        for thread in begun:
            thread.join()
    if todo.errors:
        raise todo.errors[min(todo.errors)]
    return todo.results


def each(answer: Callable[[T], Any], values: Sequence[T]) -> list[Any]:
    """``answer(value)`` of each value, side by side."""
    return side_by_side(*(lambda value=value: answer(value) for value in values))


def _starts(thread: threading.Thread) -> bool:
    """Whether the system gives the thread; without it the others do its part."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True
