"""Two recordings in one answer of a few kilobytes (contract): what changed, and is it real?

Every figure is one of the Diff view's; times are ns per step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ..base.units import duration, share
from ..views.diff.contract import Diff, DiffSide, DiffTable
from .explain import SCHEMA, Grid
from .text import table

CUTS = ("changed", "counts", "parts")
"""Sections that lose rows where the answer is too long, in this order."""


class ComparedSide(Struct, frozen=True):
    """One recording."""

    recording: str
    device: str
    step_count: int
    mean_ns: float
    median_ns: float
    noise_ratio: float | None  # half width of the 95 % interval of its median; None: not known


class ComparedDocument(Struct, frozen=True):
    """The whole; the base is A, the other B."""

    schema: int
    outcome: str
    headline: str
    detail: str
    certainty: str
    settle: str  # what would decide it; "" where it is decided
    base: ComparedSide
    other: ComparedSide
    unlike: tuple[str, ...]  # differences of machine and configuration
    outliers: tuple[str, ...]  # steps far from the others of their side
    parts: Grid
    counts: Grid  # that changed
    changed: Grid  # operators, kernels, modules: the largest changes
    not_compared: Mapping[str, str]  # group → why
    left_out: Mapping[str, int]  # rows that did not fit
    untrusted: tuple[str, ...] = ("recording", "name", "unlike")


def compared(answer: Diff, tables: Iterable[DiffTable]) -> ComparedDocument:
    """The answer of the Diff view, and the largest changes of its tables."""
    return ComparedDocument(
        schema=SCHEMA,
        outcome=answer.outcome,
        headline=answer.headline,
        detail=answer.detail,
        certainty=answer.certainty,
        settle=answer.settle,
        base=_side(answer.base),
        other=_side(answer.other),
        unlike=tuple(one.text for one in answer.mismatches),
        outliers=answer.outliers,
        parts=Grid(
            ("part", "base_ns", "other_ns", "change_ns", "is_real"),  # of the median step
            tuple(
                (one.label, one.base_ns, one.other_ns, one.change_ns, one.is_real)
                for one in answer.parts
                if one.base_ns or one.other_ns
            ),
        ),
        counts=Grid(
            ("count", "base_per_step", "other_per_step", "change_per_step", "is_exact"),
            tuple(
                (one.label, one.base, one.other, one.change, one.is_exact)
                for one in answer.counts
                if one.change
            ),
        ),
        changed=Grid(
            ("group", "name", "base_calls_per_step", "other_calls_per_step", "base_ns_per_step",
             "other_ns_per_step", "change_ns_per_step", "status"),
            tuple(row for one in tables for row in _changed(one)),
        ),
        not_compared=answer.missing,
        left_out={},
    )  # fmt: skip


def _side(side: DiffSide) -> ComparedSide:
    return ComparedSide(
        side.label, side.device, side.step_count, side.mean_ns, side.median_ns, side.noise_ratio
    )


def _changed(one: DiffTable) -> Iterator[tuple[str | float, ...]]:
    for row in one.rows:
        if row.change_ns:
            name = f"{row.name} → {row.other_name}" if row.other_name else row.name
            calls = round(row.base_calls, 2), round(row.other_calls, 2)
            times = round(row.base_ns), round(row.other_ns), round(row.change_ns)
            yield (one.group, name, *calls, *times, row.status)


def compared_text(document: ComparedDocument) -> str:
    """The answer as text."""
    return "\n".join(_lines(document)).replace("\u00a0", " ")


def _lines(document: ComparedDocument) -> Iterator[str]:
    said = (document.headline, document.detail, document.certainty, *document.outliers)
    yield from (text for text in (*said, document.settle) if text)
    yield f"Verdict: {document.outcome}"
    for letter, side in (("A", document.base), ("B", document.other)):
        noise = "" if side.noise_ratio is None else f" ± {share(side.noise_ratio)}"
        yield (
            f"{letter}: {side.recording} · {side.device} · {side.step_count} steps: mean"
            f" {duration(side.mean_ns)}, median {duration(side.median_ns)}{noise}"
        )
    yield from (f"△ {text}" for text in document.unlike)
    yield from (f"{group}: not compared: {why}" for group, why in document.not_compared.items())
    titles = {
        "parts": "Parts of the median step",
        "counts": "Counts that changed, per step",
        "changed": "Changes, per step",
    }
    for name, title in titles.items():
        grid: Grid = getattr(document, name)
        if not grid.rows:
            continue
        yield ""
        yield title
        yield from table([key.removesuffix("_per_step") for key in grid.columns], grid.rows)
        if left := document.left_out.get(name, 0):
            yield f"  … {left} more: --max-bytes 65536"
