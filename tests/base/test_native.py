"""The native library: found or not, and never in the way."""

from __future__ import annotations

import hashlib
import logging
import re
from pathlib import Path

import numpy as np
import pytest

from kinetoscope.base import native as module
from kinetoscope.base.native import call, native, reader
from tests.conftest import ROOT, requires_native

look = native.__wrapped__  # without the memory of the process


class Broken:
    """A library of which every function panics."""

    def __getitem__(self, name: str) -> object:
        if name == "missing":
            raise AttributeError(name)
        return lambda *_: module.PANICKED


@requires_native
def test_the_library_of_this_checkout_is_in_use() -> None:
    assert reader() == "native"
    assert Path(native().path).parent == module.FOLDER


@requires_native
def test_arrays_are_read_and_written_where_they_are() -> None:
    ts, dur = np.array([0, 1]), np.array([9, 3])
    first = np.array([True, False])
    lane, displaced = np.zeros(2, np.uint16), np.zeros(2, bool)
    assert call("kinetoscope_lanes", ts, dur, first, 2, 0, lane, displaced) == 0
    assert lane.tolist() == [0, 1]
    with pytest.raises(ValueError, match="contiguous"):
        call("kinetoscope_lanes", np.zeros(4)[::2])


@requires_native
def test_the_library_has_every_function_that_python_names() -> None:
    sources = (ROOT / "tb_plugin").rglob("*.py")
    named = {
        x for path in sources for x in re.findall(r'"(kinetoscope_[a-z_]+)"', path.read_text())
    }
    assert "kinetoscope_lanes" in named
    assert [name for name in named if not hasattr(native().library, name)] == []


SIGNATURES = {module.INTERFACE: "0c1df8b3"}
"""The key of all signatures under this number.

A library that was built before one of them changed crashes the program when it is called. So raise
the number on both sides, then write the new key here.
"""
FUNCTION = re.compile(r"\b(kinetoscope_\w+)\(([^{]*?)\)\s*(?:->[^{]*)?\{")


def test_a_changed_signature_has_another_number() -> None:
    sources = sorted((ROOT / "native" / "src").rglob("*.rs"))
    texts = [re.sub(r"//.*", "", path.read_text(encoding="utf-8")) for path in sources]
    found = [
        re.sub(r"[\s,]+", " ", f"{name}({parameters})")
        for text in texts
        for name, parameters in FUNCTION.findall(text)
    ]
    assert len(found) > 40
    key = hashlib.blake2b("\n".join(sorted(found)).encode(), digest_size=4).hexdigest()
    assert {module.INTERFACE: key} == SIGNATURES


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.OFF, "0")
    assert look().library is None
    assert look().reason == "KINETOSCOPE_NATIVE=0 is set"


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "built without cargo"), (b"", "cannot be loaded"), (b"\x7fELF\2", "cannot be loaded")],
)
def test_without_a_usable_file_there_is_a_reason_and_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, reason: str
) -> None:
    monkeypatch.delenv(module.OFF, raising=False)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    (tmp_path / ".build-stamp").touch()
    if content is not None:
        (tmp_path / "library.so").write_bytes(content)
    found = look()
    assert found.library is None
    assert reason in found.reason
    assert "cargo" in found.remedy


@requires_native
def test_a_library_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERFACE", 999)
    assert look().library is None
    assert "another version" in look().reason


def test_after_a_panic_the_reference_is_used_and_a_line_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = module.Native(Broken())  # type: ignore[arg-type]
    monkeypatch.setattr(module, "native", lambda: broken)
    module._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):  # a second time there is no line more
            assert call("kinetoscope_lanes") is None
            assert call("missing") is None
    assert len(caplog.messages) == 2
    assert ["failed" in caplog.messages[0], "no missing" in caplog.messages[1]] == [True, True]
