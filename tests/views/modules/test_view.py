"""The answers of the Module view."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import QueryError
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read
from kinetoscope.views.modules.contract import (
    ModuleFlameQuery,
    ModuleRowQuery,
    Modules,
    ModulesQuery,
)
from kinetoscope.views.modules.rows import ModuleRow
from kinetoscope.views.modules.view import VIEW, build, flame, row, table, tables
from kinetoscope.views.view import Subject
from tests.analysis.modules.test_costs import LINKS, NAMES, TRAINING
from tests.conftest import TRACES, requires_traces
from tests.drawing import draw

BLOCKS = """
    module  |rrrrrrrrrrrrrrrrrrrrrr|
    module  |aaaaaabbbbbbccccccdd  |
    module  | eee   eee   eee      |
    call    | k     l     m    n o |
    gpu     |   k     l     mmmmmno|
    """
BLOCK_NAMES = {
    "r": "nn.Module: Net_0",
    "a": "nn.Module: Block_0",
    "b": "nn.Module: Block_1",
    "c": "nn.Module: Block_2",
    "d": "nn.Module: Head_0",
}


def subject_of(trace: Trace) -> Subject:
    return TraceSession(trace).seen_by(VIEW)


@pytest.fixture(name="subject", scope="module")
def drawn() -> Subject:
    return subject_of(draw(BLOCKS, names=BLOCK_NAMES))


def names(rows: tuple[ModuleRow, ...]) -> list[str]:
    return ["  " * row.depth + row.name for row in rows]


def test_blocks_of_equal_structure_are_one_row(subject: Subject) -> None:
    answer = build(subject, ModulesQuery())
    assert names(answer.table.rows) == ["Net_0", "  Block", "  Head_0"]
    assert (answer.table.count, answer.table.modules) == (3, 8)
    net, blocks, head = answer.table.rows
    assert (blocks.members, blocks.inside, blocks.calls) == (3, 3, 3)
    assert (blocks.least_ns, blocks.median_ns, blocks.most_ns) == (1000, 1000, 5000)
    assert blocks.outlier == "Block_2"
    assert (net.total_ns, net.self_ns, blocks.total_ns, head.total_ns) == (9000, 1000, 7000, 1000)
    assert (blocks.parent, net.parent) == (net.key, "")
    assert net.ratio == 1.0
    assert (
        answer.headline
        == "3 × Block in Net_0: 77.8\N{NO-BREAK SPACE}% of the device time in modules."
    )
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Modules) == answer


def test_a_row_of_blocks_opens_to_each_of_them(subject: Subject) -> None:
    blocks = build(subject, ModulesQuery()).table.rows[1]
    found = table(subject, ModulesQuery(below=blocks.key))
    assert names(found.rows) == [
        "Block_2", "  e_0", "Block_0", "  e_0", "Block_1", "  e_0",
    ]  # fmt: skip
    assert sum(row.total_ns for row in found.rows if row.depth == 0) == blocks.total_ns
    assert found.rows[0].parent == blocks.key


def test_every_module_on_demand(subject: Subject) -> None:
    found = table(subject, ModulesQuery(fold=False, sort_by="name", ascending=True))
    assert names(found.rows) == [
        "Net_0", "  Block_0", "    e_0", "  Block_1", "    e_0", "  Block_2", "    e_0", "  Head_0",
    ]  # fmt: skip
    below = table(subject, ModulesQuery(fold=False, below=found.rows[1].key))
    assert names(below.rows) == ["e_0"]


def test_rows_around_a_match_stay(subject: Subject) -> None:
    found = table(subject, ModulesQuery(fold=False, search="block_1 e"))
    assert names(found.rows) == ["Net_0", "  Block_1", "    e_0"]
    assert table(subject, ModulesQuery(search="nothing")).rows == ()


def test_a_search_looks_into_rows_of_several(subject: Subject) -> None:
    found = table(subject, ModulesQuery(search="block_1 e_0"))
    assert names(found.rows) == ["Net_0", "  Block"]
    inside = table(subject, ModulesQuery(search="block_1 e_0", below=found.rows[1].key))
    assert names(inside.rows) == ["Block_1", "  e_0"]


def test_a_search_looks_into_a_row_of_two() -> None:
    picture = """
        module  |rrrrrrrrrrrrrr|
        module  |aaaaaabbbbbb  |
        module  | eee   eee    |
        call    | k     l      |
        gpu     |   k     l    |
        """
    found = table(subject_of(draw(picture, names=BLOCK_NAMES)), ModulesQuery(search="block_1 e_0"))
    assert names(found.rows) == ["Net_0", "  Block"]


def test_of_too_many_rows_the_largest_stay(subject: Subject) -> None:
    found = table(subject, ModulesQuery(fold=False, limit=3))
    assert names(found.rows) == ["Net_0", "  Block_2", "    e_0"]
    assert (found.count, found.modules) == (8, 8)


def test_parts_sum_to_the_whole(subject: Subject) -> None:
    answer = build(subject, ModulesQuery())
    assert answer.device is not None
    for whole in (answer.device, answer.ops):
        assert sum(part.ns for part in whole.parts) == whole.total_ns
    assert [(part.name, part.ns) for part in answer.device.parts] == [("modules", 9000)]
    first, *rest = tables(answer)
    assert first.title == "Modules"
    assert [one.title for one in rest] == ["Device time", "Time of ops", "Idle time before work"]
    assert all(len(row) == len(one.columns) for one in (first, *rest) for row in one.rows)


def test_without_a_device_the_time_is_that_of_ops() -> None:
    subject = subject_of(
        draw("""
        module  |aaaaaaaaaaa |
        op      | xxx  yyy  z|
        """)
    )
    answer = build(subject, ModulesQuery())
    (row,) = answer.table.rows
    assert answer.time == "op"
    assert answer.device is None
    assert (row.total_ns, row.op_total_ns, row.idle_ns, row.kernels) == (6000, 6000, None, None)
    assert [(part.name, part.ns) for part in answer.ops.parts] == [
        ("modules", 6000),
        ("outside modules", 1000),
    ]


def test_a_key_or_a_column_that_is_not_there_is_refused(subject: Subject) -> None:
    for key in ("x", "99", "-1", "1++", "٣"):
        with pytest.raises(QueryError, match="no such row"):
            table(subject, ModulesQuery(below=key))
    with pytest.raises(QueryError, match="no column"):
        table(subject, ModulesQuery(sort_by="colour"))


def boxes(subject: Subject, **query: Any) -> list[tuple[str, int, int]]:
    return [
        (node.name, int(node.value), int(node.self_value))
        for node in flame(subject, ModuleFlameQuery(**query)).nodes
    ]


def test_the_icicle_has_a_box_for_each_module(subject: Subject) -> None:
    assert boxes(subject)[:5] == [  # in the order of the calls, not the largest first
        ("Net_0", 9000, 1000),
        ("Block_0", 1000, 0), ("e_0", 1000, 1000),
        ("Block_1", 1000, 0), ("e_0", 1000, 1000),
    ]  # fmt: skip
    assert boxes(subject, root=1) == [("Block_0", 1000, 0), ("e_0", 1000, 1000)]
    host = boxes(subject, metric="host")
    assert host[0] == ("Net_0", 22000, 2000)
    assert sum(own for _, _, own in host) == 22000


def test_an_icicle_without_a_device_says_why() -> None:
    found = flame(subject_of(draw("module |aa|")), ModuleFlameQuery())
    assert found.missing.startswith("No device activity")
    assert found.total == 0


def test_a_module_by_itself(subject: Subject) -> None:
    found = row(subject, ModuleRowQuery(module=1))
    assert (found.name, found.path, found.total_ns) == ("Block_0", "Net_0/Block_0", 1000)
    assert (found.slice is not None, found.ts, found.dur_ns) == (True, 0, 6000)
    with pytest.raises(QueryError, match="no such module"):
        row(subject, ModuleRowQuery(module=99))


def test_an_icicle_of_no_module_is_refused(subject: Subject) -> None:
    with pytest.raises(QueryError, match="no such module"):
        flame(subject, ModuleFlameQuery(root=99))


def test_boxes_say_the_type_or_the_name_in_the_model() -> None:
    picture = """
        note    |rrrrrrrr|
        note    | ssss   |
        """
    names = {"r": "[module]Net", "s": "[module]Linear: head"}
    found = boxes(subject_of(draw(picture, names=names)), metric="host")
    assert [name for name, *_ in found] == ["Net", "head Linear"]


def test_without_modules_the_page_says_what_to_record() -> None:
    why = VIEW.unavailable(summarize(draw("op |aaa|")))
    assert VIEW.unavailable(summarize(draw("module |aaa|"))) is None
    for recipe in ("with_stack=True", "modules=model"):
        assert why is not None
        assert recipe in why


@requires_traces
def test_a_real_recording() -> None:
    subject = subject_of(read(TRACES / "tracelens/b200/eager_trace.json.gz"))
    answer = build(subject, ModulesQuery())
    assert answer.device is not None
    assert answer.device.total_ns == 11_665_760
    blocks = next(row for row in answer.table.rows if row.type == "TransformerBlock")
    assert blocks.members == 36
    assert answer.headline.startswith("36 × TransformerBlock in GptOssForCausalLM_0: ")
    inside = table(subject, ModulesQuery(below=blocks.key))
    assert sum(row.total_ns for row in inside.rows if row.depth == 0) == blocks.total_ns


def test_columns_of_phases_are_there_where_they_ran(subject: Subject) -> None:
    of_phases = {"backward_ns", "recompute_ns", "recompute_calls"}
    keys = {column.key for column in build(subject, ModulesQuery()).table.columns}
    assert "forward_ns" in keys
    assert of_phases.isdisjoint(keys)
    training = build(subject_of(draw(TRAINING, args=LINKS, names=NAMES)), ModulesQuery())
    assert of_phases <= {column.key for column in training.table.columns}
    found = {
        row.path: (row.forward_ns, row.backward_ns, row.recompute_ns, row.recompute_calls)
        for row in training.table.rows
    }
    assert found["a_0/b_0"] == (3000, 1000, 0, 0)
    assert found["a_0/c_0"] == (2000, 1000, 2000, 1)


def test_a_compiled_function_has_its_life_and_counts_as_no_module() -> None:
    picture = """
        module |NNNNNNNNNNNNNN|
        op     | RRRR TTT UU  |
    """
    names = {
        "N": "nn.Module: Net_0",
        "R": "Torch-Compiled Region: 0/0",
        "T": "Torch-Compiled Region: 0/1",
        "U": "Torch-Compiled Region: 1/0",
    }
    answer = build(subject_of(draw(picture, names=names)), ModulesQuery())
    lives = {row.name: row.compiled for row in answer.table.rows}
    assert lives == {
        "Net_0": None,
        "compiled frame 0": "2\u00a0versions, 2\u00a0runs",
        "compiled frame 1": "1\u00a0version, 1\u00a0run",
    }
    assert (answer.table.count, answer.table.modules) == (3, 1)
    assert "compiled" in [head.key for head in answer.table.columns]
    plain = build(subject_of(draw(BLOCKS, names=BLOCK_NAMES)), ModulesQuery())
    assert "compiled" not in [head.key for head in plain.table.columns]
