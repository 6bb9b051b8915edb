"""Drawn jobs of several ranks, compared: digests, matches, clocks, waits, verdicts, all of it.

python -m tests.analysis.distributed.test_whole_answers
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from benchmarks.drawn_jobs import FAULTS, SHAPES, JobPlan, traces

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.findings import among_ranks, findings, mean_step_ns
from kinetoscope.analysis.distributed.hang import explain_hang
from kinetoscope.analysis.distributed.lateness.what_if import Edit, what_if
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.pictures import operations
from kinetoscope.analysis.distributed.rank.digest import (
    decode,
    digest_of,
    encode,
    shortest_transfers,
)
from kinetoscope.trace.pickles.flight_recorder import logs_below, read_log
from kinetoscope.trace.read import read
from tests.golden import holds, plain, write
from tests.trace.pickles.drawn_logs import dump, inspected, write_dumps

TABLE = Path(__file__).with_name("whole_answers.txt")
Documents = list[dict[str, Any]]
KINDS = [(back_end, shape) for back_end, shapes in SHAPES.items() for shape in shapes]


# --- what is wrong with a set of recordings -------------------------------------------------------


def _plain(found: Documents) -> Documents:
    return found


def _without_a_rank(found: Documents) -> Documents:
    return [found[0], *found[2:]]


def _one_twice(found: Documents) -> Documents:
    return [*found, found[-1]]


def _unnumbered(found: Documents) -> Documents:
    for one in found[1:]:
        del one["distributedInfo"]["rank"]
    return found


def _without_groups(found: Documents) -> Documents:
    for one in found:
        del one["distributedInfo"]["pg_config"]
        for event in one["traceEvents"]:
            for key in ("Process Group Name", "Process Group Ranks", "Process Group Description"):
                event["args"].pop(key, None)
    return found


def _begins_later(found: Documents) -> Documents:
    """The last rank lacks its first step, the first its last."""
    for one, last in ((found[-1], False), (found[0], True)):
        steps = [e for e in one["traceEvents"] if e["name"].startswith("ProfilerStep")]
        cut = steps[-1]["ts"] if last else steps[0]["ts"] + steps[0]["dur"]
        one["traceEvents"] = [e for e in one["traceEvents"] if (e["ts"] < cut) == last]
    return found


def _hour_apart(found: Documents) -> Documents:
    found[-1]["baseTimeNanoseconds"] += 3_600_000_000_000
    return found


def _own_hosts(found: Documents) -> Documents:
    for at, one in enumerate(found):
        one["host_name"] = f"host{at}"
    return found


def _without_steps(found: Documents) -> Documents:
    for one in found:
        one["traceEvents"] = [
            e for e in one["traceEvents"] if not e["name"].startswith("ProfilerStep")
        ]
    return found


def _without_sizes(found: Documents) -> Documents:
    for one in found:
        for event in one["traceEvents"]:
            for key in ("In msg nelems", "Out msg nelems", "dtype", "Input Dims", "Input type"):
                event["args"].pop(key, None)
    return found


def _a_call_more(found: Documents) -> Documents:
    """One rank lacks a collective in the middle."""
    events = found[0]["traceEvents"]
    calls = [e for e in events if e["name"] == "record_param_comms" or e["name"][:6] == "c10d::"]
    gone = calls[len(calls) // 2]
    number = gone["args"].get("External id")
    found[0]["traceEvents"] = [
        e for e in events
        if e is not gone and (number is None or e["args"].get("External id") != number)
    ]  # fmt: skip
    return found


def _coarse(found: Documents) -> Documents:
    """Times in whole tens of µs: much ties."""
    for one in found:
        for event in one["traceEvents"]:
            end = event["ts"] + event["dur"]
            event["ts"] = event["ts"] // 10 * 10
            event["dur"] = max(0, end // 10 * 10 - event["ts"])
    return found


def _with_frames(found: Documents) -> Documents:
    """Python frames around ops: lines are named."""
    for one in found:
        ops = [e for e in one["traceEvents"] if e["cat"] == "cpu_op"]
        one["traceEvents"] += [
            {"ph": "X", "cat": "python_function", "name": f"train.py({len(e['name'])}): step",
             "pid": 99, "tid": 1, "ts": e["ts"] - 1, "dur": e["dur"] + 2, "args": {}}
            for e in ops[::3]
        ]  # fmt: skip
    return found


def _unequal_sizes(found: Documents) -> Documents:
    """Ranks send unequal parts."""
    random = Random(4)
    for one in found:
        for event in one["traceEvents"]:
            if "In msg nelems" in event["args"]:
                event["args"]["In msg nelems"] = random.choice((1, 64, 4096, 300_000))
                event["args"]["dtype"] = random.choice(("Float", "BFloat16", "Byte"))
    return found


def _alone(found: Documents) -> Documents:
    return found[:1]


def _other_world(found: Documents) -> Documents:
    found[0]["distributedInfo"]["world_size"] += 3
    return found


SETS: Sequence[Callable[[Documents], Documents]] = (
    _plain, _without_a_rank, _one_twice, _unnumbered, _without_groups, _begins_later, _hour_apart,
    _own_hosts, _without_steps, _without_sizes, _a_call_more, _coarse, _with_frames,
    _unequal_sizes, _alone, _other_world,
)  # fmt: skip


# --- what is asked --------------------------------------------------------------------------------


@cache
def digests(plan: JobPlan, edit: Callable[[Documents], Documents]) -> tuple[RankDigest, ...]:
    """What is kept of each recording."""
    found = []
    with TemporaryDirectory() as folder:
        for number, one in enumerate(edit(traces(plan))):
            file = Path(folder, f"rank{number}.pt.trace.json")
            file.write_text(json.dumps(one))
            found.append(digest_of(read(file)))
    return tuple(found)


def told(run: Comparison) -> dict[str, Any]:
    """All that is said of ranks together."""
    found = {name: getattr(run, name) for name in Comparison.__struct_fields__ if name != "digests"}
    steps = np.arange(len(run.step_numbers))
    fastest = [shortest_transfers(one.calls) for one in run.digests]
    edits = [Edit("input"), Edit("ranks", (0,))]
    edits += [Edit("ranks", run.verdict.members)] * bool(run.verdict.members)
    edits += [Edit("transfers", group=at) for at in range(min(2, len(run.groups)))]
    return {
        **found,
        "findings": findings(run),
        "among": [among_ranks(run, row) for row in range(len(run.digests))],
        "mean step": mean_step_ns(run),
        "what if": [what_if(run, one) for one in edits],
        "operations": [
            operations(run.digests, run.groups, run.matches, run.bandwidth, fastest, members, some)
            for members in (range(len(run.digests)), [0])
            for some in (steps, steps[1:])
        ],
    }


def answers(plan: JobPlan, edit: Callable[[Documents], Documents]) -> Mapping[str, Any]:
    """The digests of the recordings, and what they say together."""
    found = digests(plan, edit)
    again = [decode(*encode(one)) for one in found]
    run = compare(again, [f"rank{at}" for at in range(len(found))])
    return {"digests": [_without_strings(one) for one in found], **told(run)}


def _without_strings(one: RankDigest) -> dict[str, Any]:
    return {name: getattr(one, name) for name in RankDigest.__struct_fields__}


def hangs(first: int) -> Mapping[str, Any]:
    """What ten sets of logs say: ranks that stopped, that differ, that wrote none or a part."""
    return {f"{seed}": _hang(Random(seed)) for seed in range(first, first + 10)}


def _hang(random: Random) -> Mapping[str, Any]:
    ranks = random.randint(2, 5)
    groups = {"world": range(ranks), "pair": sorted(random.sample(range(ranks), 2))}
    last = {name: random.randint(2, 4) for name in groups}
    texts: list[str | None] = []
    for rank in range(ranks):
        words = []
        for name, members in groups.items():
            if rank in members:
                behind = random.choice((0, 0, 0, 0, 1, 2))
                words.append(name)
                words += [f"{at}" for at in range(1, last[name] - behind)]
                odd = random.choice(("", "", "", "", ":all_gather", "[9]", ":send->1"))
                words.append(f"{last[name] - behind}{odd}{random.choice(('|', '|', ''))}")
        texts.append(" ".join(words) if random.random() < 0.9 else None)
    with TemporaryDirectory() as folder:
        place = write_dumps(Path(folder), *texts, groups=groups)
        for rank in range(ranks):
            log = place / f"nccl_trace_rank_{rank}"
            counted, what = random.random(), random.random()
            if log.exists() and counted < 0.3:
                told = dump(texts[rank] or "", groups)
                told["pg_status"] = {
                    "0": {"last_enqueued_collective": last["world"] + random.randint(-1, 1),
                          "last_started_collective": last["world"],
                          "last_completed_collective": last["world"] - random.randint(0, 1)}
                }  # fmt: skip
                log.write_bytes(pickle.dumps(told, protocol=2))
            if log.exists() and what < 0.1:
                log.unlink()
                (place / f"node0-pid{rank}.log").write_text(inspected(rank, ranks, last["world"]))
        logs = [log for file in logs_below(place) for log in read_log(file)]
        report = plain(explain_hang(logs))
    for group in report["groups"]:
        for member in group["members"]:
            member["log"] = member["log"]["rank"]
    for one in report["stuck"]:
        one["group"] = one["group"]["label"]
    return {"written": texts, **report}


def plan_of(at: int, jitter: float) -> JobPlan:
    """Shapes and faults in turns, with as few ranks as they need."""
    back_end, shape = KINDS[at % len(KINDS)]
    fault = FAULTS[(3 * at + at // len(KINDS)) % (len(FAULTS) - 2)]
    ranks = 4 if shape in ("tensor", "stages") or fault == "two" else 2 + at % 2
    if fault == "node" and shape == "stages":
        fault = "two"
    if fault == "node":
        ranks = 8 if shape == "ddp" else 4
    node = tuple(range(4, 8)) if ranks == 8 else (1,)
    late = {"none": (), "two": (1, 2), "node": node}.get(fault, (at % 2,))
    steps = {"onset": 7, "short": 2, "third": 6}.get(fault, 3)
    size = (0.03, 0.12, 0.3, 0.5)[at % 4]
    return JobPlan(back_end, shape, fault, ranks, steps, late, size, jitter, 500 + at)


SIZES = (0.01, 0.018, 0.025, 0.032, 0.045, 0.07, 0.095, 0.105, 0.13, 0.16, 0.19)


def sweep(back_end: str, shape: str, fault: str) -> Mapping[str, Any]:
    """Who is named as one rank, or two of four, take longer and longer."""
    found = {}
    for at, size in enumerate(SIZES):
        ranks = 4 if shape == "tensor" or fault == "two" else 3
        late = (1, 2) if fault == "two" else (at % ranks,)
        steps = {"onset": 6, "third": 6}.get(fault, 3)
        plan = JobPlan(back_end, shape, fault, ranks, steps, late, size, 0.002, 900 + at)
        some = digests(plan, _plain)
        run = compare(some, [f"rank{m}" for m in range(ranks)])
        found[f"{size}"] = (run.verdict, findings(run), among_ranks(run, 0))
    return found


CASES = {
    **{
        f"job {at}": partial(answers, plan_of(at, (0.003, 0.03, 0.2)[at % 3]), _plain)
        for at in range(26)
    },
    **{
        f"job {at}, {edit.__name__.strip('_').replace('_', ' ')}": partial(
            answers, plan_of(at, 0.01), edit
        )
        for at, edit in [(n, one) for n, one in enumerate(SETS)]
    },
    **{
        f"sweep {back_end} {shape} {fault}": partial(sweep, back_end, shape, fault)
        for back_end, shape, fault in (
            ("gloo", "broadcast", "backward"),
            ("gloo", "ddp", "work"),
            ("nccl", "fsdp", "backward"),
            ("nccl", "ddp", "data"),
            ("nccl", "groups", "onset"),
            ("gloo", "groups", "third"),
            ("nccl", "ddp", "two"),
        )
    },
    **{f"hangs {first}": partial(hangs, first) for first in range(0, 150, 10)},
}


NAMES = [*CASES]


@pytest.mark.parametrize("case", NAMES[0:26:3])
def test_no_figure_of_a_steady_job_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", NAMES[1:26:3])
def test_no_figure_of_a_job_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", NAMES[2:26:3])
def test_no_figure_of_a_job_with_much_jitter_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", [one for one in NAMES if one.startswith("sweep")])
def test_no_verdict_moves_as_a_rank_gets_slower(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", [one for one in NAMES if one.startswith("hangs")])
def test_no_word_on_a_hang_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", NAMES[26:42])
def test_no_figure_of_an_odd_set_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


if __name__ == "__main__":
    write(CASES)
