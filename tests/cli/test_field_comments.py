"""Comments of fields come from the source of the Structs."""

from __future__ import annotations

from msgspec import Struct

from kinetoscope.cli.show import field_comments


class Leaf(Struct):
    """Not a comment."""

    size_bytes: int  # of the leaf
    note: str = "# not a comment"
    # above it,
    # on two lines
    hue: str = ""
    age: int = 0  # at the end wins


def test_comments_beside_and_above_fields() -> None:
    assert field_comments(Leaf) == {
        "size_bytes": "of the leaf",
        "hue": "above it, on two lines",
        "age": "at the end wins",
    }


def test_without_source_there_are_none() -> None:
    assert field_comments(type("Made", (Struct,), {"__annotations__": {"x": int}})) == {}
