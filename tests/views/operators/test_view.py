"""The answers of the Operator view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kinetoscope.base.errors import NotFoundError, QueryError
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read
from kinetoscope.views.operators.contract import (
    FindQuery,
    FlameGraphQuery,
    FoldedQuery,
    OperatorQuery,
    Operators,
    RowQuery,
    SandwichQuery,
)
from kinetoscope.views.operators.details import MOST, MOST_CALLS, details
from kinetoscope.views.operators.rows import OperatorRow
from kinetoscope.views.operators.view import (
    VIEW,
    around,
    build,
    find,
    flame,
    folded_stacks,
    tables,
    window,
)
from kinetoscope.views.table import help_of
from kinetoscope.views.view import Subject
from tests.conftest import TRACES, requires_traces
from tests.drawing import PID, draw, trace_of

PICTURE = """
    step   |111111111111222222222222|
    frame  | ffffffffff  ffffffffff |
    op     |  aaaaaa bb   aaaaaaaa  |
    op     |   ccc          dd      |
    call   |    k     m      k      |
    gpu    |     kkk   mm     kkkk  |
    """
SHAPES = {"a": {"Input Dims": [[2, 3], []]}, "c": {"Input Dims": [[3]]}}


def subject_of(trace: Trace) -> Subject:
    return TraceSession(trace).seen_by(VIEW)


@pytest.fixture(name="subject", scope="module")
def drawn() -> Subject:
    return subject_of(draw(PICTURE, args=SHAPES))


def test_the_answer_adds_up(subject: Subject) -> None:
    answer = build(subject, OperatorQuery(steps="everything"))
    assert [(row.name, row.calls, row.device_self_ns) for row in answer.table.rows[:3]] == [
        ("aten::d", 1, 4_000),
        ("aten::c", 1, 3_000),
        ("aten::b", 1, 2_000),
    ]
    lost = sum(one.device_ns for one in answer.unattributed)
    assert answer.table.device_self_ns is not None
    assert answer.table.device_self_ns + lost == answer.device_ns == 9_000
    for chart in answer.charts:
        parts = sum(part.ns for part in chart.parts) + chart.rest_ns + chart.others_ns
        assert parts == chart.total_ns or chart.stem.endswith("total")
    assert [chart.stem for chart in answer.charts] == [
        "device_self",
        "device_total",
        "host_self",
        "host_total",
    ]
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Operators) == answer


def test_totals_are_shares_of_the_whole_not_of_each_other() -> None:
    """What lies inside an op counts in both; the outermost one takes all the time there is."""
    answer = build(
        subject_of(
            draw(
                """
                op |aaaaaaaaaaaaaaaa|
                op |  bbbbbbbbbbbb  |
                op |    cccccccc    |
                """
            )
        ),
        OperatorQuery(),
    )
    total = next(chart for chart in answer.charts if chart.stem == "host_total")
    assert {part.name: part.ratio for part in total.parts} == {
        "aten::a": 1.0,
        "aten::b": 0.75,
        "aten::c": 0.5,
    }


def test_names_are_found_kind_by_kind() -> None:
    """Steps are no annotations; a name itself comes before longer ones, then the longest time."""
    picture = """
        step   |111111111111222222222222|
        note   | AAAAAA                 |
        op     |   a bbbbb cccccccc     |
        call   |   k  l                 |
        gpu    |    kkk llll            |
        """
    names = {"a": "aten::mm", "b": "aten::mm_out", "c": "aten::MM.Tensor", "A": "my mm"}
    subject = subject_of(draw(picture, names=names))

    def found(search: str, limit: int = 6) -> dict[str, tuple[list[str], int]]:
        kinds = find(subject, FindQuery(search, limit)).kinds
        return {one.kind: ([name.name for name in one.names], one.count) for one in kinds}

    assert found("MM") == {
        "op": (["aten::MM.Tensor", "aten::mm_out", "aten::mm"], 3),
        "annotation": (["my mm"], 1),
        "kernel": ([], 0),
    }
    assert found("aten::mm", 1)["op"] == (["aten::mm"], 3)
    assert found("kernel_ k")["kernel"] == (["kernel_l", "kernel_k"], 2)
    assert found("ProfilerStep")["annotation"] == ([], 0)
    best = find(subject, FindQuery("aten::mm")).kinds[0].names[0]
    row = details(subject, RowQuery(key=best.key)).row
    assert (row.name, row.calls, row.total_ns) == (best.name, best.count, best.total_ns)


def test_an_operator_without_a_name_is_said_to_have_none() -> None:
    trace = draw("op |aaa bb|", names={"a": "", "b": "aten::mm"})
    answer = build(subject_of(trace), OperatorQuery())
    assert answer.headline.startswith("(no name) takes 60.0")


def test_a_graph_is_no_operator() -> None:
    """What most device time is launched by is named for what it is, and leads to Kernel."""
    picture = """
        step   |1111111111111111|
        op     | a              |
        call   | k   g          |
        gpu    |  kk  gggggggg  |
        """
    trace = draw(picture)
    launched = build(subject_of(trace), OperatorQuery())
    assert launched.headline.startswith("`cudaLaunchKernel`, called outside of operators, launches")
    renamed = {"cudaLaunchKernel": "cudaGraphLaunch"}
    strings = tuple(renamed.get(text, text) for text in trace.strings)
    answer = build(subject_of(replace(trace, strings=strings)), OperatorQuery())
    assert answer.headline == "Graphs launch 80.0\u00a0% of the device time and hide its operators."
    assert "cudaGraphLaunch" in answer.detail
    assert "Kernel view" in answer.detail


def test_so_many_operators_are_named_in_each_bar_as_asked_for(subject: Subject) -> None:
    for parts in (1, 2, 10):
        for chart in build(subject, OperatorQuery(parts=parts)).charts:
            assert len(chart.parts) <= parts
            named = sum(part.ns for part in chart.parts) + chart.rest_ns + chart.others_ns
            assert named == chart.total_ns or chart.stem.endswith("total")
    one = build(subject, OperatorQuery(parts=1)).charts[0]
    shown = window(subject, OperatorQuery(kinds="op", sort_by="device_self_ns", offset=1))
    assert one.rest_ns == sum(row.device_self_ns or 0 for row in shown.rows)


def test_steps_kinds_search_and_windows(subject: Subject) -> None:
    def names(**query: Any) -> list[str]:
        return [row.name for row in window(subject, OperatorQuery(**query)).rows]

    assert names(steps="1", kinds="op", sort_by="name", ascending=True) == [
        "aten::a",
        "aten::b",
        "aten::c",
    ]
    assert names(kinds="python") == ["train.py(1): f"]
    assert names(kinds="op", search="aten d", steps="2") == ["aten::d"]
    assert names(kinds="op", search="aten d") == [], "step 2 was cut off, and is no usual step"
    assert names(kinds="op", search="aten d", steps="all") == ["aten::d"]
    assert names(kinds="op", sort_by="calls", limit=1) == ["aten::a"]
    assert names(kinds="op", sort_by="name", ascending=True, offset=2, limit=1) == ["aten::c"]
    assert names(kinds="op", sort_by="self_cpu_time_total", limit=1) == ["aten::a"]


@pytest.mark.parametrize(
    "query", [{"kinds": "op,ops"}, {"sort_by": "cost"}, {"steps": "9"}, {"steps": "x"}]
)
def test_what_has_no_meaning_is_told(subject: Subject, query: dict[str, str]) -> None:
    with pytest.raises(QueryError):
        window(subject, OperatorQuery(**query))  # type: ignore[arg-type]


def test_a_row_opens(subject: Subject) -> None:
    table = window(subject, OperatorQuery(kinds="op", sort_by="total_ns", steps="all"))
    row = table.rows[0]
    found = details(subject, RowQuery(key=row.key, steps="all"))
    assert found.row == row
    assert [(one.detail, one.calls) for one in found.shapes] == [("[[2,3],[]]", 2)]
    assert [[frame.name for frame in one.frames] for one in found.stacks] == [["train.py(1): f"]]
    assert found.stacks[0].frames[0].file == "train.py"
    assert [one.dur_ns for one in found.slowest] == [8_000, 6_000]
    assert found.kernels == ()
    inner = next(row for row in table.rows if row.name == "aten::c")
    kernels = details(subject, RowQuery(key=inner.key)).kernels
    assert [(one.name, one.calls, one.total_ns) for one in kernels] == [("kernel_k", 1, 3_000)]
    with pytest.raises(QueryError):
        details(subject, RowQuery(key="0x1"))


def test_a_row_says_how_many_parts_it_has_beyond_those_listed() -> None:
    """One op, called with more shapes and from more places than an answer holds."""
    number = MOST + 3
    calls = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::c", "pid": PID, "tid": PID, "ts": 10 * at,
         "dur": 5, "args": {"Input Dims": [[1, at]], "Call stack": f"train.py({at}): f"}}
        for at in range(1, number + 1)
    ]  # fmt: skip
    subject = subject_of(trace_of(calls))
    (row,) = window(subject, OperatorQuery(kinds="op")).rows
    found = details(subject, RowQuery(key=row.key))
    assert (len(found.shapes), found.shapes_count) == (MOST, number)
    assert (len(found.stacks), found.stacks_count) == (MOST, number)
    assert (len(found.slowest), found.row.calls) == (MOST_CALLS, number)
    assert found.kernels_count == 0


def test_flops_are_optional_for_a_row() -> None:
    """On a recording of the host too; without a model of any op the page leaves the column out."""
    args = {"a": {"Input Dims": [[2, 3], [3, 4]]}}
    for name, flops in (("aten::mm", 48), ("aten::relu", None)):
        answer = build(subject_of(draw("op |aaa|", names={"a": name}, args=args)), OperatorQuery())
        assert [row.flops for row in answer.table.rows] == [flops]
        (column,) = (one for one in answer.table.columns if one.key == "flops")
        assert (column.is_optional, column.is_minor) == (True, False)


@pytest.mark.parametrize("kinds", ["", "op", "op,annotation"])
def test_the_sentence_the_bar_and_the_row_have_one_share(kinds: str) -> None:
    """Of all host time, 3 µs in a frame and 2 in an op, whatever kinds and names are shown."""
    subject = subject_of(draw("frame |ffff |\nop |   aa|"))
    answer = build(subject, OperatorQuery(kinds=kinds))
    assert answer.headline == "aten::a takes 33.3\u00a0% of the host time."
    (chart,) = (one for one in answer.charts if one.stem == "host_self")
    found = window(subject, OperatorQuery(kinds=kinds, search="aten::a")).rows
    assert [row.self_ratio for row in found] == [chart.parts[0].ratio] == [2_000 / 6_000]
    assert (chart.others_ns, chart.total_ns) == (4_000, 6_000)


def test_shares_and_quantiles_are_of_the_clock_that_rows_are_sorted_by(subject: Subject) -> None:

    def shown(sort_by: str) -> set[str]:
        columns = window(subject, OperatorQuery(sort_by=sort_by)).columns
        return {one.key for one in columns if not one.is_minor}

    device, host = {"device_self_ratio", "device_mean_ns"}, {"self_ratio", "step_ratio", "mean_ns"}
    for key in ("", "device_self_ns", "device_total_ns", "device_p95_ns", "calls", "name"):
        assert (shown(key) & device, shown(key) & host) == (device, set())
    for key in ("self_ns", "total_ns", "mean_ns", "p95_ns"):
        assert (shown(key) & device, shown(key) & host) == (set(), host)


def test_quantiles_of_device_time_are_of_calls() -> None:
    """Three calls that launch 4, 1 and 6 µs: mean, median and largest all differ."""
    subject = subject_of(
        draw(
            """
            op   |aaa aaa aaa        |
            call | k   k   k         |
            gpu  |  kkkk k kkkkkk    |
            """
        )
    )
    (row,) = window(subject, OperatorQuery(kinds="op")).rows
    assert (row.calls, row.device_total_ns, row.device_mean_ns) == (3, 11_000, 11_000 / 3)
    assert (row.device_p50_ns, row.device_p95_ns, row.device_max_ns) == (4_000, 6_000, 6_000)
    assert (row.p50_ns, row.max_ns) == (3_000, 3_000)


def test_the_flame_graph_and_its_sandwich(subject: Subject) -> None:
    query = FlameGraphQuery(metric="device", levels="op,kernel", steps="everything")
    whole = flame(subject, query)
    assert whole.total == 9_000
    assert sum(box.value for box in whole.nodes if box.parent < 0) == 9_000
    node = next(box.node for box in whole.nodes if box.name == "aten::d")
    inside = flame(subject, msgspec.structs.replace(query, focus=node))
    assert [(box.name, box.value) for box in inside.nodes] == [
        ("aten::a", 7_000),
        ("aten::d", 4_000),
        ("kernel_k", 4_000),
    ]
    found = around(subject, SandwichQuery(name="aten::a", levels="python,op", steps="all"))
    assert (found.value, found.calls) == (14_000, 2)
    assert {box.name for box in found.callers} == {"aten::a", "train.py(1): f"}
    with pytest.raises(NotFoundError):
        around(subject, SandwichQuery(name="aten::none"))


def test_folded_stacks_are_lines(subject: Subject) -> None:
    lines = b"".join(folded_stacks(subject, FoldedQuery(levels="python,op"))).decode().splitlines()
    assert "train.py(1): f;aten::a;aten::c 3000" in lines
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    assert total <= flame(subject, FlameGraphQuery(levels="python,op")).total


def test_a_recording_of_the_host_says_what_it_lacks() -> None:
    subject = subject_of(draw("op | aaa |"))
    answer = build(subject, OperatorQuery())
    assert answer.device_ns is None
    assert answer.table.rows[0].device_self_ns is None
    assert set(answer.missing) == {"device", "modules", "shapes", "stacks"}
    assert answer.groupings["shape"] == answer.missing["shapes"]
    assert [chart.stem for chart in answer.charts] == ["host_self", "host_total"]


@requires_traces
@pytest.mark.parametrize(
    "name",
    [
        "tracelens/b200/eager_trace.json.gz",
        "tracelens/mi300/resnet_act_checkpoint.json.gz",
        "kineto_tb_samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
        "ascend_npu/trace_view.json",
    ],
)
def test_real_traces_add_up(name: str) -> None:
    subject = subject_of(read(Path(TRACES, name)))
    answer = build(subject, OperatorQuery(limit=1000, steps="everything"))
    lost = sum(one.device_ns for one in answer.unattributed)
    assert (answer.table.device_self_ns or 0) + lost == answer.device_ns
    assert VIEW.tables(answer)[0].rows
    for row in answer.table.rows[:5]:
        details(subject, RowQuery(key=row.key, steps="everything"))


OVERLAP = """
    op   | pppppppppppppppppp |
    op   |  xxxxxxxxxxxxxx    |
    op   |    yyyyyyyyyyyyyy  |
    """


def test_shares_sum_where_children_overlap_each_other() -> None:
    """`p` is 18 µs, and its two children are 28 µs together: its self time is −10 µs, as torch's.

    What is below 0 is no part of the whole, so that no share is above all of it.
    """
    subject = subject_of(draw(OVERLAP))
    answer: Operators = build(subject, OperatorQuery(kinds="op"))
    rows = {row.name: (row.self_ns // 1000, row.total_ns // 1000) for row in answer.table.rows}
    assert rows == {"aten::p": (-10, 18), "aten::x": (14, 14), "aten::y": (14, 14)}
    assert answer.table.self_ns == 18_000, "what is outermost, as for any calls"
    (chart,) = (one for one in answer.charts if one.stem == "host_self")
    assert chart.total_ns == 28_000 == sum(part.ns for part in chart.parts) + chart.rest_ns
    assert sum(part.ratio for part in chart.parts) == pytest.approx(1)
    assert "takes 50.0\u00a0% of the host time" in answer.headline
    (found,) = (one for one in tables(answer) if one.title == "Operators")
    assert "below 0" in next(one.help for one in found.columns if one.key == "self_ns")


def test_what_outlives_the_call_it_began_in_counts_in_both() -> None:
    """Neither is inside the other, so 4 µs belong to both, and what begins then to the later."""
    answer: Operators = build(
        subject_of(
            draw(
                """
                op   | aaaaaaaa     |
                op   |     bbbbbbbb |
                op   |      cc      |
                """
            )
        ),
        OperatorQuery(kinds="op"),
    )
    own = {row.name: row.self_ns // 1000 for row in answer.table.rows}
    assert own == {"aten::a": 8, "aten::b": 6, "aten::c": 2}
    assert answer.table.self_ns == 16_000
    assert "counts in both" in help_of(OperatorRow, "self_ns")


def test_kernels_of_an_operator_have_names_that_tell_them_apart() -> None:
    names = {
        "k": "void at::native::elementwise_kernel<128, 4, MulFunctor<float> >(int)",
        "l": "void at::native::elementwise_kernel<128, 4, AddFunctor<float> >(int)",
    }
    trace = draw(
        """
        op    | aaaaaaaaaa |
        call  |  k   l     |
        gpu   |   kkk lll  |
        """,
        names=names,
    )
    subject = subject_of(trace)
    row = next(one for one in build(subject, OperatorQuery()).table.rows if one.name == "aten::a")
    kernels = details(subject, RowQuery(key=row.key)).kernels
    assert {one.short for one in kernels} == {
        "elementwise_kernel<MulFunctor>",
        "elementwise_kernel<AddFunctor>",
    }


def test_flops_are_known_for_a_share_of_the_time_in_which_the_device_computes() -> None:
    """Of 8 µs of kernels, 3 µs are of a product; a copy is no computing."""
    picture = """
        op    |aaaa bbbbbb cc|
        call  | k    l     m |
        gpu   |  kkk  lllll     |
        copy  |             mmmm|
        """
    names = {"a": "aten::mm", "b": "aten::relu", "c": "aten::copy_"}
    args = {"a": {"Input Dims": [[2, 3], [3, 4]]}}
    answer = build(subject_of(draw(picture, names=names, args=args)), OperatorQuery())
    assert answer.flops_coverage == 3 / 8
    copies = build(subject_of(draw("op |aa |\ncall| m |\ncopy| mm|")), OperatorQuery())
    assert copies.flops_coverage is None
