"""kinetoscope records and explains PyTorch profiles.

Importing the package is free of heavy dependencies, because training jobs import
``kinetoscope.handlers`` through it. ``kinetoscope.open(path)`` pulls in the reader on first use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from .notebook import OpenTrace

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(
    path: str | PathLike[str],
    *,
    run: str | None = None,
    worker: str | None = None,
    span: str | int | None = None,
) -> OpenTrace:
    """Read a trace file, or one below a folder; its tables are pandas DataFrames.

    Below a folder it is the trace that ``kinetoscope show`` would take: of the newest run, its
    first worker, that worker's last span, unless others are named.

    Raises:
        kinetoscope.base.errors.TraceFormatError: the file is no PyTorch trace; names what it is.
        kinetoscope.base.errors.NotFoundError: there is no such file, no trace below the folder, or
            no such run, worker or span in it.
        kinetoscope.base.errors.QueryError: a run, worker or span is named, but the path is one
            file.
        kinetoscope.base.errors.UnavailableError: the library for an address of another machine
            is not installed.
        kinetoscope.base.errors.KinetoscopeError: this installation only records.
    """
    from .base.errors import not_installed

    try:
        from .notebook import open_trace
    except ModuleNotFoundError as error:
        missing = not_installed(error)
        raise type(missing)(f"{missing} ({missing.hint})") from error
    return open_trace(path, run=run, worker=worker, span=span)


def _log_as_asked() -> None:
    """Log at the level of KINETOSCOPE_LOG_LEVEL: a name such as INFO, or a number."""
    level = os.environ.get("KINETOSCOPE_LOG_LEVEL", "").strip().upper()
    if not level:
        return
    import logging  # a training job that imports our handlers may never need it

    log = logging.getLogger(__name__)
    try:
        log.setLevel(int(level) if level.isdigit() else level)
    except ValueError:
        log.warning("KINETOSCOPE_LOG_LEVEL: DEBUG, INFO, WARNING, ERROR or a number, not %r", level)
        return
    if not log.handlers and not logging.getLogger().handlers:
        shown = logging.StreamHandler()
        shown.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        log.addHandler(shown)


_log_as_asked()
