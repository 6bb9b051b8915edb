"""On real recordings each finding rests on events that are there, and its remedy on what ran.

Nothing here uses the reader: the file is decoded by ``json``, and plain loops look the evidence up.
Files that strict JSON refuses are left out.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.analysis.overview.findings import Finding, SeenEvent
from kinetoscope.analysis.rules import RULES
from kinetoscope.analysis.rules.claims import check_all
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.test_advice import rows

MOST_BYTES = 3 << 20
OF_TOTALS = ("ME1", "ME2", "ME4")
"""Rules on totals of the allocator: their evidence is a figure, no event."""

Names = frozenset[str]
Raw = list[dict[str, Any]]


def some(names: Names, pattern: str) -> bool:
    return any(re.search(pattern, name) for name in names)


PRECONDITIONS: dict[str, Callable[[Names], bool]] = {
    "num_workers=4": lambda n: some(n, r"_SingleProcessDataLoaderIter"),
    "num_workers=8": lambda n: some(n, r"_MultiProcessingDataLoaderIter"),
    "pin_memory=True": lambda n: some(n, r"(?i)pageable"),
    "fused=True": lambda n: some(n, r"^Optimizer\.step#(Adam|AdamW|SGD)\.step"),
    "set_to_none=True": lambda n: some(n, r"^aten::(zero_|_foreach_zero_)$"),
    "no_sync()": lambda n: some(n, r"^DistributedDataParallel\.forward$"),
    "register_comm_hook": lambda n: some(n, r"nccl"),
    "torch.compile(model)": lambda n: not some(n, r"^(Torch-Compiled Region|CompiledFunction)"),
    'mode="reduce-overhead"': lambda n: some(n, r"^(Torch-Compiled Region|CompiledFunction)"),
    "dynamic=True": lambda n: some(n, r"compile_id="),
    "scaled_dot_product_attention(q": lambda n: some(n, r"^aten::_softmax$"),
    "bias=False": lambda n: some(n, r"batch_norm"),
    "set_float32_matmul_precision": lambda n: some(n, r"^aten::(mm|addmm|bmm|convolution|conv)"),
    "torch.autocast": lambda n: some(n, r"mm$|conv|attention|linear|rnn|baddbmm"),
    "gc.collect()": lambda n: some(n, r"Python GC|<built-in function collect>"),
    "torchrun": lambda n: some(n, r"^DataParallel\.forward$"),
}
"""Words of a snippet or an action → what must be among the names of the raw events."""


def raw_events(path: Path) -> Raw | None:
    data = path.read_bytes()
    try:
        document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (ValueError, EOFError, OSError):  # damaged on purpose
        return None
    events = document.get("traceEvents") if isinstance(document, dict) else document
    return events if isinstance(events, list) else None


def microseconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float | str) else 0.0


def is_there(seen: SeenEvent, raw: Raw, origin: float) -> bool:
    """By its place in the file where it has one; else by name and length, at its time."""
    if seen.event >= 0:
        event = raw[seen.event]
        long = abs(microseconds(event.get("dur", 0)) * 1000 - seen.dur_ns) < 1001
        name = str(event.get("name"))
        # The reader completes the name of a copy by its arguments.
        named = name == seen.name or (name == "Memcpy" and seen.name.startswith(name))
        return named and (long or event.get("ph") == "B")
    for event in raw:
        if abs(microseconds(event.get("ts", 0)) - origin - seen.ts / 1000) < 1:
            long = abs(microseconds(event.get("dur", 0)) * 1000 - seen.dur_ns) < 1001
            named = seen.name.split(" ")[0] in str(event.get("name"))
            if long and named:
                return True
    return False


def nothing_runs(seen: SeenEvent, raw: Raw, origin: float, pids: set[Any]) -> bool:
    """An idle stretch: no work of its device begins and ends around its middle."""
    middle = origin + (seen.ts + seen.dur_ns / 2) / 1000
    for event in raw:
        if event.get("pid") in pids and event.get("cat") in WORK:
            ts = microseconds(event.get("ts", 0))
            if ts < middle < ts + microseconds(event.get("dur", 0)):
                return False
    return True


WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}


def chosen_files() -> Iterator[str]:
    for row in rows():
        path = TRACES / row.file
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            yield row.file


FILES = sorted(chosen_files())


def findings_of(file: str) -> tuple[tuple[Finding, ...], Raw, float, str]:
    trace = read(TRACES / file)
    facts = summarize(trace)
    raw = raw_events(TRACES / file)
    if raw is None:
        pytest.skip("strict JSON refuses this file")
    # The recorder's zero: the time of a host or device event in the file, less the reader's.
    table = trace.host if len(trace.host) else trace.device
    row = int(table.raw[0])
    origin = microseconds(raw[row]["ts"]) - int(table.ts[0]) / 1000
    selection = select(facts)
    key = trace.devices[selection.device].key if selection.device is not None else ""
    return check_all(RULES, selection)[0], raw, origin, key


@requires_traces
@pytest.mark.parametrize("file", FILES)
def test_every_finding_rests_on_events_of_the_file(file: str) -> None:
    findings, raw, origin, key = findings_of(file)
    pids = {event.get("pid") for event in raw if str(event.get("pid")) == key}
    for found in findings:
        if found.id in OF_TOTALS:
            continue
        assert found.events, found.id
        for seen in found.events:
            if seen.name == "idle":
                assert nothing_runs(seen, raw, origin, pids), (found.id, seen)
            else:
                assert is_there(seen, raw, origin), (found.id, seen)


@requires_traces
@pytest.mark.parametrize("file", FILES)
def test_every_remedy_asks_for_what_the_file_has(file: str) -> None:
    findings, raw, _, _ = findings_of(file)
    names = frozenset(str(event.get("name")) for event in raw) | {
        str(event["args"])
        for event in raw
        if "emcpy" in str(event.get("cat")) and isinstance(event.get("args"), dict)
    }
    for found in findings:
        said = f"{found.snippet} {found.action}"
        for words, holds in PRECONDITIONS.items():
            assert words not in said or holds(names), (found.id, words)
