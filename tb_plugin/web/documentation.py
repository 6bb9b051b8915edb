"""The documentation, as the page links to it: the Markdown of docs/, drawn without a network.

It is our own text: no request names a file that is not in the list, and raw HTML is shown as text.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from werkzeug import Request

from ..base.errors import NotFoundError, short
from ..base.regex import regex
from .responses import REVALIDATE, Answer, digest, kept, packed

if TYPE_CHECKING:
    from markdown_it.token import Token

PREFIX = "docs/"
PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = (PACKAGE / "docs", PACKAGE.parent / "docs")
"""Where the pages lie: in the package, or beside it in a checkout."""
FIRST = "README.md"
MISSING = "This installation has no documentation."
_COMMENT = regex(r"<!--.*?-->\n?", re.DOTALL)
_NO_WORD = regex(r"[^\w\- ]")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}table{border-collapse:collapse;display:block;overflow-x:auto}"
    "td,th{border:1px solid #8886;padding:.25rem .5rem;text-align:left;vertical-align:top}"
    "pre{overflow-x:auto;padding:.75rem;border:1px solid #8886}code{font-size:.9em}"
    "img{max-width:100%}"
)


def page_names() -> tuple[str, ...]:
    """The pages by their names: ``overview``, ``guides/loops``; empty where there are none."""
    return tuple(name.removesuffix(".md") for name in _files() if name.endswith(".md"))


def page_text(name: str) -> str:
    """The Markdown of a page, without comments.

    Raises:
        NotFoundError: there is no such page; the hint has those that there are.
    """
    path = _files().get(f"{name.removesuffix('.md')}.md")
    if path is None:
        known = ", ".join(one for one in page_names() if one != "README")
        raise NotFoundError(
            f"there is no page {short(name)!r}", hint=f"pages: {known}" if known else MISSING
        )
    return _COMMENT.sub("", path.read_text("utf-8"))


def documentation(request: Request, name: str) -> Answer:
    """A page as HTML, or one of its pictures.

    Raises:
        NotFoundError: there is no such file.
    """
    path = _files().get(name or FIRST)
    if path is None:
        raise NotFoundError(f"the documentation has no file {short(name)!r}")
    if path.suffix != ".md":
        content, kind = path.read_bytes(), "image/png"
    else:
        content, kind = (
            drawn(page_text(name or FIRST), name.count("/")).encode(),
            "text/html; charset=utf-8",
        )
    answer = packed(request, content, kind)
    return kept(request, answer, etag=digest(content), cache=REVALIDATE)


def drawn(text: str, depth: int = 0) -> str:
    """A page of Markdown as one document of HTML; headings have the ids that links use.

    ``depth`` counts the folders between docs/ and the page: a link that leaves docs/ leads to the
    public source.
    """
    from markdown_it import MarkdownIt  # a page that nobody opens needs none

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    titles = [_with_id(*pair) for pair in pairwise(tokens)]
    for token in tokens:
        for child in token.children or ():
            _lead(child, depth)
    title = next(filter(None, titles), "")
    body = parser.renderer.render(tokens, parser.options, {})
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)} · kinetoscope'
        f"</title><style>{_STYLE}</style><body>{body}</body></html>"
    )


def _with_id(token: Token, after: Token) -> str:
    """Give a heading GitHub's id and return its text; "" for any other token."""
    if token.type != "heading_open":
        return ""
    words = _NO_WORD.sub("", after.content.lower().replace("`", ""))
    token.attrSet("id", words.replace(" ", "-"))
    return after.content.replace("`", "")


def _lead(token: Token, depth: int) -> None:
    """Make a link out of docs/ one to the public source; any link to a site opens beside."""
    href = str(token.attrGet("href") or "")
    above = "../" * (depth + 1)
    if href.startswith(above):
        token.attrSet("href", f"{_source()}/{href[len(above) :]}")
    if token.type == "link_open" and not href.startswith("#"):
        token.attrSet("rel", "noopener noreferrer")


@cache
def _source() -> str:
    """The address that the package calls its source."""
    try:
        named = metadata.metadata("kinetoscope").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    return next((one.partition(", ")[2] for one in named if one.startswith("Source, ")), "")


@cache
def _files() -> dict[str, Path]:
    folder = next((one for one in FOLDERS if (one / FIRST).is_file()), None)
    if folder is None:
        return {}
    pages = sorted([*folder.rglob("*.md"), *folder.rglob("*.png")])
    return {one.relative_to(folder).as_posix(): one for one in pages}
