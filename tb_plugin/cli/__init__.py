"""The command line: one file per command."""

from .entry import main

__all__ = ["main"]
