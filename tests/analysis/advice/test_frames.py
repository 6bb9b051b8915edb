"""Which frame rows count for: the library and the reference agree, and both are right."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.advice import host as module
from kinetoscope.analysis.advice.host import frame_numbers, frame_sums
from kinetoscope.base.native import call, native

NAMES = 6
ROWS = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(0, 1 << 16),  # the owner, and the parent
        st.integers(0, 1 << 16),
        st.integers(0, NAMES - 1),
        st.integers(0, 99),
    ),
    max_size=40,
)


@pytest.fixture(params=["library", "reference"], autouse=True, scope="module")
def reader(request: pytest.FixtureRequest) -> Any:
    if request.param == "library" and native().library is None:
        pytest.skip(f"no native library: {native().reason}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "call", call if request.param == "library" else lambda *_: None)
        yield


@given(ROWS, st.lists(st.integers(0, 4), min_size=NAMES, max_size=NAMES))
def test_time_and_number_of_frames(rows: list[tuple[Any, ...]], numbers: list[int]) -> None:
    mask = [bool(one[0]) for one in rows]
    owner = [one[1] % (at + 1) for at, one in enumerate(rows)]
    parent = [one[2] % (at + 1) - 1 for at, one in enumerate(rows)]
    name, own = [one[3] for one in rows], [one[4] for one in rows]
    code: Any = SimpleNamespace(
        owner=np.array(owner, np.int32),
        parent=np.array(parent, np.int32),
        name=np.array(name, np.int32),
        self_ns=np.array(own, np.int64),
        trace=SimpleNamespace(strings=[""] * NAMES),
    )
    chosen = np.array(mask, np.bool_)
    frame = [name[owner[at]] for at in range(len(rows))]
    total = [
        sum(own[at] for at in range(len(rows)) if mask[at] and frame[at] == one)
        for one in range(NAMES)
    ]
    assert frame_sums(code, chosen).tolist() == total
    number, around = frame_numbers(code, chosen, np.array(numbers, np.uint8))
    expected = [numbers[frame[at]] if mask[at] else 0 for at in range(len(rows))]
    assert number.tolist() == expected
    assert around.tolist() == [
        expected[above] if above >= 0 and expected[above] != expected[at] else 0
        for at, above in enumerate(parent)
    ]
