"""Sphinx's settings for the site of the documentation: `make docs` builds it into build/site.

Sphinx and not MkDocs: its search works from `file:`, each version can be built beside the others,
broken links and pages that no list names are errors, and it is maintained. The pages stay plain
Markdown, which the index of the repository shows as well: the list of pages is the tables of
docs/README.md, and links that leave docs/ lead to the public source.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tools"))

from release.commit import version_of  # noqa: E402
from release.published_readme import source_address  # noqa: E402

project = "kinetoscope"
author = "The kinetoscope developers"
copyright = author  # noqa: A001  # Sphinx's name for it
release = version = version_of(ROOT)
extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
exclude_patterns = ["skill/*"]
html_theme = "furo"
html_title = f"kinetoscope {release}"
html_copy_source = False
html_show_sphinx = False
myst_heading_anchors = 4
nitpicky = True
_LEAVES = re.compile(r"\]\((\.\./[^)#\s]+|skill/[^)#\s]+)(#[^)\s]*)?\)")
_LISTED = re.compile(r"^\| \[[^\]]+\]\(([\w/-]+)\.md\)", re.MULTILINE)


def with_links(page: str, text: str) -> str:
    """The text, with links to files outside the site leading to the public source.

    Raises:
        ValueError: there is no such file.
    """
    address = source_address((ROOT / "pyproject.toml").read_text("utf-8"))
    folder = (DOCS / page).parent

    def of_source(found: re.Match[str]) -> str:
        target = (folder / found[1]).resolve()
        if not target.exists():
            raise ValueError(f"{page}.md links to {found[1]}, which does not exist")
        if target.is_relative_to(DOCS) and target.suffix == ".md" and "skill" not in target.parts:
            return found[0]
        return f"]({address}/{target.relative_to(ROOT).as_posix()}{found[2] or ''})"

    return _LEAVES.sub(of_source, text)


def with_list(text: str) -> str:
    """The first page, with the list of pages that its tables name."""
    listed = "\n".join(_LISTED.findall(text))
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def _read(app: Sphinx, page: str, content: list[str]) -> None:
    del app
    content[0] = with_links(page, content[0])
    if page == root_doc:
        content[0] = with_list(content[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _read)
