"""The iterations of an inference engine, kept with the summary of a trace (contract)."""

# Without `from __future__ import annotations`: msgspec would compile each annotation, a text then,
# before the first summary is read.
from collections.abc import Mapping

from msgspec import Struct

from ...trace.link.iterations import Phase, Requests


class GapBefore(Struct, frozen=True):
    """Time between the device work of an iteration and of the one before, and its idle part."""

    ns: int  # from the last work of the one before to the first of this one
    idle_ns: int  # in which the device was idle
    cause: str = ""  # one of IDLE_CAUSES, without devices of HostPartition: most of that time
    holder: str = ""  # name of the host event that held the device longest in it; "" unknown
    holder_ns: int = 0  # idle time under events of that name


class KeyReads(Struct, frozen=True):
    """Attention of some iterations, by the kernel that runs longest."""

    kernel: str
    ns: int  # Σ of the calls of attention that it leads
    rate_ratio: float  # keys and values ÷ that time ÷ bandwidth


class PhaseUse(Struct, frozen=True):
    """Use of a device by some iterations; None where unknown."""

    mfu_ratio: float | None  # FLOPs ÷ (time · peak): for prefill
    mbu_ratio: float | None  # weights and cached keys and values ÷ (time · bandwidth): for decode
    figure_ratio: float  # part of the compute time behind them
    at_least: bool  # that part is small: both are lower bounds
    weights_ratio: float | None = None  # of the bytes of ``mbu_ratio``; the others are keys, values
    reads: KeyReads | None = None


class IterationFacts(Struct, frozen=True):
    """One iteration: what its name tells, its range on the host, and its work on the device.

    Engines run ahead, so that the work lies after the range. It is found by what launched it. Where
    no device was recorded, the work is the range itself.
    """

    index: int  # in order of time
    number: int  # as the step of the page counts it
    step: int  # index of the step that it lies in; −1: none
    label: str  # "decode 32"
    engine: str
    phase: Phase
    is_certain: bool
    is_speculative: bool
    batch: int | None
    padded: int | None
    context: Requests
    generation: Requests
    host_start_ns: int
    host_end_ns: int
    start_ns: int  # of the first work launched in it, or the end of the head within it …
    end_ns: int  # … and the end of the last; equal to ``start_ns`` where it launched none
    busy_ns: int  # of that span
    launches: int  # calls that launched work
    replays: int  # of these, calls that replay a graph
    graph_ns: int  # kernel time in replays: which op launched it is not in this recording
    # From its first work to that of the next one; None: not recorded, or it begins in the head.
    period_ns: int | None
    gap: GapBefore | None  # None: the iteration before is not recorded
    # Why no figure contains it: its work lies in the head, the recording ends in it, or it has
    # no work of the device. "": it counts.
    left_out: str
    families: Mapping[str, int]  # ns of device work by family of kernels; copies are "copy"
    start_up_ns: int = 0  # of its span: first calls started the process

    @property
    def span_ns(self) -> int:
        """Time from its first work on the device to its last, without start-up."""
        return self.end_ns - self.start_ns - self.start_up_ns

    @property
    def inside_idle_ns(self) -> int:
        """Idle time of the device between its first work and its last."""
        return self.span_ns - self.busy_ns

    @property
    def is_whole(self) -> bool:
        """True if figures may contain it."""
        return not self.left_out
