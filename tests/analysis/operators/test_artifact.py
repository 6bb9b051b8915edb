"""What is stored is what was computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinetoscope.analysis.operators.artifact import OPERATORS, make_operators, operators_of
from kinetoscope.trace.read import read
from tests.drawing import draw
from tests.trace.drawn import drawn, meta, x


def test_the_columns_come_back(tmp_path: Path) -> None:
    trace = draw(
        """
        step  |111111111111|
        frame | ffffffffff |
        op    |  aaaaaa    |
        call  |    k       |
        gpu   |      kkkk  |
        """
    )
    told: list[float] = []
    make_operators(trace, tmp_path, told.append)
    stored, computed = OPERATORS.open(tmp_path), operators_of(trace)
    assert told == sorted(told)
    assert 0.9 < told[-1] <= 1
    for table in ("calls", "stacks", "paths", "activities"):
        for name in getattr(computed, table).__struct_fields__:
            ours = getattr(getattr(computed, table), name)
            theirs = getattr(getattr(stored, table), name)
            np.testing.assert_array_equal(theirs, ours, err_msg=f"{table}.{name}")
            assert theirs.dtype == ours.dtype
    for name in ("strings", "first_slice", "threads", "devices", "steps", "missing"):
        assert getattr(stored, name) == getattr(computed, name)
    activities = stored.activities
    assert activities.launch_ns.tolist() == [2000]  # the call starts at 4 µs, the kernel at 6
    assert activities.queue_ns.tolist() == [1000]
    assert stored.first_slice == len(trace.host)


def test_a_trace_without_anything(tmp_path: Path) -> None:
    trace = draw("")
    make_operators(trace, tmp_path, lambda _: None)
    stored = OPERATORS.open(tmp_path)
    assert len(stored.calls) == len(stored.activities) == 0
    assert set(stored.missing) == {"shapes", "stacks", "modules", "device"}


def test_a_file_of_another_recorder_is_not_advised_options_of_torch(tmp_path: Path) -> None:
    path = tmp_path / "compiler.json"
    path.write_text('[{"ph": "X", "name": "parse", "ts": 1, "dur": 5, "pid": 1, "tid": 1}]')
    missing = operators_of(read(path)).missing
    assert set(missing) == {"shapes", "stacks", "modules", "device"}
    assert missing["shapes"] == (
        "No input shape is known in this file, because another program than torch.profiler "
        "wrote it."
    )
    assert not any("`" in why for why in missing.values())


def test_the_number_of_a_thread_is_said_once() -> None:
    """Kineto puts it into the name: "thread 639 (pt_autograd_0)"."""
    named = {100: "thread 100 (python3)", 639: "thread 639 (pt_autograd_0)", 7: "saver"}
    trace = drawn(
        [meta("thread_name", 100, tid, name=name) for tid, name in named.items()],
        [x("a", tid, 5, tid=tid) for tid in named],
    )
    assert sorted(one.label for one in operators_of(trace).threads) == [
        "saver (process 100, thread 7)",
        "thread 100 (python3)",
        "thread 639 (pt_autograd_0) (process 100)",
    ]
