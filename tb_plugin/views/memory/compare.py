"""Two memory snapshots compared: which code holds more than before, and over the steps."""

from __future__ import annotations

from ...analysis.memory.model import MemoryColumns
from ...analysis.memory.snapshots.changes import SiteChange, changes_between
from ...analysis.memory.snapshots.sides import SideOfPeaks, StepCurve, over_steps, side_of
from ...base.errors import QueryError
from ...base.units import size
from ..table import heads
from ..view import Subject, TracePlace
from . import contract as answers
from .windows import device_of


def comparison(subject: Subject, query: answers.CompareQuery) -> answers.MemoryComparison:
    """This snapshot against an earlier one, at the highest total of each.

    The differences of the sites sum to the difference of the two peaks. Curves run over steps, not
    over time: two recordings of one training then lie on each other.

    Raises:
        QueryError: one of them is no snapshot, or has no such device.
        NotFoundError: there is no such recording.
    """
    place = TracePlace(query.other_run, query.other_worker, query.other_span)
    after: MemoryColumns = subject.artifact("")
    before: MemoryColumns = subject.recordings.subject(place).artifact("")
    if not (before.is_snapshot and after.is_snapshot):
        raise QueryError(
            "two memory snapshots are compared here", hint="The Diff view compares traces."
        )
    device = device_of(after, query.device)
    other = device_of(before, device.key)
    sides = side_of(before, other), side_of(after, device)
    found = changes_between(sides[0].sites, sides[1].sites)
    return answers.MemoryComparison(
        sentence=_sentence(*sides, found),
        before_bytes=sides[0].peak_bytes,
        after_bytes=sides[1].peak_bytes,
        columns=heads(answers.ChangedSite),
        sites=tuple(_site(one, *sides) for one in found),
        before=_curve(over_steps(before, other)),
        after=_curve(over_steps(after, device)),
    )


def _sentence(before: SideOfPeaks, after: SideOfPeaks, found: tuple[SiteChange, ...]) -> str:
    """Difference of the peaks, and number of new, gone or grown sites."""
    difference = after.peak_bytes - before.peak_bytes
    peaks = f"from {size(before.peak_bytes)} to {size(after.peak_bytes)}"
    if difference == 0:
        said = f"Both peaks are {size(after.peak_bytes)}"
    else:
        way = "higher" if difference > 0 else "lower"
        said = f"The peak is {size(abs(difference))} {way}, {peaks}"
    kinds = {kind: sum(one.change == kind for one in found) for kind in ("new", "gone", "grown")}
    changed = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    return f"{said}. Sites: {changed or 'none is new, gone or grown'}."


def _site(one: SiteChange, before: SideOfPeaks, after: SideOfPeaks) -> answers.ChangedSite:
    """A site as a row; values that a side lacks are 0, and its lifetime None."""
    # Frames of a site that is on both sides may have moved; figures by frames are of their side.
    old, new = one.frames_before, one.frames
    return answers.ChangedSite(
        frames=one.frames,
        site=" < ".join(one.frames),
        change=one.change,
        difference_bytes=one.difference,
        before_bytes=one.before,
        after_bytes=one.after,
        before_blocks=one.count_before,
        after_blocks=one.count_after,
        before_allocations=before.allocations.get(old, 0) if one.count_before else 0,
        after_allocations=after.allocations.get(new, 0) if one.count_after else 0,
        before_lifetime_ns=before.lifetime_ns.get(old) if one.count_before else None,
        after_lifetime_ns=after.lifetime_ns.get(new) if one.count_after else None,
    )


def _curve(found: StepCurve) -> answers.CompareCurve:
    return answers.CompareCurve(tuple(found.at.tolist()), tuple(found.bytes.tolist()), found.steps)
