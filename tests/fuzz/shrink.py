"""A shorter text that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable


def shrunk(text: bytes, fails: Callable[[bytes], bool], most_tries: int = 2000) -> bytes:
    """``text`` without what may go while it still fails."""
    tries = 0
    size = len(text) // 2
    while size:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size :]
            tries += 1
            if tries > most_tries:
                return text
            if fails(shorter):
                text = shorter
            else:
                at += size
        size //= 2
    return text
