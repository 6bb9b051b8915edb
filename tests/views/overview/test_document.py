"""``document``: the advice as Markdown."""

from __future__ import annotations

import pytest

from kinetoscope.views.overview.document import capital


@pytest.mark.parametrize(
    ("text", "found"), [("shapes of inputs", "Shapes of inputs"), ("a", "A"), ("", "")]
)
def test_a_line_begins_with_a_capital(text: str, found: str) -> None:
    assert capital(text) == found
