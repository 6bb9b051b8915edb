"""One way to open a trace: which file a path means; its facts, columns, artifacts and events.

    session = choose("log/").session()                      # command line, library
    session = CatalogSession(catalog, entry)   # server
    view.build(session.asked(view), query)

Always through the cache: results of one of them are there for the others. A path of a file is that
file; below a folder the newest run is chosen, its first worker, and that worker's last span.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from ..analysis.facts import Facts
from ..base.artifact_spec import ArtifactSpec, ReadBounds, load_callable
from ..base.errors import (
    NotFoundError,
    NotReadyError,
    QueryError,
    TraceFormatError,
    UnavailableError,
    naming,
)
from ..base.units import plural
from ..handlers.remote_address import without_file_scheme
from ..store.cache import artifacts, content_key
from ..store.cache.artifacts import Making, Target, make_missing
from ..store.cache.content_key import READER
from ..store.cache.disk import (
    encode_summary,
    first_that_takes,
    publish_columns,
    publish_summary,
    with_path,
)
from ..store.cache.location import open_user_cache
from ..store.cache.memory import ArtifactCache, made_here
from ..store.discovery.walk import FileVersion, is_far, shown
from ..views.table import as_said
from ..views.view import Recordings, Subject, TracePlace, View
from . import answers
from .catalog import SUMMARIZE, Traces
from .recordings import Alone, CatalogRecordings

if TYPE_CHECKING:  # an answer that was kept is there at once: what it does not need comes later
    from ..store.catalog import Entry
    from ..store.filesystems.listing import RemoteObject
    from ..trace.event_text import Rereader
    from ..trace.model import Trace
    from ..trace.raw import OnProgress
    from .folder import Folder

T = TypeVar("T")
S = TypeVar("S", bound=Struct)


class Wanted(Struct, frozen=True):
    """Names of run, worker and span, and the number of a start; None for the default."""

    run: str | None = None
    worker: str | None = None
    span: str | None = None
    start: int | None = None  # 1 the oldest of the run, -1 the newest

    @property
    def is_open(self) -> bool:
        """True if nothing was given."""
        return self == ANY


ANY = Wanted()


class ChosenTrace(Struct, frozen=True):
    """The chosen trace file, and the number of others."""

    path: str
    place: TracePlace | None  # None for a file that was named
    others: int  # traces that were not chosen
    folder: Folder | None = None
    origin: RemoteObject | None = None  # of which ``path`` is the place of the copy

    def notice(self) -> str:
        """The choices made by default, as a sentence; "" where there was no choice."""
        if self.place is None or not self.others:
            return ""
        run, worker, span = self.place
        start = self.folder.start(self.place) if self.folder else ""
        where = f"run {run}, {start}, worker" if start else f"run {run}, worker"
        return f"showing {where} {worker}, span {span}; {plural(self.others, 'other trace')}"

    def session(self, on_progress: OnProgress | None = None) -> FileSession:
        """The trace, opened; a view over several finds the others of the folder beside it."""
        beside = (self.place, self.folder) if self.place and self.folder else None
        return opened(self.path, self.origin, on_progress, beside)

    @property
    def shown(self) -> str:
        """The path or address of the file, as it is shown."""
        return self.origin.shown if self.origin else self.path


def opened(
    path: str,
    origin: RemoteObject | None,
    on_progress: OnProgress | None = None,
    beside: tuple[TracePlace, Folder] | None = None,
) -> FileSession:
    """A file, opened; a remote one is copied to this machine before.

    Raises:
        KinetoscopeError: it cannot be fetched.
    """
    if origin is None:
        return FileSession(path, on_progress, beside)
    from .remote import fetched

    return FileSession(fetched(origin, on_progress), on_progress, beside, origin.shown)


def choose(path: str, wanted: Wanted = ANY) -> ChosenTrace:
    """The trace of a path and names.

    Raises:
        NotFoundError: there is no such path, no trace below it, or no such run, worker, span.
        UnavailableError: an address of another machine needs a library that is not installed.
        KinetoscopeError: the other machine cannot be reached.
        TraceFormatError: it is a pipe, a socket or a device.
        QueryError: names were given, but the path is one file.
    """
    if is_far(path):
        return _far_away(path, wanted)
    path = local(path)
    if os.path.isdir(path):
        from .folder import below

        return below(path, wanted)
    if not os.path.isfile(path):
        from ..trace.io.source import special_file

        special = special_file(os.stat(path).st_mode)
        raise special.of_file(path) if special else NotFoundError(f"there is no file {path}")
    _has_no_names(path, wanted)
    return ChosenTrace(path, None, 0)


def _has_no_names(path: str, wanted: Wanted) -> None:
    if not wanted.is_open:
        raise QueryError(
            f"{path} is one file", hint="--run, --start, --worker and --span choose below a folder"
        )


def _far_away(address: str, wanted: Wanted) -> ChosenTrace:
    from .folder import below
    from .remote import copies_here, remote_file

    found = remote_file(address)
    if found is None:
        return below(address, wanted)
    _has_no_names(found.shown, wanted)
    return ChosenTrace(str(copies_here().place(found)), None, 0, origin=found)


def local(path: str) -> str:
    """The path of a file or folder of this machine.

    Raises:
        NotFoundError: there is no such path.
    """
    path = os.path.expanduser(without_file_scheme(path))
    if os.path.exists(path):
        return path
    lost = lost_link(path)
    if lost:
        raise NotFoundError(f"{path}: {lost}")
    raise NotFoundError(f"there is no file or folder {path}", hint="check the spelling")


def lost_link(path: str) -> str:
    """The message for a link without a target; "" for everything else."""
    if not os.path.islink(path) or os.path.exists(path):
        return ""
    if os.path.lexists(os.path.join(os.path.dirname(path), os.readlink(path))):
        return f"This is a link to {os.readlink(path)}, which leads nowhere."
    return f"This is a link to {os.readlink(path)}, which is not there."


OF_PYTORCH = (
    "This Perfetto file was not written by PyTorch: it has no operators, kernels or steps to"
    " explain. Trace shows its events."
)
OF_TRACES = "This file has allocator events only, no ops or kernels. The Memory view shows it."


class Session(ABC):
    """One opened trace. Nothing is read before its first use."""

    identity = ""
    """Hex digits that begin the ids of its events; "" where it has none."""
    worker = ""
    """Its worker below a folder; "" for a file alone."""

    @abstractmethod
    def facts(self) -> Facts:
        """The figures of the first screen."""

    @abstractmethod
    def trace(self) -> Trace:
        """All columns; read-only."""

    @abstractmethod
    def artifact(self, spec: ArtifactSpec[T], variant: str = "") -> T:
        """Open an artifact; "" means its first variant."""

    @abstractmethod
    def event(self, row: int) -> Mapping[str, Any]:
        """One event as the file has it, read again; ``row`` counts the events of the file."""

    def recordings(self, view: View) -> Recordings:  # noqa: ARG002
        """The traces beside this one, for a view over several."""
        return Alone()

    def seen_by(self, view: View) -> Subject:
        """This trace as an input of a view, whether it can fill the view or not."""
        return Subject(
            self.facts(),
            partial(self._artifact_of, view),
            self.trace,
            self.event,
            self.artifact,
            self.recordings(view),
        )

    def subject(self, view: View) -> Subject:
        """The input of a view and of its parts.

        Raises:
            UnavailableError: this trace cannot fill the view; says why.
        """
        reason = self.unavailable(view)
        if reason is not None:
            raise UnavailableError(reason)
        return self.seen_by(view)

    def unavailable(self, view: View) -> str | None:
        """Why this trace, and those around it, cannot fill the view; None if they can."""
        if self.facts().recording.memory_alone and not view.of_memory_alone:
            return OF_TRACES
        if self.facts().recording.file_format == "other_perfetto" and not view.of_other_programs:
            return OF_PYTORCH
        reason = view.unavailable(self.facts())
        if reason is None and view.among is not None:
            reason = view.among(self.facts(), self.recordings(view))
        return reason

    def asked(self, view: View) -> Facts | Subject:
        """The input of ``view.build``: the facts alone, if the view needs no more.

        Raises:
            UnavailableError: this trace cannot fill the view; says why.
        """
        subject = self.subject(view)
        return subject if view.artifact or view.among or view.looks_beside else subject.facts

    def answer(self, view: View, query: Struct) -> Struct:
        """The answer of a view, in the words of the recording.

        Raises:
            UnavailableError: this trace cannot fill the view; says why.
            QueryError: there is nothing that the query asks for.
        """
        return as_said((view.at_once or view.build)(self.asked(view), query), self.facts())

    def _artifact_of(self, view: View, variant: str) -> Any:  # noqa: ANN401  # what it opens as
        if view.artifact is None:
            raise TypeError(f"the view {view.stem} has no artifact")
        return self.artifact(view.artifact, variant)


# --- a trace of the server's catalog --------------------------------------------------------------


_EVENT_BOUNDS = ReadBounds(cpu_seconds=60, memory_bytes=1 << 30)
EVENT_SECONDS = 20.0


def _events_spec(block: int) -> ArtifactSpec[Sequence[bytes]]:
    from ..trace.event_text import keep_events, kept_events

    return ArtifactSpec(
        name="events",
        make=f"{keep_events.__module__}:{keep_events.__name__}",
        open=kept_events,
        variants=(str(block),),
        is_mapped=False,
        bounds=_EVENT_BOUNDS,
    )


def _reread(path: str, trace: Trace) -> Rereader:
    from ..trace.event_text import Rereader

    return Rereader(path, trace.blocks, trace.seek)


class CatalogSession(Session):
    """A trace read by child processes.

    Everything raises BeingRead (the page asks again) until it is there.
    """

    def __init__(self, catalog: Traces, entry: Entry) -> None:
        self._catalog, self._entry = catalog, entry

    def facts(self) -> Facts:
        return self._catalog.summary(self._entry)

    def trace(self) -> Trace:
        return self._catalog.trace(self._entry)

    def artifact(self, spec: ArtifactSpec[T], variant: str = "") -> T:
        return self._catalog.artifact(self._entry, spec, variant)

    def event(self, row: int) -> Mapping[str, Any]:
        from ..trace.event_text import kept_event, place_of

        until = time.monotonic() + EVENT_SECONDS
        while True:
            try:
                block, index = place_of(self.trace().blocks, row)
                return kept_event(self.artifact(_events_spec(block)), index)
            except NotReadyError:
                if time.monotonic() > until:  # mostly there before the page would ask again
                    raise
            time.sleep(0.02)

    def recordings(self, view: View) -> Recordings:
        entry = self._entry
        own = TracePlace(entry.run, entry.worker, entry.span)
        catalog = self._catalog
        return CatalogRecordings(
            own, catalog.snapshot, self._beside, catalog.stored_artifact, view, is_read_here=False
        )

    def _beside(self, place: TracePlace) -> CatalogSession:
        return CatalogSession(self._catalog, self._catalog.locate(*place))


# --- a trace in memory ----------------------------------------------------------------------------


class TraceSession(Session):
    """A trace in memory; its artifacts are made for this session only."""

    def __init__(self, trace: Trace, facts: Facts | None = None) -> None:
        self._trace, self._facts = trace, facts
        self._opened: dict[tuple[str, str], Any] = {}
        self._lock = threading.RLock()

    def facts(self) -> Facts:
        with self._lock:
            if self._facts is None:
                from ..analysis.summarize import summarize

                self._facts = summarize(self._trace)
            return self._facts

    def trace(self) -> Trace:
        return self._trace

    def artifact(self, spec: ArtifactSpec[T], variant: str = "") -> T:
        variant = variant or spec.variants[0]
        with self._lock:
            key = spec.name, variant
            if key not in self._opened:
                self._opened[key] = made_here(self._trace, spec, variant)
            found: T = self._opened[key]
            return found

    def event(self, row: int) -> Mapping[str, Any]:
        return self._file.event(row)

    @cached_property
    def _file(self) -> Rereader:
        return _reread(self._trace.path, self._trace)


# --- one file -------------------------------------------------------------------------------------


@lru_cache(2)
def _artifacts_of(roots: tuple[Path, ...]) -> ArtifactCache:  # noqa: ARG001  # the key
    """Open artifacts of this process, so that a comparison of ranks finds their digests again."""
    return ArtifactCache(open_user_cache())


class FileSession(Session):
    """A trace file, read in this process if it is not in the cache.

    What was read and made is kept in the cache under the same keys as the server's, so a second
    session, or the server, reads nothing. A cache that cannot be written costs only that.
    ``on_progress`` gets the progress of reading; ``beside``: its place in a folder, and the folder;
    ``address``: of the remote file of which this one is a copy.

    The constructor and every answer may raise:
        TraceFormatError: the file, which is named, is no trace; ``kind`` says what it is instead.
        OSError: it cannot be read.
    """

    def __init__(
        self,
        path: str,
        on_progress: OnProgress | None = None,
        beside: tuple[TracePlace, Folder] | None = None,
        address: str = "",
    ) -> None:
        self.path = path
        self.shown = address or path
        self._on_progress = on_progress
        self._beside = beside
        self._version = FileVersion.at(path)
        self._cache = open_user_cache()
        notes = next(iter(self._cache.roots), None)
        code = content_key.code_version(READER, SUMMARIZE, root=notes)
        with naming(self.shown):
            self._digest = content_key.digest(path, self._version, code, notes)
        self.identity = self._digest[:8]
        self.worker = beside[0].worker if beside else ""
        self._is_as_opened = True  # what was read of it is what the content key stands for
        self._known_facts: Facts | None = None
        self._known_trace: Trace | None = None
        self._file: Rereader | None = None
        self._in_memory: TraceSession | None = None
        self._lock = threading.RLock()

    @cached_property
    def _artifacts(self) -> ArtifactCache:
        return _artifacts_of(self._cache.roots)

    def facts(self) -> Facts:
        with self._lock:
            if self._known_facts is None:
                self._known_facts = self._stored_facts()
            return self._known_facts or self._read()[1]

    def trace(self) -> Trace:
        with self._lock:
            if self._known_trace is None:
                self._known_trace = self._cache.load_trace(self._digest, self.path)
            return self._known_trace or self._read()[0]

    def artifact(self, spec: ArtifactSpec[T], variant: str = "") -> T:
        variant = variant or spec.variants[0]
        with self._lock:
            found = self._artifacts.get(self._digest, self.path, spec, variant)
            if found is None and self._make(spec, variant):
                found = self._artifacts.get(self._digest, self.path, spec, variant)
            if found is not None:
                return found
            if self._in_memory is None:
                self._in_memory = TraceSession(self.trace(), self.facts())
            return self._in_memory.artifact(spec, variant)

    def stored_artifact(self, spec: ArtifactSpec[T]) -> T | None:
        """Open an artifact if it exists already; None without reading the file."""
        with self._lock:
            return self._artifacts.get(self._digest, self.path, spec, spec.variants[0])

    def answer(self, view: View, query: Struct) -> Struct:
        if not self._is_of_itself(view):
            return super().answer(view, query)
        question = repr((view.stem, msgspec.json.encode(query), self.shown))
        return self.kept(question, view.answer, partial(super().answer, view, query))

    def _is_of_itself(self, view: View) -> bool:
        """True if no recording beside this one can change the answers of a view."""
        if self._beside is None:
            return True
        if view.among is not None or view.looks_beside:
            return False
        return not view.lends or self.facts().traits.graph_launches == 0

    def kept(self, question: str, kind: type[S], make: Callable[[], S]) -> S:
        """An answer that is kept in the cache, of a large file; made if it is not there.

        ``question`` says all that it depends on beside this file, the code and the settings.
        """
        if self._version.bytes < answers.LEAST_BYTES:
            return make()
        spec = answers.spec_of(question, kind, next(iter(self._cache.roots), None))
        found = self._artifacts.get(self._digest, self.path, spec, "")
        if found is not None:
            return found
        answer = make()
        text = answers.packed(answer, kind)
        if text is not None and self._is_as_opened:
            self._publish(answers.storing(text, spec, self._digest))
        return answer

    @property
    def content(self) -> str:
        """A key of its content and of the code that reads it."""
        return self._digest

    def event(self, row: int) -> Mapping[str, Any]:
        with self._lock:
            if self._file is None:
                self._file = _reread(self.path, self.trace())
            return self._file.event(row)

    def recordings(self, view: View) -> Recordings:
        if self._beside is None:
            return Alone()
        own, folder = self._beside
        return CatalogRecordings(
            own, lambda: folder.catalog, folder.session, folder.stored, view, is_read_here=True
        )

    def _read(self) -> tuple[Trace, Facts]:
        """Read the file and store the result."""
        # An answer that was kept needs neither of them.
        from ..analysis.summarize import summarize
        from ..trace.read import read

        try:
            with naming(self.shown):
                trace = self._known_trace = read(self.path, self._on_progress)
        except TraceFormatError as error:
            raise error.of_file(self.shown) from error
        self._is_as_opened = self.is_current()
        facts = self._known_facts = with_path(summarize(trace), self.shown)
        self._keep(trace, facts)
        return trace, facts

    def _stored_facts(self) -> Facts | None:
        stored = self._cache.load_summary(self._digest, self.path)
        try:
            facts = msgspec.json.decode(stored.summary, type=Facts) if stored else None
        except msgspec.DecodeError:
            return None
        return with_path(facts, self.shown) if facts else None

    def _keep(self, trace: Trace, facts: Facts) -> None:
        """Store the result, unless the file has changed meanwhile or there is no room."""
        if not self._is_as_opened:
            return
        size, events = self._version.bytes, trace.health.events
        stored = encode_summary(shown(self.shown), size, events, 0.0, facts)
        self._publish(
            lambda root, token: publish_summary(stored, root, token, self._digest),
            lambda root, token: publish_columns(trace, root, token, self._digest),
        )

    def is_current(self) -> bool:
        """True if the file is still the one whose content key is known."""
        try:
            return FileVersion.at(self.path) == self._version
        except OSError:  # removed while it was read
            return False

    def _make(self, spec: ArtifactSpec[Any], variant: str) -> bool:
        """Makes an artifact in the cache; False where it has no room or the file has changed."""
        trace, version = self.trace(), artifacts.version_of(spec.make)
        if not self._is_as_opened:
            return False
        wanted = artifacts.needed_variants(spec.variants, variant)
        making = Making(load_callable(spec.make), version, spec.name, wanted, spec.argument)

        def store(root: Path, token: str) -> None:
            make_missing(trace, making, Target(root, self._digest, token), lambda _: None)

        return self._publish(store)

    def _publish(self, *stores: Callable[[Path, str], None]) -> bool:
        """True if the cache took everything; old entries make room for it."""
        token = os.urandom(8).hex()
        kept = True
        try:
            for store in stores:
                kept &= first_that_takes(self._cache.roots, partial(_with_token, store, token))[0]
        finally:
            self._cache.clear_token(token)
        self._cache.make_room(self._digest)
        return kept


def _with_token(store: Callable[[Path, str], None], token: str, root: Path) -> None:
    store(root, token)
