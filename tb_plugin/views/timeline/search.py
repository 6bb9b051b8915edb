"""Search: which names match, where their slices are, and which one is next."""

from __future__ import annotations

import numpy as np

from ...analysis.timeline.build.names import BadPattern
from ...analysis.timeline.search import Hits, hits_of, next_hit
from ..view import Subject
from .common import check_slice, opened_of, ref, tracks
from .contract import NameHit, SearchAnswer, StepTo
from .queries import HitQuery, SearchQuery

MOST_NAMES, MOST_CODES = 200, 5000


def search(subject: Subject, query: SearchQuery) -> SearchAnswer:
    """Names that match, with counts and their place on the time axis.

    What is no regular expression is told in ``problem``, beside an answer without names: the page
    asks while the user types.
    """
    opened = opened_of(subject, query.layout)
    chosen = tracks(query.tracks, opened)
    problem = ""
    try:
        codes = opened.texts.find(query.text, query.mode)
    except BadPattern as error:
        codes, problem = np.empty(0, np.intp), error.message
    found = hits_of(opened, codes, query.columns, chosen)
    order = np.lexsort((found.codes, -found.count))[:MOST_NAMES]
    kinds = opened.timeline.slices.kind
    return SearchAnswer(
        names=tuple(
            NameHit(
                name=int(found.codes[at]),
                text=opened.timeline.names[found.codes[at]],
                kind=int(kinds[found.first[at]]),
                slices=int(found.count[at]),
                total_ns=int(found.total[at]),
                first=int(found.first[at]),
            )
            for at in order.tolist()
        ),
        name_count=len(found.codes),
        codes=_codes(found),
        slices=int(found.count.sum()),
        total_ns=int(found.total.sum()),
        density=tuple(found.density.tolist()),
        tracks={str(track): count for track, count in found.tracks.items()},
        problem=problem,
    )


def _codes(found: Hits) -> tuple[int, ...]:
    """Codes to highlight; only the most frequent ones where there are too many."""
    if len(found.codes) <= MOST_CODES:
        return tuple(found.codes.tolist())
    most = np.argsort(-found.count, kind="stable")[:MOST_CODES]
    return tuple(np.sort(found.codes[most]).tolist())


def hit(subject: Subject, query: HitQuery) -> StepTo:
    """The hit after or before a slice, or an instant, in order of time.

    Raises:
        BadPattern: the text is no regular expression.
    """
    opened = opened_of(subject, query.layout)
    chosen = tracks(query.tracks, opened)
    codes = opened.texts.find(query.text, query.mode)
    forward = query.direction == "next"
    if query.slice >= 0:
        one = check_slice(opened, query.slice)
        at = int(opened.timeline.slices.ts[one]), one
    else:
        at = query.ts, -1
    found = next_hit(opened, codes, chosen, at, forward=forward)
    if found is None:
        return StepTo(None, 0, int(hits_of(opened, codes, 1, chosen).count.sum()))
    return StepTo(ref(opened, found.slice), found.position, found.count)
