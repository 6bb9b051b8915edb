"""A column is headed by the statistic that its key names, in every declared table."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from msgspec import Struct

from kinetoscope import views
from kinetoscope.views.table import fields_of

WORDS = {"mean": "mean", "median": "median", "p50": "median", "p95": "p95", "self": "self"} | {
    "min": "min", "max": "max", "longest": "longest", "least": "least", "most": "most",
}  # fmt: skip
STATISTICS = frozenset(WORDS.values())
OTHER = {"least_ratio", "example"}
"""Headed by the schedules of a bubble, and by what one of the longest events is."""


def heads() -> Iterator[tuple[str, str]]:
    """Key and heading of each declared column."""
    for found in pkgutil.walk_packages(views.__path__, f"{views.__name__}."):
        for kind in vars(importlib.import_module(found.name)).values():
            is_struct = isinstance(kind, type) and issubclass(kind, Struct)
            if is_struct and kind.__module__ == found.name:
                yield from ((one.head.key, one.head.label) for one in fields_of(kind))


COLUMNS = sorted({(key, label) for key, label in heads() if label and key not in OTHER})


def test_many_columns_are_declared() -> None:
    assert len(COLUMNS) > 300


@pytest.mark.parametrize(("key", "label"), COLUMNS)
def test_the_heading_names_the_statistic_of_the_key(key: str, label: str) -> None:
    words = set(label.lower().replace(",", "").split())
    expected = {WORDS[part] for part in key.split("_") if part in WORDS}
    if "tensor" not in key:
        assert expected <= words
    assert (words & STATISTICS) - {"self"} <= expected
