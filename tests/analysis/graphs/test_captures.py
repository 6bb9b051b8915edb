"""A capture-time recording lends operators to the kernels of a replay.

capture    begin | op 0: launch k0 | op 1: launch k1 | … | end         no kernel runs
execution  a graph launch; kernels k0, k1, … without operators
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.graphs.captures import LEAST_SHARE, captures_of, lend
from kinetoscope.analysis.graphs.model import CaptureColumns
from kinetoscope.analysis.graphs.replays import graphs_of
from kinetoscope.base.alignment import align
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.trace.drawn import Event, annotation, drawn, kernel, launch, python, x


def captured(
    kernels: list[str], *, size: int = 0, at: float = 0, first: int = 1, named: bool = True
) -> list[Event]:
    """A capture: op i launches kernel i; its shape is [i], its frame `model.py(i): layer`."""
    end = at + 10 * len(kernels) + 8
    events = [
        launch(at + 1, 1, first, name="hipStreamBeginCapture"),
        launch(end - 2, 1, first + 1, name="hipStreamEndCapture"),
    ]
    if size:
        events.append(annotation(f"capture_{size}_FULL", at, end - at))
    for number, name in enumerate(kernels):
        begin = at + 3 + 10 * number
        told = {"kernel": name} if named else {}
        events += [
            python(f"model.py({number}): layer", begin, 9),
            x(f"op{number}", begin + 1, 6, **{"Input Dims": [[number]]}),
            launch(begin + 2, 2, first + 2 + number, name="hipModuleLaunchKernel", **told),
        ]
    return events


def execution(kernels: list[tuple[str, int]], *, size: int = 0, replays: int = 1) -> list[Event]:
    """Replays of a graph of these kernels, each with its length in µs."""
    events: list[Event] = []
    ts = 0.0
    for replay in range(replays):
        number = 900 + replay
        events.append(launch(ts + 1, 1, number, name="hipGraphLaunch"))
        begin = ts
        ts += 3
        for name, dur in kernels:
            events.append(kernel(name, ts, dur, correlation=number))
            ts += dur + 1
        if size:
            events.append(annotation(f"execute_{size}_context_0", begin, ts - begin))
        ts += 5
    return events


def ops(captures: list[CaptureColumns], trace: list[Event], size: int = -1) -> list[str] | None:
    """The operator of each node, "" where none is lent; None where it is refused."""
    graphs = graphs_of(drawn(*trace))
    lent = lend(graphs, 0, size, captures)
    if lent is None or not lent.fits:
        return None
    columns = captures[lent.capture]
    launches = columns.launches
    return [
        columns.strings[launches.op[row]] if row >= 0 else ""
        for row in lent.launch_of_node.tolist()
    ]


def test_every_kernel_gets_its_operator() -> None:
    kernels = ["gemm", "norm", "gemm", "softmax", "gemm", "gemm", "norm"]
    columns = captures_of(drawn(*captured(kernels, size=8)))
    assert columns.captures == 1
    assert columns.sequences.batch.tolist() == [8]
    replayed = execution([(name, 5) for name in kernels], size=8, replays=3)
    assert ops([columns], replayed, 8) == [f"op{at}" for at in range(len(kernels))]
    shapes = [columns.strings[code] for code in columns.launches.shapes.tolist()]
    assert shapes == [f"[[{at}]]" for at in range(len(kernels))]
    frames = [columns.strings[columns.stacks.frame[row]] for row in columns.launches.stack.tolist()]
    assert frames == [f"model.py({at}): layer" for at in range(len(kernels))]


def test_the_capture_of_the_same_batch_size_lends() -> None:
    """Names are the same in all three; the one of size 16 has its operators in another order."""
    kernels = ["a", "b", "c"]
    recording = captures_of(
        drawn(
            captured(kernels, size=8),
            captured(["x", *kernels], size=16, at=100, first=50),
            captured(kernels, size=32, at=200, first=100),
        )
    )
    replayed = execution([(name, 5) for name in kernels])
    assert ops([recording], replayed, 16) == ["op1", "op2", "op3"]
    # A batch of 12 is padded to the next captured size.
    assert ops([recording], replayed, 12) == ["op1", "op2", "op3"]
    assert ops([recording], replayed, 8) == ["op0", "op1", "op2"]
    # None was captured that large.
    assert ops([recording], replayed, 64) is None


def test_the_share_is_of_one_graph_alone() -> None:
    """Its last kernel weighs what it took, whatever graphs with less time come behind it."""
    recording = captures_of(drawn(*captured(["b", "c"])))
    replayed = execution([("a", 6), ("b", 3), ("c", 1)])
    others = [
        launch(100, 1, 950, name="hipGraphLaunch"),
        kernel("d", 103, 9, correlation=950),
    ]
    lent = lend(graphs_of(drawn(*replayed, *others)), 0, -1, [recording])
    assert lent is not None
    assert (lent.ratio, lent.matched, lent.fits) == (0.4, 2, False)


def test_what_ran_at_once_stands_for_captures_without_names() -> None:
    """CUDA does not write which kernel a captured launch is of; the warm-up before it has run."""
    kernels = ["a", "b", "c"]
    warm = [
        event
        for at, name in enumerate(kernels)
        for event in (
            x(f"warm{at}", 10 * at, 8),
            launch(10 * at + 1, 2, 500 + at),
            kernel(name, 10 * at + 5, 3, correlation=500 + at),
        )
    ]
    unnamed = captures_of(drawn(captured(kernels, at=100, named=False)))
    assert unnamed.unnamed == 3
    replayed = execution([(name, 5) for name in kernels])
    assert ops([unnamed], replayed) is None
    both = captures_of(drawn(warm, captured(kernels, at=100, named=False)))
    assert ops([both], replayed) == ["warm0", "warm1", "warm2"]


def test_launches_outside_a_capture_are_not_of_it() -> None:
    columns = captures_of(
        drawn(
            captured(["a", "b"], at=10),
            x("before", 0, 5),
            launch(1, 1, 400, name="hipLaunchKernel", kernel="z"),
            launch(1, 1, 401, name="hipStreamBeginCapture", tid=2),
        )
    )
    assert columns.captures == 2
    names = [columns.strings[code] for code in columns.launches.name.tolist()]
    assert names == ["a", "b"]


@given(
    nodes=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 9)), min_size=1, max_size=14),
    lost=st.sets(st.integers(0, 13)),
    extra=st.lists(st.integers(0, 14), max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_it_lends_where_enough_fits_and_is_refused_where_not(
    nodes: list[tuple[str, int]], lost: set[int], extra: list[int]
) -> None:
    kept = [at for at in range(len(nodes)) if at not in lost]
    launched = [nodes[at][0] for at in kept]
    for place in extra:
        launched.insert(place, "x")
    columns = captures_of(drawn(captured(launched)))
    graphs = graphs_of(drawn(execution(nodes)))
    lent = lend(graphs, 0, -1, [columns])
    whole = sum(dur for _, dur in nodes)
    if not launched:
        assert lent is None
        return
    # What was left in the capture is a common subsequence: at least so many can be matched.
    assert lent is not None
    pairs = align([name for name, _ in nodes], launched)
    assert len(pairs) == lent.matched >= len(kept)
    assert lent.ratio == sum(nodes[mine][1] for mine, _ in pairs) / whole
    assert lent.fits == (lent.ratio >= LEAST_SHARE)
    for node, row in enumerate(lent.launch_of_node.tolist()):
        if row >= 0:
            assert columns.strings[columns.launches.name[row]] == nodes[node][0]
    rows = [row for row in lent.launch_of_node.tolist() if row >= 0]
    assert rows == sorted(set(rows))
    if not lost:
        assert lent.ratio == 1


@requires_traces
def test_a_real_capture_and_a_real_execution_of_other_runs() -> None:
    folder = Path(TRACES, "tracelens/inference")
    (file,) = (folder / "vllm_prefilldecode_piecewise/capture_traces").glob("*.gz")
    columns = captures_of(read(file))
    # 25 pieces of the model; attention between them ran at once.
    assert (columns.captures, columns.unnamed) == (25, 0)
    assert np.bincount(columns.sequences.captured).tolist() == [1, 25]
    assert set(columns.sequences.batch.tolist()) == {8192}
    sizes = np.bincount(columns.launches.sequence, minlength=len(columns.sequences)).tolist()
    assert sorted(sizes) == [4, 12, *[15] * 23, 99]
    assert (columns.launches.stack >= 0).all()
    graphs = graphs_of(read(folder / "vllm_decode_full/graph_execution.json.gz"))
    lent = lend(graphs, 0, 32, [columns])
    # A decode of 32 sequences in one graph against a prefill of 8,192 tokens in pieces.
    assert lent is not None
    assert not lent.fits
    assert lent.ratio == pytest.approx(0.0131, abs=0.0005)
