"""One set of column ids over all contracts: terminal, CSV, JSON, DataFrames, SQL and docs."""

from __future__ import annotations

import csv
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kinetoscope
from kinetoscope import views
from kinetoscope.ask.explain import Grid, explain
from kinetoscope.ask.sources import TABLES, Source, declared
from kinetoscope.base.errors import UnavailableError
from kinetoscope.session.session import FileSession
from kinetoscope.views.table import PER_STEP, Column, fields_of, unit_of
from tests.cli.runs import run
from tests.conftest import ROOT

RECORDINGS = tuple(
    str(path)
    for name in ("train_cpu", "transformer", "compiled")
    for path in sorted((ROOT / "samples" / "traces" / name).glob("*.pt.trace.json.gz"))
)
NO_QUANTITY = {
    # places and numbers of things
    "address", "correlation", "depth", "device_id", "device_index", "device_type", "external_id",
    "forward", "host", "id", "idle", "last", "launch", "number", "offset", "op", "parent", "place",
    "rank", "slice", "stream", "batch", "path",
    # numbers of things
    "activities", "after_allocations", "after_blocks", "allocations", "alone", "base", "base_calls",
    "base_count", "before_allocations", "before_blocks", "calls", "change", "count", "device_calls",
    "events", "generated_tokens", "guards", "high", "kernels", "keys", "lanes", "launches", "low",
    "members", "nodes", "ops", "other", "other_calls", "other_count", "overlaps", "pieces",
    "prefill_tokens", "recompute_calls", "registers", "replays", "requests", "samples",
    "self_allocations", "slices", "tied", "times_last", "total", "versions", "waits_for",
    # other units
    "algorithm_gbs", "bus_gbs", "peak_tflop_s", "tflop_s", "intensity", "blocks_per_sm", "p",
    "generated_per_s", "prefill_per_s",
}  # fmt: skip
"""Ids of numbers that end with no unit; a new quantity ends with one."""


def contracts() -> Iterator[tuple[str, Column]]:
    """Every declared column, with the Struct of its row."""
    seen = set()
    for module in pkgutil.walk_packages(views.__path__, f"{views.__name__}."):
        for name, kind in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(kind) and issubclass(kind, msgspec.Struct) and kind not in seen:
                seen.add(kind)
                yield from ((name, one.head) for one in fields_of(kind) if one.head.label)


def known_ids() -> set[str]:
    """Ids of all columns of views and of SQL."""
    of_sql = {key for name in TABLES for key, _ in declared(None, name)}
    return of_sql | {one.key for _, one in contracts()}


def test_a_quantity_ends_with_its_unit() -> None:
    found = [*contracts()]
    assert len(found) > 200
    bare = {f"{row}.{one.key}" for row, one in found if one.is_numeric and not one.unit}
    assert {name for name in bare if name.partition(".")[2] not in NO_QUANTITY} == set()
    words = re.compile(r"(^|_)(ts|time|duration|seconds|us|ms|size|percentage|share)$")
    ids = {one.key for _, one in found} | {
        key for name in TABLES for key, _ in declared(None, name)
    }
    assert {one for one in ids if words.search(one)} == set()


def test_only_a_sum_is_a_column_per_step() -> None:
    sums = {one.key for _, one in contracts() if one.is_sum}
    assert {"calls", "total_ns", "flops", "kept_bytes"} <= sums
    assert not {one for one in sums if re.search(r"mean|p50|p95|max_ns|min_ns|ratio|percent", one)}
    assert unit_of(f"total_ns{PER_STEP}") == "ns"


@cache
def session(path: str) -> FileSession:
    return FileSession(path)


def csv_heads(path: str, view: str) -> list[list[str]]:
    """The columns of each table of a view, as CSV names them."""
    shown = run("show", view, path, "--format", "csv", "--columns", "all")
    if shown.exit_code == 6:
        return []
    assert shown.exit_code == 0, shown.stderr
    parts = shown.stdout.split("\n\n")
    lines = [part.lstrip("\n").split("\n") for part in parts]
    return [
        next(csv.reader(one[1:] if one[0].startswith("# ") else one)) for one in lines if one[0]
    ]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: Path(path).parent.name)
@pytest.mark.parametrize("view", views.STEMS)
def test_csv_and_frames_have_the_same_ids(path: str, view: str) -> None:
    heads = csv_heads(path, view)
    if not heads:
        pytest.skip("this recording cannot fill the view")
    frames = kinetoscope.open(path).tables(view).values()
    assert sorted(list(frame.columns) for frame in frames) == sorted(heads)


def columns_in(answer: Any) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
    """Heads in an answer of JSON, with the rows beside them."""
    if isinstance(answer, dict):
        if "columns" in answer and "rows" in answer and answer["columns"]:
            yield [one["key"] for one in answer["columns"]], answer["rows"]
        for value in answer.values():
            yield from columns_in(value)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: Path(path).parent.name)
@pytest.mark.parametrize("view", ["operators", "kernels", "modules", "speed_of_light"])
def test_json_has_the_ids_of_csv(path: str, view: str) -> None:
    heads = csv_heads(path, view)
    if not heads:
        pytest.skip("this recording cannot fill the view")
    answer = json.loads(run("show", view, path, "--format", "json").stdout)
    (keys, rows) = next(columns_in(answer))
    assert [one for one in heads[0] if not one.endswith(PER_STEP)] == keys
    assert rows
    assert set(keys) <= set(rows[0])
    assert answer["table"]["step_count"] == answer["step_count"]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: Path(path).parent.name)
@pytest.mark.parametrize("table", TABLES)
def test_sql_has_the_declared_ids_and_the_docs_list_them(path: str, table: str) -> None:
    source = Source(session(path))
    try:
        keys = [one.key for one in source.columns(table)]
    except UnavailableError:
        pytest.skip("this recording does not have the table")
    known = [key for key, _ in declared(source.trace, table)]
    assert keys == [key for key in known if key in keys]
    if table in ("operators", "kernels", "modules"):
        assert keys == csv_heads(path, table)[0]
    told = (ROOT / "docs" / "agents.md").read_text("utf-8").split("<!-- sql -->")[1]
    row = next(line for line in told.split("\n") if line.startswith(f"| `{table}` |"))
    assert [key for key, _ in declared(None, table)] == re.findall(r"`(\w+)`", row.split("|")[3])


OF_EXPLAIN = {"part", "idle_ns", "overlap_ratio"}
"""Ids of ``explain`` alone: names of parts, and what follows from two columns."""


@pytest.mark.parametrize(
    "path", [*RECORDINGS, str(ROOT / "samples/traces/train_ddp_cpu")], ids=lambda p: Path(p).name
)
def test_explain_names_its_figures_as_tables_do(path: str) -> None:
    from kinetoscope.session.session import choose

    document = explain(choose(path).session())
    grids = [value for name in document.__struct_fields__
             if isinstance(value := getattr(document, name), Grid)]  # fmt: skip
    grids += [document.step.parts, document.step.idle] if document.step else []
    for key in {key for grid in grids for key in grid.columns}:
        assert key.removesuffix(PER_STEP) in known_ids() | OF_EXPLAIN


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("show", "operators", "{}", "--columns", "totl_ns"), "total_ns"),
        (("show", "operators", "{}", "--columns", "totl_ns_per_step"), "total_ns_per_step"),
        (("show", "operators", "{}", "--sort-by", "totl_ns"), "total_ns"),
        (("show", "speed_of_light", "{}", "--sort-by", "mesured_ns"), "measured_ns"),
        (("sql", "{}", "SELECT totl_ns FROM operators"), "total_ns"),
        (("sql", "{}", "SELECT incusive_ns FROM functions"), "inclusive_ns"),
        (("sql", "{}", "SELECT dur FROM host"), "dur_ns"),
        (("export", "{}", "--to", "out", "--tables", "operator"), "operators"),
        (("explain", "{}", "--section", "function"), "functions"),
    ],
)
def test_an_unknown_id_is_answered_with_the_nearest(
    arguments: tuple[str, ...], meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if arguments[0] == "sql":
        pytest.importorskip("duckdb", reason="SQL needs DuckDB: pip install duckdb")
    refused = run(*(one.format(RECORDINGS[0]) for one in arguments))
    assert refused.exit_code in (2, 4)
    assert f"did you mean {meant}?" in refused.stderr


def test_frames_sort_by_the_ids_of_the_terminal() -> None:
    frame = kinetoscope.open(RECORDINGS[0]).table("operators", sort_by=f"total_ns{PER_STEP}")
    assert frame[f"total_ns{PER_STEP}"].is_monotonic_decreasing
    assert frame["total_ns"].is_monotonic_decreasing
