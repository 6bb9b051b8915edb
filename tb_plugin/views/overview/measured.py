"""Counters of the chosen device: energy, clocks and traffic, by part and by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ...analysis.counters.measured import (
    LEAST_COVERED_RATIO,
    PARTS,
    WORK,
    CounterSum,
    is_constant,
    measured,
)
from ...analysis.counters.samples import SAMPLING_KINDS
from ...analysis.facts import CounterFacts
from ...analysis.steps import Selection
from ...analysis.wording import as_recorded, step_noun
from ...base.units import duration, plural, share, three_digits
from ..legend import PARTITION
from ..table import Cell, Column, Table


class MeasuredColumn(Struct, frozen=True):
    """One figure made of a counter."""

    key: str  # "energy", "power", "sm_clock", …; unique
    label: str
    unit: str  # "J" | "W" | "MHz" | "°C" | "%" | "B" | "B/s"; "" where the file does not say
    help: str


class MeasuredCell(Struct, frozen=True):
    """A figure of one row; ``value`` None: samples cover too little of it."""

    value: float | None
    covered: float  # share of its time that samples cover


class MeasuredRow(Struct, frozen=True):
    """The mean step, one of its parts, or one step; a cell None: not asked of such a row."""

    key: str  # "step", a field of ``Partition``, or the index of a step
    label: str
    category: str  # colour; "" for steps
    ghost: bool
    ns: float
    cells: tuple[MeasuredCell | None, ...]


class Measured(Struct, frozen=True):
    """The counters of the chosen device over the chosen steps."""

    columns: tuple[MeasuredColumn, ...]
    parts: tuple[MeasuredRow, ...]  # the mean step, and its parts: their energy sums to its
    steps: tuple[MeasuredRow, ...]  # every chosen step
    sampled: str  # "7 counters, sampled every 250 µs to 1.00 ms"
    notes: tuple[str, ...]  # what to know of these figures


class _Figure(NamedTuple):
    """Source of a column: its counter, and the figure of a row's parts."""

    column: MeasuredColumn
    of: CounterSum
    value: Callable[[CounterSum, tuple[str, ...]], float | None]
    per_step: bool = False  # a sum, which becomes a mean over the steps
    work: bool = False  # of a step, while the device works
    whole: bool = False  # of steps alone, not of their parts


_COVER = (
    f"Needs samples for {share(LEAST_COVERED_RATIO)} of the time; what they do not cover counts "
    "nowhere."
)
_MEAN = "Mean by time over samples, each of which holds until the next. "
_LABELS: dict[str, tuple[str, str]] = {
    "power": (
        "Power",
        (
            "Of the whole board, as its sensor reads it. NVIDIA documents that readings are means "
            "over the last second from Ampere on (not on the GA100): shorter parts share them. "
        ),
    ),
    "sm_clock": ("SM clock", "Of steps: while the device works. "),
    "memory_clock": ("Memory clock", "Of steps: while the device works. "),
    "temperature": ("Temperature", ""),
    "sm_active": (
        "SM active",
        (
            "Multiprocessors with at least one warp, counted by the device: what “est. SM "
            "efficiency” estimates. "
        ),
    ),
    "dram": ("DRAM", "Traffic of the device's memory, counted by the device. "),
    "dram_read": ("DRAM read", "Bytes read from the device's memory. "),
    "dram_write": ("DRAM written", "Bytes written to the device's memory. "),
    "pcie": ("PCIe", "Traffic over PCIe, counted by the device. "),
    "nvlink_rx": ("NVLink received", "Traffic over NVLink, counted by the device. "),
    "nvlink_tx": ("NVLink sent", "Traffic over NVLink, counted by the device. "),
}
_NO_UNIT = (
    "The file does not say in which unit, bytes or bytes per second: compare it only with "
    "recordings of the same metric. "
)


def measured_of(selection: Selection) -> Measured | None:
    """The figures of the chosen device; None where no counter of it is known."""
    sums = measured(selection)
    if not sums:
        return None
    # Of several counters of one kind and unit the first.
    known: dict[str, _Figure] = {}
    for one in sums:
        for figure in _figures(one):
            known.setdefault(figure.column.key, figure)
    figures = list(known.values())
    steps = [(step, measured(_only(selection, step.index))) for step in selection.steps]
    whole = _row("step", step_noun(selection.facts).capitalize(), selection, sums, figures)
    return Measured(
        columns=tuple(
            replace(one.column, help=as_recorded(one.column.help, selection.facts))
            for one in figures
        ),
        parts=(whole, *(_part(key, selection, figures) for key in PARTS)),
        steps=tuple(
            _row(str(step.index), step.name, _only(selection, step.index), of, figures)
            for step, of in steps
        ),
        sampled=_sampled([one.facts for one in sums]),
        notes=tuple(_notes([one.facts for one in sums])),
    )


def _only(selection: Selection, index: int) -> Selection:
    return Selection(selection.facts, (index,), selection.device, selection.limits)


def _figures(one: CounterSum) -> list[_Figure]:
    """The columns of one counter."""
    facts = one.facts
    label, help_ = _LABELS[facts.kind]
    named = f"Counter “{facts.name}”. "
    text = f"{help_}{_MEAN}{_NO_UNIT if not facts.unit else ''}{named}{_COVER}"
    is_clock = facts.kind.endswith("_clock")
    key = facts.kind if facts.unit != "B/s" else f"{facts.kind}_rate"
    found = [_Figure(MeasuredColumn(key, label, facts.unit, text), one, _mean, work=is_clock)]
    if facts.kind == "power" and facts.unit == "W":
        column = MeasuredColumn(
            "energy", "Energy", "J", f"∫ power dt, per step. {help_}{named}{_COVER}"
        )
        found.insert(0, _Figure(column, one, _total, per_step=True))
    if is_clock and facts.kind == "sm_clock":
        column = MeasuredColumn(
            "sm_clock_low",
            "Lowest SM clock",
            facts.unit,
            f"The least sample that held while the device worked. {named}",
        )
        found.append(_Figure(column, one, _lowest, whole=True, work=True))
    if facts.unit == "B/s":
        column = MeasuredColumn(f"{facts.kind}_bytes", f"{label}, bytes", "B", f"Per step. {named}")
        found.append(_Figure(column, one, _total, per_step=True))
    if (peak := facts.peak) is not None and facts.kind == "dram":
        column = MeasuredColumn(
            "dram", "DRAM, of peak", "%", f"Of {three_digits(peak / 1e9)} GB/s, its data sheet's."
        )

        def of_peak(of: CounterSum, parts: tuple[str, ...]) -> float | None:
            mean = of.mean(*parts)
            return None if mean is None else 100 * mean / peak

        found.append(_Figure(column, one, of_peak))
    return found


def _mean(of: CounterSum, parts: tuple[str, ...]) -> float | None:
    return of.mean(*parts)


def _total(of: CounterSum, parts: tuple[str, ...]) -> float | None:
    return of.total(*parts)


def _lowest(of: CounterSum, parts: tuple[str, ...]) -> float | None:  # noqa: ARG001  # one form
    return of.lowest


def _row(
    key: str, label: str, selection: Selection, sums: Sequence[CounterSum], figures: list[_Figure]
) -> MeasuredRow:
    """One row for whole steps."""
    by_name = {one.facts.name: one for one in sums}
    cells = tuple(
        _cell(figure, by_name[figure.of.facts.name], WORK if figure.work else tuple(PARTS),
              selection.count)
        for figure in figures
    )  # fmt: skip
    return MeasuredRow(key, label, "", False, selection.mean(selection.total_ns), cells)


_IDLE = ("Idle", "other", "Nothing runs on the device.")
_LEGEND = {part.key: part for part in PARTITION}


def _part(key: str, selection: Selection, figures: list[_Figure]) -> MeasuredRow:
    part = _LEGEND.get(key)
    label, category = (part.label, part.category) if part else _IDLE[:2]
    length = getattr(selection.partition, key, 0)
    cells = tuple(
        None if one.whole or not length else _cell(one, one.of, (key,), selection.count)
        for one in figures
    )
    return MeasuredRow(key, label, category, part is None, selection.mean(length), cells)


def _cell(figure: _Figure, of: CounterSum, parts: tuple[str, ...], count: int) -> MeasuredCell:
    value = figure.value(of, parts)
    if value is not None and figure.per_step:
        value /= count
    return MeasuredCell(value, of.covered(*parts))


def _sampled(counters: Sequence[CounterFacts]) -> str:
    periods = sorted({one.period_ns for one in counters})
    every = " to ".join(dict.fromkeys((duration(periods[0]), duration(periods[-1]))))
    return f"{plural(len(counters), 'counter')}, sampled every {every}"


def _notes(counters: Sequence[CounterFacts]) -> list[str]:
    """Notes for the comparison of these figures."""
    notes = []
    is_sampled = any(one.kind in SAMPLING_KINDS for one in counters)
    if is_sampled:
        notes.append(
            "Performance counters were sampled, and that locks the clocks of the device: compare "
            "times only with recordings that sampled them, too."
        )
    clock = next((one for one in counters if one.kind == "sm_clock"), None)
    if clock is not None and is_constant(clock):
        why = "it is locked" if is_sampled else "it is locked, or nothing limited it"
        notes.append(f"The SM clock is {clock.high:,.0f} {clock.unit} in every sample: {why}.")
    elif clock is not None and is_sampled:
        notes.append(
            f"The SM clock is not locked all the same: {clock.low:,.0f} to {clock.high:,.0f} "
            f"{clock.unit}."
        )
    return notes


def measured_tables(found: Measured) -> tuple[Table, ...]:
    """The parts of the mean step, and every chosen step."""
    columns = tuple(
        Column(
            f"{one.key}_{_UNIT_KEYS[one.unit]}".rstrip("_"),
            f"{one.label} ({one.unit})" if one.unit else one.label,
            one.help,
        )
        for one in found.columns
    )

    def table(title: str, head: Column, rows: Sequence[MeasuredRow]) -> Table:
        cells: list[tuple[Cell, ...]] = [
            (row.label, row.ns, *(cell.value if cell else None for cell in row.cells))
            for row in rows
        ]
        return Table(title, (head, Column("dur_ns", "Length (ns)"), *columns), tuple(cells))

    parts = table("Measured, mean step", Column("part", "Part"), found.parts)
    steps = table("Measured, every step", Column("step", "Step"), found.steps)
    notes = [found.sampled + ".", *found.notes]
    return (
        Table(parts.title, parts.columns, parts.rows, note=" ".join(notes)),
        steps,
    )


_UNIT_KEYS = {
    "J": "j",
    "W": "w",
    "MHz": "mhz",
    "°C": "celsius",
    "%": "percent",
    "B": "bytes",
    "B/s": "bytes_per_s",
    "": "",
}
