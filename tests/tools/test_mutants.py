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


def test_what_cannot_matter_is_no_fault(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    source = tmp_path / "module.py"
    source.write_text(
        "__all__ = names(1)\n"
        "Kind = int | Sequence[str] | None\n"
        "_CHUNK = 1 << 20\n"
        "class One(Struct, frozen=True):\n"
        "    at: int = -1\n"
        "    most = FIRST | SECOND\n"
        "    def f(self, a):\n"
        "        return zip(a[-1], a, strict=True), -2, 40\n"
        "kept = a[np.maximum(b, 0)] if a / max(b, 1) else max(c, 3)\n"
    )
    found = [(one.line, one.was, one.text) for one in mutants.mutants_of(source)]
    assert sorted(found) == [
        (6, "|", "&"),
        (8, "1", "2"),
        (8, "2", "3"),
        (8, "40", "80"),
        (9, "/", "*"),
        (9, "3", "4"),
    ]


def test_a_fault_meets_the_tests_that_run_its_line(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "tb_plugin/analysis/diff/noise.py"
    beside, other, slow = "tests/analysis/diff/test_noise.py::b", "tests/z.py::a", "tests/y.py::c"
    reach = {
        "seconds": {other: 1.0, slow: 2 * mutants._ENOUGH, beside: 10.0},
        "lines": {path: {"10": [0], "20": [0, 1, 2]}},
    }
    fault = mutants.Mutant(path, 21, 0, "1", "2")
    assert mutants.tests_of(fault, reach) == [beside, other]
    assert mutants.tests_of(fault._replace(line=19), reach) == [other]
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    module, user = tmp_path / "one.py", tmp_path / "two.py"
    module.write_text("LIMIT = 5\n")
    user.write_text("def f(a):\n    return a > LIMIT\n")
    reach["lines"] = {"one.py": {"1": []}, "two.py": {"2": [0]}}
    monkeypatch.setattr(mutants, "tests_beside", lambda _: [])
    assert mutants.tests_of(mutants.Mutant("one.py", 1, 8, "5", "6"), reach) == [other]


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
    tests = mutants.tests_beside(path)
    assert mutants.outcome_of(fault, tests)[0] == mutants.NOTICED
    assert mutants.outcome_of(fault._replace(text=fault.was), tests)[0] == mutants.MISSED
