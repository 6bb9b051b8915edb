"""Small Structs and parameters that several views share (contract)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, lt=2**31)]
Words = Annotated[str, Meta(max_length=400)]


class SharePart(Struct, frozen=True):
    """One operator's part of a whole."""

    name: str
    ns: int
    ratio: float


class SlowCall(Struct, frozen=True):
    """One call, to be opened on the timeline."""

    slice: int
    ts: int
    dur_ns: int
    self_ns: int
    device_ns: int | None
    step: str
    thread: str
    shapes: str
