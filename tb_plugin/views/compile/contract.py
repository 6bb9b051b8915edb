"""The JSON of the compile view (contract). Durations are ns; ``None`` = not known."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from ...analysis.findings import Reference
from ..table import Column, column


class CompileQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole recording is shown."""


class CompiledRow(Struct, frozen=True):
    """One version of a compiled function."""

    name: Annotated[str, column("Function", "The compiled function.", kind="name")]
    place: Annotated[str, column("Place", "File and line of the function.", kind="path")]
    id: Annotated[
        str,
        column("Version", "Compile id: frame/version. Version 0 is the first.", kind="words"),
    ]
    kind: Annotated[
        str,
        column(
            "Order",
            "`first`: version 0. `again`: a further version. `refused`: the limit was met.",
            kind="words",
        ),
    ]
    calls: Annotated[int, column("Runs", "Runs of this version in the recording.")]
    run_ns: Annotated[int, column("Run time", "Host time of these runs, with what they call.")]
    compile_ns: Annotated[
        int | None,
        column("Compiling", "Compilation inside the recording, forward and backward."),
    ]
    before_ns: Annotated[int | None, column("Before", "Compilation before the recording began.")]
    why: Annotated[
        str | None,
        column(
            "Why again",
            "Change since earlier versions, and the line whose guard failed.",
            kind="text",
        ),
    ]
    guards: Annotated[int | None, column("Guards", "Guards of this version.", is_minor=True)]
    cache: Annotated[
        str | None,
        column(
            "Cache", "`hit`: torch took the code from a cache on disk.", kind="words", is_minor=True
        ),
    ]
    link: Reference | None = None  # the compilation, or the longest run, in the Trace view


class BreakRow(Struct, frozen=True):
    """A line at which a function leaves its graph."""

    place: Annotated[str, column("Line", "The user's line that cannot be traced.", kind="path")]
    name: Annotated[str, column("Function", "The function of that line.", kind="name")]
    reason: Annotated[str, column("Reason", "As torch gives it.", kind="text")]
    calls: Annotated[int, column("Runs behind", "Runs of the code behind it, in the recording.")]
    gap_ns: Annotated[
        int | None,
        column(
            "Cost",
            "Estimate: host time from the end of the graph before to the code behind the break,"
            " without ops. Lost fusion is not counted.",
        ),
    ]
    hint: Annotated[str | None, column("Hint", "What torch advises.", kind="text")]
    callers: Annotated[
        str | None, column("Called from", "Lines outside of it.", kind="path", is_minor=True)
    ]
    versions: Annotated[int, column("Met", "Compilations that met it.", is_minor=True)]
    link: Reference | None = None


class KernelLine(Struct, frozen=True):
    """A fused kernel with a node and lines."""

    kernel: Annotated[str, column("Kernel", "Name of the kernel.", kind="name")]
    version: Annotated[str, column("Version", "Compile id of its graph.", kind="words")]
    direction: Annotated[str, column("Pass", "Forward or backward.", kind="words")]
    nodes: Annotated[str, column("Nodes", "Operations fused into it.", kind="text")]
    lines: Annotated[str, column("Lines", "Lines of your code, each once.", kind="text")]
    calls: Annotated[int, column("Calls", "Launches in the recording; on the CPU, its events.")]
    total_ns: Annotated[int, column("Time", "Sum of their durations.")]


class LineRow(Struct, frozen=True):
    """A line of the user, with its part of fused kernels."""

    place: Annotated[str, column("Line", "A line of your code.", kind="path")]
    total_ns: Annotated[
        int,
        column("Time", "Time of fused kernels; a kernel's is split evenly over its lines."),
    ]
    ratio: Annotated[float, column("Share", "Share of the time of all fused kernels.")]
    kernels: Annotated[int, column("Kernels", "Fused kernels with this line, by name and graph.")]


class EagerRow(Struct, frozen=True):
    """Ops outside of compiled graphs."""

    name: Annotated[str, column("Op", "The outermost op outside of compiled graphs.", kind="name")]
    total_ns: Annotated[
        int,
        column(
            "Time",
            "Device activity that it and its callees launched; without a device its host time.",
        ),
    ]
    ratio: Annotated[
        float, column("Share", "Share of graphs, eager ops, compilation and guards together.")
    ]
    calls: Annotated[int, column("Calls", "Calls in steps that ran compiled code.")]


class Compiled(Struct, frozen=True):
    """Facts of torch.compile."""

    headline: str
    detail: str
    versions: tuple[CompiledRow, ...]
    versions_columns: tuple[Column, ...]
    breaks: tuple[BreakRow, ...]
    breaks_columns: tuple[Column, ...]
    kernels: tuple[KernelLine, ...]
    kernels_columns: tuple[Column, ...]
    lines: tuple[LineRow, ...]
    lines_columns: tuple[Column, ...]
    eager: tuple[EagerRow, ...]
    eager_columns: tuple[Column, ...]
    missing: str  # what is not available, and what records it; "" nothing
    no_lines: str  # why kernels have no lines; "" they have
