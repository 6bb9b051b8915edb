"""Every part of the views, with every option and beside its limits, on drawn recordings.

`drawn_answers.txt` holds a line for each answer and key, as `figures.txt` does. A change that is
intended: look at the values, judge them, and write the table anew:

    python -m tests.views.test_drawn_answers > /tmp/answers && mv /tmp/answers \
        tests/views/drawn_answers.txt
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec import convert, to_builtins

from kinetoscope.analysis.call_tree import paths
from kinetoscope.analysis.modules import costs
from kinetoscope.analysis.timeline import timeline as opening
from kinetoscope.analysis.timeline.build import lane_layout, lanes, names
from kinetoscope.analysis.timeline.range import slices
from kinetoscope.base import native as module
from kinetoscope.session.session import TraceSession, Wanted, choose
from kinetoscope.trace.read import read
from kinetoscope.views import view_named
from kinetoscope.views.timeline import excerpt
from tests.analysis.graphs.test_captures import captured, execution
from tests.drawing import draw_at
from tests.test_figures import Refusal, answer_of, told, tried
from tests.trace.drawn import kernel, launch, x
from tests.views.drawn_recordings import RECORDINGS, SNAPSHOTS, snapshot_of
from tests.views.drawn_recordings import TIMELINE as SUMS

TABLE = Path(__file__).with_name("drawn_answers.txt")
EXPORTED = "exported timeline"
Queries = tuple[tuple[str, dict[str, Any]], ...]
WHOLE: dict[str, Any] = {"start_ns": -5_000, "end_ns": 1 << 20}
PART = {"start_ns": 40_000, "end_ns": 90_000}
NARROW = {"start_ns": 47_000, "end_ns": 47_001}
LAYOUTS = ("split", "merged", "filtered", "user", "merged-folded", "user-folded", "split-recorded")
EACH = "each that there is"

HITS: tuple[dict[str, Any], ...] = (
    *({"ts": ts} for ts in (-1, 0, 15_000, 15_001, 36_000, 40_000, 10**7)),
    {"slice": 0}, {"slice": 3}, {"slice": 60, "tracks": "0"}, {"ts": 50_000, "layout": "merged"},
)  # fmt: skip
TIMELINE: Queries = (
    *(("", {"layout": one}) for one in LAYOUTS),
    ("names", {}),
    ("names", {"first": 3, "count": 5}),
    *(
        ("tiles", {"level": level, "tiles": tiles, "blocks": EACH, "layout": layout})
        for level, tiles in ((0, "0,80-82"), (4, "0-9"), (8, "0,1,2"), (11, "0,1"), (15, "0"))
        for layout in ("split", "merged", "filtered")
    ),
    *(
        ("counters", {"level": level, "tiles": tiles, "series": EACH})
        for level, tiles in ((0, "0,40-42"), (6, "0-4"), (9, "0,1"), (13, "0"))
    ),
    *(("minimap", {"columns": columns}) for columns in (16, 100, 4096)),
    *(
        (part, {**span, **more})
        for part, more in (
            ("area", {}),
            ("area", {"limit": 3, "layout": "merged"}),
            ("area", {"tracks": "0,2,3", "layout": "user"}),
            ("folded", {}),
            ("folded", {"metric": "count", "tracks": "0"}),
            ("flame", {}),
            ("flame", {"min_share": 0}),
            ("flame", {"metric": "count", "min_share": 0.05}),
            ("rows", {"sort": "-self", "limit": 9}),
            ("rows", {"sort": "name", "offset": 4, "limit": 9}),
            ("rows", {"sort": "-name", "limit": 9}),
            ("rows", {"sort": "-ts", "text": "aten", "limit": 9}),
            ("rows", {"sort": "dur", "limit": 9}),
            ("rows", {"sort": "-dur", "tracks": "1,2,3,4,5", "limit": 9}),
            ("rows", {"sort": "self", "limit": 9}),
            ("path", {"columns": 16}),
            ("path", {"columns": 400, "inferred": False}),
            ("path_arrows", {}),
            ("bundles", {}),
            ("bundles", {"columns": 16}),
            ("bundles", {"columns": 16, "kinds": "0", "layout": "filtered"}),
            ("bundles", {"columns": 64, "kinds": "1,2", "tracks": "0,1,3"}),
            ("export", {}),
        )
        for span in (WHOLE, PART, NARROW)
    ),
    *(
        ("search", {"text": text, "mode": mode, "columns": 32})
        for text, mode in (
            ("aten", "text"),
            ("ATEN stack", "text"),
            ("aten::stack", "exact"),
            ("aten::Stack", "exact"),
            ("^aten::(add|re)", "regex"),
            ("mm_", "text"),
            ("(", "regex"),
        )
    ),
    ("search", {"text": "a", "tracks": "1,2", "layout": "filtered"}),
    *(
        ("hit", {"text": "aten", "direction": way, **where})
        for way in ("next", "previous")
        for where in HITS
    ),
    *(("slice", {"slice": one}) for one in range(0, 420, 6)),
    *(("slice", {"slice": one, "layout": "user"}) for one in range(1, 420, 25)),
    *(("flows", {"slice": one, "hops": hops}) for one in range(1, 420, 20) for hops in (1, 2, 8)),
    *(
        ("move", {"slice": one, "by": by, "direction": way, "layout": layout})
        for one in range(2, 420, 23)
        for by in ("lane", "name", "parent", "child", "flow")
        for way, layout in (("next", "split"), ("previous", "filtered"))
    ),
    *(("slice", {"slice": one}) for one in (419, 420, 5000)),
)
GRAPHS = ("1", "2", "0", "7")
STEPS = ("", "all", "everything", "1", "1-2", "5", "4-5")
MEMORY: Queries = (
    *(("", {"steps": steps}) for steps in STEPS),
    *(("", {"device": device, "by": "module"}) for device in ("cuda:1", "cpu", "xpu:0")),
    ("", {**PART, "by": "line", "points": 10}),
    ("", {"start_ns": 47_000, "end_ns": 47_001}),
    *(
        ("curve", {"by": by, "points": points})
        for by in ("category", "module", "line", "total")
        for points in (10, 40, 2000)
    ),
    ("curve", {"by": "line", "search": "linear", "limit": 2}),
    *(
        ("events", {"sort_by": column, "ascending": way, "limit": 7})
        for column in ("bytes", "alive_ns", "allocated_ns", "released_ns", "name", "category")
        for way in (False, True)
    ),
    ("events", {"min_bytes": 4096, "max_bytes": 2 << 20}),
    ("events", {"min_bytes": 1 << 20, "steps": "2", "offset": 1}),
    ("events", {"search": "empty relu"}),
    *(
        ("events", {"category": one, "steps": "everything"})
        for one in (
            "parameter",
            "optimizer",
            "input",
            "communication",
            "unknown",
            "gradient",
            "autograd",
            "activation",
            "temporary",
        )
    ),
    ("events", PART),
    *(("statistics", {"steps": steps, "limit": 9}) for steps in STEPS),
    ("statistics", {"search": "aten", "sort_by": "allocations", "ascending": True, "offset": 1}),
    ("statistics", {**PART, "device": "cpu"}),
    *(("alive", {"at": at}) for at in ("peak", "second")),
    *(("alive", {"at": "time", "at_ns": ns}) for ns in (0, 7_000, 50_001, 200_000, 10**7)),
    ("alive", {"limit": 3, "steps": "2-4"}),
    ("alive", {"device": "cpu", "steps": "everything"}),
    *(("block", {"block": one}) for one in (*range(0, 80, 3), 5000)),
    *(("map", {"device": device}) for device in ("", "cuda:1", "cpu")),
    *(
        ("map_tiles", {"level": level, "row_level": row, "tiles": "0.0,1.0,0.1", "device": device})
        for level, row in ((6, 8), (10, 12), (9, 15), (14, 20), (20, 6))
        for device in ("", "cpu")
    ),
    ("map_tiles", {"level": 50}),
    ("free", {}),
    *(("steps", {"steps": steps}) for steps in ("", "all", "3", "1-4")),
    ("steps", {"device": "cuda:1"}),
)
MODULES: Queries = (
    *(("", {"steps": steps}) for steps in STEPS),
    *(
        ("table", {"fold": fold, "sort_by": column})
        for fold in (False, True)
        for column in (
            "",
            "name",
            "calls",
            "host_total_ns",
            "idle_ns",
            "busy_ns",
            "self_ns",
            "mean_ns",
        )
    ),
    ("table", {"ascending": True, "sort_by": "total_ns", "limit": 4}),
    ("table", {"search": "norm"}),
    ("table", {"search": "Stage conv", "fold": False}),
    ("table", {"below": "0"}),
    ("table", {"below": "Model_0"}),
    *(("row", {"module": one}) for one in (*range(16), 99)),
    *(
        ("flame", {"metric": one, "root": root, "min_ratio": least})
        for one in ("device", "op", "host", "idle")
        for root in (-1, 1)
        for least in (0, 0.05)
    ),
    ("flame", {}),
    ("flame", {"focus": 2, "min_ratio": 0.2}),
    ("flame", {"root": 99}),
)
OPERATORS: Queries = (
    ("", {}),
    ("flame", {}),
    *(
        ("flame", {"metric": metric, "inverted": inverted, "min_ratio": least})
        for metric in ("device", "host", "calls")
        for inverted in (False, True)
        for least in (0, 0.04)
    ),
    ("flame", {"waiting": True, "focus": 3}),
    ("flame", {"steps": "1", "focus": 1, "min_ratio": 0.1}),
    *(
        ("around", {"name": name, "metric": metric})
        for name in ("aten::linear", "aten::addmm", "aten::conv", "aten::empty", "aten::nothing")
        for metric in ("host", "device")
    ),
    ("folded", {}),
    ("folded", {"metric": "device"}),
    ("folded", {"metric": "calls"}),
)
KERNELS: Queries = (
    ("", {}),
    *(
        ("table", {"group_by": one, "sort_by": sort})
        for one, sort in (
            ("name", "total_ns"),
            ("properties", "p95_ns"),
            ("graph", "mean_ns"),
            ("class", "calls"),
            ("module", "max_ns"),
            ("name", "energy_j"),
        )
    ),
    *(
        (part, {"key": key, **more})
        for key in GRAPHS
        for part, more in (
            ("graph", {}),
            ("graph", {"steps": "1-3"}),
            ("nodes", {}),
            ("nodes", {"sort_by": "mean_ns", "ascending": True, "offset": 1, "limit": 3}),
            ("nodes", {"search": "gemm", "steps": "everything"}),
        )
    ),
)
QUERIES = {
    "timeline": TIMELINE,
    "memory": MEMORY,
    "modules": MODULES,
    "operators": OPERATORS,
    "kernels": KERNELS,
}


def answers(name: str, stem: str) -> Iterator[str]:
    """The part of the table on a recording and a view."""
    yield f"# {name}, {stem}"
    with tempfile.TemporaryDirectory() as folder:
        # The file stays while it is asked for: arguments are read from it again.
        if name in SNAPSHOTS:
            path = Path(folder, "snapshot.pickle")
            path.write_bytes(pickle.dumps(SNAPSHOTS[name]()))
            trace = read(path)
        elif name == EXPORTED:
            path = Path(folder, "memory.json")
            path.write_text(json.dumps(SUMS), "utf-8")
            trace = read(path)
        else:
            make, metadata = RECORDINGS[name]
            path = Path(folder, "worker0.pt.trace.json")
            trace = draw_at(path, "", events=make(), **metadata)
        yield from answers_of(TraceSession(trace), stem, QUERIES[stem])


def answers_of(session: TraceSession, stem: str, queries: Queries) -> Iterator[str]:
    """The answers of a view to queries; each answer once."""
    view = view_named(stem)
    if reason := session.unavailable(view):
        yield f"unavailable\t{told(str(reason))}"
        return
    said = {""}
    manifest = answer_of(session, view, "", {}) if stem == "timeline" else None
    for part, written in queries:
        query = _fitted(written, manifest) if manifest else written
        value = tried(answer_of, session, view, part, query)
        if not part and not isinstance(value, Refusal):
            printed = view.tables(view.build(session.asked(view), convert(query, view.query)))
            yield f"as tables {query}\t{told(to_builtins(printed, enc_hook=str))}"
        if isinstance(value, Refusal):
            line = f"refused\t{value}"
        elif isinstance(value, dict):
            line = "; ".join(
                f"{key} {told(found)}"
                for key, found in value.items()
                if found not in (None, "", [], (), {}) and not key.endswith("columns")
            )
        else:
            line = told(value)
        if line not in said:
            yield f"{part} {','.join(f'{key}={one}' for key, one in query.items())}\t{line}"
        said.add(line)


def folders() -> Iterator[str]:
    """Answers on two recordings: a graph with the recording of its capture, two snapshots."""
    yield "# two recordings, all"
    kernels = ["gemm", "norm", "gemm", "softmax", "add", "norm"]
    run = execution([(name, 3 + 2 * at) for at, name in enumerate(kernels)], size=8, replays=4)
    run += [
        x("nn.Module: Head_0", 300, 20, cat="python_function", **{"Python module id": 0}),
        launch(302, 2, 7),
        kernel("head", 306, 5, correlation=7),
    ]
    captured_modules = [
        x(f"nn.Module: Part_{at}", 2.5 + 10 * at, 19.5, cat="python_function",
          **{"Python module id": at})
        for at in (0, 2, 4)
    ]  # fmt: skip
    other = [*captured(kernels, size=8), *captured_modules]
    changed = captured(["gemm", "norm", "gemm", "softmax", "mul", "norm"], size=4, at=100, first=50)
    for name, capture in (("same", other), ("changed", [*changed]), ("both", [*other, *changed])):
        with tempfile.TemporaryDirectory() as folder:
            for file, events in (("run/worker0", run), ("capture_traces/worker0", capture)):
                path = Path(folder, f"{file}.pt.trace.json")
                path.parent.mkdir()
                path.write_text(json.dumps({"traceEvents": events}), "utf-8")
            session = choose(folder, Wanted(run="run")).session()
            for stem, part, query in (
                ("kernels", "table", {"group_by": "graph"}),
                ("kernels", "graph", {"key": "1"}),
                ("kernels", "nodes", {"key": "1"}),
                ("kernels", "nodes", {"key": "1", "sort_by": "mean_ns", "search": "op"}),
                ("kernels", "table", {"group_by": "line"}),
                ("operators", "", {}),
                ("operators", "table", {"group_by": "shape"}),
                ("operators", "flame", {"metric": "device", "min_ratio": 0}),
                ("modules", "", {}),
                ("modules", "table", {"fold": False}),
            ):
                value = tried(answer_of, session, view_named(stem), part, query)
                yield f"{name} {stem} {part} {query}\t{told([value])}"
    with tempfile.TemporaryDirectory() as folder:
        for number, root in enumerate(
            (snapshot_of(17), snapshot_of(29), snapshot_of(17, failed=False, marked=False))
        ):
            path = Path(folder, f"run{number}", "snapshot.pickle")
            path.parent.mkdir()
            path.write_bytes(pickle.dumps(root))
        for first in (0, 2):
            for second in (0, 1, 2):
                session = choose(folder, Wanted(run=f"run{first}")).session()
                subject = session.subject(view_named("memory"))
                (place,) = [
                    one.place
                    for one in subject.recordings.everything()
                    if one.place.run == f"run{second}"
                ]
                query = {
                    "other_run": place.run, "other_worker": place.worker, "other_span": place.span,
                    "device": "cuda:0" if second else "cuda:1",
                }  # fmt: skip
                value = tried(answer_of, session, view_named("memory"), "compare", query)
                for key, found in value.items() if isinstance(value, dict) else [("", value)]:
                    yield f"compare run{first} run{second} {key}\t{told(found)}"


def _fitted(query: dict[str, Any], manifest: Any) -> dict[str, Any]:
    """A query of the tracks and series that there are."""
    tracks, series = len(manifest.tracks), len(manifest.counters)
    if "tracks" in query:
        numbers = [one for one in query["tracks"].split(",") if int(one) < tracks]
        return {**query, "tracks": ",".join(numbers)}
    if query.get("blocks") == EACH:
        return {**query, "blocks": ",".join(f"{number}.0" for number in range(tracks))}
    if query.get("series") == EACH:
        return {**query, "series": ",".join(map(str, range(series)))}
    return query


ASKED = [
    *((name, stem) for name in RECORDINGS for stem in QUERIES),
    *((name, "memory") for name in (*SNAPSHOTS, EXPORTED)),
]


@pytest.mark.parametrize(("name", "stem"), ASKED)
def test_no_answer_moves(name: str, stem: str) -> None:
    assert [*answers(name, stem)][1:] == _stored(name, stem)


def test_no_answer_on_two_recordings_moves() -> None:
    assert [*folders()][1:] == _stored("two recordings", "all")


@pytest.mark.parametrize("stem", ["timeline", "operators"])
@pytest.mark.parametrize("name", ["training", "modules", "odd"])
def test_without_the_native_library_no_answer_moves(
    name: str, stem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = module.Native(None, "no library for this test")
    monkeypatch.setattr(module, "native", lambda: without)
    assert [*answers(name, stem)][1:] == _stored(name, stem)


PIECES: tuple[tuple[ModuleType, str, int], ...] = (
    (lane_layout, "_CHUNK", 3), (lanes, "_CHUNK", 2), (names, "_CHUNK", 5),
    (names, "STORED_FROM", 1), (opening, "CHUNK", 4),
    (slices, "_CHUNK", 3), (slices, "_MOST_KEPT", 2),
    (costs, "_TABLE_CELLS", 1), (paths, "_TABLE_CELLS", 1),
    (excerpt, "_PIECE_BYTES", 100),
)  # fmt: skip
"""How much is done at a time, or from where on another way to the same answer is taken."""


@pytest.mark.parametrize(
    ("name", "stem"), [("training", "timeline"), ("modules", "modules"), ("training", "operators")]
)
def test_in_small_pieces_no_answer_moves(
    name: str, stem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, number, small in PIECES:
        assert hasattr(where, number)
        monkeypatch.setattr(where, number, small)
    found = [*answers(name, stem)][1:]
    # The bytes of an excerpt differ with the pieces that it is compressed in.
    kept = [[line for line in one if not line.startswith("export")] for one in (
        found, _stored(name, stem)
    )]  # fmt: skip
    assert kept[0] == kept[1]


def _stored(name: str, stem: str) -> list[str]:
    _, _, rest = f"\n{TABLE.read_text('utf-8')}".partition(f"\n# {name}, {stem}\n")
    return rest.partition("\n# ")[0].splitlines()


if __name__ == "__main__":
    for recording, noun in ASKED:
        sys.stdout.writelines(f"{line}\n" for line in answers(recording, noun))
    sys.stdout.writelines(f"{line}\n" for line in folders())
