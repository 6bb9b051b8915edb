"""HTTP responses: JSON, binary frames and downloads, with validators, compression and headers.

The validators name the program, too: a browser must not keep the answers of another version.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

import msgspec
from isal import igzip
from msgspec import Struct
from werkzeug import Request, Response
from werkzeug.datastructures import Headers

from .. import __version__
from ..analysis.advice.rule import VARIABLE, thresholds_version
from ..base.errors import KinetoscopeError
from ..store.contract import ErrorInfo
from .contract import CONTRACT, ErrorAnswer

WORTH_PACKING_BYTES = 1400
"""A body that fits one packet gains nothing from compression."""

PROGRAM_HEADER = "Kinetoscope-Program"
"""Version and contract, in every answer: a page of another program draws nothing of it."""

REVALIDATE = "no-cache"
NEVER_CHANGES = "private, max-age=31536000, immutable"


class Answer(Response):
    """A response that TensorBoard's validator accepts, 304 included.

    Werkzeug drops the content type of a 304; the validator misses it and warns each time.
    """

    def get_wsgi_headers(self, environ: Mapping[str, object]) -> Headers:
        headers = super().get_wsgi_headers(environ)  # type: ignore[arg-type]
        if self.status_code == HTTPStatus.NOT_MODIFIED and self.content_type:
            headers["Content-Type"] = self.content_type
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "same-origin"
        headers[PROGRAM_HEADER] = f"{__version__} {CONTRACT}"
        return headers


def json_answer(
    request: Request,
    body: Struct,
    *,
    status: int = HTTPStatus.OK,
    etag: str = "",
    cache: str = REVALIDATE,
) -> Answer:
    """The body as JSON. Without an ``etag`` the digest of the body is used."""
    content = body.json if isinstance(body, Encoded) else msgspec.json.encode(body)
    answer = packed(request, content, "application/json")
    answer.status_code = status
    if status == HTTPStatus.OK:
        return kept(request, answer, etag=etag or digest(content), cache=cache)
    answer.headers["Cache-Control"] = cache
    return answer


def kept(request: Request, answer: Answer, *, etag: str, cache: str) -> Answer:
    """The response with its validator and its caching time."""
    answer.headers["Cache-Control"] = cache
    answer.set_etag(etag, weak=True)
    answer.make_conditional(request)
    return answer


def unchanged(request: Request, etag: str, *, cache: str = REVALIDATE) -> Answer | None:
    """A 304 if the client has this version already, so that nothing is computed."""
    if not request.if_none_match.contains_weak(etag):
        return None
    answer = Answer(status=HTTPStatus.NOT_MODIFIED, content_type="application/json")
    answer.set_etag(etag, weak=True)
    answer.headers["Cache-Control"] = cache
    answer.vary.add("Accept-Encoding")
    return answer


def error_answer(request: Request, error: KinetoscopeError) -> Answer:
    """An error as a response."""
    info = ErrorInfo(error.kind, error.message, error.hint)
    return json_answer(request, ErrorAnswer(info), status=error.status, cache="no-store")


def packed(request: Request, content: bytes, content_type: str) -> Answer:
    """The content, compressed if the client accepts it and it is large enough."""
    answer = Answer(content_type=content_type)
    answer.vary.add("Accept-Encoding")
    if len(content) >= WORTH_PACKING_BYTES and takes_gzip(request):
        # mtime: the same content is the same bytes
        content = igzip.compress(content, compresslevel=1, mtime=0)
        answer.headers["Content-Encoding"] = "gzip"
    answer.set_data(content)
    return answer


def takes_gzip(request: Request) -> bool:
    """True if the client accepts gzip."""
    return request.accept_encodings.quality("gzip") > 0


def digest(*parts: bytes | str) -> str:
    """A short digest of the parts, for validators."""
    state = blake2b(digest_size=12)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big") + data)
    return state.hexdigest()


PACKAGE = Path(__file__).resolve().parent.parent


@cache
def program() -> str:
    """A short key of this program: its version and the youngest of its sources.

    The sources count because a checkout changes without changing its version.
    """
    youngest = max(path.stat().st_mtime_ns for path in PACKAGE.rglob("*.py"))
    return digest(__version__, CONTRACT, str(youngest))[:8]


def answer_digest(content_digest: str) -> str:
    """The digest of a trace for the page: equal for the same content, program and thresholds."""
    if not content_digest:
        return ""
    other = thresholds_version() if VARIABLE in os.environ else ""
    return f"{content_digest}-{program()}{digest(other)[:8] if other else ''}"


FRAME_TYPE = "application/octet-stream"
DOWNLOAD_TYPES = {
    ".gz": "application/gzip",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}
"""End of a file's name → its type; ``FRAME_TYPE`` for others."""


class Download(Struct, frozen=True):
    """A file made while it is sent."""

    name: str
    pieces: Iterator[bytes]


class Encoded(Struct, frozen=True):
    """A Struct as JSON text."""

    json: bytes


Body: TypeAlias = Struct | bytes | Download


def encoded(body: Body) -> Body:
    """The same body as it travels; a download is made while it is sent."""
    if isinstance(body, bytes | Download | Encoded):
        return body
    return Encoded(msgspec.json.encode(body))


def body_answer(request: Request, body: Body, *, etag: str, cache: str) -> Answer:
    """The response with this body. Without an ``etag`` its digest is used; a download has none.

    Binary bodies are compressed like texts (0.4 ms per 150 KB): that somebody asks from this very
    machine cannot be seen, because the far end of a tunnel looks the same.
    """
    if isinstance(body, Download):
        answer = _download(body)
        # Not ``kept``: to learn a length, it would put all pieces into a list.
        answer.headers["Cache-Control"] = cache
        if etag:
            answer.set_etag(etag, weak=True)
        return answer
    if isinstance(body, bytes):
        framed = packed(request, body, FRAME_TYPE)
        return kept(request, framed, etag=etag or digest(body), cache=cache)
    return json_answer(request, body, etag=etag, cache=cache)


def _download(body: Download) -> Answer:
    """The file, piece by piece. An error before the first piece is still sent as JSON."""
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
