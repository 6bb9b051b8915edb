"""Equal questions are computed once, nobody waits long, and nobody who goes stops the work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

import pytest
from msgspec.structs import replace
from werkzeug.test import Client

from kinetoscope.analysis.facts import Facts
from kinetoscope.base.errors import QueryError
from kinetoscope.store.catalog import BeingRead
from kinetoscope.views.progress import tell
from kinetoscope.web import app
from kinetoscope.web.computing import KEPT_SECONDS, MOST_AT_ONCE, TAKEN_SECONDS, Computing
from tests.waiting import wait_for
from tests.web.drawn import CHOICE, PROGRESS, DrawnCatalog, LengthQuery, Lengths, length_view

ASKERS = 16


class Held:
    """A computation that ends when it is let go, and counts."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.ended = (threading.Event() for _ in range(3))
        self.count = 0

    def __call__(self) -> bytes:
        self.count += 1
        number = self.count
        tell("reading digests", 512, 1024)
        self.begun.set()
        assert self.go_on.wait(60)
        self.ended.set()
        return b"%d" % number


class Clock:
    """Seconds that pass when the test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def asking(ask: Callable[[], object], times: int) -> Iterator[list[object]]:
    """So many who ask at the same time; their answers when the block ends."""
    answers: list[object] = []
    with ThreadPoolExecutor(times) as pool:
        asked = [pool.submit(ask) for _ in range(times)]
        yield answers
        answers += [one.result(60) for one in asked]


def waiting_for(site: Computing) -> int:
    """How many wait right now."""
    running = site._computations.values()
    return sum(len(cast("Any", one.done)._cond._waiters) for one in running)


def test_who_asks_the_same_at_the_same_time_shares_one_computation() -> None:
    held, site = Held(), Computing(patience=60)
    with asking(lambda: site.answer("same", held), ASKERS) as answers:
        assert held.begun.wait(60)
        assert site.answer("other", lambda: b"at once") == b"at once"
        wait_for(lambda: waiting_for(site) == ASKERS)
        held.go_on.set()
    assert answers == [b"1"] * ASKERS
    assert held.count == 1


def test_an_answer_that_nobody_waited_for_in_vain_is_not_kept() -> None:
    held, site = Held(), Computing(patience=60)
    held.go_on.set()
    assert [site.answer("same", held) for _ in range(3)] == [b"1", b"2", b"3"]


def test_who_waited_is_told_how_far_it_is_and_gets_the_answer_of_that_computation() -> None:
    clock, held = Clock(), Held()
    site = Computing(patience=0, clock=clock)
    with pytest.raises(BeingRead):
        site.answer("same", held)
    assert held.begun.wait(60)
    clock.now += 7
    with pytest.raises(BeingRead) as raised:
        site.answer("same", held)
    told = raised.value.progress
    assert (told.phase, told.parts_done, told.parts_total) == ("reading digests", 512, 1024)
    assert told.seconds == 7
    held.go_on.set()
    assert wait_for(lambda: answered(site, held)) == b"1"
    clock.now += TAKEN_SECONDS
    assert answered(site, held) == b"1"  # for another who was told to wait
    clock.now += 0.1
    assert wait_for(lambda: answered(site, held)) == b"2"


def answered(site: Computing, held: Held) -> object:
    try:
        return site.answer("same", held)
    except BeingRead:
        return None


def test_what_nobody_comes_back_for_is_let_go() -> None:
    clock, held = Clock(), Held()
    site = Computing(patience=0, clock=clock)
    assert answered(site, held) is None
    held.go_on.set()
    assert held.ended.wait(60)
    wait_for(lambda: all(one.until for one in site._computations.values()))
    clock.now += KEPT_SECONDS + 0.1
    assert answered(site, held) in {None, b"2"}
    assert wait_for(lambda: answered(site, held)) == b"2"


def test_an_error_reaches_all_who_asked_and_progress_of_reading_is_never_kept() -> None:
    site = Computing(patience=60)

    def refused() -> bytes:
        raise QueryError("no such step")

    for _ in range(2):
        with pytest.raises(QueryError, match="no such step"):
            site.answer("refused", refused)
    clock, held = Clock(), Held()
    site = Computing(patience=0, clock=clock)

    def reading() -> bytes:
        held()
        raise BeingRead("being read", PROGRESS)

    with pytest.raises(BeingRead):
        site.answer("same", reading)
    held.go_on.set()
    wait_for(lambda: not site._computations)


def test_so_many_at_once_and_no_more() -> None:
    held, site = Held(), Computing(patience=0)
    for number in range(MOST_AT_ONCE):
        with pytest.raises(BeingRead):
            site.answer(number, held)
    with pytest.raises(BeingRead) as raised:
        site.answer("one more", held)
    assert raised.value.progress.phase == "waiting for other answers"
    wait_for(lambda: held.count == MOST_AT_ONCE)
    held.go_on.set()
    assert wait_for(lambda: answered(site, held))


# --- through the application ----------------------------------------------------------------------


def slow_site(held: Held, shared: Computing, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(app, "Computing", lambda: shared)

    def build(of: Facts, query: LengthQuery) -> Lengths:
        held()
        return Lengths((), (query.scale,))

    return Client(
        app.create_app(DrawnCatalog(), (replace(length_view(), build=build),), "standalone")
    )


def test_requests_for_the_same_are_one_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    held, shared = Held(), Computing(patience=60)
    site = slow_site(held, shared, monkeypatch)

    def ask() -> object:
        return site.get("/api/view/lengths", query_string={**CHOICE, "scale": 3}).get_json()

    with asking(ask, ASKERS) as answers:
        assert held.begun.wait(60)
        assert site.get("/api/info").status_code == 200
        wait_for(lambda: waiting_for(shared) == ASKERS)
        held.go_on.set()
    assert answers == [{"names": [], "dur_ns": [3]}] * ASKERS
    assert held.count == 1


def test_a_long_answer_is_202_until_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    site = slow_site(held, Computing(patience=0.01), monkeypatch)
    first = site.get("/api/view/lengths", query_string=CHOICE)
    assert held.begun.wait(60)
    again = site.get("/api/view/lengths", query_string=CHOICE)
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.get_json()["reading"]["parts_done"] == 512
    assert again.headers["Cache-Control"] == "no-store"
    held.go_on.set()
    assert held.ended.wait(60)
    wait_for(lambda: site.get("/api/view/lengths", query_string=CHOICE).status_code == 200)
    assert held.count == 1
