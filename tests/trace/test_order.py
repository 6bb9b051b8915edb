"""From rows of the file to rows of tables: what is counted, matched and looked up on the way."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.trace.build.metadata import identify, take_census
from kinetoscope.trace.build.route import sort_out
from kinetoscope.trace.build.times import FAR_NS, OPEN, EventRows, Settled, bounds, settle_times
from kinetoscope.trace.link import flows as matching
from kinetoscope.trace.link import flows as ops
from kinetoscope.trace.link.flows import match_flows
from kinetoscope.trace.model import HostKind, Trace
from kinetoscope.trace.raw import MISSING, NO_DUR, Texts
from tests.trace.drawn import drawn, kernel, launch, python, raw_trace, x

HOUR_US = FAR_NS // 1000


@given(st.lists(st.tuples(st.sampled_from("XXisfC"), st.sampled_from(["", "a", "b"])), max_size=30))
def test_the_census_counts_every_kind_once(kinds: list[tuple[str, str]]) -> None:
    raw = raw_trace({"traceEvents": [{"ph": phase, "cat": cat} for phase, cat in kinds]})
    texts = Texts(raw.strings)
    census = take_census(raw.events, texts)
    found = {
        (chr(phase), texts[code]): count
        for phase, code, count in zip(
            census.phase.tolist(), census.category.tolist(), census.count.tolist(), strict=True
        )
    }
    assert found == {kind: kinds.count(kind) for kind in kinds}
    assert census.of_phase(ord("X")) == sum(phase == "X" for phase, _ in kinds)
    ranged = {cat for phase, cat in kinds if phase == "X"}
    assert {texts[code] for code in census.categories((ord("X"),))} == ranged


def test_many_categories_are_counted_too() -> None:
    events = [{"ph": "X", "cat": f"c{number % 5000}"} for number in range(6000)]
    raw = raw_trace({"traceEvents": events})
    census = take_census(raw.events, Texts(raw.strings))
    assert (len(census.count), int(census.count.sum())) == (5000, 6000)


def settled(times: list[tuple[int, int]]) -> Settled:
    ts, dur = (np.array(column, np.int64) for column in zip(*times, strict=True))
    return settle_times((EventRows(np.arange(len(ts), dtype=np.int32), ts, dur),), (), 0)


NEAR = st.integers(1, 2000)
FAR = st.sampled_from([MISSING, 0, FAR_NS // 2, FAR_NS, 3 * FAR_NS, 10**18, -(10**18)])
LASTS = st.sampled_from([0, 5, NO_DUR, -7, FAR_NS // 2, FAR_NS, 2 * FAR_NS, 10**18])


@given(st.lists(st.tuples(NEAR | FAR, LASTS), min_size=1, max_size=12))
def test_times_are_settled_by_the_bounds_of_the_clock(times: list[tuple[int, int]]) -> None:
    """However the answer is found: most files need not be asked for their bounds."""
    limits = bounds(np.array([ts for ts, _ in times], np.int64))
    kept = [(ts, dur) for ts, dur in times if limits.low <= ts <= limits.high and ts != MISSING]
    mended = [0 if dur < 0 or dur > limits.high - ts else dur for ts, dur in kept]
    result = settled(times)
    (part,) = result.ranges
    assert part.ts.tolist() == [ts for ts, _ in kept]
    assert part.dur.tolist() == mended
    assert sum(result.ignored.values()) == len(times) - len(kept)
    durations = [dur for _, dur in kept]
    assert result.without_dur == durations.count(NO_DUR)
    assert result.negative == sum(dur < 0 for dur in durations) - result.without_dur
    assert result.absurd == sum(dur > limits.high - ts for ts, dur in kept)


def test_what_never_ended_lasts_until_all_others_have() -> None:
    (part,) = settled([(10, 5), (12, OPEN), (20, 30)]).ranges
    assert part.dur.tolist() == [5, 38, 30]


ARROWS = st.lists(
    st.tuples(st.sampled_from("sf"), st.sampled_from(["ac2g", "fwdbwd"]), st.integers(-2, 5)),
    max_size=20,
)


@given(ARROWS, st.integers(1, 4))
def test_an_end_finds_the_last_start_of_its_key(
    arrows: list[tuple[str, str, int]], stretch: int
) -> None:
    """By table where ids are dense, by sorting where they are not."""
    factor = 1 if stretch < 3 else 1 << 36  # below the numbers of arrows between graph nodes
    events = [
        {"ph": phase, "cat": cat, "name": "", "id": number * factor, "pid": 1, "tid": 1, "ts": 0}
        for phase, cat, number in arrows
    ]
    raw = raw_trace({"traceEvents": events})
    texts = Texts(raw.strings)
    rows = sort_out(raw, texts, identify(raw, texts), take_census(raw.events, texts))
    flows = match_flows(raw, texts, rows)
    last: dict[tuple[str, int], int] = {}
    for row, (phase, cat, number) in enumerate(arrows):
        if phase == "s":
            last[cat, number] = row
    expected = [
        (last[cat, number], row)
        for row, (phase, cat, number) in enumerate(arrows)
        if phase == "f" and (cat, number) in last
    ]
    assert list(zip(flows.start.tolist(), flows.end.tolist(), strict=True)) == expected
    assert flows.lonely_starts == len(rows.flow_starts) - len({start for start, _ in expected})
    assert flows.lonely_ends == len(rows.flow_ends) - len(expected)
    assert (matching._by_any_id(raw, rows.flow_starts, rows.flow_ends) >= 0).sum() == len(expected)


def op_by_definition(trace: Trace, row: int) -> int:
    """The latest started op of the thread that is open when the row starts; rows are in order."""
    host = trace.host
    at = int(host.ts[row])
    open_ = [
        other
        for other in range(row + 1)
        if host.kind[other] == HostKind.OP
        and host.thread[other] == host.thread[row]
        and host.ts[other] + host.dur[other] > at
    ]
    return max(open_, default=-1)


SPANS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 12)), min_size=1, max_size=25
)


@given(SPANS, st.sampled_from([0, 1, 32]))
def test_the_op_around_a_call_by_definition(
    spans: list[tuple[int, int, int]], patience: int
) -> None:
    """Also where nothing nests, and where the way up is shortened at once."""
    usual, ops._PATIENCE = ops._PATIENCE, patience
    try:
        trace = drawn(
            *(
                (x if kind else python)(f"e{number}", ts, dur)
                for number, (kind, ts, dur) in enumerate(spans)
            ),
            *(launch(ts, 1, number + 1) for number, (_, ts, _) in enumerate(spans)),
            *(kernel("k", 50 + n, 1, correlation=n + 1) for n in range(len(spans))),
        )
    finally:
        ops._PATIENCE = usual
    device = trace.device
    assert (device.launch >= 0).all()
    assert device.op.tolist() == [op_by_definition(trace, row) for row in device.launch.tolist()]
