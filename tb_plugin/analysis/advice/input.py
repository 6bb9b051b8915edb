"""Does the step wait for its data? Batches, copies, tensors made in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import structs

from ...base.arrays import of_names, search, take, where
from ...base.units import NBSP, duration, share
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
    step_noun,
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
PAGEABLE = Fact(
    "copies from or to pageable memory were recorded",
    lambda chosen: (chosen.facts.traits.pageable_copy_count or 0) > 0,
)
_GIVE = "The dataset is read in the training process itself: give the DataLoader workers."
_MORE = "Use more workers or prefetch more, or do less work per sample."
_PIN = ", pin_memory=True"
_FIRST_WORKERS, _MOST_WORKERS = 4, 8
_WORKERS = f"DataLoader(…, num_workers={_FIRST_WORKERS}{{}})  # now 0"
_PREFETCH = (
    f"DataLoader(…, num_workers={_MOST_WORKERS}, prefetch_factor=4, persistent_workers=True{{}})"
)
LOADER_REMEDIES = (
    Remedy(_GIVE, (IN_PROCESS, PAGEABLE), _WORKERS.format(_PIN)),
    Remedy(_GIVE, (IN_PROCESS,), _WORKERS.format("")),
    Remedy(_MORE, (IN_WORKERS, PAGEABLE), _PREFETCH.format(_PIN)),
    Remedy(_MORE, (IN_WORKERS,), _PREFETCH.format("")),
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
    steps = f" ({spread(waits)}, {selection.count}{NBSP}steps)" if selection.count > 1 else ""
    if selection.device is None:
        part = share(selection.ratio(sum(waits)))
        noun = step_noun(selection.facts)
        when = f"{mean} {per_step(selection)}{steps}, {part} of the {noun}"
        return f"For {when}, the main thread {doing}."
    where = the_device(selection)
    return f"{where} idles {mean} {per_step(selection)} while the launching thread {doing}{steps}."


def _worst_step(selection: Selection, worst: int) -> tuple[Reference, ...]:
    """The step with the longest wait, and where the loader stands in it on the timeline."""
    step = selection.steps[worst]
    steps = {"steps": step_parameter(selection.facts, step.index)}
    loader = Reference("The loader in the trace", "timeline", {**steps, "find": "enumerate(Data"})
    if selection.count < 2:
        return (loader,)
    # Not the longest range of the loader: only the part in which the device idles counts here.
    what = "most time in the loader" if selection.device is None else "most idle under the loader"
    return (Reference(f"Step {step.number}, {what}", "overview", steps), loader)


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
    Remedy("Copy less, or on a stream of its own while kernels run.", ()),
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
    agree = sum(one > limit for one in shares)
    return Advice(
        title=f"The {noun} only copies for {share(selection.ratio(part.exposed_copy_ns))} "
        f"{of_step(selection, agree)}",
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
    if selection.mean(count) < MADE_ON_HOST_COUNT.of(selection.limits):
        return None
    return Advice(
        title=f"Tensors are made on the host and then moved{seen[0].place}",
        said=(
            f"`{seen[0].pattern.name}` makes a tensor on the host, and the next op copies it to "
            f"the device, {often(selection, count)}{seen[0].place}: the device idles "
            f"{duration(selection.mean(total_of(selection, seen)))} during these copies."
        ),
        action="Make it on the device.",
        snippet="torch.zeros(…, device=x.device)",
        method="idle time during these copies",
        otherwise="info",
        confidence=0.8,
        verify="Record again: no copy right behind the op that makes the tensor.",
    )
