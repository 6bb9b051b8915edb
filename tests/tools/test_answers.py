"""tools/measure/answers: what moved between two states is named by its key."""

from __future__ import annotations

import importlib.util

from tests.conftest import ROOT

_spec = importlib.util.spec_from_file_location("answers", ROOT / "tools" / "measure" / "answers.py")
assert _spec is not None and _spec.loader is not None  # noqa: PT018
answers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(answers)


def test_what_differs_is_named_by_its_key() -> None:
    before = {"steps": [{"ns": 1, "name": "a"}, {"ns": 2, "name": "b"}], "sum": 3, "same": [1]}
    after = {"steps": [{"ns": 1, "name": "a"}, {"ns": 4, "name": "b"}], "sum": 5, "same": [1]}
    assert sorted(answers.differing(before, after)) == ["steps[].ns", "sum"]
    assert list(answers.differing([1], [1, 2])) == ["the whole answer"]
    assert list(answers.differing(before, before)) == []
