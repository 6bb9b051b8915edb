"""Who is missed in a hang, from logs drawn by hand."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.distributed.hang import HangReport, explain_hang, said_ranks
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.pickles.flight_recorder import logs_below, read_log
from tests.trace.pickles.drawn_logs import dump, inspected, write_dumps


def explained(folder: Path) -> HangReport:
    return explain_hang([log for file in logs_below(folder) for log in read_log(file)])


def test_who_never_entered_is_named_with_the_line_of_those_that_wait(tmp_path: Path) -> None:
    report = explained(
        write_dumps(
            tmp_path,
            "world 416 417 418:all_gather|",
            "world 416 417",
            "world 416 417 418:all_gather|",
            "world 416 417",
        )
    )
    assert report.sentence == "Ranks 1 and 3 never entered all_gather #418 of world."
    assert "Ranks 0 and 2 wait there, issued at /job/train.py:43 step." in report.detail
    assert "The last that rank 1 issued is all_reduce #417 of world" in report.detail
    (stuck,) = report.stuck
    assert (stuck.missed, stuck.waiting, stuck.is_root) == ((1, 3), (0, 2), True)


def test_who_is_missed_and_waits_nowhere_is_told_first(tmp_path: Path) -> None:
    """World waits for 2, which waits in the pair for 3, which stopped."""
    report = explained(
        write_dumps(
            tmp_path,
            "world 5 6|",
            "world 5 6|",
            "world 5 pair 9|",
            "world 5 pair 8",
            groups={"world": range(4), "pair": (2, 3)},
        )
    )
    assert report.sentence == "Rank 3 never entered all_reduce #9 of pair."
    assert [one.group.label for one in report.stuck] == ["pair", "world"]
    assert report.stuck[1].elsewhere == {2: "all_reduce #9 of pair"}


def test_ranks_that_wait_for_each_other_are_said_to(tmp_path: Path) -> None:
    report = explained(
        write_dumps(
            tmp_path,
            "a 1|",
            "b 1|",
            groups={"a": (0, 1), "b": (0, 1)},
        )
    )
    assert report.sentence.startswith("The ranks wait for each other: ")
    assert not any(one.is_root for one in report.stuck)


def test_another_operation_or_size_under_one_number(tmp_path: Path) -> None:
    lines = ("world 7|", "world 7|", "world 7:all_gather|", "world 7[9]|")
    report = explained(write_dumps(tmp_path, *lines))
    assert report.stuck[0].kind == "different"
    assert report.stuck[0].missed == (2, 3)
    assert "all_gather" in report.sentence
    assert "Float[9]" in report.sentence


def test_all_inside_is_told_from_never_entered(tmp_path: Path) -> None:
    report = explained(write_dumps(tmp_path, "world 3|", "world 3|"))
    assert (
        report.sentence
        == "All ranks with a log entered all_reduce #3 of world, and it did not end."
    )


def test_a_rank_without_a_log_is_unknown_not_missed(tmp_path: Path) -> None:
    report = explained(write_dumps(tmp_path, "world 3|", None, "world 3|"))
    assert report.missing == (1,)
    assert report.stuck[0].missed == ()
    assert "There is no log of rank 1: what it did is not known." in report.notes
    assert "Whether rank 1 entered it is not known, so look there first." in report.detail
    assert "network" not in report.detail


def test_a_log_of_which_the_end_is_lost_does_not_say_that_all_ended(tmp_path: Path) -> None:
    """Entries are the last of a dump, the newest of them last: those are lost first."""
    write_dumps(tmp_path, "world 1 2 3|", "world 1 2 3|", "world 1 2")
    for rank in (0, 1):
        path = tmp_path / f"nccl_trace_rank_{rank}"
        path.write_bytes(path.read_bytes()[:-600])
    report = explained(tmp_path)
    assert report.sentence == (
        "No rank waits in a recorded collective, but 2\u00a0logs could not be read completely."
    )
    assert report.detail == "What is missing of ranks 0 and 1 may be what hangs."


def test_what_the_recorder_counted_is_told_where_its_entries_are_lost(tmp_path: Path) -> None:
    """Three entered and two ended, by its count; of the third there is no entry."""
    for rank in range(2):
        counts = {"last_enqueued_collective": 3, "last_completed_collective": 2}
        root = {**dump("", {"world": range(2)}), "pg_status": {"0": counts}}
        (tmp_path / f"rank_{rank}").write_bytes(pickle.dumps(root, protocol=2))
    report = explained(tmp_path)
    assert report.sentence.startswith("All ranks with a log entered collective #3 of world")
    assert report.detail == "Ranks 0 and 1 wait there."


def test_a_rank_whose_log_cannot_be_read_is_not_missed(tmp_path: Path) -> None:
    """Of one the entries are no entries, of the other nothing is left."""
    write_dumps(tmp_path, "world 7|", "world 6", "world 7|", "world 7|")
    odd = {**dump("", {"world": range(4)}), "entries": [5, None]}
    (tmp_path / "nccl_trace_rank_1").write_bytes(pickle.dumps(odd, protocol=2))
    (tmp_path / "nccl_trace_rank_3").write_bytes(pickle.dumps({"entries": []}, protocol=2))
    report = explained(tmp_path)
    assert report.sentence == "Ranks 0 and 2 entered all_reduce #7 of world, and it did not end."
    (stuck,) = report.stuck
    assert (stuck.missed, stuck.unclear, stuck.unknown) == ((), (1,), (3,))
    assert any("rank_1: 2\u00a0records could not be understood" in note for note in report.notes)
    assert any("rank_3 was left out: it names no process group" in note for note in report.notes)


def test_a_message_without_another_end(tmp_path: Path) -> None:
    report = explained(write_dumps(tmp_path, "world 1 1:send->1|", "world 1"))
    assert report.sentence == "Rank 0 waits in send to rank 1 of world, which is not there."


def test_nothing_hangs(tmp_path: Path) -> None:
    report = explained(write_dumps(tmp_path, "world 1 2", "world 1 2"))
    assert report.stuck == ()
    assert report.sentence.startswith("No rank waits in a collective")


def test_the_inspector_tells_what_ended_and_nothing_more(tmp_path: Path) -> None:
    for rank in range(3):
        (tmp_path / f"node0-pid{rank}.log").write_text(inspected(rank, 3, 3 if rank else 2))
    report = explained(tmp_path)
    assert report.sentence == (
        "Rank 0 has not ended all_reduce #3 of group 0xab; other ranks of the group have."
    )
    assert any("which were entered is not available" in note for note in report.notes)


HALF = "Its last line is only half there, and does not count"


def test_a_line_cut_by_the_end_of_the_file_costs_itself_alone_and_is_named(tmp_path: Path) -> None:
    text = inspected(0, 2, 3)
    (tmp_path / "a.log").write_text(text[:-40])
    (log,) = read_log(tmp_path / "a.log")
    assert log.sequence.tolist() == [1, 2]
    assert (log.skipped, log.damage) == (1, HALF)
    report = explained(tmp_path)
    assert [note for note in report.notes if "a.log" in note] == [
        f"{tmp_path / 'a.log'}: {HALF}: the file was cut, or it is still being written."
    ]
    (tmp_path / "a.log").write_text("{no JSON\n".join([*text.splitlines(keepends=True)[:2], "{"]))
    (log,) = read_log(tmp_path / "a.log")
    assert log.skipped == 3
    assert [note for note in explained(tmp_path).notes if "a.log" in note] == [
        f"{tmp_path / 'a.log'}: {HALF}: the file was cut, or it is still being written.",
        f"{tmp_path / 'a.log'}: 2\u00a0records could not be understood.",
    ]


def test_a_rank_whose_last_line_is_half_there_is_not_behind_by_it(tmp_path: Path) -> None:
    """The half line may be the collective that seems to be missing; two of them it cannot be."""
    (tmp_path / "a.log").write_text(inspected(0, 2, 3)[:-40])
    (tmp_path / "b.log").write_text(inspected(1, 2, 3))
    report = explained(tmp_path)
    assert report.stuck == ()
    assert report.sentence.startswith("No rank waits in a collective")
    (tmp_path / "b.log").write_text(inspected(1, 2, 5))
    report = explained(tmp_path)
    assert report.sentence == (
        "Rank 0 has not ended all_reduce #4 of group 0xab; other ranks of the group have."
    )
    (tmp_path / "b.log").write_text(inspected(1, 3, 5))
    (tmp_path / "c.log").write_text(inspected(2, 3, 2))
    (tmp_path / "a.log").write_text(inspected(0, 3, 3)[:-40])
    report = explained(tmp_path)
    assert report.stuck[0].missed == (2,)
    assert report.stuck[0].unclear == (0,)
    assert "Of rank 0 only a part of the log could be read." in report.detail


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch owned",)


def test_a_dump_that_names_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rank_0"
    path.write_bytes(pickle.dumps({"entries": [Evil()]}, protocol=2))
    with pytest.raises(TraceFormatError, match="wants to run code"):
        read_log(path)


@settings(max_examples=60, deadline=None)
@given(ranks=st.integers(2, 9), missed=st.data())
def test_exactly_those_that_stopped_are_missed(ranks: int, missed: st.DataObject) -> None:
    """Whoever stops before the last collective is missed in the first that somebody waits in."""
    import tempfile

    last = missed.draw(st.lists(st.integers(2, 5), min_size=ranks, max_size=ranks))
    most = max(last)
    lines = []
    for one in last:
        # Everybody ended what all entered; the next, if entered, waits.
        done = range(1, min(*last, one) + 1)
        open_ = [f"{n}|" for n in range(min(last) + 1, one + 1)]
        lines.append(" ".join(["world", *map(str, done), *open_]))
    with tempfile.TemporaryDirectory() as folder:
        report = explained(write_dumps(Path(folder), *lines))
    if min(last) == most:
        assert report.stuck == ()
    else:
        assert report.stuck[0].sequence == min(last) + 1
        assert report.stuck[0].missed == tuple(r for r, n in enumerate(last) if n == min(last))


def written(folder: Path, name: str, line: str, at_s: int) -> None:
    """A dump of rank ``name`` of four, whose first collective was issued ``at_s`` later."""
    told = dump(line, {"world": range(4)})
    for entry in told["entries"]:
        entry["time_created_ns"] += at_s * 1_000_000_000
    (folder / name).write_bytes(pickle.dumps(told, protocol=2))


def test_logs_of_an_earlier_start_are_left_out(tmp_path: Path) -> None:
    """The first start ended well; in the second one rank 3 stops, and rank 2 wrote no log."""
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    for rank in range(4):
        written(tmp_path / "first", f"trace_rank_{rank}", "world 5 6 7 8", rank % 2)
    for rank, line in ((0, "world 1 2|"), (1, "world 1 2|"), (3, "world 1")):
        written(tmp_path / "second", f"trace_rank_{rank}", line, 100)
    files = [*logs_below(tmp_path / "first"), *logs_below(tmp_path / "second")]
    report = explain_hang([log for file in files for log in read_log(file)])
    assert report.sentence == "Rank 3 never entered all_reduce #2 of world."
    assert report.missing == (2,)
    assert report.notes[0] == "4\u00a0logs were left out: the ranks start again later."


def test_an_inspector_that_names_no_process_lends_its_rank_to_no_other_log(tmp_path: Path) -> None:
    line = json.loads(inspected(0, 4, 1))
    line["metadata"] = [1, 2]
    (tmp_path / "inspector.log").write_text(json.dumps(line) + "\n")
    written(tmp_path, "trace_rank_3", "world 1|", 0)
    report = explained(tmp_path)
    assert not any("left out" in note for note in report.notes)
    assert (report.stuck[0].waiting, report.ranks) == ((3,), (0, 3))


@pytest.mark.parametrize(("seconds", "left_out"), [(1, 0), (2, 1)])
def test_a_rank_that_comes_again_starts_again_only_after_its_first_log_ends(
    tmp_path: Path, seconds: int, left_out: int
) -> None:
    """The first log of rank 0 lasts one second: one that begins with its end is a copy."""
    written(tmp_path, "a_rank_0", "world 1 2", 0)
    written(tmp_path, "b_rank_0", "world 1 2|", seconds)
    report = explained(tmp_path)
    assert sum("again later" in note for note in report.notes) == left_out
    assert bool(report.stuck) == bool(left_out)


def test_ranks_in_words() -> None:
    assert said_ranks([3]) == "rank 3"
    assert said_ranks([0, 1, 2, 5]) == "ranks 0–2 and 5"
    assert said_ranks(range(0, 40, 2)).startswith("20 ranks, among them 0, 2, 4")
