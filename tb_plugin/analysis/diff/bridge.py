"""The bridge: from the step of one recording to the step of another, part by part.

    base 177.6 ms = compute 99.2 + … + idle: DataLoader 59.3 + …
                         +0.6              −58.1
    other 141.1 ms

Both steps are divided into the same parts without a rest, so the changes of the parts sum to the
change of the step, to the nanosecond. The step is the median one, which the verdict judges: its
parts are those of the steps in the middle third. Of several judged recordings the mean is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import F64, I64, median
from ..facts import Breakdown, HostPartition, Partition, StepFacts
from ..steps import Selection
from .noise import LEAST_EFFECT_RATIO, holm, p_values

Division = Literal["device", "host", "classic"]
"""Seen from the device, from the main thread, or by the categories of the classic breakdown."""

# Of parts that stand for themselves, or under other parts; start-up is not compared.
_SUMS = ("idle_ns", "overlap_ns", "start_up_ns")
DEVICE_PARTS = tuple(name for name in Partition.__struct_fields__ if name not in _SUMS)
HOST_PARTS = tuple(name for name in HostPartition.__struct_fields__ if name not in _SUMS)
CLASSIC_PARTS = Breakdown.__struct_fields__
PARTS: dict[Division, tuple[str, ...]] = {
    "device": DEVICE_PARTS,
    "host": HOST_PARTS,
    "classic": CLASSIC_PARTS,
}

CLOCK = "clock_ns"
"""Key of the part that another clock makes; it is no field of a division."""
UNKNOWN = "unknown_ns"
"""Key of time that stays undivided where the kernels of a device were not recorded."""
_APART_FROM_KERNELS = ("exposed_copy_ns", "memset_ns")
DEVICE_WORK = ("compute_ns", "kernel_ns")
HOST_WORK = ("forward_ns", "backward_ns", "optimizer_ns", "python_ns", "uninstrumented_ns")


class BridgePart(Struct, frozen=True):
    """One part of both steps. Integers in ns.

    ``is_real``: the change is more than noise: of the code from three recordings a side on, else
    between these two recordings alone. None where it cannot be told.
    """

    key: str  # field of Partition, HostPartition or Breakdown, UNKNOWN or CLOCK
    base_ns: int
    other_ns: int
    is_real: bool | None
    fields: tuple[str, ...] = ()  # of the division: it is their sum

    @property
    def change_ns(self) -> int:
        """Other minus base."""
        return self.other_ns - self.base_ns


class Bridge(Struct, frozen=True):
    """Two steps in the same parts; each side's parts sum to its step."""

    division: Division
    base_ns: int
    other_ns: int
    parts: tuple[BridgePart, ...]  # those that are in one of the steps, in their usual order

    @property
    def change_ns(self) -> int:
        """Other minus base: the sum of the changes of all parts."""
        return self.other_ns - self.base_ns


def divisions(base: Selection, other: Selection) -> tuple[Division, ...]:
    """The divisions that both recordings have; the first is the one to show."""
    found: list[Division] = []
    if base.partition is not None and other.partition is not None:
        found.append("device")
    if base.host is not None and other.host is not None:
        found.append("host")
    return (*found, "classic")


def parts_of(base: Selection, other: Selection, division: Division) -> dict[str, tuple[str, ...]]:
    """The parts of both steps by key, each with the fields of the division that it is the sum of.

    Where the kernels of a device were not recorded, what lies between its copies is work or idle
    time. Where only one recording has kernels, not even copies are alike: those that run beside a
    kernel are no part of its steps.
    """
    fields: dict[str, tuple[str, ...]] = {key: (key,) for key in PARTS[division]}
    lack = [
        one.partition is not None and "kernels" in one.facts.unavailable for one in (base, other)
    ]
    if division == "host" or not any(lack):
        return fields
    if division == "classic" and all(lack):
        del fields["kernel_ns"]  # not recorded in either, which is not the same as none
        return fields
    apart = _APART_FROM_KERNELS if all(lack) else ()
    rest = tuple(key for key in fields if key not in apart)
    return {key: (key,) for key in apart} | {UNKNOWN: rest}


def bridge(
    base: Sequence[Selection], other: Sequence[Selection], division: Division = "device"
) -> Bridge:
    """The bridge between the median steps of the judged recordings of both sides."""
    fields = parts_of(base[0], other[0], division)
    sides = [[parts_by_step(one, division, fields) for one in side] for side in (base, other)]
    values = [apportioned([median_step(one) for one in side]) for side in sides]
    p = p_values(*([one.T.astype(np.float64) for one in side] for side in sides))
    unsure = np.isnan(p)
    least = LEAST_EFFECT_RATIO * sum(values[0])
    can_be = np.maximum(values[0], values[1]) >= least
    real = holm(np.where(can_be, p, np.nan))
    parts = tuple(
        BridgePart(
            key,
            a,
            b,
            None if unsure[at] else bool(real[at] and abs(b - a) >= least),
            fields[key],
        )
        for at, (key, a, b) in enumerate(zip(fields, *values, strict=True))
        if a or b
    )
    return Bridge(division, sum(values[0]), sum(values[1]), parts)


def parts_by_step(
    selection: Selection, division: Division, fields: Mapping[str, tuple[str, ...]]
) -> I64:
    """The parts of each chosen step, shape (steps, parts)."""
    rows = [
        _summed(step_parts(selection, step, division), division, fields) for step in selection.steps
    ]
    return np.array(rows, np.int64).reshape(-1, len(fields))


def with_clock(found: Bridge, ratio: float, *, of_device: bool) -> Bridge:
    """Separate the effect of the clock frequency; totals do not change.

    Work of the other side that lasts t takes t ÷ ``ratio`` at the clock of the base; the rest of it
    is the clock's. ``of_device``: whose clock it is, the device's or the host's.
    """
    keys = DEVICE_WORK if of_device else (*HOST_WORK, "cpu_exec_ns")
    parts: list[BridgePart] = []
    clock = 0
    for part in found.parts:
        of_clock = round(part.other_ns * (1 - 1 / ratio)) if part.key in keys else 0
        clock += of_clock
        parts.append(replace(part, other_ns=part.other_ns - of_clock) if of_clock else part)
    if clock:
        parts.append(BridgePart(CLOCK, 0, clock, is_real=None))
    return replace(found, parts=tuple(parts))


def _summed(
    values: list[int], division: Division, fields: Mapping[str, tuple[str, ...]]
) -> list[int]:
    of_field = dict(zip(PARTS[division], values, strict=True))
    return [sum(of_field[name] for name in names) for names in fields.values()]


def step_parts(selection: Selection, step: StepFacts, division: Division) -> list[int]:
    """The parts of one step, as ``PARTS`` names them; idle where the device only waited in it."""
    one = selection.device_step(step)
    parts: Struct | None = step.breakdown
    if division == "device":
        parts = one.partition if one else None
    elif division == "host":
        parts = step.host
    if parts is None:
        parts = Partition() if division == "device" else HostPartition()
    found = [int(getattr(parts, key)) for key in PARTS[division]]
    length = step.end_ns - step.start_ns
    rest = (length if division == "classic" else selection.length_ns(step)) - sum(found)
    if rest:
        # A step of which nothing is known for this device is idle as far as anybody can tell.
        found[-1] += rest
    return found


def median_step(steps: I64) -> F64:
    """The parts of the median step; they sum to it.

    Their shares are those of the steps in the middle third, so that odd steps take no part.
    ``steps``: shape (steps, parts).
    """
    count = len(steps)
    if not count:
        return np.zeros(steps.shape[1])
    lengths = steps.sum(axis=1)
    middle = steps[np.argsort(lengths, kind="stable")[count // 3 : count - count // 3]]
    parts: F64 = middle.mean(axis=0)
    return parts * (median(lengths) / (parts.sum() or 1.0))


def apportioned(recordings: Sequence[F64]) -> list[int]:
    """The mean of some recordings' parts as integers that sum to the rounded whole.

    What rounding leaves goes to the largest remainders (Hamilton's method).
    """
    parts = np.mean(recordings, axis=0)
    found = np.floor(parts)
    left = round(float(parts.sum() - found.sum()))
    found[np.argsort(found - parts, kind="stable")[:left]] += 1
    return [int(one) for one in found]
