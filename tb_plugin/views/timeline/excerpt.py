"""A window of the trace as a separate trace file, read again and written in a reading process."""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath

import msgspec
import numpy as np
from isal import isal_zlib
from msgspec import Struct

from ...analysis.timeline.export import contents_of, document, events_of
from ...analysis.timeline.range.sums import Area
from ...analysis.timeline.timeline import TIMELINE, Opened, layout_for
from ...base.artifact_spec import ArtifactSpec, ReadBounds, given, load_callable
from ...base.regex import regex
from ...trace.event_text import event_texts
from ...trace.model import Trace
from ..view import Subject
from .common import check_range, opened_of, tracks
from .queries import ExportQuery

_SUFFIX = regex(r"(\.pt)?(\.trace)?\.json(\.gz)?$", re.IGNORECASE)
_PIECE_BYTES = 64 << 10
_GZIP = 31  # for zlib: with header and trailer
_FILE = "excerpt.json.gz"
_BOUNDS = ReadBounds(cpu_seconds=1800, memory_bytes=None)


class _Asked(Struct, frozen=True):
    """The exported area, and the stored layout of its tracks."""

    layout: str
    start_ns: int
    end_ns: int
    tracks: tuple[int, ...] | None


def export(subject: Subject, query: ExportQuery) -> Iterator[bytes]:
    """The slices that touch the window, as complete as in the file, as gzipped JSON.

    Names of processes and threads go along, arrows between slices that are there, and where no
    tracks are chosen allocator events and counters of the window.

    Raises:
        QueryError: the range is empty, or a track does not exist.
        NotFoundError: the file is gone.
    """
    check_range(query.start_ns, query.end_ns)
    chosen = tracks(query.tracks, opened_of(subject, query.layout))
    layout = layout_for(subject.facts, query.layout)
    asked = msgspec.json.encode(_Asked(layout, query.start_ns, query.end_ns, chosen)).decode()
    spec = ArtifactSpec(
        name="excerpt",
        make=f"{make.__module__}:{make.__name__}",
        open=_mapped,
        variants=(hashlib.blake2b(asked.encode(), digest_size=12).hexdigest(),),
        argument=asked,
        bounds=_BOUNDS,
    )
    return _pieces(subject.other_artifact(spec))


def _mapped(folder: Path) -> mmap.mmap:
    with (folder / _FILE).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _pieces(text: mmap.mmap) -> Iterator[bytes]:
    for start in range(0, len(text), _PIECE_BYTES):
        yield text[start : start + _PIECE_BYTES]


def make(trace: Trace, folder: Path, on_share: Callable[[float], None], _: str, asked: str) -> None:
    """Write the file of a window into a folder."""
    query = msgspec.json.decode(asked, type=_Asked)
    opened = _opened(trace, folder, query.layout, on_share)
    area = Area(query.start_ns, query.end_ns, query.tracks)
    contents = contents_of(opened, trace, area)
    metadata = {
        "schemaVersion": 1,
        **trace.recording.metadata,
        **({"kinetoscope": dict(trace.recording.handler)} if trace.recording.handler else {}),
        "excerpt": {
            "of": PurePath(trace.path).name,
            "start_ns": area.start,
            "end_ns": area.end,
            "slices": len(contents.slices),
        },
    }
    texts = event_texts(trace.path, trace.blocks, contents.rows, trace.seek)
    with (folder / _FILE).open("wb") as file:
        for piece in _gzipped(document(metadata, events_of(opened, contents, texts))):
            file.write(piece)


def _opened(trace: Trace, folder: Path, layout: str, on_share: Callable[[float], None]) -> Opened:
    """The timeline, made beside the excerpt for this moment."""
    import tempfile

    function, first = load_callable(TIMELINE.make), TIMELINE.variants[0]
    # What is mapped stays readable when its file is gone.
    with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as root:
        place = Path(root)
        for one in dict.fromkeys((first, layout)):
            place = Path(root, f"{TIMELINE.name}-{one}")
            place.mkdir()
            function(trace, place, on_share, *given(one, ""))
        found: Opened = TIMELINE.open(place)
    return found


def _gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(level=1, wbits=_GZIP)
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _PIECE_BYTES:
            if packed := packer.compress(b"".join(waiting)):
                yield packed
            waiting, size = [], 0
    yield packer.compress(b"".join(waiting)) + packer.flush()


def file_name(subject: Subject, query: ExportQuery) -> str:
    """A name that marks a trace: ``worker0_12-34ms.pt.trace.json.gz``."""
    name = _SUFFIX.sub("", PurePath(subject.facts.path).name) or "trace"
    span = np.array([query.start_ns, query.end_ns]) // 1_000_000
    return f"{name[:150]}_{span[0]}-{span[1]}ms.pt.trace.json.gz"
