"""Answers as text: aligned columns without a frame, one unit for all times of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..base.units import duration, share, size, three_digits
from ..views.table import PER_STEP, Cell, unit_of
from .explain import ExplainDocument, ExplainedStep, Grid

NAME = 72
"""Most characters of a name in a table."""


def explained(document: ExplainDocument) -> str:
    """The digest of a recording as text."""
    return "\n".join(_lines(document)).replace("\u00a0", " ")


def section_text(section: dict[str, Any]) -> str:
    """One section of the digest as text."""
    lines: list[str] = []
    for name, value in section.items():
        if isinstance(value, Grid):
            columns = [key.removesuffix(PER_STEP) for key in value.columns]
            lines += [f"{name}, per step"] if columns != [*value.columns] else []
            lines += table(columns, value.rows)
        elif isinstance(value, tuple):
            lines += [str(one) if isinstance(one, str) else fields(one) for one in value]
        elif name != "left_out" and value is not None:
            lines.append(fields(value))
    return "\n".join(lines).replace("\u00a0", " ")


def fields(struct: Any) -> str:  # noqa: ANN401
    """The fields of a Struct on one line."""
    names = struct.__struct_fields__
    return " · ".join(f"{name} {getattr(struct, name)}" for name in names if getattr(struct, name))


def _lines(document: ExplainDocument) -> Iterator[str]:
    told = document.recording
    worker = f"{told.worker} · " if told.worker not in told.path else ""
    yield f"{worker}{told.path}"
    known = told.setup.items()
    setup = " · ".join(f"{a} {b}" for a, b in known if a != _TYPE or "Device" not in told.setup)
    yield f"trace {told.trace} · {duration(told.length_ns)} · {told.recorder} · {setup}"
    if told.left_out:
        why = ", ".join(f"{number} ({reason})" for number, reason in told.left_out.items())
        yield f"counted: steps {told.steps}; left out: {why}"
    yield f"health: {told.health}"
    yield ""
    yield document.headline
    if document.detail:
        yield document.detail
    if document.step is not None:
        yield from _step(document.step)
    yield from _findings(document)
    yield from _section(document, "functions", "Your functions, per step, all threads together")
    if document.totals.rows:
        yield ""
        yield "Totals of the whole recording (sum: of lengths, where overlaps count twice)"
        yield from _totals(document.totals)
    title = f"Ranks, per step. {document.ranks_headline}"
    yield from _section(document, "ranks", title)
    if document.compiled_headline:
        yield ""
        yield f"Compiled code, in the recording. {document.compiled_headline}"
        if document.breaks.rows:
            yield from table(document.breaks.columns, document.breaks.rows)
            yield from _more(document, "breaks")
    if document.cannot_tell:
        yield ""
        yield "Cannot tell"
        for one in document.cannot_tell:
            yield f"  {one.tells}: {one.record}"
    if document.next:
        yield ""
        yield "Next"
        yield from (f"  {command}" for command in document.next)


_TYPE = "Device type"


def _totals(totals: Grid) -> Iterator[str]:
    """A line a device; a sum that is the union is left out."""
    for row in totals.rows:
        cells = dict(zip(totals.columns, row, strict=True))
        shown = [
            _named(key, value)
            for key, value in cells.items()
            if key != "device" and not ("_sum" in key and value == cells[key.replace("_sum", "")])
        ]
        yield f"  {cells['device']}: {', '.join(shown)}"


def _step(step: ExplainedStep) -> Iterator[str]:
    yield ""
    noun = "step" if step.count == 1 else f"of {step.count} steps: mean"
    lengths = "" if step.count == 1 else (
        f", median {duration(step.median_ns)}, shortest {duration(step.shortest_ns)},"
        f" longest {duration(step.longest_ns)}"
    )  # fmt: skip
    yield f"Seen from {step.seen_from}, {noun} {duration(step.mean_ns)}{lengths}"
    yield "  " + ", ".join(
        f"{name} {_time(ns)} ({_share(ratio)})" for name, ns, ratio in step.parts.rows
    )
    if step.overlap_ns_per_step:
        yield f"  communication under compute: {duration(step.overlap_ns_per_step)} per step"
    if step.idle.rows:
        yield "  idle by cause, per step: " + ", ".join(
            f"{name} {_time(ns)} ({_share(ratio)})" for name, ns, ratio in step.idle.rows
        )


def _named(key: str, value: Cell) -> str:
    """``exposed communication 5.54 ms``."""
    unit = unit_of(key)
    words = key.removesuffix(f"_{unit}").replace("_", " ")
    if value is None:
        return f"{words} –"
    return f"{words} {duration(float(value)) if unit == 'ns' else _cell(value, unit)}"


def _time(value: Cell) -> str:
    return duration(float(value or 0))


def _share(value: Cell) -> str:
    return share(float(value or 0))


def _findings(document: ExplainDocument) -> Iterator[str]:
    yield ""
    if not document.findings:
        yield "Findings: none"
    else:
        yield "Findings (most that each can save per step; not to be added)"
    for one in document.findings:
        gain = "" if one.ns_per_step is None else (
            f" {duration(one.ns_per_step)} {share(one.step_ratio or 0)}"
        )  # fmt: skip
        yield f"  {one.id}{gain} · {one.title} ({one.severity})"
        shown = f"see {', '.join(one.evidence)}" if one.evidence else ""
        at = f"at {one.place}" if one.place else ""
        more = " · ".join(text for text in (at, shown, one.action) if text)
        if more:
            yield f"      {more}"
    yield from _more(document, "findings")


def _section(document: ExplainDocument, name: str, title: str) -> Iterator[str]:
    grid: Grid = getattr(document, name)
    if grid.rows:
        yield ""
        yield title
        columns = [key.removesuffix(PER_STEP) for key in grid.columns]
        yield from table(columns, grid.rows)
        yield from _more(document, name)


def _more(document: ExplainDocument, name: str) -> Iterator[str]:
    if left := document.left_out.get(name, 0):
        yield f"  … {left} more: --section {name} --max-bytes 65536"


# --- tables ---------------------------------------------------------------------------------------


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    """Rows with their columns aligned; figures to the right, a time in ms under a head of ms."""
    told = [list(row) for row in rows]
    # Nothing is known in such a column: "cannot tell" says why.
    known = [at for at in range(len(columns)) if any(row[at] is not None for row in told)]
    columns, told = [columns[at] for at in known], [[row[at] for at in known] for row in told]
    heads, cells = [], []
    for at, key in enumerate(columns):
        values = [row[at] for row in told]
        head, texts = _column(key, values)
        heads.append(head)
        cells.append(texts)
    numeric = [
        all(row[at] is None or isinstance(row[at], int | float) for row in told)
        for at in range(len(columns))
    ]
    widths = [max([len(head), *map(len, texts)]) for head, texts in zip(heads, cells, strict=True)]
    for line in (heads, *zip(*cells, strict=True)):
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ]
        yield f"  {'  '.join(padded)}".rstrip()


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Rows as they are, in aligned columns: units are those of the ids."""
    texts = [["–" if cell is None else str(cell) for cell in row] for row in rows]
    numeric = [
        all(row[at] is None or isinstance(row[at], int | float) for row in rows)
        for at in range(len(columns))
    ]
    lines = [list(columns), *texts]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        cells = zip(line, widths, numeric, strict=True)
        yield "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in cells).rstrip()


def _column(key: str, values: Sequence[Cell]) -> tuple[str, list[str]]:
    unit = unit_of(key)
    if unit == "ns":
        figures = [None if value is None else float(value) for value in values]
        most = max((abs(value) for value in figures if value), default=0)
        name, size_ns = ("us", 1e3) if 0 < most < 1e6 else ("ms", 1e6)
        head = f"{key.removesuffix('_ns')}_{name}"
        return head, ["–" if v is None else three_digits(v / size_ns) for v in figures]
    return key, [_cell(value, unit) for value in values]


def _cell(value: Cell, unit: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value if len(value) <= NAME else value[: NAME - 1] + "…"
    if unit == "ratio":
        return share(float(value))
    if unit == "bytes":
        return size(float(value))
    return f"{value:,}" if isinstance(value, int) else three_digits(value)
