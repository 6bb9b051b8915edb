"""Looks the evidence of findings up in the raw events, by plain loops.

Nothing of it is the reader's: a file is decoded by ``json``. Files that strict JSON refuses are
left out. ``python -m benchmarks.false_alarms`` asks all shared recordings, the test small ones.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.findings import Finding, SeenEvent
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import without_address

OF_TOTALS = ("ME1", "ME2", "ME4")
"""Rules on totals of the allocator: where no event of the host is open, its own event is named."""

Names = frozenset[str]
Raw = list[dict[str, Any]]


def some(names: Names, pattern: str) -> bool:
    return any(re.search(pattern, name) for name in names)


PRECONDITIONS: dict[str, Callable[[Names], bool]] = {
    "num_workers=4": lambda n: some(n, r"_SingleProcessDataLoaderIter"),
    "num_workers=8": lambda n: some(n, r"_MultiProcessingDataLoaderIter"),
    "pin_memory=True": lambda n: some(n, r"(?i)pageable"),
    "fused=True": lambda n: some(n, r"^Optimizer\.step#(Adam|AdamW|SGD|Adagrad)\.step"),
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
    "set_detect_anomaly(False)": lambda n: some(n, r"^aten::isnan$"),
    "requires_grad_(False)": lambda n: some(n, r"AccumulateGrad$"),
    "sparse=True": lambda n: some(n, r"^aten::embedding_dense_backward$"),
    "persistent_workers=True": lambda n: some(n, r"_MultiProcessingDataLoaderIter"),
    "fuse_conv_bn_eval": lambda n: some(n, r"batch_norm") and not some(n, r"evaluate_function"),
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
    is_trace = isinstance(events, list) and all(isinstance(one, dict) for one in events)
    return events if is_trace else None


def microseconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float | str) else 0.0


def is_there(seen: SeenEvent, raw: Raw) -> bool:
    """Whether the event at that place of the file has the name and the length."""
    event = raw[seen.event]
    long = abs(microseconds(event.get("dur", 0)) * 1000 - seen.dur_ns) < 1001
    name = without_address(str(event.get("name")))
    # The reader completes the name of a copy by its arguments, and joins B with E.
    named = name == seen.name or (name == "Memcpy" and seen.name.startswith(name))
    return named and (long or event.get("ph") in ("B", "b"))


def holds_the_peak(seen: SeenEvent, raw: Raw) -> bool:
    """Whether a device's allocator reached its highest total during the event, or is it."""
    event = raw[seen.event]
    start = microseconds(event.get("ts"))
    end = start + microseconds(event.get("dur", 0))
    totals: dict[tuple[Any, Any], list[tuple[float, float]]] = {}
    for one in raw:
        args = one.get("args")
        if one.get("name") == "[memory]" and isinstance(args, dict) and "Total Allocated" in args:
            key = args.get("Device Type"), args.get("Device Id")
            totals.setdefault(key, []).append(
                (microseconds(args["Total Allocated"]), microseconds(one.get("ts")))
            )
    highest = [(max(total for total, _ in each), each) for each in totals.values()]
    return any(
        total == most and start - 1 <= ts <= end + 1 for most, each in highest for total, ts in each
    )


def wrong_evidence(trace: Trace, findings: tuple[Finding, ...], raw: Raw) -> Iterator[str]:
    """What is wrong with the events that findings name; nothing where all are as they say."""
    rows = [*trace.host.raw.tolist(), *trace.device.raw.tolist()]
    for found in findings:
        if not any(seen.slice >= 0 for seen in found.events) and found.id not in OF_TOTALS:
            yield f"{found.id} names no event that opens in the Trace view"
        for seen in found.events:
            if seen.slice >= 0 and rows[seen.slice] != seen.event:
                yield f"{found.id}: slice {seen.slice} is not event {seen.event} of the file"
            if not is_there(seen, raw):
                yield f"{found.id}: {seen.name} is not event {seen.event} of the file"
            if seen.slice >= 0 and seen.link.params.get("select") != str(seen.slice):
                yield f"{found.id}: the link does not select slice {seen.slice}"
        if found.id in OF_TOTALS and not any(holds_the_peak(one, raw) for one in found.events):
            yield f"{found.id}: no total of a device is highest there"


def unmet_remedies(findings: tuple[Finding, ...], raw: Raw) -> Iterator[str]:
    """What a remedy asks for and the file does not have."""
    names = frozenset(str(event.get("name")) for event in raw) | {
        str(event["args"])
        for event in raw
        if "emcpy" in str(event.get("cat")) and isinstance(event.get("args"), dict)
    }
    for found in findings:
        said = f"{found.snippet} {found.action}"
        for words, holds in PRECONDITIONS.items():
            if words in said and not holds(names):
                yield f"{found.id} says {words}"


def findings_of(trace: Trace) -> tuple[Finding, ...]:
    return check_all(select(summarize(trace)))[0]
