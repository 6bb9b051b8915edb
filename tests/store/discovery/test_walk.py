"""One look at a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinetoscope.store.discovery.walk import (
    FileVersion,
    FoundFile,
    PassedOver,
    Unreadable,
    look,
)
from tests.store.conftest import needs_permissions


def seen(folder: Path) -> list[str]:
    found = [item for item in look(str(folder), PassedOver()) if isinstance(item, FoundFile)]
    return sorted(item.path + (" (unfinished)" if item.unfinished else "") for item in found)


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("{}")


def test_finds_what_may_be_a_trace_at_any_depth(tmp_path: Path) -> None:
    make(
        tmp_path,
        "w.pt.trace.json",
        "run/w.1.pt.trace.json.gz",
        "a/b/c/d/rank-0.json.gz",
        "run/.w.2.pt.trace.json.tmp",
        "run/events.out.tfevents.1.host",
        "run/model.pt",
        "run/.eslintrc.json",
        ".git/x.json",
        "run/.ipynb_checkpoints/w-checkpoint.json",
    )
    tally = PassedOver()
    found = [i for i in look(str(tmp_path), tally) if isinstance(i, FoundFile)]
    assert sorted((i.folder, i.name, i.unfinished) for i in found) == [
        ("", "w.pt.trace.json", False),
        ("a/b/c/d", "rank-0.json.gz", False),
        ("run", ".w.2.pt.trace.json.tmp", True),
        ("run", "w.1.pt.trace.json.gz", False),
    ]
    assert (tally.directories, tally.others) == (6, 3)


def test_a_trace_is_another_version_with_a_record_beside_it(tmp_path: Path) -> None:
    make(tmp_path, "run/w.1.pt.trace.json.gz", "run/w.2.pt.trace.json.gz", "w.2.compile.json.gz")

    def versions() -> list[FileVersion]:
        found = [i for i in look(str(tmp_path), PassedOver()) if isinstance(i, FoundFile)]
        assert [i.identity for i in found] == [FileVersion.at(i.absolute) for i in found]
        return [i.identity for i in sorted(found, key=lambda i: i.name)]

    before = versions()
    record = tmp_path / "run/w.1.compile.json.gz"
    record.write_bytes(b"r")
    first = versions()
    os.utime(record, (1, 1))
    later = versions()
    assert len({before[0], first[0], later[0]}) == 3
    assert before[1] == first[1] == later[1]


def test_follows_links_once_and_out_of_loops(tmp_path: Path) -> None:
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    make(logs, "run/w.json")
    make(elsewhere, "far/w.json")
    (logs / "run" / "up").symlink_to(logs)
    (logs / "run" / "self").symlink_to(logs / "run")
    (logs / "again").symlink_to(logs / "run")
    (logs / "outside").symlink_to(elsewhere)
    (logs / "ring").symlink_to(logs / "ring")
    (logs / "lost").symlink_to(logs / "nowhere")
    (logs / "file.json").symlink_to(elsewhere / "far" / "w.json")
    (logs / "lost.json").symlink_to(logs / "nowhere.json")
    assert seen(logs) == ["file.json", "outside/far/w.json", "run/w.json"]


def test_a_linked_logdir_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "real/run/w.json")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert seen(tmp_path / "link") == ["run/w.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.pt.trace.json")
    assert seen(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="needs file names that are bytes")
def test_a_name_that_is_no_text_can_still_be_shown(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"w\xff.json")).write_text("{}")
    (found,) = look(str(tmp_path), PassedOver())
    assert isinstance(found, FoundFile)
    assert found.path == r"w\xff.json"
    assert Path(found.absolute).read_text() == "{}"


def test_a_missing_folder_and_a_file_are_reported(tmp_path: Path) -> None:
    assert list(look(str(tmp_path / "no"), PassedOver())) == [
        Unreadable("", "No such file or directory", missing=True)
    ]
    make(tmp_path, "w.json")
    assert list(look(str(tmp_path / "w.json"), PassedOver())) == [
        Unreadable("", "Not a directory", missing=False)
    ]


@needs_permissions
def test_an_unreadable_folder_is_reported_and_the_rest_is_seen(tmp_path: Path) -> None:
    make(tmp_path, "a/w.json", "b/w.json")
    (tmp_path / "a").chmod(0)
    found = list(look(str(tmp_path), PassedOver()))
    (tmp_path / "a").chmod(0o700)
    assert Unreadable("a", "Permission denied", missing=False) in found
    assert len(found) == 2


def test_a_deep_tree_needs_no_deep_stack(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(300):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "w.json").write_text("{}")
    assert seen(tmp_path) == ["d/" * 300 + "w.json"]
