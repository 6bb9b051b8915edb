"""What holds for every view."""

from __future__ import annotations

import msgspec
import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import NotFoundError
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.model import Trace
from kinetoscope.views import all_views, view_named
from kinetoscope.views.view import Subject, View
from kinetoscope.web.app import Choice
from tests.drawing import draw


def test_views_are_found_by_their_stem() -> None:
    assert view_named("overview") is all_views()[0]
    for title in ("Trace", "trace"):  # as the page calls it
        assert view_named(title).stem == "timeline"
    with pytest.raises(NotFoundError, match="'nothing'") as error:
        view_named("nothing")
    assert "overview" in error.value.hint


def test_stems_keys_and_titles_are_unique() -> None:
    for field in ("stem", "key", "title"):
        values = [getattr(view, field) for view in all_views()]
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.stem)
def test_an_answer_is_json_and_comes_back(view: View) -> None:
    for picture in ("", "op |aaa|", "step |111|\n call |a |\n gpu | aa|"):
        trace = draw(picture)
        facts = summarize(trace)
        if TraceSession(trace, facts).unavailable(view):
            continue
        answer = view.build(asked(view, trace, facts), view.query())
        text = msgspec.json.encode(answer)
        assert msgspec.json.decode(text, type=view.answer) == answer


def asked(view: View, trace: Trace, facts: Facts) -> Facts | Subject:
    """What the view is built from."""
    return TraceSession(trace, facts).asked(view)


@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.stem)
def test_a_reason_not_to_be_there_is_a_sentence(view: View) -> None:
    reasons = [view.unavailable(summarize(draw(picture))) for picture in ("", "op |aaa|")]
    for reason in filter(None, reasons):
        assert reason[0].isupper()
        assert reason.endswith(".")


@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.stem)
def test_parts_have_names_of_their_own_and_leave_the_choice_of_the_trace_alone(view: View) -> None:
    stems = [part.stem for part in view.parts]
    assert len(set(stems)) == len(stems)
    for part in view.parts:
        assert not {*part.query.__struct_fields__} & {*Choice.__struct_fields__}
        with pytest.raises(msgspec.ValidationError, match="colour"):
            msgspec.convert({"colour": "red"}, part.query)


@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.stem)
def test_unknown_parameters_are_refused(view: View) -> None:
    with pytest.raises(msgspec.ValidationError, match="colour"):
        msgspec.convert({"colour": "red"}, view.query)
    assert view.question.endswith("?")
