"""What do the logs of a hang beside a trace say? Read in a reading process, as an artifact."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...analysis.distributed.hang import PROBLEMS, explain_hang, said_ranks
from ...analysis.facts import Facts
from ...base.artifact_spec import ArtifactSpec, ReadBounds
from ...base.errors import KinetoscopeError
from ...trace.model import Trace
from ...trace.pickles.flight_recorder import CollectiveLog, logs_below, read_log
from ..view import Subject
from . import contract as answers

MOST_LOG_BYTES = 256 << 20
"""Logs of a hang that the page reads; more of them are for ``kinetoscope hang``."""
MOST_SAID = 1000
"""Rows and notes of an answer."""
_BOUNDS = ReadBounds(cpu_seconds=120, memory_bytes=2 << 30)
_FILE = "hang.json"


def has_logs(facts: Facts) -> bool:
    """True if the folder of a trace has a log of a hang."""
    return bool(_log_files(Path(facts.path).parent))


def hang(subject: Subject, query: answers.HangQuery) -> answers.HangAnswer:  # noqa: ARG001
    """Result of the hang logs beside the traces."""
    state = hashlib.blake2b(digest_size=12)
    for file in _log_files(Path(subject.facts.path).parent):
        try:
            told = file.stat()
        except OSError:
            continue
        state.update(f"{file.name}\0{told.st_size}\0{told.st_mtime_ns}\n".encode(errors="replace"))
    spec = ArtifactSpec(
        name="hang",
        make=f"{make.__module__}:{make.__name__}",
        open=_kept,
        variants=(state.hexdigest(),),
        is_mapped=False,
        bounds=_BOUNDS,
    )
    found: answers.HangAnswer = subject.other_artifact(spec)
    return found


def _kept(folder: Path) -> answers.HangAnswer:
    return msgspec.json.decode((folder / _FILE).read_bytes(), type=answers.HangAnswer)


def make(trace: Trace, folder: Path, _: object, variant: str) -> None:  # noqa: ARG001
    """Store the result of the logs beside a trace in a folder; a damaged log loses only itself."""
    logs: list[CollectiveLog] = []
    notes: list[str] = []
    room = MOST_LOG_BYTES
    for file in _log_files(Path(trace.path).parent):
        try:
            room -= file.stat().st_size
            if room < 0:
                notes.append(
                    "There are more logs than the page reads: `kinetoscope hang` reads them all."
                )
                break
            logs.extend(read_log(file))
        except (KinetoscopeError, OSError) as error:
            notes.append(f"{file.name} was left out: {error}")
    text = msgspec.json.encode(_answer(logs, notes))
    (folder / _FILE).write_bytes(text)


def _answer(logs: Sequence[CollectiveLog], notes: Sequence[str]) -> answers.HangAnswer:
    report = explain_hang(logs)
    rows = tuple(
        answers.HangRow(
            group=one.group.label,
            operation=one.operation,
            sequence=one.sequence,
            problem=PROBLEMS[one.kind],
            missed=said_ranks(one.missed) if one.missed else "",
            waiting=said_ranks(one.waiting) if one.waiting else "",
            no_log=said_ranks(one.unknown) if one.unknown else "",
            part_of_log=said_ranks(one.unclear) if one.unclear else "",
            place=one.place,
        )
        for one in report.stuck[:MOST_SAID]
    )
    # Names of files need not be text.
    said = [one.encode("utf-8", "replace").decode() for one in (*report.notes, *notes)]
    beyond = len(said) + len(report.stuck) - len(said[:MOST_SAID]) - len(rows)
    if beyond:
        said = [*said[:MOST_SAID], f"{beyond:,} more are told by `kinetoscope hang`."]
    return answers.HangAnswer(report.sentence, report.detail, tuple(said), rows, len(report.ranks))


def _log_files(folder: Path) -> tuple[Path, ...]:
    """Logs of a hang in a folder."""
    try:
        return logs_below(folder) if folder.is_dir() else ()
    except OSError:
        return ()
