"""`tensorboard_trace_handler`: saves what torch.profiler recorded, and never harms the training."""

from __future__ import annotations

import inspect
import itertools
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .metadata import describe, to_json
from .module_ranges import ModuleRanges
from .naming import TraceName, is_remote, worker_of
from .process import current_process
from .writer import LocalWriter, Publication, Writer

_log = logging.getLogger("kinetoscope.handlers")
_TAIL_BYTES = 64


class Profiler(Protocol):
    """The part of `torch.profiler.profile` that the handler needs; similar objects work, too."""

    @property
    def export_chrome_trace(self) -> Any:  # noqa: ANN401  # its arguments grew over the releases
        """Writes the trace to the path that it is called with."""


class ExportError(RuntimeError):
    """Torch raised no error, but the file it exported is missing, empty or truncated."""


@dataclass(frozen=True)
class Options:
    """The arguments of `tensorboard_trace_handler`, explained there."""

    dir_name: str
    worker_name: str | None
    use_gzip: bool
    use_python_export: bool
    raise_errors: bool
    compresslevel: int
    source_roots: tuple[str, ...] | None


@dataclass(frozen=True)
class _Memory:
    """State of a handler within one process.

    No lock guards it: one held by another thread during a fork stays held in the child for ever.
    """

    pid: int = field(default_factory=os.getpid)
    cycles: Iterator[int] = field(default_factory=itertools.count)
    reported: set[tuple[str, int | None]] = field(default_factory=set)


def tensorboard_trace_handler(  # noqa: PLR0913  # torch has four of them
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = True,
    use_python_export: bool = False,
    *,
    raise_errors: bool = False,
    compresslevel: int = 6,
    source_roots: Sequence[str] | None = None,
    writer: Writer | None = None,
    modules: Any = None,  # noqa: ANN401  # an nn.Module; torch is not imported here
) -> TraceHandler:
    """For `torch.profiler.profile(on_trace_ready=…)`: save each trace under `dir_name`, a logdir.

    The positional arguments are those of `torch.profiler.tensorboard_trace_handler`, and the files
    are named alike, `<worker>.<time_ns>.pt.trace.json.gz`. A file appears complete or not at all,
    and none is ever overwritten.

    Args:
        dir_name: directory for the traces, made when needed. One directory is one run.
        worker_name: names this process. By default `<host>_<pid>`, in a distributed job
            `<host>_<pid>_rank<r>`.
        use_gzip: compress. Traces are text and become about ten times smaller.
        use_python_export: let torch export in Python rather than C++, if the installed torch can.
        raise_errors: raise what goes wrong. By default it is only logged, once for each kind, and
            the training goes on without the trace. Mind that torch 2.13 crashes the process when
            `on_trace_ready` raises between two cycles of a schedule.
        compresslevel: of gzip, 1 (fast) to 9 (small).
        source_roots: directories that hold the source files named in stacks. By default those of
            `sys.path`. They are written into the trace, for people to read.
        writer: publishes the files. By default into the local directory `dir_name`.
        modules: a model, or several by name. While a profiler records, each forward of their
            modules is a range with the name of the module, so that the Module view works without
            `with_stack`. `handler.module_ranges.remove()` takes the hooks away again. They stay
            with this process: a pickled handler has none.

    Raises:
        ValueError: `raise_errors` is set and `dir_name` is remote, such as `s3://bucket/logs`.
        TypeError: `raise_errors` is set and `modules` is no model.
    """
    options = Options(
        dir_name=os.fspath(dir_name),
        worker_name=None if worker_name is None else str(worker_name),
        use_gzip=use_gzip,
        use_python_export=use_python_export,
        raise_errors=raise_errors,
        compresslevel=compresslevel,
        source_roots=None if source_roots is None else tuple(map(str, source_roots)),
    )
    handler = TraceHandler(options, writer)
    if modules is not None:
        handler.module_ranges = _module_ranges(modules, raise_errors=raise_errors)
    return handler


class TraceHandler:
    """Saves the trace of a profiler that has just stopped, when called with it.

    One handler may be shared by threads, survive a fork and be pickled.
    """

    def __init__(self, options: Options, writer: Writer | None = None) -> None:
        self._options = options
        self._writer = writer or _local_writer(options)
        self._memory = _Memory()
        self.module_ranges: ModuleRanges | None = None

    def __reduce__(self) -> tuple[type[TraceHandler], tuple[Options, Writer | None]]:
        return TraceHandler, (self._options, self._writer)

    def __call__(self, prof: Profiler) -> Path | None:
        """Save the trace. Returns its path, None when it could not be saved."""
        try:
            return self._save(prof)
        except Exception as error:  # whatever it is, the training goes on
            # Said in any case: torch may crash on what is raised here before anybody has seen it.
            self._report(error)
            if self._options.raise_errors:
                raise
            return None

    def _save(self, prof: Profiler) -> Path | None:
        if self._writer is None:  # a remote directory, which was said when the handler was made
            return None
        options, process = self._options, current_process()
        worker = worker_of(process, options.worker_name)
        name = TraceName(worker, time.time_ns(), options.use_gzip)
        metadata = describe(
            prof,
            process,
            worker=worker,
            cycle=next(self._remembered().cycles),
            source_roots=options.source_roots,
            handler_options={
                "use_gzip": options.use_gzip,
                "compresslevel": options.compresslevel,
                "use_python_export": options.use_python_export,
            },
            modules=None if self.module_ranges is None else self.module_ranges.names,
        )
        staged = self._writer.stage(name)
        try:
            _export(prof, staged, use_python_export=options.use_python_export)
            _check_complete(staged)
        except BaseException:  # Ctrl-C too: leave nothing behind
            self._writer.discard(staged)
            raise
        publication = Publication(staged, name, to_json(metadata), options.compresslevel)
        return self._writer.publish(publication)

    def _remembered(self) -> _Memory:
        """The state of this process: a forked child starts with an empty one."""
        if self._memory.pid != os.getpid():
            self._memory = _Memory()
        return self._memory

    def _report(self, error: Exception) -> None:
        kind = (type(error).__name__, getattr(error, "errno", None))
        reported = self._remembered().reported
        if kind in reported:
            return
        reported.add(kind)
        _log.error(
            "kinetoscope could not save a profile in %s: %s: %s. %s",
            self._options.dir_name,
            kind[0],
            error,
            "Raised, as asked for."
            if self._options.raise_errors
            else "The training goes on; further failures of this kind are not logged.",
            # These two say all in one line. For anything else, show where it came from.
            exc_info=None if isinstance(error, (OSError, ExportError)) else error,
        )


def _local_writer(options: Options) -> LocalWriter | None:
    if not is_remote(options.dir_name):
        return LocalWriter(options.dir_name)
    message = (
        f"kinetoscope cannot write to {options.dir_name} yet: no profile will be saved. "
        "Give a local directory and copy it after the training."
    )
    if options.raise_errors:
        raise ValueError(message)
    _log.warning("%s", message)
    return None


def _module_ranges(modules: Any, *, raise_errors: bool) -> ModuleRanges | None:  # noqa: ANN401
    try:
        return ModuleRanges(modules)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:  # odd models
        _log.warning("kinetoscope records no modules: %s", error)
        if raise_errors:
            raise
        return None


def _export(prof: Profiler, staged: Path, *, use_python_export: bool) -> None:
    export = prof.export_chrome_trace
    if use_python_export and "use_python_export" in inspect.signature(export).parameters:
        export(str(staged), use_python_export=True)
    else:
        export(str(staged))


def _check_complete(staged: Path) -> None:
    """Check the end of the file: torch reports a full disk only in its own log.

    Raises:
        ExportError: the file is empty, or does not end as JSON does.
        FileNotFoundError: it is gone.
    """
    with staged.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        end = file.read().rstrip()
    if not end.endswith((b"}", b"]")):
        problem = "is cut off" if size else "is empty"
        free = shutil.disk_usage(staged.parent).free
        raise ExportError(
            f"the file that torch exported {problem} "
            f"({size:,} bytes, {free:,} bytes free on its disk)"
        )
