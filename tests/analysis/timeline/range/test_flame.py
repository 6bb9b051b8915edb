"""Call trees of an area: merged by path, no instant twice, nothing lost."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.call_tree.flame import REST, FlameNode, pruned
from kinetoscope.analysis.timeline.range.flame import HIDDEN, flame_in
from kinetoscope.analysis.timeline.range.sums import Area
from kinetoscope.analysis.timeline.timeline import Opened
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.asked import (
    US,
    ask,
    drawn,
    plain,
    self_times,
    spans,
    traces,
    track,
)

PICTURE = """
    frame  |ffffffffffffffffffff|
    op     | aaaaaaaa  aaaaaaa  |
    op     |  bb cc     bbbb    |
    call   |     l              |
    gpu    |        llll        |
    """
Path = tuple[str, ...]


Shown = tuple[FlameNode, ...]


def shown(of: Opened, area: Area, metric: str = "total", min_share: float = 0) -> Shown:
    """The flame graph of an area."""
    return pruned(flame_in(of, area, metric), min_share)


def boxes(flame: Shown) -> dict[Path, tuple[float, float, int]]:
    """Path → value, self, slices; a path occurs once."""
    paths: list[Path] = []
    found: dict[Path, tuple[float, float, int]] = {}
    for node in flame:
        above = paths[node.parent] if node.parent >= 0 else ()
        paths.append((*above, node.name))
        assert paths[-1] not in found
        found[paths[-1]] = (node.value, node.self_value, node.count)
    return found


def test_equal_paths_are_one_box() -> None:
    flame = shown(drawn(PICTURE), Area(0, 20 * US))
    f = "train.py(1): f"
    assert boxes(flame) == {
        (f,): (20 * US, 5 * US, 1),
        (f, "aten::a"): (15 * US, 7 * US, 2),
        (f, "aten::a", "aten::b"): (6 * US, 6 * US, 2),
        (f, "aten::a", "aten::c"): (2 * US, US, 1),
        (f, "aten::a", "aten::c", "cudaLaunchKernel"): (US, US, 1),
        ("GPU 0",): (4 * US, 0, 0),
        ("GPU 0", "kernel_l"): (4 * US, 4 * US, 1),
    }
    assert sum(node.self_value for node in flame) == 24 * US


def test_the_larger_box_comes_first() -> None:
    flame = shown(drawn(PICTURE), Area(0, 20 * US))
    texts = [node.name for node in flame if node.parent == 1]
    assert texts == ["aten::b", "aten::c"]


def test_slices_may_be_counted() -> None:
    of = drawn(PICTURE)
    flame = shown(of, Area(0, 20 * US, (track(of, "thread"),)), "count")
    assert flame[0].value == sum(node.self_value for node in flame) == 7


def test_at_the_edges_time_is_cut() -> None:
    #                          ▕ 4 … 7 ▏
    # frame  |ffffffffffffffffffff|
    # op     | aaaaaaaa  aaaaaaa  |
    # op     |  bb cc     bbbb    |   c and its call: 5 … 7 and 5 … 6
    of = drawn(PICTURE)
    flame = shown(of, Area(4 * US, 7 * US, (track(of, "thread"),)))
    f = "train.py(1): f"
    assert boxes(flame) == {
        (f,): (3 * US, 0, 1),
        (f, "aten::a"): (3 * US, US, 1),
        (f, "aten::a", "aten::c"): (2 * US, US, 1),
        (f, "aten::a", "aten::c", "cudaLaunchKernel"): (US, US, 1),
    }


def test_a_thread_is_taken_as_a_whole() -> None:
    of = drawn(PICTURE)
    ops, python = (
        boxes(shown(of, Area(0, 20 * US, (track(of, kind),)))) for kind in ("thread", "python")
    )
    assert ops == python
    assert len(ops) == 5


def test_small_boxes_are_one() -> None:
    of = drawn(PICTURE)
    flame = shown(of, Area(0, 20 * US, (track(of, "thread"),)), "total", 0.2)
    f = "train.py(1): f"
    assert boxes(flame) == {
        (f,): (20 * US, 5 * US, 1),
        (f, "aten::a"): (15 * US, 7 * US, 2),
        (f, "aten::a", "aten::b"): (6 * US, 6 * US, 2),
        (f, "aten::a", REST): (2 * US, 2 * US, 2),
    }
    assert (flame[-1].name, flame[-1].boxes) == (REST, 2)


def test_an_empty_area_has_no_boxes() -> None:
    assert shown(drawn(PICTURE), Area(10**9, 10**9 + 1)) == ()


def test_hidden_frames_give_their_time_to_their_callers() -> None:
    picture = """
        frame  |mmmmmmmmmmmmmmmm    |
        frame  | uuuuuuuu uuuu  xxx |
        op     |  aaa     aa        |
        """
    names = {
        "m": "train.py(1): main",
        "u": "torch/nn/modules/module.py(1): _call_impl",
        "x": "<built-in len>",
    }
    of = drawn(picture, "filtered", names=names)
    assert boxes(shown(of, Area(0, 20 * US))) == {
        ("train.py(1): main",): (16 * US, 11 * US, 1),
        ("train.py(1): main", "aten::a"): (5 * US, 5 * US, 2),
        (HIDDEN,): (3 * US, 3 * US, 1),
    }


@settings(max_examples=60)
@given(traces(), spans, st.sampled_from(["split", "merged", "filtered"]))
def test_boxes_are_those_of_the_slices_one_by_one(
    trace: Trace, span: tuple[int, int], layout: str
) -> None:
    start, end = span
    of = ask(trace, layout)
    every = plain(of, trace)
    spent = self_times(every, start, end)
    own: dict[Path, float] = defaultdict(float)
    count: dict[Path, int] = defaultdict(int)
    for one in every:
        path: Path = ()
        at = one
        while True:
            if at.thread < 0:
                label = of.timeline.groups[of.layout.tracks[at.track].group].label
                path = (label, at.name)
                break
            path = (at.name, *path) if at.track >= 0 else path
            if at.parent < 0:
                break
            at = every[at.parent]
        own[path or (HIDDEN,)] += spent[one.id]
        if one.touches(start, end) and (one.track >= 0 or not path):
            count[path or (HIDDEN,)] += 1
    flame = shown(of, Area(start, end))
    found = boxes(flame)
    assert {path: value for path, (_, value, _) in found.items() if value} == {
        path: value for path, value in own.items() if value
    }
    assert {path: n for path, (_, _, n) in found.items() if n and path != (HIDDEN,)} == {
        path: n for path, n in count.items() if n and path != (HIDDEN,)
    }
    for path, (value, mine, _) in found.items():
        below = [v for other, (v, _, _) in found.items() if other[:-1] == path]
        assert value == mine + sum(below)
    assert sum(spent.values()) == sum(mine for _, mine, _ in found.values())


@settings(max_examples=40)
@given(traces(), st.floats(0, 0.5))
def test_what_is_too_small_is_still_worth_as_much(trace: Trace, share: float) -> None:
    of = ask(trace)
    area = Area(0, of.timeline.end_ns + 1)
    whole, cut = (shown(of, area, "total", least) for least in (0, share))
    for column in ("self_value", "count", "boxes"):
        assert sum(getattr(node, column) for node in cut) == sum(
            getattr(node, column) for node in whole
        )
    assert sum(node.boxes for node in cut) == len(whole)
