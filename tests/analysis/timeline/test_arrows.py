"""Arrows of a slice and of a view: none twice, none lost, the close ones together."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.model import FlowKind
from kinetoscope.analysis.timeline.relatives import Bundle, arrows_around, bundles_in
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.asked import US, ask, drawn, find, plain, spans, traces, track

PICTURE = """
    op     | ffffffff           |
    call   |  l m               |
    op2    |         bbbbbbbb   |
    call2  |           n        |
    gpu    |    llmm     nn     |
    """
ARGS = {"f": {"Sequence number": 5}, "b": {"Sequence number": 5, "Fwd thread id": 1}}


def test_arrows_of_a_call_and_of_the_op_around_it() -> None:
    of = drawn(PICTURE, args=ARGS)
    op, call, kernel = (find(of, n) for n in ("aten::f", "cudaLaunchKernel", "kernel_l"))
    launch = Bundle(FlowKind.LAUNCH, call, kernel, 1)
    assert arrows_around(of, call, 1) == arrows_around(of, kernel, 1) == [launch]
    backward = Bundle(FlowKind.BACKWARD, op, find(of, "aten::b"), 1)
    assert arrows_around(of, op, 1) == [backward]


def test_an_op_without_an_arrow_stands_for_what_it_launched() -> None:
    of = drawn(PICTURE)
    found = arrows_around(of, find(of, "aten::f"), 1)
    kernels = [find(of, "kernel_l"), find(of, "kernel_m")]
    assert [one.target for one in found] == kernels
    assert arrows_around(of, kernels[0], 3) == found[:1]


def test_close_arrows_are_one() -> None:
    of = drawn(PICTURE)
    wide, count = bundles_in(of, (0, 20 * US), 16, list(FlowKind), None, 500)
    assert (sorted(one.count for one in wide), count) == ([1, 2], 3)
    apart, count = bundles_in(of, (0, 20 * US), 4096, list(FlowKind), None, 500)
    assert ([one.count for one in apart], count) == ([1, 1, 1], 3)
    largest, count = bundles_in(of, (0, 20 * US), 16, list(FlowKind), None, 1)
    assert ([one.count for one in largest], count) == ([2], 3)


def test_kinds_and_tracks_are_chosen() -> None:
    of = drawn(PICTURE, args=ARGS)
    span = (0, 20 * US)
    (backward,), count = bundles_in(of, span, 1024, [FlowKind.BACKWARD], None, 500)
    assert (backward.source, count) == (find(of, "aten::f"), 1)
    first = int(of.track_of_lane[of.layout.lane[find(of, "aten::f")]])
    stream = track(of, "stream")
    _, count = bundles_in(of, span, 1024, list(FlowKind), (first, stream), 500)
    assert count == 2
    assert bundles_in(of, span, 1024, list(FlowKind), (stream,), 500) == ([], 0)


@settings(max_examples=60)
@given(traces(), spans, st.sampled_from([16, 64, 1024]))
def test_bundles_are_all_arrows_with_an_end_in_the_view(
    trace: Trace, span: tuple[int, int], columns: int
) -> None:
    of = ask(trace)
    start, end = span
    every = plain(of, trace)
    flows = of.timeline.flows
    pairs = list(zip(flows.source.tolist(), flows.target.tolist(), strict=True))
    shown = [pair for pair in pairs if any(start <= every[one].ts < end for one in pair)]
    found, count = bundles_in(of, span, columns, list(FlowKind), None, 500)
    assert count == sum(one.count for one in found) == len(shown)
    assert {(one.source, one.target) for one in found} <= set(shown)
