"""Progress of an answer: told by whoever computes it, heard by whoever had it computed.

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
    """What is being done, and how much of it is done."""

    phase: str
    done: int
    total: int


Listener: TypeAlias = Callable[[StageProgress], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


def tell(phase: str, done: int, total: int) -> None:
    """Tell everybody who listens in this thread."""
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
