"""Modules of the native library stay small, and none imports another one in a circle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_architecture import SOURCE_CAP, circles

SOURCES = ROOT / "native/src"
_PATH = re.compile(r"\b(crate|super)((?:::\w+)+)?(?:::\{([^}]*)\})?")


def test_files_of_the_library_stay_small() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCES.rglob("*.rs")}
    assert len(lengths) > 40
    assert {path.name for path, lines in lengths.items() if lines > SOURCE_CAP} == set()


def test_no_modules_of_the_library_import_each_other() -> None:
    modules = {module_of(path): path for path in SOURCES.rglob("*.rs")}
    modules = {name: path for name, path in modules.items() if path.name != "tests.rs"}
    imports = {
        name: tuple(set(imported(name, path.read_text("utf-8"), set(modules))))
        for name, path in modules.items()
    }
    assert imports["scan::event"]
    assert circles(imports) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("use crate::rows::{take, put};", {"rows"}),
        ("use super::texts::Text;", {"scan::texts"}),
        ("use super::{bytes, keys::Keys};", {"scan::bytes", "scan::keys"}),
        ("// use super::texts::Text;", set()),
        ("let a = crate::ffi::guarded(b);", {"ffi"}),
    ],
)
def test_an_import_is_found(source: str, found: set[str]) -> None:
    modules = {"rows", "ffi", "scan", "scan::texts", "scan::bytes", "scan::keys", "scan::event"}
    assert set(imported("scan::event", source, modules)) == found


def module_of(path: Path) -> str:
    """``scan/event.rs`` is ``scan::event``, ``scan/mod.rs`` is ``scan``."""
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return "::".join(parts[:-1] if parts[-1] in ("mod", "lib") else parts)


def imported(name: str, source: str, modules: set[str]) -> Iterator[str]:
    """The modules that a source names by a path from the crate or from its parent."""
    parent = name.split("::")[:-1]
    for found in _PATH.finditer(re.sub(r"//[^\n]*", "", source)):
        start = [*([] if found[1] == "crate" else parent), *re.findall(r"\w+", found[2] or "")]
        for inner in (found[3] or "").split(",") if found[3] else [""]:
            path = [*start, *re.findall(r"\w+", inner)]
            while path and "::".join(path) not in modules:
                path.pop()
            if path and (other := "::".join(path)) != name:
                yield other
