"""analysis/compile/remainder: what of a compiled step runs eager, on the host and on a device."""

from __future__ import annotations

from kinetoscope.analysis.compile.remainder import remainder_of
from tests.drawing import draw

NAMES = {
    "R": "Torch-Compiled Region: 0/0",
    "G": "## Call CompiledFxGraph abc ##",
    "C": "entire_frame_compile (dynamo_timed)",
    "D": "dynamo",
    "L": "TorchDynamo Cache Lookup",
    "p": "Optimizer.step#SGD.step",
}
# The first step runs nothing compiled, so that it does not count. In the second: graphs 7 µs, of
# which 2 are compilation; a lookup of 1; eager ops 3 + 4 + 5, of which the last holds a graph of 2.
HOST = """
    step |11111111112222222222222222222222222222222222|
    op   |aaaaaaaa  DD   LRRRRRRRRRRRRRR  bbbb  ccccc |
    op   |             C  GGGGGGG   aaa     e    GG   |
    op   |                  CC e                      |
"""


def test_host_time_is_graphs_eager_ops_compilation_and_guards() -> None:
    found = remainder_of(draw(HOST, names=NAMES))
    assert found is not None
    assert (found.on, found.steps) == ("host", 1)
    assert (found.graph_ns, found.guard_ns) == (7000, 1000)
    assert found.compile_ns == 2000 + 2000 + 1000
    assert [(one.name, one.calls, one.ns) for one in found.ops] == [
        ("aten::b", 1, 4000),
        ("aten::a", 1, 3000),
        ("aten::c", 1, 3000),
    ]
    assert found.eager_ns == 10_000
    assert found.total_ns == 23_000


def test_without_marked_graphs_a_region_counts_as_a_whole() -> None:
    found = remainder_of(draw("op |RRRRR bb|\nop | aa     |", names=NAMES))
    assert found is not None
    assert (found.steps, found.graph_ns, found.eager_ns) == (0, 5000, 2000)
    assert [one.name for one in found.ops] == ["aten::b"]


def test_device_time_counts_by_the_op_that_launched_it() -> None:
    picture = """
        op   | RRRRRRRRRRRRR  bbbbbbb |
        op   |  GGGGGG aaaa    dd ee  |
        call |   k l    m      n  o   |
        gpu  |   kkk lllll mm  nnnnoox|
    """
    found = remainder_of(draw(picture, names={**NAMES, "x": "lost"}))
    assert found is not None
    assert (found.on, found.compile_ns, found.guard_ns) == ("device", 0, 0)
    assert (found.graph_ns, found.eager_ns, found.unknown_ns) == (8000, 8000, 1000)
    assert [(one.name, one.calls, one.ns) for one in found.ops] == [
        ("aten::b", 1, 6000),
        ("aten::a", 1, 2000),
    ]


def test_nothing_compiled_has_no_remainder() -> None:
    assert remainder_of(draw("op |aa bb|")) is None
