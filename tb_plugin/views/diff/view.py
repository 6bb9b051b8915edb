"""Diff: what changed between two recordings, by how much, and is it real?"""

from __future__ import annotations

from ...analysis.diff.changes import changes
from ...analysis.diff.flame import pair_flame
from ...analysis.diff.pieces import AlignedPiece, MainThread, PieceSide, phases, pieces_at
from ...analysis.diff.sides import Items, Side, operator_items
from ...analysis.facts import Facts
from ...analysis.operators.artifact import OPERATORS
from ...analysis.steps import step_parameter
from ...base.errors import QueryError, UnavailableError
from ..origins import lending
from ..shared import as_structs
from ..table import Table, heads, table_from
from ..view import Part, Recordings, Subject, TracePlace, View
from . import contract as answers
from .rows import Pair, Recorded, columns_of, row_of

MOST_ROWS = 100
MOST_STEPS = 500  # to begin two timelines at


def build(subject: Subject, query: answers.DiffQuery) -> answers.Diff:
    """The verdict and the bridge. Raises QueryError, NotFoundError."""
    return pair_of(subject, query).answer(query)


def pair_of(subject: Subject, query: answers.DiffQuery) -> Pair:
    """This trace against the base that the query names.

    Raises:
        QueryError: no base is named, or its steps are not there.
        NotFoundError: there is no such trace.
        UnavailableError: the base has nothing to compare.
    """
    own = subject.recordings.own
    if own is None or not query.base_run:
        raise QueryError("base_run: which recording is the base?", hint="Name a run.")
    place = TracePlace(query.base_run, query.base_worker or own.worker, query.base_span or own.span)
    base = subject if place == own else subject.recordings.subject(place)
    if base.facts.recording.memory_alone:
        hint = "Compare two of them in Memory."
        raise UnavailableError("The base holds memory alone, without steps.", hint=hint)
    return Pair(
        Recorded(base.facts, lending(base), place, query.base_steps),
        Recorded(subject.facts, lending(subject), own, query.steps),
        query.budget,
        query.equal_clocks,
    )


def table(subject: Subject, query: answers.DiffTableQuery) -> answers.DiffTable:
    """A window of the operators, kernels or modules. Raises QueryError, NotFoundError."""
    return pair_of(subject, query).table(query)


def pieces(subject: Subject, query: answers.PiecesQuery) -> answers.Pieces:
    """The pieces below a path, with the operators in them. Raises QueryError, NotFoundError."""
    pair = pair_of(subject, query)
    threads = MainThread(pair.base.side), MainThread(pair.other.side)
    try:
        path = [int(part) for part in query.path.split("-")] if query.path else []
        found, trail = pieces_at(*threads, path)
    except (ValueError, IndexError):
        hint = "Take the path of a piece."
        raise QueryError("path: there is no such piece", hint=hint) from None
    rows = _rows(threads, trail[-1] if trail else None, pair)
    counts = pair.base.side.count, pair.other.side.count
    return answers.Pieces(
        path=query.path,
        trail=tuple(piece.name for piece in trail),
        pieces_columns=heads(answers.Piece),
        pieces=tuple(
            _piece("-".join(map(str, (*path, at))), piece, counts) for at, piece in enumerate(found)
        ),
        columns=columns_of(answers.DiffTableQuery(metric="total_ns")),
        rows=rows[:MOST_ROWS],
        row_count=len(rows),
        missing="" if found or trail else "The two have no ranges in common to be aligned by.",
    )


def _piece(path: str, piece: AlignedPiece, counts: tuple[int, int]) -> answers.Piece:
    def of(side: PieceSide, count: int) -> tuple[float, float, int]:
        return side.total_ns / count, side.device_ns / count, len(side.nodes)

    base, other = of(piece.base, counts[0]), of(piece.other, counts[1])
    return answers.Piece(
        path=path,
        name=piece.name,
        other_name=piece.other_name,
        kind=piece.kind,
        base_ns=piece.base.host_ns / counts[0],
        other_ns=piece.other.host_ns / counts[1],
        base_device_ns=base[1],
        other_device_ns=other[1],
        base_count=base[2],
        other_count=other[2],
        has_inside=piece.has_inside,
    )


def _rows(
    threads: tuple[MainThread, MainThread], piece: AlignedPiece | None, pair: Pair
) -> tuple[answers.DiffRow, ...]:
    """The operators of a piece; of the whole step without one."""
    sides = (piece.base, piece.other) if piece else (None, None)
    items = [_items(thread, side) for thread, side in zip(threads, sides, strict=True)]
    found = changes(items[:1], items[1:], "total_ns", pair.base.side.mean_ns)
    return tuple(map(row_of, found))


def _items(thread: MainThread, side: PieceSide | None) -> Items:
    if side is None:
        return operator_items(thread.side)
    return operator_items(thread.side, only=thread.rows_in(side.segments))


def marks(subject: Subject, query: answers.DiffQuery) -> answers.DiffMarks:
    """Where two timelines can begin together. Raises QueryError, NotFoundError."""
    pair = pair_of(subject, query)
    base, other = (_marks(one) for one in (pair.base.side, pair.other.side))
    names = [
        dict.fromkeys(phase.name for step in side for phase in step.phases)
        for side in (base, other)
    ]
    return answers.DiffMarks(base, other, tuple(name for name in names[0] if name in names[1]))


def _marks(side: Side) -> tuple[answers.StepMarks, ...]:
    """The steps of the host with their direct children; the whole where none is marked."""
    thread = MainThread(side)
    facts, indexes = side.selection.facts, side.selection.indexes
    if side.steps is None or len(thread.steps) != len(indexes):
        # Steps that ranges of the main thread do not mark are known by their windows alone.
        whole = side.steps is None
        return tuple(
            answers.StepMarks(
                "" if whole else step_parameter(facts, index),
                facts.steps[index].start_ns,
                facts.steps[index].end_ns,
                as_structs(answers.PhaseMark, phases(thread, thread.top if whole else ())),
            )
            for index in indexes[:MOST_STEPS]
        )
    return tuple(
        answers.StepMarks(
            step_parameter(facts, index),
            *thread.span(step),
            as_structs(answers.PhaseMark, phases(thread, step.inside)),
        )
        for index, step in list(zip(indexes, thread.steps, strict=True))[:MOST_STEPS]
    )


def flame(subject: Subject, query: answers.DiffFlameQuery) -> answers.DiffFlame:
    """The flame graph of both. Raises QueryError, NotFoundError."""
    pair = pair_of(subject, query)
    missing = ""
    if query.metric == "device":
        columns = (pair.base.side.operators, pair.other.side.operators)
        missing = next((one.missing["device"] for one in columns if "device" in one.missing), "")
    if missing:
        return answers.DiffFlame("ns", 0, 0, (), missing)
    found = pair_flame(pair.base.side, pair.other.side, query.metric, query.min_ratio)
    return answers.DiffFlame(
        unit="count" if query.metric == "calls" else "ns",
        base_total=found.base_total,
        other_total=found.other_total,
        boxes=tuple(
            answers.DiffBox(at, box.parent, box.name, box.kind, box.base, box.other)
            for at, box in enumerate(found.boxes)
        ),
        missing="",
    )


def unavailable(facts: Facts) -> str | None:
    """Why this recording cannot be compared, or None."""
    return facts.unavailable.get("steps") if not facts.steps else None


def among(facts: Facts, beside: Recordings) -> str | None:  # noqa: ARG001  # the form of View.among
    """Why there is nothing to compare it with, or None."""
    if beside.own is None:
        return (
            "This file was opened alone. Open the folder that holds both recordings, or"
            " `kinetoscope diff BASE OTHER`."
        )
    return None


def tables(answer: answers.Diff) -> tuple[Table, ...]:
    """The bridge and the counts."""
    return (
        table_from("From A to B", answer.parts_columns, answer.parts),
        table_from("Counts", answer.counts_columns, answer.counts),
    )


VIEW = View(
    stem="diff",
    title="Diff",
    key="f",
    question="What changed between two recordings, and is it real?",
    query=answers.DiffQuery,
    answer=answers.Diff,
    build=build,
    tables=tables,
    unavailable=unavailable,
    artifact=OPERATORS,
    parts=(
        Part("table", answers.DiffTableQuery, answers.DiffTable, table),
        Part("pieces", answers.PiecesQuery, answers.Pieces, pieces),
        Part("marks", answers.DiffQuery, answers.DiffMarks, marks),
        Part("flame", answers.DiffFlameQuery, answers.DiffFlame, flame),
    ),
    among=among,
)
