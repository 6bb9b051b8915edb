"""What the names of ranges tell, by the engine that writes them."""

from __future__ import annotations

import pytest

from kinetoscope.base.errors import QueryError
from kinetoscope.base.machine import ITERATIONS_VARIABLE
from kinetoscope.trace.link.iterations import NO_GROUP, Requests, batch_of, read_name
from tests.trace.drawn import annotation, drawn, kernel, launch, x

_R = Requests
Told = tuple[str, str, str, _R, _R]


def told(name: str) -> Told:
    """(engine, label, phase, context, generation)"""
    one = read_name(name)
    assert one is not None, name
    return one.engine, one.label, one.phase, one.context, one.generation


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "execute_new_3_cached_0",
            ("vLLM", "prefill 3", "prefill", _R(3), NO_GROUP),
        ),
        ("execute_new_0_cached_5", ("vLLM", "decode 5", "decode", NO_GROUP, _R(5))),
        (
            "execute_context_2(1536)_generation_30(31)",
            ("vLLM", "mixed 2+30", "mixed", _R(2, 1536), _R(30, 31)),
        ),
        (
            "execute_context_1(888_788544)_generation_0(0)",
            (
                "vLLM", "prefill 1 · 888 tokens", "prefill",
                _R(1, 888, squares=788544), NO_GROUP,
            ),
        ),
        ("execute_context_0(0)_generation_0(0)", ("vLLM", "idle 0", "idle", NO_GROUP,
            NO_GROUP)),
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
            ("vLLM", "decode 32", "decode", NO_GROUP, _R(32, 32, 55086, 32, 55086)),
        ),
        (
            "execute_46_context_9(sq9sk90sqsq11sqsk91)_generation_37(sq37sk370sqsq38sqsk371)",
            (
                "vLLM", "mixed 9+37", "mixed",
                _R(9, 9, 90, 11, 91), _R(37, 37, 370, 38, 371),
            ),
        ),
        ("step[EXTEND bs=15 toks=15360]", ("SGLang", "prefill 15 · 15,360 tokens", "prefill",
            _R(15, 15360), NO_GROUP)),
        ("step[DECODE bs=32]", ("SGLang", "decode 32", "decode", NO_GROUP, _R(32, 32))),
        ("step[MIXED bs=46]", ("SGLang", "mixed 46", "mixed", _R(), _R())),
        ("step[TARGET_VERIFY bs=8]", ("SGLang", "decode 8", "decode", NO_GROUP, _R(8))),
        ("step[DRAFT_EXTEND bs=8]", ("SGLang", "draft extend 8", "", _R(), _R())),
        ("step[IDLE bs=0]", ("SGLang", "idle 0", "idle", NO_GROUP, NO_GROUP)),
        ("step[SPLIT_PREFILL bs=2]", ("SGLang", "split prefill 2", "", _R(), _R())),
        (
            "step[EXTEND bs=2 toks=30 c_sk=71 c_sqsk=1100 c_sqsq=500 later=x]",
            ("SGLang", "prefill 2 · 30 tokens", "prefill", _R(2, 30, 71, 500, 1100), NO_GROUP),
        ),
        (
            "step[EXTEND bs=2 c_sq=29 toks=30]",
            ("SGLang", "prefill 2 · 29 tokens", "prefill", _R(2, 29), NO_GROUP),
        ),
        (
            "step[DECODE bs=4 g_sqsq=4 g_sqsk=404 g_sk=403 g_sq=4]",
            ("SGLang", "decode 4", "decode", NO_GROUP, _R(4, 4, 403, 4, 404)),
        ),
        (
            "step[MIXED bs=5 c=2 g=3 c_sq=20 c_sk=21 c_sqsq=22 c_sqsk=23 g_sq=3 g_sk=31 g_sqsk=33]",
            ("SGLang", "mixed 2+3", "mixed", _R(2, 20, 21, 22, 23), _R(3, 3, 31, None, 33)),
        ),
        (
            "prefill[bs=2 tok=14721 ctx=[7803, 6918]]",
            ("ATOM", "prefill 2 · 14,721 tokens", "prefill", _R(2, 14721, 14721), NO_GROUP),
        ),
        (
            "prefill[bs=1 tok=11 ctx=30]",
            ("ATOM", "prefill 1 · 11 tokens", "prefill", _R(1, 11, 30), NO_GROUP),
        ),
        (
            "prefill[bs=9 tok=900 ctx=[100, 90, 80]...+6]",
            ("ATOM", "prefill 9 · 900 tokens", "prefill", _R(9, 900), NO_GROUP),
        ),
        (
            "decode[bs=117/128 tok=117 p=0 d=117 spec=0]",
            ("ATOM", "decode 117", "decode", NO_GROUP, _R(117, 117)),
        ),
        (
            "prefill[bs=9 tok=900 ctx=[100, 90, 80]…+6]",
            ("ATOM", "prefill 9 · 900 tokens", "prefill", _R(9, 900), NO_GROUP),
        ),
        (
            "decode[bs=7 tok=40 p=2 d=5]",
            ("ATOM", "mixed 2+5", "mixed", _R(2), _R(5)),
        ),
        (
            "eager_decode[bs=3 tok=3 d=3 sqsq=4 sqsk=5 sk=6 tbo=1]",
            ("ATOM", "decode 3", "decode", NO_GROUP, _R(3, 3, 6, 4, 5)),
        ),
        ("dummy_decode[bs=1 tok=1]", ("ATOM", "idle 1", "idle", NO_GROUP, NO_GROUP)),
        (
            "[Executor] _forward_step: 2 ctx reqs, 5 gen reqs",
            ("TensorRT-LLM", "mixed 2+5", "mixed", _R(2), _R(5)),
        ),
        (
            "[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs",
            ("TensorRT-LLM", "decode 32", "decode", NO_GROUP, _R(32)),
        ),
        (
            "[Executor] _forward_step 7: 3 ctx reqs, 77 ctx tokens, 0 gen reqs, 1 mm reqs",
            ("TensorRT-LLM", "prefill 3 · 77 tokens", "prefill", _R(3, 77), NO_GROUP),
        ),
        ("execute_diffusion_2_256x512", ("xDiT", "diffusion 256×512 2", "", _R(), _R())),
    ],
)  # fmt: skip
def test_every_form(name: str, expected: Told) -> None:
    assert told(name) == expected


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("gpu_model_runner: forward", "stage"),
        ("gpu_model_runner: preprocess", "part"),
        ("gpu_model_runner: sample", "part"),
        ("gpu_model_runner: draft", "part"),
        ("schedule: allocate_slots", "part"),
        ("llm_engine step: decode", "part"),
        ("Preprocess", "part"),
        ("model_inference", "part"),
        ("draft[1/3 bs=8]", "part"),
        ("propose_eagle[0/2 tok=4 bs=2/4]", "part"),
        ("capture_32_FULL", "capture"),
        ("capture_8192_PIECEWISE", "capture"),
        ("capture_16_DECODE", "capture"),
        ("capture_graph_bs_16", "capture"),
    ],
)
def test_stages_parts_and_captures_are_no_iterations(name: str, role: str) -> None:
    one = read_name(name)
    assert one is not None
    assert one.role == role


@pytest.mark.parametrize(
    "name",
    [
        "forward", "xstep[DECODE bs=3]", "step[DECODE bs=3]x", "step[decode bs=3]",
        "execute_context_1(2)_generation_3", f"execute_new_{'1' * 19}_cached_0",
        "execute_32_context_0(sq0sk0)_generation_32(sq32)", "execute_context_١(2)_generation_3(3)",
        "Forward", "prefill", "decode[]", "[Executor] _forward_step 3",
    ],
)  # fmt: skip
def test_names_match_as_a_whole(name: str) -> None:
    assert read_name(name) is None


def test_a_name_of_a_thousand_characters_is_the_longest() -> None:
    """Whoever wrote a longer one: it takes no time to look at it."""
    fits = f"prefill[bs=1 tok=2 ctx=[{'1, ' * 300}1]]"
    assert len(fits) <= 1000
    assert read_name(fits) is not None
    assert read_name(f"prefill[bs=1 tok=2 ctx=[{'1, ' * 400}1]]") is None
    assert read_name("prefill[bs=" + "1 ctx=[1, " * 20_000 + "]") is None


def test_what_is_not_certain() -> None:
    def of(name: str) -> tuple[bool, bool]:
        one = read_name(name)
        assert one is not None
        return one.is_certain, one.is_speculative

    assert of("execute_new_0_cached_5") == (False, False), "a cached request may be in prefill"
    assert of("execute_new_5_cached_0") == (True, False)
    assert of("execute_context_0(0)_generation_4(12)") == (True, True), "three tokens a request"
    assert of("execute_context_0(0)_generation_4(4)") == (True, False)
    assert of("step[TARGET_VERIFY bs=4]") == (True, True)
    assert of("decode[bs=4 tok=12 d=4]") == (True, True)
    assert of("decode[bs=4 tok=4 d=4]") == (True, False)
    assert of("decode[bs=4 tok=4 d=4 spec=1]") == (True, True)


def test_one_token_is_one() -> None:
    one = read_name("step[EXTEND bs=1 toks=1]")
    assert one is not None
    assert one.label == "prefill 1 · 1 token"


def test_padding_and_numbers() -> None:
    one = read_name("decode[bs=117/128 tok=117 p=0 d=117]")
    assert one is not None
    assert (one.batch, one.padded) == (117, 128)
    two = read_name("[Executor] _forward_step 41: 1 ctx reqs, 2 gen reqs")
    assert two is not None
    assert (two.batch, two.number) == (3, 41)


def test_graphs_are_captured_for_tokens_or_requests() -> None:
    """vLLM captures for numbers of tokens, the others for numbers of requests."""
    assert batch_of("execute_context_2(1536)_generation_30(31)") == 1567
    assert batch_of("step[EXTEND bs=15 toks=15360]") == 15


def test_a_form_of_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        ITERATIONS_VARIABLE,
        r"mine (?P<context_requests>\d+)/(?P<generation_requests>\d+)"
        r"( ctx=(?P<context_tokens>\d+) gen=(?P<generation_tokens>\d+))?",
    )
    expected = ("", "mixed 2+3", "mixed", _R(2, 50), _R(3, 4))
    assert told("mine 2/3 ctx=50 gen=4") == expected
    assert told("mine 0/3") == ("", "decode 3", "decode", NO_GROUP, _R(3))
    assert told("step[DECODE bs=1]")[1] == "decode 1", "the forms of engines stay"
    monkeypatch.setenv(ITERATIONS_VARIABLE, r"(?P<phase>[a-z]+) of (?P<batch>\d+)")
    assert told("prefill of 4") == ("", "prefill 4", "prefill", _R(), _R())
    assert told("sampling of 4") == ("", "sampling 4", "", _R(), _R())
    monkeypatch.setenv(ITERATIONS_VARIABLE, "(")
    with pytest.raises(QueryError, match="KINETOSCOPE_ITERATIONS"):
        read_name("x")


# --- the iterations of a trace --------------------------------------------------------------------


def steps_of(*events: object) -> tuple[str, str, list[tuple[int, int, int]]]:
    """(source, engine, (number, start, end) of each)"""
    steps = drawn(*events, x("aten::mm", 0, 200)).steps  # type: ignore[arg-type]
    columns = (steps.number.tolist(), (steps.ts // 1000).tolist(), (steps.end // 1000).tolist())
    return steps.source, steps.family, list(zip(*columns, strict=True))


def test_a_single_iteration_is_a_step() -> None:
    found = steps_of(annotation("step[DECODE bs=32]", 20, 5))
    assert found == ("iteration", "SGLang", [(0, 20, 25)])


def test_ranges_in_one_another_are_one_iteration() -> None:
    found = steps_of(
        annotation("step[EXTEND bs=1 toks=7]", 10, 20),
        annotation("execute_context_1(7)_generation_0(0)", 11, 18),
        annotation("gpu_model_runner: forward", 12, 5),
        annotation("step[DECODE bs=1]", 30, 20),
    )
    assert found == ("iteration", "SGLang", [(0, 10, 30), (1, 30, 50)])


def test_a_forward_range_alone_is_an_iteration_without_phase() -> None:
    found = steps_of(
        annotation("gpu_model_runner: preprocess", 10, 5),
        annotation("gpu_model_runner: forward", 15, 20),
        annotation("gpu_model_runner: sample", 35, 5),
        annotation("capture_8_FULL", 50, 60),
        annotation("capture_4_FULL", 110, 60),
    )
    assert found == ("iteration", "vLLM", [(0, 15, 35)])


@pytest.mark.parametrize("outer", [0, 5])
def test_a_call_of_a_pipeline_is_one_iteration_within_or_around(outer: int) -> None:
    found = steps_of(
        annotation("model_inference", 10 + outer, 40 - 2 * outer),
        annotation("execute_diffusion_2_256x512", 15, 30),
    )
    assert found == ("iteration", "xDiT", [(0, 15, 45)])


def test_numbers_of_the_engine() -> None:
    names = [f"[Executor] _forward_step {n}: 0 ctx reqs, 2 gen reqs" for n in (40, 41, 43)]
    found = steps_of([annotation(name, 20 * i, 10) for i, name in enumerate(names)])
    assert found[2] == [(40, 0, 10), (41, 20, 30), (43, 40, 50)]


def test_the_thread_with_most_iterations() -> None:
    found = steps_of(
        [annotation("step[DECODE bs=2]", 20 * i, 10) for i in range(3)],
        [annotation("step[IDLE bs=0]", 20 * i + 5, 10, tid=2) for i in range(2)],
    )
    assert found[2] == [(0, 0, 10), (1, 20, 30), (2, 40, 50)]


def test_marked_steps_of_the_profiler_stay() -> None:
    source, _, found = steps_of(
        annotation("ProfilerStep#3", 0, 40), annotation("step[DECODE bs=2]", 2, 30)
    )
    assert (source, found) == ("profiler_step", [(3, 0, 40)])


def test_device_work_belongs_to_the_iteration_that_launched_it() -> None:
    """Engines run ahead: both kernels run after both ranges."""
    trace = drawn(
        annotation("step[DECODE bs=2]", 0, 10),
        launch(2, 3, 1),
        annotation("step[DECODE bs=3]", 10, 10),
        launch(12, 3, 2),
        kernel("a", 30, 20, correlation=1),
        kernel("b", 50, 20, correlation=2),
    )
    assert trace.device.step.tolist() == [0, 1]
