"""Both sides of bounds in sentences, and of small functions that they rest on."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from kinetoscope.analysis import headline, host_activity, user_code, wording
from kinetoscope.analysis.compile import build, news
from kinetoscope.analysis.compile import kernels as compiled_kernels
from kinetoscope.analysis.operators import kernels
from kinetoscope.analysis.operators.short_names import demangled
from kinetoscope.analysis.speed_of_light import figures
from kinetoscope.analysis.speed_of_light.figures import SpeedGroups
from kinetoscope.analysis.steps import HEAD
from kinetoscope.trace.model import DeviceClass, HostKind
from tests.drawing import draw


def of(**parts: object) -> Any:
    """An object with some of the parts of a recording."""
    return SimpleNamespace(**parts)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def chosen(**parts: Any) -> Any:
    """Some steps: ``count`` of them, of 1 ms together unless said."""
    facts = of(step_source=parts.pop("source", "profiler_step"), **parts.pop("facts", {}))
    total = parts.setdefault("total_ns", 1_000_000)
    count = parts.setdefault("count", 1)
    return of(
        facts=facts, mean=lambda ns: ns / max(count, 1), ratio=lambda ns: ns / total,
        device_facts=None, **parts,
    )  # fmt: skip


# --- what is not judged, and means ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "again", "said"),
    [
        (10_000, 0, "Compilation in this step: 10.0 µs first, which is warm-up."),
        (0, 10_000, "Compilation in this step: 10.0 µs again."),
        (4_000, 6_000,
         "Compilation in this step: 4.00 µs first, which is warm-up; 6.00 µs again."),
        (4_000, 5_999, ""),
        (0, 0, ""),
    ],
)  # fmt: skip
def test_compilation_is_said_from_a_hundredth_on(first: int, again: int, said: str) -> None:
    compiled = of(first_and_again=lambda spans: (first, again))
    selection = chosen(steps=(), facts={"compiled": compiled})
    assert plain(wording.compilation(selection)) == said


def test_at_most_four_parts_are_said_not_to_be_judged() -> None:
    """Of steps 0, 2, 4, 7 and 9 those between are missing; one of two alone is one step."""
    skipped = [(), (1,), (3,), (5, 6), (8,), (10, 12)]
    facts = of(
        head_ns=0, tail_ns=2_000, step_source="profiler_step", steps=[of(excluded="")] * 6,
        compiled=None, skipped_before=lambda index: skipped[index],
    )  # fmt: skip
    selection = of(facts=facts, partition=None, device_facts=None, indexes=(), steps=(), count=6)
    assert [plain(one) for one in wording.not_judged(selection)] == [
        "The last 2.00 µs are not judged: only the recorder ran.",
        "Step 1 is not in the recording.",
        "Step 3 is not in the recording.",
        "Steps 5 to 6 are not in the recording.",
    ]


@pytest.mark.parametrize(
    ("steps", "source", "is_left"),
    [(["", ""], "profiler_step", True), ([""], "profiler_step", False),
     ([""], "iteration", True), (["head", "head"], "profiler_step", False)],
)  # fmt: skip
def test_no_whole_step_is_left_behind_a_head(steps: list[str], source: str, is_left: bool) -> None:
    facts = of(
        head_ns=5_000, tail_ns=0, step_source=source, compiled=None,
        steps=[of(excluded=HEAD if one == "head" else one) for one in steps],
        skipped_before=lambda index: (),
    )  # fmt: skip
    selection = of(facts=facts, partition=None, device_facts=None, indexes=(), steps=(), count=1)
    said = " ".join(wording.not_judged(selection))
    assert "The first" in said
    assert ("No whole" not in said) is is_left
    assert ("Only one iteration" in said) is (source == "iteration")


def test_no_compilation_without_time() -> None:
    compiled = of(first_and_again=lambda spans: (0, 0))
    assert wording.compilation(chosen(steps=(), total_ns=0, facts={"compiled": compiled})) == ""
    assert wording.compilation(chosen(steps=(), facts={"compiled": None})) == ""


@pytest.mark.parametrize(
    ("source", "count", "shares", "said"),
    [
        ("profiler_step", 1, [0.5], "of the step"),
        ("profiler_step", 2, [0.5, 0.5], "of every step"),
        ("profiler_step", 2, [0.28125, 0.34375], "of every step"),
        ("profiler_step", 2, [0.44, 0.56], "of the mean step"),
        ("profiler_step", 3, [0.5, 0.5], "of the mean step"),
        ("profiler_step", 3, [], "of the mean step"),
        ("iteration", 2, [0.5, 0.5], "of every iteration"),
        ("whole_trace", 2, [0.5, 0.5], "of the recording"),
    ],
)
def test_of_which_steps_a_share_is(source: str, count: int, shares: list[float], said: str) -> None:
    assert wording.of_step(chosen(source=source, count=count), shares) == said


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ([100], "a step of 100 µs"),
        ([100, 300], "a mean step of 200 µs"),
        ([100, 100, 115], "a mean step of 105 µs (median 100 µs)"),
        ([100, 100, 114.9], "a mean step of 105 µs"),
        ([100, 100, 85], "a mean step of 95.0 µs (median 100 µs)"),
        ([100, 100, 85.1], "a mean step of 95.0 µs"),
    ],
)
def test_a_median_is_said_where_the_mean_is_far_off(lengths: list[float], said: str) -> None:
    steps = [of(ns=int(1000 * one)) for one in lengths]
    selection = chosen(
        count=len(steps), total_ns=sum(one.ns for one in steps), steps=steps,
        length_ns=lambda one: one.ns,
    )  # fmt: skip
    assert plain(wording.mean_step(selection)) == said


@pytest.mark.parametrize(
    ("source", "count", "per", "whole"),
    [
        ("profiler_step", 1, "in this step", "step"),
        ("profiler_step", 2, "per step", "mean step"),
        ("whole_trace", 1, "in the recording", "recording"),
        ("whole_trace", 2, "in the recording", "recording"),
        ("iteration", 2, "per iteration", "mean iteration"),
    ],
)
def test_units_and_bases(source: str, count: int, per: str, whole: str) -> None:
    selection = chosen(source=source, count=count)
    assert (wording.per_step(selection), wording.whole_of(selection)) == (per, whole)


@pytest.mark.parametrize(
    ("values", "said"),
    [([1000], "1.00 µs"), ([1000, 1001], "1.00 µs"), ([2000, 1000], "1.00 µs to 2.00 µs")],
)
def test_a_spread_of_one_value_is_said_once(values: list[int], said: str) -> None:
    assert plain(wording.spread(values)) == said


@pytest.mark.parametrize(
    ("frame", "short"),
    [
        ("a/b/net.py(3): forward", "a/b/net.py(3): forward"),
        ("a/b/c/net.py(3): forward", "…/c/net.py(3): forward"),
        ("aten::mm", "aten::mm"),
    ],
)
def test_a_frame_of_many_folders_has_the_last_one(frame: str, short: str) -> None:
    assert wording.short_frame(frame) == short
    here = of(op="aten::mm", frame=frame)
    assert wording.whereabouts(here) == f"in `aten::mm`, at `{short}`"
    assert wording.whereabouts(here, "aten::mm") == f"at `{short}`"
    assert wording.whereabouts(None) == wording.whereabouts(of(op="", frame="")) == ""


# --- what the device waits for --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queued", "before", "said"),
    [
        (50, 0, "had work queued but did not start it."),
        (49, 0, "no launching thread recorded any activity."),
        (49, 50, "no launching thread recorded any activity."),
        (49, 51, "no launch of the next work is in the recording."),
    ],
)
def test_idle_time_without_a_cause(
    queued: int, before: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(headline, "held_by", lambda *_, **__: "")
    selection = chosen(idle=of(queued_ns=queued), partition=of(idle_before_ns=before))
    assert headline._without_cause(selection, 100).endswith(said)


@pytest.mark.parametrize(("agree", "said"), [(3, ""), (2, "in 2 of 3 steps"), (4, "")])
def test_agreement_is_said_where_some_steps_differ(agree: int, said: str) -> None:
    assert plain(headline._in_steps(chosen(count=3), agree)) == said


@pytest.mark.parametrize(("idle", "name"), [(50, "range"), (49, None)])
def test_the_widest_range_holds_half(idle: int, name: str | None) -> None:
    others = of(cause="forward_ns", idle_ns=99, name="op")
    held = of(cause="uninstrumented_ns", idle_ns=idle, name="range")
    found = headline._widest_range(chosen(host_held=[others, held]), 100)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("captured", "is_largest"), [((50, 49, 49, 49), True), ((50, 50, 0, 0), False),
                                 ((50, 0, 50, 0), False), ((50, 0, 0, 50), False)],
)  # fmt: skip
def test_a_capture_is_said_where_it_is_the_largest_part(
    captured: tuple[int, int, int, int], is_largest: bool
) -> None:
    capture, compute, communication, copy = captured
    total = of(compute_ns=compute, exposed_communication_ns=communication, exposed_copy_ns=copy)
    selection = of(partition=of(idle_capture_ns=capture))
    assert headline._is_largest(selection, total) is is_largest


def test_other_python_stands_beside_parts_that_include_their_own() -> None:
    def name(forward: int, backward: int, optimizer: int) -> str:
        total = of(forward_ns=forward, backward_ns=backward, optimizer_ns=optimizer)
        return headline._work_name(total, "python_ns")

    assert [name(0, 0, 0), name(1, 0, 0), name(0, 1, 0), name(0, 0, 1)] == [
        "Python", "other Python", "other Python", "other Python",
    ]  # fmt: skip
    assert headline._work_name(of(forward_ns=1, backward_ns=1, optimizer_ns=1), "forward_ns") == (
        "forward"
    )


@pytest.mark.parametrize(
    ("count", "idle", "longest", "first", "kind", "said"),
    [
        (1, 10, 10, "call", "op", "(once, the first call in the recording)"),
        (1, 10, 10, "call", "annotation", "(once, nothing recorded inside)"),
        (2, 10, 5, "call", "op", "(2 times)"),
        (2, 10, 6, "call", "op", "(2 times, 6 ns of it in one, the first call in the recording)"),
        (0, 10, 5, "", "op", ""),
        (0, 10, 6, "", "op", "(6 ns of it in one)"),
    ],
)
def test_a_name_and_how_often(
    count: int, idle: int, longest: int, first: str, kind: str, said: str
) -> None:
    held = of(
        name="aten::mm", count=count, idle_ns=idle, kind=kind,
        longest=of(first=first, longest_ns=longest),
    )  # fmt: skip
    text = plain(wording.called(held))
    assert text == f"`aten::mm` for 10 ns {said}".strip()


# --- what they rest on ----------------------------------------------------------------------------


def test_what_binds_a_row_is_the_larger_half_of_its_light() -> None:
    groups = of(
        compute_bound_ns=np.array([50.0, 51.0, 40.0, 0.0]),
        light_ns=np.array([100.0, 100.0, 100.0, np.nan]),
    )
    bound = cast("Any", SpeedGroups.bound).func(groups)
    assert bound == ("memory", "compute", "memory", None)


def test_a_message_has_a_size_where_its_type_and_elements_are_known() -> None:
    columns = {
        "in_elements": np.array([10, 3, 5, 0, -1]),
        "out_elements": np.array([4, 8, 5, 0, -1]),
        "collective_dtype": np.array([0, 0, 1, 0, 0]),
    }

    def sizes(args: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[int]:
        monkeypatch.setattr(
            user_code, "cells", lambda told, rows, _: np.full(len(rows), -1) if told is None
            else told,
        )  # fmt: skip
        code = of(collectives=np.arange(5), trace=of(device=of(args=args), strings=("Half", "Odd")))
        return cast("list[int]", user_code.DeviceCode.message_bytes(code).tolist())

    with pytest.MonkeyPatch.context() as patch:
        assert sizes(columns, patch) == [20, 16, -1, 0, -1]
        assert sizes({}, patch) == [-1] * 5


@pytest.mark.parametrize(
    ("known", "mbu", "expected"),
    [(0.5, 0.25, (0.1, 0.25, 0.7)), (0.5, None, (0.1, None, None)),
     (0.0, 0.25, (None, None, None))],
)  # fmt: skip
def test_a_phase_has_figures_where_enough_is_known(
    known: float, mbu: float | None, expected: tuple[float | None, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    chosen = of(
        utilization=lambda ns: of(mfu_ratio=0.1, at_least=False), figure_ratio=known,
        mbu_ratio=lambda ns: mbu, weights_ratio=0.7, key_reads=lambda: None,
    )  # fmt: skip
    monkeypatch.setattr(figures, "SpeedSelection", lambda *_: chosen)
    found = figures.phase_use(cast("Any", None), (0,), 0, 9)
    names = ("mfu_ratio", "mbu_ratio", "weights_ratio")
    assert tuple(getattr(found, name) for name in names) == expected
    assert found.at_least is (known == 0)


def test_what_may_lie_below_a_range() -> None:
    """Ranges from 10 to 20 (with a short one from 12 to 14) and from 40 to 50, in any order."""
    ts = np.array([40, 12, 10, 5, 10, 14, 20, 21, 39, 50, 51])
    trace = of(host=of(ts=ts, dur=np.array([10, 2, 10, *[0] * 8])))
    above = np.arange(len(ts)) < 3
    found = host_activity._may_be_below(trace, above, np.arange(3, len(ts)))
    assert found.tolist() == [False, True, True, True, False, False, True, False]
    alone = np.arange(len(ts)) == 0
    assert host_activity._may_be_below(trace, alone, np.array([3])).tolist() == [False]


def test_ranges_with_computing_ops_below_are_left_open() -> None:
    """Row 1 in row 0 computes; row 3 in row 2 copies; row 5 computes for no range above row 4."""
    trace = of(
        host=of(
            ts=np.arange(6), dur=np.full(6, 9), parent=np.array([-1, 0, -1, 2, -1, 4], np.int32),
            __len__=lambda: 6,
        ),
        device=of(
            klass=np.array([DeviceClass.COMPUTE, DeviceClass.COPY, DeviceClass.COMPUTE]),
            op=np.array([1, 3, 5], np.int32),
        ),
    )  # fmt: skip

    class Host(SimpleNamespace):
        def __len__(self) -> int:
            return 6

    trace.host = Host(**{key: one for key, one in vars(trace.host).items() if key != "__len__"})
    under_way = np.array([True, False, True, False, False, False])
    assert host_activity._left_open(trace, under_way).tolist() == [True, *[False] * 5]
    assert not host_activity._left_open(trace, np.zeros(6, np.bool_)).any()


def test_the_main_thread_has_the_step_though_another_runs_more_ops() -> None:
    trace = draw(
        """
        step   |1111          |
        op2    |    aaaaaaaaaa|
        """
    )
    thread = host_activity.main_thread(trace)
    assert trace.threads.tid[thread] == trace.threads.tid[trace.host.thread[0]]
    assert host_activity.main_thread(draw("gpu |aa|")) == -1


def test_the_loader_is_the_one_that_takes_most_time() -> None:
    strings = tuple(f"enumerate(DataLoader)#_{kind}Iter.__next__" for kind in ("A", "B", "C"))

    def named(durations: list[int]) -> str | None:
        host = of(name=np.array([2, 1, 1]), dur=np.array(durations))
        return host_activity._loader_class(of(host=host, strings=strings), np.arange(3))

    assert named([5, 3, 3]) == "_BIter"
    assert named([7, 3, 3]) == "_CIter"
    assert named([0, 0, 0]) == "_CIter"


def test_rows_by_the_frame_that_they_belong_to() -> None:
    """Row 3 belongs to none; the last name is that of the frame in row 1; weight 0 has no group."""
    code = of(
        owner=np.array([0, 1, 1, -1, 2], np.int32),
        name=np.array([0, 2, 1, 1, 1], np.int32),
        trace=of(strings=("first", "second", "last")),
    )
    found = user_code.HostCode.by_owner(code, np.arange(5), np.array([5, 4, 3, 6, 0]), 9)
    assert [(name, rows.tolist()) for name, rows in found] == [
        ("last", [1, 2]), ("", [3]), ("first", [0]),
    ]  # fmt: skip
    few = user_code.HostCode.by_owner(code, np.arange(5), np.array([5, 4, 3, 6, 1]), 2)
    assert [name for name, _ in few] == ["last", ""]
    assert user_code.HostCode.by_owner(code, np.arange(0), np.arange(0), 9) == []


def test_bytes_of_activities_that_record_them() -> None:
    """Of three groups the first has one such activity and one without, the last none."""
    code = np.array([0, 0, 1, 2])
    groups = of(
        sums=lambda values: np.bincount(code, values, 3).astype(np.int64),
        any=lambda mask: np.bincount(code, mask, 3) > 0,
    )
    table = of(activities=of(bytes=np.array([5, -1, 0, -1])), groups=groups)
    assert cast("Any", kernels.KernelGroups.bytes).func(table).tolist() == [5, 0, -1]


def test_runs_of_generated_kernels_are_kernels_and_ops_of_cpp() -> None:
    """Row 2 is a frame of the same name; another op is no generated one."""
    strings = ("triton_poi_fused_add_0", "graph_0_cpp_fused_mul_1", "aten::mm")
    trace = of(
        strings=strings,
        device=of(name=np.array([0, 2, 0]), dur=np.array([3, 5, 7]), op=np.array([1, 1, 3])),
        host=of(
            name=np.array([1, 2, 1, 1]),
            dur=np.array([2, 4, 8, 16]),
            kind=np.array([HostKind.OP, HostKind.OP, HostKind.PYTHON, HostKind.OP]),
        ),
    )
    found = [(name, dur.tolist(), op.tolist()) for name, dur, op in compiled_kernels._runs(trace)]
    assert found == [
        ("triton_poi_fused_add_0", [3, 7], [1, 3]), ("cpp_fused_mul_1", [2, 16], [0, 3]),
    ]  # fmt: skip


def test_what_is_new_in_compiled_functions() -> None:
    facts = of(
        breaks=[of(name="f", reason="print", place="net.py:4")],
        versions=[of(function=0, reasons=())],
        label=lambda one: "g",
    )
    some = Counter({("again", "g", ""): 1})
    assert news._worded(facts, some) == ["recompilation of `g`"]
    some = Counter({("break", "f", "print"): 1, ("again", "g", ""): 2, ("limit", "g", ""): 1})
    assert news._worded(facts, some) == [
        "graph break at `net.py:4`", "2 recompilations of `g`", "recompile limit met by `g`",
    ]  # fmt: skip


def test_the_function_of_number_0_may_go_on_behind_a_break(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "matches", lambda *_: np.zeros(1, np.bool_))
    monkeypatch.setattr(build, "_gaps", lambda _, rows, __: {"calls": len(rows)})
    trace = of(strings=(), host=of(name=np.zeros(1, np.int32)))
    functions = (of(name="f", resumes_at=9), of(name="g", resumes_at=0))
    regions = of(rows_by_id={"0/0": np.arange(2), "0/1": np.arange(1), "1/0": np.arange(4)})
    versions = (
        of(function=0, id="0/0"), of(function=0, id="0/1"), of(function=1, id="1/0"),
        of(function=-1, id="0/0"), of(function=0, id="9/9"),
    )  # fmt: skip
    found = build._behind(trace, regions, cast("Any", versions), cast("Any", functions))
    assert found == {("f", 9): {"calls": 3}}


@pytest.mark.parametrize("levels", [39, 40])
def test_templates_nest_up_to_a_depth(levels: int) -> None:
    """Forty levels are read; of more the name stays as it is."""
    mangled = "_Z" + "1fI" * levels + "i" + "E" * levels + "vv"
    named = demangled(mangled)
    deeper = "_Z" + "1fI" * 41 + "i" + "E" * 41 + "vv"
    assert named == "f<" * levels + "int" + ">" * levels
    assert demangled(deeper) == deeper
