"""Overview: where did the step's time go, and what to do about it (contract of the Structs)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..analysis.facts import Breakdown, HostPartition, Partition

Severity = Literal["high", "medium", "low", "info"]


class OverviewQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """``steps``: "" = all but warm-up and incomplete ones, "all", or indexes like "3", "2-5", "1,4-6"."""

    steps: str = ""
    device: int | None = None  # row of the devices; None = the busiest


class Sentence(Struct, frozen=True):
    """The answer first. Text between backticks is code."""

    headline: str  # "The GPU waits for the DataLoader for a third of every step."
    detail: str
    agreement: str = ""  # "6 of 6 steps agree"


class Share(Struct, frozen=True):
    """One part of a whole. ``key`` is the field name in Partition, Breakdown or HostPartition."""

    key: str
    label: str  # "Exposed copy"
    category: str  # colour token stem: compute | comm | overlap | memcpy | memset | runtime | loader | cpu | other
    ghost: bool  # True: the device was idle; the hue says what the host did meanwhile
    mean_ns: float
    ratio: float  # of the mean step
    help: str  # the definition, for the tooltip


class StepRow(Struct, frozen=True):
    """One step as the charts draw it. Values are exact integers that sum to ``dur_ns``."""

    index: int
    number: int
    name: str
    dur_ns: int
    chosen: bool
    outlier: bool
    excluded: str | None
    breakdown: Breakdown
    partition: Partition | None  # of the chosen device
    host: HostPartition | None


class Ruler(Struct, frozen=True):
    """The mean of the chosen steps, part by part; the parts sum to the step."""

    title: str  # "Mean step, seen from GPU 0"
    total_ns: int  # sum over the chosen steps: the exact proof
    step_count: int
    mean_ns: float
    shares: tuple[Share, ...]
    overlap_ns: float  # mean of compute under which communication ran
    busy_ns: float
    idle_ns: float


class Gauge(Struct, frozen=True):
    """One figure of the GPU summary. ``ratio`` None: not available, ``reason`` says why."""

    key: str
    label: str
    ratio: float | None
    reason: str
    help: str


class DeviceCard(Struct, frozen=True):
    index: int  # number shown
    row: int  # row of Facts.devices, for the query
    type: str  # "GPU"
    name: str
    memory_bytes: int | None
    capability: str | None  # "7.0"
    used: bool
    gauges: tuple[Gauge, ...]


class SummaryRow(Struct, frozen=True):
    key: str
    label: str
    category: str
    mean_ns: float
    ratio: float
    help: str


class Reference(Struct, frozen=True):
    """A door: to a view of this page (``view`` + ``params``) or to a document (``url``)."""

    text: str
    view: str = ""
    params: dict[str, str] = {}
    url: str = ""


class Evidence(Struct, frozen=True):
    """A figure behind a finding, with what it is held against."""

    name: str
    value: float
    unit: str  # "ns" | "ratio" | "bytes" | "count"
    threshold: float | None = None


class Gain(Struct, frozen=True):
    """A ceiling, never a promise."""

    ns_per_step: float
    ratio: float
    method: str  # how the ceiling was formed
    claims: str  # the part of the partition it claims, so that overlapping ceilings are not added


class Finding(Struct, frozen=True):
    """One piece of advice. Text between backticks is code."""

    id: str  # "IN1"
    title: str
    severity: Severity
    confidence: float
    text: str  # evidence with number and scope, then cause, then one action
    snippet: str
    evidence: tuple[Evidence, ...]
    gain: Gain | None
    scope: str  # "6 of 6 steps, GPU 0"
    links: tuple[Reference, ...]
    verify: str  # how to see that it worked


class Unchecked(Struct, frozen=True):
    """A rule that could not run, and what it needs."""

    id: str
    title: str
    needs: str


class Configuration(Struct, frozen=True):
    """How the run was recorded: label → value, in order."""

    label: str
    value: str


class Overview(Struct, frozen=True):
    sentence: Sentence
    device_type: str  # "CPU" when no device activity was recorded
    device_row: int | None  # the device the ruler and the partitions show
    ruler: Ruler
    steps: tuple[StepRow, ...]  # all of them, chosen or not
    step_source: str  # "" or a sentence saying what stands for steps
    summary: tuple[SummaryRow, ...]  # step-time breakdown of the mean step; the first row is the step
    devices: tuple[DeviceCard, ...]
    configuration: tuple[Configuration, ...]
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    rule_count: int
    missing: dict[str, str]  # part of the page → "not available, because …, record with …"
    taints: tuple[str, ...]  # titles of health notes that touch these figures
