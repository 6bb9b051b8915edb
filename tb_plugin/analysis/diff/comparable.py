"""Are two recordings alike enough to be compared, and do their counts agree?

Counts that repeat in every step of both sides (launches, collectives, bytes, FLOPs) need no
statistics: any difference of theirs is real.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, seen
from ...base.units import listing, share, times
from ...trace.model import RECORDERS, DeviceClass, DeviceKind, is_of_other_recorder
from ..counters.measured import WORK, counter_of, is_constant, measured
from ..counters.samples import SAMPLING_KINDS
from ..facts import Facts
from ..operators.groups import in_steps
from ..operators.model import CallKind
from .changes import DISTURBED_RATIO, DRIFT_RATIO, Drift
from .sides import Side

CountUnit = Literal["count", "bytes", "flop"]
Weight = Literal["other machine", "taints", "note"]
HEAVIEST = 10
MOSTLY_OTHER = 0.5


class Mismatch(Struct, frozen=True):
    """One thing that the recordings do not have in common."""

    what: str  # "device", "clock", "torch", …
    base: str
    other: str
    weight: (
        Weight  # "other machine": times say nothing of the code; "taints": they may differ by it
    )
    text: str


class StepCount(Struct, frozen=True):
    """A number per step. ``is_exact``: it repeats in every chosen step of both sides."""

    key: str
    label: str
    unit: CountUnit
    base: float
    other: float
    is_exact: bool

    @property
    def differs(self) -> bool:
        """True where the difference is real without any statistics."""
        return self.is_exact and self.base != self.other


def mismatches(base: Side, other: Side, drift: Drift | None) -> tuple[Mismatch, ...]:
    """Differences that limit the comparison, the heaviest first."""
    a, b = base.selection.facts, other.selection.facts
    found: list[Mismatch] = []

    def compare(what: str, of: Callable[[Facts], str], weight: Weight, text: str) -> None:
        left, right = of(a), of(b)
        if left and right and left != right:
            found.append(Mismatch(what, left, right, weight, text))

    found += _devices(a, b)
    if not _lost_device(a, b):
        compare(
            "number of devices",
            lambda facts: str(sum(one.used for one in facts.devices)),
            "other machine",
            "They used different numbers of devices.",
        )
    compare(
        "ranks",
        _ranks,
        "other machine",
        "The jobs had different numbers of ranks.",
    )
    if drift is not None and drift.is_other_clock:
        equal = f"those of equal name and size ({drift.signatures} kinds)"
        text = (
            f"All kernels together take {times(drift.ratio)} as long, {equal}: the device ran at"
            " another clock or power."
            if drift.of_device
            else f"All operators together take {times(drift.ratio)} as long, {equal}: the host ran"
            " at another clock, or other work took its time."
        )
        what = "clock" if drift.of_device else "speed of the host"
        found.append(Mismatch(what, "1.00×", times(drift.ratio), "taints", text))
    elif drift is not None and drift.is_disturbed:
        text = (
            f"Operators of equal name and shapes ({drift.signatures} kinds) that make"
            f" {share(drift.apart)} of the work take more than {share(DISTURBED_RATIO)} longer or"
            " shorter, but not by one factor: other work shared a host."
        )
        found.append(Mismatch("load of the host", "", "", "taints", text))
    found += _measured_clocks(base, other)
    compare("host", lambda f: f.host_name or "", "taints", "They ran on different hosts.")
    compare(*_recorders(a, b))
    for key in sorted(set(a.recording.versions) & set(b.recording.versions)):
        compare(
            key,
            lambda facts, key=key: _minor(facts.recording.versions[key]),  # type: ignore[misc]
            "taints",
            f"The versions of {key} differ.",
        )
    for which, facts in (("A", a), ("B", b)):
        if (damage := _damage(facts)) is not None:
            found.append(
                Mismatch(
                    f"damage of {which}",
                    damage if which == "A" else "",
                    damage if which == "B" else "",
                    "taints",
                    f"The file of {which} is damaged: what is lost is missing in its figures.",
                )
            )
    found += _left_out(a, b)
    compare("compilation", _compilation, "note", "Only one of them ran code of torch.compile.")
    # A compiled operator writes into a buffer, and so has one shape more than the same one eagerly.
    is_comparable = a.traits.compiled == b.traits.compiled
    if is_comparable:
        inputs = (("shapes", "another batch or model"), ("types", "another precision or model"))
        others = [_other_inputs(base, other, column, text) for column, text in inputs]
        found += [one for one in others if one is not None]
    options = [
        label
        for label, name in (
            ("stacks", "with_stack"),
            ("shapes", "record_shapes"),
            ("memory", "profile_memory"),
            ("FLOPs", "with_flops"),
        )
        if getattr(a.recording, name) != getattr(b.recording, name)
    ]
    share_alike = _equal_share(base, other)
    if share_alike is not None and share_alike < MOSTLY_OTHER:
        text = (
            f"Operators that both have take {share(share_alike)} of the time: they ran other code."
        )
        found.append(Mismatch("work", "", "", "note", text))
    if options:
        one = "Only one of them recorded"
        found.append(
            Mismatch(
                "profiler options",
                _options(a),
                _options(b),
                "taints",
                f"{one} {listing(options)}, which slows the host.",
            )
        )
    compare("script", lambda facts: facts.script, "note", "They were started by different scripts.")
    order = ("other machine", "taints", "note")
    return tuple(sorted(found, key=lambda one: order.index(one.weight)))


def _left_out(a: Facts, b: Facts) -> list[Mismatch]:
    """Kinds of device activity that only one of them recorded."""
    found = []
    for kind in ("kernels", "copies"):
        lacks = [kind in facts.unavailable for facts in (a, b)]
        if lacks[0] != lacks[1]:
            base, other = ("no" if one else "yes" for one in lacks)
            lost = "compute" if kind == "kernels" else kind
            what = f"{lost} and idle time of the other are not known"
            text = f"Only one of them recorded {kind}: {what}."
            found.append(Mismatch(f"recorded {kind}", base, other, "taints", text))
    return found


def _measured_clocks(base: Side, other: Side) -> list[Mismatch]:
    """Clocks that were sampled: another one, one that is locked, or locked by sampling."""
    found: list[Mismatch] = []
    sums = [measured(side.selection) for side in (base, other)]
    clocks = [counter_of(one, "sm_clock") for one in sums]
    left, right = (None if one is None else one.mean(*WORK) for one in clocks)
    if left and right and abs(right / left - 1) > DRIFT_RATIO:
        a, b = (f"{value:,.0f}\u00a0MHz" for value in (left, right))
        text = f"By samples the device worked at {b} in the mean, and at {a} in the base."
        found.append(Mismatch("measured clock", a, b, "taints", text))
    locked = [None if one is None else is_constant(one.facts) for one in clocks]
    if None not in locked and locked[0] != locked[1]:
        words = [("constant" if one else "changes") for one in locked]
        which = "base" if locked[0] else "other"
        text = f"The clock of the {which} is the same in every sample, as if locked; only there."
        found.append(Mismatch("locked clock", words[0], words[1], "taints", text))
    is_sampled = [any(one.facts.kind in SAMPLING_KINDS for one in some) for some in sums]
    if is_sampled[0] != is_sampled[1]:
        words = [("sampled" if one else "not sampled") for one in is_sampled]
        text = "Only one of them sampled performance counters, which locks the device's clocks."
        found.append(Mismatch("performance counters", words[0], words[1], "taints", text))
    return found


def _devices(a: Facts, b: Facts) -> list[Mismatch]:
    """Other devices, by their names; by vendor and type where a file does not name them."""
    names = [_device_names(facts) for facts in (a, b)]
    if lost := _lost_device(a, b):
        text = f"Nothing of the device is in what is left of the file of {lost}."
        base, other = ("" if side == lost else name for side, name in zip("AB", names, strict=True))
        return [Mismatch("device", base, other, "taints", text)]
    known = names if all(names) else [_device_kinds(facts) for facts in (a, b)]
    if known[0] != known[1]:
        text = "The recordings are of different devices."
        return [Mismatch("device", known[0], known[1], "other machine", text)]
    if names[0] == names[1]:
        return []
    text = f"The file of {'B' if names[0] else 'A'} does not name its device: it may be another."
    return [Mismatch("name of the device", names[0], names[1], "note", text)]


def _lost_device(base: Facts, other: Facts) -> str:
    """The side whose file is damaged and has no device where the other one has; "" for neither."""
    has = [any(one.used for one in facts.devices) for facts in (base, other)]
    sides = zip("AB", (base, other), has, strict=True)
    lost = [side for side, facts, is_used in sides if not is_used and _damage(facts) is not None]
    return lost[0] if lost and any(has) else ""


def _device_names(facts: Facts) -> str:
    """Names of the devices that are used, CPU where none is; empty if one has no name."""
    names = sorted({one.name for one in facts.devices if one.used})
    if not names:
        return "CPU"
    return ", ".join(names) if all(names) else ""


def _device_kinds(facts: Facts) -> str:
    kinds = {f"{one.vendor} {one.type}".strip() for one in facts.devices if one.used}
    return ", ".join(sorted(kinds)) or "CPU"


def _ranks(facts: Facts) -> str:
    """Number of ranks of the job; "" if the format does not record it."""
    is_unknown = facts.world_size is None and facts.recording.file_format == "perfetto"
    return "" if is_unknown else str(facts.world_size or 1)


def _compilation(facts: Facts) -> str:
    return "compiled" if facts.traits.compiled else "eager"


def _damage(facts: Facts) -> str | None:
    """Lost data according to the health record, or None."""
    lost = [note for note in facts.health.notes if note.severity == "error"]
    return (facts.health.cut or lost[0]).title if lost else None


def _recorders(a: Facts, b: Facts) -> tuple[str, Callable[[Facts], str], Weight, str]:
    """The recorders' properties to compare, and the sentence for a difference."""

    def of(facts: Facts) -> str:
        return RECORDERS.get(facts.torch_era, "")

    if is_of_other_recorder(a.torch_era) or is_of_other_recorder(b.torch_era):
        return "recorder", of, "taints", "They were recorded by different programs."
    return "torch", of, "taints", "They were recorded by different formats of torch."


def _minor(version: str) -> str:
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else version


def _options(facts: Facts) -> str:
    names = ("with_stack", "record_shapes", "profile_memory", "with_flops")
    return ", ".join(name for name in names if getattr(facts.recording, name)) or "none"


def _other_inputs(base: Side, other: Side, column: str, text: str) -> Mismatch | None:
    """Other shapes or types of the ten operators that take most of the time."""
    left, right = (_heavy_inputs(side, column) for side in (base, other))
    others = [
        (name, left[name], right[name])
        for name in left
        if name in right and left[name] and right[name] and not left[name] & right[name]
    ]
    if not others:
        return None
    _, a, b = others[0]
    names = listing([f"`{one[0]}`" for one in others[:3]])
    return Mismatch(column, min(a), min(b), "taints", f"{names} got other {column}: {text}.")


def _heavy_inputs(side: Side, column: str) -> dict[str, set[str]]:
    """The inputs of the heaviest operators by name: "shapes", or "types" as texts."""
    calls, strings = side.operators.calls, side.operators.strings
    rows = np.flatnonzero(in_steps(calls.step, side.steps) & (calls.kind == CallKind.OP))
    if not len(rows):
        return {}
    name, weight = calls.name[rows], calls.self_ns[rows] + calls.device_self_ns[rows]
    heaviest = np.argsort(-np.bincount(name, weight, len(strings)))[:HEAVIEST]
    place = np.full(len(strings), -1, np.int32)
    place[heaviest] = np.arange(len(heaviest), dtype=np.int32)
    inputs: I32 = getattr(calls, column)[rows]
    some = np.flatnonzero((place[name] >= 0) & (inputs >= 0))
    pairs = place[name[some]] * len(strings) + inputs[some]
    found: dict[str, set[str]] = {strings[code]: set() for code in heaviest.tolist()}
    for pair in np.flatnonzero(seen(pairs, len(heaviest) * len(strings))).tolist():
        at, code = divmod(pair, len(strings))
        found[strings[int(heaviest[at])]].add(strings[code])
    return found


def _equal_share(base: Side, other: Side) -> float | None:
    """The part of the time of operators of both that goes to names both have; None: no time."""
    times: list[dict[str, int]] = []
    for side in (base, other):
        calls, strings = side.operators.calls, side.operators.strings
        rows = in_steps(calls.step, side.steps) & (calls.kind == CallKind.OP)
        weight = np.maximum(calls.own_ns[rows], 0) + calls.device_self_ns[rows]
        sums = np.bincount(calls.name[rows], weight, len(strings))
        times.append({strings[at]: int(sums[at]) for at in np.flatnonzero(sums).tolist()})
    whole = [sum(one.values()) for one in times]
    if not all(whole):
        return None
    both = times[0].keys() & times[1].keys()
    return min(sum(one[name] for name in both) / of for one, of in zip(times, whole, strict=True))


def both_tell(base: Side, other: Side, key: str) -> bool:
    """True if both recordings have a count, be it 0 in every step."""
    return key in _series(base) and key in _series(other)


def step_counts(base: Side, other: Side) -> tuple[StepCount, ...]:
    """The counts that both recordings have, in an order for people."""
    sides = [_series(side) for side in (base, other)]
    found: list[StepCount] = []
    for key, (label, unit) in COUNTS.items():
        if key not in sides[0] or key not in sides[1]:
            continue
        a, b = sides[0][key], sides[1][key]
        if not a.any() and not b.any():
            continue
        exact = bool(np.ptp(a) == 0 and np.ptp(b) == 0)
        found.append(StepCount(key, label, unit, float(a.mean()), float(b.mean()), exact))
    return tuple(found)


COUNTS: Mapping[str, tuple[str, CountUnit]] = {
    "launches": ("Launches", "count"),
    "kernels": ("Kernels", "count"),
    "copies": ("Copies", "count"),
    "copied_bytes": ("Bytes copied", "bytes"),
    "collectives": ("Collectives", "count"),
    "operators": ("Operators", "count"),
    "flops": ("FLOPs of ops with a model", "flop"),
}


OF_OPERATORS = ("operators", "flops")
"""The counts that calls make; the others are of what devices did."""


class _Counted(NamedTuple):
    """Source of a count: some calls of operators, or some activities of devices."""

    step: I32  # of each of them
    name: I32  # its code in the texts of the side's operators
    weight: F64 | None = None  # what each counts for; 1 where None


def _counted(side: Side) -> dict[str, _Counted]:
    """Counts of the chosen steps; without those that a recording cannot have."""
    calls, activities = side.operators.calls, side.operators.activities
    found: dict[str, _Counted] = {}

    def done(rows: NDArray[Any], weight: F64 | None = None) -> _Counted:
        return _Counted(activities.step[rows], activities.name[rows], weight)

    def called(rows: NDArray[Any], weight: F64 | None = None) -> _Counted:
        return _Counted(calls.step[rows], calls.name[rows], weight)

    if side.selection.facts.device_type != "CPU":
        mine = in_steps(activities.step, side.steps)
        copy = np.flatnonzero(mine & (activities.kind == DeviceKind.MEMCPY))
        found["kernels"] = done(mine & (activities.kind == DeviceKind.KERNEL))
        found["copies"] = done(copy)
        if len(copy) and (activities.bytes[copy] >= 0).all():
            found["copied_bytes"] = done(copy, activities.bytes[copy].astype(np.float64))
        found["collectives"] = done(mine & (activities.klass == DeviceClass.COMMUNICATION))
    op = np.flatnonzero(in_steps(calls.step, side.steps) & (calls.kind == CallKind.OP))
    found["operators"] = called(op)
    known = op[~np.isnan(calls.flops[op])]
    if len(known):
        found["flops"] = called(known, calls.flops[known])
    return found


def _series(side: Side) -> dict[str, F64]:
    """Each count by chosen step; without those that a recording cannot have."""
    found = {
        key: np.bincount(side.places(one.step), one.weight, side.count).astype(np.float64)
        for key, one in _counted(side).items()
    }
    if side.selection.facts.device_type != "CPU":
        steps = side.selection.steps
        found["launches"] = np.array([step.launches for step in steps], np.float64)
    return found


def amounts(side: Side, key: str) -> dict[str, float]:
    """Amount of a count by name, per step; for launches, by the launched kernel."""
    of = _counted(side)
    strings, found = side.operators.strings, dict[str, float]()
    for one in (of[name] for name in (("kernels", "copies") if key == "launches" else (key,))):
        sums = np.bincount(one.name, one.weight, len(strings)) / side.count
        found |= {strings[at]: float(sums[at]) for at in np.flatnonzero(sums).tolist()}
    return found
