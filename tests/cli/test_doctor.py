"""`kinetoscope doctor`: every file has a verdict, and a reason when it is not used."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.base.native import native
from kinetoscope.cli import doctor
from kinetoscope.handlers.process import process_mark
from kinetoscope.views import all_views
from tests.cli.runs import run, write_logdir
from tests.conftest import TRACES, requires_traces
from tests.web.trace_files import write_trace

ALL_VIEWS = {view.stem for view in all_views()}


def report(path: Path) -> tuple[int, dict[str, Any]]:
    """Exit code and report."""
    result = run("doctor", path, "--format", "json")
    return result.exit_code, json.loads(result.stdout)


def test_every_file_of_a_folder_is_listed(tmp_path: Path) -> None:
    logdir = write_logdir(tmp_path / "log")
    (logdir / "page.trace.json").write_text("<!doctype html>")
    whole = write_trace(logdir / "new" / "cut.pt.trace.json")
    whole.write_bytes(whole.read_bytes()[:-200])
    code, found = report(logdir)
    verdicts = {file["file"]: file["verdict"] for file in found["files"]}
    assert code == 0
    assert verdicts == {
        "old/host_1.pt.trace.json": "in use",
        "new/rank0.1700000000000.pt.trace.json": "in use",
        "new/rank0.1700000060000.pt.trace.json": "in use",
        "new/rank1.1700000000000.pt.trace.json": "in use",
        "new/cut.pt.trace.json": "truncated",
        "page.trace.json": "not a trace",
    }
    assert all(file["reason"] for file in found["files"] if file["verdict"] != "in use")


# What a folder may hold besides traces; each is what `kinetoscope show FILE` says of it.
ODD = {
    "object.json": b"{}",
    "keys.json": b'{"a": 1}',
    "list.json": b"[1, 2]",
    "text.json": b'"x"',
    "number.json": b'{"traceEvents": 5}',
    "empty.json": b"",
    "repr.json": b"{'traceEvents': []}",
    "damaged.json.gz": b"\x1f\x8b",
    "damaged.pt.trace.json.gz": b"\x1f\x8b",
    "notes.txt": b"hello",
    "table.csv": b"a,b,c\n1,2,3\n",
    "page.html": b"<!doctype html>",
    "picture.png": b"\x89PNG\r\n\x1a\n",
    "weights.bin": bytes(range(256)),
    "sub/README": b"read me",
}


def test_every_file_it_met_is_listed_with_the_reason_that_show_gives(tmp_path: Path) -> None:
    logdir = tmp_path / "log"
    write_trace(logdir / "a.pt.trace.json")
    for name, content in ODD.items():
        (logdir / name).parent.mkdir(parents=True, exist_ok=True)
        (logdir / name).write_bytes(content)
    os.mkfifo(logdir / "pipe.json")
    (logdir / "link.json").symlink_to("nowhere.json")
    found = {file["file"]: file for file in report(logdir)[1]["files"]}
    assert found.keys() == {"a.pt.trace.json", "pipe.json", "link.json", *ODD}
    for name, file in found.items():
        said = run("show", "health", logdir / name).stderr
        if name == "a.pt.trace.json":
            assert (file["verdict"], said) == ("in use", "")
        else:
            assert file["verdict"] == "not a trace"
            assert file["reason"].rstrip(".") in said, name


def test_what_a_folder_is_not_searched_for_is_listed_too(tmp_path: Path) -> None:
    logdir = tmp_path / "log"
    write_trace(logdir / "other_name.bin")
    write_trace(logdir / ".hidden")
    write_trace(logdir / ".folder" / "x.pt.trace.json")
    late = {"of": "x" * 200_000, "traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2}]}
    (logdir / "late.json").write_text(json.dumps(late))
    files = report(logdir)[1]["files"]
    assert {file["file"]: file["verdict"] for file in files} == {
        "other_name.bin": "left out",
        ".hidden": "left out",
        ".folder/": "left out",
        "late.json": "left out",
    }
    assert all(file["reason"] for file in files)


def test_folders_that_cannot_be_read_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetoscope.store.discovery.walk.UNREADABLE_SHOWN", 1)
    listed = os.scandir

    def refuse(path: str | int) -> Any:
        if isinstance(path, str) and Path(path).name.startswith("locked"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    for number in range(4):
        (tmp_path / "log" / f"locked{number}").mkdir(parents=True)
    monkeypatch.setattr("os.scandir", refuse)
    problems = report(tmp_path / "log")[1]["problems"]
    assert len(problems) == 2
    assert "3\u00a0more folders cannot be read" in problems[1]


def test_one_file(tmp_path: Path) -> None:
    code, found = report(write_trace(tmp_path / "x.json"))
    (file,) = found["files"]
    assert (code, file["verdict"], file["event_count"]) == (0, "in use", 12)
    assert file["notes"]


def test_one_truncated_file(tmp_path: Path) -> None:
    whole = write_trace(tmp_path / "x.json")
    whole.write_bytes(whole.read_bytes()[:-200])
    code, found = report(whole)
    (file,) = found["files"]
    assert (code, file["verdict"]) == (0, "truncated")
    assert file["reason"]


@pytest.mark.parametrize("content", ["", "<!doctype html>", "version https://git-lfs.github.com"])
def test_a_file_that_is_no_trace_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "x.json").write_text(content)
    for path in (tmp_path / "log" / "x.json", tmp_path / "log"):
        code, found = report(path)
        (file,) = found["files"]
        assert (code, file["verdict"]) == (3, "not a trace")
        assert file["reason"]


def test_an_empty_folder_has_nothing_to_show(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    code, found = report(tmp_path / "log")
    assert (code, found["files"]) == (3, [])


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    result = run("doctor", tmp_path / "nothing")
    assert (result.exit_code, result.stdout) == (4, "")


def test_it_says_what_is_installed_and_where_the_cache_is(tmp_path: Path) -> None:
    _, found = report(write_trace(tmp_path / "x.json"))
    installed = {fact["what"]: fact["value"] for fact in found["installation"]}
    assert installed["tensorboard"][0].isdigit()
    assert str(tmp_path / "cache") in installed["Cache"]
    assert installed["Reader"].startswith(("native, interface", "Python, several times slower"))
    assert installed["Plugin"]


def test_it_tries_every_view_of_a_recording_that_it_brings(tmp_path: Path) -> None:
    code, found = report(write_trace(tmp_path / "x.json"))
    assert code == 0
    assert found["failures"] == []
    facts = {fact["what"]: fact["value"] for fact in found["installation"]}
    assert facts["Self-check"] == "all 11 views answer of a small built-in recording"


@pytest.mark.parametrize(
    ("broken", "views", "verdict"),
    [
        ("kinetoscope.session.session.encode_summary", ALL_VIEWS, "failed"),
        ("kinetoscope.views.health._sentence", {"health"}, "in use"),
    ],
)
def test_an_installation_that_cannot_answer_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, views: set[str], verdict: str
) -> None:
    path = write_trace(tmp_path / "x.json")
    monkeypatch.setattr(broken, None)
    code, found = report(path)
    assert code == 1
    assert [file["verdict"] for file in found["files"]] == [verdict]
    assert {one["view"] for one in found["failures"]} == views
    reasons = {one["reason"].partition(".py:")[0] for one in found["failures"]}
    place = "session/session" if verdict == "failed" else "views/health"
    assert reasons == {f"TypeError: 'NoneType' object is not callable ({place}"}
    facts = {fact["what"]: fact["value"] for fact in found["installation"]}
    assert facts["Self-check"].startswith(f"FAILED: {len(views)} of 11 views do not answer")
    assert facts["View health"].startswith("fails: TypeError")


def test_it_says_why_the_native_reader_is_not_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINETOSCOPE_NATIVE", "0")
    monkeypatch.setattr(doctor, "native", native.__wrapped__)
    assert doctor.reader_in_use() == (
        "Python, several times slower than the native one: KINETOSCOPE_NATIVE=0 is set. Unset it."
    )


def test_as_a_table_every_verdict_is_read_beside_its_file(tmp_path: Path) -> None:
    logdir = write_logdir(tmp_path / "log")
    (logdir / "page.trace.json").write_text("<!doctype html>")
    lines = run("doctor", logdir).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("page.trace.json")]
    assert "not a trace" in line


@requires_traces
def test_of_the_odd_files_none_is_without_a_verdict() -> None:
    code, found = report(TRACES / "derived_oddities")
    assert code == 0
    verdicts = {"in use", "truncated", "not a trace", "left out"}
    assert {f["verdict"] for f in found["files"]} <= verdicts
    for file in found["files"]:
        if file["verdict"] == "in use":
            assert file["event_count"]
        else:
            assert file["reason"]


def test_what_a_killed_job_left_is_called_abandoned(tmp_path: Path) -> None:
    log = write_logdir(tmp_path / "log")
    for name, age in (("new", 0), ("old", 25 * 3600)):
        path = log / f".{name}.1.pt.trace.json.0123456789ab-4711-99-a1b2c3d4.tmp"
        path.write_bytes(b"half a trace")
        os.utime(path, (time.time() - age,) * 2)
    told = json.loads(run("doctor", str(log), "--format", "json").output)
    verdicts = {file["file"]: file["verdict"] for file in told["files"]}
    assert verdicts[".new.1.pt.trace.json.0123456789ab-4711-99-a1b2c3d4.tmp"] == "waiting"
    assert verdicts[".old.1.pt.trace.json.0123456789ab-4711-99-a1b2c3d4.tmp"] == "abandoned"


LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no processes in /proc")
DAY = 25 * 3600


def leave(folder: Path) -> dict[str, str]:
    """Temporary files in a folder, and what is right to do with each."""
    mine = process_mark()
    here = mine.partition("-")[0]
    gone, far = f"{here}-{2**31}-1", "a" * 12 + "-4711-99"
    token = "0a1b2c3d"
    files = {
        f".a.1.pt.trace.json.{gone}-{token}.tmp": (0, "removed"),
        f".a.1.pt.trace.json.{gone}-{token}.tmp.tmp": (0, "removed"),  # torch's, of the first
        f".a.1.stacks.txt.{gone}-{token}.tmp": (0, "removed"),
        f".whole.2.pt.trace.json.{gone}-{token}-exported.tmp": (0, "published"),
        f".a.3.pt.trace.json.{mine}-{token}.tmp": (DAY, "kept"),  # it lives
        f".a.4.pt.trace.json.{far}-{token}.tmp": (0, "kept"),
        f".a.5.pt.trace.json.{far}-{token}.tmp": (DAY, "removed"),
        ".a.6.pt.trace.json.tmp": (DAY, "kept"),  # not ours
        "other.json.part": (DAY, "kept"),
    }
    for name, (age, _) in files.items():
        write_trace(folder / name)
        os.utime(folder / name, (time.time() - age,) * 2)
    return {name: fate for name, (_, fate) in files.items()}


@LINUX
def test_what_a_killed_job_of_this_machine_left_is_abandoned_at_once(tmp_path: Path) -> None:
    log = write_logdir(tmp_path / "log")
    fates = leave(log / "new")
    _, told = report(log)
    verdicts = {file["file"].partition("new/")[2]: file["verdict"] for file in told["files"]}
    for name, fate in fates.items():
        if fate != "kept":
            assert verdicts[name] == "abandoned", name
    assert verdicts[next(name for name in fates if ".a.3." in name)] == "waiting"
    assert {path.name for path in (log / "new").iterdir()} >= fates.keys()


@LINUX
def test_abandoned_files_are_removed_on_request_and_nothing_else(tmp_path: Path) -> None:
    log = write_logdir(tmp_path / "log")
    before = {path for path in log.rglob("*") if path.is_file()}
    folder = log / "new"
    fates = leave(folder)
    gone = f"{process_mark().partition('-')[0]}-{2**31}-1"
    (folder / f".b.1.pt.trace.json.{gone}-0a1b2c3d.tmp").mkdir()
    link = folder / f".c.1.pt.trace.json.{gone}-0a1b2c3d.tmp"
    link.symlink_to(tmp_path / "elsewhere")

    result = run("doctor", str(log), "--remove-abandoned", "--format", "json")

    assert result.exit_code == 0
    files = {file["file"]: file["verdict"] for file in json.loads(result.output)["files"]}
    for name, fate in fates.items():
        assert (folder / name).exists() is (fate == "kept"), name
        if fate != "kept":
            assert files[f"new/{name}"] == fate
    assert files["new/whole.2.pt.trace.json"] == "in use"
    assert link.is_symlink()
    assert (folder / f".b.1.pt.trace.json.{gone}-0a1b2c3d.tmp").is_dir()
    assert all(path.exists() for path in before)


def test_only_a_folder_of_this_machine_is_tidied(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "a.pt.trace.json")
    result = run("doctor", str(path), "--remove-abandoned")
    assert result.exit_code == 2
    assert "below a folder" in result.output + result.stderr


def test_a_folder_without_files_says_why(tmp_path: Path) -> None:
    """Commands that find no trace send their user here."""
    folder = tmp_path / "log"  # apart from the cache
    folder.mkdir()
    result = run("doctor", folder)
    assert result.exit_code == 3
    assert "No file below" in result.stdout
    (folder / "notes.txt").write_text("none")  # is listed with a reason of its own
    result = run("doctor", folder)
    assert "No file below" not in result.stdout
    assert "notes.txt" in result.stdout


def test_a_report_for_others_has_no_name_and_no_path(tmp_path: Path) -> None:
    folder = tmp_path / "secret-project"
    whole = write_trace(folder / "run-of-alice" / "cut.pt.trace.json")
    whole.write_bytes(whole.read_bytes()[:-200])
    (folder / "page.trace.json").write_text("<!doctype html>")
    result = run("doctor", folder, "--report")
    assert result.exit_code == 0
    for word in ("secret", "alice", "cut.pt", str(tmp_path), str(Path.home()), "site-packages"):
        assert word not in result.stdout
    assert "file 1" in result.stdout
    assert "truncated" in result.stdout
    assert "kinetoscope   0.1.0" in result.stdout
    told = json.loads(run("doctor", folder, "--report", "--format", "json").stdout)
    kinds = {note["kind"] for file in told["files"] for note in file["notes"]}
    shown = {note["kind"] for file in report(folder)[1]["files"] for note in file["notes"]}
    assert kinds == shown != set()
