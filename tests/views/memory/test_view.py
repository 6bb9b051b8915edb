"""The answers of the Memory view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from kinetoscope.base.errors import NotFoundError, QueryError, UnavailableError
from kinetoscope.session.session import FileSession, TraceSession
from kinetoscope.views.memory.contract import AliveTree, CategoryShare, Memory, MemoryPeak
from kinetoscope.views.memory.view import OUTSIDE, VIEW, tables
from kinetoscope.views.memory.windows import first_of
from kinetoscope.views.memory.words import larger_batch
from kinetoscope.views.view import Subject
from tests.analysis.memory.made import HIP, MadeMemory
from tests.analysis.memory.snapshots.test_columns import DRAWN, stored
from tests.drawing import V100, draw, memory
from tests.trace import drawn as events_of
from tests.trace.io.test_memory_timeline import SUMS
from tests.trace.io.test_memory_timeline import stored as stored_timeline

PICTURE = """
    step   |11111111111111111111|
    module |mmmmmmm             |
    frame  | fffff              |
    op     | aaaa  bbbb  dd     |
    op     |  cc                |
"""
NAMES = {
    "a": "aten::linear",
    "c": "aten::empty",
    "b": "autograd::engine::evaluate_function: AddmmBackward0",
}


def made() -> MadeMemory:
    device = MadeMemory(base=1000)
    device.allocate(2, "x", 64)  # by aten::empty in aten::linear, released in backward
    device.allocate(4, "t", 500)  # by aten::linear, released in it
    device.release(4.5, "t")
    device.allocate(8, "g", 128)  # in backward, stays
    device.release(9, "x")
    device.release(15, "q", 100)  # was there before; outside of ops
    return device


def subject_of(*devices: MadeMemory, picture: str = PICTURE, **options: Any) -> Subject:
    events = [event for one in devices for event in one.events]
    options = {"names": NAMES, **options}
    return TraceSession(draw(picture, events=events, **options)).subject(VIEW)


@pytest.fixture(name="subject", scope="module")
def drawn() -> Subject:
    return subject_of(made(), deviceProperties=[V100])


def ask(subject: Subject, part: str = "", **query: Any) -> Any:
    """An answer that has gone through JSON."""
    one: Any = VIEW if not part else next(one for one in VIEW.parts if one.stem == part)
    built = one.build(subject, msgspec.convert(query, one.query))
    return msgspec.json.decode(msgspec.json.encode(built), type=one.answer)


def test_the_sentence_says_what_fills_the_peak_and_what_would_lower_it(subject: Subject) -> None:
    answer: Memory = ask(subject)
    assert answer.peak.bytes == 1000 + 64 + 500
    assert answer.headline == (
        "Memory kept from before the recording fills 57.5\u00a0% of the peak of"
        " 1.53\u00a0KiB in ProfilerStep#1."
    )
    # Half of 900: a smaller type leaves the other half. Temporaries would give 372.
    assert answer.detail == (
        "A type of half the size for parameters can lower the peak by up to 450\u00a0B."
    )
    assert [(one.category, one.bytes) for one in answer.peak.categories] == [
        ("parameter", 900),
        ("temporary", 500),
        ("unknown", 100),
        ("activation", 64),
    ]
    # Each rule says how many blocks of the recording it decided on.
    assert [(one.category, one.blocks, one.bytes) for one in answer.rules] == [
        ("temporary", 1, 500),
        ("gradient", 1, 128),
        ("unknown", 1, 100),
        ("activation", 1, 64),
    ]
    # Without temporaries the peak would be elsewhere: 1000 + 64 + 128.
    assert {one.category: one.peak_bytes for one in answer.without}["temporary"] == 1192


STEPS = """
    step   |111111222222333333444444555555|
    frame  | ffff  ffff  ffff  ffff  ffff |
    op     | aa    aa    aa    aa    aa   |
"""
MIB = 1 << 20


def test_a_leak_comes_first_with_the_function_that_allocates_it() -> None:
    device = MadeMemory(base=MIB)
    for step in range(5):
        device.allocate(6 * step + 1.5, f"k{step}", 3 * MIB)
    subject = subject_of(device, picture=STEPS, names={"a": "aten::clone"})
    answer: Memory = ask(subject)
    assert answer.growth.verdict == "leak"
    assert answer.headline == (
        "Memory grows by 3.00\u00a0MiB a step: blocks allocated in `f` (train.py:1) stay."
    )
    assert "of the peak of 16.0\u00a0MiB in ProfilerStep#5." in answer.detail
    (site,) = ask(subject, "steps").sites
    assert (site.line, site.count * site.bytes) == ("train.py(1): f", 6 * MIB)


def test_peak_categories_and_gains_are_those_of_the_range() -> None:
    """8 MiB live in step 1, 5 in step 2, 2 in step 3; 1 from before."""
    device = MadeMemory(base=MIB)
    for at, size in ((1.5, 8), (7.5, 5), (13.5, 2)):
        device.allocate(at, "x", size * MIB)
        device.release(at + 3, "x")
    picture = "step |111111222222333333|\nop |bb   bb   bb|"
    subject = subject_of(device, picture=picture)
    asked = {"": 9, "1": 9, "2": 6, "2-3": 6, "3": 3, "everything": 9}
    for steps, peak in asked.items():
        answer: Memory = ask(subject, steps=steps)
        assert answer.peak.bytes == answer.curve.peak_bytes == peak * MIB
        assert answer.peak.bytes == answer.devices[0].peak_bytes
        assert sum(one.bytes for one in answer.peak.categories) == peak * MIB
        tree: AliveTree = ask(subject, "alive", steps=steps)
        assert tree.bytes == peak * MIB
        assert max(one.gain_bytes for one in answer.without) < peak * MIB
    # A range that begins while a block lives has its total from the start.
    inside: Memory = ask(subject, start_ns=8_000, end_ns=9_000)
    assert (inside.peak.bytes, inside.peak.ts) == (6 * MIB, 8_000)


def test_a_higher_total_outside_of_the_steps_is_said() -> None:
    device = MadeMemory(base=MIB)
    device.allocate(1, "early", 7 * MIB)
    device.release(2, "early")
    device.allocate(7, "x", 2 * MIB)
    picture = "step |      111111222222|\nop | bb    bb    bb |"
    subject = subject_of(device, picture=picture)
    answer: Memory = ask(subject)
    assert answer.peak.bytes == 3 * MIB
    assert answer.detail.endswith(
        "Outside these steps, at 0\u00a0ns, the total reaches 8.00\u00a0MiB."
    )
    assert "Outside" not in ask(subject, steps="everything").detail + ask(subject, steps="1").detail


def test_the_table_has_the_blocks_with_an_end_in_the_range(subject: Subject) -> None:
    def shown(**query: Any) -> list[tuple[Any, ...]]:
        rows = ask(subject, "events", **query).rows
        return [
            (one.name, one.bytes, one.allocated_ns, one.released_ns, one.alive_ns) for one in rows
        ]

    linear, backward = "aten::linear", "autograd::engine::evaluate_function: AddmmBackward0"
    empty = "aten::linear (aten::empty)"
    by_time = {"sort_by": "allocated_ns", "ascending": True}
    assert shown(**by_time) == [
        (empty, 64, 2000, 9000, 7000),
        (linear, 500, 4000, 4500, 500),
        (backward, 128, 8000, None, None),
        ("", 100, None, 15000, None),
    ]
    assert [row[1] for row in shown()] == [500, 128, 100, 64]  # the largest first
    assert shown(start_ns=3000, end_ns=9000, **by_time) == [
        (linear, 500, 4000, 4500, 500),
        (backward, 128, 8000, None, None),
    ]
    assert shown(start_ns=9000, end_ns=9001) == [(empty, 64, None, 9000, None)]
    assert [row[1] for row in shown(offset=1, limit=2)] == [
        128,
        100,
    ]
    assert [row[1] for row in shown(min_bytes=100, max_bytes=128)] == [128, 100]
    assert [row[0] for row in shown(search="EMPTY linear")] == [empty]
    assert [row[1] for row in shown(category="gradient")] == [128]


def test_a_hovered_row_knows_its_whole_life(subject: Subject) -> None:
    (row,) = ask(subject, "events", start_ns=9000, end_ns=9001).rows
    assert (row.life_start_ns, row.life_end_ns) == (2000, 9000)
    assert (row.category, row.module, row.line) == (
        "activation", "nn.Module: m_0", "train.py(1): f",
    )  # fmt: skip


def test_statistics_are_the_seven_figures_and_sum_to_the_curve(subject: Subject) -> None:
    table = ask(subject, "statistics", sort_by="name", ascending=True)
    rows = {row.name: msgspec.structs.astuple(row)[1:] for row in table.rows}
    assert rows == {
        "": (None, -100, -100, 0, 0, 0, 0),
        "aten::empty": (1, 64, 64, 1, 1, 64, 64),
        "aten::linear": (1, 64, 0, 2, 1, 564, 500),
        "autograd::engine::evaluate_function: AddmmBackward0": (1, 64, 64, 1, 1, 128, 128),
    }
    curve = ask(subject, "curve")
    assert table.increase_bytes == curve.allocated[-1] - curve.allocated[0] == 28


def test_the_curve_has_exact_ends_and_layers_that_sum_to_it(subject: Subject) -> None:
    curve = ask(subject, "curve", start_ns=3000, end_ns=8500)
    assert curve.ts == (3000, 4000, 4500, 8000, 8500)
    assert curve.allocated == (1064, 1564, 1064, 1192, 1192)
    assert curve.reserved == (2064, 2564, 2064, 2192, 2192)
    assert (curve.peak_ns, curve.peak_bytes, curve.is_exact) == (4000, 1564, True)
    sums = tuple(map(sum, zip(*(layer.values for layer in curve.layers), strict=True)))
    assert sums == curve.allocated
    by_module = ask(subject, "curve", by="module")
    assert [layer.key for layer in by_module.layers] == ["m_0", ""]
    assert ask(subject, "curve", by="total").layers == ()


def test_the_tree_of_the_peak_sums_at_every_level(subject: Subject) -> None:
    tree: AliveTree = ask(subject, "alive")
    assert (tree.ts, tree.bytes) == (4000, 1564)
    assert sum(node.bytes for node in tree.nodes if node.parent < 0) == tree.bytes
    for at, node in enumerate(tree.nodes):
        children = [child.bytes for child in tree.nodes if child.parent == at]
        assert not children or sum(children) == node.bytes
        assert node.parent < at
    kinds = {node.kind for node in tree.nodes}
    assert kinds == {"category", "module", "op", "size"}
    cut: AliveTree = ask(subject, "alive", limit=1)
    assert cut.bytes == tree.bytes
    assert sum(node.bytes for node in cut.nodes if node.kind in ("size", "rest")) == tree.bytes
    later: AliveTree = ask(subject, "alive", at="time", at_ns=8200)
    assert later.bytes == 1192
    assert ask(subject, "alive", at="time", at_ns=0).bytes == 1000


def test_a_block_says_why_it_is_in_its_category(subject: Subject) -> None:
    (row,) = ask(subject, "events", category="gradient").rows
    block = ask(subject, "block", block=row.block)
    assert (block.category, block.confidence) == ("gradient", "high")
    assert "backward pass" in block.why
    assert block.ops == ("autograd::engine::evaluate_function: AddmmBackward0",)
    with pytest.raises(NotFoundError):
        ask(subject, "block", block=99)


def test_head_room_is_told_where_the_capacity_is(subject: Subject) -> None:
    room = ask(subject).head_room
    assert room.capacity_bytes == 32 << 30
    assert room.reserved_bytes == 2564
    # The file does not describe this device.
    answer = ask(subject_of(made()))
    assert answer.head_room is None
    assert "deviceProperties" in answer.devices[0].missing["capacity"]


def peak_of(*shares: tuple[str, int, str]) -> MemoryPeak:
    """A peak of categories with so many GiB, each with its confidence."""
    total = sum(held for _, held, _ in shares)
    return MemoryPeak(
        0, total << 30, None, "",
        tuple(
            CategoryShare(category, category, held << 30, held / total, sure, "")  # type: ignore[arg-type]
            for category, held, sure in shares
        ),
    )  # fmt: skip


def test_a_larger_batch_is_told_where_activations_are_known() -> None:
    def told(capacity: int, reserved: int, *shares: tuple[str, int, str]) -> str | None:
        found = larger_batch(capacity << 30, reserved << 30, peak_of(*shares))
        return found and found.replace("\u00a0", " ")

    # 80 · 0.95 = 76 GiB; 20 of 30 reserved grow, 10 stay: (76 − 10) / 20
    kept, grown = ("parameter", 8, "medium"), ("activation", 20, "high")
    said = told(80, 30, kept, grown)
    assert said is not None
    assert said.startswith("A batch up to about 3.30× as large would fit, if the 20.0 GiB of")
    assert told(30, 30, kept, grown) is None
    assert told(80, 30, kept, ("activation", 20, "low")) is None
    assert told(80, 30, ("parameter", 29, "medium"), ("activation", 1, "high")) is None


def held(ts: float, amount: int, total: int) -> dict[str, Any]:
    told = {"Addr": 4096 + ts, "Device Type": 0, "Device Id": -1, "Total Allocated": total}
    return events_of.memory(ts, amount, **told)


def churn_of(*events: Any, steps: int = 0) -> str:
    marks = [
        events_of.annotation(f"ProfilerStep#{step}", step * 100.0, 100) for step in range(steps)
    ]
    ops = [events_of.x("aten::empty", step * 100.0, 10) for step in range(max(steps, 1))]
    trace = events_of.drawn(ops, marks, *events)
    subject = TraceSession(trace).subject(VIEW)
    sentence: str = ask(subject, "steps").churn.sentence
    return sentence.replace("\u00a0", " ")


@pytest.mark.parametrize("ts", [5, 10, 130])
def test_an_allocation_that_ends_the_recording_counts(ts: float) -> None:
    """Torch's last event may be an allocation whose release is not recorded."""
    said = "1 allocation in the recording, 1.00 KiB in all, 1.00× the peak."
    assert churn_of(held(ts, 1024, 1024)) == said


def test_churn_is_no_zero_where_it_is_rare_and_says_where_there_is_none() -> None:
    one = held(105, 1024, 1024)  # in one of the three steps after the first
    assert churn_of(one, steps=4) == "0.33 allocations per step, 341 B in all, 0.33× the peak."
    assert churn_of(held(5, -1024, 0)) == "No allocation in the recording."


def test_a_device_is_chosen_by_its_key() -> None:
    other = MadeMemory(kind=HIP, device=1)
    other.allocate(3, "o", 7)
    host = MadeMemory(kind=0, device=-1)
    host.allocate(3, "h", 5)
    subject = subject_of(made(), other, host)
    assert [one.key for one in ask(subject).devices] == ["cuda:0", "hip:1", "cpu"]
    assert ask(subject).device == "cuda:0"
    assert ask(subject, device="cpu").peak.bytes == 5
    assert ask(subject, "curve", device="cpu").reserved is None
    with pytest.raises(QueryError, match="cuda:7") as error:
        ask(subject, device="cuda:7")
    assert "hip:1" in error.value.hint
    with pytest.raises(QueryError, match="empty"):
        ask(subject, "curve", start_ns=5, end_ns=5)


def test_what_is_not_recorded_is_said_and_is_no_zero() -> None:
    events = [memory(2, 64, None), memory(3, -16, None)]
    subject = TraceSession(draw(PICTURE, events=events)).subject(VIEW)
    answer: Memory = ask(subject)
    (device,) = answer.devices
    assert (device.peak_bytes, device.peak_reserved_bytes) == (None, None)
    assert answer.curve.is_change
    assert answer.curve.layers == ()
    assert answer.peak.categories == ()
    for text in (answer.events.missing, ask(subject, "alive").missing, *device.missing.values()):
        assert text.endswith(".")
    assert "profile_memory=True" in answer.detail
    # The statistics need neither.
    assert answer.statistics.increase_bytes == 48


def test_without_allocator_events_the_view_says_how_to_record_them() -> None:
    with pytest.raises(UnavailableError, match="profile_memory=True"):
        subject_of()


def test_a_terminal_gets_every_figure(subject: Subject) -> None:
    found = tables(ask(subject))
    assert [table.title for table in found] == ["By operator", "Events", "At the peak", "Devices"]
    assert OUTSIDE in {row[0] for row in found[0].rows}


def test_a_snapshot_has_lines_of_code_where_a_trace_has_operators(tmp_path: Path) -> None:
    answer = ask(FileSession(str(stored(tmp_path, DRAWN))).subject(VIEW))
    found = tables(answer)
    words = [table.title for table in found] + [one.label for one in found[0].columns]
    words += [one.label for one in found[1].columns]
    assert found[0].title == "By line"
    assert (words.count("Line of code"), words.count("Operator")) == (2, 0)
    assert OUTSIDE not in {row[0] for table in found for row in table.rows}
    assert not any(" op " in f" {one.help} " for one in found[0].columns)
    assert found[0].columns[0].help.startswith("The innermost line of your own code")


def test_an_exported_timeline_has_neither_blocks_nor_ops(tmp_path: Path) -> None:
    path = stored_timeline(tmp_path, SUMS)
    answer = ask(FileSession(str(path)).subject(VIEW))
    assert "neither blocks nor ops" in answer.events.missing
    assert [table.title for table in tables(answer)] == ["At the peak", "Devices"]


@pytest.mark.parametrize(("offset", "limit"), [(0, 3), (2, 2), (4, 100), (9, 1), (0, 5)])
def test_a_window_is_part_of_the_whole_order(offset: int, limit: int) -> None:
    key = np.array([5, 1, 5, 0, 1, 1, 9, 5])
    whole = np.argsort(key, kind="stable")
    assert first_of(key, offset, limit).tolist() == whole[offset : offset + limit].tolist()


def test_a_peak_before_the_first_event_is_the_peak() -> None:
    only = MadeMemory(base=1000)
    only.release(5, "q", 600)
    answer: Memory = ask(subject := subject_of(only))
    assert (answer.peak.ts, answer.peak.bytes) == (0, 1000)
    assert answer.devices[0].peak_bytes == answer.curve.peak_bytes == 1000
    tree: AliveTree = ask(subject, "alive")
    assert (tree.ts, tree.bytes) == (0, 1000)
    assert answer.second is not None
    assert answer.second.bytes == 400


def test_files_mapped_by_workers_are_a_device_without_totals() -> None:
    host = MadeMemory(kind=0, device=-1)
    host.allocate(1, "h", 64)
    shared = memory(2, 8, 0, device=-1, kind=0, reserved=8)
    events = [*host.events, shared]
    subject = TraceSession(draw(PICTURE, events=events)).subject(VIEW)
    assert [one.key for one in ask(subject).devices] == ["cpu", "cpu:shared"]
    answer: Memory = ask(subject, device="cpu:shared")
    assert answer.curve.is_change
    assert "mapped" in answer.devices[1].missing["totals"]
    assert "mapped" in answer.detail
