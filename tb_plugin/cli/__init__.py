"""The command line: one module per command."""

from .entry import main

__all__ = ["main"]
