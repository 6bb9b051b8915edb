"""What a view is asked about: its facts alone, or with the columns and artifacts behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.facts import Facts
from ..base.errors import UnavailableError
from ..store.catalog_snapshot import Entry
from ..views.view import Subject, View
from .rereaders import Rereaders
from .service import Traces


def subject_of(catalog: Traces, view: View, entry: Entry, files: Rereaders) -> Subject:
    """The trace as the parts of a view see it; nothing but the facts is fetched before its use.

    Raises:
        BeingRead: the file is being read.
        UnavailableError: this trace cannot fill the view.
    """

    def artifact(variant: str) -> Any:  # noqa: ANN401  # what the view's artifact opens as
        if view.artifact is None:
            raise TypeError(f"the view {view.stem} has no artifact")
        return catalog.artifact(entry, view.artifact, variant)

    def event(row: int) -> Mapping[str, Any]:
        return files.of(entry, catalog.trace(entry)).event(row)

    facts = available(view, catalog.summary(entry))
    return Subject(facts, artifact, lambda: catalog.trace(entry), event)


def available(view: View, facts: Facts) -> Facts:
    """The facts, if they can fill the view.

    Raises:
        UnavailableError: they cannot; says why.
    """
    reason = view.unavailable(facts)
    if reason is not None:
        raise UnavailableError(reason)
    return facts
