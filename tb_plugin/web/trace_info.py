"""What the shell needs of the chosen trace, whatever the view."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.facts import Facts
from ..analysis.outliers import outliers
from ..store.lookup import Entry
from ..trace.health import WORST_FIRST
from ..views.view import View
from .contract import StepInfo, TraceInfo, ViewState
from .identity import answer_digest


def trace_info(entry: Entry, facts: Facts, views: Sequence[View]) -> TraceInfo:
    """Steps, the state of each view, and how healthy the trace is."""
    severities = {note.severity for note in facts.health.notes}
    return TraceInfo(
        digest=answer_digest(entry.digest),
        run=entry.run,
        worker=entry.worker,
        span=entry.span,
        rank=entry.rank,
        device_type=facts.device_type,
        step_source=facts.step_source,
        steps=_steps(facts),
        views=tuple(_state(view, facts) for view in views),
        note_count=len(facts.health.costly),
        worst=next((s for s in WORST_FIRST if s in severities), "good"),
    )


def _state(view: View, facts: Facts) -> ViewState:
    reason = view.unavailable(facts)
    return ViewState(view.stem, reason, None if reason else view.badge(facts))


def _steps(facts: Facts) -> tuple[StepInfo, ...]:
    marks = outliers(facts)
    return tuple(
        StepInfo(
            index=step.index,
            number=step.number,
            name=step.name,
            dur_ns=step.dur_ns,
            excluded=step.excluded,
            outlier=marks[step.index],
        )
        for step in facts.steps
    )
