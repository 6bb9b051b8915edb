"""How to record what a file lacks: only what its recorder, and its device, could have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.analysis.accelerator import accelerator
from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.recording import no_counters, no_device_activity
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read
from kinetoscope.trace.recipes import (
    ALLOCATIONS,
    FRAMES,
    SHAPES,
    STACKS,
    Option,
    activity,
    with_device,
    with_option,
    with_steps,
)
from kinetoscope.views import view_named
from kinetoscope.views.overview.document import advise
from tests.drawing import V100, trace_of
from tests.trace.drawn import memory, x

LEGACY = [
    {"name": "aten::mm", "ph": "X", "ts": 10 * at + 0.25, "dur": 8.5, "tid": 1,
     "pid": "CPU functions", "args": {}}
    for at in range(4)
]  # fmt: skip


@pytest.fixture(name="legacy")
def by_the_autograd_profiler(tmp_path: Path) -> Trace:
    """As ``torch.autograd.profiler`` exports it, up to torch 1.9."""
    file = tmp_path / "worker0.pt.trace.json"
    file.write_text(json.dumps(LEGACY))
    return read(file)


@pytest.mark.parametrize("option", [SHAPES, STACKS, FRAMES, ALLOCATIONS])
def test_a_recent_torch_is_asked_for_the_option_alone(option: Option) -> None:
    for era in ("D", "E", "F", "G", "H", "unknown", ""):
        assert with_option(option, era) == f"record with `{option.text}`"


def test_torch_npu_writes_no_allocations_into_its_trace() -> None:
    assert "profile_memory" not in with_option(ALLOCATIONS, "Ascend")


def test_ascends_profiler_is_named_with_the_options_that_it_has() -> None:
    """Its options have the names that torch.profiler gave them."""
    assert with_option(FRAMES, "Ascend") == (
        "record with `torch_npu.profiler.profile` and `with_stack=True`"
    )
    assert with_option(SHAPES, "Ascend").endswith("and `record_shapes=True`")
    assert "`torch_npu.profiler.schedule`" in with_steps("Ascend")


def test_nothing_is_said_of_counters_that_are_not_known() -> None:
    """Ascend's recorder samples the clock of its cores: not known here is not never recorded."""
    why = no_counters("Ascend")
    assert why.endswith("not available on Ascend, only on NVIDIA.")
    assert "recorder" not in why


def test_an_older_torch_is_not_asked_for_what_it_does_not_write() -> None:
    for era in ("B", "C"):
        assert with_option(SHAPES, era) == "record with `record_shapes=True`"
        assert with_option(STACKS, era) == "record with `with_stack=True`"
        for option in (FRAMES, ALLOCATIONS):
            assert with_option(option, era).startswith("record with torch 1.11 or later and `")


def test_the_legacy_profiler_is_never_asked_for_options_that_it_does_not_export(
    legacy: Trace,
) -> None:
    """Its file holds names and times: what else there is, torch.profiler exports."""
    assert legacy.recording.torch_era == "A"
    facts = summarize(legacy)
    said = [*facts.unavailable.values()]
    said += [note.remedy for note in facts.health.notes if note.remedy]
    said += [one.record for one in advise(select(facts)).cannot_answer]
    for stem in ("operators", "modules", "timeline"):
        view = view_named(stem)
        said.append(view.unavailable(facts) or "")
    operators: Any = TraceSession(legacy).seen_by(view_named("operators")).artifact("")
    said += operators.missing.values()
    said = [text for text in said if "True`" in text or "ctivities" in text or "chedule" in text]
    assert len(said) > 10
    for text in said:
        assert "`torch.profiler.profile`" in text, text


def facts_of(*events: dict[str, Any], **metadata: Any) -> Facts:
    return summarize(trace_of([x("aten::mm", 0, 10), *events], **metadata))


@pytest.mark.parametrize(
    ("events", "metadata", "kind"),
    [
        ((), {}, ""),
        ((), {"deviceProperties": [V100]}, "GPU"),
        ((), {"cuda_runtime_version": 12080}, "GPU"),
        # What torch was built for is no device: what was available is.
        ((), {"kinetoscope": {"torch": "2.13.0+cu128", "cuda": "12.8"}}, ""),
        ((), {"kinetoscope": {"torch": "2.13.0+rocm6.4", "hip": "6.4"}}, ""),
        ((), {"kinetoscope": {"cuda": "12.8", "accelerators": None}}, ""),
        ((), {"kinetoscope": {"cuda": "12.8", "accelerators": {"cuda": 8}}}, "GPU"),
        ((), {"kinetoscope": {"accelerators": {"xpu": 1}}}, "XPU"),
        ((memory(2, 512, **{"Device Type": 12, "Device Id": 0}),), {}, "XPU"),
        ((memory(2, 512, **{"Device Type": 13, "Device Id": 0}),), {}, "MPS"),
        ((memory(2, 512, **{"Device Type": 6, "Device Id": 0}),), {}, "GPU"),
        ((x("aten::_mps_convolution", 2, 3),), {}, "MPS"),
        ((x("aten::cudnn_convolution", 2, 3),), {}, "GPU"),
        ((x("aten::npu_format_cast", 2, 3),), {}, "NPU"),
        ((x("cudaMalloc", 2, 3, cat="user_annotation"),), {}, "GPU"),
        ((x("hipMalloc", 2, 3, cat="user_annotation"),), {}, "GPU"),
    ],
)
def test_the_device_of_a_run_as_far_as_its_file_tells(
    events: tuple[dict[str, Any], ...], metadata: dict[str, Any], kind: str
) -> None:
    facts = facts_of(*events, **metadata)
    assert facts.recording.accelerator.type == kind
    why = facts.unavailable["devices"]
    assert ("does not say which device" in why) == (not kind)
    assert ("ProfilerActivity.CUDA" in why) == (kind == "GPU")
    assert ("ProfilerActivity.XPU" in why) == (kind == "XPU")
    # Health says the same of it.
    (note,) = (one for one in facts.health.notes if one.kind == "no_device")
    how = why.partition(": ")[2]
    assert (note.remedy.lower() == how.lower()) == bool(kind)
    assert ("Where the run used a device" in note.remedy) == (not kind)


def test_a_file_that_names_no_device_gets_the_advice_that_fits_any() -> None:
    assert "supported_activities()" in with_device("", "G")
    assert "CUDA" not in with_device("", "G")
    # Before torch 1.9 there was no such function, and no other device than CUDA's.
    assert "ProfilerActivity.CUDA" in with_device("", "B")


def test_devices_that_torch_profiler_calls_otherwise_or_does_not_record() -> None:
    assert [activity(kind) for kind in ("GPU", "XPU", "MTIA", "HPU")] == [
        "CUDA", "XPU", "MTIA", "HPU",
    ]  # fmt: skip
    assert "torch_npu" in with_device("NPU", "Ascend")
    assert "ProfilerActivity" not in with_device("MPS", "G")


def test_a_torch_for_the_cpu_alone_is_not_asked_for_a_device() -> None:
    facts = facts_of(kinetoscope={"torch": "2.13.0+cpu", "cuda": None, "hip": None})
    assert facts.unavailable["devices"] == (
        "No device activity was recorded: this torch, 2.13.0+cpu, is built for the CPU alone."
    )
    assert "ProfilerActivity.CUDA" not in str(advise(select(facts)).cannot_answer)
    (note,) = (one for one in facts.health.notes if one.kind == "no_device")
    assert note.remedy == "This torch, 2.13.0+cpu, is built for the CPU alone."


def test_a_build_for_cuda_without_a_gpu_is_not_asked_for_a_device() -> None:
    """Versions of CUDA in the file tell of the build; a device that was used outranks the list."""
    told = {"torch": "2.13.0+cu130", "cuda": "13.0", "accelerators": {}}
    facts = facts_of(kinetoscope=told, cuda_runtime_version=13000)
    assert facts.unavailable["devices"] == (
        "No device activity was recorded: no device was available to this torch, 2.13.0+cu130."
    )
    assert "ProfilerActivity.CUDA" not in str(advise(select(facts)).cannot_answer)
    (note,) = (one for one in facts.health.notes if one.kind == "no_device")
    assert note.remedy == "No device was available to this torch, 2.13.0+cu130."
    used = facts_of(memory(2, 512, **{"Device Type": 1, "Device Id": 0}), kinetoscope=told)
    assert used.recording.accelerator.type == "GPU"


def test_a_run_on_the_host_that_recorded_the_gpu_is_not_told_to_record_it() -> None:
    told = {"accelerators": {"cuda": 1}, "profiler": {"activities": ["CPU", "CUDA"]}}
    idle = "`ProfilerActivity.CUDA` was recorded, and the run used no such device."
    assert facts_of(kinetoscope=told).unavailable["devices"].endswith(f": {idle}")
    # The file of another handler: the calls of the runtime tell that it was recorded.
    call = x("cudaDeviceSynchronize", 2, 3, cat="cuda_runtime")
    assert facts_of(call).unavailable["devices"].endswith(f": {idle}")
    told["profiler"] = {"activities": ["CPU"]}
    assert "record with `activities=" in facts_of(kinetoscope=told).unavailable["devices"]


def test_names_of_modules_begin_no_remedy_with_a_capital() -> None:
    facts = facts_of(memory(2, 512, **{"Device Type": 13, "Device Id": 0}))
    assert facts.recording.accelerator.type == "MPS"
    (note,) = (one for one in facts.health.notes if one.kind == "no_device")
    assert note.remedy.startswith("`torch.profiler` records none of Apple's GPUs")


def test_lost_kernels_are_no_matter_of_activities() -> None:
    """They were chosen: calls of the runtime are recorded by the same one."""
    launches = [
        x("cudaLaunchKernel", 2 * at, 1, cat="cuda_runtime", correlation=at + 1) for at in range(4)
    ]
    trace = trace_of([x("aten::mm", 0, 10), *launches])
    assert "though 4 calls launched kernels" in summarize(trace).unavailable["devices"]
    era, notes = trace.recording.torch_era, trace.health.notes
    assert "ctivities=" not in no_device_activity(accelerator(trace), era, notes)
