"""A cache of the most recently used objects in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LruCache(Generic[Value]):
    """At most ``size`` values by content key; safe to use from several threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Value | None:
        """The value, which becomes the most recent one."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def let_go(self, which: Callable[[Value], bool]) -> None:
        """Remove the values for which the condition holds."""
        with self._lock:
            for key in [key for key, value in self._values.items() if which(value)]:
                del self._values[key]

    def put(self, key: str, value: Value) -> Value:
        """Store the value, and return it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value
