"""What holds for every view."""

from __future__ import annotations

import msgspec
import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import NotFoundError
from kinetoscope.views import VIEWS, view_named
from kinetoscope.views.view import View
from tests.drawing import draw


def test_views_are_found_by_their_stem() -> None:
    assert view_named("overview") is VIEWS[0]
    with pytest.raises(NotFoundError, match="'nothing'") as error:
        view_named("nothing")
    assert "overview" in error.value.hint


def test_stems_keys_and_titles_are_unique() -> None:
    for field in ("stem", "key", "title"):
        values = [getattr(view, field) for view in VIEWS]
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.stem)
def test_an_answer_is_json_and_comes_back(view: View) -> None:
    for picture in ("", "op |aaa|", "step |111|\n call |a |\n gpu | aa|"):
        answer = view.build(summarize(draw(picture)), view.query())
        text = msgspec.json.encode(answer)
        assert msgspec.json.decode(text, type=view.answer) == answer


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.stem)
def test_unknown_parameters_are_refused(view: View) -> None:
    with pytest.raises(msgspec.ValidationError, match="colour"):
        msgspec.convert({"colour": "red"}, view.query)
    assert view.question.endswith("?")
