"""What is built leaves a digest of its sources."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import stamps


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """Two files."""
    files = [tmp_path / "a.rs", tmp_path / "b.rs"]
    for file in files:
        file.write_text(file.name)
    return files


def test_a_digest_is_that_of_names_and_contents_in_order(sources: list[Path]) -> None:
    root = sources[0].parent
    before = stamps.digest_of(sources, root)
    assert stamps.digest_of(sources, root) == before
    assert stamps.digest_of(sources[::-1], root) != before
    assert stamps.digest_of(sources, root, b"linux") != before
    sources[1].write_text("changed")
    assert stamps.digest_of(sources, root) != before
    sources[1].write_text("b.rs")
    renamed = [sources[0], sources[1].rename(root / "c.rs")]
    assert stamps.digest_of(renamed, root) != before


def test_where_there_is_no_stamp_nothing_was_built(tmp_path: Path) -> None:
    stamp = tmp_path / ".build-stamp"
    assert stamps.read_stamp(stamp) is None
    stamp.write_text("1a2b\n")
    assert stamps.read_stamp(stamp) == "1a2b"
