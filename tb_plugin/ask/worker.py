"""A process that answers SQL, and its client: a query beyond its limits ends the process.

The client sends one JSON line for each query and gets one back. A process stays for further queries
of its recording; it is killed when a query outlives its time, and the next one starts another.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct, structs

from ..base.errors import (
    KinetoscopeError,
    NotFoundError,
    NotReadyError,
    QueryError,
    TraceFormatError,
    UnavailableError,
)
from ..base.machine import MANY_OBJECTS, keep_memory
from ..session.session import FileSession
from .sql import SqlAnswer, SqlRequest, advice_among_ranks, answer

_GRACE_SECONDS = 2.0
_BOOT = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; import json, os; "
    "line = b''.join(iter(lambda: os.read(0, 1) or os._exit(0), b'\\n')); "
    "sys.path[:] = json.loads(line); "
    f"import gc; gc.set_threshold({MANY_OBJECTS}); "
    f"from {keep_memory.__module__} import keep_memory; keep_memory(); "  # before numpy
    f"from {__name__} import main; main()"
)
_ERRORS = {one.kind: one for one in (NotFoundError, QueryError, NotReadyError, UnavailableError)}


class WorkerFailure(Struct, frozen=True):
    """An error of a query, or of opening the recording."""

    kind: str
    message: str
    hint: str


class WorkerReply(Struct, frozen=True):
    """Result of a query."""

    answer: SqlAnswer | None = None
    failure: WorkerFailure | None = None
    opened: bool = False  # the recording is open; the answer follows


class WorkerJob(Struct, frozen=True):
    """A query of a file; ``advice`` is that among all ranks, which the process does not see."""

    path: str
    request: SqlRequest
    advice: msgspec.Raw = msgspec.Raw(b"null")


def main() -> None:
    """Answer queries until the end of input."""
    # What a library prints must not get into the answers.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sources: dict[str, Any] = {}
    for line in sys.stdin.buffer:
        job = msgspec.json.decode(line, type=WorkerJob)
        try:
            if job.path not in sources:
                sources = {job.path: _opened(job.path)}
            if (advice := _advice(job.advice)) is not None:
                sources[job.path].advice = advice
            _send(output, WorkerReply(opened=True))
            reply = WorkerReply(answer(sources[job.path], job.request))
        except KinetoscopeError as error:
            reply = WorkerReply(failure=WorkerFailure(error.kind, error.text, error.hint))
        except ModuleNotFoundError as error:
            reply = WorkerReply(failure=_missing(error))
        except OSError as error:
            reply = WorkerReply(failure=WorkerFailure("error", str(error), ""))
        _send(output, reply)


def _opened(path: str) -> Any:  # noqa: ANN401  # a Source, which only this process imports
    from .sources import Source

    source = Source(FileSession(path))
    source.session.facts()
    return source


def _advice(given: msgspec.Raw) -> Any:  # noqa: ANN401  # as above
    from ..views.overview.document import AdviceDocument

    return msgspec.json.decode(given, type=AdviceDocument | None)


def _send(output: Any, reply: WorkerReply) -> None:  # noqa: ANN401
    output.write(msgspec.json.encode(reply) + b"\n")
    output.flush()


def _missing(error: ModuleNotFoundError) -> WorkerFailure:
    if (error.name or "").partition(".")[0] == "duckdb":
        return WorkerFailure("not_installed", "SQL needs DuckDB, which is not installed", SQL_EXTRA)
    raise error


SQL_EXTRA = "pip install 'kinetoscope[sql]'"


def _nothing() -> None:
    pass


class SqlWorker:
    """Answer queries of recordings in a separate process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], object] = _nothing
        self._lock = threading.Lock()

    def ask(self, path: str, request: SqlRequest, advice: msgspec.Raw | None = None) -> SqlAnswer:
        """The rows of a query of a file; ``advice`` is that of ``advice_among_ranks``.

        Raises:
            QueryError: it is no single SELECT, it is wrong, or it takes too long or too much.
            UnavailableError: the recording does not have a table that it names; says why.
            KinetoscopeError: the file cannot be read, or DuckDB is not installed.
        """
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            job = WorkerJob(path, request, advice or msgspec.Raw(b"null"))
            with suppress(OSError):  # dead already: found out by reading
                process.stdin.write(msgspec.json.encode(job) + b"\n")
                process.stdin.flush()
            reply = self._heard(process)
            if reply is not None and reply.opened:
                timer = threading.Timer(request.seconds + _GRACE_SECONDS, process.kill)
                timer.start()
                reply = self._heard(process)
                timer.cancel()
            if reply is None:
                self.close()
                raise QueryError(
                    "the query took too much memory or time, and was ended",
                    hint="ask for less at once",
                )
            if reply.answer is not None:
                return reply.answer
            raise _raised(reply.failure)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._end = weakref.finalize(self, _end, self._process)
            assert self._process.stdin is not None
            with suppress(OSError):
                self._process.stdin.write(json.dumps(sys.path).encode() + b"\n")
                self._process.stdin.flush()
        return self._process

    @staticmethod
    def _heard(process: subprocess.Popen[bytes]) -> WorkerReply | None:
        assert process.stdout is not None
        with suppress(msgspec.DecodeError):  # half a line: it was killed
            return msgspec.json.decode(process.stdout.readline(), type=WorkerReply)
        return None

    def close(self) -> None:
        """End the process; the next query starts another."""
        self._process = None
        self._end()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()


def _raised(failure: WorkerFailure | None) -> KinetoscopeError:
    if failure is None:
        return KinetoscopeError("the query came to nothing")
    if failure.kind in _ERRORS:
        return _ERRORS[failure.kind](failure.message, hint=failure.hint)
    if failure.kind in ("error", "not_installed"):
        return KinetoscopeError(failure.message, hint=failure.hint)
    return TraceFormatError(failure.kind, failure.message, hint=failure.hint)


def asked(path: str, request: SqlRequest, advice: msgspec.Raw | None = None) -> SqlAnswer:
    """The rows of one query, in a process that ends after it; see ``SqlWorker.ask``."""
    worker = SqlWorker()
    try:
        return worker.ask(path, request, advice)
    finally:
        worker.close()


def asked_of_ranks(ranks: Iterable[tuple[int, FileSession]], request: SqlRequest) -> SqlAnswer:
    """The rows of one query of each rank, which stands in the first column.

    One rank is open at a time. ``skip`` is of one recording, and counts for none here.

    Raises:
        KinetoscopeError: as ``SqlWorker.ask``, of any rank.
    """
    columns: tuple[str, ...] = ("rank",)
    rows: list[tuple[Any, ...]] = []
    worker, size, more = SqlWorker(), 0, False
    try:
        for rank, session in ranks:
            left = request.limit - len(rows)
            if left <= 0 or size >= request.max_bytes:
                more = True
                break
            part = structs.replace(request, limit=left, max_bytes=request.max_bytes - size, skip=0)
            found = worker.ask(session.path, part, advice_among_ranks(session, request.query))
            columns, more = ("rank", *found.columns), more or found.more
            rows += [(rank, *row) for row in found.rows]
            size += len(msgspec.json.encode(found.rows))
    finally:
        worker.close()
    return SqlAnswer(columns, tuple(rows), more)
