"""What the drawn recordings add up to, counted with loops over their events."""

from __future__ import annotations

import math
import pickle
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.session.session import TraceSession
from kinetoscope.trace.read import read
from kinetoscope.views import view_named
from tests.drawing import Event, trace_of
from tests.test_figures import answer_of, tried
from tests.views.drawn_recordings import RECORDINGS, snapshot_of

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def answer(session: TraceSession, stem: str, part: str = "", **query: Any) -> Any:
    return tried(answer_of, session, view_named(stem), part, query)


def recorded(name: str) -> tuple[list[Event], TraceSession]:
    make, metadata = RECORDINGS[name]
    events = make()
    return events, TraceSession(trace_of(events, **metadata))


def by_name(events: list[Event], *kinds: str) -> dict[str, list[int]]:
    """Durations in ns, ascending, of the slices of some kinds."""
    found = defaultdict(list)
    for one in events:
        if one["ph"] == "X" and (not kinds or one["cat"] in kinds):
            found[one["name"]].append(round(one["dur"] * 1000))
    return {name: sorted(durations) for name, durations in found.items()}


@pytest.mark.parametrize("name", RECORDINGS)
def test_an_area_has_every_slice_once(name: str) -> None:
    events, session = recorded(name)
    area = answer(session, "timeline", "area", start_ns=-(1 << 40), end_ns=1 << 40, layout="merged")
    found = {row["text"]: (row["count"], row["total_ns"]) for row in area["rows"]}
    expected = {text: (len(one), sum(one)) for text, one in by_name(events).items()}
    assert found == expected
    hits = answer(session, "timeline", "search", text="A")["names"]
    assert {hit["text"]: hit["slices"] for hit in hits} == {
        text: count for text, (count, _) in expected.items() if "a" in text.lower()
    }


@pytest.mark.parametrize("name", ["training", "graphs", "modules"])
def test_the_table_of_kernels(name: str) -> None:
    events, session = recorded(name)
    rows = answer(session, "kernels", "table", steps="everything")["rows"]
    found = {
        row["name"]: [
            row[key] for key in ("calls", "total_ns", "min_ns", "p50_ns", "p95_ns", "max_ns")
        ]
        for row in rows
    }
    assert found == {
        text: [
            len(one), sum(one), one[0], one[math.ceil(len(one) / 2) - 1],
            one[math.ceil(len(one) * 0.95) - 1], one[-1],
        ]
        for text, one in by_name(events, "kernel").items()
    }  # fmt: skip


def test_replays_of_each_graph() -> None:
    events, session = recorded("graphs")
    rows = answer(session, "kernels", "table", group_by="graph", steps="everything")["rows"]
    nodes: dict[str, set[int]] = defaultdict(set)
    replays: dict[str, set[int]] = defaultdict(set)
    kernels: Counter[str] = Counter()
    for one in events:
        if "graph id" in one["args"]:
            graph = f"graph {one['args']['graph id']}"
            nodes[graph].add(one["args"]["graph node id"])
            replays[graph].add(one["args"]["correlation"])
            kernels[graph] += one["cat"] == "kernel"
    found = {
        row["name"]: (row["calls"], row["replays"], row["nodes"]) for row in rows if row["replays"]
    }
    assert found == {
        graph: (kernels[graph], len(replays[graph]), len(nodes[graph])) for graph in nodes
    }


def test_the_peak_of_each_device() -> None:
    events, session = recorded("memories")
    totals: dict[tuple[int, int], list[int]] = defaultdict(list)
    for one in events:
        if one["name"] == "[memory]":
            told = one["args"]
            totals[told["Device Type"], told["Device Id"]].append(told["Total Allocated"])
    rows = answer(session, "memory", steps="everything")["devices"]
    assert {row["key"]: row["peak_bytes"] for row in rows} == {
        "cuda:0": max(totals[1, 0]), "cuda:1": max(totals[1, 1]), "xpu:0": max(totals[12, 0]),
        "cpu": max(totals[0, -1]),
    }  # fmt: skip
    curve = answer(session, "memory", "curve", steps="everything", points=20_000)
    assert curve["is_exact"]
    assert set(totals[1, 0]) <= set(curve["allocated"])
    layers = [layer["values"] for layer in curve["layers"]]
    assert [sum(one) for one in zip(*layers, strict=True)] == [*curve["allocated"]]


def test_a_snapshot_ends_with_the_blocks_that_it_holds(tmp_path: Path) -> None:
    root = snapshot_of(17)
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(root))
    session = TraceSession(read(path))
    for device in (0, 1):
        mine = [one for one in root["segments"] if one["device"] == device]
        blocks = [piece for one in mine for piece in one["blocks"]]
        held = [one["size"] for one in blocks if one["state"] == "active_allocated"]
        alive = answer(
            session, "memory", "alive", at="time", at_ns=1 << 40, device=f"cuda:{device}"
        )
        assert alive["bytes"] == sum(held)
        leaves = [one for one in alive["nodes"] if one["kind"] == "size"]
        assert sum(one["count"] for one in leaves) == len(held)
        pools = answer(session, "memory", "free", device=f"cuda:{device}")["pools"]
        assert sum(one["reserved_bytes"] for one in pools) >= max(one["total_size"] for one in mine)
