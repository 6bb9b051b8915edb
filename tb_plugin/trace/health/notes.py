"""Every note of the health record, as data: one entry per kind.

Titles may use ``{count}``, ``{total}``, ``{share}`` (of the two, in percent) and ``{detail}``. A
note of severity "error" means that part of the file is lost; "warning" affects a figure; "info"
explains; "good" confirms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from ..model import is_of_other_recorder
from ..recipes import (
    ALLOCATIONS,
    FRAMES,
    LEGACY,
    NEW_PROFILER,
    SHAPES,
    Option,
    activity,
    with_option,
)

EVERYTHING = (
    "overview",
    "operators",
    "kernels",
    "timeline",
    "memory",
    "modules",
    "distributed",
    "diff",
)
HOST = ("overview", "operators", "timeline", "modules")
DEVICE = ("overview", "kernels", "operators", "timeline")

CHOSEN = "Since torch 2.15 activities can be chosen by kind; the user may have left these out."


class OfTorch(NamedTuple):
    """A remedy that torch.profiler has, and the one for the files of other recorders, if any.

    It may use ``{activity}``: that of the recorded device, as ``ProfilerActivity`` calls it. With
    an ``option`` it is a sentence on that, for the version that wrote the file; ``of_profile`` are
    those that ``torch.autograd.profiler`` has not.
    """

    text: str
    of_others: str = ""
    option: Option | None = None
    of_profile: bool = False


STEPS_OF_ANY_RECORDER = (
    "Ranges of the category `user_annotation` count as steps in the files of any recorder: three or"
    " more of one name on one thread, one after the other, over half of the time."
)


class NoteKind(Struct, frozen=True):
    """Title, texts and severity of one note. ``counts_as``: "skipped" or "repaired", for faults.

    A ``remedy`` that is a plain text is one for the files of all recorders.
    """

    severity: str
    title: str
    consequence: str
    remedy: str | OfTorch = ""
    taints: tuple[str, ...] = ()
    counts_as: str = ""

    def remedy_of(self, torch_era: str = "", device_type: str = "") -> str:
        """The remedy for the recorder of this file; "" if there is none."""
        if isinstance(self.remedy, str):
            return self.remedy
        if is_of_other_recorder(torch_era):
            return self.remedy.of_others
        if self.remedy.option is not None:
            how = with_option(self.remedy.option, torch_era)
            return f"{how[0].upper()}{how[1:]}."
        text = self.remedy.text.replace("{activity}", activity(device_type))
        return f"{text} {NEW_PROFILER}" if self.remedy.of_profile and torch_era == LEGACY else text


UPGRADE = OfTorch("Record with torch 2.4 or newer.")
MARK_STEPS = OfTorch(
    "Give the profiler a schedule and call prof.step() once per iteration.",
    STEPS_OF_ANY_RECORDER,
    of_profile=True,
)
BOTH_SIDES = OfTorch(
    "Record with `activities=[ProfilerActivity.CPU, ProfilerActivity.{activity}]`.", of_profile=True
)
WARM_UP = OfTorch("Keep warmup=1 or more in the schedule.", of_profile=True)


def _record(option: Option) -> OfTorch:
    return OfTorch("", option=option)


def harmless(title: str, consequence: str, remedy: str | OfTorch = "") -> NoteKind:
    """A note that explains and affects no figure."""
    return NoteKind("info", title, consequence, remedy)


_AGAIN = "Let the recording end before the process does, and copy the file whole."


def _repaired(title: str, consequence: str, remedy: str | OfTorch = "") -> NoteKind:
    return NoteKind("info", title, consequence, remedy, counts_as="repaired")


def _skipped(title: str, consequence: str, remedy: str = _AGAIN) -> NoteKind:
    return NoteKind("error", title, consequence, remedy, EVERYTHING, "skipped")


def _lost(title: str, consequence: str, remedy: str | OfTorch) -> NoteKind:
    """A part of the file is lost, which touches every figure."""
    return NoteKind("error", title, consequence, remedy, EVERYTHING)


def _uncertain(title: str, consequence: str, remedy: str | OfTorch = "") -> NoteKind:
    """Something that touches every figure, though nothing is lost."""
    return NoteKind("warning", title, consequence, remedy, EVERYTHING)


def _of_steps(title: str, consequence: str, remedy: str | OfTorch = "") -> NoteKind:
    return NoteKind("warning", title, consequence, remedy, ("overview",))


FILE: Mapping[str, NoteKind] = {
    "gzip_truncated": _lost(
        "The compressed file ends early",
        "Everything before the cut was read; what came later is missing from every figure.",
        _AGAIN,
    ),
    "gzip_unfinished": _uncertain(
        "The compressed file lacks its last bytes",
        "The trace in it is whole, but its checksum is missing: single characters may be wrong.",
        _AGAIN,
    ),
    "gzip_corrupt": _lost(
        "The compressed file is damaged",
        "Everything before the damage was read; what came later is missing from every figure.",
        "Copy the file again in binary mode.",
    ),
    "gzip_checksum": _uncertain(
        "The checksum of the compressed file is wrong",
        "The text was read as it is; single characters may be wrong.",
        "Copy the file again in binary mode.",
    ),
    "gzip_trailing": harmless(
        "Bytes after the compressed data", "They are not part of the trace and were ignored."
    ),
    "gzip_nested": harmless("Compressed twice", "Both layers were opened."),
    "encoding": harmless(
        "Byte order mark before the text", "An editor saved the file again; nothing is lost."
    ),
    "truncated": _lost(
        "The file ends in the middle",
        "Every complete event was read; what came later is missing from every figure.",
        _AGAIN,
    ),
    "bad_packet": _skipped(
        "{count} packets could not be read", "Missing from every figure; the rest was read."
    ),
    "other_packet": harmless(
        "{count} packets of kinds that are not read",
        "Slices, counters and the work of devices are read from a Perfetto file; its other packets"
        " (of the system's scheduler, for example) are in no figure.",
        "ui.perfetto.dev shows them.",
    ),
    "unpaired_end": NoteKind(
        "warning",
        "{count} ends of slices have no begin",
        "Ignored: the begin was before the recording, or was lost.",
        "",
        HOST,
    ),
    "lost_iid": NoteKind(
        "warning",
        "{count} names are not in the file",
        "The packet with the name was lost, or was before the recording. # and the number of the"
        " name replace it.",
        "",
        HOST,
    ),
    "snapshot_records": _skipped(
        "{count} records of the memory snapshot are not understood", "Left out of every figure."
    ),
    "snapshot_no_history": NoteKind(
        "warning",
        "The snapshot has no history",
        "It lists the blocks held when it was taken, but no earlier allocations.",
        OfTorch(
            "Call `_record_memory_history()` of the device's module (`torch.cuda.memory`,"
            " `torch.xpu.memory`) before the training begins."
        ),
        ("memory",),
    ),
    "snapshot_no_times": NoteKind(
        "warning",
        "The snapshot has no times",
        "Its events are drawn one microsecond apart, in their order.",
        OfTorch("Write it with torch 2.1 or newer."),
        ("memory",),
    ),
    "bad_utf8": _repaired("Bytes that are not UTF-8", "� replaces them in names."),
    "lone_surrogate": _repaired("Incomplete characters", "� replaces them in names."),
    "control_char": _repaired("Line breaks inside names", "They were kept.", UPGRADE),
    "bad_escape": _repaired(
        "Backslashes that are not escaped", "They were read as they are.", UPGRADE
    ),
    "unescaped_quote": _repaired(
        "Quotes inside names",
        "The recorder did not escape them; each name was read up to the quote that ends its field.",
    ),
    "not_a_number": _repaired("Values that are not numbers", "They were read as missing."),
    "stray_comma": _repaired("Commas without a value", "They were ignored."),
    "missing_comma": _repaired("Commas missing between events", "The events were read."),
    "missing_quote": _repaired("Keys without a quote", "They were read as meant."),
    "comment": harmless("Comments in the file", "They were ignored."),
    "bad_number": _repaired("Numbers in an odd form", "They were read as meant, or as missing."),
    "skipped_event": _skipped(
        "{count} events could not be read", "Missing from every figure; the rest was read."
    ),
    "skipped_text": _skipped(
        "{count} pieces of text could not be read",
        "The text belongs to no event; reading continued after it.",
    ),
    "oversized": _skipped(
        "{count} events or values are too large", "Left out, and missing from every figure."
    ),
    "too_many_events": _lost(
        "More events than one trace can hold",
        "The first ones were read; the rest is missing from every figure.",
        "Record fewer steps.",
    ),
    "bad_metadata": harmless(
        "Metadata that cannot be read",
        "A value is no JSON; it was left out.",
        OfTorch("Pass json.dumps(value) to add_metadata_json()."),
    ),
    "repeated_key": harmless("Metadata given twice", "The last value counts."),
    "repeated_events": harmless(
        "Two lists of events in one file", "The second was read after the first."
    ),
    "repeated_document": _uncertain(
        "Several traces in one file",
        "After the first, {count} more were read: their events are part of this recording, their"
        " metadata is not. If they come from different processes or machines, sums and idle times"
        " mix them.",
        "Write each recording into a separate file.",
    ),
    "json_lines": harmless("One event a line", "The lines were read as a list of events."),
    "trailing_text": NoteKind(
        "warning",
        "Text after the end of the trace",
        "{count} pieces were left out: they are neither a trace nor events.",
        _AGAIN,
        counts_as="skipped",
    ),
    "not_an_event": _skipped("{count} members of the event list are not events", "Left out.", ""),
    "odd_field": harmless("Fields of an unusual type", "They were read as their text."),
    "odd_args": harmless("Arguments that are not an object", "They were ignored."),
    "odd_arg": harmless("Arguments of an unusual type", "They are shown with the event only."),
    "bad_ts": _uncertain("{count} events with an unreadable time", "Left out of every figure."),
    "bad_dur": _uncertain("{count} events with an unreadable duration", "Each counts as 0 ns."),
    "wide_int": harmless("Numbers wider than 64 bits", "They are shown with the event only."),
    "complete": NoteKind(
        "good", "Read completely", "Events: {count}. Nothing was skipped or repaired."
    ),
    "empty": _uncertain(
        "No events",
        "The recording window holds nothing: every figure is empty.",
        OfTorch(
            "Run the code to profile between start() and stop(), or inside the active steps of the"
            " schedule."
        ),
    ),
}


TIME: Mapping[str, NoteKind] = {
    "timeless": _lost(
        "{count} events have no plausible time",
        "The time is hours away from the recording. Left out of every figure.",
        OfTorch("torch 2.12.0 can write 0: record with another version."),
    ),
    "no_time": _uncertain("{count} events without a time", "Left out of every figure."),
    "negative_duration": _uncertain("{count} events end before they start", "Each counts as 0 ns."),
    "absurd_duration": _uncertain(
        "{count} events last far beyond the recording",
        "Such a duration cannot be right; each counts as 0 ns.",
    ),
    "missing_duration": _uncertain("{count} events without a duration", "Each counts as 0 ns."),
    "unfinished": NoteKind(
        "info",
        "{count} ranges never ended",
        "Open when the recording stopped; each is drawn to the end of the trace.",
        "",
        HOST,
    ),
    "stray_ends": harmless("{count} ends without a begin", "Ignored."),
    "rounded_time": harmless(
        "Times are whole microseconds",
        "Each is off by up to 1 µs: {count} of {total} durations read 0. Sums are not biased.",
        UPGRADE,
    ),
    "partial_overlap": harmless(
        "{count} events end after the event that encloses them",
        "Generators, coroutines and differing clocks cause this. Each such event becomes a child of"
        " the next event that contains it; no time is counted twice.",
    ),
    "stream_overlap": harmless(
        "{count} kernels start before the one ahead of them on their stream ends",
        "Dependent launches and graphs cause this. Busy time counts every instant once.",
    ),
    "clock_skew": NoteKind(
        "warning",
        "{count} kernels start before their launch",
        "The clocks of host and device disagree by up to {detail}. Launch delays and causes of"
        " idle time are uncertain by that much.",
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
        "{count} of {total} cannot be traced to an operator; the time shows as unattributed.",
        "",
        DEVICE,
    ),
    "many_orphans": NoteKind(
        "warning",
        "{share} of the device activity has no launch",
        "{count} of {total} cannot be traced to an operator; the time shows as unattributed, and"
        " causes of idle time are uncertain.",
        OfTorch(
            "Record ProfilerActivity.CPU beside ProfilerActivity.{activity}, and one warm-up step."
        ),
        DEVICE,
    ),
    "prologue": harmless(
        "{count} kernels were launched before the recording began",
        "Counted as device time, but in no step and no operator.",
        WARM_UP,
    ),
    "long_prologue": NoteKind(
        "warning",
        "{share} of the device activity was launched before the recording began",
        "{count} of {total} count as device time, but in no step and no operator.",
        WARM_UP,
        DEVICE,
    ),
    "no_runtime": NoteKind(
        "warning",
        "No launches recorded",
        "Device work cannot be traced through runtime calls: idle causes and launch delays are"
        " not available.",
        BOTH_SIDES,
        DEVICE,
    ),
    "chosen_kinds": harmless("Activities may have been chosen by kind", CHOSEN),
    "graphs": harmless(
        "{count} of {total} kernels were replayed by graphs",
        "One launch starts many kernels: the operator of each is not known.",
    ),
    "graph_dependencies": harmless(
        "{count} arrows mark dependencies inside graphs",
        "These are not launches. Idle time inside a graph and the critical path follow them."
        " If a node starts just before its predecessor ends, its arrow points back in time.",
    ),
    "external_id_ignored": harmless(
        "External ids repeat the correlation",
        "torch 1.11 to 2.3 write them this way; operators were found by their launches instead.",
    ),
    "external_id_disagrees": harmless(
        "{count} kernels name another operator than the one around their launch",
        "The operator around the launch is used ({total} were compared).",
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
    "no_device": harmless(
        "Host only",
        "No device activity was recorded: device views are not available.",
        OfTorch("Where the run used a device, add its `ProfilerActivity`.", of_profile=True),
    ),
    "unknown_device": harmless(
        "No device known",
        "No event is recognized as device work: device views are not available.",
    ),
    "lost_kernels": NoteKind(
        "warning",
        "{count} launches, but no kernels",
        "The recorder of device activity failed or was in use by another tool: device views are"
        " not available.",
        OfTorch(
            "Let only one profiler run at a time; look at the devices with nvidia-smi or rocm-smi."
        ),
        DEVICE,
    ),
    "left_out_kernels": NoteKind(
        "warning",
        "{count} launches, but no kernels",
        f"Other device work was recorded. {CHOSEN} Figures of kernel time and idle time are not"
        " available.",
        BOTH_SIDES,
        DEVICE,
    ),
    "left_out_copies": NoteKind(
        "info",
        "{count} calls copy, but no copies were recorded",
        f"Other device work was recorded. {CHOSEN} No figure includes copies: a device looks"
        " idle where only copies ran.",
        BOTH_SIDES,
        DEVICE,
    ),
    "device_only": NoteKind(
        "info",
        "Device only",
        "No operators were recorded: operator views are not available.",
        BOTH_SIDES,
        ("operators", "modules"),
    ),
    "no_shapes": NoteKind(
        "info",
        "No input shapes",
        "Operators cannot be grouped by shape; FLOPs and efficiency are not available.",
        _record(SHAPES),
        ("operators",),
    ),
    "no_stacks": NoteKind(
        "info",
        "No Python frames",
        "Source lines, modules and the flame graph by line are not available.",
        _record(FRAMES),
        ("modules",),
    ),
    "stacks_as_text": NoteKind(
        "info",
        "No Python frames",
        "Modules and the flame graph by line are not available. Call stacks of operators are:"
        " they were recorded as text.",
        OfTorch(f"Record with torch {FRAMES.version} or newer."),
        ("modules",),
    ),
    "no_memory": NoteKind(
        "info", "No allocator events", "Memory is not available.", _record(ALLOCATIONS), ("memory",)
    ),
    "no_addresses": NoteKind(
        "warning",
        "Allocator events carry no addresses or totals",
        "Memory shows a relative curve only. Lifetimes, categories and leaks need addresses,"
        " which torch records since 1.11.",
        OfTorch("Record with torch 1.11 or newer."),
        ("memory",),
    ),
    "no_steps": NoteKind(
        "info", "No steps", "The whole trace counts as one step.", MARK_STEPS, ("overview",)
    ),
    "partial_window": harmless(
        "{count} of {total} steps were recorded: the loop ended",
        "The schedule asked for more. Steps that did not end are left out by default.",
        OfTorch("Record with fewer active steps, or run the loop longer."),
    ),
    "after_loop": _uncertain(
        "No step was recorded: the loop ended before",
        "The only step, {detail}, began after the last prof.step() and has no work.",
        OfTorch("Record with a schedule that is shorter than the loop."),
    ),
    "step_not_called": _of_steps(
        "prof.step() was never called", "The whole recording counts as one step.", MARK_STEPS
    ),
    "steps_from_annotations": harmless(
        "Steps are the annotations “{detail}”",
        "The recorder wrote no steps. These annotations repeat regularly and cover most of the"
        " trace.",
        MARK_STEPS,
    ),
    "step_numbers": _of_steps(
        "Step numbers repeat or go backwards", "Steps are shown in the order of time."
    ),
    "unfinished_step": _of_steps(
        "The last step is cut off",
        "It was open when the recording stopped: its recorded part is too short.",
    ),
    "graph_nodes": harmless(
        "{count} nodes of graphs are not device work",
        "Such a node calls the host or marks an event. Trace lists it among waits of its device;"
        " it counts neither as a kernel nor as busy time.",
    ),
    "cuspy": harmless(
        "Device work was recorded by Cuspy, torch's second CUPTI engine",
        "It records neither occupancy nor the operator of a launch. Kernels are linked by their"
        " launching call; occupancy is computed if the file has the device's properties.",
    ),
    "perfetto": harmless(
        "Read from Perfetto protobuf",
        "Not available, because torch writes it to JSON only: direction and memory kind of copies,"
        " static shared memory and limits of the device (and so occupancy), allocator events,"
        " instants, arrows from forward to backward, rank, world size and added metadata.",
        OfTorch("For these, export to a name that ends with .json.gz."),
    ),
    "cut_rows": NoteKind(
        "warning",
        "{count} of {total} rows of devices may have been cut",
        "torch cuts overlapping rows of a .pftrace where the next one starts, without a mark."
        " Kernel time, busy time and overlap of these lanes are lower bounds.",
        OfTorch("For whole rows, export to a name that ends with .json.gz."),
        DEVICE,
    ),
    "not_torch": harmless(
        "Not written by PyTorch",
        "Another program wrote this Perfetto file. Trace shows its slices and counters; the other"
        " views are not available.",
    ),
    "occupancy_computed": harmless(
        "The occupancy of {count} of {total} kernels was computed",
        "The recorder wrote 0 or nothing, as it does below half a percent and for more than 48 KiB"
        " of shared memory. Computed from grid, block, registers, shared memory and the device's"
        " properties; an upper bound.",
    ),
    "occupancy_unknown": harmless(
        "The occupancy of {count} of {total} kernels is not known",
        "The recorder wrote 0, which is no value, and the file lacks the properties of the device"
        " or the launch to compute it. Means leave these kernels out.",
    ),
    "unknown_categories": harmless(
        "Events of unknown categories: {detail}",
        "They are shown in Trace and counted as other time.",
    ),
    "lost_names": harmless(
        "{count} events are called “unknown”",
        "torch 2.7 and newer write this instead of names with non-ASCII characters.",
        OfTorch("Use ASCII in record_function() names."),
    ),
    "several_processes": harmless(
        "{count} host processes in one file",
        "The file was merged: host figures are sums over its processes.",
    ),
    "recorder_errors": _uncertain(
        "The recorder reported {count} errors", "Events may be missing from the file."
    ),
    "recorder_warnings": harmless(
        "The recorder reported {count} warnings", "Events may be missing from the file."
    ),
    "profiler_overhead": NoteKind(
        "warning",
        "Recording took {share} of the time",
        "The profiler's own work delayed the host: host times are longer than without it.",
        OfTorch("Skip the first steps: schedule(wait=1, warmup=2, active=…).", of_profile=True),
        HOST,
    ),
    "python_tracing": harmless(
        "Python frames were traced",
        "Tracing slows Python code down; device times are not affected.",
        OfTorch("For true host times record once without with_stack."),
    ),
    "thread_renamed": harmless(
        "{count} threads have two names",
        "Thread numbers were reused; the last name is shown.",
    ),
    "python_exporter": harmless(
        "Written by torch's Python exporter",
        "It writes the number of multiprocessors under another key, which is read, too.",
    ),
    "derived_rows": harmless(
        "{count} rows derived by the exporter",
        "Duplicates of other rows (overlap analysis): left out of every figure.",
    ),
}

CATALOG: Mapping[str, NoteKind] = {**FILE, **TIME, **LINKS, **CONTENT}
UNKNOWN = harmless("{detail}", "This version has no description of it.")
