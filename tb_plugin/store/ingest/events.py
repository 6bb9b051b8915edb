"""Commands to the ingest pool, and its events about each file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from ...base.artifact_spec import ReadBounds
from ..cache.disk import StoredSummary
from ..contract import ErrorInfo
from ..discovery.walk import FileVersion, Key

if TYPE_CHECKING:
    from ..filesystems.listing import RemoteObject

S = TypeVar("S", bound=msgspec.Struct)
ArtifactKey: TypeAlias = tuple[int, str, str, str]
"""Key of the file, name and variant of the artifact."""


class Request(Struct, frozen=True):
    """A file to read. A smaller ``order`` is read first."""

    key: Key
    path: str
    identity: FileVersion
    order: float
    as_is: bool = False  # although it changes meanwhile
    columns: bool = False  # also if only the summary is stored
    origin: RemoteObject | None = None  # of which ``path`` is the copy


class MakeRequest(Struct, frozen=True):
    """An artifact to make of a file that was read."""

    file: Key
    path: str
    identity: FileVersion
    digest: str
    events: int
    make: str
    name: str
    variants: tuple[str, ...]  # the last one is wanted
    argument: str = ""
    bounds: ReadBounds | None = None
    order: float = -math.inf  # before all files: a user waits

    @property
    def key(self) -> ArtifactKey:
        """Key of the request in the pool."""
        return (*self.file, self.name, self.variants[-1])


class Submit(Struct, frozen=True):
    """Queue a request; an earlier request of the same key is dropped."""

    request: Request | MakeRequest
    urgent: bool = False


class Promote(Struct, frozen=True):
    """Move a requested file to the front."""

    key: Key | ArtifactKey


class Cancel(Struct, frozen=True):
    """Cancel a file that is no longer wanted; no event of it follows."""

    key: Key | ArtifactKey


PoolCommand: TypeAlias = Submit | Promote | Cancel


class Made(Struct, frozen=True):
    """An artifact is there; ``missing`` is the reason why it could not be stored."""

    request: MakeRequest
    missing: str = ""


class Unmade(Struct, frozen=True):
    """An artifact could not be made; None: the columns no longer exist."""

    request: MakeRequest
    error: ErrorInfo | None
    cls: str = ""  # of base.errors


class Answered(Struct, Generic[S], frozen=True):
    """The summary of a file is there."""

    request: Request
    digest: str
    stored: StoredSummary
    summary: S
    from_cache: bool = False
    note: str = ""  # why it is not where it belongs
    homeless: bool = False  # it is in no file at all


class Kept(Struct, frozen=True):
    """The columns of a file are stored, or could not be (``missing`` is the reason)."""

    request: Request
    missing: str = ""
    note: str = ""  # why they are not where they belong


class SummaryOnly(Struct, frozen=True):
    """The summary of a file is stored; its columns are read when needed."""

    request: Request


class Lost(Struct, frozen=True):
    """A file could not be read. ``refused``: the file itself is the cause."""

    request: Request
    error: ErrorInfo
    refused: bool


class Restless(Struct, frozen=True):
    """A file changed, or was removed, while it was read."""

    request: Request


PoolEvent: TypeAlias = Answered[S] | Kept | SummaryOnly | Lost | Restless | Made | Unmade
