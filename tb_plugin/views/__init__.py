"""The JSON contracts: per view its Structs, its query, ``build()`` and ``VIEW``."""

from __future__ import annotations

from ..base.errors import NotFoundError
from . import health
from .kernels import view as kernels
from .operators import view as operators
from .overview import view as overview
from .timeline import view as timeline
from .view import View

VIEWS: tuple[View, ...] = (
    overview.VIEW,
    operators.VIEW,
    kernels.VIEW,
    timeline.VIEW,
    health.VIEW,
)
"""The registry, in tab order. A view is named here and nowhere else."""


def view_named(stem: str) -> View:
    """The view of a stem, for example "overview". Raises NotFoundError."""
    for view in VIEWS:
        if view.stem == stem:
            return view
    known = ", ".join(view.stem for view in VIEWS)
    raise NotFoundError(f"there is no view {stem[:40]!r}", hint=f"Views: {known}.")
