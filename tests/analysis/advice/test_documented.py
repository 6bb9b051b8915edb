"""The page on findings is written from the rules, and names no rule that there is not."""

from __future__ import annotations

import re
import sys

from kinetoscope.analysis.advice import RULES
from kinetoscope.analysis.advice.rule import all_thresholds
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from gen_docs import with_tables

PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_rules() -> None:
    assert with_tables(PAGE) == PAGE


def test_a_stale_row_is_found() -> None:
    assert with_tables(PAGE.replace("| CO1 |", "| CO0 |")) == PAGE


def test_every_placeholder_of_a_docstring_is_a_threshold() -> None:
    names = {name for rule in RULES for name in re.findall(r"\{(\w+)\}", rule.text)}
    assert names <= all_thresholds().keys()


def test_a_threshold_is_one_of_one_rule() -> None:
    declared = [one.name for rule in RULES for one in rule.thresholds]
    shared = {name for name in declared if declared.count(name) > 1}
    assert shared == {"low_ratio"}  # of severity
