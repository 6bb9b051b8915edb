"""A report: the application's answers in one file, which no text of a trace can break."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from werkzeug import Response
from werkzeug.test import Client

import kinetoscope
from kinetoscope.analysis.timeline.model import TILE_BUCKETS
from kinetoscope.base.errors import QueryError, UnavailableError
from kinetoscope.base.units import NBSP
from kinetoscope.notebook import OpenTrace
from kinetoscope.session.catalog import facts_catalog
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.store.ingest.child import Child
from kinetoscope.store.ingest.jobs import Work
from kinetoscope.views import all_views
from kinetoscope.views.timeline.tiles import HEADER, TILE_ENTRY
from kinetoscope.views.view import TracePlace
from kinetoscope.web.app import create_app
from kinetoscope.web.report import document as module
from kinetoscope.web.report import questions, timeline
from kinetoscope.web.report.document import HINT, ReportOptions, report_of_served
from kinetoscope.web.report.redact import Redactor
from kinetoscope.web.report.timeline import split_frame
from tests.cli.runs import run
from tests.conftest import ROOT
from tests.views.overview.test_served_use import write_served
from tests.web.drawn import DrawnCatalog

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
    gaps = [
        "kinetoscope: The timeline merges slices shorter than 256 ns",
        f"kinetoscope: {HINT[:-1]}",
    ]
    assert result.stderr.replace(NBSP, " ").splitlines()[-2:] == gaps
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
    stored = index["answers"]
    exact = [stored[question]] if question in stored else []
    found = exact or [place for asked, place in stored.items() if asked.startswith(question)]
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
@pytest.mark.parametrize("sample", ["compiled", "serving"])
def test_every_view_that_can_be_filled_is_there(tmp_path: Path, sample: str) -> None:
    target = tmp_path / "r.html"
    assert run("report", SAMPLE.parent / sample, "-o", target).exit_code == 0
    page = target.read_text()
    views = answer(page, "trace?")["views"]
    fillable = {one["stem"] for one in views if not one["unavailable"]} - {"diff"}
    index, _ = block_of(page)
    stored = {one.partition("?")[0].removeprefix("view/") for one in index["answers"]}
    assert fillable <= stored
    assert ("compile" in fillable) == (sample == "compiled")


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


@needs_page
def test_the_size_that_is_said_is_the_size_that_is_kept(tmp_path: Path) -> None:
    trace = write_tiny(tmp_path / "a.pt.trace.json", "aten::mm")
    target = tmp_path / "r.html"
    assert run("report", trace, "-o", target).exit_code == 0
    size = target.stat().st_size
    assert run("report", trace, "-o", target, "--max-size", f"{size + 99}").exit_code == 0
    assert run("report", trace, "-o", target, "--max-size", f"{size - 99}").exit_code == 6
    kib, kb = size // 1024 + 1, size // 1000 + 1  # a KB is 1,000, a KiB 1,024
    assert run("report", trace, "-o", target, "--max-size", f"{kib}KiB").exit_code == 0
    assert run("report", trace, "-o", target, "--max-size", f"{kib}KB").exit_code == 6
    assert run("report", trace, "-o", target, "--max-size", f"{kb}KB").exit_code == 0
    assert ReportOptions().most_bytes() == 5_000_000


@needs_page
@pytest.mark.parametrize("processes", [0, 1, 3])
def test_files_that_change_while_it_is_made_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    """Not one answer less: after this number of processes no other can be started."""
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(Child, "is_usable", lambda *_: False)  # each file and artifact needs one
    started = itertools.count()
    monkeypatch.setattr(Work, "is_outdated", property(lambda _: next(started) >= processes))
    target = tmp_path / "r.html"
    result = run("report", write_tiny(tmp_path / "a.pt.trace.json", "x"), "-o", target)
    assert (result.exit_code, target.exists()) == (6, False)
    assert "changed while the report was made" in result.stderr


def test_an_answer_that_never_comes_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "PATIENCE_S", 0.2)
    reading = Response(b"{}", 202, {"Kinetoscope-Program": "1 1"})
    answers = questions.Answers(reading, DrawnCatalog(), TracePlace("r", "w", "s"), (), "")
    with pytest.raises(UnavailableError, match="view/overview was not answered within 200"):
        answers.bytes_of("view/overview")


@needs_page
def test_an_answer_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("broken")

    views = [
        msgspec.structs.replace(one, build=broken) if one.stem == "health" else one
        for one in all_views()
    ]
    monkeypatch.setattr(module, "all_views", lambda: views)
    target = tmp_path / "r.html"
    result = run("report", write_tiny(tmp_path / "a.pt.trace.json", "x"), "-o", target)
    assert result.exit_code == 0
    assert "view/health failed: " in result.stderr
    assert "view/health failed: " in target.read_text()


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
    assert "1 other rank of the run is left out" in result.stderr
    assert "1\u00a0other rank of the run is left out." in target.read_text()
    assert not any(asked.startswith("view/distributed?") for asked in index["answers"])


@needs_page
@pytest.mark.parametrize("beside", ["job/capture_traces", "capture_traces"])
def test_captures_beside_the_run_name_its_kernels(tmp_path: Path, beside: str) -> None:
    """The same operators as the server's, of a folder in the run and of one beside it."""
    write_served(tmp_path / "job", tmp_path / beside)
    target = tmp_path / "r.html"
    result = run("report", tmp_path, "--run", "job", "-o", target)
    assert result.exit_code == 0, result.stderr
    page = target.read_text()
    overview = answer(page, "view/overview?digest")
    shown = run("show", "overview", tmp_path, "--run", "job", "--format", "json").stdout
    assert overview == json.loads(shown)
    (decode,) = overview["serving"]["phases"]
    assert {one["name"]: one["ns"] for one in decode["families"]} == {"moe": 12_000, "gemm": 6_000}
    (kept,) = answer(page, "catalog")["runs"]
    assert ([one["name"] for one in kept["workers"]], kept["captures"]) == (["worker0"], [])


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


HOME = "/home/ana.b/secret"
LIBRARY = "/opt/py/lib/python3.12/site-packages/torch/nn/modules/module.py"


def trace_of_three_steps(folder: Path) -> Path:
    """Steps of 100, 300 and 120 µs, by a host and a user that have names."""
    at = {"ph": "X", "pid": 7, "tid": 7}
    events: list[dict[str, Any]] = []
    start = 0
    for number, dur in ((4, 100), (5, 300), (6, 120)):
        step = {"cat": "user_annotation", "name": f"ProfilerStep#{number}", "dur": dur}
        frame = {"cat": "python_function", "name": f"{HOME}/train.py(12): step", "dur": dur - 10}
        call = {"cat": "python_function", "name": f"{LIBRARY}(9): __call__", "dur": dur - 20}
        op = {"cat": "cpu_op", "name": "aten::mm", "dur": dur - 30}
        events += [{**at, **one, "ts": start + n} for n, one in enumerate((step, frame, call, op))]
        start += dur
    path = folder / "gpu07.lab_4711.1700000000000.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@needs_page
def test_it_opens_with_the_steps_that_are_asked_for_and_holds_each_alone(tmp_path: Path) -> None:
    trace = trace_of_three_steps(tmp_path)
    target = tmp_path / "r.html"
    result = run("report", trace, "-o", target, "--steps", "5-6")
    assert result.exit_code == 0, result.stderr
    page = target.read_text()
    assert 'data-steps="5-6"' in page
    assert "It opens with steps 5-6." in page
    index, _ = block_of(page)
    for steps in ("4", "5", "6", "5-6"):
        (asked,) = [
            one
            for one in index["answers"]
            if one.startswith("view/overview?") and one.endswith(f"steps={steps}")
        ]
        shown = json.loads(
            run("show", "overview", trace, "--steps", steps, "--format", "json").stdout
        )
        assert answer(page, asked) == shown
    refused = run("report", trace, "-o", target, "--steps", "9")
    assert refused.exit_code == 2
    assert "steps: 4, 5 and 6" in refused.stderr


@needs_page
def test_redacted_it_names_no_folder_no_host_and_no_user(tmp_path: Path) -> None:
    trace = trace_of_three_steps(tmp_path)
    target = tmp_path / "r.html"
    assert run("report", trace, "-o", target, "--redact").exit_code == 0
    page = target.read_text()
    index, pieces = block_of(page)
    everything = page + json.dumps(index) + "".join(one.decode("latin-1") for one in pieces)
    for name in ("gpu07", "ana.b", "secret", "/opt/py"):
        assert name not in everything, name
    names = b"".join(pieces)
    assert b"folder-1/train.py(12): step" in names or b"folder-2/train.py(12): step" in names
    assert b"torch/nn/modules/module.py(9): __call__" in names
    assert "host-1_4711" in page
    assert "replaced by codes" in page


def test_codes_are_given_in_order_and_what_is_public_stays() -> None:
    redactor = Redactor(["gpu07.lab_4711", "rank_12"])
    redactor.learn_users(b'"/home/ana/x.py" "C:\\\\Users\\\\bob\\\\y.py" /home/root/')
    assert redactor.text("/data/a/x.py(3): f and /data/b/") == "folder-1/x.py(3): f and folder-2/"
    assert redactor.text("/data/a/y.py") == "folder-1/y.py"
    assert redactor.text("s3://bucket/logs/a.json") == "folder-3/a.json"
    assert redactor.text("gpu07.lab_4711 by ana, Bob, bob; mygpu07") == (
        "host-1_4711 by user-1, Bob, user-2; mygpu07"
    )
    for same in ("aten::mm", "a/b", "1/2 of 3", "nn.Module: Linear_0", "</div>", "rank_12"):
        assert redactor.text(same) == same
    assert (
        redactor.question("view/x?key=/data/a/z.py&steps=3") == "view/x?key=folder-1/z.py&steps=3"
    )


@needs_page
def test_a_range_is_in_full_detail_where_the_rest_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "_WHOLE_SHARE", 0.0)  # three levels of the whole in any case
    at = {"ph": "X", "pid": 7, "tid": 7, "cat": "cpu_op", "name": "aten::mm", "dur": 2}
    events = [{**at, "ts": 40 * number} for number in range(5000)]
    trace = tmp_path / "a.pt.trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    target = tmp_path / "r.html"
    result = run("report", trace, "-o", target, "--range", "50ms-51.5ms")
    assert result.exit_code == 0, result.stderr
    levels = re.search(r'data-levels="(\d+) (\d+) 50000000-51500000"', target.read_text())
    assert levels is not None
    assert int(levels[2]) < int(levels[1])
    index, _ = block_of(target.read_text())
    tiles = [one for one in index["answers"] if re.search(rf"tiles\?.*level={levels[2]}&", one)]
    numbers = [int(match[1]) for one in tiles if (match := re.search(r"tiles=(\d+)", one))]
    wide = TILE_BUCKETS << int(levels[2])
    assert (min(numbers), max(numbers)) == (50_000_000 // wide, 51_500_000 // wide)
    assert "merges slices shorter than" in result.stderr
    assert "From 50.0 ms to 51.5 ms it shows each slice" in result.stderr.replace(NBSP, " ")
    assert "is no range" in run("report", trace, "--range", "3ms-1ms").stderr


@needs_page
def test_a_server_saves_the_shown_trace_as_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    trace_of_three_steps(folder)
    other = folder / "other"
    other.mkdir()
    (other / "b.pt.trace.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
    with facts_catalog(resolve([str(folder)], None)) as catalog:
        catalog.wait_first_look(60.0)
        client = Client(create_app(catalog, all_views(), "standalone", save=report_of_served))
        address = "/api/report?run=log&worker=gpu07.lab_4711&steps=5"
        assert (client.get("/api/info").json or {})["saves"] is True
        response = client.get(address)
        for _ in range(600):
            if response.status_code not in {202, 404}:
                break
            time.sleep(0.1)
            response = client.get(address)
        assert response.status_code == 200, response.text
        assert "gpu07.lab_4711.kinetoscope.html" in response.headers["Content-Disposition"]
        runs = answer(response.text, "catalog")["runs"]
        assert [run["name"] for run in runs] == ["log"]  # no other run is named
        assert 'data-steps="5"' in response.text
        site = {"Sec-Fetch-Site": "cross-site"}
        assert client.get("/api/report", headers=site).status_code == 403
        without = Client(create_app(catalog, all_views(), "standalone"))
        assert (without.get("/api/info").json or {})["saves"] is False
        assert without.get("/api/report").status_code == 404
