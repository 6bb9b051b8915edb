"""From backward ops to forward ops."""

from __future__ import annotations

from kinetoscope.trace.model import Trace
from tests.trace.drawn import drawn, flow, x


def forward(trace: Trace) -> dict[str, str]:
    host = trace.host
    return {
        trace.text(int(host.name[row])): trace.text(int(host.name[source]))
        for row, source in enumerate(host.forward.tolist())
        if source >= 0
    }


FORWARD = [
    x("aten::linear", 0, 10, seq=5, fwd=0),
    x("aten::t", 1, 2, seq=5, fwd=0),
    x("aten::addmm", 4, 4, seq=6, fwd=0),
]
BACKWARD = [
    x("evaluate_function: AddmmBackward0", 50, 20, seq=6, fwd=1, tid=2),
    x("AddmmBackward0", 52, 10, seq=6, fwd=1, tid=2),
    x("TBackward0", 80, 5, seq=5, fwd=1, tid=2),
    x("aten::mm", 54, 3, tid=2),
]


def test_sequence_numbers_name_the_last_started_forward_op() -> None:
    """The number grows when a node is made: the last op that saw it made the node."""
    trace = drawn(FORWARD, BACKWARD)
    assert forward(trace) == {
        "evaluate_function: AddmmBackward0": "aten::addmm",
        "AddmmBackward0": "aten::addmm",
        "TBackward0": "aten::t",
    }
    assert len(trace.flows) == 0


def test_arrows_count_before_numbers() -> None:
    trace = drawn(FORWARD, BACKWARD, flow("fwdbwd", 1, (1, 0), (2, 80)))
    assert forward(trace)["TBackward0"] == "aten::linear"
    assert forward(trace)["AddmmBackward0"] == "aten::addmm", "numbers fill what arrows leave"
    assert (len(trace.flows.source), len(trace.flows.target)) == (1, 1)


def test_a_step_later_the_same_number_is_another_node() -> None:
    again = [{**event, "ts": event["ts"] + 1000} for event in (*FORWARD, *BACKWARD)]
    trace = drawn(FORWARD, BACKWARD, again)
    host = trace.host
    for row, source in enumerate(host.forward.tolist()):
        if source >= 0:
            assert host.ts[row] // 1_000_000 == host.ts[source] // 1_000_000, "in the same step"


def test_each_thread_counts_for_itself() -> None:
    """Both threads use number 5; arrows tell which profiler thread number is which thread."""
    trace = drawn(
        x("a", 0, 10, seq=5, fwd=0, tid=1),
        x("b", 3, 10, seq=5, fwd=0, tid=2),
        x("c", 20, 5, seq=7, fwd=0, tid=1),
        x("CBackward", 40, 10, seq=7, fwd=1, tid=3),
        x("ABackward", 60, 10, seq=5, fwd=1, tid=3),
        flow("fwdbwd", 1, (1, 20), (3, 40)),
    )
    assert forward(trace) == {"CBackward": "c", "ABackward": "a"}


def test_an_arrow_without_its_other_end_is_counted() -> None:
    trace = drawn(FORWARD, flow("fwdbwd", 1, (1, 0), (2, 80))[:1])
    assert trace.health.ignored == {"flow start without an end": 1}
    assert forward(trace) == {}
