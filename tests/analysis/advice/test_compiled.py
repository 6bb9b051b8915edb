"""analysis/advice/compiled: what is said where the record beside the trace tells reasons."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.compile.model import GuardReason
from kinetoscope.analysis.compile.reasons import changes_of
from kinetoscope.analysis.findings import Finding
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.compile_record import CompileRecord
from kinetoscope.trace.model import Trace
from tests.analysis.advice.drawn import broken, compiling, matmul, run

SIZE = "tensor 'x' size mismatch at index 0. expected {}, actual {}"


def _finding(trace: Trace, record: dict[str, Any], rule: str) -> Finding | None:
    told = msgspec.convert(record, CompileRecord)
    facts = summarize(replace(trace, compile_record=told))
    return next((one for one in check_all(select(facts))[0] if one.id == rule), None)


def _record(*reasons: tuple[str, str], **more: Any) -> dict[str, Any]:
    """A function whose version 1 + n was compiled because of the reason n."""
    again = [
        {
            "id": f"0/{number}",
            "function": 0,
            "reasons": [
                {"of": "0/0", "kind": kind, "guard": guard, "file": "net.py", "line": 7},
            ],
        }
        for number, (kind, guard) in enumerate(reasons, 1)
    ]
    return {
        "functions": [{"id": 0, "name": "net", "file": "net.py", "line": 5}],
        "compilations": [{"id": "0/0", "function": 0}, *again],
        **more,
    }


def _again(*ids: str) -> Trace:
    parts = [compiling(identity) for identity in ids]
    steps = iter(parts * 4)
    return run(lambda at: next(steps)(at), matmul)  # noqa: PLW0108  # another part each step


def test_a_changing_size_is_named_with_its_values_and_line() -> None:
    trace = _again("0/1", "0/2")
    record = _record(("size", SIZE.format(8, 24)), ("size", SIZE.format(24, 16)))
    found = _finding(trace, record, "CP1")
    assert found is not None
    assert found.title == "`net` is compiled again: size 0 of x: 8, 16, 24"
    assert "(net.py:7)" in found.text
    assert "2\u00a0versions of code that was compiled before are compiled again" in found.text
    assert "mark_dynamic(x, 0)" in found.snippet
    assert found.gain is not None
    assert found.gain.ns_per_step == pytest.approx(300_000)


def test_a_python_value_has_another_remedy() -> None:
    record = _record(("value", "mode == 'a'"), ("value", "mode == 'b'"))
    found = _finding(_again("0/1", "0/2"), record, "CP1")
    assert found is not None
    assert "mode: 'a', 'b'" in found.title
    assert "as a tensor" in found.text
    assert found.severity == "high"


def test_one_more_version_for_a_size_is_by_design() -> None:
    found = _finding(_again("0/1"), _record(("size", SIZE.format(8, 16))), "CP1")
    assert found is not None
    assert "by design" in found.text
    assert found.severity == "low"
    other = _finding(_again("0/1"), _record(("value", "n == 3")), "CP1")
    assert other is not None
    assert "by design" not in other.text


def test_first_compilation_is_warm_up_and_claims_nothing() -> None:
    found = _finding(_again("0/0"), _record(), "CP0")
    assert found is not None
    assert found.title.startswith("Warm-up")
    assert found.gain is None
    assert _finding(_again("0/0"), _record(), "CP1") is None


def test_the_ceiling_of_again_leaves_first_compilations_out() -> None:
    found = _finding(_again("0/0", "0/1"), _record(("value", "n == 3")), "CP1")
    assert found is not None
    assert found.gain is not None
    # The step of the first compilation is left out: the mean is that of the other.
    assert found.gain.ns_per_step == pytest.approx(300_000)


def test_a_refused_compilation_is_said_only_where_the_limit_is_the_reason() -> None:
    limit = _record(("value", "n == 3"))
    limit["compilations"][1]["failed"] = "Unsupported: recompile_limit reached"
    found = _finding(run(matmul), limit, "CP2")
    assert found is not None
    assert found.title == "`net` runs eager: the recompile limit was met"
    assert "`n: 3`" in found.text
    assert found.gain is None
    limit["compilations"][1]["failed"] = "InternalError"
    assert _finding(run(matmul), limit, "CP2") is None
    assert _finding(run(matmul), _record(), "CP2") is None


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("Failed to trace builtin operator `print`", "Print after the step"),
        ("Unsupported Tensor.item() call", "capture_scalar_outputs"),
        ("Attempted to call function marked as skipped", "custom op"),
        ("Call to `torch._dynamo.graph_break()`", "Remove the call"),
    ],
)
def test_a_break_is_named_with_line_and_remedy(reason: str, remedy: str) -> None:
    record = {
        "functions": [
            {"id": 0, "name": "forward", "file": "net.py", "line": 3},
            {"id": 1, "name": "torch_dynamo_resume_in_forward_at_9", "file": "net.py", "line": 9},
        ],
        "compilations": [{"id": "0/0", "function": 0}, {"id": "1/0", "function": 1}],
        "breaks": [{"compilation": "0/0", "reason": reason, "stack": [["net.py", 9, "forward"]]}],
    }
    found = _finding(broken("Torch-Compiled Region: 1/0"), record, "CP4")
    assert found is not None
    assert "at `net.py:9`" in found.title
    assert reason in found.text
    assert remedy in found.text
    assert "TORCH_LOGS" not in found.text


def test_names_of_older_torch_are_read_alike() -> None:
    guards = [
        ("size", "tensor 'L['x']' size mismatch at index 1. expected 8, actual 16"),
        ("value", "L['mode'] == 'a'"),
        ("global", "G['FLAG'] == 1"),
        ("object", "___check_obj_id(L['f'], 140)"),
    ]
    changes = changes_of(GuardReason("0/0", kind, guard, "") for kind, guard in guards)
    assert [one.text for one in changes] == [
        "size 1 of x: 8, 16",
        "mode: 'a'",
        "FLAG: 1",
        "___check_obj_id(L['f'], 140)",
    ]


def test_many_values_are_counted() -> None:
    some = [GuardReason("0/0", "value", f"n == {number}", "") for number in range(9)]
    (change,) = changes_of(some)
    assert change.text == "n: 0, 1, 2, 3, 4, 5 and 3 more"
