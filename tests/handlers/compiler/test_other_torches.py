"""handlers/compiler with other versions of torch: equal to what their logs say of the same run.

KINETOSCOPE_TORCHES names Pythons that have them, with colons between. torch 2.1.2, 2.5.1 and 2.14.1
passed so.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

PROGRAMS = Path(__file__).with_name("compile_programs.py")
PYTHONS = list(filter(None, os.environ.get("KINETOSCOPE_TORCHES", "").split(os.pathsep)))
_BREAK = re.compile(r"__graph_breaks(?:\]|: \[DEBUG\]) (?P<text>.*)")
_AGAIN = re.compile(r"\[(?P<id>\d+/\d+)\] \[__recompiles\]\s+- (?P<of>\d+/\d+): (?P<guard>.*)")
_LINE = re.compile(r'compile_programs\.py(?:", line |:)(?P<line>\d+)')


def _run(python: str, folder: Path) -> tuple[tuple[int, ...], dict[str, Any], str]:
    """Version of torch, the record, and torch's logs of breaks and recompilations."""
    package = folder / "package" / "kinetoscope"
    package.mkdir(parents=True)
    (package / "__init__.py").symlink_to(ROOT / "tb_plugin" / "__init__.py")
    (package / "handlers").symlink_to(ROOT / "handlers")
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "TORCH_LOGS": "recompiles,graph_breaks",
    }
    done = subprocess.run(
        [python, str(PROGRAMS), str(folder / "log"), "eager"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (file,) = (folder / "log").glob("*.compile.json.gz")
    record = json.loads(gzip.decompress(file.read_bytes()))
    version = tuple(map(int, re.findall(r"\d+", record["torch"])[:2]))
    return version, record, done.stderr


def _breaks(log: str) -> set[int]:
    """The user's line of each break: the innermost, before torch's own stack."""
    found: list[int] = []
    is_own = has_line = False
    for match in _BREAK.finditer(log):
        text = match["text"]
        if text.startswith("Graph break"):
            is_own, has_line = True, False
        is_own = is_own and not text.startswith("Traceback")
        place = _LINE.search(text)
        if place is not None and is_own:
            found = [*(found[:-1] if has_line else found), int(place["line"])]
            has_line = True
    return set(found)


def _plain(guard: str) -> str:
    return re.split(r"\s{2,}#|\s{3,}", guard.strip())[0]


@pytest.mark.skipif(not PYTHONS, reason="KINETOSCOPE_TORCHES names no Python with another torch")
@pytest.mark.parametrize("python", PYTHONS)
def test_a_record_is_equal_to_the_logs_of_the_same_run(python: str, tmp_path: Path) -> None:
    version, record, log = _run(python, tmp_path)
    assert {one["stack"][0][1] for one in record["breaks"]} == _breaks(log)
    assert len(record["breaks"]) == 5
    if version < (2, 3):
        assert {"callbacks", "metrics", "guard_failures"} <= set(record["missing"])
        assert not record["compilations"]
        return
    told: defaultdict[str, set[str]] = defaultdict(set)
    for match in _AGAIN.finditer(log):
        told[match["id"]].add(f"{match['of']}: {_plain(match['guard'])}")
    found = {
        one["id"]: {f"{reason['of']}: {reason['guard']}" for reason in one["reasons"]}
        for one in record["compilations"]
        if one["reasons"]
    }
    assert len(found) == 8
    assert found == told
    assert [one["id"] for one in record["compilations"] if one["failed"]] == ["15/3"]
    assert len(record["compilations"]) == 27
