"""The pages of docs/ name everything that a reader can meet on screen."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.answerable import QUESTIONS
from kinetoscope.analysis.rules import RULES
from kinetoscope.analysis.rules.rule import Rule
from kinetoscope.trace.note_kinds import CATALOG
from kinetoscope.views import timeline
from kinetoscope.views.labels import BREAKDOWN, GAUGES, HOST, PARTITION, Part
from kinetoscope.views.timeline_labels import KINDS
from kinetoscope.views.view import Part as ViewPart
from tests.conftest import ROOT

OVERVIEW = (ROOT / "docs" / "overview.md").read_text(encoding="utf-8")
TIMELINE = (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8")
HTTP = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
HEALTH = (ROOT / "docs" / "health.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", [*PARTITION, *HOST, *BREAKDOWN], ids=lambda part: part.key)
def test_every_part_of_a_step_is_defined(part: Part) -> None:
    assert f"| {part.label} |" in OVERVIEW


@pytest.mark.parametrize("label", [label for label, _ in GAUGES.values()])
def test_every_figure_of_a_device_has_its_formula(label: str) -> None:
    assert f"| {label} |" in OVERVIEW


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_is_listed(rule: Rule) -> None:
    assert f"| {rule.id} |" in OVERVIEW


@pytest.mark.parametrize("kind", CATALOG)
def test_every_note_is_listed(kind: str) -> None:
    assert f"| `{kind}` |" in HEALTH


@pytest.mark.parametrize("question", [question for question, _ in QUESTIONS])
def test_every_question_is_listed(question: str) -> None:
    assert f"| {question} |" in HEALTH


@pytest.mark.parametrize("label", [label for _, label in KINDS.values()])
def test_every_kind_of_slice_is_defined(label: str) -> None:
    assert f"| {label} |" in TIMELINE


@pytest.mark.parametrize("part", timeline.VIEW.parts, ids=lambda part: part.stem)
def test_every_part_of_the_trace_view_is_listed_with_its_parameters(part: ViewPart) -> None:
    (row,) = [line for line in HTTP.splitlines() if line.startswith(f"| `{part.stem}` |")]
    for name in part.query.__struct_fields__:
        assert f"`{name}`" in row
