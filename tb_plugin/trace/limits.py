"""What bounds the memory of a scan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds memory."""

    block_bytes: int = 512 * 1024  # What a block becomes while it is decoded should fit a cache.
    value_bytes: int = 64 * 1024 * 1024  # of one event or one top-level value
    metadata_bytes: int = 32 * 1024 * 1024  # of all top-level values together
    events: int = 250_000_000
