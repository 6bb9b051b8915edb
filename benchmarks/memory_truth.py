"""Are the figures of Memory and Module true? Sums, torch's own categories, planted failures.

    python -m benchmarks.memory_truth [--ranges 50] [--draws 400]

Over the collected traces (`KINETOSCOPE_TRACES`): at every event the categories sum to the allocated
total, the curve ends at the recorded totals, the statistics of random ranges sum to what the curve
changes by; modules, what is outside of them and what is not linked sum to all device time. Then
the categories beside torch's `export_memory_timeline`, failed allocations of drawn snapshots, and
hostile pickles. Exit status 1 if anything does not add up.
"""

from __future__ import annotations

import io
import os
import pickle
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.curve import by_category, curve, layers_at
from kinetoscope.analysis.memory.model import MemoryColumns, MemoryDevice
from kinetoscope.analysis.memory.snapshots.out_of_memory import Cause, explain
from kinetoscope.analysis.memory.statistics import statistics
from kinetoscope.analysis.modules.artifact import modules_of
from kinetoscope.analysis.modules.figures import device_busy_ns, figures_of, outside_of
from kinetoscope.analysis.modules.model import UNLINKED
from kinetoscope.base.errors import KinetoscopeError, TraceFormatError
from kinetoscope.trace.model import HostKind, Trace
from kinetoscope.trace.pickles.snapshot import read_snapshot
from kinetoscope.trace.read import read
from tests.collected import FILES
from tests.conftest import TRACES
from tests.oracle.test_memory_timeline import FOLDER, agreement
from tests.trace.pickles.drawn_snapshot import MIB, block, event, reread, segment, snapshot

MODULES = (
    ("B200", "tracelens/b200/eager_trace.json.gz"),
    ("H100", "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"),
    ("MI300", "tracelens/mi300/resnet_act_checkpoint.json.gz"),
    ("CPU", "fresh_torch2.13/gpt_full/gpt.1795227686608472692.pt.trace.json.gz"),
    ("CPU, FSDP", "fresh_torch2.13/fsdp2_gpt/worker0.1795229989653151156.pt.trace.json.gz"),
)


@dataclass
class Conservation:
    """What was looked at, and what did not add up."""

    traces: int = 0
    devices: int = 0
    events: int = 0
    ranges: int = 0
    layers: int = 0  # events at which the categories are not the total
    ends: int = 0  # ends of curves that are not the recorded total
    statistics: int = 0  # ranges over which the statistics are not the change of the curve

    @property
    def wrong(self) -> int:
        return self.layers + self.ends + self.statistics


def traces() -> Iterator[Trace]:
    """The collected traces that tell of more than memory."""
    for name in FILES:
        try:
            trace = read(TRACES / name)
        except KinetoscopeError:
            continue
        if not trace.is_memory_alone:
            yield trace


def conservation(ranges: int) -> Conservation:
    """Of every device of every trace with allocator events."""
    found = Conservation()
    for trace in traces():
        if not len(trace.memory):
            continue
        columns = memory_of(trace)
        found.traces += 1
        for device in columns.devices:
            found.devices += 1
            _check_device(columns, device, ranges, found)
    return found


def _check_device(
    columns: MemoryColumns, device: MemoryDevice, ranges: int, found: Conservation
) -> None:
    total = columns.events.allocated[device.events]
    ts, size = columns.events.ts[device.events], columns.events.bytes[device.events]
    rows = np.arange(len(total))
    found.events += len(total)
    layers = layers_at(columns, device, rows, by_category(columns, device)).sum(axis=0)
    found.layers += int(np.count_nonzero(layers != total))
    whole = curve(columns, device, 0, columns.end_ns, 200)
    found.ends += int(whole.allocated[-1] != total[-1])
    if device.has_reserved:
        found.ends += int(whole.reserved[-1] != columns.events.reserved[device.events][-1])
    dice = random.Random(device.key)  # noqa: S311
    is_whole = not len(columns.strays) and device.has_totals
    for _ in range(ranges):
        low, high = sorted(dice.sample(range(columns.end_ns + 2), 2))
        grown = int(statistics(columns, device, low, high).self_increase_bytes.sum())
        found.statistics += int(grown != int(size[(ts >= low) & (ts < high)].sum()))
        if is_whole and high <= columns.end_ns:
            span = curve(columns, device, low, high, 20)
            found.statistics += int(grown != int(span.allocated[-1] - span.allocated[0]))
        found.ranges += 1


def module_sums(trace: Trace) -> dict[str, int]:
    """Device time in ns, or without a device the own time of ops, by where it belongs."""
    columns = modules_of(trace)
    own, outside = figures_of(columns, None), outside_of(columns, None)
    on_device = "device" not in columns.missing
    inside = own.device_self_ns if on_device else own.op_self_ns
    part = [(one.reason in UNLINKED, one.device_ns if on_device else one.op_ns) for one in outside]
    host = trace.host
    works = np.isin(host.kind, (HostKind.OP, HostKind.RUNTIME))
    whole = trace.device.dur if on_device else host.self_ns[works]
    return {
        "modules": int(inside.sum()),
        "outside": sum(ns for is_unlinked, ns in part if not is_unlinked),
        "unlinked": sum(ns for is_unlinked, ns in part if is_unlinked),
        "total": int(whole.sum()),
        "busy": device_busy_ns(columns, None),
    }


def planted(draws: int) -> Counter[tuple[str, str]]:
    """Failed allocations drawn as full or as fragmented, and what they are said to be."""
    dice = random.Random(1)  # noqa: S311
    said: Counter[tuple[str, str]] = Counter()
    for _ in range(draws):
        truth = dice.choice(("fragmentation", "capacity"))
        request = 2 * MIB * dice.randint(16, 2048)
        holes = dice.randint(2, 12)
        # Each hole alone is too small; together they are enough, or with the device's not.
        pieces = [2 * MIB * dice.randint(1, request // MIB // 2 - 1) for _ in range(holes)]
        free = 2 * MIB * dice.randint(0, request // MIB // 4)
        together = sum(pieces) + free
        if (together >= request) != (truth == "fragmentation"):
            if truth == "capacity":
                request = together + 2 * MIB * dice.randint(1, 512)
            else:
                missing = -(-(request - together) // (request - 2 * MIB))
                pieces += [request - 2 * MIB] * missing
        parts: list[dict[str, Any]] = []
        for piece in pieces:
            parts += [block(2 * MIB * dice.randint(1, 400), "active_allocated", "m.py:3 forward")]
            parts += [block(piece, "inactive")]
        cut = dice.randrange(0, len(parts), 2)
        groups = [group for group in (parts[:cut], parts[cut:]) if group]
        segments = tuple(segment((at + 1) << 40, *group) for at, group in enumerate(groups))
        failed = event("oom", free, request, 9, "m.py:3 forward", device_free=free)
        found = explain(reread(snapshot(failed, segments=segments)))
        said[truth, "nothing" if found is None else found.cause.name.lower()] += 1
    return said


class Call:
    """What a hostile pickle is made of."""

    def __reduce__(self) -> Any:  # noqa: ANN401
        return os.system, ("true",)


def hostile() -> Iterator[tuple[str, float, str]]:
    """Name, CPU seconds until it is refused, and the reason."""
    data = {
        "os.system": pickle.dumps({"segments": [Call()]}),
        "os.system behind 200,000 events": pickle.dumps(
            {"device_traces": [[event("alloc", n, 512, n) for n in range(200_000)]], "x": Call()}
        ),
        "200,000 lists within each other": b"\x80\x04" + b"](" * 200_000,
        "a string that claims 10 GB": b"\x80\x04]\x8d" + (10 << 30).to_bytes(8, "little"),
    }
    for name, pickled in data.items():
        began = time.process_time()
        try:
            read_snapshot(io.BytesIO(pickled))
            why = "NOT REFUSED"
        except TraceFormatError as error:
            why = error.kind
        yield name, time.process_time() - began, why


def _print_modules() -> int:
    wrong = 0
    click.echo("modules + outside + not linked = all (device, else own time of ops), µs; busy")
    for name, file in MODULES:
        told = module_sums(read(TRACES / file))
        sums = {key: ns / 1e3 for key, ns in told.items()}
        rest = told["total"] - told["modules"] - told["outside"] - told["unlinked"]
        wrong += rest != 0
        click.echo(
            f"  {name:<10}{sums['modules']:>14,.3f} +{sums['outside']:>14,.3f}"
            f" +{sums['unlinked']:>14,.3f} ={sums['total']:>14,.3f}   off by {rest} ns;"
            f" busy {sums['busy']:,.3f}"
        )
    return wrong


@click.command()
@click.option("--ranges", default=50, show_default=True, help="Random ranges of each device.")
@click.option("--draws", default=400, show_default=True, help="Failed allocations.")
def main(ranges: int, draws: int) -> None:
    """Print what adds up, and what does not."""
    wrong = 0
    if FILES:
        sums = conservation(ranges)
        wrong += sums.wrong
        click.echo(
            f"{sums.traces} traces with allocator events, {sums.devices} devices,"
            f" {sums.events:,} events, {sums.ranges:,} random ranges"
        )
        click.echo(f"  events at which the categories are not the total: {sums.layers}")
        click.echo(f"  ends of curves that are not the recorded totals:   {sums.ends}")
        click.echo(f"  ranges whose statistics are not the curve's change: {sums.statistics}")
        wrong += _print_modules()
        told = agreement(FOLDER)
        click.echo("bytes at the peak, torch's category and ours (export_memory_timeline)")
        for (theirs, ours), held in told.bytes.most_common():
            click.echo(f"  {held:>12,}  {theirs:<12}{ours}")
        for theirs in sorted({pair[0] for pair in told.bytes} - {"none"}):
            click.echo(f"  agree on {theirs:<12}{told.ratio_of(theirs):>9.3%}")
        click.echo(f"  agree on all         {told.ratio:>9.3%}")
        wrong += told.ratio < 0.9
    said = planted(draws)
    right = sum(many for (truth, found), many in said.items() if truth == found)
    click.echo(f"failed allocations named rightly: {right} of {draws}")
    for (truth, found), many in sorted(said.items()):
        click.echo(f"  {truth:<16}said to be {found:<16}{many:>6}")
    wrong += right != draws
    assert {cause.name.lower() for cause in Cause} >= {truth for truth, _ in said}
    for name, seconds, why in hostile():
        click.echo(f"  refused in {seconds:7.3f} s of CPU: {name} ({why})")
        wrong += why == "NOT REFUSED"
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
