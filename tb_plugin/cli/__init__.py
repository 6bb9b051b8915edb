"""The command line: one module per command."""

from __future__ import annotations

import sys
from typing import Any

from ..base.errors import not_installed

__all__ = ["main"]


def main(*arguments: Any, **options: Any) -> None:  # noqa: ANN401  # click's
    """The command line; an installation that only records names the missing extra."""
    try:
        from .entry import main as command
    except ModuleNotFoundError as error:  # without click there is no command line at all
        sys.exit(f"kinetoscope: {not_installed(error)}")
    command(*arguments, **options)
