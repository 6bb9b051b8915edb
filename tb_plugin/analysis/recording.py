"""How was the trace recorded, what does it contain, and what can it not show?

``recording_facts``, ``configuration`` and ``user_values``: the setup of the run, as the file says.
``counts`` and ``classified``: rows per table, kernel time by class. ``answerable`` and
``unavailable``: the questions that this recording cannot answer, the reason, and how to record it.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ..base.arrays import Sparse, count_codes, distinct, distinct_values, of_names, take, where
from ..base.group_sums import group_sums
from ..base.regex import regex
from ..base.units import plural, size
from ..trace.build.categories import is_graph_node
from ..trace.health.notes import STEPS_OF_ANY_RECORDER
from ..trace.health_record import HealthRecord, Note
from ..trace.model import DeviceClass, DeviceKind, HostKind, Link, Trace, is_of_other_recorder
from ..trace.recipes import (
    ALLOCATIONS,
    ASCEND,
    LEGACY,
    SHAPES,
    is_before,
    with_device,
    with_option,
    with_steps,
)
from ..trace.worker_names import process_behind, worker_of_file
from .accelerator import accelerator, how_to_record
from .facts import Accelerator, DeviceFacts, Facts, RecordingFacts, StepFacts, UserValue
from .speed_of_light.devices import measured_peak

_MAY_BE_CHOICE = (
    "since torch 2.15 activities can be chosen by kind, so this may be a choice:"
    f" {with_device('GPU', 'H')}, without a list of kinds"
)
# By the note of Health: the fact, and why there is none.
_LEFT_OUT = {
    "left_out_kernels": (
        "kernels",
        "No kernel was recorded, though {} launched some; " + _MAY_BE_CHOICE + ".",
    ),
    "left_out_copies": (
        "copies",
        "No copy was recorded, though {} asked for one; " + _MAY_BE_CHOICE + ".",
    ),
}
OTHER_RECORDER = "Another program than torch.profiler wrote this file"
NO_PART_OF_OURS = (
    "another program than torch.profiler wrote this file, and none of its events is known to be of"
    " such a kind"
)
CLOCK_COUNTERS = "`CuspyConfig(enable_environment_counters=True)`, from torch 2.15 on"


def unavailable(
    steps: tuple[StepFacts, ...],
    source: str,
    devices: tuple[DeviceFacts, ...],
    counts: dict[str, int],
    recording: RecordingFacts,
    torch_era: str,
    notes: Sequence[Note] = (),
) -> dict[str, str]:
    """Fact → the reason and the recipe, in one sentence each. ``notes`` are those of Health."""
    is_other = is_of_other_recorder(torch_era)
    reasons = {
        _LEFT_OUT[one.kind][0]: _LEFT_OUT[one.kind][1].format(plural(one.count, "call"))
        for one in notes
        if one.kind in _LEFT_OUT
    }
    if not steps:
        reasons["steps"] = "The file holds no event that lasts, so there is no time to explain."
    elif source == "whole_trace":
        whole = "No step is marked, so the whole recording counts as one"
        reasons["steps"] = (
            f"{whole}. {STEPS_OF_ANY_RECORDER}"
            if is_other
            else f"{whole}: {with_steps(torch_era)}."
        )
    if not any(device.used for device in devices):
        reasons["devices"] = no_device_activity(recording.accelerator, torch_era, notes)
    used = next((device for device in devices if device.used), None)
    if used is not None and not any(device.counters for device in devices):
        reasons["counters"] = no_counters(used.vendor)
    if counts["memory"] and not recording.totals:
        reasons["memory"] = (
            "Allocator events carry no totals: record with torch 1.11 or later "
            "and `profile_memory=True`."
        )
    elif not counts["memory"]:
        reasons["memory"] = not_recorded(
            "allocator event", no_allocator_events(recording.file_format, torch_era), torch_era
        )
    return reasons


def not_recorded(what: str, how: str, torch_era: str) -> str:
    """Why there is no such event: ``how`` says how torch.profiler records it.

    In the file of another recorder no advice of PyTorch fits.
    """
    if not is_of_other_recorder(torch_era):
        return how
    return f"No {what} is known in this file, because another program than torch.profiler wrote it."


def no_device_activity(device: Accelerator, torch_era: str, notes: Sequence[Note] = ()) -> str:
    """Why there is none, and how to record it. ``notes`` are those of Health."""
    lost = next((one for one in notes if one.kind == "lost_kernels"), None)
    if lost is not None:
        more = (
            f", though {lost.count:,} calls launched kernels: the recorder of device activity"
            " failed, or another tool used it"
        )
    else:
        is_told = device.type or device.none
        whose = "" if is_told else ", and the file does not say which device the run used"
        more = f"{whose}: {how_to_record(device, torch_era)}"
    return not_recorded("device activity", f"No device activity was recorded{more}.", torch_era)


def health_of(trace: Trace, device: Accelerator) -> HealthRecord:
    """Health record of the trace; a note on a missing device depends on the run's device."""
    if not (device.type or device.none) or is_of_other_recorder(trace.recording.torch_era):
        return trace.health
    how = how_to_record(device, trace.recording.torch_era)
    remedy = f"{how[0].upper()}{how[1:]}."
    notes = tuple(
        replace(one, remedy=remedy) if one.kind == "no_device" else one
        for one in trace.health.notes
    )
    return replace(trace.health, notes=notes)


def no_counters(vendor: str) -> str:
    """Why power, clocks and traffic of a device are not known, and how to record them."""
    what = "Power, clocks and traffic are not known"
    if vendor not in ("NVIDIA", ""):
        return f"{what}: not available on {vendor}, only on NVIDIA."
    return (
        f"{what}: no counter of the device was sampled. Record with {CLOCK_COUNTERS}; for"
        " multiprocessors, memory and links with `PerformanceMetricsConfig` as well, which locks"
        " the clocks."
    )


def no_allocator_events(file_format: str, torch_era: str) -> str:
    """Why the memory is not known, and how to record it."""
    if file_format == "perfetto":
        return (
            "A `.pftrace` file holds no allocator events: record with `profile_memory=True`, and"
            " export to a name that ends with `.json.gz`."
        )
    return f"No allocator event was recorded: {with_option(ALLOCATIONS, torch_era)}."


def no_message_sizes(facts: Facts) -> str:
    """Why the sizes of collectives are not known, and how to record them."""
    none = "The recording does not say how much its collectives moved"
    era, told = facts.torch_era, facts.recording
    if era == ASCEND:
        how = f"{none}: the trace of `torch_npu` has no sizes."
    elif era == LEGACY:
        how = f"{none}: record with `torch.profiler.profile` of torch 2.3 or later."
    else:
        # Sizes came with torch 2.3, whose files cannot be told from those of torch 2.0.
        ways = ["torch 2.3 or later"] if is_before(era, "F1") or era == "unknown" else []
        ways += [] if told.shapes or told.record_shapes else [f"`{SHAPES.text}`"]
        how = f"{none}: record with {', or with '.join(ways)}." if ways else f"{none}."
    return not_recorded("size of a collective", how, era)


def no_launch_figure(what: str, vendor: str, capability: tuple[int, int] | None) -> str:
    """Why the kernels of a device have no launch figures: not recorded, or not computable."""
    written = f"The recording carries no {what} of kernels"
    if vendor != "NVIDIA":
        return f"{written}, and it is computed on NVIDIA devices only."
    if capability is None:
        return (
            f"{written}, and without the properties of the device (`deviceProperties`) it cannot"
            " be computed."
        )
    return (
        f"{written}, and it cannot be computed: that needs grid, block, registers, shared memory,"
        " and the limits of the device."
    )


Answer = Literal["yes", "in part", "no"]


class Answerability(NamedTuple):
    """A question, the data that the recording has for it, the data it lacks, and the verdict."""

    question: str
    has: str
    lacks: str
    answer: Answer


class _Input(NamedTuple):
    """One kind of data that a question needs. ``vital``: without it there is no answer at all."""

    text: str
    there: Callable[[Facts], bool]
    vital: bool = False


def _count(*names: str) -> Callable[[Facts], bool]:
    return lambda facts: any(facts.counts.get(name, 0) for name in names)


def _marked(facts: Facts) -> bool:
    return facts.step_source != "whole_trace"


def _spent(facts: Facts) -> bool:
    """True where something tells what time was spent on: ranges beside memory alone do not."""
    return not facts.recording.memory_alone and _count("op", "annotation")(facts)


def _linked(facts: Facts) -> bool:
    return facts.recording.linked > 0


_DEVICE = _Input("device activity", _count("kernel", "memcpy", "memset", "other_device"))
_SEVERAL_RANKS = _Input("more than one rank", lambda facts: (facts.world_size or 1) > 1, vital=True)

QUESTIONS: tuple[tuple[str, tuple[_Input, ...]], ...] = (
    (
        "Where did the step go?",
        (_Input("ops", _spent), _DEVICE, _Input("marked steps", _marked)),
    ),
    (
        "What kept the device waiting?",
        (
            _Input("device activity", _DEVICE.there, vital=True),
            _Input("launches", _linked),
            _Input("ops", _count("op")),
        ),
    ),
    (
        "Which line of code?",
        (
            _Input("Python frames", _count("python", "module")),
            _Input("stacks of ops as text", lambda facts: facts.recording.call_stacks),
        ),
    ),
    (
        "Which module?",
        (_Input("module calls", lambda facts: bool(facts.recording.modules), vital=True),),
    ),
    ("Which shapes?", (_Input("input shapes", lambda facts: facts.recording.shapes, vital=True),)),
    (
        "What filled the memory?",
        (
            _Input("allocator events", _count("memory"), vital=True),
            _Input("addresses", lambda facts: facts.recording.addresses),
            _Input("totals", lambda facts: facts.recording.totals),
        ),
    ),
    (
        "Did ranks wait for each other?",
        (
            _SEVERAL_RANKS,
            _Input("collectives", lambda facts: facts.recording.collectives > 0, vital=True),
        ),
    ),
)

# Either of these answers the question; the other adds nothing that is missed.
_EITHER = "Which line of code?"


def answerable(facts: Facts) -> tuple[Answerability, ...]:
    """One row per question, in the order of ``QUESTIONS``."""
    return tuple(_judge(facts, question, inputs) for question, inputs in QUESTIONS)


def _judge(facts: Facts, question: str, inputs: tuple[_Input, ...]) -> Answerability:
    has = [one for one in inputs if one.there(facts)]
    lacks = [one for one in inputs if one not in has]
    if question == _EITHER and has and has[0] is inputs[0]:
        lacks = []
    answer: Answer = "yes" if not lacks else "in part"
    if not has or any(one.vital for one in lacks):
        answer = "no"
    return Answerability(
        question,
        ", ".join(one.text for one in has),
        ", ".join(one.text for one in lacks),
        answer,
    )


def configuration(facts: Facts) -> dict[str, str]:
    """Label → value, in the order shown; unknown values are left out."""
    used = [device for device in facts.devices if device.used]
    kind = used[0].type if used else ""
    node, process = node_and_process(facts)
    none = "not known" if is_of_other_recorder(facts.torch_era) else "none recorded"
    rows = {
        "Device type": kind or none,
        "Devices": f"{len(used)} of {plural(len(facts.devices), 'visible ' + kind)} used"
        if used
        else "",
        "Device": " · ".join(sorted({_device_text(device) for device in used} - {""})),
        "Rank": "" if facts.rank is None else _rank(facts),
        "Communication": ", ".join(facts.traits.communication_backends),
        "Host": node,
        "Process": process,
        "Iterations" if facts.step_source == "iteration" else "Steps": _steps_text(facts),
        "DataLoader": facts.traits.dataloader_class or "",
    }
    return {label: value for label, value in rows.items() if value}


def node_and_process(facts: Facts) -> tuple[str, str]:
    """The host and the number of the process, by the file, else by its name; "" unknown."""
    told = facts.host_name, facts.recording.process
    node, process = process_behind(worker_of_file(facts.path), *told)
    return node, str(process or "")


def _device_text(device: DeviceFacts) -> str:
    memory = size(device.memory_bytes) if device.memory_bytes else ""
    return ", ".join(text for text in (device.name, memory) if text)


def _rank(facts: Facts) -> str:
    return f"{facts.rank}" if facts.world_size is None else f"{facts.rank} of {facts.world_size}"


def _steps_text(facts: Facts) -> str:
    if facts.step_source == "whole_trace":
        return "none marked"
    left_out = sum(step.excluded is not None for step in facts.steps)
    rest = f", {left_out} left out" if left_out else ""
    return f"{len(facts.steps)}{rest}"


_HOST = {
    HostKind.OP: "op",
    HostKind.ANNOTATION: "annotation",
    HostKind.PYTHON: "python",
    HostKind.MODULE: "module",
    HostKind.RUNTIME: "runtime",
    HostKind.OVERHEAD: "overhead",
    HostKind.OTHER: "other_host",
}
_DEVICE_KINDS = {
    DeviceKind.KERNEL: "kernel",
    DeviceKind.MEMCPY: "memcpy",
    DeviceKind.MEMSET: "memset",
    DeviceKind.OTHER: "other_device",
}


def counts(trace: Trace) -> dict[str, int]:
    """Rows of each table, by kind; each row counts once."""
    hosts, devices = count_codes(trace.host.kind), count_codes(trace.device.kind)
    return {
        # A file of memory alone has one range that says how long it lasts; it is no event.
        **{name: 0 if trace.timeline else int(hosts[kind]) for kind, name in _HOST.items()},
        **{name: int(devices[kind]) for kind, name in _DEVICE_KINDS.items()},
        "device_annotation": len(trace.device_annotations),
        "sync": len(trace.syncs) - (nodes := graph_nodes(trace)),
        "graph_node": nodes,
        "range": len(trace.ranges),
        "memory": len(trace.memory)
        + (trace.snapshot.size if trace.snapshot else 0)
        + (len(trace.timeline) if trace.timeline else 0),
        "counter": len(trace.counters),
        "flow": 2 * len(trace.flows),
    }


def replayed(trace: Trace) -> NDArray[np.bool_]:
    """True for device rows that a replay of a graph launched."""
    found: NDArray[np.bool_] = trace.device.link == Link.GRAPH
    number = trace.device.args.get("graph_id")
    if number is not None:
        found[number.row[number.value > 0]] = True  # also where the launch was not recorded
    return found


def graph_streams(trace: Trace) -> int:
    """On how many streams of one device nodes of graphs ran; of several devices, the most."""
    nodes = replayed(trace)
    if not nodes.any():
        return 0
    used = distinct(trace.device.stream[nodes], len(trace.streams))
    return int(np.bincount(trace.streams.device[used]).max())


def graph_nodes(trace: Trace) -> int:
    """The number of waits that are nodes of a graph, and no records of synchronization."""
    category = trace.syncs.category
    return int(np.count_nonzero(of_names(trace.strings, category, is_graph_node, np.bool_)))


def classified(trace: Trace) -> dict[str, int]:
    """Ns of device activity by class, kernels by family; "unclassified" is always there."""
    device = trace.device
    result = {"communication": 0, "copy": 0, "memset": 0}
    for klass, name in (
        (DeviceClass.COMMUNICATION, "communication"),
        (DeviceClass.COPY, "copy"),
        (DeviceClass.MEMSET, "memset"),
    ):
        result[name] = int(take(device.dur, where(device.klass == klass)).sum())
    rows = where(device.klass == DeviceClass.COMPUTE)
    codes = take(device.name, rows)
    families: dict[str, int] = {}
    from .kernel_families import family_of  # a kept summary has the sums

    time = group_sums(codes, take(device.dur, rows), len(trace.strings)).total
    for code in distinct(codes, len(trace.strings)).tolist():
        family = family_of(trace.strings[code])
        families[family] = families.get(family, 0) + int(time[code])
    return {**families, **result, "unclassified": families.get("unclassified", 0)}


MOST_PATH_CHARS = 4096
MOST_VALUES, MOST_VALUE_CHARS = 100, 2000
# Top-level keys that recorders and exporters write; what else there is, the user wrote.
_OF_RECORDERS = regex(
    r"schemaVersion|deviceProperties|computeProperties|distributedInfo|trace_?[nN]ame|trace_id"
    r"|group_trace_id|displayTimeUnit|baseTimeNanoseconds|host_name|record_shapes|with_\w+"
    r"|profile_memory|\w+_version|INFO|WARN(?:ING)?|ERROR|FATAL|otherData|systemTraceEvents"
    r"|stackFrames|samples|powerTraceAsString|controllerTraceDataKey|excerpt"
)
_VERSIONS = {
    "cuda_runtime_version": "CUDA runtime",
    "cuda_driver_version": "CUDA driver",
    "cupti_version": "CUPTI",
    "hip_runtime_version": "HIP runtime",
    "hip_driver_version": "HIP driver",
    "roctracer_version": "roctracer",
}


def recording_facts(trace: Trace) -> RecordingFacts:
    """Metadata of the recording, and the optional kinds of data that it has."""
    from .modules.sources import source_of  # a kept summary has the answer

    told = trace.recording
    memory = trace.memory
    return RecordingFacts(
        resolution_ns=told.resolution_ns,
        backend=told.backend,
        trace_id=told.trace_id,
        with_stack=told.with_stack,
        with_modules=told.with_modules,
        record_shapes=told.record_shapes,
        profile_memory=told.profile_memory,
        with_flops=told.with_flops,
        versions=_versions(told.metadata),
        shapes=says(trace, "input_dims"),
        call_stacks=says(trace, "call_stack"),
        addresses=trace.is_memory_alone or bool((memory.address != 0).any()),
        totals=trace.is_memory_alone or bool((memory.total_allocated >= 0).any()),
        syncs=len(trace.syncs) > graph_nodes(trace),
        grids=any(name in trace.device.args for name in ("grid", "blocks_per_sm")),
        messages="in_elements" in trace.device.args,
        clocks=any(CLOCK.search(name) for name in counter_names(trace)),
        linked=int((trace.device.launch >= 0).sum()),
        collectives=len(trace.collectives),
        modules=source_of(trace),
        working_directory=_working_directory(told.handler),
        threads=_number(told.handler.get("threads")),
        cores=_number(told.handler.get("cores")),
        cpu_peak=measured_peak(told.handler) is not None
        and not bool((trace.device.klass == DeviceClass.COMPUTE).any()),
        process=_process(trace),
        job=_text(told.handler.get("job")),
        script=_script(told.handler),
        user=user_values(_with_tags(told.metadata, told.handler)),
        memory_alone=trace.is_memory_alone,
        accelerator=accelerator(trace),
        file_format=told.file_format,
        graph_streams=graph_streams(trace),
        user_more=max(0, len(_user_keys(_with_tags(told.metadata, told.handler))) - MOST_VALUES),
    )


def _with_tags(metadata: Mapping[str, Any], handler: Mapping[str, Any]) -> Mapping[str, Any]:
    """Metadata that the user wrote into the file, and the tags given to our handler."""
    tags = handler.get("user")
    return {**metadata, **tags} if isinstance(tags, Mapping) else metadata


MOST_PROCESSES = 1 << 22  # of Linux


def _process(trace: Trace) -> int:
    """The process that recorded, even where a forked child saved the file; 0: not our handler's."""
    saved_by = _number(trace.recording.handler.get("pid"), MOST_PROCESSES)
    pids = distinct_values(trace.threads.pid[distinct(trace.host.thread, len(trace.threads))])
    told = trace.text(int(pids[0])) if saved_by and len(pids) == 1 else ""
    recorded_by = int(told) if re.fullmatch("[0-9]{1,7}", told) else 0
    return _number(recorded_by, MOST_PROCESSES) or saved_by


def _number(value: object, limit: int = 1 << 20) -> int:
    """A plausible number of threads or cores; 0 for anything else."""
    return value if type(value) is int and 0 < value <= limit else 0


def _text(value: object) -> str:
    """A text of plausible length; "" for anything else."""
    return value if isinstance(value, str) and len(value) <= MOST_PATH_CHARS else ""


def _script(handler: Mapping[str, Any]) -> str:
    """The started script, joined with the recorded directory as text; "" where not recorded."""
    script = handler.get("script")
    if not isinstance(script, str) or not 0 < len(script) <= MOST_PATH_CHARS:
        return ""
    return posixpath.normpath(posixpath.join(_working_directory(handler), script))


def _user_keys(metadata: Mapping[str, Any]) -> list[str]:
    return [key for key in metadata if not _OF_RECORDERS.fullmatch(key)]


CLOCK = regex(r"^(SM|GPU|Graphics) Clock\b", re.IGNORECASE)


def counter_names(trace: Trace) -> list[str]:
    """The names of all counters."""
    return [trace.strings[code] for code in distinct_values(trace.counters.name).tolist()]


def user_values(metadata: Mapping[str, Any]) -> tuple[UserValue, ...]:
    """Values that the user added to the file: a limited number, each shortened."""
    found = []
    for key in _user_keys(metadata)[:MOST_VALUES]:
        value = metadata[key]
        text = value if isinstance(value, str) else _json(value)
        more = max(0, len(text) - MOST_VALUE_CHARS)
        found.append(UserValue(key[:MOST_VALUE_CHARS], text[:MOST_VALUE_CHARS], more))
    return tuple(found)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be shown)"


def _working_directory(handler: Mapping[str, Any]) -> str:
    """The directory that our handler recorded; "" for other recorders, and for no path."""
    told = handler.get("cwd")
    return told if isinstance(told, str) and len(told) <= MOST_PATH_CHARS else ""


def says(trace: Trace, column: str) -> bool:
    """True if some host row has a value in an argument; an empty text or list is no value."""
    sparse: Sparse | None = trace.host.args.get(column)
    if sparse is None:
        return False
    codes = distinct(sparse.value, len(trace.strings)).tolist()
    return any(trace.strings[code] not in ("", "[]") for code in codes)


def _versions(metadata: Mapping[str, Any]) -> dict[str, str]:
    """CUDA writes 12080 for 12.8 and 26 for CUPTI 26; everything else is shown as it is."""
    found = {}
    for key, label in _VERSIONS.items():
        value = metadata.get(key)
        if isinstance(value, int) and key.startswith("cuda_"):
            found[label] = f"{value // 1000}.{value % 1000 // 10}"
        elif isinstance(value, int | float | str):
            found[label] = str(value)
    return found
