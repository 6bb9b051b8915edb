"""Which accelerator did a run have whose activity is not in its recording, and how to record it?

The file may tell in passing: by the devices that it lists, by what its allocator events are of, by
the names of its calls and ops, by the versions that its recorder knew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..base.arrays import distinct, equal
from ..base.regex import regex
from ..trace.model import HostKind, Trace
from ..trace.recipes import activity, with_device
from .facts import Accelerator

# c10::DeviceType of allocator events.
_OF_MEMORY = {
    1: "GPU", 6: "GPU", 12: "XPU", 13: "MPS", 15: "HPU", 19: "MTIA", 20: "PrivateUse1",
}  # fmt: skip
# Calls of a runtime, and ops that there is one device for.
_OF_NAMES = {
    "GPU": r"(?:cuda|hip|cu)[A-Z]\w+$|aten::_?(?:cudnn|miopen)_\w+$|nccl:",
    "MPS": r"aten::_?(?:mps|lstm_mps)(?:_\w+)?$",
    "XPU": r"(?:urEnqueue|zeCommandList|piEnqueue)\w+$|xccl:",
    "NPU": r"(?:aten|npu)::npu_\w+$|aclnn\w+$|aclrt\w+$",
}
_NAMED = regex("|".join(f"(?P<{kind}>{names})" for kind, names in _OF_NAMES.items()))
_OF_VERSIONS = ("cuda_runtime_version", "cuda_driver_version", "hip_runtime_version",
                "hip_driver_version", "roctracer_version", "cupti_version")  # fmt: skip

# Types of devices as torch and our handler call them.
_OF_TORCH = {"cuda": "GPU", "xpu": "XPU", "mps": "MPS"}
MOST_VERSION_CHARS = 100


def accelerator(trace: Trace) -> Accelerator:
    """The run's device according to the file: the used one first, else the available one."""
    told = trace.recording.handler
    found = (
        next((device.type for device in trace.devices if device.type), "")
        or ("NPU" if trace.recording.torch_era == "Ascend" else "")
        or next(_by_memory(trace), "")
        or _by_names(trace)
    )
    if not found and (none := _none_available(told)):
        return Accelerator(none=none)
    found = (
        found
        or _available(told)
        or ("GPU" if any(key in trace.recording.metadata for key in _OF_VERSIONS) else "")
    )
    return Accelerator(found, _recorded_and_idle(trace, found))


def _available(told: Mapping[str, Any]) -> str:
    """The type of device that was available to torch, by our handler; "" where it did not tell."""
    devices = told.get("accelerators")
    names = devices if isinstance(devices, Mapping) else ()
    return next((_OF_TORCH[name] for name in names if name in _OF_TORCH), "")


def _none_available(told: Mapping[str, Any]) -> str:
    """Why no device could be recorded, by our handler; "" where one could, or it did not tell."""
    torch = told.get("torch")
    torch = torch[:MOST_VERSION_CHARS] if isinstance(torch, str) else ""
    if torch.endswith("+cpu"):
        return f"this torch, {torch}, is built for the CPU alone"
    if told.get("accelerators") == {}:
        return f"no device was available to this torch, {torch}" if torch else "none was available"
    return ""


def _recorded_and_idle(trace: Trace, kind: str) -> str:
    """Message for a device that was recorded and idle; "" if that is not known."""
    options = trace.recording.handler.get("profiler")
    chosen = options.get("activities") if isinstance(options, Mapping) else None
    called = activity(kind)
    is_recorded = isinstance(chosen, list) and called in chosen
    if not kind or not (is_recorded or equal(trace.host.kind, HostKind.RUNTIME).any()):
        return ""
    return f"`ProfilerActivity.{called}` was recorded, and the run used no such device"


def _by_memory(trace: Trace) -> Iterator[str]:
    of = trace.memory.device_type
    return (kind for number, kind in _OF_MEMORY.items() if (of == number).any())


def _by_names(trace: Trace) -> str:
    codes = distinct(trace.host.name, len(trace.strings)).tolist()
    found = (_NAMED.match(trace.strings[code]) for code in codes)
    return next((one.lastgroup or "" for one in found if one), "")


def how_to_record(device: Accelerator, torch_era: str) -> str:
    """The end of a sentence on what to do, where no activity of a device was recorded."""
    return device.none or with_device(device.type, torch_era)
