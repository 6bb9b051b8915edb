"""Idle time of drawn recordings: holders, causes, gaps, paths, all of it.

python -m tests.analysis.idle.test_whole_answers
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinetoscope.analysis.device_work import DeviceWork
from kinetoscope.analysis.host_activity import hosts_of
from kinetoscope.analysis.idle.artifact import idle_columns
from kinetoscope.analysis.idle.causes import IdleCauses
from kinetoscope.analysis.idle.dependencies import dependencies
from kinetoscope.analysis.idle.gaps import idle_pieces, learn
from kinetoscope.analysis.idle.holders import holders, holders_in_python, together
from kinetoscope.analysis.idle.names import HeldNames, host_held, parallel
from kinetoscope.analysis.steps import step_windows
from kinetoscope.base.intervals import Intervals
from kinetoscope.trace.model import Trace
from tests.drawn_loop import GPU, Loop, scatter
from tests.golden import holds, plain, write
from tests.trace.drawn import drawn

TABLE = Path(__file__).with_name("whole_answers.txt")
SEEDS = range(24)


def answers(trace: Trace) -> Mapping[str, Any]:
    """Everything that is found out of idle time, and of the main thread without a device."""
    hosts, windows = hosts_of(trace), step_windows(trace)
    names = HeldNames(trace, hosts)
    causes = IdleCauses(names, windows)
    columns = idle_columns(trace)
    found: dict[str, Any] = {
        **{name: getattr(columns, name) for name in columns.__struct_fields__ if name != "strings"},
        "dependencies": dependencies(trace),
        "host_held": host_held(names, windows),
        "parallel": parallel(trace, hosts, windows),
    }
    for row, device in enumerate(trace.devices):
        if device.used:
            work = DeviceWork(trace, row)
            table = causes.of_device(work)
            rows, own = causes.rows_of_device(work)
            found |= {
                f"of_device {row}": table,
                f"rows_of_device {row}": (rows, own),
                f"pieces {row}": idle_pieces(work, hosts.main, windows),
                f"learned {row}": learn(work),
            }
    return {**found, "names": names.table(), "places": names.places.table(),
            "following": causes.following}  # fmt: skip


def of_loop(seed: int) -> Mapping[str, Any]:
    return answers(Loop(seed).trace)


def of_few_events(first: int) -> Mapping[str, Any]:
    """A line for each of ten recordings of a few events."""
    return {
        f"{seed}": answers(drawn(scatter(seed), deviceProperties=[{**GPU, "id": 0}]))
        for seed in range(first, first + 10)
    }


CASES = {
    **{f"recording {seed}": partial(of_loop, seed) for seed in SEEDS},
    **{f"few events {first}": partial(of_few_events, first) for first in range(0, 150, 10)},
}


@pytest.mark.parametrize("case", [*CASES][len(SEEDS) :])
def test_no_figure_of_few_events_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", [*CASES][: len(SEEDS)])
def test_no_figure_of_idle_time_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("seed", [1, 6, 13])
def test_what_holds_a_thread_is_the_same_by_the_library_and_by_its_reference(seed: int) -> None:
    trace = Loop(seed).trace
    hosts, windows = hosts_of(trace), step_windows(trace)
    frames = Intervals(windows.start, windows.end)
    for thread in range(len(trace.threads)):
        rows = slice(int(hosts.first[thread]), int(hosts.first[thread + 1]))
        both = [
            together([one])
            for one in (
                holders(trace, hosts, thread, frames, frames),
                holders_in_python(trace, rows, frames, frames),
            )
        ]
        orders = [np.lexsort((one.window, one.row)) for one in both]
        first, second = (
            plain([one.row[at], one.window[at], one.idle[at]])
            for one, at in zip(both, orders, strict=True)
        )
        assert first == second


if __name__ == "__main__":
    write(CASES)
