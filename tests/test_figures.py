"""No figure of a view moves unseen: all answers on recordings of each kind, key by key.

`figures.txt` holds, for each recording, answer and key, a short value, or what a long one adds up
to: the number of values, the sum of its numbers, and a checksum over all of it in order. A change
that is intended: look at the values with `tools/measure/answers.py`, judge them, and write the
table anew:

    python -m tests.test_figures > /tmp/figures.txt && mv /tmp/figures.txt tests/figures.txt
"""

from __future__ import annotations

import math
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.headline import headline, verdict
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.session.session import Wanted, choose
from kinetoscope.trace.model import Trace
from kinetoscope.views import view_named
from tests.analysis.advice.bounds import BOUNDS
from tests.analysis.advice.drawn import CHANGES, FIRES, changed
from tests.analysis.drawn_steps import drawn_steps
from tests.analysis.speed_of_light.drawn import changes, drawn_calls, figure_of
from tests.conftest import ROOT, TRACES, requires_traces

TABLE = Path(__file__).with_name("figures.txt")
SAMPLES = ("compiled", "resnet_workers4", "serving", "train_cpu", "train_ddp_cpu", "transformer")
REAL = (
    "dlrm_8rank_v100",
    "fresh_torch2.13/ddp4_straggler_rank2",
    "fresh_torch2.13/gpt_full",
    "hta/critical_path/alexnet",
    "hta/critical_path/cuda_event_sync",
    "misc_repos/zoology_trace.json.gz",
    "torch2.15_cuspy",
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "tracelens/inference/vllm_decode_full",
    "tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
)
"""Several ranks on GPUs and on CPUs, modules and memory, critical paths, counters, graphs, AMD."""
MORE_REAL = (
    "ascend_npu/trace_view.json",
    "cuda_memory_snapshots/magma27",
    "fresh_torch1.8.1",
    "fresh_torch2.13/coll4",
    "fresh_torch2.13/compile",
    "fresh_torch2.13/fsdp2_gpt",
    "fresh_torch2.13/mem_only",
    "fresh_torch2.13/modules_only",
    "fresh_torch2.13/resnet_w0_slowloader",
    "fresh_torch2.13/threads",
    "misc_repos/switch_transformers",
    "torchbench/trace.json",
)
"""Other devices, snapshots, old versions, options and threads, with a line for each answer."""
PAIRS = (
    ("fresh_torch2.13", "resnet_w0", "resnet_w0_slowloader"),
    ("kineto_tb_samples", "resnet50_num_workers_0", "resnet50_num_workers_4"),
    ("fresh_torch2.13", "ddp2_full", "coll4"),
    ("tracelens", "h100", "mi300"),
)
"""Folder, run of the base, run that is compared with it."""
OTHERS = [f"traces/{name}" for name in MORE_REAL]
RULES, BESIDE = "drawn runs of rules", "drawn runs at both sides of bounds"
CHANGED, STEPS = "drawn runs of rules, changed", "drawn steps"
CALLS = "drawn calls of models"
RECORDINGS = [
    RULES,
    BESIDE,
    CHANGED,
    STEPS,
    CALLS,
    *(f"samples/{name}" for name in SAMPLES),
    *(f"traces/{name}" for name in REAL),
    *OTHERS,
    *(f"traces/{folder}: {base} → {run}" for folder, base, run in PAIRS),
]
FIRST = "of the first row of the table before"
RANGE = {"start_ns": 0, "end_ns": 1 << 40}
QUERIES: Mapping[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    # First, as other views show what is found between ranks once these were read.
    "distributed": (("", {}), ("ops", {}), ("sentence", {}), ("clocks", {"workers": "0,1"})),
    "overview": (("", {}), ("", {"steps": "all"}), ("idle", {}), ("path", {"inferred": True})),
    "operators": (
        ("", {}),
        ("table", {"group_by": "shape", "sort_by": "device_self_ns"}),
        ("table", {"group_by": "line", "steps": "everything"}),
        ("row", {"key": FIRST}),
        ("flame", {"min_ratio": 0}),
        ("flame", {"inverted": True, "metric": "device"}),
        ("folded", {}),
    ),
    "kernels": (
        ("", {}),
        ("table", {"group_by": "properties", "sort_by": "p95_ns"}),
        ("row", {"key": FIRST, "group_by": "properties"}),
        ("table", {"steps": "everything", "sort_by": "name", "ascending": True}),
        ("table", {"group_by": "graph"}),
        ("graph", {"key": FIRST}),
        ("nodes", {"key": FIRST}),
    ),
    "timeline": (
        ("", {}),
        ("", {"layout": "user"}),
        ("area", RANGE),
        ("flame", RANGE),
        ("rows", RANGE),
        ("bundles", RANGE),
        ("path", RANGE),
        ("search", {"text": "aten"}),
        ("slice", {"slice": 40}),
        ("flows", {"slice": 40}),
        ("move", {"slice": 40, "by": "parent"}),
    ),
    "memory": (
        ("", {}),
        ("curve", {}),
        ("events", {}),
        ("statistics", {}),
        ("alive", {}),
        ("free", {}),
        ("steps", {}),
    ),
    "modules": (
        ("", {}),
        ("table", {"fold": True}),
        ("row", {"module": 1}),
        ("flame", {"min_ratio": 0}),
    ),
    "compile": (("", {}),),
    "speed_of_light": (("", {}), ("table", {}), ("table", {"group_by": "kernel"}), ("summary", {})),
    "health": (("", {}),),
}


TILES = {"level": 12, "tiles": "0,1", "blocks": "0.0,1.0,2.0"}
MORE: Mapping[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "distributed": (
        *(
            ("what_if", {"kind": one})
            for one in ("late", "rank", "node", "stage", "group", "input")
        ),
        ("", {"steps": "everything"}),
    ),
    "overview": (
        ("", {"steps": "everything"}),
        ("idle", {"steps": "all", "min_ratio": 0}),
        ("path", {"inferred": False, "steps": "all"}),
    ),
    "operators": (
        *(
            ("table", {"group_by": one, "steps": "all", "sort_by": sort})
            for one, sort in (
                ("name", "total_ns"),
                ("stack", "mean_ns"),
                ("module", "p95_ns"),
                ("thread", "max_ns"),
                ("annotation", "calls"),
            )
        ),
        ("table", {"search": "mm conv", "offset": 1, "limit": 5, "ascending": True}),
        ("find", {"search": "add"}),
        ("flame", {"metric": "calls", "waiting": True, "focus": 3}),
        ("around", {"name": "aten::mm"}),
        ("around", {"name": "aten::mm", "metric": "device"}),
    ),
    "kernels": (
        *(
            ("table", {"group_by": one, "sort_by": sort})
            for one, sort in (("class", "max_ns"), ("module", "mean_ns"), ("line", "p50_ns"))
        ),
        ("row", {"key": FIRST, "group_by": "line"}),
        ("table", {"search": "gemm", "search_op": "mm", "limit": 3, "sort_by": "min_ns"}),
    ),
    "timeline": (
        *(("", {"layout": one}) for one in ("merged", "filtered", "merged-folded")),
        ("names", {}),
        ("tiles", TILES),
        ("tiles", {**TILES, "level": 16, "layout": "merged"}),
        ("counters", {"level": 12, "tiles": "0,1", "series": "0,1,2"}),
        ("minimap", {"columns": 64}),
        ("folded", RANGE),
        ("flame", {**RANGE, "metric": "count", "min_share": 0.01}),
        ("rows", {**RANGE, "sort": "-self", "text": "aten", "limit": 20}),
        ("path", {**RANGE, "inferred": False, "columns": 64}),
        ("path_arrows", RANGE),
        ("bundles", {**RANGE, "columns": 64, "layout": "merged"}),
        ("search", {"text": "^aten::(mm|add)", "mode": "regex", "columns": 64}),
        ("hit", {"text": "aten", "ts": 1000, "direction": "previous"}),
        *(("slice", {"slice": one}) for one in (0, 5, 333, 2000)),
        ("flows", {"slice": 333, "hops": 3}),
        *(("move", {"slice": 333, "by": one}) for one in ("lane", "name", "child", "flow")),
        ("area", {"start_ns": 5_000_000, "end_ns": 25_000_000, "layout": "merged"}),
    ),
    "memory": (
        ("", {"steps": "everything", "by": "total"}),
        ("curve", {"by": "module", "points": 50}),
        ("curve", {"by": "line"}),
        ("events", {"steps": "everything", "sort_by": "alive_ns", "limit": 20}),
        ("events", {"category": "activation", "min_bytes": 1024, "search": "mm"}),
        ("statistics", {"steps": "everything", "sort_by": "allocations", "limit": 20}),
        ("alive", {"at": "second"}),
        ("alive", {"at": "time", "at_ns": 5_000_000}),
        ("block", {"block": 7}),
        ("map", {}),
        ("map_tiles", {"level": 2, "tiles": "0.0,1.0"}),
        ("free", {"steps": "everything"}),
    ),
    "modules": (
        ("table", {"fold": False, "sort_by": "self_ns"}),
        ("row", {"module": 3}),
        *(("flame", {"metric": one, "root": 1}) for one in ("op", "host", "idle")),
    ),
    "speed_of_light": (
        ("", {"steps": "all"}),
        *(("table", {"group_by": one, "limit": 20}) for one in ("op", "module", "kind")),
    ),
}
"""Further answers, on one line each."""
DIFFS: Sequence[tuple[str, dict[str, Any]]] = (
    ("", {}),
    ("", {"steps": "all", "base_steps": "all", "seen": "classic", "budget": 0.1}),
    ("", {"seen": "host"}),
    *(
        ("table", {"group": group, "metric": metric})
        for group, metric in (
            ("operators", "self_ns"),
            ("operators", "device_total_ns"),
            ("kernels", "self_ns"),
            ("modules", "self_ns"),
            ("memory", "bytes"),
            ("memory", "peak_bytes"),
        )
    ),
    ("table", {"by_shape": True, "sort_by": "other_ns"}),
    ("table", {"group": "kernels", "kernels_by": "family"}),
    ("table", {"group": "kernels", "kernels_by": "launch"}),
    ("pieces", {}),
    ("marks", {}),
    ("flame", {"min_ratio": 0}),
    ("flame", {"metric": "calls"}),
)


class Refusal(str):
    """The sentence that stands where an answer would."""

    __slots__ = ()


def asked(
    recording: str, queried: Mapping[str, Sequence[tuple[str, dict[str, Any]]]] = QUERIES
) -> Iterator[tuple[str, Any]]:
    """Every answer on a recording, by the text of its query; a refusal is its sentence."""
    kind, _, name = recording.partition("/")
    name, _, wanted = name.partition(": ")
    base, _, run = wanted.partition(" → ")
    session = choose(
        str((ROOT / "samples/traces" if kind == "samples" else TRACES) / name),
        Wanted(run=run or None),
    ).session()
    for stem, queries in queried.items():
        view, table = view_named(stem), None
        for part, written in queries:
            query = written
            if FIRST in query.values():
                if not isinstance(table, dict) or not table["rows"]:
                    continue
                first = {key for key, value in query.items() if value == FIRST}
                query = written | {key: table["rows"][0][key] for key in first}
            words = ",".join(f"{key}={value}" for key, value in query.items())
            if base:
                query = {**query, "base_run": base}
            answer = tried(answer_of, session, view, part, query)
            yield f"{stem}.{part} {words}".strip(". "), answer
            table = answer if part == "table" else table
    if queried is QUERIES:
        yield "advice", tried(_advice, session)


def answer_of(session: Any, view: Any, part: str, query: Mapping[str, Any]) -> Any:
    subject = session.asked(view)
    one = next(one for one in view.parts if one.stem == part) if part else view
    built = one.build(subject, msgspec.convert(query, one.query, strict=False))
    if isinstance(built, bytes) and built[:4] in (b"TLF1", b"MAP1"):
        return built[:16] + built[24:]  # without the time that it took
    return b"".join(built) if isinstance(built, Iterator) else built


def _advice(session: Any) -> Any:
    chosen = select(session.facts())
    findings, unchecked = check_all(chosen)
    said = headline(chosen, findings)
    return {"headline": said, "findings": findings, "unchecked": unchecked}


def tried(ask: Callable[..., Any], *of: Any) -> Any:
    try:
        return msgspec.to_builtins(ask(*of), enc_hook=str)
    except KinetoscopeError as error:
        return Refusal(error.message)


def lines(recording: str) -> Iterator[str]:
    """The part of the table on a recording: what is there, without the headings of tables."""
    yield f"# {recording}"
    if recording in DRAWN:
        yield from DRAWN[recording]()
        return
    if " → " in recording:
        yield from _short(asked(recording, {"diff": DIFFS}))
        return
    if recording in OTHERS:
        yield from _short(asked(recording))
    else:
        for answer, value in asked(recording):
            yield f"## {answer}"
            for key, found in value.items() if isinstance(value, dict) else [("refused", value)]:
                if found not in (None, "", [], (), {}) and not key.endswith("columns"):
                    yield f"{key}\t{told(found)}"
    yield from _short(asked(recording, MORE))


def _short(answers: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """A line for each answer; a refusal has none."""
    for answer, value in answers:
        if not isinstance(value, Refusal):
            yield f"{answer}\t{told([_without_headings(value)])}"


def _without_headings(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_headings(one) for key, one in value.items() if not key.endswith("columns")
        }
    return value


def _of_rules() -> Iterator[str]:
    """The findings on the two drawn runs of each rule: it fires on one, and not on the other."""
    for rule, runs in FIRES.items():
        for word, drawn in zip(("fires", "silent"), runs, strict=True):
            yield f"{rule} {word}\t{told(_found(drawn()))}"


def _of_bounds() -> Iterator[str]:
    """At each bound and beside it: severity and ceiling of the rule in percent, and all that is."""
    for rule, bounds in BOUNDS.items():
        for what, drawn, numbers in bounds:
            for number in numbers:
                found = _found(drawn(number))
                own = [
                    f"{one['severity']} {100 * one['gain']['ratio'] if one['gain'] else 0:.4g}"
                    for one in found["findings"]
                    if one["id"] == rule
                ]
                yield f"{rule} {what} {number}\t{', '.join(own) or '–'} | {told(found)}"


def _of_changes() -> Iterator[str]:
    """What is found where the events of a run in which a rule fires are changed."""
    for rule, (fires, _) in FIRES.items():
        for change in CHANGES:
            found = _found(changed(fires, change, f"{rule} {change.__name__}"))
            names = " ".join(f"{one['id']}" for one in found["findings"])
            yield f"{rule} {change.__name__}\t{names} | {told(found)}"


def _of_steps() -> Iterator[str]:
    """The sentence on top of drawn steps."""
    for text, run in drawn_steps():
        found = _found(run)
        said = found["sentence"]
        yield f"{text}\t{said['headline']} {said['detail']} {said['agreement']} | {told(found)}"


def _found(run: Trace) -> Any:
    return msgspec.to_builtins(verdict(select(summarize(run))), enc_hook=str)


def _of_calls() -> Iterator[str]:
    """What models of ops say of drawn calls, and of each with one argument changed."""
    for name, call in drawn_calls():
        of_others = told([figure_of(name, other) for other in changes(call)])
        yield f"{name}\t{' '.join(map(str, figure_of(name, call)))} | {of_others}"


DRAWN: Mapping[str, Callable[[], Iterator[str]]] = {
    RULES: _of_rules, BESIDE: _of_bounds, CHANGED: _of_changes, STEPS: _of_steps,
    CALLS: _of_calls,
}  # fmt: skip


def told(value: Any) -> str:
    """A short value as it is; of others the number, the sum and a checksum of what is in them."""
    leaves = [*_leaves(value)]
    text = " ".join(leaves)
    if len(text) <= 24 and not isinstance(value, dict | list | tuple):
        return text
    numbers = [float(one) for one in leaves if re.fullmatch(r"-?\d[\d.e+-]*", one)]
    return f"{len(leaves)}, {math.fsum(numbers):.6g}, {zlib.crc32(text.encode()):08x}"


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{key}:"
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        yield "["
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, float):
        yield f"{value:.6g}"
    elif isinstance(value, str):
        yield repr(value.replace(str(TRACES), "").replace(str(ROOT), ""))
    else:
        yield repr(value)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(one, marks=requires_traces if one.startswith("traces/") else ())
        for one in RECORDINGS
    ],
)
def test_no_figure_moves(recording: str) -> None:
    _, _, rest = f"\n{TABLE.read_text('utf-8')}".partition(f"\n# {recording}\n")
    assert [*lines(recording)][1:] == rest.partition("\n# ")[0].splitlines()


if __name__ == "__main__":
    for name in RECORDINGS:
        sys.stdout.writelines(f"{line}\n" for line in lines(name))
