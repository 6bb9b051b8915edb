"""Everything the health record can say, as data: one entry per kind of note."""

from __future__ import annotations

from collections.abc import Mapping

from .file_notes import FILE
from .note_kind import DEVICE, EVERYTHING, HOST, RECORD, UPGRADE, NoteKind, harmless

TIME: Mapping[str, NoteKind] = {
    "timeless": NoteKind(
        "error",
        "{count} events have no believable time",
        "Their stamps lie hours away from the recording (torch 2.12 can write 0): they are"
        " counted, and in no figure.",
        "Record with another version of torch than 2.12.0.",
        EVERYTHING,
    ),
    "no_time": NoteKind(
        "warning", "{count} events without a time", "They are in no figure.", "", EVERYTHING
    ),
    "negative_duration": NoteKind(
        "warning",
        "{count} events end before they start",
        "They count as 0 ns long.",
        "",
        EVERYTHING,
    ),
    "absurd_duration": NoteKind(
        "warning",
        "{count} events last far beyond the recording",
        "Their durations cannot be right; they count as 0 ns long.",
        "",
        EVERYTHING,
    ),
    "missing_duration": NoteKind(
        "warning", "{count} events without a duration", "They count as 0 ns long.", "", EVERYTHING
    ),
    "unfinished": NoteKind(
        "info",
        "{count} ranges never ended",
        "They were open when the recording stopped; they last until the end of the trace.",
        "",
        HOST,
    ),
    "stray_ends": harmless("{count} ends without a begin", "They were ignored."),
    "rounded_time": NoteKind(
        "info",
        "Times are whole microseconds",
        "Rounding is ±1 µs: short events can be off by much each, {count} of {total} read 0. Sums"
        " are not biased.",
        UPGRADE,
    ),
    "partial_overlap": NoteKind(
        "info",
        "{count} events outlive what encloses them",
        "Generators, coroutines and two clocks do that. They hang below the next event that"
        " contains them; no time is counted twice.",
    ),
    "stream_overlap": NoteKind(
        "info",
        "{count} kernels start before the one ahead of them on their stream ends",
        "Dependent launches and graphs do that. Busy time counts every instant once.",
    ),
    "clock_skew": NoteKind(
        "warning",
        "{count} kernels start before their launch",
        "The clocks of host and device disagree by up to {detail}: delays between launch and"
        " kernel, and the causes of idle time, are uncertain by that much.",
        "",
        DEVICE,
    ),
}

LINKS: Mapping[str, NoteKind] = {
    "all_linked": NoteKind(
        "good",
        "Every kernel has its launch",
        "{count} of {total} linked: idle causes and device times of operators are complete.",
    ),
    "orphans": NoteKind(
        "info",
        "{share} of the device activity has no launch",
        "{count} of {total} cannot be traced to an operator; their time shows as unattributed.",
        "",
        DEVICE,
    ),
    "many_orphans": NoteKind(
        "warning",
        "{share} of the device activity has no launch",
        "{count} of {total} cannot be traced to an operator; their time shows as unattributed and"
        " causes of idle time are uncertain.",
        "Record ProfilerActivity.CPU beside ProfilerActivity.CUDA, and one warm-up step.",
        DEVICE,
    ),
    "prologue": NoteKind(
        "info",
        "{count} kernels were launched before the recording began",
        "They count as device time and belong to no step and no operator.",
        "Keep warmup=1 or more in the schedule.",
    ),
    "long_prologue": NoteKind(
        "warning",
        "{share} of the device activity was launched before the recording began",
        "{count} of {total} count as device time and belong to no step and no operator.",
        "Keep warmup=1 or more in the schedule.",
        DEVICE,
    ),
    "no_runtime": NoteKind(
        "warning",
        "No launches recorded",
        "Device work cannot be traced through runtime calls: idle causes and launch delays are"
        " not available.",
        RECORD.format("activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"),
        DEVICE,
    ),
    "graphs": NoteKind(
        "info",
        "{count} of {total} kernels were replayed by graphs",
        "One launch starts many: inside a graph the operator of a kernel is not known.",
    ),
    "graph_dependencies": harmless(
        "{count} arrows say what waits for what inside graphs",
        "They are no launches and no figure counts them. A node that starts a little before the one"
        " it waits for ends has an arrow back in time.",
    ),
    "external_id_ignored": harmless(
        "External ids repeat the correlation",
        "torch 1.11 to 2.3 write them so; operators were found by the launches instead.",
    ),
    "external_id_disagrees": harmless(
        "{count} kernels name another operator than the one around their launch",
        "The operator around the launch counts ({total} were compared).",
    ),
    "shared_correlation": harmless(
        "{count} correlations belong to several calls", "The launching call of each was taken."
    ),
    "lonely_flows": harmless(
        "{count} arrows lack their other end",
        "Recorders write them for calls that launch nothing; links do not depend on them.",
    ),
}

CONTENT: Mapping[str, NoteKind] = {
    "no_device": NoteKind(
        "info",
        "Host only",
        "No device activity was recorded: device views are not available.",
        "On a machine with an accelerator, add its ProfilerActivity.",
    ),
    "lost_kernels": NoteKind(
        "warning",
        "{count} launches, but no kernels",
        "The recorder of device activity failed or was taken by another tool: device views are"
        " not available.",
        "Run nvidia-smi on the host; let only one profiler run at a time.",
        DEVICE,
    ),
    "device_only": NoteKind(
        "info",
        "Device only",
        "No operators were recorded: operator views are not available.",
        RECORD.format("activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"),
        ("operators", "modules"),
    ),
    "no_shapes": NoteKind(
        "info",
        "No input shapes",
        "Operators cannot be told apart by shape; FLOPs and efficiency are not available.",
        RECORD.format("record_shapes=True"),
        ("operators",),
    ),
    "no_stacks": NoteKind(
        "info",
        "No Python frames",
        "Source lines, modules and the flame graph by line are not available.",
        RECORD.format("with_stack=True"),
        ("modules",),
    ),
    "stacks_as_text": NoteKind(
        "info",
        "No Python frames",
        "Modules and the flame graph by line are not available. Call stacks of operators are:"
        " they were recorded as text.",
        UPGRADE,
        ("modules",),
    ),
    "no_memory": NoteKind(
        "info",
        "No allocator events",
        "Memory is not available.",
        RECORD.format("profile_memory=True"),
        ("memory",),
    ),
    "no_addresses": NoteKind(
        "warning",
        "Allocator events carry no addresses or totals",
        "Memory shows a relative curve only. Lifetimes, categories and leaks need addresses,"
        " which torch records since 1.10.",
        UPGRADE,
        ("memory",),
    ),
    "no_steps": NoteKind(
        "info",
        "No steps",
        "The whole trace counts as one step.",
        "Give the profiler a schedule and call prof.step() once per iteration.",
        ("overview",),
    ),
    "steps_from_annotations": NoteKind(
        "info",
        "Steps are the annotations “{detail}”",
        "torch wrote no steps; this family of annotations repeats regularly and covers most of"
        " the trace.",
        "Give the profiler a schedule and call prof.step() once per iteration.",
    ),
    "step_numbers": NoteKind(
        "warning",
        "Step numbers repeat or go backwards",
        "Steps are shown in the order of time.",
        "",
        ("overview",),
    ),
    "unfinished_step": NoteKind(
        "warning",
        "The last step is cut off",
        "It was open when the recording stopped: it is shorter than it was.",
        "",
        ("overview",),
    ),
    "graph_nodes": harmless(
        "{count} nodes of graphs are no device work",
        "At them the stream calls the host or marks an event. They stand among the waits of their"
        " device in Trace, and count as no kernel and no busy time.",
    ),
    "cuspy": harmless(
        "Device work was recorded by Cuspy, torch's second CUPTI engine",
        "It writes neither occupancy nor the operator of a launch: kernels are linked by the call"
        " that launched them, occupancy is computed where the device's properties are in the file.",
    ),
    "occupancy_computed": harmless(
        "The occupancy of {count} of {total} kernels was computed",
        "The recorder wrote 0 for them, or nothing: it does so for kernels with more than 48 KiB of"
        " shared memory. It follows from grid, block, registers, shared memory and the device's"
        " properties, and is an upper bound.",
    ),
    "occupancy_unknown": harmless(
        "The occupancy of {count} of {total} kernels is not known",
        "The recorder wrote 0 for them, which is no value, and the properties of the device or the"
        " launch, from which it could be computed, are not in the file. No mean counts them.",
    ),
    "unknown_categories": harmless(
        "Events of unknown categories: {detail}",
        "They are shown in Trace and counted as other time.",
    ),
    "lost_names": harmless(
        "{count} events are called “unknown”",
        "torch since 2.7 writes that in place of names with characters that are not ASCII.",
        "Use ASCII in record_function() names.",
    ),
    "several_processes": NoteKind(
        "info",
        "{count} host processes in one file",
        "The file was merged: figures of the host add up over its processes.",
    ),
    "recorder_errors": NoteKind(
        "warning",
        "The recorder reported {count} errors",
        "Events may be missing from the file.",
        "",
        EVERYTHING,
    ),
    "recorder_warnings": NoteKind(
        "info", "The recorder reported {count} warnings", "Events may be missing from the file."
    ),
    "profiler_overhead": NoteKind(
        "warning",
        "Recording took {share} of the time",
        "The profiler's own work held up the host: host times are longer than without it.",
        "Skip the first steps: schedule(wait=1, warmup=2, active=…).",
        HOST,
    ),
    "python_tracing": NoteKind(
        "info",
        "Python frames were traced",
        "Tracing each call makes Python code slower than it is without the profiler; device times"
        " are not touched.",
        "For true host times record once without with_stack.",
    ),
    "thread_renamed": harmless(
        "{count} threads have two names",
        "Numbers of threads were used again; the last name is shown.",
    ),
    "python_exporter": harmless(
        "Written by torch's Python exporter",
        "It writes the number of multiprocessors under another key; that was set right.",
    ),
    "derived_rows": harmless(
        "{count} rows derived by the exporter",
        "They repeat what other rows say (overlap analysis) and are in no figure.",
    ),
}

CATALOG: Mapping[str, NoteKind] = {**FILE, **TIME, **LINKS, **CONTENT}
UNKNOWN = NoteKind("info", "{detail}", "The reader met something it has no words for.")
