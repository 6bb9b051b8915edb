"""Both sides of each bound of timelines, memory, counters and graphs: below it, at it, above it."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kinetoscope.analysis.counters.groups import GroupFigure, is_memory_bound
from kinetoscope.analysis.counters.measured import CounterSum, is_constant
from kinetoscope.analysis.counters.samples import unit_of
from kinetoscope.analysis.facts import CounterFacts, Integral
from kinetoscope.analysis.graphs.model import GraphColumns
from kinetoscope.analysis.memory.categories import RULES
from kinetoscope.analysis.memory.events import damaged, has_totals, known_addresses
from kinetoscope.analysis.memory.growth import growth
from kinetoscope.analysis.memory.model import Category
from kinetoscope.analysis.memory.snapshots.allocator import SiteBytes
from kinetoscope.analysis.memory.snapshots.changes import changes_between
from kinetoscope.analysis.memory.snapshots.lives import rounded
from kinetoscope.analysis.timeline.build.lane_layout import as_bytes, columns_kept
from kinetoscope.analysis.timeline.build.lanes import assign_lanes, assign_lanes_in_python
from kinetoscope.analysis.timeline.build.names import NameTexts, columns_of
from kinetoscope.analysis.timeline.counter_tiles import levels_of, thinned
from kinetoscope.analysis.timeline.tracks import memory_devices
from kinetoscope.views.memory.words import larger_batch
from tests.analysis.memory.made import MadeMemory
from tests.analysis.memory.made import columns_of as memory_of

MIB = 1 << 20
US = 1000
# c10/core/DeviceType.h, by number
TYPES = (
    "cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan",
    "metal", "xpu", "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuse1",
)  # fmt: skip


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), [*enumerate(TYPES), (21, "type21")])
def test_a_device_is_named_as_torch_names_its_type(kind: int, name: str) -> None:
    made = MadeMemory(kind=kind, device=3)
    made.allocate(1, "a", 64)
    (device,) = memory_of("op |aaaa|", made).devices
    assert device.key == (name if kind == 0 else f"{name}:3")


@pytest.mark.parametrize(
    ("kind", "devices", "expected"),
    [
        (1, ("GPU",), 0), (6, ("GPU",), 0), (12, ("GPU", "XPU"), 1), (13, ("GPU", "MPS"), 1),
        (15, ("GPU", "HPU"), 1), (19, ("GPU", "MTIA"), 1), (20, ("XPU", "HPU"), 0),
        (1, ("XPU",), None), (12, ("GPU",), None), (0, ("GPU",), None),
    ],
)  # fmt: skip
def test_allocators_belong_to_devices_of_their_type(
    kind: int, devices: tuple[str, ...], expected: int | None
) -> None:
    trace: Any = SimpleNamespace(
        memory=SimpleNamespace(allocating_devices=lambda: [(kind, 0)]),
        devices=[SimpleNamespace(type=one, index=0, used=False) for one in devices],
    )
    assert memory_devices(trace) == ({} if expected is None else {(kind, 0): expected})


def test_of_one_device_that_works_and_one_that_allocates_both_are_it() -> None:
    def owners(*pairs: tuple[int, int], used: tuple[bool, ...]) -> dict[tuple[int, int], int]:
        trace: Any = SimpleNamespace(
            memory=SimpleNamespace(allocating_devices=lambda: pairs),
            devices=[
                SimpleNamespace(type="GPU", index=at, used=one) for at, one in enumerate(used)
            ],
        )
        return memory_devices(trace)

    assert owners((6, 0), used=(False, False, True)) == {(6, 0): 2}
    assert owners((6, 0), used=(False, True, True)) == {(6, 0): 0}
    assert owners((6, 0), (6, 1), used=(False, False, True)) == {(6, 0): 0, (6, 1): 1}
    assert owners((0, 0), (6, -1), (6, 1), used=(True, False)) == {(6, 1): 0}


def test_sizes_and_totals_that_no_device_has() -> None:
    most = 1 << 50
    table: Any = SimpleNamespace(bytes=np.array([most - 1, most, 1 - most, -most, 0]))
    assert damaged(table).tolist() == [False, True, False, True, False]
    rows = np.array([0])
    for total, plausible in ((-1, False), (0, True), (most - 1, True), (most, False)):
        table = SimpleNamespace(total_allocated=np.array([total]))
        assert has_totals(table, rows) is plausible
    table = SimpleNamespace(address=np.array([-1, 0, 1, (1 << 62) - 1, 1 << 62]))
    assert known_addresses(table, np.arange(5)).tolist() == [0, 0, 1, (1 << 62) - 1, 0]


@pytest.mark.parametrize(
    ("totals", "verdict"),
    [
        ([0, 2, 4], "not known"),
        ([0, 2, 4, 6], "leak"),
        ([0, 1, 2, 3], "none"),  # of just 1 MiB a step
        ([0, 1.1, 2.2, 3.3], "leak"),
        ([5000, 5004, 5008, 5012], "none"),  # 0.1 % of 5 GB is more
        ([5000, 5006, 5012, 5018], "leak"),
        ([0, 2, 4, 6, 8, 7], "leak"),  # four of five rise
        ([0, 2, 4, 6, 5, 4.9, 12], "none"),  # four of six
    ],
)
def test_growth(totals: list[float], verdict: str) -> None:
    found = growth(np.array([round(one * MIB) for one in totals], np.int64))
    assert found.verdict == verdict
    assert found.steps == len(totals)
    if verdict != "not known":
        assert found.rising == sum(b > a for a, b in pairwise(totals))


def test_slopes_of_very_many_steps_are_of_four_hundred() -> None:
    """Of 401 steps the second but last is left out: a jump there is no slope."""
    for count in (400, 401):
        totals = np.arange(count) * 3 * MIB
        found = growth(totals.astype(np.int64))
        assert (found.verdict, found.bytes_per_step, found.rising) == ("leak", 3 * MIB, count - 1)


@pytest.mark.parametrize(
    ("moved", "changes"), [(0, ["grown"]), (20, ["grown"]), (21, ["new", "gone"])]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_code_that_moved_by_up_to_twenty_lines_is_the_same(
    moved: int, changes: list[str], sign: int
) -> None:
    old = [SiteBytes(("/a/net.py(100): f", "/a/run.py(7): g"), 10, 1)]
    for lines in ((100 + sign * moved, 7), (100, 7 + moved)):
        new = [SiteBytes((f"/b/net.py({lines[0]}): f", f"/b/run.py({lines[1]}): g"), 30, 2)]
        assert [one.change for one in changes_between(old, new)] == changes


def test_of_several_places_the_nearest_is_the_same() -> None:
    old = [SiteBytes((f"net.py({line}): f",), size, 1) for line, size in ((100, 8), (130, 64))]
    new = [SiteBytes((f"net.py({line}): f",), size, 1) for line, size in ((115, 32), (131, 64))]
    found = changes_between(old, new)
    assert [(one.before, one.after, one.change) for one in found] == [
        (8, 32, "grown"),
        (64, 64, "same"),
    ]


def test_requests_are_rounded_up_to_512_bytes() -> None:
    assert [rounded(one) for one in (1, 511, 512, 513, 1024)] == [512, 512, 512, 1024, 1024]


@pytest.mark.parametrize(
    ("confidence", "activation", "capacity", "expected"),
    [
        ("high", 100, 2000, "10"),  # (2000 · 0.95 − 900) / 100
        ("low", 100, 2000, None),
        ("high", 99, 2000, None),  # less than a tenth of the peak
        ("high", 100, 1052, None),  # (999.4 − 900) / 100: nothing is left
        ("high", 100, 1200, "2.4"),
    ],
)
def test_a_larger_batch(
    confidence: str, activation: int, capacity: int, expected: str | None
) -> None:
    categories = [
        SimpleNamespace(category="activation", bytes=activation, confidence=confidence),
        SimpleNamespace(category="parameter", bytes=1000 - activation, confidence="high"),
    ]
    peak: Any = SimpleNamespace(categories=categories, bytes=1000)
    said = larger_batch(capacity, 1000, peak)
    assert (said is None) == (expected is None)
    if said and expected:
        assert f"up to about {expected}" in said
        assert "5.0" in said or "5\u00a0%" in said


def test_every_category_is_a_rule_s() -> None:
    assert {one.category for one in RULES} <= set(Category)


# --- counters -------------------------------------------------------------------------------------


def counter(low: float, high: float) -> CounterFacts:
    return CounterFacts(
        kind="power", name="Power (W)", unit="W", decimals=1, samples=9, period_ns=10, first_ns=0,
        last_ns=90, low=low, high=high, usual=high,
    )  # fmt: skip


def test_a_counter_is_constant_within_a_thousandth() -> None:
    assert is_constant(counter(999.0, 1000.0))
    assert not is_constant(counter(998.9, 1000.0))
    assert is_constant(counter(-1000.5, -1000.0))
    assert not is_constant(counter(-1001.5, -1000.0))


@pytest.mark.parametrize(("covered", "is_known"), [(79, False), (80, True), (100, True)])
def test_a_mean_needs_samples_for_four_fifths(covered: int, is_known: bool) -> None:
    one = CounterSum(
        facts=counter(1, 9),
        parts={"kernel_ns": Integral(500 * covered, covered)},
        lengths={"kernel_ns": 100},
        samples=4,
        low=10,
        high=90,
    )
    assert (one.mean("kernel_ns") is not None) is is_known
    assert one.covered("kernel_ns") == covered / 100
    if is_known:
        assert one.mean("kernel_ns") == 50.0
        assert one.total("kernel_ns") == pytest.approx(50 * covered / 1e9)


def test_kernels_are_bound_by_memory_from_these_shares_and_samples_on() -> None:
    def figure(mean: list[float], samples: list[int]) -> GroupFigure:
        values = np.array(mean)
        return GroupFigure(values, values, np.array(samples, np.int64))

    dram = figure([60, 59.9, 60, 60, 60], [20, 20, 20, 19, 20])
    active = figure([80, 80, 79.9, 80, 80], [20, 20, 20, 20, 19])
    assert is_memory_bound(dram, active).tolist() == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("name", "unit", "by"),
    [
        ("Power (W)", "W", 1.0), ("Power (mW)", "W", 1e-3), ("SM Clock (MHz)", "MHz", 1.0),
        ("Temperature (C)", "°C", 1.0), ("Read (B/s)", "B/s", 1.0), ("Read (MB/s)", "B/s", 1e6),
        ("Read (GB/s)", "B/s", 1e9), ("SM (%)", "%", 1.0), ("dram__bytes.sum", "B", 1.0),
        ("dram__bytes.sum.per_second", "B/s", 1.0),
    ],
)  # fmt: skip
def test_units(name: str, unit: str, by: float) -> None:
    assert unit_of(name) == (unit, by)


# --- graphs ---------------------------------------------------------------------------------------


def test_graphs_without_a_number_have_letters() -> None:
    graphs: Any = SimpleNamespace(
        graphs=SimpleNamespace(number=np.array([-1, 7, 7, 0]), device=np.array([0, 0, 1, 0])),
        devices=("GPU 0", "GPU 1"),
    )
    label = GraphColumns.label
    assert [label(graphs, at) for at in (1, 2, 3)] == [
        "graph 7, GPU 0",
        "graph 7, GPU 1",
        "graph 0",
    ]
    graphs.graphs.number = np.full(800, -1)
    said = {
        at: label(graphs, at).removeprefix("graph ") for at in (0, 1, 25, 26, 27, 51, 52, 701, 702)
    }
    assert said == {
        0: "A", 1: "B", 25: "Z", 26: "AA", 27: "AB", 51: "AZ", 52: "BA", 701: "ZZ", 702: "AAA",
    }  # fmt: skip


# --- timeline -------------------------------------------------------------------------------------


def test_many_tracks_keep_fewer_columns_each() -> None:
    kept = {
        0: 4096,
        1: 4096,
        1024: 4096,
        1025: 2048,
        2048: 2048,
        2049: 1024,
        1 << 22: 1,
        1 << 23: 1,
    }
    assert {tracks: columns_kept(tracks) for tracks in kept} == kept


def test_a_busy_column_is_never_shown_as_idle() -> None:
    shares = np.array([[0.0, 1e-9, 1 / 255, 1.01 / 255, 0.5, 254 / 255, 0.9999, 1.0]])
    assert as_bytes(shares).tolist() == [[0, 0, 1, 2, 128, 254, 255, 255]]


@pytest.mark.parametrize("end", [1, 5, 1024, 1 << 40, (1 << 53) - 2, (1 << 53) - 1, 1 << 60])
def test_the_column_of_an_instant(end: int) -> None:
    columns = 1024
    instants = sorted({0, 1, end // 3, end // 2, end - 1, end})
    expected = []
    for ts in instants:
        inside = [at for at in range(columns) if at * end // columns <= ts]
        expected.append(max(inside))
    found = columns_of(np.array(instants, np.int64), end, columns)
    assert found.tolist() == expected


def test_words_of_a_search_beyond_the_twentieth_do_not_count() -> None:
    names = NameTexts(["".join(f"w{at:02}" for at in range(20)), "w00"])
    words = [f"w{at:02}" for at in range(20)]
    assert names.find(" ".join(words), "text").tolist() == [0]
    assert names.find(" ".join([*words[:19], "no"]), "text").tolist() == []
    assert names.find(" ".join([*words, "no"]), "text").tolist() == [0]
    assert names.find(" ", "text").tolist() == names.find(" ", "regex").tolist() == []
    assert NameTexts(["", " "]).find(" ", "exact").tolist() == [1]


def test_levels_of_a_counter_have_at_most_a_tenth_of_its_samples() -> None:
    ts = np.arange(40, dtype=np.int64) * 16
    value = np.arange(40.0)
    kept = levels_of(ts, value, 40 * 16)
    # Of 40 samples 16 ns apart: 5 buckets of 128 ns, 3 of 256, 2 of 512, 1 of 1024.
    assert sorted(kept) == [8, 9, 10]
    assert [len(kept[level].bucket) for level in (8, 9, 10)] == [3, 2, 1]
    assert sorted(levels_of(ts[:10], value[:10], 200)) == [8]
    assert levels_of(ts[:9], value[:9], 200) == {}
    assert levels_of(ts[:0], value[:0], 0) == {}


def test_a_bucket_of_a_counter_by_hand() -> None:
    # ns       0    4    10   16        30   32
    # value         2    8    1 (until 30)   5
    level = thinned(np.array([4, 10, 16, 30]), np.array([2.0, 8.0, 1.0, 5.0]), 4)
    assert level.bucket.tolist() == [0, 1]
    assert level.low.tolist() == [2.0, 1.0]
    assert level.high.tolist() == [8.0, 5.0]
    assert level.last.tolist() == [8.0, 5.0]
    assert level.mean.tolist() == [(6 * 2 + 6 * 8) / 12, (14 * 1 + 2 * 5) / 16]
    # A bucket that is entered with a value holds it from its left edge.
    level = thinned(np.array([1, 6, 12]), np.array([9.0, 3.0, 4.0]), 3)
    assert (level.low.tolist(), level.high.tolist()) == ([3.0, 3.0], [9.0, 4.0])
    assert level.mean.tolist() == [(5 * 9 + 2 * 3) / 7, (4 * 3 + 4 * 4) / 8]


@pytest.mark.parametrize("assign", [assign_lanes, assign_lanes_in_python])
def test_an_overrun_of_up_to_two_us_counts_as_contained(assign: Any) -> None:
    for overrun, lanes, displaced in ((2000, [0, 1], [False] * 2), (2001, [0, 1], [False, True])):
        ts = np.array([0, 5 * US], np.int64)
        dur = np.array([10 * US, 5 * US + overrun], np.int64)
        found = assign(ts, dur, np.array([True, False]))
        assert (found.lane.tolist(), found.displaced.tolist()) == (lanes, displaced)
