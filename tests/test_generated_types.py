"""The page's types and the docs say what the Structs say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from gen_api_types import TARGET, TypeGenerationError, field_comments, main, type_text
from gen_docs import main as main_of_docs
from gen_docs import with_tables

Mood = Literal["fine", "bad"]


class Leaf(msgspec.Struct, frozen=True):
    size_bytes: int


def ts(annotation: object) -> str:
    """The TypeScript of a Python annotation."""
    return type_text(msgspec.inspect.type_info(annotation), {frozenset(["fine", "bad"]): "Mood"})


@pytest.mark.parametrize(
    ("annotation", "typescript"),
    [
        (int, "number"),
        (float, "number"),
        (str, "string"),
        (bool, "boolean"),
        (Any, "unknown"),
        (None | int, "number | null"),
        (int | float | None, "number | null"),  # one type in JavaScript, so said once
        (tuple[str, ...], "readonly string[]"),
        (tuple[str | None, ...], "readonly (string | null)[]"),
        (tuple[tuple[int, ...], ...], "readonly (readonly number[])[]"),
        (tuple[int, str], "readonly [number, string]"),
        (dict[str, Leaf | None], "Readonly<Record<string, Leaf | null>>"),
        (Literal["b", "a"], '"a" | "b"'),
        (Mood, "Mood"),
    ],
)
def test_types(annotation: object, typescript: str) -> None:
    assert ts(annotation) == typescript


def test_a_type_without_a_form_is_refused() -> None:
    with pytest.raises(TypeGenerationError, match="no TypeScript form"):
        ts(set[int])


def test_the_file_is_not_stale() -> None:
    done = subprocess.run(
        [sys.executable, "tools/gen_api_types.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_check_notices_a_stale_file_and_leaves_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "types.gen.ts"
    monkeypatch.setattr("gen_api_types.TARGET", stale)
    assert main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert not stale.exists()

    main([])
    assert main(["--check"]) == 0
    assert stale.read_bytes() == TARGET.read_bytes()


def test_the_docs_have_the_declared_columns() -> None:
    text = "<!-- columns: kernels.copies.CopyRow -->\nstale\n<!-- end of columns -->\nafter"
    written = with_tables(text)
    assert "| Size | `total_bytes` | Bytes moved or set" in written
    assert "stale" not in written
    assert written.endswith("after")
    assert with_tables(written) == written
    assert main_of_docs(["--check"]) == 0


class Commented(msgspec.Struct):
    """Not a comment."""

    size_bytes: int  # of the leaf
    note: str = "# not a comment"
    # above it,
    # on two lines
    hue: str = ""
    age: int = 0  # at the end wins


def test_comments_beside_and_above_fields() -> None:
    assert field_comments(Commented) == {
        "size_bytes": "of the leaf",
        "hue": "above it, on two lines",
        "age": "at the end wins",
    }
