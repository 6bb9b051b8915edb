"""The schedule of a profiler against the loop that ran: which steps it recorded, or why none.

Only schedules of `torch.profiler.schedule` are understood. Nothing here calls into torch.
"""

from __future__ import annotations

import gc
import inspect
import sys
from typing import Any, NamedTuple


class Plan(NamedTuple):
    """The arguments of `torch.profiler.schedule`."""

    wait: int
    warmup: int
    active: int
    repeat: int = 0
    skip_first: int = 0
    skip_first_wait: int = 0

    @property
    def skipped(self) -> int:
        """The number of steps before the first recorded one."""
        wait = 0 if self.skip_first_wait else self.wait
        return self.skip_first + wait + self.warmup

    def at(self, step: int) -> int | None:
        """The place of a step among the recorded ones of its cycle; None: it is not recorded.

        >>> [Plan(wait=1, warmup=1, active=2, repeat=1).at(step) for step in range(5)]
        [None, None, 0, 1, None]
        """
        if step < self.skip_first:
            return None
        step += (self.wait if self.skip_first_wait else 0) - self.skip_first
        cycle, place = divmod(step, self.wait + self.warmup + self.active)
        if self.repeat and cycle >= self.repeat:
            return None
        place -= self.wait + self.warmup
        return place if place >= 0 else None


def plan_of(schedule: object) -> Plan | None:
    """The arguments that a schedule of torch's was made with; None for a schedule of the user."""
    try:
        made: Any = inspect.unwrap(schedule) if callable(schedule) else None
        if getattr(made, "__module__", None) != "torch.profiler.profiler":
            return None
        cells = zip(made.__code__.co_freevars, made.__closure__ or (), strict=True)
        values = {name: int(cell.cell_contents) for name, cell in cells if name in Plan._fields}
        return Plan(**values)
    except (AttributeError, TypeError, ValueError):  # the default schedule, or another torch
        return None


def window(prof: object) -> dict[str, int] | None:
    """Number of steps the schedule requested, and number recorded completely.

    To be called when the trace is ready. None where that cannot be told.
    """
    plan, step = plan_of(getattr(prof, "schedule", None)), getattr(prof, "step_num", None)
    if plan is None or not isinstance(step, int):
        return None
    is_full = step > 0 and plan.at(step - 1) == plan.active - 1
    begun = plan.at(step)
    if is_full and begun is None:
        return {"asked": plan.active, "recorded": plan.active}
    # Without a pause between two cycles, the end of one may be the begin of the next.
    return None if is_full or begun is None else {"asked": plan.active, "recorded": begun}


def nothing_recorded(handler: object) -> str | None:
    """Why a handler that was never called got no trace; None if no profiler of it is found."""
    profilers = _profilers_of(handler)
    if not profilers:
        return None
    return _why(max(profilers, key=_steps), _failure())


def _profilers_of(handler: object) -> list[Any]:
    """The profilers whose `on_trace_ready` is the handler. One pass over all objects or two."""
    known = getattr(sys.modules.get("torch.profiler"), "profile", None)
    if not isinstance(known, type):
        return []
    return [
        one
        for holder in gc.get_referrers(handler)
        for one in (gc.get_referrers(holder) if type(holder) is dict else [holder])
        if issubclass(type(one), known) and vars(one).get("on_trace_ready") is handler
    ]


def _steps(prof: Any) -> int:  # noqa: ANN401  # torch's class
    count = getattr(prof, "step_num", 0)
    return count if isinstance(count, int) else 0


def _failure() -> str:
    """The type of the exception that ended the program; "" for none."""
    is_interactive = hasattr(sys, "ps1")
    return "" if is_interactive else getattr(getattr(sys, "last_type", None), "__name__", "")


def _why(prof: Any, failure: str) -> str:  # noqa: ANN401  # torch's class
    plan, steps = plan_of(prof.schedule), _steps(prof)
    skips = f"the schedule skips the first {plan.skipped}" if plan and plan.skipped else ""
    if failure:
        rest = f"; {skips}" if skips and plan and steps <= plan.skipped else ""
        return f"the program failed ({failure}) after {_counted(steps)}{rest}."
    if plan is None and not getattr(prof, "record_steps", True):  # it records from start to stop
        missing = "started" if getattr(prof, "profiler", None) is None else "stopped"
        return (
            f"the profiler was never {missing}. Run the loop inside `with profile(...) as prof:`."
        )
    if not steps:
        return (
            "prof.step() was never called, so the schedule never began to record. Call prof.step()"
            " after each step."
        )
    how = "Run 2 steps or more with" if steps < 2 else "Use"
    remedy = f"{how} {_fitting(steps, plan.active if plan else steps)}."
    if plan is None:
        return f"the loop ran {_counted(steps)}, and its schedule recorded none. {remedy}"
    if steps > plan.skipped:
        return "the profiler was never stopped. Run the loop inside `with profile(...) as prof:`."
    return f"the loop ran {_counted(steps)}, and {skips}. {remedy}"


def _counted(steps: int) -> str:
    return f"{steps} step" if steps == 1 else f"{steps} steps"


def _fitting(steps: int, active: int) -> str:
    """A schedule that records within so many steps, of which there are two at least.

    >>> _fitting(5, 6)
    'schedule(wait=1, warmup=1, active=3, repeat=1)'
    """
    wait = int(steps > 2)
    active = max(1, min(active, steps - wait - 1))
    return f"schedule(wait={wait}, warmup=1, active={active}, repeat=1)"
