"""``make mutants``: which faults it draws, which tests it runs, and that a fault is planted."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(name="mutants")
def loaded() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("mutants_run", ROOT / "tools/measure/mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_comparison_operator_and_number_is_a_fault(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    source = tmp_path / "module.py"
    source.write_text(
        "é = 1  # two bytes\n"
        "def f(a: Literal[5], b) -> int:\n"
        "    return a // 2 if a is not b and b < 0.5 else True\n"
    )
    found = [(one.line, one.was, one.text) for one in mutants.mutants_of(source)]
    assert set(found) == {
        (1, "1", "2"),
        (3, "0.5", "(0.5 * 1.8 + 0.01)"),
        (3, "2", "3"),
        (3, "//", "*"),
        (3, "<", "<="),
        (3, "True", "False"),
        (3, "and", "or"),
        (3, "is not", "is"),
    }


def test_the_tests_beside_a_module_import_it_or_are_of_its_noun(mutants: ModuleType) -> None:
    found = mutants.tests_beside("tb_plugin/analysis/diff/noise.py")
    importing, others = found.index("tests/analysis/diff/test_noise.py"), found[-1]
    assert importing < found.index("tests/analysis/diff/test_pieces.py")
    assert others == "tests/views/diff/test_view.py"
    assert "tests/views/memory/test_view.py" not in found


def test_a_planted_fault_is_noticed_and_a_harmless_one_missed(mutants: ModuleType) -> None:
    path = "tb_plugin/base/units.py"
    every = [*mutants.mutants_of(ROOT / path)]
    fault = next(one for one in every if one.was == ">=")
    assert mutants.outcome_of(fault)[0] == mutants.NOTICED
    assert mutants.outcome_of(fault._replace(text=fault.was))[0] == mutants.MISSED
