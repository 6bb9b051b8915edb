"""Metadata that the handler adds and torch does not write: the `"kinetoscope"` object of a trace.

It is spliced into the file as the first member of the root object. All values are plain JSON; what
could not be found out is null.

- `schema`: 1; grows when a key changes its meaning
- `handler_version`: of the installed distribution, null in a bare checkout
- `worker`, `host`, `pid`: who recorded, even where a forked child saves it
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
- `cpu_peak`: what this CPU was measured to do, `half_tflops` (bfloat16), `float_tflops`,
  `double_tflops` and `bandwidth_gb_s`; missing unless asked for, null where that failed
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
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
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


# --- rates of the CPU -----------------------------------------------------------------------------

_PRODUCTS = (
    ("half_tflops", "bfloat16"),
    ("float_tflops", "float32"),
    ("double_tflops", "float64"),
)
# Size of a product, and the time above which it is left out, by the rate of the smaller ones. A
# type without instructions of its own takes a thousand times longer.
_SIZES = ((256, math.inf), (1024, 2.0), (2048, 0.03), (4096, 0.03))
_EACH_S = 0.03
_CACHE = "/sys/devices/system/cpu/cpu0/cache/index3/size"
_MOST_COPIED = 128 << 20


def measure_cpu() -> dict[str, float]:
    """Rates of this CPU with the threads that torch has: of products, and of a copy in memory.

    Takes about 0.5 s of CPU time. A type that this torch cannot multiply is left out.
    """
    torch = sys.modules["torch"]
    found: dict[str, float] = {}
    with torch.no_grad():
        for key, name in _PRODUCTS:
            try:
                found[key] = _product_rate(torch, getattr(torch, name)) / 1e12
            except RuntimeError:
                continue
        size = _copied_bytes()
        source = torch.ones(size, dtype=torch.uint8, device="cpu")
        target = torch.empty_like(source)
        found["bandwidth_gb_s"] = 2 * size / _shortest(lambda: target.copy_(source)) / 1e9
    return found


def _product_rate(torch: Any, dtype: object) -> float:  # noqa: ANN401  # the module
    """FLOP/s of a product large enough to be at its peak."""
    rate = 0.0
    for size, most_s in _SIZES:
        flops = 2 * size**3
        if rate and flops > rate * most_s:
            break
        one = torch.ones(size, size, dtype=torch.float32, device="cpu").to(dtype)
        out = torch.empty_like(one)
        rate = max(rate, flops / _shortest(partial(torch.mm, one, one, out=out)))
    return rate


def _shortest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of some runs, at least two; the first one fills caches."""
    work()
    shortest, end = math.inf, time.perf_counter() + _EACH_S
    while math.isinf(shortest) or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        shortest = min(shortest, max(time.perf_counter() - start, 1e-9))
    return shortest


def _copied_bytes() -> int:
    """Four times the last cache, where so much memory is free; else less."""
    try:
        cache = int(Path(_CACHE).read_text("ascii").strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        cache = 16 << 20
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        free = 1 << 30
    return max(1 << 20, min(4 * cache, _MOST_COPIED, free // 16))


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
