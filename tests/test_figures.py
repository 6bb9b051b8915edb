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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.headline import headline
from kinetoscope.analysis.steps import select
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.session.session import choose
from kinetoscope.views import view_named
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
RECORDINGS = [*(f"samples/{name}" for name in SAMPLES), *(f"traces/{name}" for name in REAL)]
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


def asked(recording: str) -> Iterator[tuple[str, Any]]:
    """Every answer on a recording, by the text of its query; a refusal is its sentence."""
    kind, _, name = recording.partition("/")
    session = choose(
        str((ROOT / "samples/traces" if kind == "samples" else TRACES) / name)
    ).session()
    for stem, queries in QUERIES.items():
        view, table = view_named(stem), None
        for part, written in queries:
            query = written
            if FIRST in query.values():
                if not isinstance(table, dict) or not table["rows"]:
                    continue
                first = {key for key, value in query.items() if value == FIRST}
                query = written | {key: table["rows"][0][key] for key in first}
            words = ",".join(f"{key}={value}" for key, value in query.items())
            answer = _tried(_answer, session, view, part, query)
            yield f"{stem}.{part} {words}".strip(". "), answer
            table = answer if part == "table" else table
    yield "advice", _tried(_advice, session)


def _answer(session: Any, view: Any, part: str, query: Mapping[str, Any]) -> Any:
    subject = session.asked(view)
    one = next(one for one in view.parts if one.stem == part) if part else view
    built = one.build(subject, msgspec.convert(query, one.query, strict=False))
    return b"".join(built) if isinstance(built, Iterator) else built


def _advice(session: Any) -> Any:
    chosen = select(session.facts())
    findings, unchecked = check_all(chosen)
    said = headline(chosen, findings)
    return {"headline": said, "findings": findings, "unchecked": unchecked}


def _tried(ask: Callable[..., Any], *of: Any) -> Any:
    try:
        return msgspec.to_builtins(ask(*of), enc_hook=str)
    except KinetoscopeError as error:
        return error.message


def lines(recording: str) -> Iterator[str]:
    """The part of the table on a recording: what is there, without the headings of tables."""
    yield f"# {recording}"
    for answer, value in asked(recording):
        yield f"## {answer}"
        for key, found in value.items() if isinstance(value, dict) else [("refused", value)]:
            if found not in (None, "", [], (), {}) and not key.endswith("columns"):
                yield f"{key}\t{told(found)}"


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
