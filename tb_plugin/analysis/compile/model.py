"""Facts of torch.compile in a trace (contract). Times are ns; None = not known."""

# Without `from __future__ import annotations`: see facts.
from collections.abc import Iterable

from msgspec import Struct

from ...base.regex import regex

GRAPH_MARK = regex(r"^graph_\d+_")
"""Stands before the name of a kernel in C++."""
MOST_VERSIONS = 400
MOST_BREAKS = 200
MOST_OCCURRENCES = 2000
MOST_REASONS = 12
MOST_KERNELS = 500


class GuardReason(Struct, frozen=True):
    """A guard that failed: the version it belongs to, its kind, its text, the user's line."""

    of: str
    kind: str
    guard: str
    place: str  # "train.py:12"; "" unknown


class Version(Struct, frozen=True):
    """One version of a compiled function: the compile id F/C, forward and backward together."""

    id: str  # "0/1"; "" before torch 2.6 without a record
    function: int  # row of ``CompiledFacts.functions``
    calls: int  # runs in the recording
    run_ns: int  # of these, with what they call
    compile_ns: int | None  # in the recording
    before_ns: int | None  # before the recording began
    reasons: tuple[GuardReason, ...] = ()
    failed: str = ""  # why nothing was compiled
    cache_hit: bool = False
    guards: int | None = None
    ts: int = -1  # the longest run, or the compilation, in the recording
    dur_ns: int = 0
    slice: int = -1
    event: int = -1
    compiled_ts: int = -1  # begin of the first compilation in the recording

    @property
    def is_again(self) -> bool:
        """True for all versions but the first of a function."""
        return not self.id.endswith("/0")


class Function(Struct, frozen=True):
    """A compiled function, or the rest of one behind a graph break."""

    name: str  # as the user wrote it
    file: str
    line: int
    resumes_at: int = 0  # the line of the break behind which it goes on; 0: from its start

    @property
    def place(self) -> str:
        """``train.py:12``; "" where it is not known."""
        return f"{self.file}:{self.line}" if self.file else ""

    @property
    def label(self) -> str:
        """``f``; behind a break ``f, from line 12``."""
        return f"{self.name}, from line {self.resumes_at}" if self.resumes_at else self.name

    @property
    def full_label(self) -> str:
        """The label with file and line, which no other function has."""
        return f"{self.label} ({self.place})" if self.place else self.label


def frame_label(identity: str) -> str:
    """A function of which the compile id alone is known."""
    return f"compiled frame {identity.partition('/')[0]}" if identity else "compiled function"


class Break(Struct, frozen=True):
    """A line at which a function leaves its graph; ``gap_ns`` is an estimate."""

    function: int
    name: str  # the function of the user's line
    file: str
    line: int
    reason: str
    explanation: str
    hint: str
    callers: tuple[str, ...]  # places outside of it: "train.py:40"
    versions: int  # compilations that met it
    calls: int  # runs behind it, in the recording
    gap_ns: int | None  # from the graph before to the region behind, without ops
    ts: int = -1
    slice: int = -1

    @property
    def place(self) -> str:
        """``train.py:12``."""
        return f"{self.file}:{self.line}" if self.file else ""


class Occurrence(Struct, frozen=True, array_like=True, gc=False):
    """One compilation inside the recording."""

    version: int  # row of ``CompiledFacts.versions``
    ts: int
    dur_ns: int


class KernelSource(Struct, frozen=True):
    """A fused kernel: its nodes and the user's lines that they come from.

    Without ``lines`` nodes are those that Inductor put into the kernel's name.
    """

    name: str
    id: str  # compile id of its graph; "" unknown
    backward: bool
    nodes: tuple[str, ...]
    lines: tuple[str, ...]  # "train.py:12", each once
    calls: int
    total_ns: int


class EagerOp(Struct, frozen=True):
    """Ops of one name outside of compiled graphs, with what they call."""

    name: str
    calls: int
    ns: int


class Remainder(Struct, frozen=True):
    """Time of the steps that ran compiled code: in graphs, and outside of them."""

    on: str  # "device": durations of its activity; "host": ranges of ops
    steps: int  # 0: the whole recording
    graph_ns: int
    eager_ns: int
    compile_ns: int  # of the host
    guard_ns: int  # of the host
    unknown_ns: int  # of the device, launched by no recorded call
    ops: tuple[EagerOp, ...]  # the eager ones that take most, first

    @property
    def total_ns(self) -> int:
        """All parts."""
        return self.graph_ns + self.eager_ns + self.compile_ns + self.guard_ns + self.unknown_ns


class CompiledFacts(Struct, frozen=True):
    """Compiled functions, their runs, and their graph breaks."""

    functions: tuple[Function, ...] = ()
    versions: tuple[Version, ...] = ()
    breaks: tuple[Break, ...] = ()
    occurrences: tuple[Occurrence, ...] = ()
    kernels: tuple[KernelSource, ...] = ()  # those that take most, first
    fused_ns: int = 0  # time of all fused kernels …
    lined_ns: int = 0  # … and of those with a line
    recorded: bool = False  # there is a record beside the trace
    problem: str = ""  # why the record that the trace names was not read
    missing: tuple[str, ...] = ()
    lookup_ns: int = 0  # guards: TorchDynamo Cache Lookup
    lookups: int = 0
    phases_ns: int = 0  # phases of compilation in the trace, whatever they compiled
    remainder: Remainder | None = None

    def notes(self) -> dict[str, str]:
        """Name in the trace → function of a region, nodes and lines of a fused kernel."""
        found = self.functions_by_region
        for name in {one.name for one in self.kernels}:
            nodes, lines = self.made_of(name)
            found[name] = f"fused: {nodes}" + (f"; lines: {lines}" if lines else "")
        return found

    def made_of(self, name: str) -> tuple[str, str]:
        """Nodes and lines of a fused kernel, or of the op around it; "" where not known.

        Graphs that share a kernel's name are taken together.
        """
        plain = GRAPH_MARK.sub("", name)
        some = [one for one in self.kernels if one.name == plain]
        nodes = dict.fromkeys(node for one in some for node in one.nodes)
        lines = dict.fromkeys(line for one in some for line in one.lines)
        return ", ".join(nodes), ", ".join(lines)

    def first_and_again(self, spans: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """Time of first compilations, which are warm-up, and of further ones, within spans."""
        spent = [0, 0]
        parts = tuple(spans)
        for one in self.occurrences:
            inside = sum(
                max(0, min(end, one.ts + one.dur_ns) - max(start, one.ts)) for start, end in parts
            )
            spent[self.versions[one.version].is_again] += inside
        return spent[0], spent[1]

    @property
    def functions_by_region(self) -> dict[str, str]:
        """Name of a region in the trace → its function, where that is known."""
        return {
            f"Torch-Compiled Region: {one.id}": self.label(one)
            for one in self.versions
            if one.function >= 0
        }

    def full_label(self, version: Version) -> str:
        """The function of a version, with file and line."""
        if version.function < 0:
            return frame_label(version.id)
        return self.functions[version.function].full_label

    def label(self, version: Version) -> str:
        """The function of a version."""
        if version.function < 0:
            return frame_label(version.id)
        return self.functions[version.function].label
