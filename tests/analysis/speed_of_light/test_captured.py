"""Sizes from elsewhere: the capture of a replayed graph, lengths of an engine's annotation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kinetoscope.analysis.graphs.captures import captures_of
from kinetoscope.analysis.graphs.replays import graphs_of
from kinetoscope.analysis.serving.model import IterationFacts
from kinetoscope.analysis.speed_of_light.attribution import speed_of_light
from kinetoscope.analysis.speed_of_light.captured import with_captured, with_lengths
from kinetoscope.analysis.speed_of_light.figures import SpeedSelection, phase_use
from kinetoscope.analysis.speed_of_light.light import CallTexts, figures_of
from kinetoscope.analysis.speed_of_light.model import Reason, SpeedColumns
from kinetoscope.trace.link.iterations import NO_GROUP, Requests
from tests.analysis.graphs.test_captures import execution
from tests.drawing import V100
from tests.trace.drawn import Event, drawn, kernel, launch, x

MM = {"Input Dims": [[64, 500], [500, 100]], "Input type": ["c10::Half"] * 2}
PAGED = "vllm::unified_attention_with_output"
HEADS = {
    "Input Dims": [[5, 8, 64], [5, 2, 64], [5, 2, 64], []],
    "Input type": [*["c10::Half"] * 3, ""],
}
CONTEXT = Requests(requests=1, tokens=3, keys=5, squares=9, pairs=15)
GENERATION = Requests(requests=2, tokens=2, keys=30, squares=2, pairs=30)


def capture(*calls: tuple[str, list[str], dict[str, Any]]) -> list[Event]:
    """Ops with the kernels that they launch while a graph is captured."""
    events, ts, number = [launch(1, 1, 1, name="hipStreamBeginCapture")], 3.0, 10
    for op, kernels, args in calls:
        events.append(x(op, ts, 4 * len(kernels), **args))
        for name in kernels:
            events.append(launch(ts + 1, 2, number, name="hipModuleLaunchKernel", kernel=name))
            ts, number = ts + 4, number + 1
        ts += 1
    return [*events, launch(ts, 1, 2, name="hipStreamEndCapture")]


def text(columns: SpeedColumns, code: int) -> str:
    return columns.strings[code] if code >= 0 else ""


def iteration(start: int, end: int) -> IterationFacts:
    return IterationFacts(
        index=0, number=0, step=0, label="", engine="vLLM", phase="decode", is_certain=True,
        is_speculative=False, batch=3, padded=None, context=CONTEXT, generation=GENERATION,
        host_start_ns=0, host_end_ns=1, start_ns=start, end_ns=end, busy_ns=0, launches=1,
        replays=0, graph_ns=0, period_ns=None, gap=None, left_out="", families={},
    )  # fmt: skip


def test_replayed_work_has_the_op_and_sizes_of_its_capture() -> None:
    """Two replays: a product of two kernels, 4 and 2 µs, and 3 µs without a model."""
    trace = drawn(execution([("a", 4), ("b", 2), ("c", 3)], replays=2), deviceProperties=[V100])
    columns = speed_of_light(trace)
    assert set(columns.kinds.reason.tolist()) == {Reason.GRAPH}
    lender = captures_of(drawn(capture(("aten::mm", ["a", "b"], MM), ("custom::op", ["c"], {}))))
    found = with_captured(columns, graphs_of(trace), (lender,), ())
    chosen = SpeedSelection(found, (0, -1), 0)
    rows = chosen.by("op")
    names = [text(found, int(code)) for code in rows.key]
    at = names.index("aten::mm")
    assert (int(rows.calls[at]), int(rows.measured_ns[at])) == (2, 12_000)
    assert rows.flops[at] == 2 * 2 * 64 * 500 * 100
    bytes_ = 2 * (64 * 500 + 500 * 100 + 64 * 100)
    assert rows.light_ns[at] == pytest.approx(2 * max(2 * 64 * 500 * 100 / 125e3, bytes_ / 900))
    assert rows.reason[names.index("custom::op")] == Reason.MODEL
    assert found.kinds.lent[found.calls.kind].tolist() == [1, 1, 1, 1]
    assert int(rows.measured_ns.sum()) == 18_000
    kernels = chosen.by("kernel")
    assert sorted(kernels.measured_ns.tolist()) == [4_000, 6_000, 8_000]
    # The second matrix, in two replays, within 24 µs at 900 GB/s.
    use = phase_use(found, (0, -1), 0, 24_000)
    assert use.mbu_ratio == pytest.approx(2 * 2 * 500 * 100 / (900 * 24_000))
    assert use.at_least, "12 of 18 µs have a figure"


def test_a_capture_of_other_kernels_lends_nothing() -> None:
    trace = drawn(execution([("a", 4), ("b", 2)]), deviceProperties=[V100])
    columns = speed_of_light(trace)
    lender = captures_of(drawn(capture(("aten::mm", ["other"], MM))))
    assert with_captured(columns, graphs_of(trace), (lender,), ()) is columns


def test_attention_over_pages_takes_its_lengths_from_the_batch() -> None:
    dims, types = str(HEADS["Input Dims"]), '["c10::Half","c10::Half","c10::Half",""]'
    call = CallTexts(PAGED, dims, types)
    assert figures_of(call, None).reason == Reason.LENGTHS
    assert figures_of(call, None, 1.0, (Requests(1, 3), NO_GROUP)).reason == Reason.LENGTHS
    found = figures_of(call, None, 1.0, (CONTEXT, GENERATION))
    assert found.flops == 2 * 8 * (64 + 64) * (15 + 30)
    # In prefill the first query sees two keys less than the last, the second one less.
    assert found.least == 2 * 8 * (64 + 64) * (15 + 30 - 3)
    kept = (5 + 30) * 2 * (64 + 64) * 2
    assert (found.weights, found.read) == (kept, kept + 5 * 8 * 64 * 2)
    assert found.written == 5 * 8 * 64 * 2


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        (9_000, 20_000, Reason.KNOWN),
        (11_000, 20_000, Reason.LENGTHS),
        (0, 10_001, Reason.KNOWN),
        (0, 10_000, Reason.LENGTHS),
    ],
)
def test_eager_attention_belongs_to_the_iteration_of_its_time(
    start: int, end: int, reason: Reason
) -> None:
    trace = drawn(
        x(PAGED, 0, 8, **HEADS),
        launch(1, 2, 7),
        kernel("attend", 10, 500, correlation=7),
        deviceProperties=[V100],
    )
    columns = speed_of_light(trace)
    assert columns.kinds.reason.tolist() == [Reason.LENGTHS]
    found = with_lengths(columns, (iteration(start, end),))
    assert found.kinds.reason[found.calls.kind].tolist() == [reason]
    assert with_lengths(columns, ()) is columns


def test_a_pool_of_8_bits_counts_8_bits() -> None:
    dims, types = str(HEADS["Input Dims"]), '["c10::Float8_e4m3fn","c10::Half","c10::Half",""]'
    found = figures_of(CallTexts(PAGED, dims, types), None, 1.0, (CONTEXT, GENERATION))
    assert found.weights == (5 + 30) * 2 * (64 + 64)
    assert found.dtype == "float8"


DECODE = Requests(32, 32, 32_785, 32, 32_785)


def ragged(layout: str, pool: list[int], **changes: Any) -> CallTexts:
    """Decode of a model of 8 billion parameters: 32 query heads, 8 of keys, 128 wide."""
    query, value = [32, 32, 128], [*pool[:-1], 128]
    dims = [query, [99], query, pool, value, [], [33], [32_785], [32], [], [], [], [], []]
    half = "c10::BFloat16"
    types = [half, "unsigned char", half, half, half, "Scalar", *["int"] * 3, *[""] * 5]
    values = [*[""] * 9, "1", "5", "", "auto", layout]
    texts = {"dims": dims, "types": types, "values": values} | changes
    return CallTexts(
        "aiter::paged_attention_ragged", **{key: json.dumps(one) for key, one in texts.items()}
    )


@pytest.mark.parametrize(
    ("layout", "pool"), [("NHD", [40_000, 1, 8, 128]), ("HND", [2_500, 8, 16, 128])]
)
def test_decode_over_a_ragged_pool_reads_the_keys_of_the_batch(
    layout: str, pool: list[int]
) -> None:
    """36 layers of it read 4.834 GB, whatever the size of the pool."""
    found = figures_of(ragged(layout, pool), None, 1.0, (NO_GROUP, DECODE))
    assert 36 * found.weights == 36 * 32_785 * 2 * 8 * 128 * 2
    assert round(36 * found.weights / 1e9, 3) == 4.834
    assert found.flops == 4 * 32 * 128 * 32_785
    assert found.dtype == "bfloat16"
    mixed = figures_of(ragged(layout, pool), None, 1.0, (CONTEXT, DECODE))
    assert mixed.weights == found.weights, "prefill runs another op"


def test_a_ragged_pool_of_unknown_layout_or_lengths_has_no_figure() -> None:
    pool = [40_000, 1, 8, 128]
    assert figures_of(ragged("X", pool), None, 1.0, (NO_GROUP, DECODE)).reason == Reason.VALUES
    assert figures_of(ragged("NHD", pool), None).reason == Reason.LENGTHS
    eight = [*["c10::BFloat16"] * 3, *["c10::Float8_e4m3fn"] * 2, *[""] * 9]
    found = figures_of(ragged("NHD", pool, types=eight), None, 1.0, (NO_GROUP, DECODE))
    assert found.weights == 32_785 * 2 * 8 * 128


def test_the_longest_kernel_of_a_lent_call_tells_its_unit() -> None:
    trace = drawn(execution([("short", 2), ("long", 4)]), deviceProperties=[V100])
    lender = captures_of(drawn(capture(("aten::mm", ["short", "long"], MM))))
    found = with_captured(speed_of_light(trace), graphs_of(trace), (lender,), ())
    kind = int(found.calls.kind[0])
    assert text(found, int(found.kinds.kernel[kind])) == "long"


def test_columns_stay_as_long_as_the_calls() -> None:
    trace = drawn(execution([("a", 4)], replays=3), deviceProperties=[V100])
    columns = speed_of_light(trace)
    lender = captures_of(drawn(capture(("aten::mm", ["a"], MM))))
    found = with_captured(columns, graphs_of(trace), (lender,), ())
    assert len(found.calls) == 3
    assert np.array_equal(found.work.dur_ns, columns.work.dur_ns)
    assert replace(found.calls, kind=columns.calls.kind).measured_ns.tolist() == [4_000] * 3
