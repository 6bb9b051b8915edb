"""Words that sentences share: devices, steps, ranges of time, and shares as people say them."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.units import NBSP, duration, listing, plural, share
from .facts import DeviceFacts, Facts
from .selection import Selection

EVERY_RATIO = 0.8  # of the steps agree: "every step"

# Ranges of a share that have a name; between them it is a number.
_FRACTIONS = (
    (0.235, 0.265, "a quarter"),
    (0.315, 0.352, "a third"),
    (0.475, 0.525, "half"),
    (0.648, 0.685, "two thirds"),
    (0.735, 0.765, "three quarters"),
)


def fraction(ratio: float) -> str:
    """A share as one says it: ``a third``, else ``41.2 %``."""
    named = (name for low, high, name in _FRACTIONS if low <= ratio <= high)
    return next(named, share(ratio))


def device_name(device: DeviceFacts) -> str:
    """``GPU 0``."""
    return f"{device.type}{NBSP}{device.index}"


def the_device(selection: Selection) -> str:
    """``The GPU`` where there is one, ``GPU 3`` where there are several."""
    device = selection.device_facts
    if device is None:
        return "The host"
    used = sum(one.used for one in selection.facts.devices)
    return f"The {device.type}" if used == 1 else device_name(device)


def device_names(devices: Sequence[DeviceFacts]) -> str:
    """``GPU 0 and GPU 1``."""
    return listing([device_name(device) for device in devices])


def scope(selection: Selection, *, device: bool = True) -> str:
    """``6 of 6 steps, GPU 0``."""
    whole = selection.facts.step_source == "whole_trace"
    total = len(selection.facts.steps)
    steps = "the whole recording" if whole else f"{selection.count} of {plural(total, 'step')}"
    chosen = selection.device_facts
    return f"{steps}, {device_name(chosen)}" if device and chosen else steps


def per_step(selection: Selection) -> str:
    """What a mean is taken over: ``per step``; ``in the recording`` where nothing marks steps."""
    if selection.facts.step_source == "whole_trace":
        return "in the recording"
    return "per step" if selection.count != 1 else "in this step"


def of_step(selection: Selection, agree: int) -> str:
    """What a share is of: ``of every step``, ``of the mean step``, ``of the step``.

    Of every step only where nearly all of them say the same.
    """
    if selection.facts.step_source == "whole_trace":
        return "of the recording"
    if selection.count < 2:
        return "of the step"
    return "of every step" if agree >= EVERY_RATIO * selection.count else "of the mean step"


def step_noun(facts: Facts) -> str:
    """``step``, or ``recording`` where nothing marks steps."""
    return "recording" if facts.step_source == "whole_trace" else "step"


def spread(values: Sequence[int]) -> str:
    """``48.1 ms to 69.3 ms``, or one value where they read alike."""
    low, high = duration(min(values)), duration(max(values))
    return low if low == high else f"{low} to {high}"
