"""What each module costs: everything is credited once, and the parts sum to the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.modules.artifact import modules_of, never_called
from kinetoscope.analysis.modules.costs import allocations
from kinetoscope.analysis.modules.figures import device_busy_ns, figures_of, outside_of
from kinetoscope.analysis.modules.model import ModuleColumns, Outside, Phase
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.intervals import union
from kinetoscope.trace.model import HostKind, Trace
from tests.analysis.modules.test_sources import paths
from tests.collected import FILES, opened
from tests.conftest import requires_traces
from tests.drawing import Event, draw, memory, trace_of

TRAINING = """
    step    |111111111111111111111111111111|
    module  | aaaaaaaaaaa                  |
    module  |  bbbb  cccc                  |
    op      |  x      y      z  o          |
    call    |  k      m      n  q          |
    op2     |                 u   vvvvv w  |
    module2 |                     ccc      |
    op2     |                     y        |
    call2   |                 p   s  t  r  |
    gpu     |    kkk    mm      n qqppsst r|
    """
LINKS: dict[str, dict[str, Any]] = {
    "x": {"Sequence number": 1},
    "y": {"Sequence number": 2},
    "z": {"Sequence number": 3},
    "u": {"Sequence number": 3, "Fwd thread id": 1},
    "v": {"Sequence number": 2, "Fwd thread id": 1},
    "w": {"Sequence number": 1, "Fwd thread id": 1},
}
NAMES = {"o": "Optimizer.step#SGD.step"}


def device_us(columns: ModuleColumns, phase: Phase) -> dict[str, int]:
    """Own device time in µs by module, where there is some."""
    own = figures_of(columns, None).device_self_ns[phase] // 1000
    return {path: int(us) for path, us in zip(paths(columns), own, strict=True) if us}


def outside_us(columns: ModuleColumns) -> dict[str, int]:
    return {
        one.reason.name.lower(): one.device_ns // 1000
        for one in outside_of(columns, None)
        if one.device_ns
    }


def test_device_time_by_module_and_phase() -> None:
    columns = modules_of(draw(TRAINING, args=LINKS, names=NAMES))
    assert device_us(columns, Phase.FORWARD) == {"a_0/b_0": 3, "a_0/c_0": 2}
    assert device_us(columns, Phase.BACKWARD) == {"a_0/c_0": 1, "a_0/b_0": 1}
    assert device_us(columns, Phase.RECOMPUTE) == {"a_0/c_0": 2}
    # z is an op outside modules, so u is backward of none; o is the optimizer.
    assert outside_us(columns) == {"other": 1, "optimizer": 2, "backward": 2}


def test_totals_include_what_is_inside() -> None:
    columns = modules_of(draw(TRAINING, args=LINKS, names=NAMES))
    figures = figures_of(columns, None)
    assert (figures.device_total_ns[:, 0] // 1000).tolist() == [5, 2, 2]
    assert figures.device_self_ns[:, 0].sum() == 0
    assert figures.calls.tolist() == [1, 1, 1]
    assert figures.again.tolist() == [0, 0, 1]
    assert (figures.host_total_ns // 1000).tolist() == [11, 4, 4]
    assert (figures.host_self_ns // 1000).tolist() == [3, 4, 4]
    assert (figures.host_again_ns // 1000).tolist() == [0, 0, 3]


def test_busy_time_counts_an_instant_once_by_device_and_step() -> None:
    columns = modules_of(
        draw("""
        step    |1111111111111112222222|
        module  | aaaaaaaaa     aaa    |
        module  |  bbb ccc             |
        call    |  k   m n      q      |
        gpu     |    kkkk       qqq    |
        gpu.9   |      mmmm            |
        gpu1    |      nnn             |
        """)
    )
    figures = figures_of(columns, None)
    # On the first device k and m take six µs together; n has a device of its own.
    assert (figures.busy_ns // 1000).tolist() == [12, 4, 7]
    assert (figures.device_total_ns.sum(axis=0) // 1000).tolist() == [14, 4, 7]
    assert (figures_of(columns, (0,)).busy_ns // 1000).tolist() == [9, 4, 7]
    assert device_busy_ns(columns, None) == 12_000


def test_what_has_no_launch_is_unlinked() -> None:
    columns = modules_of(
        draw("""
        module  |   aaaa |
        call    |    k   |
        gpu     |p    k u|
        """)
    )
    assert device_us(columns, Phase.FORWARD) == {"a_0": 1}
    assert outside_us(columns) == {"prologue": 1, "unlinked": 1}


def test_a_replayed_graph_names_no_module() -> None:
    picture = """
        module  |aaaa     |
        call    | k     g |
        gpu     |  k      |
        """
    replayed = [
        {"ph": "X", "cat": "kernel", "name": f"node {at}", "pid": 0, "tid": 7, "ts": 8 + at,
         "dur": 1, "args": {"device": 0, "stream": 7, "correlation": 103001}}
        for at in range(3)
    ]  # fmt: skip
    columns = modules_of(draw(picture, names={"call g": "cudaGraphLaunch"}, events=replayed))
    assert device_us(columns, Phase.FORWARD) == {"a_0": 1}
    assert outside_us(columns) == {"graph": 3}


def test_kernels_that_name_their_module_belong_to_it() -> None:
    columns = modules_of(
        draw(
            """
            call    | k     g |
            gpu     |  k     g|
            """,
            args={"g": {"module_fqn": "layers.1.mlp"}},
        )
    )
    assert columns.source == "graph"
    assert device_us(columns, Phase.FORWARD) == {"layers.1.mlp": 1}
    assert outside_us(columns) == {"other": 1}


def test_idle_time_belongs_to_the_module_that_ends_it() -> None:
    columns = modules_of(draw(TRAINING, args=LINKS, names=NAMES))
    idle = dict(
        zip(paths(columns), (figures_of(columns, None).idle_ns // 1000).tolist(), strict=True)
    )
    # From the start of the step to the first kernel, which is of b; from 7 to 11 for c.
    assert idle["a_0/b_0"] >= 4
    assert idle["a_0/c_0"] >= 4


def test_flops_count_once() -> None:
    shapes = {"Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}
    columns = modules_of(
        draw(
            """
            module  |aaaaaaaa|
            op      | llllll |
            op      |  mmm   |
            """,
            names={"l": "aten::linear", "m": "aten::mm"},
            args={"l": {"Input Dims": [[2, 3], [4, 3], []]}, "m": shapes},
        )
    )
    assert figures_of(columns, None).flops.tolist() == [2.0 * 2 * 3 * 4]


def at_address(ts: float, size: int, address: int) -> Event:
    return memory(ts, size, 0) | {
        "args": {"Device Type": 1, "Device Id": 0, "Bytes": size, "Addr": address,
                 "Total Allocated": 0, "Total Reserved": 0},
    }  # fmt: skip


def test_memory_born_and_kept() -> None:
    columns = modules_of(
        draw(
            """
            module  |aaaaaaaaaaaa|
            module  | bbbb       |
            op      | xxxx   yy z|
            """,
            events=[
                at_address(2, 64, 1), at_address(3, 8, 2), at_address(4, -8, 2),
                at_address(8, 100, 3), at_address(10, -64, 1), at_address(20, 5, 4),
            ],
        )
    )  # fmt: skip
    figures = figures_of(columns, None)
    assert figures.born_bytes.tolist() == [172, 72]
    # 64 outlive b, though not a; 100 outlive a.
    assert figures.kept_bytes.tolist() == [164, 64]
    assert int(columns.outside.born_bytes.sum()) == 5
    assert "memory" in modules_of(draw("module |aa|")).missing


@pytest.mark.parametrize("form", ["ranges of FSDP", "ops of TorchScript"])
def test_memory_is_kept_by_a_call_that_has_no_row_of_its_own(form: str) -> None:
    """x is the first op of the call of b, y the second: 64 outlive the call, 8 do not."""
    sharded = form == "ranges of FSDP"
    path = "TOP(a)::forward.b(B)::forward."
    columns = modules_of(
        draw(
            """
            note    |pp    qq      |
            op      |  x y   z     |
            """
            if sharded
            else """
            op      |  x y   z     |
            """,
            names={"p": "FSDP::pre_forward (b)", "q": "FSDP::post_forward (b)"},
            args={} if sharded else {key: {"Module Hierarchy": path} for key in "xy"},
            events=[
                at_address(2, 4, 1), at_address(4, 64, 2), at_address(4.5, 8, 3),
                at_address(4.8, -8, 3),
            ],
        )
    )  # fmt: skip
    figures = figures_of(columns, None)
    place = [columns.strings[code] for code in columns.tree.name.tolist()].index("b")
    assert int(figures.born_bytes[place]) == 76
    assert int(figures.kept_bytes[place]) == 68


def test_ops_inside_ops_do_not_count() -> None:
    columns = modules_of(
        draw("""
        module  |aaaaaaaaaaaa|
        module  |      bbb   |
        op      | xxx   z    |
        op      |  y         |
        """)
    )
    assert figures_of(columns, None).ops.tolist() == [2, 1]


def test_steps_are_apart() -> None:
    columns = modules_of(
        draw("""
        step    |11111122222|
        module  | aaa   a   |
        call    |  k    k   |
        gpu     |   k    kk |
        """)
    )
    for steps, us, calls in (((0,), 1, 1), ((1,), 2, 1), (None, 3, 2), ((0, 1), 3, 2)):
        figures = figures_of(columns, steps)
        assert figures.device_total_ns.sum() == us * 1000
        assert figures.calls.tolist() == [calls]


# --- sums -----------------------------------------------------------------------------------------


def check_sums(trace: Trace) -> None:
    """Modules, outside and unlinked are all there is, to the nanosecond."""
    columns = modules_of(trace)
    own, outside = figures_of(columns, None), outside_of(columns, None)
    host, device = trace.host, trace.device
    busy = np.isin(host.kind, (HostKind.OP, HostKind.RUNTIME))
    parts = {
        "device": (int(own.device_self_ns.sum()), sum(one.device_ns for one in outside)),
        "ops": (int(own.op_self_ns.sum()), sum(one.op_ns for one in outside)),
    }
    assert sum(parts["device"]) == int(device.dur.astype(np.int64).sum())
    assert sum(parts["ops"]) == int(host.self_ns[busy].sum())
    roots = columns.tree.parent < 0
    assert own.device_total_ns[:, roots].sum() == parts["device"][0]
    idle = sum(step.partition.idle_ns for one in summarize(trace).steps for step in one.devices)
    assert own.idle_ns[roots].sum() + sum(one.idle_ns for one in outside) == idle
    allocated = sum(
        int(np.maximum(trace.memory.bytes[one.rows], 0).sum()) for one in allocations(trace)
    )
    outside_bytes = int(columns.outside.born_bytes.sum())
    assert own.born_bytes[roots].sum() + outside_bytes == allocated
    assert (own.kept_bytes <= own.born_bytes).all()
    check_busy(columns, trace)
    assert min(own.device_self_ns.min(initial=0), own.op_self_ns.min(initial=0)) >= 0
    assert (own.host_self_ns <= own.host_total_ns).all()
    # By steps, and outside of steps, it is the same again.
    every = [figures_of(columns, (step,)).device_self_ns for step in range(-1, len(trace.steps))]
    assert np.array_equal(sum(every), own.device_self_ns)


def check_busy(columns: ModuleColumns, trace: Trace) -> None:
    """Busy time is the length of a union: of all work, and of each module no more than the sum."""
    device, own = trace.device, figures_of(columns, None)
    places = set(zip(device.device.tolist(), device.step.tolist(), strict=True))
    unions = (
        union(device.ts[rows], (device.ts + device.dur)[rows]).total_ns
        for one, step in places
        if (rows := (device.device == one) & (device.step == step)).any()
    )
    assert device_busy_ns(columns, None) == sum(unions)
    total = own.device_total_ns.sum(axis=0)
    assert (own.busy_ns <= total).all()
    assert ((own.busy_ns > 0) == (total > 0)).all()
    # A module is busy at least as long as any inside it, and at most as long as all together.
    up = columns.tree.parent
    inside = np.flatnonzero(up >= 0)
    assert (own.busy_ns[inside] <= own.busy_ns[up[inside]]).all()
    together = own.device_self_ns.sum(axis=0)
    np.add.at(together, up[inside], own.busy_ns[inside])
    assert (own.busy_ns <= together).all()


LANES = ("module", "frame", "op", "op2", "module2", "call", "call2", "note")


@st.composite
def recordings(any_: st.DrawFn) -> list[Event]:
    """Made-up events: modules, ops forward and backward, calls, kernels with and without them."""
    events: list[Event] = []
    count = any_(st.integers(0, 14))
    names = any_(st.sampled_from((("module", "range"), ("sharded",))))
    for _ in range(count):
        kind = any_(st.sampled_from(("op", "backward", "call", "gpu", "note", *names, *names)))
        thread = any_(st.integers(1, 2))
        ts, dur = any_(st.integers(0, 30)), any_(st.integers(0, 20))
        letter = any_(st.sampled_from("abc"))
        number = any_(st.integers(0, 3))
        event: Event = {"ph": "X", "pid": 1, "tid": thread, "ts": ts, "dur": dur, "args": {}}
        if kind == "module":
            event |= {"cat": "python_function", "name": f"nn.Module: {letter}_0"}
        elif kind == "note":
            event |= {
                "cat": "user_annotation",
                "name": any_(st.sampled_from(("Optimizer.step#A", "ProfilerStep#1"))),
            }
        elif kind == "range":
            event |= {"cat": "user_annotation", "name": f"[module]{letter}: x.{letter}"}
        elif kind == "sharded":
            what = any_(st.sampled_from(("pre_forward", "post_forward", "pre_backward")))
            name = any_(st.sampled_from(("", f" ({letter})", f" ({letter}.0)")))
            event |= {"cat": "user_annotation", "name": f"FSDP::{what}{name}"}
        elif kind == "op":
            event |= {
                "cat": "cpu_op",
                "name": f"aten::{letter}",
                "args": {"Sequence number": number},
            }
        elif kind == "backward":
            event |= {"cat": "cpu_op", "name": f"{letter}Backward0",
                      "args": {"Sequence number": number, "Fwd thread id": 1}}  # fmt: skip
        elif kind == "call":
            event |= {
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "args": {"correlation": number},
            }
        else:
            event |= {"cat": "kernel", "name": f"k{letter}", "pid": 0, "tid": 7,
                      "args": {"device": 0, "stream": 7, "correlation": number}}  # fmt: skip
        events.append(event)
    return events


@given(recordings())
def test_parts_sum_to_the_whole_of_any_recording(events: list[Event]) -> None:
    check_sums(trace_of(events))


@requires_traces
@pytest.mark.parametrize("name", FILES)
def test_parts_sum_to_the_whole_of_real_recordings(name: str) -> None:
    check_sums(opened(name))


def test_reasons_are_all_told() -> None:
    assert [one.reason for one in outside_of(modules_of(draw("op |aa|")), None)] == list(Outside)


def test_modules_that_never_ran_are_told_where_the_model_is_known() -> None:
    model = {
        "": "Net",
        "blocks": "ModuleList",
        "blocks.0": "Block",
        "blocks.0.drop": "Dropout",
        "head": "Linear",
        "spare": "Sequential",
        "spare.0": "Linear",
    }
    # A list is not called itself; of what is spare the outermost is told.
    called = {"", "blocks.0", "head"}
    assert never_called(model, called) == ("blocks.0.drop", "spare")
    assert never_called(None, called) == ()
