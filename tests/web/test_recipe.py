"""The lines that a user is told to paste do what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.trace.read import read
from kinetoscope.web.contract import RECIPE


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: nothing to record"
)
# Torch says at the end of a cycle that it forgets it: by then it is saved.
@pytest.mark.filterwarnings("ignore:.*Profiler clears events")
def test_the_recipe_records_a_trace_with_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {
        "torch": torch,
        "loader": range(9),
        "train": lambda _: torch.ones(8, 8) @ torch.ones(8),
    }
    exec(RECIPE, names)  # noqa: S102  # our own text
    assert names["prof"].on_trace_ready.flush()  # a program's end would wait for it
    (path,) = (tmp_path / "log").glob("*.trace.json*")
    assert len(read(path).steps) == 5
