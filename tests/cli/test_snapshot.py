"""`kinetoscope snapshot`: what fills the device's memory, why it ran out, what changed."""

from __future__ import annotations

import csv
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runs import run
from tests.trace.pickles.drawn_snapshot import MIB, block, event, segment, snapshot

MODEL = ("/home/me/project/model.py:31 forward", "/home/me/project/train.py:9 main")


def stored(path: Path, root: dict[str, Any]) -> Path:
    path.write_bytes(pickle.dumps(root))
    return path


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """300 MiB were asked for; two holes of 200 MiB are free."""
    oom = event("oom", 0, 300 * MIB, 5)
    oom["device_free"] = oom.pop("addr")
    held = [block(100 * MIB, "active_allocated", *MODEL) for _ in range(2)]
    holes = [block(200 * MIB, "inactive") for _ in range(2)]
    pieces = segment(1 << 40, held[0], holes[0], held[1], holes[1])
    return stored(tmp_path / "failed.pickle", snapshot(oom, segments=(pieces,)))


def test_a_failure_is_told_first_and_with_the_code_that_holds_most(failed: Path) -> None:
    text = run("snapshot", failed).stdout
    said, memory, sites = text.split("\n\n")
    assert said.startswith("Out of memory on device 0: 300 MiB was asked for; 0 B was free")
    assert "2 pieces are too small, 200 MiB the largest: the memory is fragmented" in said
    assert "Most was held by model.py(31): forward (200 MiB)." in said
    assert "Memory when the snapshot was taken" in memory
    assert "200 MiB, by code" in sites
    assert "model.py(31): forward < train.py(9): main" in sites


def test_csv_has_whole_paths_and_bytes(failed: Path) -> None:
    lines = run("snapshot", failed, "--format", "csv").stdout.splitlines()
    sites = list(csv.DictReader(lines[lines.index("") + 2 :]))
    assert sites[0]["site"].startswith("/home/me/project/model.py(31): forward < ")
    assert sites[0]["allocated_bytes"] == str(200 * MIB)


def test_two_snapshots_are_compared_by_code(tmp_path: Path, failed: Path) -> None:
    grown = segment(1 << 40, block(900 * MIB, "active_allocated", *MODEL))
    other = stored(tmp_path / "later.pickle", snapshot(segments=(grown,)))
    text = run("snapshot", failed, other).stdout
    assert "+700 MiB, by code" in text
    row = next(line for line in text.splitlines() if "model.py(31)" in line)
    assert row.split()[-4:] == ["grown", "700.0", "200.0", "900.0"]
    assert "history of allocations is not available, because it was not recorded" in " ".join(
        text.split()
    )


def test_rows_that_are_left_out_are_counted(tmp_path: Path) -> None:
    blocks = [block(MIB, "active_allocated", f"a.py:{n * 50} f") for n in range(30)]
    path = stored(tmp_path / "x.pickle", snapshot(segments=(segment(0, *blocks),)))
    assert "20 of 30 rows" in run("snapshot", path).stdout
    assert "of 30 rows" not in run("snapshot", path, "--limit", "30").stdout


def test_records_that_are_not_understood_are_named_once(tmp_path: Path) -> None:
    root = snapshot(segments=(segment(0, block(MIB)),))
    root["segments"] += [1, 2, 3]
    root["device_traces"][0] += ["x"]
    text = " ".join(run("snapshot", stored(tmp_path / "x.pickle", root)).stdout.split())
    assert "Not understood and left out: an event (1 time) and a segment (3 times)." in text


def test_what_others_hold_is_told_with_the_capacity_of_the_device(tmp_path: Path) -> None:
    oom = event("oom", 0, 300 * MIB, 5)
    oom["device_free"] = oom.pop("addr")
    held = segment(1 << 40, block(400 * MIB, "active_allocated", *MODEL))
    path = stored(tmp_path / "full.pickle", snapshot(oom, segments=(held,)))
    alone = " ".join(run("snapshot", path).stdout.split())
    assert "Memory of other processes is not known" in alone
    known = " ".join(run("snapshot", path, "--capacity", "2GiB").stdout.split())
    assert "Another process, or a library beside torch, holds most" in known
    assert "not known" not in known
    full = " ".join(run("snapshot", path, "--capacity", str(400 * MIB)).stdout.split())
    assert "it is full" in full
    assert run("snapshot", path, "--capacity", "much").exit_code == 2


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch owned",)


def test_a_hostile_file_is_refused_by_name_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = stored(tmp_path / "evil.pickle", {"segments": [Evil()]})
    result = run("snapshot", path)
    assert result.exit_code == 3
    assert "evil.pickle: This pickle wants to run code (posix.system" in result.stderr
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("content", "arguments", "code", "said"),
    [
        (b"{}", (), 3, "no pickle that can be read"),
        (pickle.dumps([1]), (), 3, "no memory snapshot"),
        (pickle.dumps(snapshot()), ("--device", "3"), 2, "there is no device 3"),
    ],
)
def test_what_cannot_be_answered_says_why(
    tmp_path: Path, content: bytes, arguments: tuple[str, ...], code: int, said: str
) -> None:
    path = tmp_path / "x.pickle"
    path.write_bytes(content)
    result = run("snapshot", path, *arguments)
    assert result.exit_code == code
    assert said in result.stderr
    assert run("snapshot", tmp_path / "nothing.pickle").exit_code == 4


def test_what_was_not_read_is_neither_zero_nor_free_of_failures(tmp_path: Path) -> None:
    """Without a history, with an end in the middle, and with numbers that cannot be."""
    whole = snapshot(
        event("alloc", 1 << 40, 5 * MIB, 5),
        segments=(segment(1 << 40, block(5 * MIB, "active_allocated", *MODEL)),),
    )
    path = stored(tmp_path / "whole.pickle", whole)
    assert "No allocation failed in the recorded history. Device 0 has 5.00 MiB in use" in said(
        path
    )
    no_history = said(stored(path, {**whole, "device_traces": []}))
    assert "failed" not in no_history
    assert "The history of allocations is not available" in no_history

    stored(path, whole)
    path.write_bytes(path.read_bytes()[:40])
    cut = said(path)
    assert "The file is damaged" in cut
    assert "What the snapshot's segments hold is not known, because they could not be read." in cut
    assert " 0 B" not in cut

    odd = [{**whole["segments"][0], "total_size": -5}]
    assert "left out: a segment (1 time)" in said(stored(path, {**whole, "segments": odd}))
    huge = [[{**one, "size": 2**70} for one in whole["device_traces"][0]]]
    text = said(stored(path, {**whole, "device_traces": huge}))
    assert "left out: the size of an event (1 time). The part of the history that" in text


def said(path: Path) -> str:
    """The first paragraph, on one line."""
    result = run("snapshot", path)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split("\n\n")[0].split()).replace("\u00a0", " ")
