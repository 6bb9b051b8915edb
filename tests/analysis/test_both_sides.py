"""Both sides of bounds of small functions: ``graphs``, ``advice``, ``operators``, ``distributed``,
``speed_of_light``, ``headline`` and ``wording``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from msgspec.structs import fields, replace

from kinetoscope.analysis import headline, wording
from kinetoscope.analysis.advice import host, kernels, launches, memory, numerics
from kinetoscope.analysis.advice.input import unused_device
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.pipeline import theory
from kinetoscope.analysis.facts import DeviceFacts
from kinetoscope.analysis.graphs import captures, origins
from kinetoscope.analysis.operators import calls
from kinetoscope.analysis.overview.whole import whole_of
from kinetoscope.analysis.speed_of_light import models
from kinetoscope.analysis.speed_of_light.products import AttentionModel, ConvolutionModel
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.analysis.timeline.build import lane_layout
from kinetoscope.base.intervals import union
from kinetoscope.views import all_views
from kinetoscope.views.kernels import copies
from tests.analysis.advice.trainings import beside_a_device, product, run
from tests.drawing import draw


class Sequences(NamedTuple):
    """Sequences of a recording: whether each is of a capture, and its batch size."""

    captured: list[bool]
    batch: list[int]

    def __len__(self) -> int:
        return len(self.batch)


def of(**parts: object) -> Any:
    """An object with some of the parts of a recording."""
    return SimpleNamespace(**parts)


@pytest.mark.parametrize(
    ("batch", "places"), [(8, [2, 0]), (9, [1, 0]), (17, [0]), (-1, [1, 2, 0])]
)
def test_only_captures_of_the_next_batch_size_are_compared(batch: int, places: list[int]) -> None:
    """Captured ones come first; −1 is a sequence without a size, which is always compared."""
    recording = of(sequences=Sequences([False, True, True], [-1, 16, 8]))
    assert [at for _, at in captures._candidates([recording], batch)] == places


def test_batch_sizes_are_of_one_graph_and_known() -> None:
    replays = of(graph=np.array([0, 1, 1, 1, 1]), batch=np.array([8, 16, -1, 0, 16]))
    assert origins.batch_sizes(of(replays=replays), 1) == (0, 16)


def test_a_bandwidth_needs_a_size_and_a_time() -> None:
    table = of(bytes=np.array([-1, 50, 0, 50]), total_ns=np.array([5, 0, 5, 25]))
    found = copies._bandwidths(table, np.arange(4))
    assert found == [None, None, 0.0, 2e9]


@pytest.mark.parametrize(
    ("numbers", "step", "source", "number"),
    [
        ([1, 2], 0, "iteration", 1),
        ([1, 2], 1, "iteration", 2),
        ([1, 2], -1, "iteration", None),
        ([0, 1], 1, "iteration", None),
        ([], 0, "iteration", None),
        ([1, 2], 1, "profiler", None),
    ],
)
def test_a_call_lies_in_an_iteration(
    numbers: list[int], step: int, source: str, number: int | None
) -> None:
    digest = of(steps=of(number=numbers), calls=of(step=[step]), step_source=source)
    assert RankDigest.iteration_of(digest, 0) == number


@pytest.mark.parametrize(
    ("silent", "words"),
    [
        (50, "while the host runs ops"),
        (51, "while the thread that launches runs no known operator"),
    ],
)
def test_most_of_the_idle_time_says_what_the_host_did(
    silent: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(headline, "_named", lambda *_: "")
    selection = of(partition=of(idle_uninstrumented_ns=silent), mean=lambda ns: ns)
    assert words in headline._on_the_host(selection, 100)


@pytest.mark.parametrize(
    ("dims", "size", "is_there"),
    [
        ("[[8, 3, 3]]", 3, True),
        ("[[4, 4], [3, 3]]", 4, True),
        ("[[3, 4]]", 0, False),
        ("[[3]]", 0, False),
        ("[3, 3]", 0, False),
        ("[]", 0, False),
        ("no JSON", 0, False),
        ("[[3, 4], [4, 3]]", 0, True),
        ("[[4, 3], [3, 5]]", 0, False),
    ],
)
def test_square_matrices(dims: str, size: int, is_there: bool) -> None:
    """By the first input; then any input or the product of two with a side of 3."""
    assert numerics._square_size(dims) == size
    assert numerics._has_square(dims, {3}) == is_there


def test_what_is_not_given_back_is_of_a_step_and_has_bytes() -> None:
    """Addresses 1 (freed), 2, 3 (before the steps) and 4 (of no bytes)."""
    trace = of(
        memory=of(
            address=np.array([1, 2, 3, 1, 4]),
            bytes=np.array([10, 20, 30, -10, 0]),
            ts=np.array([0, 1, 2, 3, 4]),
        )
    )
    windows = of(of=lambda ts: np.array([0, 0, -1, 1, 1])[ts])
    kept = memory._kept(of(trace=trace, windows=windows), np.arange(5))
    assert kept.tolist() == [1]


def test_a_backward_op_has_the_frame_of_its_forward_op_and_lends_it() -> None:
    """Row 0 is the forward op of row 1, which calls row 2; row 3 has neither."""
    host = of(
        forward=np.array([-1, 0, -1, -1], np.int32), parent=np.array([-1, -1, 1, -1], np.int32)
    )
    found = calls._of_forward(np.array([7, -1, -1, -1], np.int32), of(host=host))
    assert found.tolist() == [7, 7, 7, -1]


def test_attention_finds_its_arguments_where_torch_has_them() -> None:
    torch = pytest.importorskip("torch")
    causal, mask = {"is_causal", "custom_mask_type"}, {"attn_bias", "attn_mask", "bias"}
    length = {"cum_seq_q", "cum_seq_k", "cu_seqlens_q", "cu_seqlens_k"}
    seen = set()
    for name, model in models.MODELS.items():
        if not isinstance(model, AttentionModel):
            continue
        for schema in torch._C._jit_get_schemas_for_operator(name):
            if schema.overload_name:
                continue
            names = [one.name for one in schema.arguments]
            seen.add(name)
            assert names[model.query : model.query + 3] == ["query", "key", "value"]
            assert model.causal is None or names[model.causal] in causal, name
            assert model.mask is None or names[model.mask] in mask, name
            assert model.result is None or names[model.result] in {"out", "output"}, name
            assert {names[at] for at in model.lengths or ()} <= length, name
    assert len(seen) > 5


def test_convolution_finds_its_arguments_where_torch_has_them() -> None:
    torch = pytest.importorskip("torch")
    seen = set()
    for name, model in models.MODELS.items():
        if not isinstance(model, ConvolutionModel):
            continue
        for schema in torch._C._jit_get_schemas_for_operator(name):
            seen.add(name)
            for at, argument in enumerate(schema.arguments):
                if argument.name in ("stride", "padding", "dilation", "transposed", "bias"):
                    assert getattr(model, argument.name) == at, (name, argument.name)
    assert len(seen) > 5


@pytest.mark.parametrize(
    ("in_model", "feeds", "backward", "words"),
    [
        (0.5, 0.9, True, "Do that work with ops on whole tensors."),
        (0.49, 0.5, True, "once before the steps, in a worker"),
        (0.49, 0.5, False, "less often"),
        (0.49, 0.49, True, "less often"),
    ],
)
def test_python_is_moved_where_half_of_it_lies(
    in_model: float, feeds: float, backward: bool, words: str
) -> None:
    seen = of(figure={"in_model": in_model, "feeds": feeds}.get)
    assert words in host._better(of(facts=of(traits=of(backward=backward))), seen)


def test_functions_of_each_step() -> None:
    """One around two steps, one inside it, and one in itself; the kernel runs from 6 to 8 µs."""
    found = whole_of(
        draw(
            """
            step   |1111111111222222222233333333|
            frame  | aaaaaaaaaaaaaaaaaaaa b aa  |
            frame  |  bbb  bb    bbbb     b     |
            call   |   k                        |
            gpu    |      kk                    |
            """,
            names={"b": "train.py(2): b"},
        )
    )
    table = found.functions
    assert found.names == ("train.py(1): a", "train.py(2): b")
    assert table.step.tolist() == [0, 1, 2, 0, 1, 2]
    assert table.name.tolist() == [0, 0, 0, 1, 1, 1]
    assert table.inclusive_ns.tolist() == [9_000, 10_000, 3_000, 5_000, 4_000, 1_000]
    assert table.exclusive_ns.tolist() == [4_000, 6_000, 3_000, 5_000, 4_000, 1_000]
    assert table.calls.tolist() == [1, 0, 1, 2, 1, 2]
    assert table.idle_ns.tolist() == [7_000, 10_000, 3_000, 4_000, 4_000, 1_000]


def test_a_model_on_the_cpu_beside_an_unused_gpu() -> None:
    """Each of the reasons by itself is enough to say nothing."""
    facts = summarize(run(product("float"), **beside_a_device("CUDA")))
    assert unused_device(select(facts)) is not None
    device = DeviceFacts(0, "GPU", "NVIDIA", "", None, None, True, None, None)
    accelerator = facts.recording.accelerator
    recording = facts.recording
    for other in (
        replace(facts, devices=(device,)),
        replace(facts, devices=(replace(device, used=False, peak_allocated_bytes=1),)),
        replace(facts, counts={**facts.counts, "runtime": 1}),
        replace(facts, recording=replace(recording, accelerator=replace(accelerator, none=False))),
        replace(facts, recording=replace(recording, accelerator=replace(accelerator, type="TPU"))),
    ):
        assert unused_device(select(other)) is None


def test_pages_of_a_table_begin_at_its_first_row() -> None:
    seen = 0
    for view in all_views():
        for query in (view.query, *(part.query for part in view.parts)):
            for field in fields(query):
                if field.name in ("offset", "first"):
                    assert field.default == 0, query
                    seen += 1
    assert seen > 5


def test_the_noun_of_a_device() -> None:
    assert wording.device_noun(of(device_facts=None)) == "device"
    assert wording.device_noun(of(device_facts=of(type=""))) == "device"
    assert wording.device_noun(of(device_facts=of(type="GPU"))) == "GPU"


def test_the_union_of_slices_is_one_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten slices of 0 to 6 ns on 40 ns; the first reaches over three chunks."""
    start = np.arange(0, 40, 4)
    length = np.array([30, 1, 2, 3, 4, 5, 6, 0, 3, 2])
    monkeypatch.setattr(lane_layout, "_CHUNK", 3)
    found = lane_layout.busy_columns(start, length, 40, 4)
    assert found.tolist() == [10, 10, 10, 5]


def test_the_longest_gaps_have_short_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "short_frame", lambda name: name)

    class Seen(NamedTuple):
        slice: int
        text: str

    monkeypatch.setattr(
        launches, "seen_event", lambda _, name, spot, ts, dur, text: Seen(ts + dur, text)
    )
    nowhere, there = of(slice=-1), of(slice=0)
    held = of(dur_ns=5_000, held_spot=there, held_ts=1, held_dur_ns=2)
    ended = of(dur_ns=4_000, held_spot=nowhere, following_spot=there, ts=10, following_dur_ns=3)
    gaps = [
        of(gap=held, held=of(name="h" * 61), following=""),
        of(gap=ended, held=None, following="f" * 61),
    ]
    found = cast(tuple[Seen, ...], launches._events(of(gaps=gaps)))
    assert [one.slice for one in found] == [3, 10 + 4_000 + 3]
    assert found[0].text.endswith(": " + "h" * 60)
    assert found[1].text.endswith(", until " + "f" * 60)


def test_the_least_bubble_of_a_pipeline() -> None:
    """(stages - 1) of (micro-batches + stages - 1) slots; two chunks halve it by the former."""
    assert theory(4, 12) == pytest.approx(3 / 15)
    assert theory(4, 12, 2) == pytest.approx(3 / 27)


def test_blocks_are_allocated_in_their_innermost_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first event of the thread counts, too; −1 is outside of all."""
    monkeypatch.setattr(memory, "_inner", lambda _, rows: rows)
    code = of(ts=np.arange(3), owner=np.array([7, 8, 9]), host_rows=lambda rows: rows + 100)
    assert memory._allocating(code, np.array([2, 0, -1, 2])).tolist() == [100, 102]
    assert memory._owners(code, np.array([1, 0, -1])).tolist() == [8, 7, -1]


@pytest.mark.parametrize(
    ("kind", "then", "reason"),
    [
        ("power", [(100, 20), (97, 10)], 1.0),
        ("power", [(100, 20), (96, 10)], 0.0),
        ("power", [(100, 8), (90, 2)], 1.0),  # 98 in the mean, by time
        ("power", [(100, 2), (90, 8)], 0.0),
        ("temperature", [(80, 20), (78, 10)], 2.0),
        ("temperature", [(80, 20), (77, 10)], 0.0),
        ("fan", [(80, 20), (80, 10)], 0.0),
        ("power", [(100, 20)], 0.0),  # no sample while the clock is low
    ],
)
def test_a_clock_is_low_for_power_or_heat(
    kind: str, then: list[tuple[int, int]], reason: float
) -> None:
    """Samples of a value and a length, the last ones in the ten ns at a low clock."""
    value, length = np.array(then).T
    start = np.cumsum(length) - length
    steps = of(start=start, end=start + length, value=value)
    counter = of(facts=of(kind=kind, decimals=0), steps=steps)
    low = 20 if length[0] == 20 else 0
    slow = union(np.array([low]), np.array([low + 10]))
    assert kernels._why_slow(of(counters=[counter]), slow) == reason


def test_an_allocation_is_of_the_innermost_event_that_is_open() -> None:
    """Event 0 from 0 to 100, in it 1 from 10 to 20 and 2 from 30 to 40."""
    ts = np.array([-1, 5, 10, 19, 20, 35, 40, 100])
    code = of(
        ts=np.array([0, 10, 30]),
        end=np.array([100, 20, 40]),
        parent=np.array([-1, 0, 0]),
        trace=of(memory=of(ts=ts)),
    )
    assert memory._inner(code, np.arange(len(ts))).tolist() == [-1, 0, 1, 1, 0, 2, 0, -1]
