"""The native library: found or not, and never in the way."""

from __future__ import annotations

import hashlib
import logging
import platform
import re
import struct
from importlib.metadata import distribution
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


# --- the C library that it needs ------------------------------------------------------------------

NEEDED_VERSIONS = 0x6FFFFFFE  # SHT_GNU_verneed


def versions_of_glibc(elf: bytes) -> set[tuple[int, ...]]:
    """The versions of symbols of glibc that a 64-bit little-endian library needs."""
    (sections,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", elf, sections + i * size) for i in range(count)]
    names = set()
    for _, kind, _, _, start, _, link, files, _, _ in heads:
        if kind != NEEDED_VERSIONS:
            continue
        at = start
        for _ in range(files):
            _, versions, _, first, next_file = struct.unpack_from("<HHIII", elf, at)
            version_at = at + first
            for _ in range(versions):
                _, _, _, name, next_version = struct.unpack_from("<IHHII", elf, version_at)
                begin = heads[link][4] + name
                names.add(elf[begin : elf.index(b"\0", begin)].decode())
                version_at += next_version
            at += next_file
    numbers = (re.fullmatch(r"GLIBC_([\d.]+)", name) for name in names)
    return {tuple(map(int, found[1].split("."))) for found in numbers if found}


def oldest_glibc() -> tuple[int, ...]:
    """What the wheel of this installation promises; of a library built here, what is here."""
    tags = re.findall(
        r"manylinux_(\d+)_(\d+)", distribution("kinetoscope").read_text("WHEEL") or ""
    )
    here = tuple(map(int, platform.libc_ver()[1].split(".")))
    return min((tuple(map(int, tag)) for tag in tags), default=here)


@requires_native
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_the_loaded_library_needs_no_later_glibc_than_its_wheel_promises() -> None:
    loaded = Path(native().path)
    assert str(loaded) in Path("/proc/self/maps").read_text("utf-8")
    needed = versions_of_glibc(loaded.read_bytes())
    assert needed, "it needs the C library"
    assert max(needed) <= oldest_glibc()
