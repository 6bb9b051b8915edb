"""The Distributed view over a thousand ranks: time, memory, and the size of what is kept of a rank.

python -m benchmarks.many_ranks 64 512 1024           draws, digests and measures each; a table
python -m benchmarks.many_ranks 1024 --keep FOLDER    leaves the traces there, to be looked at

A drawn run has tensor-parallel groups of 8 neighbours, up to 4 pipeline stages, and data-parallel
groups across them. In each step a rank receives from the stage before, computes and reduces over
its tensor-parallel group four times, sends to the next stage, and reduces gradients over its
data-parallel group and their norm over all ranks; every exchange ends for all at once. From the
middle of the run on, the kernels of one node take 1.19 times as long. What is kept of each rank
lies beside the traces, as ``kinetoscope ingest --cache beside`` leaves it.

CPU time counts, of one process that answers; its memory is the peak of its resident set. The last
column is what the view says first: it has to name the slow node.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks import _measure
from kinetoscope.analysis.distributed.rank.digest import DIGEST
from kinetoscope.base.artifact_spec import ArtifactSpec
from kinetoscope.session.recordings import CatalogRecordings
from kinetoscope.session.session import choose
from kinetoscope.store.cache.beside import BESIDE
from kinetoscope.views.distributed import what_if
from kinetoscope.views.distributed.contract import DistributedQuery, WhatIfQuery
from kinetoscope.views.distributed.view import VIEW
from kinetoscope.views.view import Subject, View

NODE, TENSOR, STEP_US, SEGMENT_US, STEPS = 8, 8, 20_000, 1_500.0, 12
HOST_US = 200  # of a step: the device ends it
REDUCE_US, SEND_US, GRADIENTS_US = 60.0, 40.0, 400.0
SEGMENTS, FACTOR = 4, 1.19
BASE_NS = 1_700_000_000_000_000_000
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Which ranks exchange with which."""

    ranks: int
    stages: int
    tensor: I64  # (ranks,): number of the group of each kind
    data: I64
    stage: I64
    pipeline: I64

    @classmethod
    def of(cls, ranks: int) -> Layout:
        stages = max(one for one in (1, 2, 4) if ranks % (TENSOR * one) == 0)
        rank = np.arange(ranks)
        replicas = ranks // (TENSOR * stages)
        stage, inside = rank // (TENSOR * replicas), rank % (TENSOR * replicas)
        data = stage * TENSOR + inside % TENSOR
        return cls(ranks, stages, rank // TENSOR, data, stage, inside)

    def members(self, groups: I64, rank: int) -> list[int]:
        return [int(one) for one in np.flatnonzero(groups == groups[rank])]


@dataclass
class Played:
    """When each rank does what, in µs of a step: (ranks,) each."""

    work: list[tuple[F64, F64]]
    calls: list[tuple[str, str, F64, F64, int]]  # kind, group, arrival, release, bytes


def play(layout: Layout, step: int, rng: np.random.Generator) -> Played:
    """One step of all ranks."""
    count = layout.ranks
    now = 50 + rng.uniform(0, 20, count)
    slow = np.ones(count)
    node = np.arange(count) // NODE
    if step >= STEPS // 2:
        slow[node == (2 * node.max()) // 5] = FACTOR
    played = Played([], [])
    per_stage = count // layout.stages
    for stage in range(layout.stages):
        here = layout.stage == stage
        if stage:
            # Both ends of a message leave it together; the sender's end was drawn before.
            sender = np.arange(count)[here] - per_stage
            kind, group, arrival, release, size = played.calls[-1]
            both = np.maximum(now[here], arrival[sender]) + SEND_US
            arrival[here], release[here], release[sender] = now[here], both, both
            now[here], now[sender] = both, both
        for _ in range(SEGMENTS):
            _segment(layout, played, now, slow, here, rng)
        if stage < layout.stages - 1:
            kind, group, arrival, release, size = "send", "pp", *_empty(count), 8 << 20
            arrival[here] = now[here]
            played.calls.append((kind, group, arrival, release, size))
    arrival = now.copy()
    release = _together(arrival, layout.data, np.ones(count, bool)) + GRADIENTS_US
    played.calls.append(("allreduce", "dp", arrival, release, 64 << 20))
    arrival = release + 5
    played.calls.append(("allreduce", "world", arrival, np.full(count, arrival.max() + 50), 4096))
    return played


def _segment(
    layout: Layout, played: Played, now: F64, slow: F64, here: NDArray[np.bool_],
    rng: np.random.Generator,
) -> None:  # fmt: skip
    begin, end = _empty(layout.ranks)
    arrival, release = _empty(layout.ranks)
    begin[here] = now[here]
    end[here] = now[here] + SEGMENT_US / layout.stages * slow[here] * rng.normal(
        1, 0.01, here.sum()
    )
    arrival[here] = end[here] + 2
    release[here] = (_together(arrival, layout.tensor, here) + REDUCE_US)[here]
    now[here] = release[here] + 2
    played.work.append((begin, end))
    played.calls.append(("allreduce", "tp", arrival, release, 4 << 20))


def _empty(count: int) -> tuple[F64, F64]:
    return np.full(count, np.nan), np.full(count, np.nan)


def _together(arrival: F64, groups: I64, here: NDArray[np.bool_]) -> F64:
    latest = np.full(int(groups.max()) + 1, -np.inf)
    np.maximum.at(latest, groups[here], arrival[here])
    return latest[groups]


def draw(folder: Path, ranks: int, steps: int = STEPS) -> None:
    """Writes the traces of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    layout, rng = Layout.of(ranks), np.random.default_rng(7)
    played = [play(layout, step, rng) for step in range(steps)]
    for rank in range(ranks):
        name = f"node{rank // NODE:03d}_{4000 + rank}.{1_700_000_000_000}.pt.trace.json.gz"
        text = json.dumps(_trace(layout, played, rank), separators=(",", ":"))
        (folder / name).write_bytes(gzip.compress(text.encode(), 1))


def _groups(layout: Layout, rank: int) -> dict[str, list[int]]:
    found = {
        "tp": layout.members(layout.tensor, rank),
        "dp": layout.members(layout.data, rank),
        "world": list(range(layout.ranks)),
    }
    if layout.stages > 1:
        found["pp"] = layout.members(layout.pipeline, rank)
    return found


def _trace(layout: Layout, played: Sequence[Played], rank: int) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    groups = _groups(layout, rank)
    number, sequence = 1, dict.fromkeys(groups, 0)
    for step, one in enumerate(played):
        start = step * STEP_US
        events.append(_event("user_annotation", f"ProfilerStep#{step + 1}", 99, 1, start,
                             HOST_US, {}))  # fmt: skip
        items: list[tuple[float, str, Any]] = []
        items += [(begin[rank], "gemm", end[rank]) for begin, end in one.work
                  if not np.isnan(begin[rank])]  # fmt: skip
        items += [
            (call[2][rank], "call", call) for call in one.calls if not np.isnan(call[2][rank])
        ]
        for at, (when, what, more) in enumerate(sorted(items, key=lambda item: item[0])):
            number += 1
            issue = start + 2 + 3 * at
            args = {"External id": number, "correlation": number}
            if what == "gemm":
                events += _launched("aten::mm", "gemm", issue, start + when, more - when,
                                    (rank % NODE, 7), args, {})  # fmt: skip
                continue
            kind, group, _, release, size = more
            sequence[group] += 1
            kind, peer = _direction(layout, kind, rank, more)
            comms = _comms(kind, group, groups[group], size, sequence[group], rank, peer)
            kernel = "ncclDevKernel_SendRecv" if peer >= 0 else "ncclDevKernel_AllReduce_Sum_f32"
            events += _launched("record_param_comms", f"{kernel}_RING_LL(ncclDevKernelArgsStorage)",
                                issue, start + when, release[rank] - when, (rank % NODE, 20), args,
                                comms)  # fmt: skip
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": rank % NODE, "name": "NVIDIA H100", "numSms": 132,
                              "totalGlobalMem": 80 << 30, "computeMajor": 9, "computeMinor": 0}],
        "distributedInfo": {
            "backend": "nccl", "rank": rank, "world_size": layout.ranks, "pg_count": len(groups),
            "pg_config": [
                {"pg_name": name, "pg_desc": "undefined", "backend_config": "cuda:nccl",
                 "pg_size": len(ranks), "ranks": ranks}
                for name, ranks in groups.items()
            ],
        },
        "host_name": f"node{rank // NODE:03d}",
        "baseTimeNanoseconds": BASE_NS,
        "traceEvents": events,
    }  # fmt: skip


def _direction(layout: Layout, kind: str, rank: int, call: Any) -> tuple[str, int]:  # noqa: ANN401
    """A message as one end of it sees it: send or recv, and the other end; −1 of a collective."""
    if kind != "send":
        return kind, -1
    per_stage = layout.ranks // layout.stages
    both = np.flatnonzero(~np.isnan(call[2]))
    first = int(layout.stage[both].min())
    sends = int(layout.stage[rank]) == first
    return ("send", rank + per_stage) if sends else ("recv", rank - per_stage)


def _launched(
    op: str, kernel: str, issue: float, ts: float, dur: float, where: tuple[int, int],
    args: dict[str, Any], comms: dict[str, Any],
) -> list[dict[str, Any]]:  # fmt: skip
    place, stream = where
    device = {"device": place, "stream": stream, **args, **comms}
    return [
        _event("cpu_op", op, 99, 1, issue, 2, {"External id": args["External id"], **comms}),
        _event("cuda_runtime", "cudaLaunchKernel", 99, 1, issue + 0.5, 1, args),
        _event("kernel", kernel, place, stream, ts, dur, device),
    ]


def _event(
    category: str, name: str, pid: int, tid: int, ts: float, dur: float, args: dict[str, Any]
) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
            "ts": round(ts, 3), "dur": round(dur, 3), "args": args}  # fmt: skip


def _comms(
    kind: str, group: str, ranks: Sequence[int], size: int, sequence: int, rank: int, peer: int
) -> dict[str, Any]:
    said = {
        "Collective name": kind, "dtype": "Float", "In msg nelems": size // 4,
        "Out msg nelems": size // 4, "Group size": len(ranks), "Process Group Name": group,
        "Process Group Description": "undefined", "Rank": rank, "Seq": sequence,
        "Process Group Ranks": str(list(ranks)) if len(ranks) <= 30 else "[0, 1, ...]",
    }  # fmt: skip
    other = {"Dst Rank" if kind == "send" else "Src Rank": peer}
    return said | (other if peer >= 0 else {})


# --- measured -------------------------------------------------------------------------------------


def digested(folder: Path) -> float:
    """``kinetoscope ingest --cache beside``; CPU seconds of it and what it started."""
    command = [sys.executable, "-m", "kinetoscope", "ingest", str(folder), "--cache", "beside"]
    found = _measure.run(command)
    if found.exit_code:
        raise RuntimeError(found.output[-2000:])
    return found.cpu_seconds


def kept_bytes(folder: Path) -> tuple[float, float]:
    """Bytes of the summary and of the timing of a rank, in the mean."""
    entries = folder / BESIDE / "entries"
    sizes = [
        [file.stat().st_size for file in entries.glob(f"*/artifacts/{DIGEST.name}/{part}.msgpack")]
        for part in ("summary", "timing")
    ]
    summary, timing = (float(np.mean(one)) for one in sizes)
    return summary, timing


def answers(folder: Path) -> dict[str, float | str]:
    """First and later answers of the view: CPU seconds, bytes, peak memory, the first sentence."""
    subject = choose(str(folder)).session().asked(VIEW)
    assert isinstance(subject, Subject)
    # As a server keeps what it has opened.
    whole = subject.recordings
    assert isinstance(whole, CatalogRecordings)
    found = whole.gather([one.place for one in whole.workers()])
    kept = {place: _Opened(digest) for place, digest in found.opened.items()}
    recordings = msgspec.structs.replace(whole, open=kept.__getitem__)
    subject = msgspec.structs.replace(subject, recordings=recordings)
    took = []
    text, said = b"", ""
    for _ in range(4):
        before = time.process_time()
        answer: Any = VIEW.build(subject, DistributedQuery())
        text, said = msgspec.json.encode(answer), answer.headline
        took.append(time.process_time() - before)
    before = time.process_time()
    what_if.build(subject, WhatIfQuery(kind="rank", target=0))
    asked = time.process_time() - before
    return {
        "first": took[0], "warm": min(took[1:]), "what_if": asked, "json": float(len(text)),
        "gzip": float(len(gzip.compress(text, 6))), "said": said,
        "peak": float(_measure.high_water()),
    }  # fmt: skip


@dataclass(frozen=True)
class _Opened:
    """A recording whose digest is open."""

    digest: Any

    def seen_by(self, view: View) -> Subject:
        raise NotImplementedError(view.stem)

    def artifact(self, spec: ArtifactSpec[Any], variant: str = "") -> Any:  # noqa: ANN401, ARG002
        return self.digest


HEAD = (
    "| ranks | kept per rank and step | of it summary | digesting, CPU | first answer, CPU |"
    " warm answer, CPU | what if, CPU | answer (gzip) | memory | says |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def row(ranks: int, folder: Path, cpu: float, steps: int) -> str:
    """One line of the table."""
    command = [sys.executable, "-m", "benchmarks.many_ranks", "--answers", str(folder)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    summary, timing = kept_bytes(folder)
    return (
        f"| {ranks:,} | {(summary + timing) / steps / 1024:.2f} KiB"
        f" | {summary / steps / 1024:.2f} KiB | {cpu:.0f} s | {found['first']:.2f} s"
        f" | {found['warm']:.2f} s | {found['what_if']:.2f} s"
        f" | {found['json'] / 1e6:.1f} MB ({found['gzip'] / 1e3:.0f} kB)"
        f" | {found['peak'] / 1e6:.0f} MB | {found['said']} |"
    )


@click.command()
@click.argument("ranks", nargs=-1, type=click.IntRange(min=8))
@click.option("--steps", default=STEPS, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), help="Leave the traces in this folder.")
@click.option("--answers", "asked", type=click.Path(path_type=Path), hidden=True)
def main(ranks: tuple[int, ...], steps: int, keep: Path | None, asked: Path | None) -> None:
    """Draws runs of so many RANKS, digests them and measures the view over each."""
    if asked is not None:
        click.echo(json.dumps(answers(asked)))
        return
    click.echo(HEAD)
    for count in ranks:
        with tempfile.TemporaryDirectory() as scratch:
            folder = (keep or Path(scratch)) / f"drawn_{count}"
            if not folder.exists():
                draw(folder, count, steps)
            click.echo(row(count, folder, digested(folder), steps))


if __name__ == "__main__":
    main()
