"""Steps side by side: the results of one thread, and never more threads than may be used."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from kinetoscope.base import machine
from kinetoscope.base.machine import each, side_by_side, threads_kept


@pytest.fixture(params=[1, 2, 5], autouse=True)
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(machine, "thread_count", lambda: request.param)
    before = threading.active_count()
    yield request.param
    assert threading.active_count() == before


def test_results_are_in_the_order_of_the_steps() -> None:
    assert side_by_side(lambda: "a", lambda: "b", lambda: "c") == ["a", "b", "c"]
    assert each(lambda value: 2 * value, range(20)) == list(range(0, 40, 2))
    assert side_by_side() == []


class Crowd:
    """Counts who is inside at once."""

    def __init__(self) -> None:
        self.most = 0
        self._inside: set[int] = set()
        self._lock = threading.Lock()

    def enter(self) -> None:
        with self._lock:
            self._inside.add(threading.get_ident())
            self.most = max(self.most, len(self._inside))

    def leave(self) -> None:
        with self._lock:
            self._inside.discard(threading.get_ident())


def test_steps_inside_steps_share_the_threads(threads: int) -> None:
    crowd = Crowd()

    def inner(value: int) -> int:
        crowd.enter()
        total = sum(range(20_000 + value))
        crowd.leave()
        return total

    def outer(value: int) -> list[int]:
        return each(inner, range(value, value + 6))

    expected = [[sum(range(20_000 + n)) for n in range(value, value + 6)] for value in range(6)]
    assert each(outer, range(6)) == expected
    assert crowd.most <= threads


def test_all_threads_work_at_once(threads: int) -> None:
    """Each step waits for the others, as many as there are threads."""
    meeting = threading.Barrier(threads)
    assert each(lambda _: meeting.wait(60) >= 0, range(threads)) == [True] * threads


def test_a_thread_without_work_takes_steps_that_another_calls_later(threads: int) -> None:
    """One step is done before the other calls its own, which wait for each other."""
    caller, is_done = threading.get_ident(), threading.Event()
    have_both = threading.Barrier(min(threads, 2))

    def step() -> list[bool]:
        have_both.wait(60)
        if threads > 1 and threading.get_ident() != caller:
            is_done.set()
            return []
        assert threads == 1 or is_done.wait(60)
        meeting = threading.Barrier(min(threads, 2))
        return each(lambda _: meeting.wait(60) >= 0, range(meeting.parties))

    called = [[True] * min(threads, 2)]
    assert sorted(side_by_side(step, step)) == ([[], *called] if threads > 1 else called * 2)


def test_the_first_failure_is_raised_and_no_step_begins_behind_it() -> None:
    done = []

    def fail(text: str) -> None:
        raise ValueError(text)

    with pytest.raises(ValueError, match="first"):
        side_by_side(lambda: fail("first"), lambda: fail("second"))
    with pytest.raises(ValueError, match="early"):
        side_by_side(*[lambda: fail("early")] * 8, *[lambda: done.append(1)] * 8)
    assert not done
    assert side_by_side(lambda: 1) == [1]  # the threads were given back


def at_once(count: int) -> set[int]:
    """Threads that take a step each, all at once."""
    meeting = threading.Barrier(count)
    return set(each(lambda _: (meeting.wait(60), threading.get_ident())[1], range(count)))


def test_threads_are_kept_between_calls_and_end_with_the_last(threads: int) -> None:
    before = threading.active_count()
    with threads_kept():
        first = at_once(threads)
        assert len(first) == threads
        with threads_kept():
            assert at_once(threads) == first
        assert at_once(threads) == first
        assert threading.active_count() == before + threads - 1
    assert threading.active_count() == before


def test_kept_threads_are_as_many_as_may_be_used_by_then(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file is read beside this one for a while, and takes its share."""

    def who(_: int) -> int:
        time.sleep(0.001)
        return threading.get_ident()

    with threads_kept():
        assert len(at_once(threads)) == threads
        monkeypatch.setattr(machine, "thread_count", lambda: 1)
        for _ in range(threads):  # A call wakes who waits; who is one too many ends then.
            each(who, range(8))
            time.sleep(0.01)  # so that all wait before the next
        assert set(each(who, range(8))) == {threading.get_ident()}
        monkeypatch.setattr(machine, "thread_count", lambda: threads)
        assert len(at_once(threads)) == threads


def test_threads_that_are_kept_end_where_a_step_failed() -> None:
    def fail(_: int) -> None:
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"), threads_kept():
        each(fail, range(9))
    assert each(abs, [-1, -2]) == [1, 2]  # the threads were given back


def test_a_system_without_threads_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert each(lambda value: value + 1, range(4)) == [1, 2, 3, 4]
