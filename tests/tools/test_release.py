"""What a release is made of: its version, its list of parts, the subjects of its commits."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kinetoscope import __version__
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from release import commit, sbom, subject


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("memory: name what grows\n\nWhy.", ""),
        (f"memory: {'n' * 52}", ""),
        (f"memory: {'n' * 53}", "61 characters, 60 are allowed"),
        ("Memory: name what grows", "write the subject as"),
        ("name what grows", "write the subject as"),
        ("memory: name what grows.", "write the subject as"),
        ("memory: added a column", "begin with the imperative"),
        ("memory: name what grows\nWhy.", "second line empty"),
        ("# a comment of git\nmemory: name what grows\n# another", ""),
        ("Merge branch 'other'", ""),
        ("", "write the subject as"),
    ],
)
def test_subjects(message: str, said: str) -> None:
    assert (said in subject.fault(message)) if said else subject.fault(message) == ""


def test_the_hook_stops_a_commit(tmp_path: Path) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    script = [sys.executable, str(ROOT / "tools/release/subject.py"), str(message)]
    for text, code in (("area: do it\n", 0), ("did it\n", 1)):
        message.write_text(text)
        done = subprocess.run(script, capture_output=True, text=True, check=False)
        assert (done.returncode, bool(done.stderr)) == (code, bool(code))


def test_a_tag_names_the_version_and_the_changelog_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tb_plugin").mkdir()
    (tmp_path / "tb_plugin/__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3\n")
    monkeypatch.setattr(commit, "ROOT", tmp_path)
    assert commit.main(["--tag", "v1.2.3"]) == 0
    assert commit.main(["--tag", "v1.2.4"]) == 1
    assert "v1.2.4 is not of version 1.2.3" in capsys.readouterr().err
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
    assert commit.main(["--tag", "v1.2.3"]) == 1
    assert "no heading for 1.2.3" in capsys.readouterr().err


def test_the_version_is_read_without_importing() -> None:
    assert commit.version_of(ROOT) == __version__


def test_the_commit_of_a_source_distribution_is_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(commit.VARIABLE, raising=False)
    assert commit.commit_of(tmp_path) == ""
    (tmp_path / "tb_plugin").mkdir()
    (tmp_path / "tb_plugin/commit.txt").write_text("0123456789ab\n")
    assert commit.commit_of(tmp_path) == "0123456789ab"


def test_a_bill_of_materials_names_each_library() -> None:
    text = "# Licenses\n\n## @a/b - 1.2.3 (MIT)\n\nText\n\n## c - 4 (Apache-2.0)\n"
    made = sbom.document("7.8.9", "0123456789ab", text)
    assert made["components"] == [
        {
            "type": "library",
            "name": "@a/b",
            "version": "1.2.3",
            "purl": "pkg:npm/%40a/b@1.2.3",
            "licenses": [{"license": {"id": "MIT"}}],
        },
        {
            "type": "library",
            "name": "c",
            "version": "4",
            "purl": "pkg:npm/c@4",
            "licenses": [{"license": {"id": "Apache-2.0"}}],
        },
    ]
    with pytest.raises(ValueError, match="names no library"):
        sbom.components("# Licenses\n")


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_every_command_of_a_workflow_is_a_target_that_runs_here(name: str) -> None:
    text = (ROOT / ".github/workflows" / name).read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    commands = re.findall(r"^\s+(?:- )?run: (\S.*)$", text, re.MULTILINE)
    ours = [command.split() for command in commands if not command.startswith(("{", "gh release"))]
    assert len(ours) >= 3
    for program, *targets in ours:
        assert program == "make"
        for target in targets:
            assert "=" in target or re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_systems_of_a_release_are_all_there() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    assert set(re.findall(r'build: "cp312-(\w+)"', text)) == {
        *("manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"),
        *("macosx_x86_64", "macosx_arm64", "win_amd64"),
    }


def test_ci_tests_every_python_of_the_package() -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    (tested,) = re.findall(r"python: \[(.*)\]", text)
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    assert re.findall(r'"(3\.\d+)"', tested) == named
