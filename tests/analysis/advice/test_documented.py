"""The page on findings names every rule, every threshold and every planted problem."""

from __future__ import annotations

import re

from kinetoscope.analysis.advice import RULES
from kinetoscope.analysis.thresholds import DEFAULTS, Thresholds
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")


def test_every_rule_has_a_row() -> None:
    rows = re.findall(r"^\| ([A-Z]+\d) \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(rule.id for rule in RULES)


def test_every_threshold_has_a_row_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE))
    assert {name: float(value) for name, value in rows.items()} == {
        name: getattr(DEFAULTS, name) for name in Thresholds.__struct_fields__
    }
