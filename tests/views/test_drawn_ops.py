"""Tables of ops, kernels and light on drawn recordings of ops, with every grouping and order.

`drawn_ops.txt` holds a line for each answer, as `drawn_answers.txt` does. To write it anew:

    python -m tests.views.test_drawn_ops > /tmp/ops && mv /tmp/ops tests/views/drawn_ops.txt
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetoscope.session.session import TraceSession
from tests.drawing import draw_at
from tests.views.drawn_ops import OPS
from tests.views.test_drawn_answers import Queries, answers_of

TABLE = Path(__file__).with_name("drawn_ops.txt")
_ROWS = ("247", "110", "63", "20", "8")
_SHAPES = ("1065151889657", "47244640256", "768799146164")
OPERATORS: Queries = (
    ("", {"parts": 3}),
    *(
        ("table", {"group_by": one, "sort_by": sort, "limit": 12, "steps": steps})
        for one, sort, steps in (
            ("name", "self_ns", ""),
            ("name", "p95_ns", "1"),
            ("shape", "device_self_ns", "all"),
            ("shape", "mean_ns", "everything"),
            ("line", "total_ns", "0,2"),
            ("stack", "calls", ""),
            ("module", "max_ns", ""),
            ("thread", "device_total_ns", ""),
            ("annotation", "min_ns", ""),
        )
    ),
    ("table", {"group_by": "stack", "stack_depth": 1, "ascending": True, "limit": 5}),
    ("table", {"kinds": "annotation"}),
    ("table", {"search": "aten add", "offset": 2, "limit": 4}),
    ("table", {"sort_by": "flops", "limit": 9}),
    *(("row", {"key": key}) for key in _ROWS),
    *(("row", {"key": key, "steps": "1"}) for key in _ROWS),
    *(("row", {"key": key, "group_by": "shape"}) for key in _SHAPES),
    *(("find", {"search": text, "limit": 3}) for text in ("add", "MM", "gemm", "step")),
)
KERNELS: Queries = (
    *(
        ("table", {"group_by": one, "sort_by": sort, "limit": 12, "steps": steps})
        for one, sort, steps in (
            ("name", "launch_ns", ""),
            ("properties", "p95_ns", "1"),
            ("class", "mean_ns", "all"),
            ("module", "total_ns", "0,2"),
            ("line", "max_ns", "everything"),
        )
    ),
    ("table", {"search": "gemm", "search_op": "mm", "offset": 1, "limit": 3}),
    ("table", {"ascending": True, "limit": 4, "device": "0"}),
    *(("row", {"key": key}) for key in ("12", "22", "41", "63")),
    *(("row", {"key": key, "group_by": "properties"}) for key in ("172", "163", "34")),
    ("row", {"key": "12", "steps": "1"}),
)
LIGHT: Queries = (
    *(("", {"steps": steps}) for steps in ("", "all", "1")),
    *(
        ("table", {"group_by": one, "sort_by": sort, "steps": steps})
        for one, sort, steps in (
            ("op", "", ""),
            ("op", "measured_ns", "1"),
            ("kernel", "light_ns", "all"),
            ("module", "waste_ns", ""),
            ("kind", "flops", ""),
            ("kind", "read_bytes", "0,2"),
        )
    ),
    ("table", {"group_by": "kind", "offset": 5, "limit": 7, "ascending": True}),
    ("summary", {}),
    ("summary", {"steps": "1"}),
)
QUERIES: dict[str, Queries] = {
    "operators": OPERATORS,
    "kernels": KERNELS,
    "speed_of_light": LIGHT,
    "compile": (("", {}),),
}


def answers(name: str, stem: str) -> Iterator[str]:
    """The part of the table on a recording and a view."""
    yield f"# {name}, {stem}"
    make, metadata = OPS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "worker0.pt.trace.json")
        trace = draw_at(path, "", events=make(), **metadata)
        yield from answers_of(TraceSession(trace), stem, QUERIES[stem])


ASKED = [(name, stem) for name in OPS for stem in QUERIES]


@pytest.mark.parametrize(("name", "stem"), ASKED)
def test_no_answer_on_drawn_ops_moves(name: str, stem: str) -> None:
    _, _, rest = f"\n{TABLE.read_text('utf-8')}".partition(f"\n# {name}, {stem}\n")
    assert [*answers(name, stem)][1:] == rest.partition("\n# ")[0].splitlines()


if __name__ == "__main__":
    for recording, noun in ASKED:
        sys.stdout.writelines(f"{line}\n" for line in answers(recording, noun))
