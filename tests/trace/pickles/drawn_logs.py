"""Logs of a hang drawn by hand: what each rank entered, as PyTorch and NCCL write it.

``ranks("world 1 2 3|", "world 1 2 3")``: rank 0 entered collectives 1 to 3 and waits in the last;
on rank 1 all have ended. A word is a group, or a collective of it: a number, with ``:operation`` if
it is no all_reduce, and ``[size]`` if it is not 8. What follows ``|`` has not ended.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SECOND = 1_000_000_000
_WORD = re.compile(r"(\d+)(?::([\w>-]+))?(?:\[(\d+)\])?(\|)?")


def entries_of(line: str, groups: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    """The entries of one rank."""
    found: list[dict[str, Any]] = []
    name = ""
    for at, word in enumerate(line.split()):
        if word.rstrip("|") in groups:
            name = word
            continue
        match = _WORD.fullmatch(word)
        assert match, word
        operation = (match[2] or "all_reduce").replace("->", " 0->").replace("-<", " 0<-")
        is_p2p = operation.startswith(("send", "recv"))
        found.append(
            {
                "record_id": len(found),
                "pg_id": 0,
                "process_group": (str(list(groups).index(name)), name),
                "collective_seq_id": 0 if is_p2p else int(match[1]),
                "p2p_seq_id": int(match[1]) if is_p2p else 0,
                "op_id": len(found) + 1,
                "profiling_name": f"nccl:{operation}",
                "time_created_ns": 1_700_000_000 * SECOND + at * SECOND,
                "duration_ms": 1.5,
                "input_sizes": [[int(match[3] or 8)]],
                "input_dtypes": ["Float"],
                "output_sizes": [[int(match[3] or 8)]],
                "output_dtypes": ["Float"],
                "state": "started" if match[4] else "completed",
                "time_discovered_started_ns": None,
                "time_discovered_completed_ns": None,
                "retired": not match[4],
                "timeout_ms": 600_000,
                "is_p2p": is_p2p,
                "frames": [
                    {"name": "f", "filename": "/x/torch/distributed/c10d.py", "line": 1},
                    {"name": "step", "filename": "/job/train.py", "line": 40 + at},
                    {"name": "main", "filename": "/job/train.py", "line": 9},
                ],
            }
        )
    return found


def dump(line: str, groups: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """A dump of the flight recorder."""
    return {
        "version": "2.10",
        "pg_config": {
            str(at): {"name": str(at), "desc": name, "ranks": str(list(ranks))}
            for at, (name, ranks) in enumerate(groups.items())
        },
        "pg_status": {},
        "entries": entries_of(line, groups),
    }


def write_dumps(
    folder: Path, *lines: str | None, groups: Mapping[str, Sequence[int]] | None = None
) -> Path:
    """A dump for each rank; None: this rank wrote none."""
    groups = groups or {"world": range(len(lines))}
    folder.mkdir(exist_ok=True)
    for rank, line in enumerate(lines):
        if line is not None:
            text = pickle.dumps(dump(line, groups), protocol=2)
            (folder / f"nccl_trace_rank_{rank}").write_bytes(text)
    return folder


def inspected(rank: int, size: int, ended: int, id_: str = "0xab") -> str:
    """Lines of the NCCL Inspector for ``ended`` collectives of a rank."""
    return "".join(
        json.dumps(
            {
                "header": {"id": id_, "rank": rank, "n_ranks": size, "nnodes": 1},
                "metadata": {
                    "inspector_output_format_version": "v4.0",
                    "dump_timestamp_us": 1_700_000_000_000_000 + at,
                    "hostname": "node0",
                    "pid": 100 + rank,
                },
                "coll_perf": {
                    "coll": "AllReduce",
                    "coll_sn": at,
                    "coll_msg_size_bytes": 1 << 20,
                    "coll_exec_time_us": 100,
                    "coll_algobw_gbs": 10.5,
                    "coll_busbw_gbs": 18.4,
                },
            }
        )
        + "\n"
        for at in range(1, ended + 1)
    )
