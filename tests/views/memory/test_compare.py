"""A snapshot against another one of the same logdirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinetoscope.base.errors import QueryError
from kinetoscope.session.session import FileSession, TraceSession
from kinetoscope.views.memory.compare import comparison
from kinetoscope.views.memory.contract import CompareQuery
from kinetoscope.views.memory.view import VIEW
from kinetoscope.views.view import Subject, TracePlace
from tests.analysis.memory.made import MadeMemory
from tests.analysis.memory.snapshots.test_columns import DRAWN, PIECES, stored
from tests.drawing import draw
from tests.trace.pickles.drawn_snapshot import MIB, snapshot

QUERY = CompareQuery("run", "earlier", "default")


class Others:
    """The only other recording."""

    own = None

    def __init__(self, other: Subject) -> None:
        self.other = other

    def workers(self) -> tuple[Any, ...]:
        return ()

    def everything(self) -> tuple[Any, ...]:
        return ()

    def gather(self, places: Any, variant: str = "") -> Any:  # noqa: ARG002
        raise AssertionError("one recording is asked for at a time")

    def stored(self, places: Any, spec: Any) -> Any:  # noqa: ARG002
        raise AssertionError("one recording is asked for at a time")

    def ready(self, places: Any, spec: Any, *, read: bool) -> Any:  # noqa: ARG002
        raise AssertionError("one recording is asked for at a time")

    def artifact(self, place: TracePlace, spec: Any, variant: str = "") -> Any:  # noqa: ARG002
        raise AssertionError("one recording is asked for at a time")

    def subject(self, place: TracePlace) -> Subject:
        assert place == ("run", "earlier", "default")
        return self.other


def between(after: Subject, before: Subject) -> Subject:
    return msgspec.structs.replace(after, recordings=Others(before))


def test_differences_of_sites_sum_to_that_of_the_peaks(tmp_path: Path) -> None:
    before, after = (
        FileSession(str(stored(tmp_path, root, name))).subject(VIEW)
        for root, name in ((snapshot(segments=(PIECES,)), "a.pickle"), (DRAWN, "b.pickle"))
    )
    answer = comparison(between(after, before), QUERY)
    assert (answer.before_bytes, answer.after_bytes) == (6 * MIB, 15 * MIB)
    assert sum(one.difference_bytes for one in answer.sites) == 9 * MIB
    assert answer.sentence.replace("\u00a0", " ") == (
        "The peak is 9.00 MiB higher, from 6.00 MiB to 15.0 MiB. Sites: 1 new, 1 grown."
    )
    new = answer.sites[0]
    assert (new.change, new.before_lifetime_ns, new.after_lifetime_ns) == ("new", None, 2000)
    assert (answer.before.steps, answer.after.steps) == (1, 1)


def test_a_trace_is_not_compared_here(tmp_path: Path) -> None:
    made = MadeMemory()
    made.allocate(1, "a", 400)
    trace = TraceSession(draw("op |aaaa|", events=made.events)).subject(VIEW)
    after = FileSession(str(stored(tmp_path, DRAWN))).subject(VIEW)
    with pytest.raises(QueryError, match="two memory snapshots"):
        comparison(between(after, trace), QUERY)
