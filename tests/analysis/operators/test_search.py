"""Which rows are looked at."""

from __future__ import annotations

import numpy as np

from kinetoscope.analysis.operators.groups import in_steps, named


def test_rows_of_steps() -> None:
    step = np.array([-1, 0, 1, 1, 2], np.int32)
    assert in_steps(step, (0, 1)).tolist() == [False, True, True, True, False]
    assert in_steps(step, None).all()


def test_rows_whose_name_holds_every_word_in_any_case() -> None:
    strings = ("aten::MM", "aten::mul", "Straße", "unused mm")
    codes = np.array([1, 0, 2, 0], np.int32)
    assert named(strings, codes, "ATEN mm").tolist() == [False, True, False, True]
    assert named(strings, codes, "STRASSE").tolist() == [False, False, True, False]
    assert named(strings, codes, "").all()
