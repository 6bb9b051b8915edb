"""Recording, ingest, cache, report and export: what is done under a fault, and must hold then."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import logging
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from click.testing import Result

from kinetoscope import export
from kinetoscope.analysis.distributed.rank.digest import DIGEST
from kinetoscope.handlers import tensorboard_trace_handler
from kinetoscope.session.ingest import IngestOutcome, ingest_file, tasks_of
from tests.cli.runs import run
from tests.handlers.recording import StandIn
from tests.web.trace_files import write_trace

from .driver import Area

TRACE = "log/run/rank0.1.pt.trace.json"


class _Said(logging.Handler):
    """Messages of the handler, at level WARNING and above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


_TABLE = "a row of averages\n" * 50


class Table(StandIn):
    """A profiler with averages."""

    def key_averages(self) -> Table:
        return self

    def table(self, **_: object) -> str:
        return _TABLE


_said = _Said()
logging.getLogger("kinetoscope").addHandler(_said)
logging.getLogger("kinetoscope").propagate = False
_result: list[object] = []
_reference: dict[str, object] = {}


def _nothing(work: Path) -> None:
    _said.texts.clear()
    _result.clear()


# --- recording ------------------------------------------------------------------------------------


def _record(work: Path) -> None:
    handler = tensorboard_trace_handler(work / "log", "w", outputs=["key_averages"])
    handler(Table())
    assert handler.flush(60), "flush waits for ever"


def _recorded(work: Path) -> Iterator[str]:
    before = _whole(work / "log")
    if isinstance(before, str):
        yield before
        return
    if not before and not _said.texts:
        yield "the trace is lost, and nothing was said"
    if any("Traceback" in text for text in _said.texts):
        yield "a traceback was logged"
    _record(work)
    after = _whole(work / "log")
    if isinstance(after, str) or len(after) != len(before) + 1:
        yield f"the next recording does not work: {after}"
    yield from _rubbish(work / "log")


def _whole(folder: Path) -> str | list[str]:
    """The traces that are to be seen; or what is half."""
    found = []
    for path in sorted(folder.glob("[!.]*")):
        if path.name.endswith(".gz"):
            try:
                json.loads(gzip.decompress(path.read_bytes()))
            except (OSError, EOFError, ValueError) as error:
                return f"half a trace is visible: {error!r}"
            found.append(path.name)
        elif path.read_text() != f"{_TABLE}\n":
            return f"half of {path.name} is visible"
    return found


def _rubbish(folder: Path) -> Iterator[str]:
    left = [path.name for path in folder.glob(".*")]
    if left:
        yield f"left behind: {left}"


# --- a trace that is read -------------------------------------------------------------------------


def _one_trace(work: Path) -> None:
    _nothing(work)
    write_trace(work / TRACE, op="aten::mm")


def _same(name: str, value: object) -> bool:
    return bool(_reference.setdefault(name, value) == value)


def _show(work: Path) -> None:
    _result.append(run("show", "operators", work / TRACE, "--format", "json"))


def _shown(work: Path) -> Iterator[str]:
    if _result:
        yield from _told("show", _result[0])
    again = run("show", "operators", work / TRACE, "--format", "json")
    if again.exit_code or not _same("show", again.stdout):
        yield f"the next run: {again.exit_code} {again.stderr} {again.stdout[:200]}"
    yield from _unfinished(work / "cache")


def _told(name: str, result: object) -> Iterator[str]:
    """What is wrong with a command: it answers the same, or says in a line why it does not."""
    assert isinstance(result, Result)
    if "Traceback" in result.output:
        yield f"a traceback: {result.output[-500:]}"
    elif result.exit_code == 0:
        if not _same(name, result.stdout):
            yield f"another answer: {result.stdout[:300]}"
    elif not result.stderr.strip() or len(result.stderr) > 1000:
        yield f"no clear error: {result.stderr[:1000]!r}"


def _unfinished(cache: Path) -> Iterator[str]:
    left = [str(path.relative_to(cache)) for path in cache.glob("tmp/*")]
    if left:
        yield f"left behind: {left}"


def _warm(work: Path) -> None:
    _one_trace(work)
    _show(work)
    _result.clear()


def _ingest(work: Path) -> None:
    (task,) = tasks_of([str(work / TRACE)], work / "cache", (DIGEST,), columns=True)
    _result.append(ingest_file(task))


def _ingested(work: Path) -> Iterator[str]:
    for one in _result:
        assert isinstance(one, IngestOutcome)
        if one.state not in {"read", "found"} and not one.message:
            yield f"{one.state}, and nothing is said"
    _result.clear()
    _ingest(work)
    (one,) = _result
    assert isinstance(one, IngestOutcome)
    if one.state not in {"read", "found"} or not _same("ingest", _stored(work / "cache")):
        yield f"the next run: {one}"
    yield from _unfinished(work / "cache")


def _stored(root: Path) -> frozenset[frozenset[tuple[str, int]]]:
    """Names and sizes of the files of each entry.

    A record of torch.compile that could not be read belongs to the key of a trace: then there are
    two entries, both whole.
    """
    found: dict[str, set[tuple[str, int]]] = {}
    for file in (root / "entries").rglob("*"):
        if file.is_file() and file.name not in {"summary.json", "seal.json"}:
            within = file.relative_to(root / "entries")
            entry, name = within.parts[0], Path(*within.parts[1:])
            found.setdefault(entry, set()).add((name.as_posix(), file.stat().st_size))
    return frozenset(map(frozenset, found.values()))


# --- files that are written for others ------------------------------------------------------------


def _export(work: Path) -> None:
    stacks, scalars = work / "stacks.txt", work / "profile"
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = export.main([str(work / TRACE), "--stacks", str(stacks), "--scalars", str(scalars)])
    _result.extend((code, said.getvalue()))


def _exported(work: Path) -> Iterator[str]:
    stacks = work / "stacks.txt"
    if stacks.exists() and not _same("stacks", stacks.read_bytes()):
        yield "half a file of stacks is visible"
    if _result and _result[0] == 0 and not stacks.exists():
        yield "it ended with 0, and there are no stacks"
    if _result and _result[0] and str(_result[1]).count("\n") != 1:
        yield f"no clear error: {_result[1]}"
    for events in work.glob("profile/*tfevents*"):
        if not _same("scalars", len(_events(events))):
            yield "half an event file is visible"
    yield from _rubbish(work / "profile")
    _result.clear()
    _export(work)
    if _result != [0, ""] or not _same("stacks", stacks.read_bytes()):
        yield f"the next run: {_result}"
    yield from _rubbish(work)


def _events(file: Path) -> list[object]:
    """The events of a file that is whole; an assertion fails for another one."""
    data = file.read_bytes()
    found: list[object] = []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert len(data) >= size + 16
        found.append(data[12 : 12 + size])
        data = data[size + 16 :]
    return found


def _check(work: Path) -> None:
    report = work / "report.xml"
    _result.append(run("check", work / TRACE, work / TRACE, "--junit", report, "--format", "json"))


def _checked(work: Path) -> Iterator[str]:
    report = work / "report.xml"
    if report.exists() and not _same("report", report.read_text()):
        yield "half a report is visible"
    if _result:
        yield from _told("check", _result[0])
    _result.clear()
    _check(work)
    if not report.exists() or not _same("report", report.read_text()):
        yield "the next run writes no report"
    yield from _rubbish(work)


AREAS: Mapping[str, Area] = {
    "recording": Area(_nothing, _record, _recorded),
    "ingest": Area(_one_trace, _ingest, _ingested),
    "show": Area(_one_trace, _show, _shown),
    "cache": Area(_warm, _show, _shown),
    "export": Area(_one_trace, _export, _exported),
    "report": Area(_one_trace, _check, _checked),
}
"""By name; *cache* is a trace that was read before."""
