"""In-memory caches of summaries, traces and opened artifacts.

The last few of each are kept. A trace or an artifact is opened once and shared by all requests.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from ...base.artifact_spec import ArtifactSpec, given, load_callable
from ...base.errors import UnavailableError
from ..ingest import resources
from . import artifacts
from .disk import Cache, entry, remove, used, with_path, workspace

if TYPE_CHECKING:
    from ...trace.model import Trace

S = TypeVar("S", bound=msgspec.Struct)
Value = TypeVar("Value")

SUMMARIES_KEPT, TRACES_KEPT = 256, 4
IN_PROCESS_BYTES = 256 << 20  # of memory: up to this, an artifact no disk has room for is made here


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


class MemoryCache(Generic[S]):
    """Summaries and traces by content key and path."""

    def __init__(self, cache: Cache, summary_type: type[S]) -> None:
        self._cache = cache
        self._decoder = msgspec.json.Decoder(summary_type)
        self._summaries: LruCache[S] = LruCache(SUMMARIES_KEPT)
        self._traces: LruCache[Trace] = LruCache(TRACES_KEPT)
        self._homeless: dict[str, S] = {}
        self._loading = threading.Lock()

    def pin(self, digest: str, path: str, summary: S) -> None:
        """Keep a summary that is in no file, as long as the program runs."""
        self._homeless[f"{digest} {path}"] = with_path(summary, path)

    def decode(self, text: bytes) -> S:
        """A summary from its JSON text.

        Raises:
            ValueError: it is none.
        """
        return self._decoder.decode(text)  # the errors of msgspec are ValueErrors

    def summary(self, digest: str, path: str, shown: str) -> S | None:
        """The summary of a file, shown as such; None when it is no longer stored."""
        key = f"{digest} {shown}"
        found = self._homeless.get(key) or self._summaries.get(key)
        if found is not None:
            return found
        stored = self._cache.load_summary(digest, path)
        if stored is None:
            return None
        try:
            summary = self.decode(bytes(stored.summary))
        except ValueError:
            self._cache.drop(digest)
            return None
        return self._summaries.put(key, with_path(summary, shown))

    def trace(self, digest: str, path: str) -> Trace | None:
        """The trace of a file; None when its columns are no longer stored."""
        with self._loading:
            return self._remembered(digest, path) or self._loaded(digest, path)

    def _remembered(self, digest: str, path: str) -> Trace | None:
        return self._traces.get(f"{digest} {path}")

    def _loaded(self, digest: str, path: str) -> Trace | None:
        trace = self._cache.load_trace(digest, path)
        return None if trace is None else self._traces.put(f"{digest} {path}", trace)


log = logging.getLogger(__name__)

T = TypeVar("T")

USE_SECONDS = 60.0
MAPPED_BYTES = 448 << 20  # of files and their columns in memory: beyond, these are opened anew
LOOK_SECONDS = 0.2
_MEMORY = "/dev/shm"  # noqa: S108  a file system in memory, where the system has one
_STATM = Path("/proc/self/statm")
_ROOM = "Make room on the disk, or set KINETOSCOPE_CACHE_DIR to a folder that has some."


class _Open(Struct):
    content: Any
    entry: Path | None  # the folder of its trace in our own cache, None where it has none
    is_mapped: bool  # pages of its files may be in memory, and it can be opened again
    noted: float = 0.0  # when the entry was last said to be in use


class ArtifactCache:
    """Opened artifacts, by content key, name and variant."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._kept: dict[int, LruCache[_Open]] = {}  # by how many of their kind are kept
        self._opening = threading.Lock()
        self._looked = 0.0

    def get(self, digest: str, path: str, spec: ArtifactSpec[T], variant: str) -> T | None:
        """The opened artifact of a file; None when this version of it is not stored."""
        self._let_pages_go()
        key, kept = _key(digest, spec, variant), self._kept_of(spec)
        found = kept.get(key)
        if found is None:
            with self._opening:
                found = kept.get(key) or self._open(digest, path, spec, variant)
                if found is None:
                    return None
                kept.put(key, found)
        now = time.monotonic()
        if found.entry is not None and now - found.noted > USE_SECONDS:
            found.noted = now
            used(found.entry)
        content: T = found.content
        return content

    def _kept_of(self, spec: ArtifactSpec[Any]) -> LruCache[_Open]:
        return self._kept.setdefault(spec.kept, LruCache(spec.kept))

    def _let_pages_go(self) -> None:
        """Close mapped files at times: what requests have read of them stays in memory until then.

        The system could take the memory back, but until then its tools show a large process.
        """
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._looked = now
            from ...base.columns import held_bytes  # imports Arrow: a start does without

            if mapped_bytes() + held_bytes() > MAPPED_BYTES:
                for kept in tuple(self._kept.values()):
                    kept.let_go(lambda one: one.is_mapped)

    def make_here(
        self, digest: str, trace: Trace, spec: ArtifactSpec[T], variant: str, why: str
    ) -> T:
        """An artifact of a small trace, made in this process because the cache has no room for it.

        Raises:
            UnavailableError: it is too large to be made here, or nowhere is room for it; says
                ``why`` it is not in the cache.
        """
        is_large = trace.health.events * resources.MAKING_BYTES > IN_PROCESS_BYTES
        if is_large or spec.bounds is not None:
            raise UnavailableError(f"What this view needs could not be kept: {why}.", hint=_ROOM)
        key, kept = _key(digest, spec, variant), self._kept_of(spec)
        with self._opening:
            found = kept.get(key)
            content: T = found.content if found else made_here(trace, spec, variant)
            if found is None:
                kept.put(key, _Open(content, None, is_mapped=False))
        return content

    def _open(self, digest: str, path: str, spec: ArtifactSpec[Any], variant: str) -> _Open | None:
        version = artifacts.version_of(spec.make)
        roots = (*sorted(self._cache.roots, key=_is_shared), *self._cache.folders_beside(path))
        for root in roots:
            is_own = root in self._cache.roots
            folders = [
                artifacts.artifact_folder(root, digest, spec.name, one)
                for one in artifacts.needed_variants(spec.variants, variant)
            ]
            if not all(artifacts.is_whole(folder, version) for folder in folders):
                continue
            try:
                if _is_shared(root):
                    folders = self._brought_here(folders, digest, version)
                entry_of = folders[-1].parent.parent if is_own else None
                return _Open(spec.open(folders[-1]), entry_of, spec.is_mapped)
            except (OSError, ValueError, LookupError, TypeError, NotImplementedError) as error:
                log.warning("dropped the damaged %s: %s", folders[-1], error)
                for folder in folders if is_own else ():
                    remove(folder, root)
        return None

    def _brought_here(self, folders: list[Path], digest: str, version: str) -> list[Path]:
        """Copies for this session, because another machine might delete mapped files."""
        root = self._cache.roots[-1]
        if _is_shared(root):
            return folders
        for folder in folders:
            import shutil

            copy = workspace(root, os.urandom(8).hex()) / folder.name
            shutil.copytree(folder, copy)
            artifacts.publish_artifact(copy, root, digest, version)
            copy.parent.rmdir()
        return [entry(root, digest) / artifacts.ARTIFACTS / folder.name for folder in folders]


def _key(digest: str, spec: ArtifactSpec[Any], variant: str) -> str:
    return f"{digest} {spec.name} {variant}"


def made_here(trace: Trace, spec: ArtifactSpec[T], variant: str) -> T:
    """An artifact made and opened by a spec, in files that are removed at once.

    Raises:
        UnavailableError: there is no room for them, not even for that moment.
    """
    import tempfile

    make = load_callable(spec.make)
    problem = ""
    for parent in dict.fromkeys((tempfile.gettempdir(), _MEMORY)):
        if not os.path.isdir(parent):
            continue
        try:
            with tempfile.TemporaryDirectory(
                prefix="kinetoscope-", dir=parent, ignore_cleanup_errors=True
            ) as root:
                folder = Path(root)
                for one in artifacts.needed_variants(spec.variants, variant):
                    folder = Path(root, artifacts.folder_name(spec.name, one))
                    folder.mkdir()
                    make(trace, folder, lambda _: None, *given(one, spec.argument))
                # What is mapped stays readable when its file is gone.
                return spec.open(folder)
        except OSError as error:
            problem = problem or error.strerror or str(error)
    raise UnavailableError(f"There is no room to prepare this view: {problem}.", hint=_ROOM)


def mapped_bytes() -> int:
    """Resident bytes of this process that are pages of files; 0 where unknown."""
    try:
        shared = _STATM.read_text(encoding="ascii").split()[2]
        return int(shared) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


@functools.cache
def _is_shared(root: Path) -> bool:
    return resources.is_shared_filesystem(str(root))
