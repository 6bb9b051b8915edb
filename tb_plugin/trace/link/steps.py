"""Where are the steps of a run?

1. ``ProfilerStep#N``, which torch writes when the profiler has a schedule;
2. else the iterations of an inference engine (``iterations``), or of a loop that generates text;
3. else the steadiest family of annotations: at least three on one thread that do not overlap and
   cover half of the host's time, such as ``Iteration 12``;
4. else the whole trace is one step, and ``source`` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import (
    I32,
    I64,
    chunks,
    distinct_values,
    equal,
    is_any,
    last_end,
    median,
    take,
    where,
    where_code,
)
from ...base.intervals import holds, union
from ...base.regex import regex
from ..build.host import Host
from ..model import HostKind, HostTable, StepTable
from ..raw import Texts
from .iterations import GPT_FAST, Iteration, read_name

PROFILER_STEP = regex(r"ProfilerStep\s*#\s*(\d{1,18})$")

# Annotations that repeat within a step, or are one part of it.
_NOT_STEPS = (
    "enumerate(DataLoader)",
    "Optimizer.",
    "nccl:",
    "gloo:",
    "mpi:",
    "ucc:",
    "xccl:",
    "hccl:",
    "c10d::",
    "##",
    "[module]",
    "[pl][module]",
)
_VARIABLE = regex(r"\([^()]*\)|\[[^\[\]]*\]|\d+")
_FEWEST = 16  # rows of a thread in a step
MIN_STEPS = 3
MIN_COVERAGE = 0.5


class _Family(Struct, frozen=True):
    name: str
    rows: I32
    score: float


def find_steps(texts: Texts, host: Host) -> StepTable | None:
    """The steps that annotations mark, None where none does; no text is added."""
    numbered = texts.table(host.names, _step_number, np.int64)
    if numbered.any():
        rows = where_code(host.name, numbered > 0)
        marked = is_any(host.kind[rows], (HostKind.ANNOTATION, HostKind.OP))
        rows = _of_one_thread(host, rows[marked])
        if len(rows):
            number = numbered[host.name[rows]] - 1
            return _table(host, rows, number, "profiler_step", "ProfilerStep")
    engine = _engine_steps(texts, host)
    if engine is not None:
        return engine
    best = _best_family(texts, host)
    if best is not None:
        number = np.arange(len(best.rows), dtype=np.int64)
        return _table(host, best.rows, number, "annotation", best.name)
    return None


def _engine_steps(texts: Texts, host: Host) -> StepTable | None:
    """The iterations of an inference engine as steps, by their own numbers where these ascend."""
    rows = where(equal(host.kind, HostKind.ANNOTATION))
    text = texts.__getitem__
    found = find_iterations(text, host.name, host.thread, host.ts, host.dur, rows)
    found = found or find_forwards(text, host)
    if found is None:
        return None
    number = np.arange(len(found.rows), dtype=np.int64)
    written = [one.number for one in found.told if one.number is not None]
    if len(written) == len(number) and all(a < b for a, b in pairwise(written)):
        number = np.array(written, np.int64)
    return _table(host, found.rows, number, "iteration", found.told[0].engine)


class FoundIterations(Struct, frozen=True, eq=False):
    """The iterations of one thread in order of time; ranges do not overlap."""

    rows: I32  # of the host table: the outermost range
    told: tuple[Iteration, ...]


def find_iterations(
    text: Callable[[int], str], name: I32, thread: I32, ts: I64, dur: I64, rows: I32
) -> FoundIterations | None:
    """The iterations among the host's annotations (``rows``); None: there are none.

    Those of the thread with most of them. The outermost range counts. Of the ranges in it, that of
    the least rank describes it. Stages count where nothing better stands in the recording.
    """
    told = {code: read_name(text(code)) for code in sorted(set(name[rows].tolist()))}
    marks = [(row, one) for row in rows.tolist() if (one := told[int(name[row])]) is not None]
    for role in ("iteration", "stage"):
        threads: dict[int, list[tuple[int, Iteration]]] = {}
        for row, one in marks:
            if one.role == role:
                threads.setdefault(int(thread[row]), []).append((row, one))
        every = [_outermost(mine, ts, dur) for mine in threads.values()]
        if every:
            best = max(every, key=len)
            return FoundIterations(
                np.array([row for row, _ in best], np.int32), tuple(one for _, one in best)
            )
    return None


_GENERATES = regex(
    r"(?:^|/)(?:(transformers)/generation/\w+|(megatron)/(?:core/)?inference/[\w/]+|generate)"
    r"\.py\(\d+\): (?:generate\w*|prefill|decode_one_token)$"
)
_LOOPS = {"transformers": "Hugging Face", "megatron": "Megatron"}


def find_forwards(text: Callable[[int], str], host: Host | HostTable) -> FoundIterations | None:
    """The calls of the model within a loop that generates text, where a recording has stacks.

    Those loops mark nothing. Of the outermost modules within their frames those of one name count,
    which take most time. Their names tell no phase.
    """
    frames = where(equal(host.kind, HostKind.PYTHON))
    codes = distinct_values(take(host.name, frames)).tolist()
    engines = {code: found for code in codes if (found := _GENERATES.search(text(code)))}
    frames = frames[is_any(take(host.name, frames), list(engines))]
    modules = where(equal(host.kind, HostKind.MODULE))
    if not len(frames) or not len(modules):
        return None
    thread = int(host.thread[frames[0]])
    frames = frames[host.thread[frames] == thread]
    modules = modules[host.thread[modules] == thread]
    loops = union(host.ts[frames], host.ts[frames] + host.dur[frames])
    modules = modules[holds(loops, host.ts[modules])]
    end = host.ts[modules] + host.dur[modules]
    before = np.maximum.accumulate(np.concatenate([np.zeros(1, np.int64), end]))[:-1]
    modules = modules[host.ts[modules] >= before]
    if not len(modules):
        return None
    spent = np.bincount(host.name[modules], host.dur[modules])
    modules = modules[host.name[modules] == spent.argmax()]
    known = engines[int(host.name[frames[0]])]
    engine = _LOOPS.get(known[1] or known[2] or "", GPT_FAST)
    return FoundIterations(modules.astype(np.int32), (Iteration(engine, 3),) * len(modules))


def _outermost(
    marks: Sequence[tuple[int, Iteration]], ts: I64, dur: I64
) -> list[tuple[int, Iteration]]:
    """Ranges that lie in no other, each with the best description in it."""
    found: list[tuple[int, Iteration]] = []
    end = -1
    for row, one in sorted(marks, key=lambda mark: (int(ts[mark[0]]), -int(dur[mark[0]]))):
        if ts[row] < end:
            outer, best = found[-1]
            # Builds of other engines write forms of vLLM beside their own.
            engine = best.engine if best.engine != "vLLM" else one.engine
            found[-1] = (outer, replace(one if one.rank < best.rank else best, engine=engine))
            continue
        found.append((row, one))
        end = int(ts[row] + dur[row])
    return found


def whole_trace(texts: Texts, end_ns: int) -> StepTable:
    """All of a trace that ends at ``end_ns`` as one step."""
    return StepTable(
        number=np.zeros(1, np.int64),
        name=np.array([texts.code("whole trace")], np.int32),
        ts=np.zeros(1, np.int64),
        end=np.array([end_ns], np.int64),
        host=np.full(1, -1, np.int32),
        source="whole_trace",
        family="",
    )


def step_at(steps: StepTable, at: I64) -> I32:
    """The step whose range holds an instant, −1 between steps; the later one where two overlap."""
    if steps.source == "whole_trace":
        return np.zeros(len(at), np.int32)
    index = np.empty(len(at), np.int32)
    for part in chunks(len(at)):
        found = np.searchsorted(steps.ts, at[part], side="right") - 1
        # Where it is −1 it reads the last step, and stays −1.
        found[at[part] >= steps.end[found]] = -1
        index[part] = found
    return index


def step_of_rows(steps: StepTable, host: Host) -> I32:
    """``step_at`` of all host rows, which are in order of time on each thread.

    steps           0 ▓▓▓▓▓▓▓▓    1 ▓▓▓▓▓▓▓
    rows            · 0  0   0  ·   1   1    ·     only where steps begin and end is looked for
    """
    if steps.source == "whole_trace" or len(host) < _FEWEST * len(steps) * len(host.threads):
        return step_at(steps, host.ts)
    result = np.full(len(host), -1, np.int32)
    # The later of two that overlap: a step ends for good where the next one begins.
    last = np.append(np.minimum(steps.end[:-1], steps.ts[1:]), steps.end[-1:])
    for low, high in pairwise(host.first.tolist()):
        ts = host.ts[low:high]
        begin, end = np.searchsorted(ts, steps.ts), np.searchsorted(ts, last)
        for step, (first, behind) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
            result[low + first : low + behind] = step
    return result


def _step_number(name: str) -> int:
    """1 + N of ``ProfilerStep#N``, else 0, the value of texts that tables by text leave out."""
    match = PROFILER_STEP.match(name)
    return int(match[1]) + 1 if match else 0


def _of_one_thread(host: Host, rows: I32) -> I32:
    """Steps of the thread that has most of them: several threads may show the same steps."""
    if not len(rows):
        return rows
    thread = host.thread[rows]
    rows = rows[thread == np.bincount(thread).argmax()]
    rows = rows[np.argsort(host.ts[rows], kind="stable")]
    # A row written twice is one step.
    name, ts, end = host.name[rows], host.ts[rows], host.end_of(rows)
    again = np.zeros(len(rows), bool)
    again[1:] = (name[1:] == name[:-1]) & (ts[1:] == ts[:-1]) & (end[1:] == end[:-1])
    return rows[~again]


def _table(host: Host, rows: I32, number: I64, source: str, family: str) -> StepTable:
    return StepTable(
        number=number,
        name=host.name[rows],
        ts=host.ts[rows],
        end=host.end_of(rows),
        host=rows,
        source=source,
        family=family,
    )


def family_name(name: str) -> str:
    """A name without the parts that vary between calls: digits and text in brackets.

    >>> family_name("execute_32_context_0(sq0)_generation_32(sq32)")
    'execute__context__generation_'
    """
    while (shorter := _VARIABLE.sub("", name)) != name:
        name = shorter
    return name.strip()


def _best_family(texts: Texts, host: Host) -> _Family | None:
    rows = where(equal(host.kind, HostKind.ANNOTATION))
    if len(rows) < MIN_STEPS:
        return None
    names: dict[str, int] = {}
    families = texts.table(
        host.name[rows],
        lambda text: (
            0
            if text.startswith(_NOT_STEPS)
            else names.setdefault(family_name(text), len(names) + 1)
        ),
        np.int32,
    )[host.name[rows]]
    span = last_end(host.ts, host.dur) - int(host.ts.min())
    found: list[_Family] = []
    order = np.argsort(families, kind="stable")
    limits = np.searchsorted(families[order], np.arange(1, len(names) + 2))
    for family, name in enumerate(names):
        mine = rows[order[limits[family] : limits[family + 1]]]
        if len(mine) < MIN_STEPS or len(distinct_values(host.thread[mine])) > 1:
            # What runs on several threads at once, as requests of a server do, is no sequence.
            continue
        mine = _of_one_thread(host, mine)
        score = _score(host, mine, span)
        if score > 0:
            found.append(_Family(name, mine, score))
    return max(found, key=lambda family: family.score, default=None)


def _score(host: Host, rows: I32, span: int) -> float:
    """Coverage times regularity; 0 for names that cannot be steps."""
    ts, end = host.ts[rows], host.end_of(rows)
    if len(rows) < MIN_STEPS or (end[:-1] > ts[1:]).any():
        return 0.0
    dur = end - ts
    coverage = float(dur.sum()) / max(span, 1)
    middle = median(dur)
    if coverage < MIN_COVERAGE or middle <= 0:
        return 0.0
    spread = median(np.abs(dur - middle)) / middle
    return coverage * max(1.0 - spread, 0.01)
