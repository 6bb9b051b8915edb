"""The JSON contracts: per view its Structs, its query, ``build()`` and ``VIEW``."""

from __future__ import annotations

from . import health
from .kernels import view as kernels
from .memory import view as memory
from .modules import view as modules
from .operators import view as operators
from .overview import view as overview
from .timeline import view as timeline
from .view import View, view_among

VIEWS: tuple[View, ...] = (
    overview.VIEW,
    operators.VIEW,
    kernels.VIEW,
    timeline.VIEW,
    memory.VIEW,
    modules.VIEW,
    health.VIEW,
)
"""The registry, in tab order. A view is named here and nowhere else."""


def view_named(name: str) -> View:
    """The view of a stem or a title: "timeline", "Trace". Raises NotFoundError."""
    return view_among(VIEWS, name)
