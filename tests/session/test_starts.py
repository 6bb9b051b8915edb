"""The newest start of a folder is what is shown; its ranks are compared with no other's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kinetoscope.base.errors import NotFoundError
from kinetoscope.session.session import Wanted, choose
from kinetoscope.views import view_named

T0 = 1_758_000_000 * 10**9
S = 10**9


def _write(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    source = folder / "any"
    source.write_text('{"schemaVersion": 1, "traceEvents": []}')
    for name in names:
        shutil.copy(source, folder / f"{name}.pt.trace.json")
    source.unlink()


def chosen(folder: Path, wanted: Wanted) -> str:
    place = choose(str(folder), wanted).place
    assert place is not None
    return place.worker


def workers(folder: Path, worker: str) -> list[str]:
    session = choose(str(folder), Wanted(worker=worker)).session()
    found = session.recordings(view_named("distributed")).workers()
    return sorted(one.place.worker for one in found)


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """A job of two ranks, started again 20 s later; the names of the second start are first."""
    folder = tmp_path / "run"
    first = [f"gpu1_90{rank}_rank{rank}.{T0 + rank}" for rank in (0, 1)]
    second = [f"gpu1_10{rank}_rank{rank}.{T0 + 20 * S + rank}" for rank in (0, 1)]
    _write(folder, *first, *second)
    return folder


def test_a_script_that_was_run_again_is_shown_as_it_was_run_last(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    _write(folder, f"pc_100.{T0}", f"pc_900.{T0 + 30 * S}", f"pc_200.{T0 + 60 * S}")

    assert chosen(folder, Wanted()) == "pc_200"
    by_start = {number: chosen(folder, Wanted(start=number)) for number in (1, 2, 3, -1, -3)}
    assert by_start == {1: "pc_100", 2: "pc_900", 3: "pc_200", -1: "pc_200", -3: "pc_100"}
    assert "start 3 of 3 (2025-" in choose(str(folder)).notice()
    for none in (0, 4, -4):
        with pytest.raises(NotFoundError, match=f"no start {none} in run run"):
            choose(str(folder), Wanted(start=none))


def test_ranks_of_two_starts_are_never_together(twice: Path) -> None:
    assert chosen(twice, Wanted()) == "gpu1_100_rank0"
    assert workers(twice, "gpu1_100_rank0") == ["gpu1_100_rank0", "gpu1_101_rank1"]
    assert workers(twice, "gpu1_901_rank1") == ["gpu1_900_rank0", "gpu1_901_rank1"]


def test_a_worker_of_another_start_is_not_in_this_one(twice: Path) -> None:
    with pytest.raises(NotFoundError, match="no worker gpu1_900_rank0 in start 2 of run run"):
        choose(str(twice), Wanted(worker="gpu1_900_rank0", start=2))


def test_other_starts_are_repeats_and_other_spans_are_not(twice: Path) -> None:
    _write(twice, f"gpu1_100_rank0.{T0 + 40 * S}")
    again = choose(str(twice), Wanted(worker="gpu1_100_rank0", span="1"))
    assert again.folder is not None
    assert again.place is not None

    repeats = again.folder.repeats(again.place)
    assert [(one.worker, one.span) for one in repeats] == [("gpu1_900_rank0", "1")]
    assert [one.span for one in again.folder.spans(again.place)] == ["2"]


def test_one_start_is_not_mentioned(tmp_path: Path) -> None:
    _write(tmp_path / "run", f"pc_100_rank0.{T0}", f"pc_101_rank1.{T0}")

    assert "start" not in choose(str(tmp_path)).notice()
