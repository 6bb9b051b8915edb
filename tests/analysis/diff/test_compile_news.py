"""analysis/compile/news, diff: regions by function; new breaks in the headline."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from kinetoscope.analysis.compile.model import CompiledFacts
from kinetoscope.analysis.compile.news import compile_news
from kinetoscope.analysis.diff.changes import changes
from kinetoscope.analysis.diff.sides import operator_items
from kinetoscope.analysis.diff.verdict import compare
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.compile_record import CompileRecord
from kinetoscope.trace.model import Trace
from tests.analysis.advice.drawn import compiling, many, matmul, run

from .training import side_of

NET = {"id": 0, "name": "net", "file": "net.py", "line": 3}
HEAD = {"id": 1, "name": "head", "file": "head.py", "line": 5}
BREAK = {"compilation": "0/0", "reason": "print", "stack": [["net.py", 7, "net"]]}


def _with(trace: Trace, *compilations: tuple[str, int], **more: Any) -> Trace:
    record = {
        "functions": [NET, HEAD],
        "compilations": [
            {
                "id": identity,
                "function": function,
                "reasons": [{"of": "0/0", "kind": "value", "guard": "n == 3"}]
                if not identity.endswith("/0")
                else [],
            }
            for identity, function in compilations
        ],
        **more,
    }
    return replace(trace, compile_record=msgspec.convert(record, CompileRecord))


def _facts(trace: Trace) -> CompiledFacts:
    found = summarize(trace).compiled
    assert found is not None
    return found


def test_breaks_and_recompilations_of_one_side_are_news() -> None:
    base = _facts(_with(run(matmul), ("0/0", 0)))
    # The line moved, the function and the reason are the same.
    moved = {**BREAK, "stack": [["net.py", 9, "net"]]}
    other = _facts(_with(run(compiling("0/1"), matmul), ("0/0", 0), ("0/1", 0), breaks=[BREAK]))
    assert compile_news(base, other) == (
        "new graph break at `net.py:7`",
        "new recompilation of `net` (n: 3)",
    )
    assert compile_news(other, base) == (
        "no more graph break at `net.py:7`",
        "no more recompilation of `net` (n: 3)",
    )
    again = _facts(_with(run(compiling("0/1"), matmul), ("0/0", 0), ("0/1", 0), breaks=[moved]))
    assert compile_news(other, again) == ()


def test_a_side_without_a_record_makes_no_news() -> None:
    known = _facts(_with(run(matmul), ("0/0", 0), breaks=[BREAK]))
    assert compile_news(None, known) == ()
    assert compile_news(replace(known, recorded=False, breaks=()), known) == ()


def test_the_headline_names_what_is_new() -> None:
    base = side_of(_with(run(matmul), ("0/0", 0)))
    other = side_of(_with(run(matmul), ("0/0", 0), breaks=[BREAK]))
    found = compare(base, other)
    assert found.headline.endswith(" New graph break at `net.py:7`.")
    assert "graph break" not in compare(base, base).headline


def test_regions_are_paired_by_function_and_not_by_number() -> None:
    region = "Torch-Compiled Region: {}".format
    base = _with(run(many(region("0/0"), 2, 100), matmul), ("0/0", 0))
    other = _with(
        run(many(region("0/0"), 1, 30), many(region("1/0"), 2, 100), matmul), ("0/0", 1), ("1/0", 0)
    )
    sides = side_of(base), side_of(other)
    rows = changes([operator_items(sides[0])], [operator_items(sides[1])], "self_ns", 1e6)
    calls = [(row.base.calls, row.other.calls) for row in rows if "Region" in row.name]
    assert sorted(calls) == [(0, 1), (2, 2)]
