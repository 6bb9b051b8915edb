"""Loggers whose module is imported when something is logged.

A reading process and a short command log nothing, most often. ``logging`` brings ten modules along,
which take as long to import as a small file takes to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from logging import Logger


def logger(name: str) -> Logger:
    """A module's own logger, by the module's name."""
    return cast("Logger", UnusedLogger(name))


class UnusedLogger:
    """Result of ``logger``: finds the logger at the first use of a method."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401  # whatever a logger has
        import logging

        return getattr(logging.getLogger(self._name), attribute)
