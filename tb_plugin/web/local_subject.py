"""A trace in memory as views with an artifact see it, for one command or a notebook."""

from __future__ import annotations

import threading
from typing import Any

from ..analysis.facts import Facts
from ..store.cache.memory import made_here
from ..trace.event_text import Rereader
from ..trace.model import Trace
from ..views.view import Subject, View
from .subject import available


def subject_of_trace(view: View, trace: Trace, facts: Facts) -> Subject:
    """The trace as the view and its parts see it; artifacts are made when they are asked for.

    Raises:
        UnavailableError: this trace cannot fill the view.
    """
    recipe = view.artifact
    opened: dict[str, Any] = {}
    making = threading.Lock()

    def artifact(variant: str) -> Any:  # noqa: ANN401  # what the view's artifact opens as
        if recipe is None:
            raise TypeError(f"the view {view.stem} has no artifact")
        with making:
            if variant not in opened:
                opened[variant] = made_here(trace, recipe, variant)
            return opened[variant]

    file = Rereader(trace.path, trace.blocks, trace.seek)
    return Subject(available(view, facts), artifact, lambda: trace, file.event)
