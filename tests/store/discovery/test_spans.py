"""Numbers of spans: 1, 2, … in time order, the same number for the same cycle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.store.discovery.file_names import TraceName, number

START = 1_700_000_000_000  # ms


def run(**stamps: list[int | None]) -> dict[str, list[TraceName]]:
    return {
        worker: [TraceName(worker, None if s is None else str(s), by_rule=True) for s in mine]
        for worker, mine in stamps.items()
    }


def at(*seconds: float) -> list[int | None]:
    return [START + int(second * 1000) for second in seconds]


def test_in_numeric_order_however_the_stamps_are_written() -> None:
    assert number(run(a=[9, 10, 100])) == {"a": ["1", "2", "3"]}
    assert number(run(a=[START * 10**6 + 1, START - 1])) == {"a": ["2", "1"]}  # ns and ms


def test_a_file_without_a_stamp_is_default() -> None:
    assert number(run(a=[None])) == {"a": ["default"]}
    assert number(run(a=[None, 7, None])) == {"a": ["default", "1", "default-2"]}


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        # every worker has every cycle, with some skew
        ({"a": at(0, 10, 20), "b": at(1, 11, 21)}, {"a": ["1", "2", "3"], "b": ["1", "2", "3"]}),
        # b missed the second cycle
        ({"a": at(0, 10, 20), "b": at(1, 21)}, {"a": ["1", "2", "3"], "b": ["1", "3"]}),
        # a missed the second one, although it is always the first to write
        (
            {"a": at(0, 20), "b": at(1, 11, 21), "c": at(2, 12, 22)},
            {"a": ["1", "3"], "b": ["1", "2", "3"], "c": ["1", "2", "3"]},
        ),
        # b has not written the last one yet
        ({"a": at(0, 10), "b": at(1)}, {"a": ["1", "2"], "b": ["1"]}),
        # clocks that are farther apart than cycles tell nothing: plain counting
        ({"a": at(0, 10, 20), "b": at(5, 14)}, {"a": ["1", "2", "3"], "b": ["1", "2"]}),
        # stamps that are no wall clock tell nothing either
        ({"a": [1, 2, 3], "b": [1, 3]}, {"a": ["1", "2", "3"], "b": ["1", "2"]}),
    ],
)
def test_equal_numbers_are_the_same_cycle(
    stamps: dict[str, list[int | None]], expected: dict[str, list[str]]
) -> None:
    assert number(run(**stamps)) == expected


@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.lists(st.one_of(st.none(), st.integers(START, START + 100_000)), max_size=6),
        max_size=4,
    )
)
def test_keys_are_unique_and_follow_time(stamps: dict[str, list[int | None]]) -> None:
    names = run(**stamps)
    for worker, keys in number(names).items():
        assert len(set(keys)) == len(keys) == len(stamps[worker])
        timed = sorted(
            (s, int(k)) for s, k in zip(stamps[worker], keys, strict=True) if s is not None
        )
        if len({s for s, _ in timed}) == len(timed):
            assert [k for _, k in timed] == sorted(k for _, k in timed)
