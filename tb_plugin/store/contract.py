"""The catalog as the page gets it: runs, workers, spans, files, each with its state (contract)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

# waiting: temporary name or still growing · queued: for a free process · reading · ready ·
# refused: is no trace · failed: could not be read, see error
State = Literal["waiting", "queued", "reading", "ready", "refused", "failed"]


class ErrorInfo(Struct, frozen=True):
    """An error as the page gets it: {"error": {"kind", "message", "hint"}}."""

    kind: str
    message: str
    hint: str = ""


class ReadProgress(Struct, frozen=True):
    """Progress of reading one file, or of computing an answer."""

    # "reading events" | "linking launches" | "summarizing" | "writing the cache"
    # | "preparing" | "waiting for a free process" | "computing" | "reading digests" | …
    phase: str
    bytes_done: int
    bytes_total: int
    events: int
    seconds: float  # since reading began
    seconds_left: float | None = None  # None: cannot be told yet
    file: str = ""  # relative to its logdir; "" where it is clear which one is meant
    # of an answer that is being computed, instead of bytes: recordings opened, stages passed
    parts_done: int = 0
    parts_total: int = 0


class FileInfo(Struct, frozen=True):
    """One file below a logdir: accepted, or the reason why not."""

    path: str  # relative to its logdir
    logdir: str  # as shown to the user
    run: str | None  # None: not part of a run
    worker: str | None
    span: str | None
    bytes: int
    modified: float  # seconds since the epoch
    state: State
    events: int | None
    read_seconds: float | None
    from_cache: bool
    verdict: str  # "in use" | "truncated" | "waiting" | "not a trace" | …: one or two words
    reason: str  # the sentence behind the verdict, "" when in use and whole
    hint: str


class StepFigures(Struct, frozen=True):
    """Lengths of the steps of a span, once it has been read."""

    median_ns: float  # of the steps shown by default
    count: int
    script: str  # what was started; "" where the recording does not say
    recorded: float  # when it began, seconds since the epoch; 0 = not known


class SpanInfo(Struct, frozen=True):
    """One recorded cycle of a worker. ``key`` identifies it in queries."""

    key: str  # "1", "2", … in time order, or "default" for a lone file without a time stamp
    label: str  # shown: wall-clock time when known
    state: State
    digest: str  # content key; "" until known. Answers are immutable per digest
    file: str
    progress: ReadProgress | None
    error: ErrorInfo | None
    steps: StepFigures | None = None  # None: not read yet, or nothing marks steps
    start: int = 1  # of which it is: its number in ``RunInfo.starts``


class WorkerInfo(Struct, frozen=True):
    """One process of a run, with its spans in time order."""

    name: str
    rank: int | None
    spans: tuple[SpanInfo, ...]
    node: str = ""  # its host, by the file once it was read, else by the name; "" unknown
    process: int | None = None  # its number there


class StartInfo(Struct, frozen=True):
    """One start of the program that wrote a run: recordings that belong together."""

    number: int  # from 1, in order of time
    saved: float  # when its first recording was saved, seconds since the epoch
    note: str = ""  # what cannot be told


class RunInfo(Struct, frozen=True):
    """A folder of traces; ``name`` is unique over all logdirs."""

    name: str
    logdir: str
    modified: float
    workers: tuple[WorkerInfo, ...]  # those of the newest start first
    starts: tuple[StartInfo, ...] = ()
    captures: tuple[WorkerInfo, ...] = ()  # recordings of captures of its graphs: no ranks of it


class Catalog(Struct, frozen=True):
    """Everything seen below the logdirs. ``version`` changes when anything but ``looked`` does."""

    version: str
    logdirs: tuple[str, ...]
    problems: tuple[ErrorInfo, ...]  # a logdir that does not exist or cannot be read
    scanning: bool  # the first look is not finished yet
    looked: float  # when the last look ended, seconds since the epoch; 0 = never
    runs: tuple[RunInfo, ...]
    files: tuple[FileInfo, ...]
    files_total: int  # files may be cut to the first 2,000
