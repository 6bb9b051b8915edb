"""Activities chosen by kind (torch 2.15): what was left out is missing, and not zero."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.diff.bridge import Division, bridge
from kinetoscope.analysis.diff.budget import Budget, Checked, check_budget
from kinetoscope.analysis.diff.comparable import mismatches
from kinetoscope.analysis.diff.verdict import compare
from kinetoscope.analysis.facts import IDLE_CAUSES
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.units import NBSP
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.model import Trace
from kinetoscope.views.kernels import view as kernels
from kinetoscope.views.kernels.contract import KernelQuery, Kernels
from kinetoscope.views.overview import view as overview
from kinetoscope.views.overview.idle import IdleQuery, PathQuery, flame, path
from kinetoscope.views.overview.view import Overview, OverviewQuery
from tests.analysis.diff.training import side_of
from tests.trace.drawn import annotation, drawn, kernel, launch, x

STEP = annotation("ProfilerStep#1", 0, 100)
HOST = [
    STEP,
    x("aten::mm", 5, 40),
    launch(10, 2, 1),
    launch(20, 2, 2, name="cudaMemcpyAsync"),
]
WORK = {
    "kernel": kernel("gemm", 30, 10, correlation=1),
    "copy": kernel("Memcpy HtoD", 50, 10, cat="gpu_memcpy", correlation=2),
}


def recorded(*kinds: str) -> Trace:
    """The same run, with the device work of these kinds."""
    return drawn(HOST, [WORK[kind] for kind in kinds])


def views_of(trace: Trace) -> tuple[Overview, Kernels]:
    facts = summarize(trace)
    session = TraceSession(trace, facts)
    return (
        overview.build(facts, OverviewQuery()),
        kernels.build(session.subject(kernels.VIEW), KernelQuery()),
    )


def test_without_kernels_no_figure_claims_that_none_ran() -> None:
    summary, table = views_of(recorded("copy"))
    assert table.headline == "Kernels are not available."
    assert table.detail.startswith("No kernel was recorded, though 1\xa0call launched some")
    assert "chosen by kind" in table.detail
    assert table.copies, "what was recorded is shown"
    (device,) = (one for one in summary.devices if one.used)
    assert [gauge.ratio for gauge in device.gauges] == [None] * 4
    assert all("chosen by kind" in gauge.reason for gauge in device.gauges)
    assert summary.sentence.headline.endswith("its kernels are missing.")
    assert summary.taints
    (step,) = summary.steps
    assert step.partition is not None
    told = ("compute_ns", "exposed_communication_ns", "overlap_ns", "exposed_copy_ns")
    assert [step.partition[key] for key in told] == [None, None, None, 10_000]
    assert step.breakdown["kernel_ns"] is None
    ruler = summary.ruler
    assert (ruler.busy_ns, ruler.idle_ns, ruler.overlap_ns) == (None, None, None)
    assert [(one.label, one.mean_ns) for one in ruler.shares] == [
        ("Copy", 10_000), ("Memset", 0), ("Not known", 90_000),
    ]  # fmt: skip
    assert {step.partition[key] for key in ("idle_ns", *IDLE_CAUSES)} == {None}
    assert step.partition["unknown_ns"] == 90_000
    assert "Idle time and Kernel are not available" in summary.missing["parts"]
    assert summary.gaps == ()
    subject = TraceSession(recorded("copy")).seen_by(overview.VIEW)
    assert flame(subject, IdleQuery()).missing.startswith("Idle time is not known. No kernel")
    assert "which are not known" in path(subject, PathQuery()).note
    assert not {one.id for one in summary.findings} & {"UT1", "IN4", "CO1"}


def test_what_the_device_did_between_copies_is_drawn_as_not_known() -> None:
    """In a terminal too: the parts sum to the step, and none is called idle."""
    summary, _ = views_of(recorded("copy"))
    shown = {table.title: table for table in overview.tables(summary)}
    ruler = shown[summary.ruler.title]
    assert [row[0] for row in ruler.rows] == ["Copy", "Memset", "Not known", "Sum"]
    (row,) = shown[f"Steps on GPU{NBSP}0"].rows
    assert row[2:5] == (10_000, 0, 90_000)
    whole, _ = views_of(recorded("kernel", "copy"))
    assert any(one.key in IDLE_CAUSES for one in whole.ruler.shares)
    assert "unknown_ns" not in (whole.steps[0].partition or {})


def test_no_advice_claims_idle_time_that_is_not_known() -> None:
    """The DataLoader holds the step; whether the device waited for it only kernels tell."""
    loader = annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 30, 65)
    kernels = [kernel("gemm", 12, 10, correlation=1)]
    copies = [kernel("Memcpy HtoD", 25, 4, cat="gpu_memcpy", correlation=2)]
    whole = drawn([*HOST, loader], [*kernels, *copies])
    assert "IN1" in {one.id for one in views_of(whole)[0].findings}
    of_loader, _ = views_of(drawn([*HOST, loader], copies))
    assert "idle" not in " ".join(one.text for one in of_loader.findings)
    assert "IN1" not in {one.id for one in of_loader.findings}
    (need,) = (one for one in of_loader.unchecked if "IN1" in {rule.id for rule in one.rules})
    assert need.needs.startswith("kernels: No kernel was recorded")


def test_without_copies_the_kernel_view_says_so() -> None:
    summary, table = views_of(recorded("kernel"))
    assert table.headline.startswith("GEMM kernels")
    assert "No copy was recorded, though 1\xa0call" in table.detail
    assert summary.devices[-1].gauges[0].ratio is not None


def test_a_comparison_says_that_one_side_has_no_kernels() -> None:
    base, other = side_of(recorded("copy")), side_of(recorded("kernel", "copy"))
    (one,) = (one for one in mismatches(base, other, None) if one.what == "recorded kernels")
    assert (one.base, one.other, one.weight) == ("no", "yes", "taints")
    assert one.text.endswith("compute and idle time of the other are not known.")
    assert "recorded kernels" not in {one.what for one in mismatches(base, base, None)}


COPIES, BOTH = ("copy",), ("kernel", "copy")


@pytest.mark.parametrize(
    ("base", "other", "division", "keys"),
    [
        (COPIES, COPIES, "device", ["exposed_copy_ns", "unknown_ns"]),
        (COPIES, BOTH, "device", ["unknown_ns"]),
        (BOTH, COPIES, "classic", ["unknown_ns"]),
    ],
)
def test_a_bridge_has_no_idle_time_where_kernels_were_left_out(
    base: tuple[str, ...], other: tuple[str, ...], division: Division, keys: list[str]
) -> None:
    sides = side_of(recorded(*base)), side_of(recorded(*other))
    found = bridge([sides[0].selection], [sides[1].selection], division)
    assert [part.key for part in found.parts] == keys
    assert sum(part.base_ns for part in found.parts) == found.base_ns == 100_000
    assert sum(part.other_ns for part in found.parts) == found.other_ns == 100_000
    verdict = compare(*sides)
    assert not any("idle" in one.key for one in verdict.bridge.parts)
    assert "idle" not in verdict.headline + verdict.detail


@pytest.mark.parametrize(("other", "key"), [(BOTH, "idle_blocking_ns"), (COPIES, "kernel_ns")])
def test_a_budget_for_what_was_left_out_cannot_be_told(other: tuple[str, ...], key: str) -> None:
    sides = side_of(recorded(*COPIES)), side_of(recorded(*other))
    checked = Checked(*sides, compare(*sides), (), ())
    _, case = check_budget(checked, Budget(parts={key: 0.01}))
    assert case.outcome == "cannot tell"


@pytest.mark.parametrize("kinds", [("kernel", "copy"), ()])
def test_where_nothing_is_left_out_nothing_is_said(kinds: tuple[str, ...]) -> None:
    trace = recorded(*kinds)
    assert not any(note.kind.startswith("left_out") for note in trace.health.notes)
    assert {"kernels", "copies"}.isdisjoint(summarize(trace).unavailable)
