"""views/compile: the sentence tells warm-up from compiled again; what is missing is said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinetoscope.analysis.compile.model import (
    Break,
    CompiledFacts,
    EagerOp,
    Function,
    GuardReason,
    KernelSource,
    Remainder,
    Version,
)
from kinetoscope.analysis.summarize import summarize
from kinetoscope.session.session import choose
from kinetoscope.views import view_of
from kinetoscope.views.compile.contract import Compiled, CompileQuery
from kinetoscope.views.compile.view import build, tables, unavailable
from kinetoscope.views.operators.contract import OperatorQuery, RowQuery
from kinetoscope.views.operators.details import details
from kinetoscope.views.operators.view import build as build_operators
from kinetoscope.views.timeline.details import _made_of
from kinetoscope.views.timeline.queries import LayoutQuery
from kinetoscope.views.timeline.view import build as build_timeline
from tests.conftest import ROOT
from tests.drawing import draw

FACTS = summarize(draw("op |aa|"))
FIRST = Version("0/0", 0, 2, 5000, 3_000_000, 0)
AGAIN = Version(
    "0/1", 0, 1, 4000, 2_000_000, 0,
    reasons=(
        GuardReason("0/0", "size", "size 0 of x", "a.py:7"),
        *[GuardReason("0/0", "value", f"{name} == 1", "") for name in "nmk"],
    ),
)  # fmt: skip


def _answer(**fields: Any) -> Compiled:
    functions = (Function("f", "a.py", 3),)
    found = CompiledFacts(functions=functions, **{"recorded": True, **fields})
    return build(msgspec.structs.replace(FACTS, compiled=found), CompileQuery())


def test_compiled_again_leads_and_warm_up_is_said_to_be_warm_up() -> None:
    answer = _answer(versions=(FIRST, AGAIN))
    assert answer.headline == "1\u00a0version compiled again: 2.00\u00a0ms."
    assert answer.detail.startswith("First compilations, which are warm-up, take 3.00\u00a0ms.")
    assert [(one.id, one.kind, one.name) for one in answer.versions] == [
        ("0/0", "first", "f"),
        ("0/1", "again", "f"),
    ]
    assert answer.versions[1].why == "size 0 of x (a.py:7); n: 1; 2 more"


def test_warm_up_alone_is_no_version_again() -> None:
    assert (
        _answer(versions=(FIRST,)).headline == "1\u00a0function compiled, all first: 3.00\u00a0ms."
    )


def test_a_healthy_recording_says_nothing_more() -> None:
    healthy = msgspec.structs.replace(FIRST, compile_ns=0)
    answer = _answer(versions=(healthy,))
    assert (answer.headline, answer.detail) == (
        "Nothing is compiled inside the recording.",
        "No graph break.",
    )


def test_the_limit_and_breaks_are_said() -> None:
    refused = msgspec.structs.replace(AGAIN, id="0/8", failed="limit", compile_ns=0)
    gap = Break(0, "f", "a.py", 9, "print", "", "", ("b.py:2",), 1, 4, 6000)
    answer = _answer(versions=(refused,), breaks=(gap,))
    assert "The recompile limit was met: `f` runs eager." in answer.detail
    assert "1\u00a0graph break, 6.00\u00a0µs of host time (estimate)." in answer.detail
    assert answer.versions[0].kind == "refused"
    assert [table.title for table in tables(answer)] == ["Compiled functions", "Graph breaks"]


def test_without_a_record_the_page_says_how_to_record() -> None:
    assert "tensorboard_trace_handler" in _answer(versions=(FIRST,), recorded=False).missing
    assert "not beside" in _answer(versions=(FIRST,), problem="x is not beside the trace").missing
    assert _answer(versions=(FIRST,), missing=("callbacks",)).missing == (
        "Not available in this torch: callbacks."
    )
    assert _answer(versions=(FIRST,)).missing == ""


def test_a_recording_without_compiled_code_has_no_view() -> None:
    assert unavailable(FACTS) is not None
    assert unavailable(msgspec.structs.replace(FACTS, compiled=CompiledFacts())) is None


def test_a_fused_kernel_opens_to_nodes_and_lines_in_operator_and_trace() -> None:
    session = choose(str(ROOT / "samples" / "traces" / "compiled")).session()
    subject = session.subject(view_of("operators"))
    rows = build_operators(subject, OperatorQuery(limit=1000)).table.rows
    keys = {row.name: row.key for row in rows}
    found = details(subject, RowQuery(key=keys["graph_2_cpp_fused_add_mul_tanh_0"]))
    # Two graphs have a kernel of this name.
    assert found.compiled[0] == ("lines of your code", "compiled.py:32")
    assert set(found.compiled[1][1].split(", ")) == {"add", "mul", "tanh", "add_9", "mul_4"}
    plain = next(key for name, key in keys.items() if name.startswith("aten::"))
    assert details(subject, RowQuery(key=plain)).compiled == ()
    region = details(subject, RowQuery(key=keys["Torch-Compiled Region: 0/1"]))
    told = {label: text.replace("\u00a0", " ") for label, text in region.compiled}
    assert told == {
        "compiled function": "forward (compiled.py:31)",
        "all versions": (
            "2 versions, 6 runs; compiled 15.9 s before the recording, 3.54 s in it; again for"
            " size 0 of pictures: 24, 32"
        ),
        "version 0/1": "3 runs, 7.59 s in all; compiled at 10.7 ms in 3.54 s",
        "compiled again for": "size 0 of pictures: 24, 32",
    }
    first = dict(details(subject, RowQuery(key=keys["Torch-Compiled Region: 1/0"])).compiled)
    assert first["compiled function"] == "forward, from line 33 (compiled.py:33)"
    assert "compiled again for" not in first
    shown = _made_of(subject, "cpp_fused__softmax_1")
    assert (shown[0].key, shown[0].text) == ("lines of your code", "compiled.py:35")
    assert _made_of(subject, "aten::mm") == ()


def test_a_kernel_is_split_evenly_over_its_lines() -> None:
    kernels = (
        KernelSource("k", "0/0", False, (), ("a.py:1", "a.py:2"), 1, 800),
        KernelSource("l", "0/0", False, (), ("a.py:2",), 1, 100),
        KernelSource("m", "", False, (), (), 1, 100),
    )
    facts = CompiledFacts(kernels=kernels, fused_ns=1000, lined_ns=900)
    answer = build(msgspec.structs.replace(FACTS, compiled=facts), CompileQuery())
    assert [(one.place, one.total_ns, one.ratio, one.kernels) for one in answer.lines] == [
        ("a.py:2", 500, 0.5, 2),
        ("a.py:1", 400, 0.4, 1),
    ]
    assert answer.eager == ()


@pytest.mark.parametrize(
    ("remainder", "text"),
    [
        (
            Remainder("device", 2, 800, 150, 0, 0, 50, (EagerOp("aten::mm", 3, 150),)),
            "Device time of 2 steps: compiled graphs 80.0 %, eager ops 15.0 %, unknown 5.0 %.",
        ),
        (
            Remainder("host", 0, 800, 150, 0, 50, 0, (EagerOp("aten::mm", 3, 150),)),
            "Host time of the recording: compiled graphs 800 ns, eager ops 150 ns, guards 50 ns.",
        ),
    ],
)
def test_the_remainder_is_a_sentence_and_its_ops(remainder: Remainder, text: str) -> None:
    answer = _answer(versions=(FIRST,), remainder=remainder)
    assert answer.detail.replace("\u00a0", " ").endswith(text)
    assert [(one.name, one.calls, one.ratio) for one in answer.eager] == [("aten::mm", 3, 0.15)]


def test_trace_has_a_row_of_compilations() -> None:
    session = choose(str(ROOT / "samples" / "traces" / "compiled")).session()
    manifest = build_timeline(session.subject(view_of("timeline")), LayoutQuery())
    assert [(one.id, one.name, one.is_again) for one in manifest.compilations] == [
        ("0/1", "forward (compiled.py:31)", True),
        ("1/1", "forward, from line 33 (compiled.py:33)", True),
    ]
    assert all(one.dur_ns > 10**8 for one in manifest.compilations)


@pytest.mark.parametrize(
    ("fields", "head"),
    [
        ({"recorded": True}, "Nothing is compiled inside the recording."),
        ({"recorded": False}, "No compilation is recorded."),
        (
            {"recorded": False, "phases_ns": 7000},
            "Compilation takes 7.00 µs; its functions are not recorded.",
        ),
    ],
)
def test_no_compilation_is_claimed_only_where_that_is_known(
    fields: dict[str, Any], head: str
) -> None:
    quiet = msgspec.structs.replace(FIRST, compile_ns=None)
    answer = _answer(versions=(quiet,), **fields)
    assert answer.headline.replace("\u00a0", " ") == head
