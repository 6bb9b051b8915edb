"""A report: the application's answers in one file, which no text of a trace can break."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinetoscope
from kinetoscope.analysis.timeline.model import TILE_BUCKETS
from kinetoscope.base.errors import QueryError, UnavailableError
from kinetoscope.notebook import OpenTrace
from kinetoscope.views.timeline.tiles import HEADER, TILE_ENTRY
from kinetoscope.web.report import document as module
from kinetoscope.web.report.timeline import split_frame
from tests.cli.runs import run
from tests.conftest import ROOT

SAMPLE = ROOT / "samples" / "traces" / "train_ddp_cpu"
needs_page = pytest.mark.skipif(
    not module._SCRIPT.is_file(), reason="the page is not built: run `make page`"
)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def page(own_cache: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of the sample, as the command writes it."""
    target = tmp_path_factory.mktemp("report") / "r.html"
    result = run("report", SAMPLE, "-o", target)
    assert result.exit_code == 0
    assert "leaves out" not in result.stderr
    assert result.stdout.startswith(f"{target}: ")
    return target.read_text()


def write_tiny(path: Path, name: str) -> Path:
    """A step with one op of this name."""
    at = {"ph": "X", "pid": 7, "tid": 7, "ts": 0, "dur": 100}
    events = [
        {**at, "cat": "user_annotation", "name": "ProfilerStep#1"},
        {**at, "cat": "cpu_op", "name": name, "dur": 80},
    ]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def block_of(page: str) -> tuple[dict[str, Any], list[bytes]]:
    """The index and the pieces of a report."""
    block = r'<script type="application/octet-stream"[^>]*>\n(.*?)\n</script>'
    match = re.search(block, page, re.DOTALL)
    assert match is not None
    first, *rest = [gzip.decompress(base64.b64decode(line)) for line in match[1].split("\n")]
    return json.loads(first), rest


def answer(page: str, question: str) -> Any:
    index, pieces = block_of(page)
    found = [place for asked, place in index["answers"].items() if asked.startswith(question)]
    (place,) = found[:1]
    piece, offset, length = place
    return json.loads(pieces[piece][offset : offset + length])


@needs_page
def test_the_answers_are_those_of_show(page: str) -> None:
    for view in ("overview", "modules", "distributed"):
        shown = json.loads(run("show", view, SAMPLE, "--format", "json").stdout)
        assert answer(page, f"view/{view}?digest") == shown
    health = json.dumps(answer(page, "view/health"))
    assert '"File": "train_ddp_cpu/rank0.' in health
    assert "kinetoscope-report-" not in health  # the folder in which it was made
    ranks = answer(page, "view/distributed?digest")["ranks"]
    assert [one["rank"] for one in ranks] == [0, 1]  # the others of its run are compared


@needs_page
def test_the_policy_allows_its_script_and_no_address(page: str) -> None:
    script = page.partition("</script>\n<script>")[2].rpartition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "connect-src" not in policy[1]  # so it is 'none'
    assert page.count("</script") == 2


@needs_page
def test_names_that_are_markup_stay_inside_their_block(tmp_path: Path) -> None:
    evil = '</script><script>alert(1)</script>"<img src=x onerror=alert(1)>'
    trace = write_tiny(tmp_path / "<b>'\"&.pt.trace.json", evil)
    target = tmp_path / "r.html"
    assert run("report", trace, "-o", target).exit_code == 0
    page = target.read_text()
    assert page.count("</script") == 2
    assert "alert(1)" not in page
    assert "<b>" not in page.partition('<script type="application/octet-stream"')[0]
    rows = answer(page, "rows:view/operators/table?digest")["rows"]
    assert evil in [row["name"] for row in rows]


@needs_page
def test_too_small_a_size_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    result = run("report", SAMPLE, "-o", target, "--max-size", "1MB")
    assert result.exit_code == 6
    assert "more than the" in result.stderr
    assert "--max-size 2MB allows it" in result.stderr.replace("3MB", "2MB")
    assert list(tmp_path.glob("*.html*")) == []


def test_a_size_that_is_none_and_a_page_that_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "is no size" in run("report", SAMPLE, "--max-size", "many").stderr
    monkeypatch.setattr(module, "_SCRIPT", tmp_path / "none.js")
    result = run("report", SAMPLE, "-o", tmp_path / "r.html")
    assert result.exit_code == 6
    assert "not built" in result.stderr


@needs_page
def test_ranks_that_are_too_many_are_left_out_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_RANKS", 1)  # of two, which the report of the sample holds
    target = tmp_path / "r.html"
    result = run("report", SAMPLE, "-o", target)
    assert result.exit_code == 0
    index, _ = block_of(target.read_text())
    assert "leaves out 1 other rank of the run" in result.stderr
    assert "It leaves out 1\u00a0other rank of the run." in target.read_text()
    assert not any(asked.startswith("view/distributed?") for asked in index["answers"])


@needs_page
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    trace = write_tiny(tmp_path / "a.pt.trace.json", "aten::mm")
    result = run("report", trace, "-o", tmp_path / "no" / "r.html")
    assert result.exit_code == 1
    assert "cannot be written: No such file or directory" in result.stderr
    (tmp_path / "file").touch()
    result = run("report", trace, "-o", tmp_path / "file" / "r.html")
    assert result.exit_code == 1
    assert "cannot be written: Not a directory" in result.stderr


@needs_page
def test_the_library_writes_the_same_file_and_shows_it_in_a_cell(tmp_path: Path) -> None:
    trace = kinetoscope.open(SAMPLE)
    target = trace.report(tmp_path / "r.html")
    page = target.read_text()
    assert answer(page, "view/overview?digest")["sentence"]["headline"].startswith("Rank 1 ")
    cell = trace.show(height=321)._repr_html_()
    assert cell.startswith('<iframe sandbox="allow-scripts" width="100%" height="321"')
    (inside,) = re.findall(r'srcdoc="([^"]*)"', cell)
    shown = html.unescape(inside)
    assert answer(shown, "view/overview?digest") == answer(page, "view/overview?digest")
    assert shown.endswith("</html>\n")
    with pytest.raises(QueryError, match="'huge' is no size"):
        trace.show(max_size="huge")
    with pytest.raises(UnavailableError, match="in memory"):
        OpenTrace(trace._session).report(tmp_path / "none.html")


def test_a_frame_is_split_into_frames_of_one_tile() -> None:
    """Two tiles, of 1 and of 2 rectangles: their columns follow each other."""
    header = np.zeros(1, HEADER)
    header["entries"], header["kind"] = 2, 0
    entries = np.zeros(2, TILE_ENTRY)
    begin = HEADER.itemsize + 2 * TILE_ENTRY.itemsize
    entries["rects_at"], entries["buckets_at"] = (begin, begin + 16), (begin + 8, 0)
    entries["tile"] = (3, 4)
    frame = header.tobytes() + entries.tobytes() + b"AAAAAAAABBBBBBBBCCCCCCCC"
    (one, first), (other, second) = split_frame(frame)
    assert (one["tile"], other["tile"]) == (3, 4)
    own = HEADER.itemsize + TILE_ENTRY.itemsize
    assert (first[own:], second[own:]) == (b"AAAAAAAABBBBBBBB", b"CCCCCCCC")
    moved = np.frombuffer(first, TILE_ENTRY, 1, HEADER.itemsize)[0]
    assert (moved["rects_at"], moved["buckets_at"]) == (own, own + 8)
    assert np.frombuffer(second, HEADER, 1)[0]["entries"] == 1
    assert TILE_BUCKETS == 512  # of which the page's `frame.ts` knows
