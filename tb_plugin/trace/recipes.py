"""How could torch.profiler have recorded what a file lacks, by its age and by its device?

Recipes are ends of sentences, ``record with …``. What the version of torch that wrote the file does
not write, a recipe says from which version on there is; what names a device names the one that the
file tells, and none where it tells none.
"""

from __future__ import annotations

from typing import NamedTuple

_ERAS = ("A", "B", "C", "D", "E", "F1", "F", "G-py", "G", "H")
LEGACY = "A"
"""The era of ``torch.autograd.profiler``, whose export holds names and times alone."""


ASCEND = "Ascend"
"""The era of ``torch_npu``, whose own profiler has the options of torch.profiler by their names."""


class Option(NamedTuple):
    """An option of ``torch.profiler.profile``, and the first era and version that export by it."""

    text: str
    era: str
    version: str


SHAPES = Option("record_shapes=True", "B", "1.8.1")
STACKS = Option("with_stack=True", "B", "1.8.1")  # with each op, as text
FRAMES = Option("with_stack=True", "D", "1.11")  # of Python as events, with calls of modules
ALLOCATIONS = Option("profile_memory=True", "D", "1.11")  # with addresses and totals

NEW_PROFILER = (
    "`torch.autograd.profiler` wrote this file, and cannot: use `torch.profiler.profile`, from"
    " torch 1.8.1 on."
)


def is_before(torch_era: str, first: str) -> bool:
    """True for a file of an era that ended before another began; False for an unknown one.

    >>> is_before("C", "E"), is_before("E", "E"), is_before("Ascend", "E")
    (True, False, False)
    """
    return torch_era in _ERAS[: _ERAS.index(first)]


def with_option(option: Option, torch_era: str) -> str:
    """Recipe for a recording with an option that a file of this era lacks.

    >>> with_option(FRAMES, "F")
    'record with `with_stack=True`'
    >>> with_option(FRAMES, "C")
    'record with torch 1.11 or later and `with_stack=True`'
    """
    if torch_era == LEGACY:
        return (
            f"`torch.autograd.profiler` exports none, so record with `torch.profiler.profile` of"
            f" torch {option.version} or later and `{option.text}`"
        )
    if torch_era == ASCEND:
        if option is ALLOCATIONS:
            return "`torch_npu` writes them into files of its own, which are not read"
        return f"record with `torch_npu.profiler.profile` and `{option.text}`"
    if is_before(torch_era, option.era):
        return f"record with torch {option.version} or later and `{option.text}`"
    return f"record with `{option.text}`"


def with_steps(torch_era: str) -> str:
    """Instruction to mark steps."""
    how = "call `prof.step()` after each step and give `profile()` a `schedule`"
    if torch_era == ASCEND:
        return f"{how}, `torch_npu.profiler.schedule`"
    if torch_era == LEGACY:
        return f"record with `torch.profiler.profile` of torch 1.8.1 or later, {how}"
    return how


_ACTIVITIES = {"GPU": "CUDA", "": "CUDA"}


def activity(device_type: str) -> str:
    """Name of a type of device in ``ProfilerActivity``; AMD's GPUs are called CUDA, too.

    >>> activity("GPU"), activity("XPU")
    ('CUDA', 'XPU')
    """
    return _ACTIVITIES.get(device_type, device_type)


def with_device(device_type: str, torch_era: str) -> str:
    """Instruction to record a device beside the host; "" if the file does not name its type."""
    if device_type == "NPU":
        return "record with `torch_npu.profiler` and its `ProfilerActivity.NPU`"
    if device_type == "MPS":
        none = "`torch.profiler` records none of Apple's GPUs"
        return f"{none}; for Instruments, `torch.mps.profiler`"
    if not device_type and not is_before(torch_era, "C"):
        # From torch 1.9 on; it names what this build of torch can record on this machine.
        return (
            "where the run used a device, record with"
            " `activities=torch.profiler.supported_activities()`"
        )
    old = torch_era == LEGACY
    profiler = "`torch.profiler.profile` of torch 1.8.1 or later and " if old else ""
    where = "" if device_type else "where the run used a GPU, "
    return (
        f"{where}record with {profiler}`activities=[ProfilerActivity.CPU,"
        f" ProfilerActivity.{activity(device_type)}]`"
    )
