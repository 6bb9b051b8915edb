"""The documentation in the package: every link of it leads somewhere; no other file is served."""

from __future__ import annotations

import re
from html import unescape

import pytest

from kinetoscope.base.errors import NotFoundError
from kinetoscope.web.documentation import drawn, page_names, page_text
from tests.conftest import ROOT
from tests.web.test_app import client

ANCHOR = re.compile(r'<h\d id="([^"]+)"')


def pages() -> dict[str, str]:
    """Every page as it is served."""
    return {name: drawn(page_text(name), name.count("/")) for name in page_names()}


def test_a_page_is_drawn_with_its_tables_and_headings() -> None:
    made = drawn("# A `title`\n\n| a | b |\n|---|---|\n| 1 | [x](y.md#z) |\n\n## Two words, here\n")
    assert "<title>A title · kinetoscope</title>" in made
    assert '<h2 id="two-words-here">' in made
    assert "<td>1</td>" in made
    assert 'href="y.md#z"' in made


def test_html_in_a_page_is_text() -> None:
    assert "<script" not in drawn("<script>alert(1)</script>\n\n[x](javascript:alert(1))")
    assert 'href="javascript' not in drawn("[x](javascript:alert(1))")


def test_every_link_leads_to_a_page_and_a_heading_that_are_there() -> None:
    made = pages()
    ids = {name: set(ANCHOR.findall(text)) for name, text in made.items()}
    checked = 0
    for name, text in made.items():
        folder = ROOT / "docs" / name
        for href in map(unescape, re.findall(r'(?:href|src)="([^"]+)"', text)):
            if "://" in href or href.startswith("mailto:"):
                continue
            target, _, anchor = href.partition("#")
            path = (folder.parent / target).resolve() if target else folder.with_suffix(".md")
            assert path.is_file(), f"{name}: {href}"
            if anchor:
                within = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
                assert anchor in ids[within], f"{name}: {href}"
            checked += 1
    assert checked > 100


def test_it_is_served_below_docs() -> None:
    served = client().get("/docs/overview.md")
    assert (served.status_code, served.mimetype) == (200, "text/html")
    assert "script-src 'self'" in served.headers["Content-Security-Policy"]
    assert client().get("/docs/").text == client().get("/docs/README.md").text
    assert client().get("/docs/images/overview.png").mimetype == "image/png"


@pytest.mark.parametrize("name", ["../pyproject.toml", "conf.py", "%2e%2e/setup.py", "nothing.md"])
def test_no_other_file_is_served(name: str) -> None:
    assert client().get(f"/docs/{name}").status_code == 404


def test_an_unknown_page_names_those_that_there_are() -> None:
    with pytest.raises(NotFoundError) as error:
        page_text("ovrview")
    assert "overview" in str(error.value.hint)
