"""Metadata that the handler adds and torch does not write: the `"kinetoscope"` object of a trace.

It is spliced into the file as the first member of the root object. All values are plain JSON; what
could not be found out is null.

- `schema`: 1; grows when a key changes its meaning
- `handler_version`: of the installed distribution, null in a bare checkout
- `worker`, `host`, `pid`: who recorded
- `rank`, `world_size`: of the default process group, else from RANK and WORLD_SIZE
- `job`: what names the job to its launcher, `TORCHELASTIC_RUN_ID=… SLURM_JOB_ID=…`: two recordings
  with different ones are of different starts
- `cycle`: 0 for the first trace given to this handler in this process, then 1, 2, …
- `step_num`: the profiler's step counter when the trace was saved
- `window`: `asked`, the steps that the schedule records in a cycle, and `recorded`, those that
  ended before the trace was saved; null for a schedule of the user, or none
- `cwd`, `source_roots`: what relative file names in stacks refer to; by default the current
  directory and the directories of `sys.path`, in order of import. They inform people: a viewer
  joins names with `cwd` as text, and opens nothing because a trace says so
- `script`: what was started, `sys.argv[0]`: recordings of one script are compared with each other
- `threads`: what an op on the CPU may use, `torch.get_num_threads()`
- `cores`: what the process may use, by its affinity and the quota of its control group
- `accelerators`: how many devices this torch can use by the name of their type, `{"cuda": 8}`;
  `{}`: none. Null where only initializing the device could tell
- `python`, `torch`, `cuda`, `hip`: versions
- `profiler`: its options `activities`, `record_shapes`, `profile_memory`, `with_stack`,
  `with_flops`, `with_modules`, as far as it has them
- `handler`: its options `use_gzip`, `compresslevel`, `use_python_export`
- `user`: what the user gave as `metadata`; missing if nothing
- `modules`: type of each module by its name in the model, if the handler was given one
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .loops.schedules import window
from .process import Process, current_job

_SCHEMA = 1
_PROFILER_OPTIONS = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
_WHITESPACE = b" \t\r\n"


def describe(
    prof: object,
    process: Process,
    *,
    worker: str,
    cycle: int,
    source_roots: Sequence[str] | None,
    handler_options: Mapping[str, bool | int],
    modules: Mapping[str, str] | None = None,
    user: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The metadata object of one trace. `source_roots` None: the directories of `sys.path`."""
    return {
        "schema": _SCHEMA,
        "handler_version": _own_version(),
        "worker": worker,
        "host": process.host,
        "pid": process.pid,
        "rank": process.rank,
        "world_size": process.world_size,
        "job": current_job(),
        "cycle": cycle,
        "step_num": _integer(getattr(prof, "step_num", None)),
        "window": window(prof),
        "cwd": _current_directory(),
        "script": _text((getattr(sys, "argv", None) or [None])[0] or None),
        "source_roots": _import_directories() if source_roots is None else list(source_roots),
        "threads": _threads(),
        "cores": _cores(),
        "accelerators": _accelerators(),
        "python": platform.python_version(),
        **_torch_versions(),
        "profiler": _profiler_options(prof),
        "handler": dict(handler_options),
        **({} if modules is None else {"modules": dict(modules)}),
        **({} if user is None else {"user": dict(user)}),
    }


def plain(metadata: Mapping[str, object]) -> dict[str, object]:
    """`metadata` of a user as plain JSON: what JSON does not know becomes its text.

    Raises:
        TypeError: a key is no text, number or None.
        ValueError: it contains itself.
    """
    try:
        text = json.dumps(_encodable(dict(metadata)), default=str)
    except RecursionError:
        raise ValueError("metadata: it contains itself, or is nested too deep") from None
    found: dict[str, object] = json.loads(text, parse_constant=str)
    return found


def to_json(metadata: Mapping[str, object]) -> bytes:
    """One line of ASCII. Undecodable bytes in a path become `?`: lone surrogates are no JSON."""
    return json.dumps(_encodable(metadata), allow_nan=False).encode("ascii")


def splice(start: bytes, metadata: bytes) -> bytes:
    """`start`, the first block of a trace, with `"kinetoscope": metadata` as its first member.

    A text with another root than an object (a list, or not JSON at all) is returned unchanged.
    """
    body = start.lstrip(_WHITESPACE)
    if not body.startswith(b"{"):
        return start
    members = body[1:]
    comma = b"" if members.lstrip(_WHITESPACE).startswith(b"}") else b","
    return b'{\n  "kinetoscope": ' + metadata + comma + members


def _own_version() -> str | None:
    try:
        return importlib.metadata.version("kinetoscope")
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch_versions() -> dict[str, str | None]:
    # Looked up, not imported: where there is a profile, torch is imported.
    torch = sys.modules.get("torch")
    version = getattr(torch, "version", None)
    return {
        "torch": _text(getattr(torch, "__version__", None)),
        "cuda": _text(getattr(version, "cuda", None)),
        "hip": _text(getattr(version, "hip", None)),
    }


def _threads() -> int | None:
    # Looked up, not imported: where there is a profile, torch is imported.
    count = getattr(sys.modules.get("torch"), "get_num_threads", None)
    return _integer(count()) if callable(count) else None


def _cores() -> int | None:
    """Cores of the affinity mask, or fewer where the control group allows less time."""
    try:
        cores = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on this system
        cores = os.cpu_count() or 0
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        cores = min(cores, max(1, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError, ZeroDivisionError):  # "max": no limit; or no such group
        pass
    return cores or None


# One of these is there where a GPU of NVIDIA or AMD can be used under Linux.
_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvmap", "/dev/dxg", "/dev/kfd")


def _accelerators() -> dict[str, int] | None:
    """Devices that torch can use. Initializes none: a process that did may not fork any more."""
    torch = sys.modules.get("torch")
    try:
        return None if torch is None else _devices_of(torch)
    except (AttributeError, OSError, RuntimeError, TypeError, ValueError, Warning):
        return None  # a driver fails, or this torch has no such private function


def _devices_of(torch: Any) -> dict[str, int] | None:  # noqa: ANN401  # the module
    if torch.version.cuda or torch.version.hip:
        count = _gpus(torch)
        return None if count < 0 else {"cuda": count} if count else {}
    if torch.backends.mps.is_available():
        return {"mps": 1}
    if hasattr(torch, "xpu") and torch._C._has_xpu:
        return {"xpu": torch.xpu.device_count()} if torch.xpu.is_initialized() else None
    is_extended = torch._C._get_privateuse1_backend_name() != "privateuseone"
    return None if is_extended else {}


def _gpus(torch: Any) -> int:  # noqa: ANN401  # the module
    """GPUs that are visible to this process; negative where that is not known."""
    if torch.cuda.is_initialized():
        return int(torch.cuda.device_count())
    if sys.platform == "linux" and not any(map(os.path.exists, _DEVICE_FILES)):
        return 0
    ask = torch.cuda._device_count_amdsmi if torch.version.hip else torch.cuda._device_count_nvml
    return int(ask())


def _profiler_options(prof: object) -> dict[str, object]:
    """Only what `prof` has: a wrapper around it, or another torch, may have less."""
    options: dict[str, object] = {
        name: bool(getattr(prof, name)) for name in _PROFILER_OPTIONS if hasattr(prof, name)
    }
    activities = getattr(prof, "activities", None)
    if isinstance(activities, Iterable):
        options["activities"] = sorted(str(getattr(a, "name", a)) for a in activities)
    return options


def _current_directory() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # the job's directory was deleted under it
        return None


def _import_directories() -> list[str]:
    here = _current_directory() or ""
    paths = [Path(here, str(entry)) for entry in sys.path]
    directories = [str(path) for path in paths if path.is_absolute() and path.is_dir()]
    return list(dict.fromkeys(directories))


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _encodable(value: object) -> object:
    """`value` with every string encodable as UTF-8, through mappings and lists."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return value
