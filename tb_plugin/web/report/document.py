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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ... import __version__
from ...base.errors import KinetoscopeError, UnavailableError
from ...base.units import listing, plural, size
from ...session.catalog import Traces, facts_catalog
from ...session.recordings import start_of
from ...session.session import ChosenTrace
from ...store.discovery.walk import resolve
from ...views import all_views
from ...views.view import TracePlace, View
from ..app import create_app
from ..page import HOW_TO_BUILD, STATIC
from .questions import ASKED, Answers, ask_diff, ask_shell, ask_timeline, packed, packed_size

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

MOST_BYTES = 5_000_000
HINT = "Searches, other steps and other ranges need the recording: `kinetoscope serve` shows it."
_TIMELINE_SHARE = 0.75  # of what the rest leaves
_PIECE = 1 << 18
_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)
_READ_S = 3600.0
_MOST_RANKS = 64  # of a run; the comparison of more is for a server
_SCRIPT = STATIC / "report" / "report.js"


class WrittenReport(Struct, frozen=True):
    """The file, and sentences that list its gaps."""

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
    chosen: ChosenTrace, base: ChosenTrace | None = None, most_bytes: int = MOST_BYTES
) -> WrittenReport:
    """The report of one trace, with the other ranks of its start, and compared with ``base``.

    Raises:
        UnavailableError: the page was not built, the file would be larger than ``most_bytes``, or
            the recordings were not read within an hour.
        KinetoscopeError: a file is no trace.
    """
    _script()  # says at once if there is none
    views = all_views()
    with tempfile.TemporaryDirectory(prefix="kinetoscope-report-") as folder:
        place, beyond = _linked(chosen, Path(folder), "recording" if base else "")
        base_place = _linked(base, Path(folder), "base")[0] if base else None
        with facts_catalog(resolve([folder], None)) as catalog:
            places = _read(catalog)
            return _made(
                create_app(catalog, views, "standalone"),
                views,
                _at(places, place),
                base=_at(places, base_place) if base_place else None,
                title=os.path.basename(chosen.shown),
                folder=folder,
                most_bytes=most_bytes,
                ranks=f"{plural(beyond, 'other rank')} of the run" if beyond else "",
            )


def _linked(chosen: ChosenTrace, folder: Path, run: str) -> tuple[Path, int]:
    """The trace, and the others of its start, as a run of a folder of their own.

    Returns:
        Its path there, and how many others were left out because they are too many.
    """
    files = {os.path.basename(chosen.path): chosen.path}
    name, beyond = run or "recording", 0
    if chosen.place is not None and chosen.folder is not None:
        name = run or os.path.basename(chosen.place.run) or "recording"
        others = _siblings(chosen)
        beyond = len(others) if len(others) >= _MOST_RANKS else 0
        files |= {} if beyond else others
    into = folder / name
    into.mkdir()
    for file, path in files.items():
        try:
            (into / file).symlink_to(os.path.abspath(path))
        except OSError:  # not allowed on this system
            shutil.copyfile(path, into / file)
    return Path(name, os.path.basename(chosen.path)), beyond


def _siblings(chosen: ChosenTrace) -> Mapping[str, str]:
    """The last recordings of the other workers of its start."""
    place, folder = chosen.place, chosen.folder
    assert place is not None
    assert folder is not None
    run = next(one for one in folder.catalog.runs if one.name == place.run)
    start = start_of(run, place)
    found: dict[str, str] = {}
    for one in run.workers:
        spans = [span.key for span in one.spans if span.start == start]
        if one.name == place.worker or not spans:
            continue
        file = folder.files[TracePlace(run.name, one.name, spans[-1])]
        if file.origin is None:
            found[os.path.basename(file.absolute)] = file.absolute
    return found


def _read(catalog: Traces) -> Mapping[str, TracePlace]:
    """Places by the paths of their files, when all files are read.

    Raises:
        UnavailableError: it took more than an hour.
    """
    catalog.wait_first_look(60.0)
    deadline = time.monotonic() + _READ_S
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
    app: WSGIApplication,
    views: Sequence[View],
    place: TracePlace,
    *,
    base: TracePlace | None,
    title: str,
    folder: str,
    most_bytes: int,
    ranks: str,
) -> WrittenReport:
    """The report of one trace, with its run and the other recording of a comparison.

    ``app`` is the application over a catalog that has read everything. ``most_bytes`` is of the
    file; the timeline gets what the rest leaves. Paths are written below ``folder``.

    Raises:
        UnavailableError: the page was not built, or the file would be larger than ``most_bytes``.
    """
    script = _script()
    answers = Answers(app, place, views, folder)
    answers.digest = _digest(answers)
    stems = ask_shell(answers)
    for stem in stems:
        if stem in ASKED:
            ASKED[stem](answers)
    if "diff" in stems:
        ask_diff(answers, base)
    used = len(script) + sum(packed_size(group.values()) for group in answers.by_group.values())
    finest, missing = 0, ""
    if "timeline" in stems:
        finest, missing = ask_timeline(answers, int((most_bytes - used) * _TIMELINE_SHARE))
    left_out = tuple(filter(None, (ranks, missing)))
    lacks = f" It leaves out {listing(left_out)}." if left_out else ""
    made = time.strftime("%Y-%m-%d")
    about = f"A report of {title}, made on {made} with kinetoscope {__version__}.{lacks} {HINT}"
    content = _document(script, _block(answers, finest, about), title)
    if len(content) > most_bytes:
        raise UnavailableError(
            f"the report takes {size(len(content))}, more than the {size(most_bytes)} allowed",
            hint=f"--max-size {-(-len(content) // 1_000_000)}MB allows it",
        )
    return WrittenReport(content, left_out)


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


def _block(answers: Answers, finest: int, about: str) -> str:
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
        f'<script type="application/octet-stream" id="kinetoscope-answers" data-finest="{finest}"'
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
