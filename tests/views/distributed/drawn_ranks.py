"""Drawn runs of several ranks: in each step a kernel, then an all_reduce that ends for all at once.

rank 0   mm ████      all_reduce ░░░░▓▓
rank 1   mm ████████  all_reduce     ▓▓
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STEP_US, WORK_US, MOVE_US, BYTES = 10_000, 2_000, 100, 1 << 20
BASE_NS = 1_700_000_000_000_000_000


def write_run(
    folder: Path,
    ranks: int,
    *,
    steps: int = 3,
    slower_us: Mapping[int, int] | None = None,
    left_out: tuple[int, ...] = (),
    host: str = "node",
    ranks_of_node: int = 8,
    host_us: int = STEP_US - 10,
) -> Path:
    """The traces of a run; ``slower_us``: rank → how much longer its kernel takes.

    ``host_us``: how long the host is in a step; where that is short, the device ends it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    slower = slower_us or {}
    for rank in range(ranks):
        if rank not in left_out:
            name = f"{host}{rank // ranks_of_node}_{1000 + rank}.{rank}.pt.trace.json"
            text = json.dumps(
                _trace(rank, ranks, steps, slower, f"{host}{rank // ranks_of_node}", host_us)
            )
            (folder / name.replace(f".{rank}.", ".1.")).write_text(text)
    return folder


def _trace(
    rank: int, ranks: int, steps: int, slower: Mapping[int, int], host: str, host_us: int
) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    latest = max([0, *slower.values()])
    for step in range(steps):
        start = step * STEP_US
        number = 10 * step + 1
        mine = WORK_US + slower.get(rank, 0)
        comms = _comms(rank, ranks, step)
        begin, end = start + 50 + mine, start + 50 + WORK_US + latest + MOVE_US
        events += [
            _host("user_annotation", f"ProfilerStep#{step + 1}", start, host_us),
            _host("cpu_op", "aten::mm", start + 10, 20, number),
            _launch(start + 15, number),
            _kernel("gemm", start + 50, mine, 7, number),
            _host("cpu_op", "record_param_comms", start + 60, 20, number + 1, comms),
            _launch(start + 65, number + 1),
            _kernel(
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                begin,
                end - begin,
                20,
                number + 1,
                comms,
            ),
        ]  # fmt: skip
    return {
        "schemaVersion": 1,
        "deviceProperties": [
            {"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 80 << 30, "computeMajor": 9,
             "computeMinor": 0, "numSms": 132}
        ],
        "distributedInfo": {
            "backend": "nccl", "rank": rank, "world_size": ranks, "pg_count": 1,
            "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl",
                           "pg_size": ranks, "ranks": list(range(ranks))}],
        },
        "host_name": host,
        "baseTimeNanoseconds": BASE_NS,
        "traceEvents": events,
    }  # fmt: skip


def _comms(rank: int, ranks: int, step: int) -> dict[str, Any]:
    return {
        "Collective name": "allreduce", "dtype": "Float", "In msg nelems": BYTES // 4,
        "Out msg nelems": BYTES // 4, "Group size": ranks, "Process Group Name": "0",
        "Process Group Description": "default_pg", "Rank": rank, "Seq": step,
        "Process Group Ranks": str(list(range(ranks))) if ranks <= 30 else "[0, 1, ...]",
        "Global rank start": 0, "Global rank stride": 1,
    }  # fmt: skip


def _host(
    category: str,
    name: str,
    ts: int,
    dur: int,
    external: int | None = None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    args = dict(more or {}) | ({} if external is None else {"External id": external})
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


def _launch(ts: int, correlation: int) -> dict[str, Any]:
    args = {"correlation": correlation, "External id": correlation}
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
            "ts": ts, "dur": 5, "args": args}  # fmt: skip


def _kernel(
    name: str,
    ts: int,
    dur: int,
    stream: int,
    correlation: int,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    args = {"device": 0, "stream": stream, "correlation": correlation, "External id": correlation,
            **(more or {})}  # fmt: skip
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": ts,
            "dur": dur, "args": args}  # fmt: skip
