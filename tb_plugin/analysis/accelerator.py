"""Which accelerator did a run have whose activity is not in its recording, and how to record it?

The file may tell in passing: by the devices that it lists, by what its allocator events are of, by
the names of its calls and ops, by the versions that its recorder knew.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..base.arrays import distinct
from ..base.regex import regex
from ..trace.model import Trace
from ..trace.recipes import with_device
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


def accelerator(trace: Trace) -> Accelerator:
    """What the file tells of the run's device."""
    told = trace.recording.handler.get("torch")
    cpu_build = told if isinstance(told, str) and told.endswith("+cpu") else ""
    found = (
        next((device.type for device in trace.devices if device.type), "")
        or ("NPU" if trace.recording.torch_era == "Ascend" else "")
        or next(_by_memory(trace), "")
        or _by_names(trace)
        or ("GPU" if any(key in trace.recording.metadata for key in _OF_VERSIONS) else "")
        or ("GPU" if any(trace.recording.handler.get(key) for key in ("cuda", "hip")) else "")
    )
    return Accelerator(found, "" if found else cpu_build)


def _by_memory(trace: Trace) -> Iterator[str]:
    of = trace.memory.device_type
    return (kind for number, kind in _OF_MEMORY.items() if (of == number).any())


def _by_names(trace: Trace) -> str:
    codes = distinct(trace.host.name, len(trace.strings)).tolist()
    found = (_NAMED.match(trace.strings[code]) for code in codes)
    return next((one.lastgroup or "" for one in found if one), "")


def how_to_record(device: Accelerator, torch_era: str) -> str:
    """The end of a sentence on what to do, where no activity of a device was recorded."""
    if device.cpu_build:
        return f"this torch, {device.cpu_build}, is built for the CPU alone"
    return with_device(device.type, torch_era)
