"""Advice names what the torch that recorded has, or says from which version on there is more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.findings import Finding
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.analysis.advice.checks import NCCL
from tests.analysis.advice.drawn import FIRES, many, optimizer, run
from tests.drawing import V100, draw
from tests.trace.drawn import Event, kernel, launch

ERAS = ("B", "C", "D", "E", "F", "G")
# What came with a version of torch → the eras that are older, as far as they tell.
NEWER = {
    r"\btorchrun\b": "BC",
    r"bf16_compress_hook": "BC",
    r"torch\.autocast\(": "BC",
    r"use_reentrant": "BC",
    r"torch\.compile\(": "BCD",
    r"torch\.func\.": "BCD",
    r"set_float32_matmul_precision": "BCD",
    r"expandable_segments": "BCD",
    r"torch\.amp\.GradScaler": "BCDE",
    r"NCCL_MAX_CTAS": "BCDE",
}
# What is said of a later version stands beside it.
WITH_VERSION = {
    r"`torch\.compile": "BCD",
    r"in one kernel": "BCD",
    r"`fused=True`\.": "BCD",
    r"TORCH_LOGS": "BCDE",
}
# What some rules speak of is in no older recording: compiled code, samples of counters.
SEEN_FROM = {"CP1": "E", "CP2": "E", "CP4": "E", "CP3": "E", "KE5": "G"}
SAYS_VERSION = re.compile(r"torch (2\.\d|1\.1\d)")


@pytest.mark.parametrize("rule", FIRES)
def test_words_of_a_later_torch_stand_with_its_version(rule: str) -> None:
    facts = summarize(FIRES[rule][0]())
    for era in ERAS[ERAS.index(SEEN_FROM.get(rule, "B")) :]:
        for one in check_all(select(structs.replace(facts, torch_era=era)))[0]:
            for pattern, older in NEWER.items():
                if era in older:
                    assert not re.search(pattern, one.snippet), (era, one.id, one.snippet)
            for pattern, older in WITH_VERSION.items():
                if era in older and re.search(pattern, one.text):
                    assert SAYS_VERSION.search(one.text), (era, one.id, one.text)


def of(era: str, picture: str, rule: str, **more: Any) -> Finding:
    facts = structs.replace(summarize(draw(picture, **more)), torch_era=era)
    return next(one for one in check_all(select(facts))[0] if one.id == rule)


@pytest.mark.parametrize(
    ("era", "code"),
    [
        ("C", "with torch.cuda.amp.autocast():  # and torch.cuda.amp.GradScaler()"),
        ("E", 'with torch.autocast("cuda", dtype=torch.float16):  # and torch.cuda.amp.Grad'),
        ("G", 'with torch.autocast("cuda", dtype=torch.float16):  # and torch.amp.GradScaler()'),
    ],
)
def test_mixed_precision_is_spelled_as_the_version_has_it(era: str, code: str) -> None:
    trace = draw(
        """
        step   |1111111111|
        op     |mmm       |
        call   | a        |
        gpu    |  aaaaaaaa|
        """,
        names={"m": "aten::mm", "a": "volta_sgemm_64x64_nt"},
        deviceProperties=[V100],
    )
    facts = summarize(trace)
    training = structs.replace(facts.traits, backward=True)
    facts = structs.replace(facts, torch_era=era, traits=training)
    found = next(one for one in check_all(select(facts))[0] if one.id == "DT2")
    assert found.snippet.startswith(code)


@pytest.mark.parametrize(("era", "command"), [("C", "python -m torch.distributed.launch --use_env"),
                                              ("D", "torchrun")])  # fmt: skip
def test_processes_are_started_as_the_version_does_it(era: str, command: str) -> None:
    found = of(
        era,
        """
        step   |1111111|
        op     |PPPPPPP|
        call   |ab     |
        gpu0   | aaa   |
        gpu1   |  bbb  |
        """,
        "CO7",
        names={"P": "DataParallel.forward"},
    )
    assert found.snippet.startswith(f"{command} --nproc_per_node=2 ")


@pytest.mark.parametrize(
    ("era", "option"),
    [("F", "foreach=True"), ("G-py", "fused=True"), ("G", "fused=True"), ("H", "fused=True")],
)
def test_adagrad_is_fused_on_gpus_from_2_12_on(era: str, option: str) -> None:
    """Before, its fused form was for the CPU alone."""

    def product(at: float) -> Iterator[Event]:
        yield launch(at + 450, 1, int(at) + 1)
        yield kernel("gemm", at + 452, 200, correlation=int(at) + 1)

    trace = run(optimizer("Adagrad", many("aten::addcmul_", 40, 8)), product)
    facts = structs.replace(summarize(trace), torch_era=era)
    found = next(one for one in check_all(select(facts))[0] if one.id == "OP1")
    assert found.snippet.endswith(f"Adagrad(model.parameters(), …, {option})")


@pytest.mark.parametrize(
    ("name", "era", "on_gpu", "action"),
    [
        ("Adam", "D", True, "From torch 2.0 on, one op does all of it"),
        ("Adam", "E", True, "Have one op do all of it"),
        ("SGD", "E", True, "From torch 2.3 on, one op does all of it"),
        ("SGD", "F1", True, "Have one op do all of it"),
        ("SGD", "E", False, "From torch 2.4 on, one op does all of it"),
        ("SGD", "F1", False, "Have one op do all of it"),
        ("RMSprop", "D", True, "Use a form of it whose ops work on all parameters"),
        ("RMSprop", "E", True, "Have one op work on all parameters"),
    ],
)
def test_the_fused_form_of_an_optimizer_came_with_a_version(
    name: str, era: str, on_gpu: bool, action: str
) -> None:
    def product(at: float) -> Iterator[Event]:
        if on_gpu:
            yield launch(at + 450, 1, int(at) + 1)
            yield kernel("gemm", at + 452, 200, correlation=int(at) + 1)

    trace = run(optimizer(name, many("aten::addcmul_", 40, 8)), product)
    facts = structs.replace(summarize(trace), torch_era=era)
    found = next(one for one in check_all(select(facts))[0] if one.id == "OP1")
    assert found.action.startswith(action)


def test_a_fused_optimizer_of_a_library_is_not_advised_to_be_fused() -> None:
    """Around one launch for all parameters it calls ops of torch for each of them."""
    for name, ids in (("Adam", ["OP1"]), ("FusedAdam", [])):
        facts = summarize(run(optimizer(name, many("aten::empty", 40, 8)), lambda _: iter(())))
        found = check_all(select(facts))[0]
        assert [one.id for one in found if one.id in ("OP1", "OP2")] == ids


def test_a_recording_without_ops_does_not_say_whether_autograd_ran() -> None:
    """Where only devices were recorded, nothing tells a training from an inference."""
    picture = """
        step   |11111111|
        call   |ab      |
        gpu    | a      |
        gpu.9  |  bbbbbb|
        """
    found = of("G", picture, "CO1", names={"b": NCCL})
    assert "tensor parallelism" not in found.text
