"""Waiting for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(condition: Callable[[], T], seconds: float = 60.0) -> T:
    """The first true value of a condition, which must come within ``seconds``."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)
    return value
