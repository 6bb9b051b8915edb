"""How much compute time below a folder has light, and why has the rest none? A table in Markdown.

    python tools/measure/light_coverage.py ../shared/traces

One row for the recordings of a folder and a device; times of kernels add up. Recordings without
work on a device are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from kinetoscope.analysis.speed_of_light.attribution import speed_of_light
from kinetoscope.analysis.speed_of_light.figures import SpeedSelection
from kinetoscope.analysis.speed_of_light.model import REASONS, Reason
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.trace.read import read

LEAST = 0.005  # a reason for less is not listed
Coverage = Counter[Reason]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    root: Path = parser.parse_args(arguments).root
    found: dict[tuple[str, str], list[Coverage]] = {}
    for path in sorted(root.rglob("*")):
        if path.name.endswith((".json", ".json.gz", ".pftrace", ".pftrace.gz")):
            for device, one in coverage(path):
                folder = path.parent.relative_to(root).as_posix()
                found.setdefault((folder, device), []).append(one)
    sys.stdout.write(
        "| recordings | device | with light | without, by reason |\n|---|---|---|---|\n"
    )
    for (folder, device), each in found.items():
        sys.stdout.write(row(f"{folder} ({len(each)})", device or "not recorded", each))
    return 0


def coverage(path: Path) -> Iterable[tuple[str, Coverage]]:
    """Compute time by reason of each device that was used; KNOWN: it has light."""
    try:
        trace = read(path)
    except (KinetoscopeError, OSError):
        return
    columns = speed_of_light(trace)
    if columns.on_host:
        return
    for number, device in enumerate(trace.devices):
        chosen = SpeedSelection(columns, columns.steps_of(None), number)
        totals = chosen.totals
        spent = Coverage(dict(chosen.reasons))
        spent[Reason.KNOWN] = totals.light_ns + totals.waste_ns
        if device.used and spent.total():
            yield device.name, spent


def row(name: str, device: str, each: Sequence[Coverage]) -> str:
    """One line of the table."""
    spent = Coverage()
    for one in each:
        spent.update(one)
    whole = spent.total()
    rest = [
        f"{REASONS[reason][0]} {ns / whole:.1%}"
        for reason, ns in spent.most_common()
        if reason != Reason.KNOWN and ns >= LEAST * whole
    ]
    return f"| {name} | {device} | {spent[Reason.KNOWN] / whole:.1%} | {', '.join(rest)} |\n"


if __name__ == "__main__":
    sys.exit(main())
