"""Does the step wait for its data? Batches, copies, tensors made in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import structs

from ...base.arrays import is_among, of_names, search, take, where
from ...base.intervals import merge, union
from ...base.units import duration, share
from ..facts import CopySum
from ..findings import Evidence, Reference
from ..steps import Selection, step_parameter
from ..user_code import CONVERTS, COPIES, Found, HostCode, distinct_owners, of_code
from ..wording import (
    device_noun,
    of_step,
    per_step,
    short_frame,
    spread,
    the_device,
)
from .claims import (
    Seen,
    ceiling,
    count_of,
    events_of,
    often,
    on_host,
    patterns,
    seen_event,
    shares_of,
    spent_by,
    total_of,
)
from .rule import (
    DEVICE_ACTIVITY,
    HOST_RANGES,
    OPS,
    TIME,
    WHOLE,
    Advice,
    Fact,
    Remedy,
    Threshold,
    pattern_rule,
    remedy_of,
    rule,
    sentences,
)

LOADER_RATIO = Threshold("loader_ratio", 0.05, "DataLoader")
BLOCKING_COPY_RATIO = Threshold("blocking_copy_ratio", 0.02, "copies that nothing covers")
MADE_ON_HOST_COUNT = Threshold("made_on_host_count", 1.0, "tensors per step")


_LOADER_DOCS = (
    "https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading"
)


def _class(selection: Selection) -> str:
    return selection.facts.traits.dataloader_class or ""


IN_PROCESS = Fact(
    "batches are made in the training process",
    lambda chosen: _class(chosen).startswith("_SingleProcess"),
)
IN_WORKERS = Fact(
    "batches come from worker processes",
    lambda chosen: _class(chosen).startswith("_MultiProcess"),
)
ONE_CORE = Fact("the process has one core", lambda chosen: chosen.facts.recording.cores == 1)
MANY_CORES = Fact(
    "the process has more than two cores, as the handler noted",
    lambda chosen: chosen.facts.recording.cores > _FEW_CORES,
)
FEW_CORES = Fact(
    "the process has two cores at most, as the handler noted",
    lambda chosen: 0 < chosen.facts.recording.cores <= _FEW_CORES,
)
PAGEABLE = Fact(
    "copies from or to pageable memory were recorded",
    lambda chosen: (chosen.facts.traits.pageable_copy_count or 0) > 0,
)
_GIVE = "The dataset is read in the training process itself: give the DataLoader workers."
_MORE = "Use more workers while there are cores for them, or do less work per sample."
_LESS = "Do less work per sample, or prefetch more batches."
_PIN = ", pin_memory=True"
_FIRST_WORKERS, _MOST_WORKERS = 4, 8
_FEW_CORES = 2
_WORKERS = f"DataLoader(…, num_workers={_FIRST_WORKERS}{{}})  # now 0"
_PREFETCH = "DataLoader(…, {}prefetch_factor=4, persistent_workers=True{})"
_WITH_MORE = f"num_workers={_MOST_WORKERS}, "
LOADER_REMEDIES = (
    Remedy(
        "The dataset is read in the training process itself, on its only core: do less work per "
        "sample.",
        (IN_PROCESS, ONE_CORE),
    ),
    Remedy(_GIVE, (IN_PROCESS, PAGEABLE), _WORKERS.format(_PIN)),
    Remedy(_GIVE, (IN_PROCESS,), _WORKERS.format("")),
    Remedy(
        "Do less work per sample: the workers share the few cores of this process.",
        (IN_WORKERS, FEW_CORES),
    ),
    Remedy(_MORE, (IN_WORKERS, MANY_CORES, PAGEABLE), _PREFETCH.format(_WITH_MORE, _PIN)),
    Remedy(_MORE, (IN_WORKERS, MANY_CORES), _PREFETCH.format(_WITH_MORE, "")),
    Remedy(_LESS, (IN_WORKERS, PAGEABLE), _PREFETCH.format("", _PIN)),
    Remedy(_LESS, (IN_WORKERS,), _PREFETCH.format("", "")),
    Remedy("Make batches ahead of time in other processes, or do less work per sample.", ()),
)


@on_host()
def find_loading(code: HostCode) -> Iterator[Found]:
    """The DataLoader's ranges, and the user's frame in which most of their time passes."""
    rows = np.flatnonzero(code.hosts.loader[code.low : code.high])
    if not len(rows):
        return
    time = code.loading
    inside = code.in_loader
    owned = where(inside & (code.owner >= 0))
    # A frame around the loader's range calls it; what counts lies inside.
    owned = owned[take(inside, take(code.owner, owned))]
    best = code.by_owner(owned, take(code.self_ns, owned), 1)
    longest = rows[int(np.argmax(code.dur[rows]))]
    name = code.trace.strings[int(code.name[longest])]
    events = rows
    if best:
        frames = distinct_owners(code, best[0][1])
        events = np.concatenate([rows, frames])
    yield Found("loading", name, time, code.host_rows(events), best[0][0] if best else "")


@rule(
    "IN1",
    "Steps that wait for their batch",
    (TIME, WHOLE, HOST_RANGES),
    LOADER_RATIO,
    answers={"idle_dataloader_ns", "dataloader_ns"},
    remedies=LOADER_REMEDIES,
)
def loader(selection: Selection) -> Advice | None:
    """The DataLoader takes more than {loader_ratio} of the breakdown.

    It names the frame in which most of that time passes.

    Ceiling: idle time under the DataLoader; without a device, time in it.
    """
    classic = selection.ratio(selection.breakdown.dataloader_ns)
    limit = LOADER_RATIO.of(selection.limits)
    if classic <= limit:
        return None
    seen = patterns(selection, "loading")
    frame = seen[0].pattern.frame if seen else ""
    waits = _waits(selection)
    total = sum(waits)
    worst = max(range(selection.count), key=waits.__getitem__)
    return Advice(
        title=_loader_title(selection),
        said=sentences(
            _loader_evidence(selection, waits),
            f"Most of it passes in `{short_frame(frame)}`." if frame else "",
        ),
        snippet=_for_cores(
            remedy_of(LOADER_REMEDIES, selection).snippet, selection.facts.recording.cores
        ),
        confidence=0.95,
        evidence=(
            Evidence("DataLoader", classic, "ratio", limit),
            Evidence(
                f"waiting for the DataLoader, {per_step(selection)}", selection.mean(total), "ns"
            ),
        ),
        gain=ceiling(
            selection,
            total,
            "time in which nothing but the DataLoader ran"
            if selection.device is None
            # The device could work in all of it, if batches were there in time.
            else "idle time of the device while a launching thread was in the DataLoader",
            *(
                ("idle_dataloader_ns",)
                if selection.device is not None
                else ("dataloader_ns", *(f"pattern {one.row}" for one in seen))
            ),
        ),
        shares=[one.breakdown.dataloader_ns / max(one.dur_ns, 1) for one in selection.steps],
        limit=limit,
        links=(
            *_worst_step(selection, worst),
            Reference("How to load in workers", url=_LOADER_DOCS),
        ),
        verify="Record again: DataLoader should fall below 5 % of the step.",
        headline="The run waits for the DataLoader for {part}." if selection.device is None else "",
        events=events_of(selection, seen),
        frame=frame,
    )


def _for_cores(snippet: str, cores: int) -> str:
    """No more workers than the process has cores, where their number is known."""
    if not 0 < cores < _MOST_WORKERS:
        return snippet
    # How many there are now is not recorded: only that there are some.
    few = snippet.replace(f"num_workers={_MOST_WORKERS}, ", "")
    return few.replace(f"num_workers={_FIRST_WORKERS}", f"num_workers={min(cores, _FIRST_WORKERS)}")


def _waits(selection: Selection) -> list[int]:
    """Per step: idle time under the DataLoader, or time in it where there is no device."""
    if selection.device is None:
        return [step.host.dataloader_ns if step.host else 0 for step in selection.steps]
    return [
        one.partition.idle_dataloader_ns if (one := selection.device_step(step)) else 0
        for step in selection.steps
    ]


def _loader_title(selection: Selection) -> str:
    if IN_PROCESS.holds(selection):
        return "Input-bound: load batches in worker processes"
    if IN_WORKERS.holds(selection):
        return "Input-bound: the loader's workers do not keep up"
    return "Input-bound: batches are not there in time"


def _loader_evidence(selection: Selection, waits: list[int]) -> str:
    mean = duration(selection.mean(sum(waits)))
    doing = "prepares the batch" if IN_PROCESS.holds(selection) else "waits for the next batch"
    steps = f" ({spread(waits)})" if selection.count > 1 else ""
    if selection.device is None:
        return f"The main thread {doing} for {mean} {per_step(selection)}{steps}."
    where = the_device(selection)
    return f"{where} idles {mean} {per_step(selection)} while the launching thread {doing}{steps}."


def _worst_step(selection: Selection, worst: int) -> tuple[Reference, ...]:
    """The step with the longest wait, and where the loader stands in it on the timeline."""
    step = selection.steps[worst]
    steps = {"steps": step_parameter(selection.facts, step.index)}
    loader = Reference("The loader in the trace", "timeline", {**steps, "find": "enumerate(Data"})
    if selection.count < 2:
        return (loader,)
    return (Reference(f"Step {step.number} waits longest", "overview", steps), loader)


_NEXT_OF_WORKERS = of_code(r"^enumerate\(Data(Loader|Pipe)\)#_MultiProcessing\w*\.__next__$")
_SEEDS = of_code(r"^aten::(empty|random_|item|_local_scalar_dense)$")  # of a new iterator
_STARTS = of_code(r"(^|/)multiprocessing/process\.py\(\d+\): start$")
START_NS = 5_000_000  # a process takes longer to start
MOST_EPOCHS_RATIO = 0.7  # of the epochs: a pause may be long by chance


@on_host(hides_python=True)
def find_respawned_workers(code: HostCode) -> Iterator[Found]:
    """Epochs after which workers start anew.

    An epoch ends with a call of the loader that no work follows before the next call. Frames tell
    whether processes start in between; without frames, a pause does.
    """
    calls = code.named(_NEXT_OF_WORKERS)
    calls = code.outermost(calls[~code.op[calls]])
    if len(calls) < 2:
        return
    work = code.top_ops[~is_among(code.top_ops, code.named(_SEEDS))]
    works = take(code.ts, work)
    began, ended = code.end[calls[:-1]], code.ts[calls[1:]]
    ends = np.flatnonzero(search(works, began) == search(works, ended))
    began, ended = began[ends], ended[ends]
    starts = take(code.ts, code.named(_STARTS))
    anew = search(starts, began) < search(starts, ended) if code.frame.any() \
        else ended - began >= START_NS  # fmt: skip
    if np.count_nonzero(anew) < max(2, MOST_EPOCHS_RATIO * len(ends)):
        return
    ends = ends[anew]
    time = union(code.ts[calls[ends]], code.end[calls[ends + 1]])
    # The recording begins and ends within a pause between epochs, too.
    edge = calls[[0, -1]]
    step = code.windows.of(code.ts[edge])
    low, high = code.windows.start[step[0]], code.windows.end[step[-1]]
    before, after = np.array([low, code.end[edge[1]]]), np.array([code.ts[edge[0]], high])
    idle = (step >= 0) & (search(works, before) == search(works, after))
    start, end = np.array([low, code.ts[edge[1]]]), np.array([code.end[edge[0]], high])
    time = merge(time, union(start[idle], end[idle]))
    name = code.trace.strings[int(code.name[calls[0]])]
    yield Found("respawned", name, time, code.host_rows(calls[ends + 1]))


@pattern_rule(
    "IN6",
    "Workers that start anew",
    (TIME, WHOLE, HOST_RANGES),
    "respawned",
    Threshold("respawn_ratio", 0.05, "workers that start anew"),
    answers=("dataloader_ns", "uninstrumented_ns", "python_ns", "idle_dataloader_ns"),
)
def respawned_workers(selection: Selection, seen: Seen) -> Advice:
    """Workers of the DataLoader start anew after most epochs, for more than {respawn_ratio}.

    Frames show that processes start; without frames, pauses of 5 ms or more do.

    Ceiling: from the end of each epoch to the first batch of the next.
    """
    return Advice(
        title="The DataLoader's workers start anew in every epoch",
        said=(
            f"{count_of(seen):,} epochs end, and new workers start for the next. From the end of "
            f"an epoch to the first batch of the next pass {spent_by(selection, seen)}."
        ),
        action="Keep the workers from epoch to epoch.",
        snippet="DataLoader(…, num_workers=…, persistent_workers=True)",
        method="time from the end of an epoch to the first batch of the next",
        headline="Starting workers anew takes {part}.",
        confidence=0.85,
        verify="Record again: the first batch of an epoch comes at once.",
        links=(Reference("How to load in workers", url=_LOADER_DOCS),),
    )


_PINNED = "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
PINNED_LINK = (Reference("How to copy without waiting", url=_PINNED),)


def exposed_copies(selection: Selection) -> list[CopySum]:
    """Kinds of copies that run with nothing else, those that take most time so first."""
    kinds = [one for one in selection.copies if one.exposed_ns]
    return sorted(kinds, key=lambda one: -one.exposed_ns)


def _copies_most(kind: str, text: str) -> Fact:
    """Most of the time of exposed copies is that of pageable ones of a kind."""

    def holds(selection: Selection) -> bool:
        first = exposed_copies(selection)[:1]
        return any((one.kind, one.memory) == (kind, "pageable") for one in first)

    return Fact(text, holds)


PAGEABLE_IN = _copies_most("HtoD", "copies from pageable memory take most of the exposed time")
PAGEABLE_OUT = _copies_most("DtoH", "copies to pageable memory take most of the exposed time")
LOADS = Fact(
    "batches come from a DataLoader", lambda chosen: bool(chosen.facts.traits.dataloader_class)
)
INTO_PINNED = "results.copy_(y, non_blocking=True)  # results"
FROM_PINNED = "x = x.to(device, non_blocking=True)  # x in pinned memory"
COPY_REMEDIES = (
    Remedy(
        "Have the DataLoader put batches into pinned memory, and copy them with "
        "`non_blocking=True` while kernels run.",
        (LOADS, PAGEABLE_IN),
        "DataLoader(…, pin_memory=True)\nx = x.to(device, non_blocking=True)",
        PINNED_LINK,
    ),
    Remedy(
        "Copy from pinned memory with `non_blocking=True` while kernels run, or copy less.",
        (PAGEABLE_IN,),
        FROM_PINNED,
        PINNED_LINK,
    ),
    Remedy(
        "Copy results to pinned memory with `non_blocking=True` and read them later, or copy less.",
        (PAGEABLE_OUT,),
        f"{INTO_PINNED} = torch.empty(…, pin_memory=True)",
        PINNED_LINK,
    ),
    Remedy("Copy less, or copy on another stream while kernels run.", ()),
)


@rule(
    "IN4",
    "Copies in the way of kernels",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    BLOCKING_COPY_RATIO,
    answers={"exposed_copy_ns"},
    remedies=COPY_REMEDIES,
)
def copies(selection: Selection) -> Advice | None:
    """Copies run for more than {blocking_copy_ratio} with neither a kernel nor a collective.

    Ceiling: these copies.
    """
    part = selection.partition
    limit = BLOCKING_COPY_RATIO.of(selection.limits)
    if part is None or selection.ratio(part.exposed_copy_ns) <= limit:
        return None
    kinds = exposed_copies(selection)
    events = tuple(
        seen_event(selection, one.name, one.spot, one.ts, one.dur_ns) for one in kinds[:2]
    )
    told = "; ".join(
        f"{duration(selection.mean(one.exposed_ns))} {one.kind or 'copies'}"
        f"{f' with {one.memory} memory' if one.memory else ''} ({one.count:,} in all)"
        for one in kinds[:2]
    )
    shares = shares_of(selection, "exposed_copy_ns")
    noun = device_noun(selection)
    return Advice(
        title=f"The {noun} only copies for {share(selection.ratio(part.exposed_copy_ns))} "
        f"{of_step(selection, shares)}",
        said=f"For {duration(selection.mean(part.exposed_copy_ns))} {per_step(selection)} copies "
        f"run on the {noun} and nothing computes{f': {told}' if told else ''}.",
        confidence=0.85,
        evidence=(Evidence("copies alone", selection.ratio(part.exposed_copy_ns), "ratio", limit),),
        gain=ceiling(
            selection,
            part.exposed_copy_ns,
            "copies under which neither a kernel nor a collective runs",
            "exposed_copy_ns",
        ),
        shares=shares,
        limit=limit,
        links=tuple(
            structs.replace(one.link, text="The longest copy in the trace") for one in events[:1]
        ),
        verify="Record again: copies should lie under kernels.",
        events=events,
    )


_MAKES = of_code(r"^aten::(rand|randn|zeros|ones|full|arange|randint|normal_|uniform_|empty)$")


@on_host()
def find_made_on_host(code: HostCode) -> Iterator[Found]:
    """Tensors that the program makes on the host and copies to a device right away."""
    device = code.trace.device
    copies = np.flatnonzero((device.launch >= code.low) & (device.launch < code.high))
    copies = copies[
        of_names(code.trace.strings, device.name[copies], lambda name: "HtoD" in name, np.bool_)
    ]
    top = code.top_ops
    if not len(copies) or len(top) < 2:
        return
    at = search(top, device.launch[copies].astype(np.int64) - code.low, "right") - 1
    at = at[at > 0]
    makes = code.have_name(top[at - 1], _MAKES)
    moves = code.have_name(top[at], CONVERTS) | code.have_name(top[at], COPIES)
    rows = top[at][makes & moves]
    for frame, mine in code.by_owner(rows, code.dur[rows], 1):
        name = code.trace.strings[int(code.name[top[at - 1][makes][0]])]
        yield Found("made_on_host", name, code.time(mine), code.host_rows(mine), frame)


@pattern_rule(
    "IN5",
    "Tensors made on the host",
    (TIME, WHOLE, OPS, DEVICE_ACTIVITY),
    "made_on_host",
    also=(MADE_ON_HOST_COUNT,),
)
def made_on_host(selection: Selection, seen: Seen) -> Advice | None:
    """Tensors made on the host are copied to a device at once, {made_on_host_count} or more a step.

    Ceiling: idle time during these copies.
    """
    count = count_of(seen)
    total = total_of(selection, seen)
    # Once in a recording is a start: it does not come again.
    is_once = count < 2 and selection.facts.step_source == "whole_trace"
    if not total or is_once or selection.mean(count) < MADE_ON_HOST_COUNT.of(selection.limits):
        return None
    return Advice(
        title=f"Tensors are made on the host and then moved{seen[0].place}",
        said=(
            f"`{seen[0].pattern.name}` makes a tensor on the host, and the next op copies it to "
            f"the device, {often(selection, count)}{seen[0].place}: the device idles "
            f"{duration(selection.mean(total))} during these copies."
        ),
        action="Make it on the device.",
        snippet="torch.zeros(…, device=x.device)",
        method="idle time during these copies",
        otherwise="info",
        confidence=0.8,
        verify="Record again: no copy right behind the op that makes the tensor.",
    )


@rule("IN7", "A model on the CPU beside a GPU", (TIME, WHOLE, OPS))
def unused_device(selection: Selection) -> Advice | None:
    """A device is there, its activity was recorded, and no call, op or tensor is of it."""
    facts = selection.facts
    kind, idle = facts.recording.accelerator.type, facts.recording.accelerator.none
    is_used = any(one.used or one.peak_allocated_bytes for one in facts.devices)
    if not idle or kind not in _OF_TORCH or is_used or facts.counts.get("runtime"):
        return None
    events = events_of(selection, patterns(selection, "long_ops"))
    return Advice(
        title=f"The model runs on the CPU, and a {kind} is there",
        said=f"The profiler recorded the {kind}, and none of {facts.counts['op']:,} ops ran on it.",
        action="Move the model and its batches to the device.",
        snippet=f'model.to("{_OF_TORCH[kind]}"); x = x.to("{_OF_TORCH[kind]}")',
        severity="medium",
        evidence=(Evidence("ops on the host", float(facts.counts["op"]), "count"),),
        confidence=0.7,
        verify=f"Record again: kernels run on the {kind}.",
        links=tuple(
            structs.replace(one.link, text="The longest op in the trace") for one in events[:1]
        ),
        events=events,
    )


_OF_TORCH = {"GPU": "cuda", "XPU": "xpu", "MPS": "mps"}
