"""The roofline, and the ranking of time above the speed of light."""

from __future__ import annotations

import numpy as np

from ...analysis.facts import Partition
from ...analysis.speed_of_light.figures import SpeedGroups, SpeedSelection
from .contract import Rows, SpeedPoint, SpeedRank, SpeedRoof, SpeedRoofline, names_of

MOST_POINTS = 30
MOST_RANKS = 20


def roofline_of(groups: SpeedGroups) -> SpeedRoofline | None:
    """The rows with a figure below the rates of the device; None without a data sheet."""
    chosen = groups.selection
    columns, device = chosen.columns, chosen.device
    peak = columns.peak(device)
    if peak is None:
        return None
    part = 1.0 if device is None else columns.part_ratios[device]
    known = np.flatnonzero((groups.known_ns > 0) & (groups.known_bytes > 0))
    known = known[np.argsort(-groups.known_ns[known], kind="stable")]
    kinds = columns.kinds
    used = np.unique(groups.unit[known])
    rates = {
        columns.strings[unit]: float(np.nanmax(kinds.peak[kinds.unit == unit])) * part
        for unit in used.tolist()
        if unit >= 0
    }
    points = [_point(groups, known[at : at + 1]) for at in range(min(len(known), MOST_POINTS))]
    if len(known) > MOST_POINTS:
        points.append(_point(groups, known[MOST_POINTS:], f"{len(known) - MOST_POINTS} more"))
    return SpeedRoofline(
        bandwidth_gb_s=peak.bandwidth_gb_s,
        roofs=tuple(SpeedRoof(*one) for one in sorted(rates.items(), key=lambda one: -one[1])),
        points=tuple(points),
    )


def _point(groups: SpeedGroups, rows: Rows, rest: str = "") -> SpeedPoint:
    """Some rows as one point; ``rest`` is the name of several."""
    columns = groups.selection.columns
    ns = int(groups.known_ns[rows].sum())
    flops, moved = float(groups.known_flops[rows].sum()), float(groups.known_bytes[rows].sum())
    unit = int(groups.unit[rows[0]])
    return SpeedPoint(
        name=rest or str(names_of(groups, rows)[0]),
        ns=ns,
        intensity=flops / moved if flops else None,
        tflop_s=flops / ns / 1e3,
        gb_s=moved / ns,
        light_ratio=float(groups.light_ns[rows].sum()) / ns,
        unit=columns.strings[unit] if unit >= 0 and not rest else "",
        is_rest=bool(rest),
    )


def ranking_of(
    chosen: SpeedSelection, partition: Partition, total_ns: int
) -> tuple[SpeedRank, ...]:
    """Waste by op, and the parts of the steps that are no light; they sum to steps − light."""
    totals = chosen.totals
    if chosen.device is None or not totals.light_ns + totals.waste_ns:
        return ()
    groups = chosen.by("op")
    rows = np.flatnonzero(groups.known_ns > 0)
    waste = np.rint(groups.waste_ns[rows]).astype(np.int64)
    order = np.argsort(-waste, kind="stable")
    rows, waste = rows[order], waste[order]
    listed = [
        ("op", str(name), int(ns))
        for name, ns in zip(names_of(groups, rows[:MOST_RANKS]), waste[:MOST_RANKS], strict=True)
    ]
    listed += [
        ("idle", "idle", partition.idle_ns),
        (
            "exposed_communication",
            "exposed communication",
            partition.exposed_communication_ns,
        ),
        ("exposed_copy", "exposed copy", partition.exposed_copy_ns),
        ("memset", "memset", partition.memset_ns),
    ]
    listed.sort(key=lambda one: -one[2])
    if more := int(waste[MOST_RANKS:].sum()):
        listed.append(("others", f"{len(waste) - MOST_RANKS} other ops", more))
    listed.append(("no_figure", "compute without a figure", totals.no_figure_ns))
    listed.append(("under_others", "ran under other kernels", totals.waste_ns - int(waste.sum())))
    found, running = [], 0
    for key, name, ns in listed:
        if ns:
            running += ns
            found.append(SpeedRank(key, name, ns, running, ns / total_ns if total_ns else 0.0))
    return tuple(found)
