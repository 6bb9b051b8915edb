"""Does compiled code do what it is compiled for? Compilation in the steps, breaks, graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import structs

from ...base.arrays import (
    I64,
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
from ..compile.model import Break, Version
from ..compile.occurrences import compilations_in
from ..compile.reasons import Change, changes_of
from ..facts import Spot
from ..findings import Evidence, Reference, SeenEvent
from ..host_activity import HostRole
from ..kernel_families import family_of
from ..steps import Selection
from ..user_code import MOST_FRAMES, DeviceCode, Found, HostCode, of_code
from ..wording import step_noun
from .claims import (
    MOST_EVENTS,
    Seen,
    count_of,
    often,
    on_host,
    on_kernels,
    part_of_step,
    seen_event,
    spent_by,
    wasted,
)
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
    rule,
)

_WAIT = "schedule=torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1)"
_COMPILER_DOCS = "https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html"


def _logs(selection: Selection, since: str = "2.1") -> str:
    """From which version on there is such a log, where the recording may be of an older one."""
    return f" (torch {since} or later)" if is_older(selection, TORCH_2_4) else ""


@on_host(hides_python=True)
def find_compilation(code: HostCode) -> Iterator[Found]:
    """Compilation, with the frame that was running when it began.

    What is compiled for the first time is warm-up and told apart from what is compiled again.
    """
    mask = code.role(HostRole.COMPILE) & ~code.hosts.marker[code.low : code.high]
    rows = code.outermost(np.flatnonzero(mask))
    if not len(rows):
        return
    versions = _versions(code, rows)
    for kind, some in (
        ("compiling", rows[versions < 0]),
        ("compiling_first", rows[versions == 0]),
        ("compiled_again", rows[versions > 0]),
    ):
        for frame, mine in code.by_owner(some, code.dur[some], MOST_FRAMES) if len(some) else ():
            name = code.trace.strings[int(code.name[mine[0]])]
            yield Found(kind, name, code.time(mine), code.host_rows(mine), frame)


def _versions(code: HostCode, rows: I64) -> I64:
    """The version that each compilation made; −1 where nothing tells it."""
    result = np.full(len(rows), -1, np.int64)
    begin, end = code.ts[rows], code.end[rows]
    for identity, ts, dur in compilations_in(code.trace):
        fits = (begin <= ts + dur // 2) & (ts + dur // 2 < end) & (result < 0)
        result[fits] = int(identity.partition("/")[2])
    return result


@pattern_rule(
    "CP0",
    "First compilation in the steps",
    (TIME, WHOLE, HOST_RANGES),
    "compiling_first",
    Threshold("warm_up_ratio", 0.01, "first compilation in the steps"),
    answers=("compile_ns", "idle_compile_ns"),
)
def warming_up(selection: Selection, seen: Seen) -> Advice:
    """First compilations take more than {warm_up_ratio} of the steps.

    That is warm-up: later steps do not pay for it.
    """
    times = plural(count_of(seen), "time")
    where = f"; `{seen[0].frame}` called it" if seen[0].frame else ""
    return Advice(
        title="Warm-up: code is compiled for the first time",
        said=f"First compilation takes {spent_by(selection, seen)}, {times}{where}. It is warm-up.",
        action="Run some steps before the recording starts: code is compiled when it first runs.",
        snippet=_WAIT,
        headline="First compilation, which is warm-up, takes {part}.",
        confidence=0.95,
        verify=f"Record again: no compilation in the {step_noun(selection.facts)}.",
    )


_BY_KIND = {
    "size": (
        "Mark the size as dynamic, or pad to a few sizes.",
        "torch._dynamo.mark_dynamic(x, 0)\n# or: model = torch.compile(model, dynamic=None)",
    ),
    "value": (
        "Pass what changes as a tensor, or keep it to a few values.",
        "step = torch.tensor(step)  # instead of a number of Python",
    ),
    "global": ("Do not change this global between calls, or pass it as an argument.", ""),
    "object": ("Pass the same object in every call: its identity is guarded.", ""),
    "dtype": ("Pass tensors of one type, device and `requires_grad`.", ""),
}


@pattern_rule(
    "CP1",
    "Compilation again in the steps",
    (TIME, WHOLE, HOST_RANGES),
    ("compiled_again", "compiling"),
    Threshold("compile_ratio", 0.01, "compilation in the steps, without first ones"),
    answers=("compile_ns", "idle_compile_ns"),
)
def compiling(selection: Selection, seen: Seen) -> Advice:
    """Compilation takes more than {compile_ratio} of the steps, without first compilations.

    A record beside the trace names the guard that failed. What nothing tells first or again, counts
    here.

    Ceiling: time in the compiler, without first compilations.
    """
    where = f"; `{seen[0].frame}` called it" if seen[0].frame else ""
    again = count_of(tuple(one for one in seen if one.pattern.kind == "compiled_again"))
    base = Advice(
        title="Code is compiled in the steps",
        said=(
            f"Compilation takes {spent_by(selection, seen)}, "
            f"{plural(count_of(seen), 'time')}{where}."
        ),
        action="Run some steps before the recording starts: code is compiled when it first runs.",
        snippet=_WAIT,
        method="time in the compiler, without first compilations",
        headline="Compilation takes {part}.",
        confidence=0.95,
        links=(Reference("Why code is compiled again", url=_COMPILER_DOCS),),
        verify=f"Record again: no compilation in the {step_noun(selection.facts)}.",
    )
    if not again:
        return base
    count = _versions_in(selection) or again
    said = (
        f"Compilation takes {spent_by(selection, seen)}. {plural(count, 'version')} of code that "
        f"was compiled before {'are' if count > 1 else 'is'} compiled again{where}."
    )
    evidence = (Evidence("versions compiled again", float(count), "count", 0),)
    known = _changes(selection)
    if known is None:
        return structs.replace(
            base,
            title="Code is compiled again in the steps",
            said=said,
            action=(
                "Shapes or values change from call to call: mark what changes as dynamic, or pad to"
                f" a few sizes. `TORCH_LOGS=recompiles`{_logs(selection)} names the guard that"
                " failed."
            ),
            snippet=(
                "model = torch.compile(model, dynamic=True)\n# or: torch._dynamo.mark_dynamic(x, 0)"
            ),
            evidence=evidence,
        )
    function, changes, is_designed = known
    first = changes[0]
    place = f" ({first.place})" if first.place else ""
    more = f", and {plural(len(changes) - 1, 'other guard')}" if len(changes) > 1 else ""
    action, snippet = _BY_KIND.get(first.kind, ("Keep the values that the guard checks equal.", ""))
    if is_designed:
        said += " That is by design: torch makes a size dynamic when it changes for the first time."
    return structs.replace(
        base,
        title=f"`{function}` is compiled again: {first.text}",
        said=f"{said} What changed in `{function}`: `{first.text}`{place}{more}.",
        action=action,
        snippet=snippet,
        severity="low" if is_designed else None,
        evidence=evidence,
        links=(Reference("All versions and reasons", "compile"), *base.links),
    )


def _runs_of(selection: Selection, refused: Version) -> tuple[SeenEvent, ...]:
    """The longest run of each version of a function, while it ran compiled."""
    found = selection.facts.compiled
    return tuple(
        seen_event(selection, f"Torch-Compiled Region: {one.id}", spot, one.ts, one.dur_ns)
        for one in (found.versions if found is not None else ())
        if one.function == refused.function and one.slice >= 0
        for spot in [Spot(one.slice, one.event)]
    )[:MOST_EVENTS]


def _again(selection: Selection) -> list[Version]:
    """Versions that are compiled again in the chosen steps, the longest first."""
    found = selection.facts.compiled
    if found is None:
        return []
    spent: dict[int, int] = {}
    for one in found.occurrences:
        middle = one.ts + one.dur_ns // 2
        if any(step.start_ns <= middle < step.end_ns for step in selection.steps):
            spent[one.version] = spent.get(one.version, 0) + one.dur_ns
    rows = sorted(spent, key=lambda row: -spent[row])
    return [found.versions[row] for row in rows if found.versions[row].is_again]


def _versions_in(selection: Selection) -> int:
    return len({one.id for one in _again(selection)})


def _changes(selection: Selection) -> tuple[str, tuple[Change, ...], bool] | None:
    """The function that is compiled again most, what changed, and whether that is by design."""
    again = [one for one in _again(selection) if one.reasons]
    found = selection.facts.compiled
    if not again or found is None:
        return None
    counts: dict[str, int] = {}
    for one in again:
        counts[found.label(one)] = counts.get(found.label(one), 0) + 1
    function = max(counts, key=lambda name: counts[name])
    reasons = [each for one in again if found.label(one) == function for each in one.reasons]
    changes = changes_of(reasons)
    is_designed = max(counts.values()) == 1 and all(
        each.kind == "size" for one in again for each in one.reasons
    )
    return function, changes, is_designed


@rule(
    "CP2",
    "The recompile limit was met",
    (HOST_RANGES,),
    answers=("python_ns", "idle_dispatch_ns", "idle_python_ns"),
)
def limit_met(selection: Selection) -> Advice | None:
    """A compilation was refused, because its function has too many versions.

    The function runs eager from then on. Needs the record beside the trace.
    """
    found = selection.facts.compiled
    refused = [one for one in found.versions if one.failed] if found is not None else []
    if found is None or not refused or "limit" not in refused[0].failed:
        return None
    one = refused[0]
    changes = changes_of(one.reasons)
    what = f" What changed: `{changes[0].text}`." if changes else ""
    action, snippet = _BY_KIND.get(changes[0].kind if changes else "", ("", ""))
    return Advice(
        title=f"`{found.label(one)}` runs eager: the recompile limit was met",
        said=f"torch refused to compile `{found.label(one)}` once more.{what}",
        action=action or f"Find what changes: `TORCH_LOGS=recompiles`{_logs(selection)}.",
        snippet=snippet,
        confidence=0.95,
        otherwise="medium",
        evidence=(Evidence("refused", float(len(refused)), "count", 0),),
        links=(
            Reference("All versions and reasons", "compile"),
            Reference("Why code is compiled again", url=_COMPILER_DOCS),
        ),
        events=_runs_of(selection, one),
        verify="Record again: no version is refused.",
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
    "CP4",
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
    found = selection.facts.compiled
    told = [one for one in found.breaks if one.calls] if found is not None else []
    place = f" at `{told[0].place}`" if told else seen[0].place
    why = f" `{told[0].place}`: {told[0].reason.rstrip('.')}." if told else ""
    return Advice(
        title=f"Compiled functions leave their graphs{place}",
        said=(
            f"Compiled functions go on in another graph {often(selection, count_of(seen))}"
            f"{place}. Outside of graphs, in ops one by one and in Python, they spend "
            f"{spent_by(selection, seen)}.{why}"
        ),
        action=_without(told[0])
        if told
        else (
            "Keep printing, `.item()` and calls that cannot be traced out of compiled functions. "
            f"`TORCH_LOGS=graph_breaks`{_logs(selection)} names each line and its reason."
        ),
        snippet="model = torch.compile(model, fullgraph=True)  # fails at the first break",
        method="time of these compiled functions outside of their graphs",
        confidence=0.7,
        verify="Record again: no compiled region lies in another one.",
        links=(Reference("Why a function leaves its graph", url=_COMPILER_DOCS),),
    )


def _without(told: Break) -> str:
    """Remedy for a graph break, by torch's reason for it."""
    text = f"{told.reason} {told.explanation}"
    if "item()" in text or "Tensor.item" in text:
        return (
            "Keep the value a tensor, or set `torch._dynamo.config.capture_scalar_outputs = True`."
        )
    if "print" in text:
        return "Print after the step, not in compiled code."
    if "graph_break()" in text:
        return "Remove the call of `torch._dynamo.graph_break()`."
    return "Move this call out of compiled code, or make it a custom op (`torch.library`)."


LONG_LOOKUP_NS = 100_000  # a lookup of a few guards takes 10 to 30 µs, with stacks 60
_LOOKUP = of_code(r"^TorchDynamo Cache Lookup$")


@on_host()
def find_guards(code: HostCode) -> Iterator[Found]:
    """Looking up which version of compiled code fits a call, where that takes long."""
    rows = code.outermost(code.named(_LOOKUP))
    if len(rows) and code.dur[rows].mean() >= LONG_LOOKUP_NS:
        yield Found("guards", "TorchDynamo Cache Lookup", code.time(rows), code.host_rows(rows))


@pattern_rule(
    "CP5",
    "Guards of compiled code",
    (TIME, WHOLE, OPS),
    "guards",
    Threshold("guard_ratio", 0.02, "checking guards of compiled code"),
    answers=("python_ns", "idle_dispatch_ns", "idle_python_ns"),
)
def guards(selection: Selection, seen: Seen) -> Advice:
    """Checking guards takes more than {guard_ratio} of the steps, and 100 µs or more a call.

    torch 2.13 records it.

    Ceiling: that time.
    """
    found = selection.facts.compiled
    most = max((one.guards or 0 for one in found.versions), default=0) if found else 0
    many = f" A version has up to {most:,} guards." if most else ""
    return Advice(
        title="Checking guards of compiled code takes long",
        said=f"torch checks guards for {spent_by(selection, seen)}.{many}",
        action=(
            "Compile fewer and larger functions, and keep versions few: each call checks guards "
            "until a version fits."
        ),
        method="time in the lookup of compiled code",
        confidence=0.6,
        links=(Reference("All versions and their guards", "compile"),),
        verify="Record again: less time in `TorchDynamo Cache Lookup`.",
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
