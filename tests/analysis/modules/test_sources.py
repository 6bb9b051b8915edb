"""Which modules a recording names, and when each ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.modules.artifact import modules_of
from kinetoscope.analysis.modules.figures import figures_of, kind_of
from kinetoscope.analysis.modules.model import COMPILED, NONE, ModuleColumns, Phase
from kinetoscope.analysis.modules.sharded import sharded_name
from kinetoscope.analysis.modules.sources import (
    FoundModules,
    find_modules,
    hierarchy_parts,
    range_name,
    source_of,
)
from kinetoscope.trace.compile_record import CompileRecord
from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.drawing import draw, memory, trace_of


def paths(columns: ModuleColumns) -> list[str]:
    """The modules in the order of the tree: "A_0/B_0"."""
    found: list[str] = []
    for name, up in zip(columns.tree.name.tolist(), columns.tree.parent.tolist(), strict=True):
        text = columns.strings[name]
        found.append(text if up < 0 else f"{found[up]}/{text}")
    return found


def calls(columns: ModuleColumns) -> list[tuple[str, str, int, int]]:
    """(module, phase, µs of a call, µs without the calls inside it), in the order of the calls."""
    names, one = paths(columns), columns.calls
    rows = zip(one.module.tolist(), one.phase.tolist(), one.dur_ns, one.self_ns, strict=True)
    return [
        (names[module], Phase(phase).name.lower(), int(dur) // 1000, int(own) // 1000)
        for module, phase, dur, own in rows
    ]


def test_frames_are_a_tree_by_how_they_lie() -> None:
    columns = modules_of(
        draw("""
        module  |aaaaaaaaaa  aaaa|
        module  | bbb ccc    ccc |
        module  |      b      b  |
        frame   |  ff            |
        """)
    )
    assert columns.source == "frames"
    assert paths(columns) == ["a_0", "a_0/b_0", "a_0/c_0", "a_0/c_0/b_0"]
    assert calls(columns) == [
        ("a_0", "forward", 10, 4),
        ("a_0/b_0", "forward", 3, 3),
        ("a_0/c_0", "forward", 3, 2),
        ("a_0/c_0/b_0", "forward", 1, 1),
        ("a_0", "forward", 4, 1),
        ("a_0/c_0", "forward", 3, 2),
        ("a_0/c_0/b_0", "forward", 1, 1),
    ]
    assert [columns.strings[code] for code in columns.tree.type] == ["a", "b", "c", "b"]


LINK: dict[str, dict[str, Any]] = {
    "x": {"Sequence number": 5},
    "y": {"Sequence number": 5, "Fwd thread id": 1},
}


def test_what_the_backward_pass_calls_again_is_the_module_of_the_forward_pass() -> None:
    columns = modules_of(
        draw(
            """
            module  |aaaaaaaaaa          |
            module  | bbb cccc           |
            module  |  d   dd            |
            op      |      x             |
            op2     |            yyyyyyyy|
            module2 |             ccccc  |
            module2 |              d e   |
            """,
            args=LINK,
        )
    )
    # d is called by b and by c: c is around the op whose backward runs.
    assert paths(columns) == [
        "a_0",
        "a_0/b_0",
        "a_0/b_0/d_0",
        "a_0/c_0",
        "a_0/c_0/d_0",
        "a_0/c_0/e_0",
    ]
    assert calls(columns)[-3:] == [
        ("a_0/c_0", "recompute", 5, 3),
        ("a_0/c_0/d_0", "recompute", 1, 1),
        ("a_0/c_0/e_0", "recompute", 1, 1),
    ]


def test_a_module_called_again_is_found_from_an_op_that_lies_deeper_or_elsewhere() -> None:
    columns = modules_of(
        draw(
            """
            module  |aaaaaaaaaa              |
            module  | bbb cccc               |
            module  | d    d                 |
            op      |x      x                |
            op2     |            yyyyy  zzzzz|
            module2 |             d      d   |
            """,
            args={
                "x": {},
                "y": {"Sequence number": 9, "Fwd thread id": 1},
                "z": {"Sequence number": 8, "Fwd thread id": 1},
            },
            names={"y": "autograd::engine::evaluate_function: Y", "z": "ZBackward0"},
        )
    )
    # No forward op is known: the first of the name. ZBackward0 is not known to be of autograd.
    assert calls(columns)[-2:] == [("a_0/b_0/d_0", "recompute", 1, 1), ("d_0", "forward", 1, 1)]


def test_ranges_are_a_tree_by_their_names() -> None:
    columns = modules_of(
        draw(
            """
            note    |rrrrrrrrrrrr  h|
            note    | bbbb cccc     |
            note    |  kk   k       |
            """,
            names={
                "r": "[module]Net",
                "b": "[module]Block: layers.0",
                "c": "[module]Block: layers.1",
                "k": "[module]Linear: layers.0.fc",
                "h": "[module]Linear: head",
            },
        )
    )
    assert columns.source == "ranges"
    assert paths(columns) == [
        "Net", "Net/layers.0", "Net/layers.0/fc", "Net/layers.1", "Net/head",
    ]  # fmt: skip
    qualified = [columns.strings[code] for code in columns.tree.qualified]
    assert qualified == ["", "layers.0", "layers.0.fc", "layers.1", "head"]
    # "layers.0.fc" is one module, whoever calls it.
    assert ("Net/layers.0", "forward", 4, 2) in calls(columns)
    assert ("Net/layers.1", "forward", 4, 3) in calls(columns)


def test_lightning_names_modules_in_its_own_way() -> None:
    columns = modules_of(
        draw(
            """
            note    |rrrrrrrrrrrr|
            note    | bbbb cccc  |
            op      |   o        |
            """,
            names={
                "r": "[pl][profile][Strategy]DDPStrategy.training_step",
                "b": "[pl][module]torch.nn.modules.conv.Conv2d: model.conv1",
                "c": "[pl][module]torch.nn.modules.linear.Linear: model.fc",
            },
            Framework="pytorch-lightning",
        )
    )
    assert columns.source == "lightning"
    assert paths(columns) == ["model.conv1", "model.fc"]
    assert [columns.strings[code] for code in columns.tree.type] == ["Conv2d", "Linear"]


def test_frames_take_the_names_of_the_ranges_in_them() -> None:
    columns = modules_of(
        draw(
            """
            module  |aaaaaaaaaa|
            note    | rrrrrrrr |
            module  |  bbbbbb  |
            note    |   ssss   |
            """,
            names={"r": "[module]a", "s": "[module]b: layers.3.fc"},
        )
    )
    assert columns.source == "frames"
    assert paths(columns) == ["a_0", "a_0/b_0"]
    assert [columns.strings[code] for code in columns.tree.qualified] == ["", "layers.3.fc"]


def test_ops_of_torchscript_name_their_modules() -> None:
    top = "TOP(Net)::forward."
    told = {
        "f": top,
        "c": f"{top}stem(Sequential)::forward.0(Conv2d)::forward.SELF(Conv2d)::_conv_forward.",
        "b": f"{top}stem(Sequential)::forward.1(BatchNorm2d)::forward.::batch_norm.",
        "d": "TOP()::<forward op>.",
    }
    columns = modules_of(
        draw(
            """
            op      |ffffffffff ffffff d|
            op      | ccc bbb    cc     |
            op      |  g                |
            """,
            args={key: {"Module Hierarchy": text} for key, text in told.items()},
        )
    )
    assert columns.source == "hierarchy"
    assert paths(columns) == ["Net", "Net/stem", "Net/stem/0", "Net/stem/1"]
    assert calls(columns) == [
        ("Net", "forward", 10, 3),
        ("Net/stem", "forward", 7, 1),
        ("Net/stem/0", "forward", 3, 3),
        ("Net/stem/1", "forward", 3, 3),
        ("Net", "forward", 6, 4),
        ("Net/stem", "forward", 2, 0),
        ("Net/stem/0", "forward", 2, 2),
    ]


FSDP = {
    "r": "FSDP::pre_forward",
    "s": "FSDP::post_forward",
    "a": "FSDP::pre_forward (layers.0)",
    "g": "FSDP::all_gather (layers.0)",
    "b": "FSDP::post_forward (layers.0)",
    "c": "FSDP::pre_forward (layers.1)",
    "d": "FSDP::post_forward (layers.1)",
    "q": "FSDP::pre_backward (layers.1)",
    "w": "FSDP::backward_prefetch for layers.0",
}


def test_ranges_of_fsdp_bound_the_calls_of_modules() -> None:
    columns = modules_of(
        draw(
            """
            note    |rr aa    bb cc  dd  ss qqqqq   |
            note    |   g                    ww     |
            op      |      x       z   o   q     y  |
            call    |  h   k       m          n  l  |
            gpu     |  h   k       mm         nn ll |
            """,
            names=FSDP,
            args={
                "x": {"Sequence number": 5},
                "y": {"Sequence number": 5, "Fwd thread id": 1},
            },
        )
    )
    assert columns.source == "sharded"
    assert paths(columns) == ["(root)", "(root)/layers.0", "(root)/layers.1"]
    assert [columns.strings[code] for code in columns.tree.qualified] == [
        "",
        "layers.0",
        "layers.1",
    ]
    assert calls(columns) == [
        ("(root)", "forward", 22, 8),
        ("(root)/layers.0", "forward", 8, 8),
        ("(root)/layers.1", "forward", 6, 6),
    ]
    own = figures_of(columns, None).device_self_ns // 1000
    # h of the root; k in the call of layers.0; m in that of layers.1; n in a range of the backward
    # pass that names layers.0, inside one of layers.1; l of the op that left y to autograd.
    assert own.tolist() == [[1, 1, 2], [0, 4, 0], [0, 0, 0]]


def test_a_call_between_ranges_that_has_no_end_is_none() -> None:
    columns = modules_of(
        draw("note |rr aa cc    dd ss  bb aa |", names=FSDP)  # layers.0 never ends in its own call
    )
    assert calls(columns) == [
        ("(root)", "forward", 17, 9),
        ("(root)/layers.1", "forward", 8, 8),
    ]


def test_frames_take_the_names_of_fsdp() -> None:
    columns = modules_of(
        draw(
            """
            module  |mmmmmmmmmmmmm|
            module  |   kkkkkkkk  |
            frame   |   f         |
            note    |r  a     b  s|
            """,
            names=FSDP,
        )
    )
    assert columns.source == "frames"
    assert [columns.strings[code] for code in columns.tree.qualified] == ["", "layers.0"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("FSDP::all_gather (a.b) [pg=8]", ("all_gather", "a.b")),
        ("FSDP::post_backward_rs_wait ()", ("post_backward_rs_wait", "")),
        ("FSDP::pre_forward (embed, norm)", ("pre_forward", "embed, norm")),
        ("FullyShardedDataParallel.forward", None),
    ],
)
def test_names_of_ranges_of_fsdp(name: str, expected: object) -> None:
    assert sharded_name(name) == expected


def test_ranges_of_the_root_alone_name_no_module() -> None:
    assert source_of(draw("note |rr  ss|", names=FSDP)) == ""


@pytest.mark.parametrize(
    ("type_", "kind"), [(0, "f_1"), (1, "Linear"), (NONE, "f_*")], ids=["compiled", "class", "none"]
)
def test_the_kind_of_a_module(type_: int, kind: str) -> None:
    """A compiled function is its own kind, also where its type is the first of all texts."""
    tree = SimpleNamespace(type=np.array([type_]), name=np.array([2]))
    strings = [COMPILED, "Linear", "f_1"]
    assert kind_of(tree, strings, 0) == kind  # type: ignore[arg-type]


@requires_traces
def test_a_real_recording_of_fsdp() -> None:
    (path, _) = sorted((TRACES / "fresh_torch2.13/fsdp2_gpt").iterdir())
    columns = modules_of(read(path))
    assert paths(columns) == ["(root)", "(root)/blocks.0", "(root)/blocks.1"]
    assert [path for path, *_ in calls(columns)] == 2 * paths(columns)
    assert kind_of(columns.tree, columns.strings, 1) == "blocks.*"
    backward = figures_of(columns, None).op_self_ns[Phase.BACKWARD]
    assert (backward > 0).all()


def test_the_deepest_modules_belong_to_those_around_them() -> None:
    count = 200
    events = [
        {
            "ph": "X", "cat": "python_function", "name": f"nn.Module: M_{level}", "pid": 1,
            "tid": 1, "ts": level, "dur": 1000 - 2 * level, "args": {"Python module id": level},
        }
        for level in range(count)
    ]  # fmt: skip
    columns = modules_of(trace_of(events))
    assert len(columns.tree) == 64
    assert len(columns.calls) == 64
    assert calls(columns)[0][1:] == ("forward", 1000, 2)


def test_a_recording_without_modules_has_none() -> None:
    for picture in ("", "op |aaa|", "note |nnn|"):
        trace = draw(picture)
        assert source_of(trace) == ""
        assert len(modules_of(trace).tree) == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("[module]Net", ("[module]", "Net", "")),
        ("[module]Conv2d: layer1.0.conv1", ("[module]", "Conv2d", "layer1.0.conv1")),
        ("[pl][module]a.b.C: x.y", ("[pl][module]", "C", "x.y")),
        ("[pl][profile]x", None),
        ("module: x", None),
    ],
)
def test_names_of_ranges(name: str, expected: object) -> None:
    assert range_name(name) == expected


def test_a_path_of_torchscript() -> None:
    assert hierarchy_parts("TOP()::<forward op>.") == ()
    assert hierarchy_parts("") == ()
    assert hierarchy_parts("TOP(N)::forward.a(__torch__.x.B)::forward.") == (
        ("TOP", "N"),
        ("a", "B"),
    )


@requires_traces
def test_a_real_recording_with_activation_checkpointing() -> None:
    columns = modules_of(read(TRACES / "tracelens/mi300/resnet_act_checkpoint.json.gz"))
    found = calls(columns)
    block = "DistributedDataParallel_0/ResNet_0/CheckpointWrapper_3/Sequential_5/BasicBlock_7"
    assert [phase for path, phase, *_ in found if path == block] == ["forward"] * 3 + [
        "recompute"
    ] * 3
    roots = [path for path in paths(columns) if "/" not in path]
    assert roots == ["DistributedDataParallel_0"]


def test_blocks_of_memory_know_the_range_of_their_module() -> None:
    trace = draw(
        """
        note    |  mmmm  |
        op      |  aaa  b|
        """,
        names={"m": "[module]Linear: head"},
        events=[memory(3, 64, 64), memory(7, 8, 72)],
    )
    columns = memory_of(trace)
    found = [columns.strings[code] if code >= 0 else "" for code in columns.blocks.module.tolist()]
    assert "[module]Linear: head" in found
    assert "modules" not in columns.missing
    assert "modules" in memory_of(draw("op |aa|", events=[memory(1, 64, 64)])).missing


COMPILED_NET = """
    module |NNNNNNNNNNNNNNNNNNNNNNNNNNN|
    op     | RRRRRRRRRR  TTTTTT  U a   |
    op     |   b SSSSS    b            |
    module |      mm                   |
    """
REGIONS = {
    "N": "nn.Module: Net_0",
    "m": "nn.Module: Act_0",
    "R": "Torch-Compiled Region: 0/0",
    "T": "Torch-Compiled Region: 0/1",
    "S": "Torch-Compiled Region: 1/0",
    "U": "Torch-Compiled Region: 2/0",
}


def _compiled(picture: str = COMPILED_NET, **names: str) -> Trace:
    record = {
        "functions": [
            {"id": 5, "name": "forward", "file": "net.py", "line": 3},
            {"id": 6, "name": "torch_dynamo_resume_in_forward_at_9", "file": "net.py", "line": 9},
        ],
        "compilations": [
            {"id": "0/0", "function": 5},
            {"id": "0/1", "function": 5},
            {"id": "1/0", "function": 6},
        ],
    }
    trace = draw(picture, names={**REGIONS, **names})
    told = msgspec.convert(record, CompileRecord)
    return msgspec.structs.replace(trace, compile_record=told)


def _tree_of(found: FoundModules) -> list[tuple[str, str, int]]:
    tree, strings = found.tree, found.strings
    rows = zip(tree.name.tolist(), tree.type.tolist(), tree.parent.tolist(), strict=True)
    return [(strings[name], strings[type_], parent) for name, type_, parent in rows]


def test_a_compiled_function_is_a_place_whatever_its_versions() -> None:
    found = find_modules(_compiled())
    assert _tree_of(found) == [
        ("Net_0", "Net", -1),
        ("forward (net.py:3)", "compiled function", 0),
        ("forward, from line 9 (net.py:9)", "compiled function", 1),
        ("Act_0", "Act", 2),
        ("compiled frame 2", "compiled function", 0),
    ]
    calls = np.bincount(found.calls.module)
    assert calls.tolist() == [1, 2, 1, 1, 1]


def test_below_ranges_compiled_functions_are_places_too() -> None:
    picture = COMPILED_NET.replace("module |NN", "note   |NN").replace("      mm   ", "           ")
    found = find_modules(_compiled(picture, N="[module]Net: body"))
    assert [name for name, _, _ in _tree_of(found)] == [
        "body",
        "forward (net.py:3)",
        "forward, from line 9 (net.py:9)",
        "compiled frame 2",
    ]
    assert found.tree.parent.tolist() == [-1, 0, 1, 0]


def test_regions_without_a_module_make_no_module_tree() -> None:
    trace = _compiled(COMPILED_NET.replace("N", " ").replace("mm", "  "))
    assert not len(find_modules(trace).tree)
