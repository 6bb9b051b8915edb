"""Requests to the ingest pool, and its events about each file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import msgspec

from ..cache.disk import StoredSummary
from ..contract import ErrorInfo
from ..discovery.walk import FileVersion

S = TypeVar("S", bound=msgspec.Struct)
Key: TypeAlias = tuple[int, str]
"""Number of the logdir, path below it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A file to read. A smaller ``order`` is read first."""

    key: Key
    path: str
    identity: FileVersion
    order: float
    as_is: bool = False  # although it changes meanwhile


@dataclass(frozen=True, slots=True)
class MakeRequest:
    """An artifact to make of a file that was read."""

    file: Key
    path: str
    identity: FileVersion
    digest: str
    events: int
    make: str
    name: str
    variants: tuple[str, ...]  # the last one is wanted
    order: float = -math.inf  # before all files: a user waits

    @property
    def key(self) -> tuple[int, str, str, str]:
        """Key of the request in the pool."""
        return (*self.file, self.name, self.variants[-1])


@dataclass(frozen=True, slots=True)
class Made:
    """An artifact is there; ``missing`` is the reason why it could not be stored."""

    request: MakeRequest
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Unmade:
    """An artifact could not be made; None: the columns no longer exist."""

    request: MakeRequest
    error: ErrorInfo | None
    cls: str = ""  # of base.errors


@dataclass(frozen=True, slots=True)
class Answered(Generic[S]):
    """The summary of a file is there."""

    request: Request
    digest: str
    stored: StoredSummary
    summary: S
    from_cache: bool
    note: str  # why it is not where it belongs
    homeless: bool  # it is in no file at all


@dataclass(frozen=True, slots=True)
class Kept:
    """The columns of a file are stored, or could not be (``missing`` is the reason)."""

    request: Request
    missing: str = ""
    note: str = ""  # why they are not where they belong


@dataclass(frozen=True, slots=True)
class Lost:
    """A file could not be read. ``refused``: the file itself is the cause."""

    request: Request
    error: ErrorInfo
    refused: bool


@dataclass(frozen=True, slots=True)
class Restless:
    """A file changed, or was removed, while it was read."""

    request: Request


FileEvent: TypeAlias = Answered[S] | Kept | Lost | Restless
PoolEvent: TypeAlias = FileEvent[S] | Made | Unmade
