"""Which Node.js builds the page."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import node


@pytest.mark.parametrize(
    ("version", "supported"),
    [
        ("v18.20.4", False),
        ("v20.18.3", False),
        ("v20.19.0", True),
        ("v21.7.3", False),
        ("v22.11.0", False),
        ("v22.12.0\n", True),
        ("v24.19.0", True),
        ("v100.0.0", True),
        ("", False),
    ],
)
def test_versions_that_vite_runs_on(version: str, supported: bool) -> None:
    assert node.is_supported(version) is supported


def fake_node(folder: Path, version: str) -> None:
    """Puts a `node` of some version and an `npm` into a folder."""
    folder.mkdir()
    for name, line in {"node": f"echo {version}", "npm": "exit 0"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell scripts")
@pytest.mark.parametrize(("version", "taken"), [("v20.19.0", True), ("v18.0.0", False)])
def test_npm_on_path_is_taken_when_its_node_is_recent(
    version: str, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_node(tmp_path / "bin", version)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(node, "_npm_in_wheel", lambda: None)
    if taken:
        assert node.find_npm().command == (str(tmp_path / "bin" / "npm"),)
    else:
        with pytest.raises(node.NodeNotFoundError, match=r"Node\.js 20\.19 or newer"):
            node.find_npm()


def test_without_npm_on_path_the_one_in_the_python_package_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_wheel = node.Npm(("node", "npm-cli.js"), Path("bin"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(node, "_npm_in_wheel", lambda: in_wheel)
    assert node.find_npm() is in_wheel


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
@pytest.mark.parametrize(("named", "taken"), [(None, "system.pem"), ("mine.pem", "mine.pem")])
def test_npm_trusts_the_certificates_of_the_system_unless_others_are_named(
    named: str | None, taken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "npm"
    script.write_text('#!/bin/sh\necho "$NODE_EXTRA_CA_CERTS"\n')
    script.chmod(0o755)
    monkeypatch.delenv("NODE_EXTRA_CA_CERTS", raising=False)
    if named is not None:
        monkeypatch.setenv("NODE_EXTRA_CA_CERTS", named)
    paths = ssl.get_default_verify_paths()._replace(cafile="system.pem")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    said = node.Npm((str(script),), tmp_path).run("ci", quiet=True).stdout
    assert said.strip() == taken
