"""The parts of views stand in ``docs/http.md`` as they are."""

from __future__ import annotations

import re

import msgspec
import pytest

from kinetoscope.views import view_named
from tests.conftest import ROOT

RANGE = {"start_ns", "end_ns", "steps"}


@pytest.mark.parametrize(("stem", "title"), [("timeline", "Trace"), ("memory", "Memory")])
def test_every_part_is_documented_with_its_parameters(stem: str, title: str) -> None:
    text = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
    section = text.split(f"\n## Parts of the {title} view\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))
    parts = {part.stem: part for part in view_named(stem).parts}
    assert rows.keys() == parts.keys()
    for name, parameters in rows.items():
        plain = re.sub(r"\([^)]*\)", "", parameters)  # the values of a parameter
        named = set(re.findall(r"`(\w+)`", plain)) | (RANGE if "range" in plain else set())
        known = {field.name for field in msgspec.structs.fields(parts[name].query)}
        assert named <= known, name
