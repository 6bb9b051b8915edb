"""The table of compute time with light."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.drawing import V100, draw_at

_spec = importlib.util.spec_from_file_location(
    "light_coverage", ROOT / "tools" / "measure" / "light_coverage.py"
)
assert _spec is not None
assert _spec.loader is not None
light_coverage = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(light_coverage)


def test_a_row_adds_up_the_recordings_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    product = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
    for name, picture in (("one", "kkkkkkkkk l"), ("two", "k         l")):
        draw_at(
            tmp_path / f"{name}.json",
            f"step |1111111111111111|\nop   |ab              |\ncall |kl              |\n"
            f"gpu  |    {picture} |",
            names={"a": "aten::mm", "b": "custom::op"},
            args={"a": product},
            deviceProperties=[V100],
        )
    (tmp_path / "no_trace.json").write_text(json.dumps([1]))
    assert light_coverage.main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| recordings | device | with light | without, by reason |"
    assert lines[2:] == [f"| . (2) | {V100['name']} | 83.3% | no model of this op 16.7% |"]
