"""One file with the page and its answers, for readers without the trace and without a server.

    written = report_of(choose("log"))
    Path("report.html").write_bytes(written.content)

The answers are those of the application itself, asked in this process as the page asks: so each
figure of a report is the server's. ``questions`` lists what is asked; a test in a browser holds it
against what the page wants. In the file the answers are pieces of gzip in base64, one on a line,
the first of which is the index: ``frontend/src/api/stored.ts`` reads it.

No text of a trace can end a tag, because it is inside base64. The page asks nobody: its policy
allows its own script, by its digest, and no address.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ... import __version__
from ...base.errors import KinetoscopeError, QueryError, UnavailableError
from ...base.units import listing, parse_size, plural, size
from ...session.catalog import Traces, facts_catalog
from ...session.recordings import every_worker, start_of
from ...session.session import ChosenTrace
from ...store.discovery.walk import resolve
from ...views import all_views
from ...views.view import TracePlace
from ..app import create_app
from ..computing import ComputingInPlace
from ..page import HOW_TO_BUILD, STATIC
from . import MOST_SIZE
from .questions import (
    FEW_ROWS,
    PATIENCE_S,
    Answers,
    Shell,
    ask_diff,
    ask_shell,
    ask_single_steps,
    ask_views,
    packed,
)
from .redact import Redactor
from .timeline import Range, StoredTimeline, ask_timeline

HINT = "Searches, other steps and other ranges need the recording: `kinetoscope serve` shows it."
_TIMELINE_SHARE = 0.75  # of what the rest leaves
_STEPS_SHARE = 0.5  # of what the timeline leaves: steps by themselves
_LEAST_TIMELINE = 0.1  # of the file, or tables give way
_PIECE = 1 << 18
_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)
_MOST_RANKS = 64  # of a run; the comparison of more is for a server
_SCRIPT = STATIC / "report" / "report.js"


class ReportOptions(Struct, frozen=True):
    """Largest size, steps as the picker writes them, ranges in ns, and whether names are coded."""

    max_size: str = MOST_SIZE
    steps: str = ""
    ranges: Sequence[Range] = ()
    redact: bool = False

    def most_bytes(self) -> int:
        """The largest size in bytes.

        Raises:
            QueryError: it is no size.
        """
        found = parse_size(self.max_size)
        if found is None:
            raise QueryError(f"{self.max_size!r} is no size", hint=f"write it as {MOST_SIZE}")
        return found


class WrittenReport(Struct, frozen=True):
    """The file, and one sentence for each thing that it leaves out."""

    content: bytes
    left_out: tuple[str, ...]

    def write(self, target: Path) -> None:
        """Write the file, or nothing: a full disk leaves no half of it.

        Raises:
            KinetoscopeError: it cannot be written; says why.
        """
        half = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            half.write_bytes(self.content)
            half.replace(target)
        except OSError as error:
            raise KinetoscopeError(f"{target} cannot be written: {error.strerror}") from error
        finally:
            with suppress(OSError):  # there is none, or no such folder
                half.unlink()


def report_of(
    chosen: ChosenTrace, base: ChosenTrace | None = None, options: ReportOptions | None = None
) -> WrittenReport:
    """The report of one trace, with the other ranks of its start, and compared with ``base``.

    Raises:
        QueryError: there are no such steps, or the largest size is none.
        UnavailableError: the page was not built, the file would be too large, the recordings were
            not read within an hour, or the files of kinetoscope changed meanwhile.
        KinetoscopeError: a file is no trace.
    """
    options = options or ReportOptions()
    _script()  # both say at once if there is none
    options.most_bytes()
    with tempfile.TemporaryDirectory(prefix="kinetoscope-report-") as folder:
        place, beyond = _linked(chosen, Path(folder), "recording" if base else "")
        base_place = _linked(base, Path(folder), "base")[0] if base else None
        with facts_catalog(resolve([folder], None)) as catalog:
            places = _read(catalog)
            named = [_at(places, one) for one in (place, base_place) if one is not None]
            return _made(
                catalog,
                named,
                options,
                title=os.path.basename(chosen.shown),
                folder=folder,
                ranks=_beyond(beyond),
            )


def report_of_served(catalog: Traces, place: TracePlace, steps: str) -> bytes:
    """The report of a trace that a server shows, of the steps that are chosen there.

    Raises:
        UnavailableError: the page was not built, or the file would be too large.
    """
    options = ReportOptions(steps=steps)
    made = _made(catalog, [place], options, title=place.worker, folder="", ranks="")
    return made.content


def _linked(chosen: ChosenTrace, folder: Path, run: str) -> tuple[Path, int]:
    """The trace, and the others of its start, as a run of a folder of their own.

    Returns:
        Its path there, and how many others were left out because they are too many.
    """
    files = {os.path.basename(chosen.path): chosen.path}
    name, beyond = run or "recording", 0
    if chosen.place is not None and chosen.folder is not None:
        name = run or os.path.basename(chosen.place.run) or "recording"
        others, captures = _beside(chosen)
        beyond = len(others) if len(others) >= _MOST_RANKS else 0
        files |= {} if beyond else others
        files |= captures
    into = folder / name
    for file, path in files.items():
        (into / file).parent.mkdir(parents=True, exist_ok=True)
        try:
            (into / file).symlink_to(os.path.abspath(path))
        except OSError:  # not allowed on this system
            shutil.copyfile(path, into / file)
    return Path(name, os.path.basename(chosen.path)), beyond


def _beyond(count: int) -> str:
    """A sentence on ranks that are too many; "" without any."""
    is_ = "is" if count == 1 else "are"
    return f"{plural(count, 'other rank')} of the run {is_} left out." if count else ""


def _beside(chosen: ChosenTrace) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The last recordings of the other workers of its start, and those of captures of its graphs.

    Returns:
        Paths below the folder of its run, and what lies there.
    """
    place, folder = chosen.place, chosen.folder
    assert place is not None
    assert folder is not None
    run = next(one for one in folder.catalog.runs if one.name == place.run)
    start = start_of(run, place)
    others: dict[str, str] = {}
    captures: dict[str, str] = {}
    for one in every_worker(run):
        is_capture = one in run.captures
        spans = [span.key for span in one.spans if is_capture or span.start == start]
        if one.name == place.worker:
            continue
        for key in spans if is_capture else spans[-1:]:
            file = folder.files[TracePlace(run.name, one.name, key)]
            if file.origin is not None:
                continue
            name = os.path.basename(file.absolute)
            if is_capture:  # its worker has the name of a folder before it
                captures[os.path.join(os.path.dirname(one.name), name)] = file.absolute
            else:
                others[name] = file.absolute
    return others, captures


def _read(catalog: Traces) -> Mapping[str, TracePlace]:
    """Places by the paths of their files, when all files are read.

    Raises:
        UnavailableError: it took more than an hour.
    """
    catalog.wait_first_look(60.0)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        runs = catalog.snapshot().runs
        spans = [span for run in runs for worker in run.workers for span in worker.spans]
        if spans and not any(one.state in {"waiting", "queued", "reading"} for one in spans):
            return {
                span.file: TracePlace(run.name, worker.name, span.key)
                for run in runs
                for worker in run.workers
                for span in worker.spans
            }
        time.sleep(0.1)
    raise UnavailableError("the recordings were not read within an hour")


def _at(places: Mapping[str, TracePlace], file: Path) -> TracePlace:
    found = places.get(file.as_posix())
    if found is None:
        raise KinetoscopeError(f"{file.name} is no trace", hint="kinetoscope doctor says why")
    return found


def _made(
    catalog: Traces,
    places: Sequence[TracePlace],
    options: ReportOptions,
    *,
    title: str,
    folder: str,
    ranks: str,
) -> WrittenReport:
    """The report of the first of the traces, compared with the second, if there is one.

    ``catalog`` has read everything. The timeline gets what the rest of the file leaves. Paths are
    written below ``folder``.

    Raises:
        QueryError: there are no such steps.
        UnavailableError: the page was not built, or the file would be too large.
    """
    script, most_bytes = _script(), options.most_bytes()
    views = all_views()
    app = create_app(catalog, views, "standalone", computing=ComputingInPlace())
    answers = Answers(app, catalog, places[0], views, folder)
    answers.digest = _digest(answers)
    shell = ask_shell(answers, places)
    if options.steps and answers.frame("view/overview", steps=options.steps) is None:
        known = listing(shell.steps) if shell.steps else "none"
        raise QueryError(f"there are no steps {options.steps!r}", hint=f"steps: {known}")
    for steps in dict.fromkeys(("", options.steps)):
        ask_views(answers, shell.stems, steps)
    if "diff" in shell.stems and len(places) > 1:
        ask_diff(answers, places[1])
    room = most_bytes - len(script)
    left_out = [ranks, *_shortened(answers, room)]
    stored = StoredTimeline()
    if "timeline" in shell.stems:
        share = int((room - answers.size()) * _TIMELINE_SHARE)
        stored = ask_timeline(answers, share, options.ranges)
    left_out += [stored.missing, _steps_alone(answers, shell, room)]
    left_out += [f"{route} failed: {message}" for route, message in answers.failed.items()]
    answers.must_be_current()
    redactor = _redacted(answers, places) if options.redact else None
    lacks = [one for one in left_out if one]
    shown = redactor.text(title) if redactor else title
    content = _document(
        script, _block(answers, stored, _about(shown, lacks, options), options.steps), shown
    )
    if len(content) > most_bytes:
        raise UnavailableError(
            f"the report takes {size(len(content))}, more than the {size(most_bytes)} allowed",
            hint=f"--max-size {-(-len(content) // 1_000_000)}MB allows it",
        )
    return WrittenReport(content, tuple(lacks))


def _about(title: str, lacks: Sequence[str], options: ReportOptions) -> str:
    """Text of the banner: title, date and version, then the parts that are left out."""
    steps = f" It opens with steps {options.steps}." if options.steps else ""
    codes = " Folders, hosts and users are replaced by codes." if options.redact else ""
    made = time.strftime("%Y-%m-%d")
    about = f"A report of {title}, made on {made} with kinetoscope {__version__}."
    return " ".join([f"{about}{steps}{codes}", *lacks, HINT])


def _shortened(answers: Answers, room: int) -> Iterator[str]:
    """Drop details of rows, then rows, until the timeline has room; yield a sentence for each."""
    least = room * (1 - _LEAST_TIMELINE)
    if answers.size() > least:
        answers.without(lambda name: name.partition(" ")[0].endswith(("/row", "/graph", "/nodes")))
        yield "Details of rows are left out."
    if answers.size() > least:
        answers.only_first_rows()
        yield f"Tables end after their first {FEW_ROWS} rows."


def _steps_alone(answers: Answers, shell: Shell, room: int) -> str:
    """Store answers of single steps as far as there is room; a sentence names the missing ones."""
    if len(shell.steps) < 2:
        return ""
    fitting = ask_single_steps(answers, shell, int((room - answers.size()) * _STEPS_SHARE))
    if fitting == len(shell.steps):
        return ""
    if not fitting:
        return "No step can be chosen alone."
    which = "step" if fitting == 1 else f"{fitting} steps"
    return f"Only the first {which} can be chosen alone."


def _redacted(answers: Answers, places: Sequence[TracePlace]) -> Redactor:
    redactor = Redactor(place.worker for place in places)
    for group in answers.by_group.values():
        for body in group.values():
            redactor.learn_users(body)
    answers.by_group = {
        name: {
            redactor.question(question): redactor.body(question, body)
            for question, body in group.items()
        }
        for name, group in answers.by_group.items()
    }
    return redactor


def _digest(answers: Answers) -> str:
    """Digest in the page's requests: without it an answer describes the newest file."""
    body = answers.frame("trace")
    if body is None:
        raise UnavailableError("the recording cannot be read", hint="kinetoscope doctor says why")
    found: str = msgspec.json.decode(body)["digest"]
    return found


def _script() -> str:
    try:
        return (
            _SCRIPT.read_text("utf-8").replace("</script", "<\\/script").replace("<!--", "<\\!--")
        )
    except OSError:
        raise UnavailableError(
            "the page of reports is not built here", hint=f"run `{HOW_TO_BUILD}` in the checkout"
        ) from None


def _block(answers: Answers, stored: StoredTimeline, about: str, steps: str) -> str:
    """The element with all answers: the index, and pieces of answers of one view."""
    places: dict[str, tuple[int, int, int]] = {}
    pieces: list[bytes] = []
    for group in answers.by_group.values():
        piece = bytearray()
        for question, body in group.items():
            if piece and len(piece) + len(body) > _PIECE:
                pieces.append(bytes(piece))
                piece = bytearray()
            places[question] = (len(pieces), len(piece), len(body))
            piece += body
        pieces.append(bytes(piece))
    index = {
        "program": answers.program,
        "hint": HINT,
        "usual": answers.usual,
        "answers": places,
    }
    lines = [packed(msgspec.json.encode(index)), *map(packed, pieces)]
    start = (
        f'<script type="application/octet-stream" id="kinetoscope-answers"'
        f' data-levels="{stored.levels}" data-steps="{html.escape(steps)}"'
        f' data-about="{html.escape(about)}">'
    )
    return start + "\n" + "\n".join(lines) + "\n</script>"


def _document(script: str, block: str, title: str) -> bytes:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(script=digest)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title)}</title>\n</head>\n<body>\n{block}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    ).encode()
