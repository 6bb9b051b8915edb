"""Answers as text: aligned columns without a frame, one unit for all times of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..analysis.wording import StepNoun, in_noun, noun_of
from ..base.units import duration, share, size, three_digits
from ..views.table import PER_STEP, Cell, unit_of
from .explain import (
    MOST_SECTION_BYTES,
    SECTIONS,
    ExplainDocument,
    ExplainedFinding,
    ExplainedRecording,
    ExplainedStep,
    Grid,
)
from .gaps import CannotTell

NAME = 72
"""Most characters of a name in a table."""


OF_RANKS = (
    "own: without waiting for others, excess: beyond its peers, cost: others wait for it, lost: it"
    " waits; length and the rest: its own step"
)


def explained(document: ExplainDocument) -> str:
    """The digest of a recording as text."""
    return "\n".join(_lines(document)).replace("\u00a0", " ")


def section_text(section: dict[str, Any], document: ExplainDocument) -> str:
    """Sections of a digest as text."""
    noun = noun_of(document.recording.step_source)
    lines: list[str] = []
    named = [name for name in section if name in SECTIONS]
    for name, value in section.items():
        if isinstance(value, ExplainedStep):
            lines += _step(value)
        elif isinstance(value, ExplainedRecording):
            lines += _recording(value)
        elif name == "cannot_tell":
            lines += _cannot_tell(value)
        elif name == "findings":
            lines += _findings(value, _per(noun))
        elif name == "absent":
            empty = ", ".join(f"{one} ({why})" for one, why in value.items())
            lines += [f"Nothing for {empty}"] if empty else []
        elif name == "left_out":
            continue
        elif not value or (isinstance(value, Grid) and not value.rows):
            lines += [] if name in section["absent"] else [f"{name}: none"]
        elif name == "totals":
            lines += _totals(value)
        elif isinstance(value, Grid):
            columns = [key.removesuffix(PER_STEP) for key in value.columns]
            lines += [f"{name}, {_per(noun)}"] if columns != [*value.columns] else []
            lines += table(columns, value.rows)
            lines += [f"  {_said(OF_RANKS, noun)}"] if name == "ranks" else []
            lines += _more(section["left_out"], name, is_alone=len(named) == 1)
        else:
            lines += [value] if isinstance(value, str) else value
    return "\n".join(lines).replace("\u00a0", " ")


def _said(text: str, noun: StepNoun) -> str:
    """The text with the word for iterations of an engine."""
    return in_noun(text, noun) if noun == "iteration" else text


def _recording(told: ExplainedRecording) -> Iterator[str]:
    name = told.path.replace("\\", "/").rpartition("/")[2]
    yield f"{told.worker} · {name}" if told.worker not in name else name
    left = (*_LEFT_OUT, *([_TYPE] if "Device" in told.setup else []))
    setup = " · ".join(f"{a} {b}" for a, b in told.setup.items() if a not in left)
    yield f"trace {told.trace} · {duration(told.length_ns)} · {told.recorder} · {setup}"
    if told.health:
        yield f"health: {told.health}"


def _cannot_tell(gaps: Sequence[CannotTell], more: str = "") -> Iterator[str]:
    if gaps:
        yield f"Cannot tell{more}"
        yield from (f"  {one.tells}: {one.record}" for one in gaps)
    else:
        yield "Cannot tell: nothing is missing"


def _lines(document: ExplainDocument) -> Iterator[str]:
    yield from _recording(document.recording)
    yield ""
    leads = f" ({document.agreement})" if document.agreement else ""
    yield f"{document.headline}{leads}"
    # "Of a mean step of …" has parts of the step, which follow.
    detail = document.detail
    if document.step is not None and detail.startswith(("Of a ", "Of an ")):
        detail = detail.partition(". ")[2]
    if detail:
        yield detail
    if document.step is not None:
        yield ""
        yield from _step(document.step)
    yield ""
    noun = noun_of(document.recording.step_source)
    per = _per(noun)
    yield from _findings(document.findings, per)
    yield from _more(document.left_out, "findings")
    title = f"Your functions, {per}, on the host, all threads together"
    yield from _section(document, "functions", title)
    title = f"Operators, {per}, on the host, most time without what they call first"
    yield from _section(document, "operators", title)
    if document.totals.rows:
        yield ""
        yield from _totals(document.totals)
    title = _said(f"Ranks, per step. {document.ranks_headline}", noun)
    yield from _section(document, "ranks", title)
    if document.ranks.rows:
        yield f"  {_said(OF_RANKS, noun)}"
    if document.compiled_headline:
        yield ""
        yield f"Compiled code, in the recording. {document.compiled_headline}"
        if document.breaks.rows:
            yield from table(document.breaks.columns, document.breaks.rows)
            yield from _more(document.left_out, "breaks")
    if document.cannot_tell:
        yield ""
        yield from _cannot_tell(document.cannot_tell, ' (all by name: sql PATH "FROM cannot_tell")')
    if document.next:
        yield ""
        yield f"Next: kinetoscope {' · '.join(one.partition(' ')[2] for one in document.next)}"


_TYPE, _LEFT_OUT = "Device type", ("Host", "Process", "Steps", "Iterations")


def _totals(totals: Grid) -> Iterator[str]:
    """A line a device; a sum that is the union is left out."""
    yield "Totals of the whole recording (sum: of lengths, where overlaps count twice)"
    for row in totals.rows:
        cells = dict(zip(totals.columns, row, strict=True))
        shown = [
            _named(key, value)
            for key, value in cells.items()
            if key != "device"
            and value
            and not ("_sum" in key and value == cells[key.replace("_sum", "")])
        ]
        none = [f"no {word}" for word in ("communication", "copy") if not cells[f"{word}_ns"]]
        yield f"  {cells['device']}: {', '.join([*shown, *none])}"


def _step(step: ExplainedStep) -> Iterator[str]:
    noun = step.noun if step.count == 1 else f"of {step.count} {step.noun}s: mean"
    lengths = "" if step.count == 1 else (
        f", median {_time(step.median_ns)}, shortest {_time(step.shortest_ns)},"
        f" longest {_time(step.longest_ns)} ({step.noun} {step.longest})"
    )  # fmt: skip
    yield f"Seen from {step.seen_from}, {noun} {_time(step.mean_ns)}{lengths}"
    if step.left_out:
        left = ", ".join(f"{number} ({reason})" for number, reason in step.left_out.items())
        yield f"  counted: {step.noun}s {step.numbers}; not counted: {left}"
    yield "  " + ", ".join(
        f"{name} {_time(ns)} ({_share(ratio)})" for name, ns, ratio in step.parts.rows
    )
    if step.overlap_ns_per_step:
        both = _time(step.overlap_ns_per_step)
        yield f"  of Compute, communication runs as well: {both} {_per(step.noun)}"
    if step.idle.rows:
        yield f"  idle by cause, {_per(step.noun)}: " + ", ".join(
            f"{name} {_time(ns)} ({_share(ratio)})" for name, ns, ratio in step.idle.rows
        )


def _per(noun: StepNoun) -> str:
    """``per step``, ``per iteration``, ``in the recording``."""
    return "in the recording" if noun == "recording" else f"per {noun}"


def _named(key: str, value: Cell) -> str:
    """``exposed communication 5.54 ms``."""
    unit = unit_of(key)
    words = key.removesuffix(f"_{unit}").replace("_", " ")
    # They are fewer than kernels: the call of some is not recorded, and a graph has one call.
    if key == "launches":
        return f"launched by {_cell(value, unit)} recorded calls"
    if value is None:
        return f"{words} –"
    whole = " of communication" if key == "overlap_ratio" else ""
    return f"{words} {_time(value) if unit == 'ns' else _cell(value, unit)}{whole}"


def _time(value: Cell) -> str:
    """A time to six digits: ``428.656 ms``, ``187.3 µs``. What follows need not ask again."""
    ns = float(value or 0)
    size_ns, unit = (1e6, "ms") if abs(ns) >= 999_950 else (1e3, "µs")
    if abs(ns) < 1000:
        return duration(ns)
    return f"{ns / size_ns:,.{3 if unit == 'ms' else 1}f} {unit}"


def _share(value: Cell) -> str:
    return share(float(value or 0))


def _findings(findings: Sequence[ExplainedFinding], per: str) -> Iterator[str]:
    if not findings:
        yield "Findings: none"
    else:
        yield f"Findings, with the most that each can save {per} (they overlap: do not add)"
    for one in findings:
        gain = "" if one.ns_per_step is None else (
            f" {duration(one.ns_per_step)} {share(one.step_ratio or 0)}"
        )  # fmt: skip
        yield f"  {one.id}{gain} · {one.title} ({one.severity})"
        shown = ", ".join(one.evidence).replace(", slice/", ", ")
        at = f"at {one.place}" if one.place else ""
        more = " · ".join(text for text in (at, shown, one.action) if text)
        if more:
            yield f"      {more}"


def _section(document: ExplainDocument, name: str, title: str) -> Iterator[str]:
    grid: Grid = getattr(document, name)
    if grid.rows:
        yield ""
        yield title
        columns = [key.removesuffix(PER_STEP) for key in grid.columns]
        yield from table(columns, grid.rows)
        yield from _more(document.left_out, name)


def _more(left_out: Mapping[str, int], name: str, *, is_alone: bool = False) -> Iterator[str]:
    if left := left_out.get(name, 0):
        how = f"of less than 1 %: --max-bytes {MOST_SECTION_BYTES}"
        yield f"  … {left} more{f' {how}' if is_alone else f': --section {name}'}"


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


def plain_table(
    columns: Sequence[str], rows: Sequence[Sequence[Cell]], is_aligned: bool, has_full_names: bool
) -> Iterator[str]:
    """Rows as they are, in aligned columns, or as ``a|b|c``: units are those of the ids.

    Columns without any value are named once, below. Names of templates are cut in their middle.
    """
    empty = [at for at in range(len(columns)) if rows and all(row[at] is None for row in rows)]
    kept = [at for at in range(len(columns)) if len(empty) == len(columns) or at not in empty]
    texts = [[_text(row[at]) for at in kept] for row in rows]
    shown = texts if has_full_names else [list(map(_short, line)) for line in texts]
    numeric = [
        all(row[at] is None or isinstance(row[at], int | float) for row in rows) for at in kept
    ]
    lines = [[columns[at] for at in kept], *shown]
    widths = [max(len(line[at]) for line in lines) for at in range(len(kept))]
    for line in lines:
        cells = zip(line, widths, numeric, strict=True)
        padded = (c.rjust(w) if right else c.ljust(w) for c, w, right in cells)
        yield "  ".join(padded).rstrip() if is_aligned else "|".join(line)
    if len(kept) < len(columns):
        yield f"NULL in every row: {', '.join(columns[at] for at in empty)}"
    if shown != texts:
        yield "… stands for a part of a name: --full-names"


def _text(cell: Cell) -> str:
    if isinstance(cell, float) and abs(cell) < 1e9:
        return f"{cell:.9g}"
    return "–" if cell is None else str(cell)


def _short(text: str) -> str:
    if len(text) <= NAME or "<" not in text:
        return text
    return f"{text[: NAME - 21]}…{text[-20:]}"


def _column(key: str, values: Sequence[Cell]) -> tuple[str, list[str]]:
    unit = unit_of(key)
    if unit == "ns":
        figures = [None if value is None else float(value) for value in values]
        most = max((abs(value) for value in figures if value), default=0)
        name, size_ns = ("us", 1e3) if 0 < most < 1e6 else ("ms", 1e6)
        head = f"{key.removesuffix('_ns')}_{name}"
        return head, ["–" if v is None else _four_digits(v / size_ns) for v in figures]
    return key, [_cell(value, unit) for value in values]


def _four_digits(value: float) -> str:
    """``0.773``, ``12.51``, ``131.7``."""
    size = abs(value)
    return f"{value:,.{3 if size < 9.9995 else 2 if size < 99.995 else 1}f}"


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
