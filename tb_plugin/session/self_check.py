"""Does this installation read and answer? Two small runs, drawn here, through every view.

Each view is asked twice: of what was just read, and of what was stored of it. The cache is one of
its own, so that nothing of an earlier run answers.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ..base.errors import told
from ..store.cache.location import DIR_VARIABLE
from ..views import all_views
from ..views.view import View
from .session import Wanted, choose

BASE_RUN, RUN = "base", "sample"
_RANKS = 2
_STEPS = 3
_STEP_US = 1000


class ViewFailure(Struct, frozen=True):
    """A view that failed, and its error."""

    view: str
    reason: str


def failed_views() -> tuple[ViewFailure, ...]:
    """The views that do not answer of the sample; none where everything works."""
    with tempfile.TemporaryDirectory(prefix="kinetoscope-check-") as name:
        folder = Path(name)
        logdir = write_sample(folder / "logdir")
        with _cache_in(folder / "cache"):
            return tuple(filter(None, (_tried(view, logdir) for view in all_views())))


def _tried(view: View, logdir: Path) -> ViewFailure | None:
    try:
        query = {"base_run": BASE_RUN} if view.stem == "diff" else {}
        asked = msgspec.convert(query, view.query)
        for _ in ("read now", "stored before"):
            session = choose(str(logdir), Wanted(run=RUN)).session()
            tables = view.tables(view.build(session.asked(view), asked))
            if not any(table.rows for table in tables):
                return ViewFailure(view.stem, "It has no rows.")
            session.trace()
    except Exception as error:  # noqa: BLE001  the border of one view: what it is, is said
        return ViewFailure(view.stem, told(error))
    return None


@contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    before = os.environ.get(DIR_VARIABLE)
    os.environ[DIR_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[DIR_VARIABLE]
        else:
            os.environ[DIR_VARIABLE] = before


def write_sample(logdir: Path) -> Path:
    """Two runs of two ranks below ``logdir``; the second run is the faster one."""
    for run, scale in ((BASE_RUN, 2), (RUN, 1)):
        (logdir / run).mkdir(parents=True)
        for rank in range(_RANKS):
            file = logdir / run / f"rank{rank}.1700000000000000000.pt.trace.json"
            file.write_text(json.dumps(_document(rank, scale)), encoding="utf-8")
    return logdir


def _document(rank: int, scale: int) -> dict[str, Any]:
    group = {"pg_name": "0", "pg_desc": "default_pg", "ranks": list(range(_RANKS))}
    return {
        "schemaVersion": 1,
        "with_modules": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "numSms": 108, "warpSize": 32}],
        "distributedInfo": {
            "backend": "nccl",
            "rank": rank,
            "world_size": _RANKS,
            "pg_count": 1,
            "pg_config": [{**group, "backend_config": "cuda:nccl", "pg_size": _RANKS}],
        },
        "traceEvents": [
            event for step in range(_STEPS) for event in _step(step, rank, scale * _STEP_US)
        ],
    }


def _step(step: int, rank: int, length: int) -> Iterator[dict[str, Any]]:
    """An operator of a compiled module that launches a kernel, and a collective, within a step."""
    at, number = step * length, 10 * step

    def event(category: str, name: str, begin: float, share: float, **args: object) -> Any:  # noqa: ANN401  # JSON
        on_device = category == "kernel"
        pid, tid = (0, 7) if on_device else (100, 1)
        args = {"device": 0, "stream": 7, **args} if on_device else args
        return {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": pid,
            "tid": tid,
            "ts": at + begin * length,
            "dur": share * length,
            "args": args,
        }

    yield event("user_annotation", f"ProfilerStep#{step}", 0, 1)
    yield event("python_function", "train.py(7): train", 0.01, 0.95, **{"Python id": number})
    module = {"Python id": number + 1, "Python parent id": number, "Python module id": 0}
    yield event("python_function", "nn.Module: Linear_0", 0.02, 0.4, **module)
    yield event("cpu_op", "Torch-Compiled Region: 0/0", 0.025, 0.32, **{"External id": number + 3})
    shapes = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
    yield event("cpu_op", "aten::mm", 0.03, 0.3, **{"External id": number + 1, **shapes})
    yield event("cuda_runtime", "cudaLaunchKernel", 0.1, 0.1, correlation=number + 1)
    yield event("cpu_op", "Torch-Compiled Region: 0/0", 0.42, 0.02)
    yield event("kernel", "ampere_sgemm_64x64", 0.2, 0.3, correlation=number + 1, grid=[8, 8, 1])
    collective = {
        "Collective name": "allreduce",
        "In msg nelems": 4096,
        "Out msg nelems": 4096,
        "Group size": _RANKS,
        "dtype": "Float",
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "Process Group Ranks": "[0, 1]",
    }
    begin = 0.5 + 0.1 * rank
    yield event("cpu_op", "c10d::allreduce_", begin, 0.1, **{"External id": number + 2})
    yield event("cuda_runtime", "cudaLaunchKernel", begin + 0.02, 0.05, correlation=number + 2)
    collective["correlation"] = number + 2
    kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
    yield event("kernel", kernel, begin + 0.1, 0.3 - 0.1 * rank, **collective)
    for moment, size in ((0.05, 4096), (0.9, -4096)):
        total = max(size, 0)
        args = {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Bytes": size}
        yield {
            "ph": "i",
            "s": "t",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 100,
            "tid": 1,
            "ts": at + moment * length,
            "args": {**args, "Total Allocated": total, "Total Reserved": 4096},
        }
