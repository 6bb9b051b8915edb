"""The JSON contracts: per view its Structs, its query, ``build()`` and ``VIEW``.

Here is the registry of views. Each is imported when it is asked for: a command needs one of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from .view import View, view_among

STEMS = (
    "overview",
    "operators",
    "kernels",
    "timeline",
    "memory",
    "modules",
    "compile",
    "speed_of_light",
    "distributed",
    "diff",
    "health",
)
"""The views in tab order: the names of their folders. A view is named here and nowhere else."""


@cache
def view_of(stem: str) -> View:
    """One of ``STEMS``."""
    module = import_module(f"{__name__}.{stem}")
    if hasattr(module, "__path__"):  # a folder; a view of one module is a file
        module = import_module(f"{module.__name__}.view")
    view: View = module.VIEW
    return view


@cache
def all_views() -> tuple[View, ...]:
    """Every view, in tab order."""
    return tuple(map(view_of, STEMS))


def view_named(name: str) -> View:
    """The view of a stem or a title: "speed-of-light", "Trace". Raises NotFoundError."""
    stem = name.replace("-", "_")
    return view_of(stem) if stem in STEMS else view_among(all_views(), name)
