"""A window of the trace as a trace file of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

import numpy as np
from isal import isal_zlib

from ..analysis.timeline.export import contents_of, document, events_of
from ..analysis.timeline.select import Area
from ..trace.excerpt import event_texts
from .timeline_lists import tracks
from .timeline_open import check_range, opened_of
from .timeline_queries import ExportQuery
from .view import Subject

_SUFFIX = re.compile(r"(\.pt)?(\.trace)?\.json(\.gz)?$", re.IGNORECASE)
_PIECE_BYTES = 64 << 10
_GZIP = 31  # for zlib: with header and trailer


def export(subject: Subject, query: ExportQuery) -> Iterator[bytes]:
    """The slices that touch the window with all that the file says of them, gzipped JSON.

    Names of processes and threads go along, arrows between slices that are there, and where no
    tracks are chosen allocator events and counters of the window.

    Raises:
        QueryError: the range is empty, or a track does not exist.
        NotFoundError: the file is gone.
    """
    check_range(query.start_ns, query.end_ns)
    opened = opened_of(subject, query.layout)
    trace = subject.trace()
    area = Area(query.start_ns, query.end_ns, tracks(query.tracks, opened))
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
    return _gzipped(document(metadata, events_of(opened, contents, texts)))


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
    """Named after the trace, so that it is taken for one: ``worker0_12-34ms.pt.trace.json.gz``."""
    name = _SUFFIX.sub("", PurePath(subject.facts.path).name) or "trace"
    span = np.array([query.start_ns, query.end_ns]) // 1_000_000
    return f"{name[:150]}_{span[0]}-{span[1]}ms.pt.trace.json.gz"
