"""Everything about one slice: arguments, inputs, stack, relatives, launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kinetoscope.views.timeline.contract import SliceDetails, SliceLink
from kinetoscope.views.timeline.details import inputs_of
from tests.views.parts import Asked, asked

US = 1000
PICTURE = """
    step   |11111111112222222222|
    frame  | ffffffffffffffff   |
    frame  |  mmmmmmmmmmmmmm    |
    module |   MMMMMMMMMMMM     |
    op     |    aaaaaa   b      |
    call   |     l k     n      |
    op2    |               cccc |
    call2  |                p   |
    gpu    |       llkkk  nn pp |
    """
ARGS: dict[str, dict[str, Any]] = {
    "a": {
        "Sequence number": 5,
        "Input Dims": [[8, 3], [3, 4], []],
        "Input type": ["float", "float", "Scalar"],
        "Concrete Inputs": ["", "", "1"],
        "long": "x" * 5000,
        "half": "\ud800",
        "<b>": {"deep": [1, None, 2.5]},
    },
    "c": {"Sequence number": 5, "Fwd thread id": 1},
}
NAMES = {"f": "train.py(7): main", "m": "/lib/torch/nn/modules/module.py(1501): _call_impl"}


@pytest.fixture
def view(tmp_path: Path) -> Asked:
    """A forward op with two kernels, one after it, a backward op with one."""
    return asked(tmp_path, PICTURE, names=NAMES, args=ARGS)


def details(view: Asked, name: str, turn: int = 0, **query: Any) -> SliceDetails:
    """Those of a slice by its name."""
    answer: SliceDetails = view("slice", slice=view.find(name, turn), **query)
    return answer


def links(answer: SliceDetails) -> dict[str, SliceLink]:
    """By relation; each occurs once."""
    found: dict[str, SliceLink] = {link.relation: link for link in answer.links}
    assert len(found) == len(answer.links)
    return found


def test_where_and_when_it_is(view: Asked) -> None:
    op = details(view, "aten::a")
    assert (op.slice.ts, op.slice.dur, op.self_ns) == (4 * US, 6 * US, 4 * US)
    assert op.kind_label == "Operator"
    assert op.track_label == "Main thread · ops"
    assert (op.step, op.step_offset_ns) == ("ProfilerStep#1", 4 * US)
    assert int(op.wall_ns) == view.trace.base_ns + 4 * US
    # The frame outlives the step, so it is not inside it.
    assert [one.name for one in op.ancestors] == [
        "train.py(7): main",
        "/lib/torch/nn/modules/module.py(1501): _call_impl",
        "nn.Module: M_0",
    ]
    assert op.depth == 3
    assert op.flags == ()


def test_its_rank_among_those_of_its_name(view: Asked) -> None:
    first, second = details(view, "cudaLaunchKernel"), details(view, "kernel_k")
    assert (first.peers, first.median_ns, first.rank) == (4, US, 1)  # equal ones share a rank
    assert (second.peers, second.median_ns, second.rank) == (1, 3 * US, 1)


def test_arguments_are_those_of_the_file(view: Asked) -> None:
    op = details(view, "aten::a")
    args = {arg.key: arg for arg in op.args}
    assert args.keys() == ARGS["a"].keys()
    assert args["Input Dims"].text == "[[8, 3], [3, 4], []]"
    assert (len(args["long"].text), args["long"].cut) == (4000, True)
    assert args["half"].text == "\ufffd"
    assert args["<b>"].text == '{"deep": [1, null, 2.5]}'
    assert op.args_missing == ""
    assert op.inputs == (("[8, 3]", "float"), ("[3, 4]", "float"), ("[]", "Scalar"))


def test_a_key_is_cut_at_200_letters_and_a_value_at_4000(tmp_path: Path) -> None:
    args = {"a": {"k" * 200: "v" * 4000, "l" * 201: "w" * 4001}}
    found = details(asked(tmp_path, PICTURE, names=NAMES, args=args), "aten::a").args
    assert [(len(one.key), len(one.text), one.cut) for one in found] == [
        (200, 4000, False),
        (200, 4000, True),
    ]


def test_without_arguments_it_says_so(view: Asked) -> None:
    frame = details(view, "train.py(7): main")
    assert (frame.args, frame.args_missing) == ((), "The recorder wrote none.")


def test_a_file_that_is_gone_takes_only_the_arguments_along(view: Asked) -> None:
    Path(view.trace.path).unlink()
    op = details(view, "aten::a")
    assert op.args == ()
    assert "cannot be read again" in op.args_missing
    assert links(op)["kernels"].count == 2


def test_a_file_that_changed_does_not_lend_its_arguments(view: Asked) -> None:
    path = Path(view.trace.path)
    path.write_text(path.read_text().replace("aten::a", "aten::z"))
    op = details(view, "aten::a")
    assert op.args == ()
    assert "has changed" in op.args_missing


# --- relatives ------------------------------------------------------------------------------------


def test_a_kernel_leads_to_its_launch_and_its_op(view: Asked) -> None:
    kernel = details(view, "kernel_k")
    found = links(kernel)
    assert found.keys() == {"launched by", "op"}
    assert found["launched by"].to.name == "cudaLaunchKernel"
    assert found["launched by"].delay_ns == 9 * US - 8 * US
    assert found["op"].to.slice == view.find("aten::a")
    launch = kernel.launch
    assert launch is not None
    assert (launch.launch_ns, launch.queued_ns, launch.run_ns) == (US, US, 3 * US)
    assert kernel.kind_label == "Compute kernel"


def test_a_call_leads_to_its_kernel_and_its_op(view: Asked) -> None:
    call = details(view, "cudaLaunchKernel", 1)
    found = links(call)
    assert found["launches"].to.name == "kernel_k"
    assert found["launches"].label.replace("\u00a0", " ") == "kernel, 3.00 µs"
    assert found["op"].to.name == found["parent"].to.name == "aten::a"
    assert call.launch is None


def test_an_op_leads_to_its_kernels_and_to_its_backward(view: Asked) -> None:
    found = links(details(view, "aten::a"))
    assert found["kernels"].to.name == "kernel_l"
    assert found["kernels"].label.replace("\u00a0", " ") == "1 of 2 kernels, 5.00 µs in all"
    assert found["kernels"].count == 2
    assert found["backward"].to.name == "aten::c"
    assert found["backward"].delay_ns == 15 * US - 10 * US


def test_a_backward_op_leads_to_its_forward(view: Asked) -> None:
    assert links(details(view, "aten::c"))["forward"].to.name == "aten::a"
    # so do the call inside it and the kernel that it launched
    assert links(details(view, "cudaLaunchKernel", 3))["forward"].to.name == "aten::a"
    assert links(details(view, "kernel_p"))["forward"].to.name == "aten::a"


# --- stacks ---------------------------------------------------------------------------------------


def test_the_stack_is_the_frames_around_it(view: Asked) -> None:
    op = details(view, "aten::a")
    assert [(one.name, one.file, one.line) for one in op.stack] == [
        ("nn.Module: M_0", "", 0),
        ("_call_impl", "/lib/torch/nn/modules/module.py", 1501),
        ("main", "train.py", 7),
    ]
    assert op.stack[2].slice == view.find("train.py(7): main")
    assert (op.source_file, op.source_line) == ("", 0)


def test_the_stack_of_a_kernel_is_that_of_its_launch(view: Asked) -> None:
    assert details(view, "kernel_k").stack == details(view, "aten::a").stack


def test_a_frame_knows_its_line(view: Asked) -> None:
    frame = details(view, "train.py(7): main")
    assert (frame.source_file, frame.source_line) == ("train.py", 7)
    assert [one.name for one in frame.stack] == ["main"]


def test_where_there_is_no_frame_it_says_so(view: Asked, tmp_path: Path) -> None:
    assert details(view, "aten::c").stack_missing == "No Python frame was open around it."
    bare = asked(tmp_path, "op |aaa|")
    assert "with_stack=True" in details(bare, "aten::a").stack_missing


def test_older_recorders_write_the_stack_as_text(tmp_path: Path) -> None:
    stack = "model.py(3): forward;<built-in method x>;train.py(9): <module>"
    view = asked(
        tmp_path,
        "op | aaaa |\n call | l |\n gpu | ll |",
        args={"a": {"Call stack": stack}},
    )
    expected = [
        ("forward", "model.py", 3),
        ("<built-in method x>", "", 0),
        ("<module>", "train.py", 9),
    ]
    for name in ("aten::a", "cudaLaunchKernel", "kernel_l"):
        answer = details(view, name)
        assert [(one.name, one.file, one.line) for one in answer.stack] == expected
        assert {one.slice for one in answer.stack} == {None}


def test_in_the_layout_that_hides_frames(view: Asked) -> None:
    hidden = details(view, "/lib/torch/nn/modules/module.py(1501): _call_impl", layout="filtered")
    assert hidden.track_label == "hidden in this layout"
    assert (hidden.slice.track, hidden.slice.lane) == (-1, -1)
    module = details(view, "nn.Module: M_0", layout="filtered")
    assert links(module)["parent"].to.name == "train.py(7): main"


# --- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "inputs"),
    [
        ({}, ()),
        ({"Input Dims": [[2, 2]]}, (("[2, 2]", ""),)),
        ({"Input Dims": "[[2, 2], []]", "Input type": "[float, Scalar]"},
         (("[2, 2]", "float"), ("[]", "Scalar"))),
        ({"Input dims": [[[2], []]], "Input type": ["TensorList"]}, (("[[2], []]", "TensorList"),)),
        ({"Input type": ["float"]}, (("", "float"),)),
        ({"Input Dims": 7}, ()),
        ({"Input Dims": "nonsense"}, (("nonsense", ""),)),
    ],
)  # fmt: skip
def test_inputs_of_any_age(args: dict[str, Any], inputs: tuple[tuple[str, str], ...]) -> None:
    assert inputs_of(args) == inputs
