"""What a view or a part of it answered, as it travels: JSON, a binary frame, or a download."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct
from werkzeug import Request

from .answers import Answer, json_answer, kept, packed

FRAME_TYPE = "application/octet-stream"
DOWNLOAD_TYPES = {".gz": "application/gzip", ".csv": "text/csv; charset=utf-8"}
"""End of a file's name → its type; ``FRAME_TYPE`` for others."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file made while it is sent."""

    name: str
    pieces: Iterator[bytes]


Body: TypeAlias = Struct | bytes | Download


def body_answer(request: Request, body: Body, *, etag: str, cache: str) -> Answer:
    """The answer that carries the body.

    Binary bodies are compressed like texts (0.4 ms per 150 KB): that somebody asks from this very
    machine cannot be seen, because the far end of a tunnel looks the same.
    """
    if isinstance(body, Download):
        answer = _download(body)
        # Not ``kept``: to learn a length, it would put all pieces into a list.
        answer.headers["Cache-Control"] = cache
        answer.set_etag(etag, weak=True)
        return answer
    if isinstance(body, bytes):
        return kept(request, packed(request, body, FRAME_TYPE), etag=etag, cache=cache)
    return json_answer(request, body, etag=etag, cache=cache)


def _download(body: Download) -> Answer:
    """The file, piece by piece. What goes wrong before the first piece is still told in JSON."""
    first = next(body.pieces, b"")
    suffix = "." + body.name.rpartition(".")[2]
    answer = Answer(
        chain([first], body.pieces), content_type=DOWNLOAD_TYPES.get(suffix, FRAME_TYPE)
    )
    answer.headers["Content-Disposition"] = _disposition(body.name)
    if isinstance(body.pieces, Generator):
        answer.call_on_close(body.pieces.close)  # when the client has gone, what it holds is let go
    return answer


def _disposition(name: str) -> str:
    """RFC 6266: the name in ASCII for all, in UTF-8 for those that read it."""
    plain = "".join(char if char.isascii() and char.isprintable() else "_" for char in name)
    plain = plain.replace("/", "_").replace("\\", "_").replace('"', "_")
    whole = quote(name.encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}"
