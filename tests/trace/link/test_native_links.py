"""Ids, arrows and ops around events: the library says what the references say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from kinetoscope.base import arrays
from kinetoscope.base.arrays import I8, I32, I64
from kinetoscope.base.native import call as native_call
from kinetoscope.trace.build.metadata import identify, take_census
from kinetoscope.trace.build.nest import nest
from kinetoscope.trace.build.route import sort_out
from kinetoscope.trace.link import flows, launches
from kinetoscope.trace.raw import ID_INT, Texts
from tests.conftest import requires_native
from tests.trace.drawn import raw_trace

pytestmark = requires_native
SETTINGS = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
SEED = st.integers(0, 1 << 32)


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are worth a call."""
    monkeypatch.setattr(arrays, "_MANY", 1)


@SETTINGS
@given(
    SEED,
    st.sampled_from([5, 3000, 10**6, 10**12]),
    st.sampled_from([np.int32, np.int64]),
    st.booleans(),
)
def test_ids_are_joined(seed: int, span: int, kind: type[np.integer], first_counts: bool) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 400))
    most = min(span, np.iinfo(kind).max)
    key = random.integers(-2, most, count).astype(kind)
    row = random.permutation(count).astype(np.int32)
    wanted = np.concatenate([random.choice(key, 50), random.integers(-2, span, 50)]).astype(
        np.int64
    )
    found = launches.join(key, row, wanted, first_counts=first_counts)
    step = -1 if first_counts else 1
    expected = launches.join_in_python(key[::step], row[::step], wanted)
    assert found.tolist() == expected.tolist()
    of = dict(zip(key[::step].tolist(), row[::step].tolist(), strict=True))
    assert found.tolist() == [of.get(ask, -1) if ask > 0 else -1 for ask in wanted.tolist()]


@SETTINGS
@given(SEED, st.sampled_from([1, 9, 200]), st.sampled_from([1, 1 << 40]), st.integers(1, 5))
def test_forward_ops_are_found_by_number(seed: int, numbers: int, stretch: int, of: int) -> None:
    random = np.random.default_rng(seed)
    count, threads = 300, 3
    thread = np.sort(random.integers(0, threads, count)).astype(np.int32)
    ts = random.integers(0, 60, count)
    host: Any = Host(thread, ts[np.lexsort((ts, thread))], threads)
    row = random.permutation(count)[: int(random.integers(2, count))].astype(np.int32)
    half = int(random.integers(1, len(row)))
    row[:half].sort()  # as ops ahead are, by thread and time
    every = flows.NumberedOps(
        row, random.integers(0, numbers, len(row)) * stretch, random.integers(1, of + 1, len(row))
    )
    ahead = every.of(np.arange(half))
    asked = every.of(half + np.argsort(every.forward_thread[half:], kind="stable"))
    known = {number: int(random.integers(0, threads)) for number in range(1, of, 2)}
    answers: list[int | None] = []

    def call(name: str, *arguments: Any) -> int | None:
        answers.append(native_call(name, *arguments))
        return answers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows, "call", call)
        found = flows.forward_ops(host, ahead, asked, known)
        assert answers == [1] or stretch * numbers != 200, "the library knows"
        patch.setattr(flows, "call", lambda *_: None)
        expected = flows.forward_ops(host, ahead, asked, known)
    assert found.tolist() == expected.tolist()


class Host(Struct, frozen=True, eq=False):
    thread: I32
    ts: I64
    number: int

    @property
    def threads(self) -> range:
        return range(self.number)

    def __len__(self) -> int:
        return len(self.ts)


@SETTINGS
@given(SEED, st.integers(1, 20), st.sampled_from([1, 700, 1 << 40]))
def test_ends_of_arrows_find_their_starts(seed: int, kinds: int, stretch: int) -> None:
    random = np.random.default_rng(seed)
    events = [
        {
            "ph": "sfX"[int(random.integers(0, 3))],
            "cat": f"c{int(random.integers(0, kinds))}",
            "id": int(random.integers(-3, 30)) * stretch,
            "ts": 0,
        }
        for _ in range(int(random.integers(1, 120)))
    ]
    raw = raw_trace({"traceEvents": events})
    texts = Texts(raw.strings)
    rows = sort_out(raw, texts, identify(raw, texts), take_census(raw.events, texts))
    starts, ends, ids = rows.flow_starts, rows.flow_ends, raw.ints[ID_INT]
    if not len(starts) or not len(ends):
        return
    found = flows._by_number(raw, texts, starts, ends)
    if found is None:
        assert kinds > 16 or stretch > 700
        return
    assert found.tolist() == flows._by_any_id(raw, starts, ends).tolist()
    expected = flows._by_number_in_python(raw, texts, starts, ends, ids)
    assert expected is None or found.tolist() == expected.tolist()


class Nested(Struct, frozen=True):
    """What the way up asks of host events."""

    ts: I64
    dur: I64
    kind: I8
    nesting: SimpleNamespace

    def __len__(self) -> int:
        return len(self.ts)

    def end_of(self, rows: I32) -> I64:
        return np.asarray(self.ts[rows] + self.dur[rows])


@SETTINGS
@given(SEED, st.sampled_from([0, 1, 32]))
def test_the_way_up_to_an_op(seed: int, patience: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 300))
    ts = np.sort(random.integers(0, 200, count))
    dur = random.integers(0, 60, count)
    kind = random.integers(0, 3, count).astype(np.int8)
    first = np.zeros(count, bool)
    first[[0, count // 2]] = True
    outer = nest(ts, dur, first, kind, 0).outer
    host: Any = Nested(ts, dur, kind, SimpleNamespace(outer=outer))
    found = random.integers(-1, count, 80).astype(np.int32)
    at = random.integers(0, 260, 80)
    usual, flows._PATIENCE = flows._PATIENCE, patience
    try:
        climbed = flows._climb(host, found.copy(), at)
    finally:
        flows._PATIENCE = usual
    assert climbed.tolist() == flows.climb_in_python(host, found.copy(), at).tolist()
    assert flows.op_above(host).tolist() == flows.ops_above_in_python(host).tolist()


def test_ids_too_far_apart_for_a_table_are_joined_too() -> None:
    """Of several rows with one id the last of the keys counts, and between ids there is none."""
    key = np.array([5, 1 << 40, 5, 0, 7 << 41], np.int64)
    row = np.arange(10, 15, dtype=np.int32)
    wanted = np.array([5, 6, 1 << 40, 7 << 41, 1, 8 << 41], np.int64)
    expected = [12, -1, 11, 14, -1, -1]
    assert launches.join_in_python(key, row, wanted).tolist() == expected
    assert launches.join(key, row, wanted).tolist() == expected
