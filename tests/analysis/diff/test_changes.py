"""Rows of a comparison: what became slower, is called more often, was renamed, fused or split."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from kinetoscope.analysis.diff.changes import ItemChange, changes, drift
from kinetoscope.analysis.diff.comparable import mismatches, step_counts
from kinetoscope.analysis.diff.matching import plain_name
from kinetoscope.analysis.diff.noise import judged
from kinetoscope.analysis.diff.sides import (
    OUTSIDE,
    Side,
    kernel_items,
    memory_device,
    memory_items,
    operator_items,
    plain_op,
    role_of,
)
from kinetoscope.analysis.diff.verdict import compare
from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.steps import select
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_native, requires_traces
from tests.trace.drawn import Event, annotation, drawn, memory, python, x

from .training import Plant, events, side_of, training

STEPS = 12


def by_name(base: Side, other: Side, metric: str = "self_ns") -> dict[str, ItemChange]:
    rows = changes([operator_items(base)], [operator_items(other)], metric, base.mean_ns)
    return {row.name: row for row in rows}


@pytest.fixture(name="base", scope="module")
def usual() -> Side:
    return training(1, STEPS)


def test_a_slower_operator_is_the_first_row(base: Side) -> None:
    other = training(2, STEPS, Plant(slower={"aten::mm": 1.2}))
    rows = by_name(base, other)
    first = next(iter(rows.values()))
    assert (first.name, first.status) == ("aten::mm", "differs")
    assert first.change_ns == pytest.approx(100_000, rel=0.15)
    assert first.by_calls_ns == 0
    assert {one.status for one in rows.values()} <= {"differs", "small", "same", "unsure"}
    assert sum(one.status == "differs" for one in rows.values()) == 1


@pytest.mark.parametrize(("recordings", "status"), [(2, "differs"), (3, "slower")])
def test_three_recordings_a_side_tell_the_code_from_the_day(recordings: int, status: str) -> None:
    """Two are judged by their steps alone; a figure is the mean of all that are judged."""
    plant = Plant(slower={"aten::mm": 1.2})
    sides = [
        [operator_items(training(seed + 10 * at, STEPS, one)) for at in range(recordings)]
        for seed, one in ((1, Plant()), (2, plant))
    ]
    before, after = (judged(side) for side in sides)
    first, *others = changes(before, after, "self_ns", 1.2e6)
    assert (first.name, first.status) == ("aten::mm", status)
    assert {one.status for one in others} <= {"small", "same", "unsure"}
    means = [
        float(np.mean([items.sums["self_ns"][items.names.index("aten::mm")] for items in side]))
        for side in (before, after)
    ]
    assert [first.base.ns, first.other.ns] == pytest.approx([one / STEPS for one in means])


def test_more_calls_are_told_from_slower_ones(base: Side) -> None:
    other = training(2, STEPS, Plant(times={"aten::copy_": 3}))
    row = by_name(base, other)["aten::copy_"]
    assert (row.status, row.base.calls, row.other.calls) == ("more calls", 1, 3)
    assert row.are_calls_exact
    assert row.by_calls_ns + row.by_speed_ns == pytest.approx(row.change_ns)
    assert abs(row.by_calls_ns) > 10 * abs(row.by_speed_ns)


def test_a_renamed_operator_is_found_by_its_place(base: Side) -> None:
    other = training(2, STEPS, Plant(names={"aten::relu": "mine::relu_v2"}))
    row = by_name(base, other)["aten::relu"]
    assert (row.relation, row.other_name) == ("renamed", "mine::relu_v2")


def test_fused_operators_are_found_by_their_place(base: Side) -> None:
    """relu and mm go, one comes in their place."""
    plant = Plant(times={"aten::relu": 0}, names={"aten::mm": "mine::relu_mm"})
    row = by_name(base, training(2, STEPS, plant))["aten::relu + aten::mm"]
    assert (row.relation, row.other_name) == ("fused", "mine::relu_mm")
    assert row.base.calls == 2
    back = by_name(training(2, STEPS, plant), base)["mine::relu_mm"]
    assert (back.relation, back.other_name) == ("split", "aten::relu + aten::mm")


def test_what_is_on_one_side_only_is_added_or_removed(base: Side) -> None:
    other = training(2, STEPS, Plant(times={"aten::sum": 0}))
    for sides, status in (((base, other), "removed"), ((other, base), "added")):
        row = by_name(*sides)["aten::sum"]
        assert (row.status, row.by_calls_ns, row.by_speed_ns) == (status, row.change_ns, 0)


def test_the_changes_of_all_rows_sum_to_the_change_of_all_time(base: Side) -> None:
    other = training(2, STEPS, Plant(slower={"aten::mm": 1.3}, times={"aten::sum": 0}))
    for metric in ("self_ns", "device_self_ns"):
        rows = by_name(base, other, metric).values()
        whole = [side.operators.calls for side in (base, other)]
        column = {"self_ns": "own_ns", "device_self_ns": "device_self_ns"}[metric]
        sums = [
            int(getattr(calls, column)[(calls.step >= 0) & (calls.kind <= 1)].sum()) / STEPS
            for calls in whole
        ]
        assert sum(one.change_ns for one in rows) == pytest.approx(sums[1] - sums[0])


def test_another_clock_is_no_regression() -> None:
    base, other = training(1, 20, sigma=0.004), training(2, 20, Plant(clock=1.1), sigma=0.004)
    found = drift(base, other)
    assert found is not None
    assert found.ratio == pytest.approx(1.1, rel=0.01)
    assert "clock" in {one.what for one in mismatches(base, other, found)}
    verdict = compare(base, other)
    assert verdict.times is not None
    assert verdict.times.outcome == "differs"
    assert verdict.outcome not in ("worse", "differs")
    assert verdict.clock_ns > 0
    rows = changes(
        [kernel_items(base)], [kernel_items(other)], "device_self_ns", base.mean_ns, found.ratio
    )
    assert all(row.status in ("unsure", "small") for row in rows if abs(row.adjusted_ns) < 5_000)


def on_the_host(*factors: float) -> Side:
    """Twelve steps without a device, of six operators each; the factors take turns."""
    flat: list[Event] = []
    for step in range(12):
        begin = now = step * 2000.0
        for at in range(6):
            factor = factors[at % len(factors)]
            flat.append(x(f"aten::op{at}", now, (100 + at + step % 3) * factor))
            now += 130 * factor
        flat.append(annotation(f"ProfilerStep#{step}", begin, now - begin))
    return side_of(drawn(flat))


def test_a_host_that_was_busy_with_something_else_is_no_regression() -> None:
    found = compare(on_the_host(1), on_the_host(1.3))
    assert found.times is not None
    assert found.times.outcome == "worse"
    assert found.outcome == "cannot tell"
    assert "speed of the host" in {one.what for one in found.mismatches}
    assert found.settle == "Record both again on a machine at rest."


def test_a_host_that_was_interrupted_is_no_regression() -> None:
    """Half of the work takes twice as long, a sixth less: there is no common factor."""
    found = compare(on_the_host(1), on_the_host(2, 1, 2, 1.3, 2, 0.8))
    assert found.drift is not None
    assert (found.drift.ratio, found.drift.is_disturbed) == (1, True)
    assert found.times is not None
    assert found.times.outcome == "worse"
    assert found.outcome == "cannot tell"
    assert "load of the host" in {one.what for one in found.mismatches}
    assert found.headline.endswith("equal operators differ, too: other work shared a host.")
    assert found.settle == "Record both again on a machine at rest."


@pytest.mark.parametrize("slower", [1.3, 5, 40])
def test_an_operator_on_the_host_that_the_code_made_slower_is_a_regression(slower: float) -> None:
    """However large its share of the time is, it is one name."""
    found = compare(on_the_host(1), on_the_host(slower, 1, 1, 1, 1, 1))
    assert found.drift is not None
    assert not found.drift.is_disturbed
    assert found.outcome == ("differs" if slower == 1.3 else "worse")


def test_one_slower_operator_is_no_clock() -> None:
    found = drift(training(1, 12), training(2, 12, Plant(slower={"aten::mm": 1.3})))
    assert found is not None
    assert not found.is_other_clock


def test_another_device_is_never_worse() -> None:
    other = training(2, 20, Plant(device="Other GPU", slower={"aten::mm": 3}))
    verdict = compare(training(1, 20), other)
    assert verdict.outcome == "cannot tell"
    assert verdict.headline.startswith("Different machines")


def test_counts_are_compared_exactly(base: Side) -> None:
    other = training(2, STEPS, Plant(times={"aten::sum": 2}))
    counts = {one.key: one for one in step_counts(base, other)}
    assert (counts["launches"].base, counts["launches"].other) == (6, 7)
    assert counts["launches"].differs
    assert counts["kernels"].differs
    assert not {"copies", "flops"} & counts.keys()  # there are none


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("triton_poi_fused_add_relu_12", "triton_poi_fused_add_relu"),
        ("gemm<128, 64, (Mode)3>", "gemm<#, #, #>"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllReduce_Sum_f32_RING"),
        ("lambda at 0x7f3a00112233", "lambda at 0x"),
        ("aten::conv2d", "aten::conv2d"),
    ],
)
def test_names_without_what_compilers_number(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_five_percent_in_one_operator_are_found_and_two_thousandths_are_not_claimed() -> None:
    """In steps with 2 % of noise. docs/diff.md has the shares over 120 pairs."""
    claimed = {"differs"}
    found = small = false = 0
    for seed in range(6):
        base = training(1000 + seed, 20, sigma=0.02)
        planted = training(2000 + seed, 20, Plant(slower={"aten::mm": 1.14}), sigma=0.02)
        found += by_name(base, planted)["aten::mm"].status == "differs"
        hardly = training(3000 + seed, 20, Plant(slower={"aten::mm": 1.0056}), sigma=0.02)
        small += by_name(base, hardly)["aten::mm"].status in claimed
        rows = by_name(base, training(4000 + seed, 20, sigma=0.02)).values()
        false += any(row.status in claimed for row in rows)
    assert found == 6
    assert small <= 1
    assert false <= 1


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("aten::cudnn_convolution_backward", "aten::convolution_backward"),
        ("aten::miopen_convolution_backward", "aten::convolution_backward"),
        ("aten::native_batch_norm", "aten::batch_norm"),
        ("aten::_efficient_attention_forward", "attention"),
        ("aten::_scaled_dot_product_flash_attention_backward", "attention backward"),
        ("aten::linear", "aten::linear"),
    ],
)
def test_operators_without_the_name_of_a_library(name: str, plain: str) -> None:
    assert plain_op(name) == plain


def test_a_role_is_the_same_whatever_the_order_of_heads() -> None:
    flash = role_of("attention", "aten::_flash_attention_forward", "[[2,128,16,64],[2,128,16,64]]")
    other = role_of(
        "attention", "aten::_efficient_attention_forward", "[[2,16,128,64],[2,16,128,64],[],[]]"
    )
    assert flash == other == ("attention", "[2, 16, 64, 128] × [2, 16, 64, 128]")
    assert role_of("gemm", "aten::mm", "[[8,4],[4,2]]") == ("gemm · aten::mm", "[8,4] × [4,2]")


# --- allocation sites ---

MIB = 1 << 20


def allocations(amounts: list[int], *, has_addresses: bool = True) -> Side:
    """Two steps; in each a buffer from `aten::mm`, kept to its end, and a small one from outside.

    step 0          │ mm: +amount │ … +1 MiB │ −1 MiB │ −amount │ step 1 …
    """
    flat: list[Event] = []
    total = 0

    def change(ts: float, amount: int, address: int) -> Event:
        nonlocal total
        total += amount
        known = {"Addr": address, "Total Allocated": total} if has_addresses else {}
        return memory(ts, amount, **{"Device Type": 0, "Device Id": -1, **known})

    for step, amount in enumerate(amounts):
        at = step * 1000.0
        flat += [
            annotation(f"ProfilerStep#{step}", at, 990),
            x("aten::mm", at + 10, 100),
            change(at + 20, amount, 1000),
            change(at + 200, MIB, 2000),
            change(at + 300, -MIB, 2000),
            change(at + 400, -amount, 1000),
        ]
    trace = drawn(flat)
    return replace(side_of(trace), memory=memory_of(trace))


def sites(base: Side, other: Side, metric: str) -> dict[str, ItemChange]:
    items = []
    for side in (base, other):
        device = memory_device(side)
        assert device is not None
        items.append(memory_items(side, device))
    return {row.name: row for row in changes(items[:1], items[1:], metric, base.mean_ns)}


def test_allocation_sites_are_compared_by_step() -> None:
    rows = sites(allocations([4 * MIB, 4 * MIB]), allocations([4 * MIB, 12 * MIB]), "bytes")
    assert {name: (row.base.calls, row.base.ns, row.other.ns) for name, row in rows.items()} == {
        "aten::mm": (1, 4 * MIB, 8 * MIB),
        OUTSIDE: (1, MIB, MIB),
    }
    assert rows[OUTSIDE].status == "same"


def test_what_sites_hold_at_the_peak_is_no_mean_over_steps() -> None:
    base, other = allocations([4 * MIB, 4 * MIB]), allocations([4 * MIB, 12 * MIB])
    rows = sites(base, other, "peak_bytes")
    assert (rows["aten::mm"].base.ns, rows["aten::mm"].other.ns) == (4 * MIB, 12 * MIB)
    assert rows["aten::mm"].status == "differs"
    assert (rows[OUTSIDE].base.ns, rows[OUTSIDE].other.ns) == (MIB, MIB)


def test_sites_without_addresses_are_compared_by_operator() -> None:
    """Events that say how much and no more, as of old recordings."""
    sides = [allocations([size, size], has_addresses=False) for size in (4 * MIB, 6 * MIB)]
    device = memory_device(sides[0])
    assert device is not None
    assert not device.has_addresses
    rows = sites(sides[0], sides[1], "bytes")
    assert (rows["aten::mm"].base.ns, rows["aten::mm"].other.ns) == (4 * MIB, 6 * MIB)
    assert rows["aten::mm"].status == "differs"


def test_a_line_that_moved_is_the_same_site() -> None:
    def of(line: int) -> Side:
        trace = drawn(
            annotation("ProfilerStep#0", 0, 990),
            python(f"train.py({line}): forward", 5, 300),
            x("aten::mm", 10, 100),
            memory(20, MIB, **{"Device Type": 0, "Addr": 1, "Total Allocated": MIB}),
            memory(400, -MIB, **{"Device Type": 0, "Addr": 1, "Total Allocated": 0}),
        )
        return replace(side_of(trace), memory=memory_of(trace))

    (row,) = sites(of(10), of(13), "bytes").values()
    assert (row.name, row.status) == ("aten::mm", "same")
    assert "train.py" in row.detail
    assert "13" not in row.detail


def test_a_device_without_a_name_is_not_called_another() -> None:
    """As in Perfetto protobuf, which has neither the device's name nor the number of ranks."""
    named, other = (training(1, 3, Plant(device=name)) for name in ("Test GPU", "Other GPU"))
    nameless = side_of(drawn(events(1, 3)))

    def found(base: Side, against: Side) -> dict[str, str]:
        every = mismatches(base, against, None)
        return {
            one.what: one.weight for one in every if "device" in one.what or one.what == "ranks"
        }

    assert found(named, other) == {"device": "other machine"}
    assert found(named, nameless) == {"name of the device": "note"}
    assert found(nameless, nameless) == {}


def test_the_ranks_of_a_format_that_cannot_tell_them_are_not_one() -> None:
    def side(ranks: int | None, file_format: str = "json") -> Side:
        one = training(1, 2)
        facts = one.selection.facts
        recording = msgspec.structs.replace(facts.recording, file_format=file_format)
        facts = msgspec.structs.replace(facts, world_size=ranks, recording=recording)
        return replace(one, selection=select(facts, ""))

    def is_other(base: Side, against: Side) -> bool:
        return "ranks" in {one.what for one in mismatches(base, against, None)}

    assert is_other(side(8), side(None))
    assert not is_other(side(8), side(None, "perfetto"))


@requires_native
@requires_traces
@pytest.mark.parametrize("worker", ["node0_4242", "node0_4243"])
def test_one_recording_in_both_formats_is_of_one_machine(worker: str) -> None:
    folder = TRACES / "torch2.15_cuspy"
    text, protobuf = (
        side_of(read(str(next(folder.glob(f"{worker}*.{kind}.gz")))))
        for kind in ("json", "pftrace")
    )
    weights = {one.weight for one in mismatches(text, protobuf, None)}
    assert "other machine" not in weights
