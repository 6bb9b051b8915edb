"""The built page: its files, their types, and their caching in the browser."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from hmac import compare_digest
from html import escape
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType

from werkzeug import Request

from ..base.errors import NotFoundError, QueryError, short
from ..base.regex import regex
from .responses import NEVER_CHANGES, REVALIDATE, Answer, digest, kept, packed, takes_gzip

STATIC = Path(__file__).resolve().parent.parent / "static"
HOW_TO_BUILD = "python tools/build_page.py"

# Set here: the machine's own table may be wrong, and TensorBoard does not always mend it.
CONTENT_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".map": "application/json",
        ".png": "image/png",
        ".svg": "image/svg+xml",
        ".txt": "text/plain; charset=utf-8",
        ".wasm": "application/wasm",
        ".woff2": "font/woff2",
    }
)

# Only sources that TensorBoard's validator accepts. Styles: charts set style attributes.
CONTENT_POLICY = (
    "default-src 'self'; base-uri 'none'; object-src 'none'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'"
)

# TensorBoard is framed by notebooks and by VS Code; the page alone only by itself.
FRAMED_ALONE = "frame-ancestors 'self'"
FRAMED_IN_VSCODE = (
    f"{FRAMED_ALONE} vscode-webview: vscode-file: https://*.vscode-cdn.net"
    " http://127.0.0.1:* http://localhost:*"
)
TOKEN = "frame"  # noqa: S105  # the name of a parameter
"""Parameter of the page's address: a site that has the token may frame the page."""

_ORIGIN = regex(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(?:\d{1,5}|\*))?(?=/|$)")

RENDER = "export function render()"
NOT_BUILT = (
    "The page of kinetoscope is not built here. "
    f"In the checkout, run `{HOW_TO_BUILD}`, then reload."
)


class Page:
    """The files below one folder. A request names one of a list; no path is made from it."""

    def __init__(
        self, folder: Path = STATIC, policy: str = CONTENT_POLICY, token: str = ""
    ) -> None:
        self._folder = folder
        self._policy = policy
        self._token = token

    def answer(self, request: Request, name: str) -> Answer:
        """The file of this name: "index.js", "assets/x-1a2b.js".

        Raises:
            NotFoundError: the page has no such file.
        """
        files = _files(self._folder)
        path = files.get(name)
        if path is None:
            if "index.js" not in files and name in NOT_BUILT_ANSWERS:
                return self.guarded(request, _not_built(name))
            raise NotFoundError(f"the page has no file {short(name)!r}")
        content, packing = path.read_bytes(), None
        if f"{name}.gz" in files and takes_gzip(request):
            packing = files[f"{name}.gz"].read_bytes()
        return self.guarded(request, _file_answer(request, name, content, packing))

    def guarded(self, request: Request, answer: Answer) -> Answer:
        """Add headers that limit the sources of a document and the sites that may frame it."""
        if answer.mimetype == "text/html" or answer.status_code == HTTPStatus.NOT_MODIFIED:
            framer = self._framer(request)
            answer.headers["Content-Security-Policy"] = f"{self._policy} {framer}".rstrip()
            if framer:
                answer.headers["Cache-Control"] = "no-store"
        return answer

    def _framer(self, request: Request) -> str:
        """The origin of the page that frames this one, if it gave the token; else ""."""
        given = request.args.get(TOKEN, "")
        if not self._token or not compare_digest(given.encode(), self._token.encode()):
            return ""
        match = _ORIGIN.match(request.headers.get("Referer", ""))
        return match[0] if match else ""


def _files(folder: Path) -> dict[str, Path]:
    """Name → file. Listed for each request: some twenty files, and a new build shows at once."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            found[path.relative_to(folder).as_posix()] = path
    return found


def _file_answer(request: Request, name: str, content: bytes, packing: bytes | None) -> Answer:
    content_type = CONTENT_TYPES.get(Path(name).suffix, "application/octet-stream")
    if packing is None:
        answer = packed(request, content, content_type)
    else:
        answer = Answer(packing, content_type=content_type)
        answer.headers["Content-Encoding"] = "gzip"
        answer.vary.add("Accept-Encoding")
    # The names in assets/ carry a digest of their content.
    hashed = name.startswith("assets/")
    cache = NEVER_CHANGES if hashed else REVALIDATE
    return kept(request, answer, etag=digest(content), cache=cache)


def _not_built(name: str) -> Answer:
    status, content_type, body = NOT_BUILT_ANSWERS[name]
    answer = Answer(body, status=status, content_type=content_type)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def in_vscode() -> bool:
    """True if VS Code started this program: its TensorBoard extension, or our own."""
    return (
        os.environ.get("VSCODE_TENSORBOARD_LAUNCH") == "1"
        or os.environ.get("KINETOSCOPE_HOST") == "vscode"
    )


def page_alone(framers: Iterable[str] = (), token: str = "") -> Page:
    """The page of the standalone server.

    ``framers`` are origins whose pages may frame it. One that gives ``token`` in the address may,
    too: by exactly its own origin.

    Raises:
        QueryError: a framer is no origin.
    """
    allowed = [FRAMED_IN_VSCODE if in_vscode() else FRAMED_ALONE]
    for one in framers:
        if not _ORIGIN.fullmatch(one):
            raise QueryError(
                f"{short(one)!r} is no origin", hint="write it as https://notebooks.example:8888"
            )
        allowed.append(one)
    return Page(policy=f"{CONTENT_POLICY}; {' '.join(allowed)}", token=token)


NOT_BUILT_ANSWERS: Mapping[str, tuple[int, str, str]] = MappingProxyType(
    {
        # TensorBoard imports this and calls render(): a 404 would leave an empty frame.
        "index.js": (
            HTTPStatus.OK,
            CONTENT_TYPES[".js"],
            f"{RENDER} {{\n  document.body.textContent = {json.dumps(NOT_BUILT)};\n}}\n",
        ),
        "index.html": (
            HTTPStatus.SERVICE_UNAVAILABLE,
            CONTENT_TYPES[".html"],
            f"<!doctype html>\n<title>kinetoscope</title>\n<p>{escape(NOT_BUILT)}</p>\n",
        ),
    }
)
