"""HTTP answers: JSON, validators, compression, and the headers that every one of them carries."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from http import HTTPStatus

import msgspec
from isal import igzip
from msgspec import Struct
from werkzeug import Request, Response
from werkzeug.datastructures import Headers

from ..base.errors import KinetoscopeError
from ..store.catalog_types import ErrorInfo
from .contract import ErrorAnswer

WORTH_PACKING_BYTES = 1400
"""A body that fits one packet gains nothing from compression."""

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
        return headers


def json_answer(
    request: Request,
    body: Struct,
    *,
    status: int = HTTPStatus.OK,
    etag: str = "",
    cache: str = REVALIDATE,
) -> Answer:
    """The body as JSON. Without an ``etag`` the digest of the body is one."""
    content = msgspec.json.encode(body)
    answer = packed(request, content, "application/json")
    answer.status_code = status
    if status == HTTPStatus.OK:
        return kept(request, answer, etag=etag or digest(content), cache=cache)
    answer.headers["Cache-Control"] = cache
    return answer


def kept(request: Request, answer: Answer, *, etag: str, cache: str) -> Answer:
    """The answer with its validator, and how long a client may keep it."""
    answer.headers["Cache-Control"] = cache
    answer.set_etag(etag, weak=True)
    answer.make_conditional(request)
    return answer


def unchanged(request: Request, etag: str, *, cache: str = REVALIDATE) -> Answer | None:
    """The 304, where the client holds this version already: nothing need be computed."""
    if not request.if_none_match.contains_weak(etag):
        return None
    answer = Answer(status=HTTPStatus.NOT_MODIFIED, content_type="application/json")
    answer.set_etag(etag, weak=True)
    answer.headers["Cache-Control"] = cache
    answer.vary.add("Accept-Encoding")
    return answer


def error_answer(request: Request, error: KinetoscopeError) -> Answer:
    """The one form in which an error leaves the server."""
    info = ErrorInfo(error.kind, error.message, error.hint)
    return json_answer(request, ErrorAnswer(info), status=error.status, cache="no-store")


def packed(request: Request, content: bytes, content_type: str) -> Answer:
    """The content, compressed where the client takes it and it is worth it."""
    answer = Answer(content_type=content_type)
    answer.vary.add("Accept-Encoding")
    if len(content) >= WORTH_PACKING_BYTES and takes_gzip(request):
        # mtime: the same content is the same bytes
        content = igzip.compress(content, compresslevel=1, mtime=0)
        answer.headers["Content-Encoding"] = "gzip"
    answer.set_data(content)
    return answer


def takes_gzip(request: Request) -> bool:
    """Whether the client says that it takes gzip."""
    return request.accept_encodings.quality("gzip") > 0


def digest(*parts: bytes | str) -> str:
    """A short digest of the parts, for validators."""
    state = blake2b(digest_size=12)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big") + data)
    return state.hexdigest()
