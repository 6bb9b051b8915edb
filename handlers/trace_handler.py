"""`tensorboard_trace_handler`: saves what torch.profiler recorded, and never harms the training."""

from __future__ import annotations

import atexit
import contextlib
import inspect
import itertools
import logging
import os
import shutil
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, RLock
from typing import Any, Literal, Protocol, TypeVar

from .background import Background
from .compiler.record import CompileFile, CompileLevel, compile_file, watch
from .loops.schedules import nothing_recorded
from .metadata import describe, measure_cpu, plain, to_json
from .module_ranges import ModuleRanges
from .naming import TraceName, exported_name, worker_of
from .outputs import (
    COMPILE_SUFFIX,
    OUTPUTS,
    Output,
    OutputError,
    paths_beside,
    write_in_a_process,
    write_of_torch,
)
from .process import Process, current_process
from .remote_address import is_remote, parse
from .remote_writer import RemoteWriter
from .writer import LocalWriter, Publication, RemotePath, Writer

_log = logging.getLogger("kinetoscope.handlers")
_TAIL_BYTES = 64


class Profiler(Protocol):
    """The part of `torch.profiler.profile` that the handler needs; similar objects work, too."""

    @property
    def export_chrome_trace(self) -> Any:  # noqa: ANN401  # its arguments grew over the releases
        """Writes the trace to the path that it is called with."""


class ExportError(RuntimeError):
    """There is nothing to export; or torch exported without an error, and the file is not whole."""


_SAY_ALL = (OSError, MemoryError, ExportError, OutputError)
_Result = TypeVar("_Result")
OnError = Literal["log", "raise"]


@dataclass(frozen=True)
class Options:
    """The arguments of `tensorboard_trace_handler`, explained there."""

    dir_name: str
    worker_name: str | None = None
    use_gzip: bool = True
    use_python_export: bool = False
    on_error: OnError = "log"
    background: bool = True
    compresslevel: int = 6
    source_roots: tuple[str, ...] | None = None
    metadata: Mapping[str, object] | None = None
    ranks: frozenset[int] | None = None
    stagger_s: float = 0.0
    keep_last: int | None = None
    max_bytes: int | None = None
    min_free_bytes: int | None = None
    outputs: frozenset[str] = frozenset()
    compile: CompileLevel | None = "light"
    compile_text: bool = True
    cpu_peak: bool = False

    @property
    def raises(self) -> bool:
        """True if errors are raised in the training."""
        return self.on_error == "raise"


@dataclass(frozen=True)
class _Memory:
    """State of a handler within one process.

    A forked child gets an empty one: with the parent's, it would wait for a thread that it has not,
    and for a lock that nobody opens.
    """

    pid: int = field(default_factory=os.getpid)
    cycles: Iterator[int] = field(default_factory=itertools.count)
    reported: set[tuple[str, int | None]] = field(default_factory=set)
    background: Background = field(default_factory=Background)
    cpu_peak: list[dict[str, float] | None] = field(default_factory=list)  # once measured
    saved: list[tuple[Path, int]] = field(default_factory=list)
    saving: RLock = field(default_factory=RLock)  # of a list that threads share
    is_announced: Event = field(default_factory=Event)
    is_called: Event = field(default_factory=Event)


def tensorboard_trace_handler(  # noqa: PLR0913  # torch has four of them
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = True,
    use_python_export: bool = False,
    *,
    on_error: OnError = "log",
    background: bool = True,
    compresslevel: int = 6,
    keep_last: int | None = None,
    max_bytes: int | None = None,
    min_free_bytes: int | None = None,
    ranks: Collection[int] | None = None,
    stagger_s: float = 0.0,
    outputs: Collection[Output] = (),
    metadata: Mapping[str, object] | None = None,
    source_roots: Sequence[str] | None = None,
    writer: Writer | None = None,
    modules: Any = None,  # noqa: ANN401  # an nn.Module; torch is not imported here
    compile: bool | CompileLevel = True,  # noqa: A002  # torch's word for it
    compile_text: bool = True,
    cpu_peak: bool = False,
) -> TraceHandler:
    """For `torch.profiler.profile(on_trace_ready=…)`: save each trace under `dir_name`, a logdir.

    The positional arguments are those of `torch.profiler.tensorboard_trace_handler`, and the files
    are named alike, `<worker>.<time_ns>.pt.trace.json.gz`. A file appears complete or not at all,
    and none is ever overwritten.

    The training waits while torch exports. Compressing and publishing is done by a thread, for
    which `handler.flush()` waits, and the interpreter at its end.

    Args:
        dir_name: directory for the traces, made when needed. One directory is one run. Or an
            address on another machine, `s3://bucket/logs`; see docs/remote.md.
        worker_name: names this process. By default `<host>_<pid>`, in a distributed job
            `<host>_<pid>_rank<r>`.
        use_gzip: compress. Traces are text and become about ten times smaller.
        use_python_export: let torch export in Python rather than C++, if the installed torch can.
        on_error: `"log"`: what goes wrong is logged, once for each kind, and the training goes on
            without the trace. `"raise"`: it is raised as well, and nothing is left to a thread.
            Mind that torch 2.13 crashes the process when `on_trace_ready` raises between two cycles
            of a schedule.
        background: False: the handler returns when the trace is in its place.
        compresslevel: of gzip, 1 (fast) to 9 (small).
        keep_last: keep so many traces of this process, and remove the oldest above that.
        max_bytes: remove the oldest traces of this process while all together are larger. A trace
            that is larger alone is not kept, which is logged.
        min_free_bytes: record nothing when the disk would have less room left. By default a
            twentieth of the disk, at most 512 MiB.
        ranks: the ranks that save traces. The others run the schedule, and save nothing. By default
            all; a process without a rank saves in any case.
        stagger_s: each rank publishes so many seconds after the one before it, to spare a file
            system that all share. Neither `flush` nor the end of the job waits for that.
        outputs: what else to write beside each trace: `"scalars"` (an event file in `profile/`, by
            rank 0), `"stacks"` (folded), both made by a process of its own; `"key_averages"` (the
            table), `"memory_snapshot"` (CUDA), for which the training waits.
        metadata: of the user, for the trace's `"kinetoscope"` object. What JSON does not know
            becomes its text.
        source_roots: directories that hold the source files named in stacks. By default those of
            `sys.path`. They are written into the trace, for people to read.
        writer: publishes the files. By default into the local directory `dir_name`.
        modules: a model, or several by name. While a profiler records, each forward of their
            modules is a range with the name of the module, so that the Module view works without
            `with_stack`. `handler.module_ranges.remove()` takes the hooks away again. They stay
            with this process: a pickled handler has none.
        compile: write what `torch.compile` did beside each trace: compilations, the guards that
            failed, graph breaks with their lines; see docs/compile.md. It costs nothing in a step
            that compiles nothing. `"lines"`: also nodes and lines of fused kernels, for which
            Inductor compiles everything once more. False: no such file.
        cpu_peak: measure what this CPU can do, once when the first trace is saved, for which the
            training waits (0.5 s of CPU time): speed of light of ops on the CPU.
        compile_text: False leaves texts of guards, hints and reasons of failures out of that file.

    Raises:
        ValueError: an option has a value it cannot have; or, with `on_error="raise"`, `dir_name`
            is remote, such as `s3://bucket/logs`.
        TypeError: with `on_error="raise"`, `modules` is no model.
    """
    options = Options(
        dir_name=os.fspath(dir_name),
        worker_name=None if worker_name is None else str(worker_name),
        use_gzip=use_gzip,
        use_python_export=use_python_export,
        on_error=on_error,
        background=background,
        compresslevel=compresslevel,
        source_roots=None if source_roots is None else tuple(map(str, source_roots)),
        metadata=None if metadata is None else plain(metadata),
        ranks=None if ranks is None else frozenset(ranks),
        stagger_s=stagger_s,
        keep_last=keep_last,
        max_bytes=max_bytes,
        min_free_bytes=min_free_bytes,
        outputs=frozenset(outputs),
        compile="light" if compile is True else compile or None,
        compile_text=bool(compile_text),
        cpu_peak=bool(cpu_peak),
    )
    _check(options)
    handler = TraceHandler(options, writer)
    if modules is not None:
        handler.module_ranges = _module_ranges(modules, raise_errors=options.raises)
    return handler


def _check(options: Options) -> None:
    """Refuse, before the training begins, what would fail at each trace."""
    if options.on_error not in ("log", "raise"):
        raise ValueError(f'on_error: "log" or "raise", not {options.on_error!r}')
    if not -1 <= options.compresslevel <= 9:
        raise ValueError(f"compresslevel: 1 to 9, not {options.compresslevel}")
    if options.compile not in (None, "light", "lines"):
        raise ValueError(f'compile: True, False, "light" or "lines", not {options.compile!r}')
    if unknown := options.outputs - {*OUTPUTS}:
        raise ValueError(f"outputs: of {', '.join(OUTPUTS)}; not {', '.join(sorted(unknown))}")
    for name in ("keep_last", "max_bytes"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ValueError(f"{name}: at least 1, or None for no limit, not {value}")


class TraceHandler:
    """Saves the trace of a profiler that has just stopped, when called with it.

    One handler may be shared by threads, survive a fork and be pickled.
    """

    def __init__(self, options: Options, writer: Writer | None = None) -> None:
        self._options = options
        self._writer = writer or _writer(options)
        self._memory = _Memory()
        self.module_ranges: ModuleRanges | None = None
        if options.compile is not None:
            watch(options.compile)
        atexit.register(_report_nothing, weakref.ref(self))

    def __reduce__(self) -> tuple[type[TraceHandler], tuple[Options, Writer | None]]:
        return TraceHandler, (self._options, self._writer)

    def __call__(self, prof: Profiler) -> Path | None:
        """Save the trace. Returns the path it gets, None when it could not be saved.

        In the rare case that another process takes the name first, it gets the next one:
        `saved_paths` has the truth when `flush` has returned.
        """
        self._remembered().is_called.set()
        return self._attempt(partial(self._save, prof))

    def report_nothing(self) -> None:
        """Log why no profiler called this handler, at the end of the process that made it."""
        memory = self._memory
        if memory.pid != os.getpid() or memory.is_called.is_set() or self._writer is None:
            return
        why = nothing_recorded(self)
        if why is not None:
            _log.warning("kinetoscope: nothing was recorded: %s", why)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until every trace is in its place, or lost and logged.

        False if that took longer than `timeout_s`; the writing goes on.
        """
        return self._remembered().background.flush(timeout_s)

    @property
    def saved_paths(self) -> tuple[Path, ...]:
        """The traces that this process has published and kept, the oldest first."""
        return tuple(path for path, _ in self._remembered().saved)

    def _attempt(self, work: Callable[[], _Result]) -> _Result | None:
        try:
            return work()
        except Exception as error:  # whatever it is, the training goes on
            # Said in any case: torch may crash on what is raised here before anybody has seen it.
            self._report(error)
            if self._options.raises:
                raise
            return None

    def _save(self, prof: Profiler) -> Path | None:
        if self._writer is None:  # a library is missing, which was said when it was made
            return None
        options, memory = self._options, self._remembered()
        process = current_process(_began_s(prof))
        if options.ranks is not None and process.rank not in {None, *options.ranks}:
            return None
        publication = self._exported(self._writer, prof, process)
        path = publication.staged.parent / publication.name.file_name
        if options.outputs & {"key_averages", "memory_snapshot"}:
            self._attempt(partial(write_of_torch, prof, path, options.outputs))
        step = getattr(prof, "step_num", None)
        finish = partial(
            self._finish,
            partial(self._publish, self._writer, publication, process.rank or 0),
            partial(self._write_outputs, process, step if isinstance(step, int) else None),
        )
        if options.raises or not options.background:
            return finish()
        memory.background.submit(finish)
        if isinstance(self._writer, RemoteWriter):
            return self._writer.place(publication.name)
        return path

    def _cpu_peak(self) -> dict[str, float] | None:
        """Rates of the CPU, measured once in each process; None where that failed."""
        memory = self._remembered()
        if not memory.cpu_peak:
            memory.cpu_peak.append(self._attempt(measure_cpu))
        return memory.cpu_peak[0]

    def _exported(self, writer: Writer, prof: Profiler, process: Process) -> Publication:
        """Export the trace to a hidden file. The training waits only for this."""
        options = self._options
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
            user=options.metadata,
        )
        if options.cpu_peak:
            metadata["cpu_peak"] = self._cpu_peak()
        record = self._attempt(partial(self._compile_file, prof, name, metadata["source_roots"]))
        if record is not None:
            metadata["compile"] = record.named
        text = to_json(metadata)
        staged = writer.stage(name)
        try:
            _export(prof, staged, use_python_export=options.use_python_export)
            _check_complete(staged)
            exported = staged.with_name(exported_name(staged.name))
            staged.replace(exported)
        except BaseException:  # Ctrl-C too: leave nothing behind
            writer.discard(staged)
            raise
        beside = {} if record is None else {record.name: record.data}
        return Publication(exported, name, text, options.compresslevel, beside)

    def _compile_file(self, prof: Profiler, name: TraceName, roots: Any) -> CompileFile | None:  # noqa: ANN401
        """Record of torch.compile so far, for the file beside a trace."""
        if self._options.compile is None:
            return None
        watch(self._options.compile)
        stem = paths_beside(Path(name.file_name))["compile"].name.removesuffix(COMPILE_SUFFIX)
        text = self._options.compile_text
        return compile_file(stem, _began_s(prof), roots, keeps_text=text)

    def _publish(self, writer: Writer, publication: Publication, rank: int) -> Path | None:
        options, memory = self._options, self._remembered()
        if options.background and not options.raises:
            memory.background.pause(rank * options.stagger_s)
        path = writer.publish(publication)
        size = _bytes_of(path)
        with memory.saving:
            memory.saved.append((path, size))
            surplus = _surplus(memory.saved, options.keep_last, options.max_bytes)
            del memory.saved[: len(surplus)]
        _log.log(
            logging.DEBUG if memory.is_announced.is_set() else logging.INFO,
            "kinetoscope saved a profile: %s (%s bytes)",
            path,
            f"{size:,}",
        )
        memory.is_announced.set()
        for old in surplus:
            beside = paths_beside(old[0])
            wanted = {*options.outputs, *(["compile"] if options.compile else [])}
            for file in (old[0], *(beside[one] for one in beside if one in wanted)):
                writer.remove(file)
            if old[0] == path:
                raise ExportError(
                    f"the trace alone has {size:,} bytes, more than max_bytes={options.max_bytes:,}"
                )
        return path

    def _finish(
        self, publish: Callable[[], Path | None], go_on: Callable[[Path], None]
    ) -> Path | None:
        path = self._attempt(publish)
        if path is not None:
            self._attempt(partial(go_on, path))
        return path

    def _write_outputs(self, process: Process, step: int | None, trace: Path) -> None:
        wanted = _read_back(self._options.outputs)
        if self._writer is None or not wanted:
            return
        with self._writer.read_back(trace) as here:
            if process.rank:  # one event file a run: the steps of ranks are those of the slowest
                wanted.discard("scalars")
            if wanted:
                hparams = {**(self._options.metadata or {}), "world_size": process.world_size or 1}
                write_in_a_process(here, wanted, step, hparams)

    def _remembered(self) -> _Memory:
        """The state of this process: a forked child starts with an empty one."""
        if self._memory.pid != os.getpid():
            self._memory = _Memory()
        return self._memory

    def _report(self, error: Exception) -> None:
        kind = (type(error).__name__, getattr(error, "errno", None))
        reported = self._remembered().reported
        is_known = kind in reported
        reported.add(kind)
        _log.log(
            logging.INFO if is_known else logging.ERROR,
            "kinetoscope could not save %s in %s: %s: %s. %s",
            "what belongs to a profile" if isinstance(error, OutputError) else "a profile",
            _shown(self._options.dir_name),
            kind[0],
            str(error).rstrip("."),
            "Raised, as asked for."
            if self._options.raises
            else "The training goes on; further failures of this kind are logged at level INFO.",
            # These say all in one line. For anything else, show where it came from.
            exc_info=None if isinstance(error, _SAY_ALL) else error,
        )


def _report_nothing(ref: weakref.ref[TraceHandler]) -> None:
    handler = ref()
    if handler is not None:
        with contextlib.suppress(Exception):  # the program has ended: nobody can mend it
            handler.report_nothing()


def _bytes_of(path: Path) -> int:
    """Size of a file; 0 if it cannot be read, because the trace is published anyway."""
    if isinstance(path, RemotePath):
        return path.bytes
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _surplus(
    saved: Sequence[tuple[Path, int]], keep_last: int | None, max_bytes: int | None
) -> list[tuple[Path, int]]:
    """The oldest of `saved` (paths and bytes) beyond the limits."""
    kept = bytes_ = 0
    for path_and_bytes in reversed(saved):
        bytes_ += path_and_bytes[1]
        if (keep_last is not None and kept >= keep_last) or (
            max_bytes is not None and bytes_ > max_bytes
        ):
            break
        kept += 1
    return list(saved[: len(saved) - kept])


def _read_back(outputs: Collection[str]) -> set[str]:
    """Those that are made of a trace which is in its place."""
    return {"stacks", "scalars"}.intersection(outputs)


def _writer(options: Options) -> Writer | None:
    if not is_remote(options.dir_name):
        return LocalWriter(options.dir_name, options.min_free_bytes)
    address = parse(options.dir_name)
    absent = address.problem()
    if absent is None:
        return RemoteWriter(
            address, options.min_free_bytes, reads_back=bool(_read_back(options.outputs))
        )
    message = f"kinetoscope will save no profile: {absent.message}. {absent.hint}"
    if options.raises:
        raise ValueError(message)
    _log.warning("%s", message)
    return None


def _shown(dir_name: str) -> str:
    """The directory or address without secrets."""
    return parse(dir_name).shown if is_remote(dir_name) else dir_name


def _module_ranges(modules: Any, *, raise_errors: bool) -> ModuleRanges | None:  # noqa: ANN401
    try:
        return ModuleRanges(modules)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:  # odd models
        _log.warning("kinetoscope records no modules: %s", error)
        if raise_errors:
            raise
        return None


def _export(prof: Profiler, staged: Path, *, use_python_export: bool) -> None:
    _check_recorded(prof)
    export = prof.export_chrome_trace
    if use_python_export and "use_python_export" in inspect.signature(export).parameters:
        export(str(staged), use_python_export=True)
    else:
        export(str(staged))


def _check_recorded(prof: Profiler) -> None:
    """Check that there is something to export.

    torch 2.13 crashes in the export of a session that never began, as after a second stop(), or
    where a profiler inside this one ended both.

    Raises:
        ExportError: there is nothing.
    """
    results: Any = getattr(getattr(prof, "profiler", None), "kineto_results", None)
    begin = getattr(results, "trace_start_ns", None) or getattr(results, "trace_start_us", None)
    if results is not None and begin is not None and begin() == 0 and not results.events():
        raise ExportError(
            "the profiler holds no recording: it was stopped twice, or another profiler ran inside "
            "it and ended the recording of both"
        )


def _began_s(prof: Profiler) -> float | None:
    """When the recording began, in seconds since 1970."""
    results: Any = getattr(getattr(prof, "profiler", None), "kineto_results", None)
    for name, unit in (("trace_start_ns", 1e9), ("trace_start_us", 1e6)):
        begin = getattr(results, name, None)
        if begin is not None:
            return float(begin()) / unit
    return None


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
