"""Health: how complete is the recording, and how to record it better (contract: the Structs)?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct

from ..analysis.facts import Facts, UserValue
from ..analysis.findings import Sentence
from ..analysis.recording import (
    OTHER_RECORDER,
    answerable,
    node_and_process,
)
from ..base.units import count as count_text
from ..base.units import plural, size
from ..trace.health_record import HealthRecord, Note, worst_first
from ..trace.model import RECORDERS, is_of_other_recorder
from ..trace.recipes import ASCEND
from .table import Column, Table, column, heads, table_from
from .view import View


class HealthQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class Answerable(Struct, frozen=True):
    """A question, and whether this recording can answer it."""

    question: Annotated[str, column("Question", "A common question about a run.", kind="words")]
    answer: Annotated[
        Literal["yes", "in part", "no"],
        column("Answer", "Yes, in part or no: can this recording answer it?", kind="words"),
    ]
    has: Annotated[str, column("Has", "The recorded data that answers it.", kind="text")]
    lacks: Annotated[str, column("Lacks", "The missing data that would answer it.", kind="text")]


class Count(Struct, frozen=True):
    """Number of events of one kind."""

    label: Annotated[str, column("Kind", "Kind of the events.", kind="words")]
    count: Annotated[int, column("Events", "Number of events, each in one row.")]
    help: str = ""


class NoteRow(Struct, frozen=True):
    """A note as tables have it; None where counting makes no sense."""

    severity: Annotated[
        str,
        column(
            "Severity",
            "error: part of the file is lost; warning: a figure is less certain or missing; info"
            " explains; good confirms.",
        ),
    ]
    title: Annotated[str, column("Note", "The observation.", kind="words")]
    count: Annotated[
        int | None, column("Events", "Number of cases; empty if they are not countable.")
    ]
    consequence: Annotated[str, column("Consequence", "Its effect on figures.", kind="text")]
    remedy: Annotated[str, column("Remedy", "A better way to record.", kind="text")]
    total: Annotated[int | None, column("Out of", "Number of all such events.", is_minor=True)]
    example: Annotated[
        str, column("Example", "One of them, as in the file.", kind="text", is_minor=True)
    ]
    offset: Annotated[
        int | None,
        column("Place in the text", "Byte of the example in the unpacked text.", is_minor=True),
    ]


class SnippetLine(Struct, frozen=True):
    """One line of the recipe."""

    text: str
    added: bool  # not in this recording: what the reader should add


class Health(Struct, frozen=True):
    """The answer."""

    sentence: Sentence
    notes: tuple[Note, ...]  # worst first
    counts_columns: tuple[Column, ...]
    counts: tuple[Count, ...]  # what was read: ops, kernels, …; sums to the events of the file
    file_bytes: int
    text_bytes: int
    # a recording that fills every gap; none for a file of another recorder
    snippet: tuple[SnippetLine, ...]
    answers_columns: tuple[Column, ...]
    answers: tuple[Answerable, ...]
    recording: dict[str, str]  # label → value of what the file says about itself
    user: tuple[UserValue, ...]  # what the user added: add_metadata, add_metadata_json
    user_more: int  # values beyond those


# Key of Facts.counts → what its rows are called, and what they are.
_COUNTS = {
    "op": ("Ops", "Operators on the host."),
    "annotation": ("Annotations", "Ranges of `record_function` and of the recorder."),
    "python": ("Python frames", "Calls of Python functions."),
    "module": ("Module calls", "Python frames that are calls of an `nn.Module`."),
    "runtime": ("Runtime calls", "Calls of the device's runtime or driver on the host."),
    "overhead": ("Profiler overhead", "Time the profiler itself took."),
    "other_host": ("Other host events", "Host events of a category that says no more."),
    "kernel": ("Kernels", "Kernels on devices, those of collectives too."),
    "memcpy": ("Copies", "Copies to, from and on devices."),
    "memset": ("Memsets", "Memory set on devices."),
    "other_device": ("Other device events", "Device events of a category that says no more."),
    "device_annotation": ("Device annotations", "Annotations as seen on device tracks."),
    "sync": ("Synchronizations", "Records of waiting between streams and host."),
    "graph_node": (
        "Graph nodes",
        "Calls of the host and records of events inside CUDA graphs: no device work.",
    ),
    "range": ("Recorder ranges", "Ranges of the recorder without a thread."),
    "memory": ("Allocator events", "Allocations and frees."),
    "counter": ("Counter samples", "Samples of counters."),
    "flow": ("Ends of forward-backward flows", "Two for each flow."),
}


def build(facts: Facts, query: HealthQuery) -> Health:  # noqa: ARG001  # the form of View.build
    """The state of the recording behind all other views."""
    health = facts.health
    notes = worst_first((*health.notes, *_hang(facts)))
    return Health(
        sentence=_sentence(facts, notes),
        notes=notes,
        counts_columns=heads(Count),
        counts=_counts(facts),
        file_bytes=health.file_bytes,
        text_bytes=health.text_bytes,
        snippet=_snippet(facts),
        answers_columns=heads(Answerable),
        answers=tuple(
            Answerable(question, answer, has, lacks)
            for question, has, lacks, answer in answerable(facts)
        ),
        recording=_recording(facts),
        user=facts.recording.user,
        user_more=facts.recording.user_more,
    )


def _hang(facts: Facts) -> tuple[Note, ...]:
    """The warning that a collective hung, where logs of one lie beside the trace."""
    from ..trace.pickles.flight_recorder import logs_below  # the first screen needs no numpy

    folder = Path(facts.path).parent
    try:
        logs = logs_below(folder) if folder.is_dir() else ()
    except OSError:
        return ()
    if not logs:
        return ()
    return (
        Note(
            kind="hang",
            severity="warning",
            title="Logs of a hang lie beside this trace",
            count=len(logs),
            total=0,
            consequence="A collective did not end. Distributed names the ranks that never came.",
            example=logs[0].name.encode("utf-8", "replace").decode(),
            taints=("distributed",),
        ),
    )


def _sentence(facts: Facts, notes: Sequence[Note]) -> Sentence:
    health = facts.health
    lost = [note for note in notes if note.severity == "error"]
    limits = sum(note.severity == "warning" for note in notes)
    said = f"{plural(limits, 'warning')} {'limits' if limits < 2 else 'limit'} the answers."
    if not limits:  # what was not recorded is in the table of answers: it is no fault of the file
        said = "No warning touches its figures."
    read = "Read in part: some of the file is lost." if lost else "Read completely."
    headline = read if lost and not limits else f"{read} {said}"
    return Sentence(headline, f"{_events(health)} {_recorded(facts)}")


MEMORY_ALONE = "PyTorch's record of memory alone, which is no profile"


def _events(health: HealthRecord) -> str:
    # Of a file of memory alone, little is text.
    unpacked = (
        f" ({size(health.text_bytes)} unpacked)" if health.text_bytes > health.file_bytes else ""
    )
    faults = [
        plural(number, "piece") + " " + what
        for number, what in ((health.skipped, "skipped"), (health.repaired, "repaired"))
        if number
    ]
    state = " and ".join(faults) or "nothing skipped or repaired"
    return f"{plural(health.events, 'event')} in {size(health.file_bytes)}{unpacked}, {state}."


def _recorded(facts: Facts) -> str:
    maker = RECORDERS.get(facts.torch_era, "an unknown recorder")
    if is_of_other_recorder(facts.torch_era):
        return f"{OTHER_RECORDER}."
    if facts.recording.memory_alone:
        return f"{MEMORY_ALONE}."
    used = [device for device in facts.devices if device.used]
    if not used:
        return f"Recorded by {maker}, without device activity."
    total = plural(len(facts.devices), used[0].type)
    part = "" if len(used) == len(facts.devices) else f"{len(used)} of "
    return f"Recorded by {maker} on {part}{total}."


def _counts(facts: Facts) -> tuple[Count, ...]:
    """Every event of the file in exactly one row, so that the rows sum to its events."""
    rows = [
        Count(label, facts.counts[key], text)
        for key, (label, text) in _COUNTS.items()
        if facts.counts.get(key)
    ]
    rows += [Count(f"Not used: {why}", number) for why, number in facts.health.ignored.items()]
    rest = facts.health.events - sum(row.count for row in rows)
    if rest > 0:
        text = "Names of threads and processes, ends of flows, begin and end halves of ranges."
        rows.append(Count("Names, flow ends and the rest", rest, text))
    return tuple(rows)


def _snippet(facts: Facts) -> tuple[SnippetLine, ...]:
    """A complete recipe for torch.profiler; the lines that this recording lacks are marked."""
    if is_of_other_recorder(facts.torch_era) or facts.torch_era == ASCEND:
        return ()
    told = facts.recording
    counts = facts.counts
    no_steps = facts.step_source != "profiler_step"
    no_memory = not counts.get("memory")
    no_stack = not counts.get("python") and not told.with_stack  # else torch was too old for frames
    return (
        SnippetLine("from torch.profiler import profile, schedule", no_steps),
        SnippetLine("from kinetoscope.handlers import tensorboard_trace_handler", False),
        SnippetLine("", False),
        SnippetLine("with profile(", False),
        SnippetLine("    schedule=schedule(wait=1, warmup=2, active=6, repeat=1),", no_steps),
        SnippetLine('    on_trace_ready=tensorboard_trace_handler("./log"),', False),
        SnippetLine("    record_shapes=True,  # shapes of ops", not told.shapes),
        SnippetLine("    profile_memory=True,  # what fills the memory, and its peak", no_memory),
        SnippetLine("    with_stack=True,  # source lines and modules", no_stack),
        SnippetLine(") as prof:", False),
        SnippetLine("    for batch in loader:", False),
        SnippetLine("        train(batch)", False),
        SnippetLine("        prof.step()", no_steps),
    )


def _recording(facts: Facts) -> dict[str, str]:
    told = facts.recording
    node, process = node_and_process(facts)
    flags = {
        "shapes": told.record_shapes,
        "memory": told.profile_memory,
        "stacks": told.with_stack,
        "modules": told.with_modules,
        "flops": told.with_flops,
    }
    rows = {
        "Recorded by": MEMORY_ALONE
        if told.memory_alone
        else RECORDERS.get(facts.torch_era, "unknown"),
        "Host": node,
        "Process": process,
        "Rank": "" if facts.rank is None else str(facts.rank),
        "World size": "" if facts.world_size is None else count_text(facts.world_size),
        "Back end": told.backend or "",
        **told.versions,
        "Options": ", ".join(name for name, on in flags.items() if on and not told.memory_alone),
        "Resolution": "1 µs" if told.resolution_ns == 1000 else f"{told.resolution_ns} ns",
        "Trace id": told.trace_id or "",
        "File": facts.path,
    }
    return {label: value for label, value in rows.items() if value}


def tables(answer: Health) -> tuple[Table, ...]:
    """Notes, counts, answerable questions, metadata of the file, metadata of the user."""
    return (
        table_from("Limits of this recording", heads(NoteRow), map(_note_row, answer.notes)),
        table_from("What was read", answer.counts_columns, answer.counts),
        table_from("What this recording answers", answer.answers_columns, answer.answers),
        Table(
            "What the recording says about itself",
            (Column("label", "What"), Column("value", "Value", kind="words")),
            tuple(answer.recording.items()),
        ),
        *_user_tables(answer),
    )


def _note_row(note: Note) -> NoteRow:
    return NoteRow(
        severity=note.severity,
        title=note.title,
        count=note.count or None,
        consequence=note.consequence,
        remedy=note.remedy,
        total=note.total or None,
        example=note.example,
        offset=note.offset if note.offset >= 0 else None,
    )


def _user_tables(answer: Health) -> tuple[Table, ...]:
    """The user's own values as a table; none where the user added nothing."""
    if not answer.user:
        return ()
    rows = [
        (one.key, one.text + (f"… ({plural(one.more, 'character')} more)" if one.more else ""))
        for one in answer.user
    ]
    if answer.user_more:
        rows.append((f"{plural(answer.user_more, 'key')} more", ""))
    columns = (Column("key", "Key", kind="words"), Column("value", "Value", kind="text"))
    return (Table("Added by the user", columns, tuple(rows)),)


def unavailable(facts: Facts) -> str | None:  # noqa: ARG001  # the form of View.unavailable
    """Always None: every file that was read has a health record."""
    return None


def badge(facts: Facts) -> int | None:
    """Number of notes about lost data or affected figures."""
    return len(facts.health.costly) or None


VIEW = View(
    stem="health",
    title="Health",
    key="h",
    question="What was read, what is missing, and how to record it better?",
    query=HealthQuery,
    answer=Health,
    build=build,
    tables=tables,
    of_memory_alone=True,
    of_other_programs=True,
    unavailable=unavailable,
    badge=badge,
)
