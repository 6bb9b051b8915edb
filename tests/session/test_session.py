"""One opened trace: what was read once is not read again, by any program."""

from __future__ import annotations

import copy
import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kinetoscope.base.artifact_spec import ArtifactSpec
from kinetoscope.base.errors import TraceFormatError, UnavailableError
from kinetoscope.session.session import FileSession, TraceSession, lost_link
from kinetoscope.store.cache import disk
from kinetoscope.trace import read as reader
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import OnProgress
from kinetoscope.views import view_named
from tests.cli.runs import run
from tests.drawing import trace_of
from tests.trace.drawn import x
from tests.web.trace_files import write_trace

ROWS = ArtifactSpec("rows", f"{__name__}:make_rows", lambda folder: (folder / "rows").read_text())
MADE: list[str] = []
RECORD = b'{"format": 1, "compilations": [{"id": "0/0", "dur_us": 7}]}'  # of torch.compile


def make_rows(trace: Trace, folder: Path, on_share: Callable[[float], None]) -> None:
    """Writes how many host events there are, and notes that it was asked to."""
    on_share(1.0)
    MADE.append(trace.path)
    (folder / "rows").write_text(str(len(trace.host)))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The files that were read, in order; the cache is empty."""
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    MADE.clear()
    paths: list[str] = []
    really = reader.read

    def read(path: str, on_progress: object) -> Trace:
        paths.append(path)
        return really(path)

    monkeypatch.setattr(reader, "read", read)
    return paths


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(write_trace(tmp_path / "log" / "run" / "x.pt.trace.json"))


def everything(opened: FileSession) -> tuple[object, ...]:
    """What a session can be asked for."""
    event = opened.event(0)
    return opened.facts(), len(opened.trace().host), opened.artifact(ROWS), event["name"]


def test_the_second_session_reads_and_makes_nothing(reads: list[str], path: str) -> None:
    first = everything(FileSession(path))
    assert everything(FileSession(path)) == first
    assert reads == [path]
    assert [path] == MADE


def test_room_is_made_in_the_cache_once(
    reads: list[str], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []

    def look(root: Path) -> Iterator[disk._Entry]:
        looked.append(root)
        return iter(())

    monkeypatch.setattr(disk, "_entries", look)
    everything(FileSession(path))  # keeps the summary, the columns, and an artifact
    assert [path] == MADE == reads
    assert len(looked) == 1


def test_facts_alone_are_enough_for_a_second_look(reads: list[str], path: str) -> None:
    facts = FileSession(path).facts()
    assert FileSession(path).facts() == facts
    assert len(FileSession(path).trace().host) == 9
    assert reads == [path]


def test_what_the_server_read_is_not_read_again(reads: list[str], path: str) -> None:
    assert run("doctor", Path(path).parent.parent).exit_code == 0  # reads as the server does
    assert [step.dur_ns for step in FileSession(path).facts().steps] == [100_000, 150_000, 100_000]
    assert path not in reads


def test_a_second_show_reads_nothing(reads: list[str], path: str) -> None:
    shown = [run("show", view, path).stdout for view in ("overview", "operators", "overview")]
    assert shown[0] == shown[2]
    assert reads == [path]


def test_a_changed_file_is_read_again(reads: list[str], path: str) -> None:
    before = FileSession(path).facts().steps
    write_trace(Path(path), scale=2)
    os.utime(path, ns=(1, 1))
    after = FileSession(path).facts().steps
    assert [step.dur_ns for step in after] == [2 * step.dur_ns for step in before]
    assert reads == [path, path]


def test_a_record_that_is_copied_beside_a_trace_later_is_read(reads: list[str], path: str) -> None:
    beside = Path(path).with_name("x.compile.json.gz")
    assert FileSession(path).facts().compiled is None
    opened = FileSession(path)
    beside.write_bytes(gzip.compress(RECORD))
    assert not opened.is_current()
    found = FileSession(path).facts().compiled
    assert found is not None
    assert found.recorded
    assert reads == [path, path]
    FileSession(path).facts()
    assert reads == [path, path]
    beside.unlink()
    assert FileSession(path).facts().compiled is None


def test_nothing_of_a_changed_file_is_kept_under_the_key_of_the_file_before(
    reads: list[str], path: str, tmp_path: Path
) -> None:
    opened = FileSession(path)
    write_trace(Path(path), scale=2)
    os.utime(path, ns=(1, 1))
    assert int(opened.artifact(ROWS)) == len(opened.trace().host)
    assert [one for one in (tmp_path / "cache/entries").rglob("*") if one.is_file()] == []


def test_a_file_that_is_removed_while_it_is_read_is_shown(
    reads: list[str], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = reader.read

    def read(path: str, on_progress: OnProgress) -> Trace:
        found = really(path, on_progress)
        Path(path).unlink()
        return found

    monkeypatch.setattr(reader, "read", read)
    assert len(FileSession(path).facts().steps) == 3


def test_a_cache_that_cannot_be_written_costs_only_time(
    reads: list[str], path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "file"))
    first = everything(FileSession(path))
    assert everything(FileSession(path)) == first
    assert reads == [path, path]


def test_a_file_that_is_no_trace_says_so(reads: list[str], tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("no JSON")
    with pytest.raises(TraceFormatError) as error:
        FileSession(str(file)).facts()
    assert str(error.value) == f"{file}: {error.value.message} {error.value.hint}"
    assert str(copy.copy(error.value)) == str(error.value)  # as when it crosses processes


def test_links_that_lead_nowhere_are_told_apart(tmp_path: Path) -> None:
    for name, target in (("lost", "absent"), ("one", "two"), ("two", "one")):
        (tmp_path / name).symlink_to(target)
    assert lost_link(str(tmp_path / "lost")).endswith("a link to absent, which is not there.")
    assert lost_link(str(tmp_path / "one")).endswith("a link to two, which leads nowhere.")


def test_a_view_says_why_a_trace_cannot_fill_it() -> None:
    """An op alone: nothing ran on a device."""
    opened = TraceSession(trace_of([x("aten::mm", 0, 9)]))
    with pytest.raises(UnavailableError, match="device"):
        opened.asked(view_named("kernels"))
