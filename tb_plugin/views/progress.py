"""Progress of an answer, passed from the computation to its listeners.

    with heard_by(listener):
        view.build(subject, query)    # somewhere below: tell("comparing ranks", 3, 12)

Where nobody listens, as on the command line, telling costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias


class StageProgress(NamedTuple):
    """A stage of a computation, and its progress."""

    phase: str
    done: int
    total: int


Listener: TypeAlias = Callable[[StageProgress], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


def tell(phase: str, done: int, total: int) -> None:
    """Report progress to the listeners of this thread."""
    for listener in _listeners.get():
        listener(StageProgress(phase, done, total))


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Let one more hear what this thread tells."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)
