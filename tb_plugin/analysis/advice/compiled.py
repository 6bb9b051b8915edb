"""Does compiled code do what it is compiled for? Compilation in the steps, breaks, graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...base.arrays import (
    I64,
    distinct,
    distinct_values,
    is_among,
    matches,
    of_names,
    take,
    where_code,
)
from ...base.intervals import subtract, union
from ...base.regex import regex
from ...base.units import plural
from ...trace.model import Trace
from ..findings import Evidence, Reference
from ..host_activity import HostRole
from ..kernel_families import family_of
from ..steps import Selection
from ..user_code import MOST_FRAMES, DeviceCode, Found, HostCode, of_code
from ..wording import step_noun
from .claims import Seen, count_of, often, on_host, on_kernels, part_of_step, spent_by, wasted
from .launches import CAN_BE_COMPILED, SERVES
from .rule import (
    COMPILE_DOCS,
    COMPUTES,
    DEVICE_ACTIVITY,
    GRAPH_DOCS,
    HOST_RANGES,
    OPS,
    TIME,
    TORCH_2_4,
    WHOLE,
    Advice,
    Threshold,
    is_older,
    pattern_rule,
)

_COMPILER_DOCS = "https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html"


def _logs(selection: Selection, since: str = "2.1") -> str:
    """From which version on there is such a log, where the recording may be of an older one."""
    return f" (torch {since} or later)" if is_older(selection, TORCH_2_4) else ""


_COMPILE_ID = regex(r"compile_id=(\d+)/(\d+)")


@on_host(hides_python=True)
def find_compilation(code: HostCode) -> Iterator[Found]:
    """Compilation, with the frame that was running when it began."""
    mask = code.role(HostRole.COMPILE) & ~code.hosts.marker[code.low : code.high]
    rows = code.outermost(np.flatnonzero(mask))
    if not len(rows):
        return
    size = len(code.trace.strings)
    ids = {
        (int(match[1]), int(match[2]))
        for text in {code.trace.strings[one] for one in distinct(code.name, size).tolist()}
        if (match := _COMPILE_ID.search(text))
    }
    again = sum(version > 0 for _, version in ids)
    for frame, mine in code.by_owner(rows, code.dur[rows], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        figures = {"again": float(again), "frames": float(len({one for one, _ in ids}))}
        yield Found("compiling", name, code.time(mine), code.host_rows(mine), frame, figures)


@pattern_rule(
    "CP1",
    "Compilation in the steps",
    (TIME, WHOLE, HOST_RANGES),
    "compiling",
    Threshold("compile_ratio", 0.01, "compilation in the steps"),
    answers=("compile_ns", "idle_compile_ns"),
)
def compiling(selection: Selection, seen: Seen) -> Advice:
    """Compilation takes more than {compile_ratio} of the steps.

    Versions after the first are said.

    Ceiling: time in the compiler.
    """
    again = int(max(one.figure("again") for one in seen))
    where = f"; `{seen[0].frame}` called it" if seen[0].frame else ""
    if again:
        said = (
            f"Compilation takes {spent_by(selection, seen)}. {plural(again, 'version')} of code "
            f"that was compiled before {'are' if again > 1 else 'is'} compiled again{where}."
        )
        action = (
            "Shapes or values change from call to call: mark what changes as dynamic, or pad to a "
            f"few sizes. `TORCH_LOGS=recompiles`{_logs(selection)} names the guard that failed."
        )
        snippet = (
            "model = torch.compile(model, dynamic=True)\n# or: torch._dynamo.mark_dynamic(x, 0)"
        )
    else:
        times = plural(count_of(seen), "time")
        said = f"Compilation takes {spent_by(selection, seen)}, {times}{where}."
        action = "Code is compiled when it first runs: run some steps before the recording starts."
        snippet = "schedule=torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1)"
    return Advice(
        title=f"Code is compiled {'again ' if again else ''}in the steps",
        said=said,
        action=action,
        snippet=snippet,
        method="time in the compiler",
        headline="Compilation takes {part}.",
        confidence=0.95,
        evidence=(Evidence("versions compiled again", float(again), "count", 0),),
        verify=f"Record again: no compilation in the {step_noun(selection.facts)}.",
        links=(Reference("Why code is compiled again", url=_COMPILER_DOCS),),
    )


_REGION = of_code(r"^Torch-Compiled Region\b")
_IN_GRAPH = of_code(r"^(## Call CompiledFxGraph|CompiledFunction$)")
_RESUMES = of_code(r": torch_dynamo_resume_in_\w+$")


@on_host()
def find_graph_breaks(code: HostCode) -> Iterator[Found]:
    """Compiled functions that go on in another graph, and their time outside of all graphs.

    What follows a break is compiled as a function of its own, whose region lies in the first one.
    Back ends that mark no graph leave nothing to tell the two apart.
    """
    regions = code.named(_REGION)
    outer = code.outermost(regions)
    inner = regions[~is_among(regions, outer)]
    if not len(inner):
        return
    broken = outer[
        [bool(((inner > row) & (code.ts[inner] < code.end[row])).any()) for row in outer]
    ]
    time = code.time(broken)
    graphs = code.within(code.named(_IN_GRAPH), time)
    if not len(graphs):
        return
    time = subtract(subtract(time, code.time(graphs)), code.time_where(code.role(HostRole.COMPILE)))
    resumed = code.named(_RESUMES)
    resumed = resumed[code.frame[resumed]]
    where = code.by_owner(resumed, code.dur[resumed], 1)
    name = code.trace.strings[int(code.name[inner[0]])]
    yield Found("graph_breaks", name, time, code.host_rows(inner), where[0][0] if where else "")


@pattern_rule(
    "CP2",
    "Compiled functions that leave their graphs",
    (TIME, WHOLE, OPS),
    "graph_breaks",
    Threshold("graph_break_ratio", 0.05, "compiled functions outside of their graphs"),
    answers=("forward_ns", "python_ns", "idle_dispatch_ns", "idle_python_ns"),
)
def graph_breaks(selection: Selection, seen: Seen) -> Advice:
    """Compiled functions spend more than {graph_break_ratio} outside of their graphs, after breaks.

    What follows a break is a region inside the first one. A back end must mark its graphs for
    that (Inductor, AOT).

    Ceiling: that time.
    """
    return Advice(
        title=f"Compiled functions leave their graphs{seen[0].place}",
        said=(
            f"Compiled functions go on in another graph {often(selection, count_of(seen))}"
            f"{seen[0].place}. Outside of graphs, in ops one by one and in Python, they spend "
            f"{spent_by(selection, seen)}."
        ),
        action=(
            "Keep printing, `.item()` and calls that cannot be traced out of compiled functions. "
            f"`TORCH_LOGS=graph_breaks`{_logs(selection)} names each line and its reason."
        ),
        snippet="model = torch.compile(model, fullgraph=True)  # fails at the first break",
        method="time of these compiled functions outside of their graphs",
        confidence=0.7,
        verify="Record again: no compiled region lies in another one.",
        links=(Reference("Why a function leaves its graph", url=_COMPILER_DOCS),),
    )


_COMPILED = regex(r"^(Torch-Compiled Region\b|CompiledFunctionBackward$)")
_REPLAYS = regex(r"^(cuda|cu|hip)GraphLaunch")
LEAST_LAUNCHES = 20  # kernels of one call of a compiled function, that a graph would replay


@on_host()
def find_not_replayed(code: HostCode) -> Iterator[Found]:
    """Compiled functions of any thread that launch many kernels one by one, where others replay.

    A function that replays in another call of this recording is only warming up.
    """
    host, device, strings = code.trace.host, code.trace.device, code.trace.strings
    compiled = code.hosts.ask_names(lambda name: _COMPILED.search(name) is not None, np.bool_)
    if not compiled.any():
        return
    regions = where_code(host.name, compiled).astype(np.int64)
    calls = distinct_values(device.launch[device.launch >= 0]).astype(np.int64)
    if not len(calls):
        return
    replays = calls[matches(strings, host.name[calls], _REPLAYS)]
    replayed, single = (_launched(code.trace, regions, some) for some in (replays, calls))
    warm = distinct_values(host.name[regions[replayed > 0]])
    chosen = (single >= LEAST_LAUNCHES) & ~is_among(host.name[regions], warm)
    if not len(warm) or not chosen.any():
        return
    rows = regions[chosen]
    inside = rows[(rows >= code.low) & (rows < code.high)] - code.low
    where = code.by_owner(inside, code.dur[inside], 1)
    yield Found(
        "not_replayed",
        strings[int(host.name[rows[np.argmax(host.dur[rows])]])],
        union(host.ts[rows], host.ts[rows] + host.dur[rows]),
        rows,
        where[0][0] if where else "",
        {"launches": float(single[chosen].mean())},
    )


def _launched(trace: Trace, ranges: I64, calls: I64) -> I64:
    """Number of calls that begin within each range, on its own thread."""
    host = trace.host
    found = np.zeros(len(ranges), np.int64)
    for thread in distinct_values(host.thread[ranges]).tolist():
        mine = np.flatnonzero(host.thread[ranges] == thread)
        ts = np.sort(host.ts[calls[host.thread[calls] == thread]])
        start = host.ts[ranges[mine]]
        end = start + host.dur[ranges[mine]]
        found[mine] = np.searchsorted(ts, end) - np.searchsorted(ts, start)
    return found


@pattern_rule(
    "CP3",
    "Compiled functions that launch kernel by kernel",
    (TIME, WHOLE, OPS, DEVICE_ACTIVITY),
    "not_replayed",
    Threshold("not_replayed_ratio", 0.03, "idle time under compiled functions without a graph"),
    answers=("idle_launch_ns", "idle_dispatch_ns"),
)
def not_replayed(selection: Selection, seen: Seen) -> Advice:
    """A device idles for more than {not_replayed_ratio} in compiled functions that replay no graph.

    Each launches 20 kernels or more one by one, none of its calls replays a graph, and other
    compiled functions of the recording do.

    Ceiling: that idle time.
    """
    return Advice(
        title=f"Some compiled functions replay no graph{seen[0].place}",
        said=(
            f"`{seen[0].pattern.name}` and the like launch {seen[0].figure('launches'):,.0f} "
            f"kernels one by one in a call{seen[0].place}, where other compiled functions of this "
            f"recording replay a graph. They take {spent_by(selection, seen)}."
        ),
        action=(
            "Find out why no graph is made of them: inputs on the host, changing shapes, or inputs "
            f"that are written to. `TORCH_LOGS=cudagraphs`{_logs(selection, '2.4')} says the "
            "reason."
        ),
        method="idle time of the device during these functions",
        confidence=0.6,
        verify="Record again: each compiled function launches one graph.",
        links=(Reference("When a graph is not replayed", url=GRAPH_DOCS),),
    )


@on_kernels
def find_fusible(one: DeviceCode) -> Iterator[Found]:
    """Element-wise kernels that follow one another on a stream.

    Joined, a row of them reads and writes memory once: it takes as long as the longest.
    """
    device, strings = one.trace.device, one.trace.strings
    plain = of_names(strings, take(device.name, one.rows), _is_elementwise, np.bool_)
    stream = take(device.stream, one.rows)
    follows = np.zeros(len(one.rows), np.bool_)
    follows[1:] = plain[1:] & plain[:-1] & (stream[1:] == stream[:-1])
    number = np.cumsum(~follows)
    rows = plain & (np.bincount(number)[number] > 1)
    if not rows.any():
        return
    number, dur = number[rows], take(device.dur, one.rows[rows])
    longest = np.zeros(int(number.max()) + 1, np.int64)
    np.maximum.at(longest, number, dur)
    spent = int(dur.sum())
    yield one.found("fusible", one.rows[rows], part=float(spent - longest.sum()) / max(spent, 1))


def _is_elementwise(name: str) -> bool:
    return family_of(name) == "elementwise"


@pattern_rule(
    "KE6",
    "Element-wise kernels in rows",
    (TIME, WHOLE, DEVICE_ACTIVITY, OPS),
    "fusible",
    Threshold("fusible_ratio", 0.05, "what rows of element-wise kernels take beyond their longest"),
    measure=wasted,
    answers=COMPUTES,
    theoretical=True,
)
def fusible(selection: Selection, seen: Seen) -> Advice | None:
    """Rows of element-wise kernels take more than {fusible_ratio} beyond the longest of each.

    Only where `torch.compile` has a back end for the device, and nothing is compiled or replayed.

    Ceiling: what they take beyond the longest of each row.
    """
    one = seen[0]
    if SERVES.holds(selection) or not all(fact.holds(selection) for fact in CAN_BE_COMPILED):
        return None
    return Advice(
        title="Element-wise kernels follow one another",
        said=(
            f"For {part_of_step(selection, one)} element-wise kernels such as `{one.pattern.name}` "
            f"follow one another{one.place}, and each reads and writes all of its data."
        ),
        action="`torch.compile` joins such kernels into one.",
        snippet="model = torch.compile(model)",
        method="time of these kernels beyond the longest of each row",
        scale=one.figure("part"),
        confidence=0.5,
        verify="Record again: fewer element-wise kernels.",
        links=(Reference("How torch.compile works", url=COMPILE_DOCS),),
    )
