"""Tracks of an address: ``common``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from kinetoscope.analysis.timeline.timeline import Opened
from kinetoscope.base.errors import QueryError
from kinetoscope.views.timeline.common import check_tracks


def test_the_first_number_without_a_track_is_refused() -> None:
    layout = SimpleNamespace(tracks=["a", "b", "c"], name="split")
    opened = cast("Opened", SimpleNamespace(layout=layout))
    check_tracks([0, 2], opened)
    with pytest.raises(QueryError, match="there is no track 3"):
        check_tracks([0, 3], opened)
