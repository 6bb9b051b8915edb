"""``make walks``: what counts as a file of a walk, and where its figures are written."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from kinetoscope.base import units
from tests.conftest import ROOT


@pytest.fixture(name="walks")
def loaded() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("walks", ROOT / "tools/measure/walks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_counts_once_a_function_of_it_runs(walks: ModuleType) -> None:
    with walks.recorded() as files:
        units.plural(2, "file")
    assert files == {"base/units.py"}


def test_a_name_without_a_folder_is_in_the_one_before(walks: ModuleType) -> None:
    table = "| step | function | module |\n|---|---|---|\n| a | `f` | `web/app`, `page` |\n"
    assert walks.modules_of(table + "| b | `g` | `web/app` |\n") == {"web/app", "web/page"}


def test_figures_are_written_where_they_stand(walks: ModuleType) -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    files = {walk: ["trace/a.py", "web/b.py"] for walk in ("show", "kept", "operators", "tile")}
    found = walks.written(page, files)
    assert found.count("a function runs in 2 files") == 4
    assert found.count("1 of them in `trace/`") == 2
    assert walks.written(found, files) == found
    tables = [line for line in page.splitlines() if line.startswith("|")]
    assert [line for line in found.splitlines() if line.startswith("|")] == tables
