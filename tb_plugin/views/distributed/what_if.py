"""What if a rank, a node, a stage or a group of links were like the others, or input were free?"""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.distributed.comparison import Comparison
from ...analysis.distributed.lateness.what_if import Edit, what_if
from ...base.errors import QueryError
from ..compared import Compared, compared
from ..view import Subject
from . import contract as answers


def build(subject: Subject, query: answers.WhatIfQuery) -> answers.WhatIfAnswer:
    """The step replayed with one change.

    Raises:
        QueryError: there is no such rank, node, stage or group.
    """
    found = compared(subject)
    if found.waiting:
        return answers.WhatIfAnswer("It is answered when all ranks are read.")
    said = what_if(found.comparison, edit_of(found, query))
    return answers.WhatIfAnswer(
        refused=said.refused,
        sentence=said.sentence,
        step_ns=_known(said.step_ns),
        edited_ns=_known(said.edited_ns),
        gain_ns=_known(said.gain_ns),
        error_median=_figure(said.error_median),
        error_most=_figure(said.error_most),
    )


def edit_of(found: Compared, query: answers.WhatIfQuery) -> Edit:
    """The edit that a query asks for.

    Raises:
        QueryError: there is no such rank, node, stage or group.
    """
    of = found.comparison
    late = of.verdict.members
    if query.kind == "late" and late:
        return Edit("ranks", late)
    if query.kind in ("late", "input"):
        return Edit("input")
    if query.kind == "group":
        _check(query, len(of.groups), "group", "the row of a group")
        return Edit("transfers", group=query.target)
    if query.kind == "rank":
        _check(query, len(of.digests), "rank", "the row of a rank")
        return Edit("ranks", (query.target,))
    by_node = [one.members for one in of.nodes]
    sets = by_node if query.kind == "node" else [ranks for _, ranks in stages(of)]
    _check(query, len(sets), query.kind, f"the number of a {query.kind}, from 0")
    return Edit("ranks", tuple(sets[query.target]))


def _check(query: answers.WhatIfQuery, count: int, what: str, hint: str) -> None:
    if query.target >= count:
        raise QueryError(f"target: there is no such {what}", hint=f"Take {hint}.")


def stages(of: Comparison) -> list[tuple[list[float], Sequence[int]]]:
    """The bubbles and the ranks of each stage, over all pipelines of the run."""
    found: list[tuple[list[float], list[int]]] = []
    for pipeline in of.pipelines:
        for number, (rank, part) in enumerate(
            zip(pipeline.stages, pipeline.bubble_share.tolist(), strict=True)
        ):
            if number == len(found):
                found.append(([], []))
            found[number][0].append(part)
            found[number][1].append(rank)
    return [(shares, sorted(ranks)) for shares, ranks in found]


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def _figure(value: float) -> float | None:
    return None if value != value else value  # noqa: PLR0124  # NaN is not itself
