"""kinetoscope records and explains PyTorch profiles.

Importing the package is free of heavy dependencies, because training jobs import
``kinetoscope.handlers`` through it. ``kinetoscope.open(path)`` pulls in the reader on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from .notebook import OpenTrace

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(path: str | PathLike[str]) -> OpenTrace:
    """Read a trace file, or the only one below a folder; its tables are pandas DataFrames.

    Raises:
        kinetoscope.base.errors.TraceFormatError: the file is no PyTorch trace; names what it is.
        kinetoscope.base.errors.NotFoundError: there is no such file, or no trace below the folder.
        kinetoscope.base.errors.QueryError: there are several below the folder.
    """
    from .notebook import open_trace

    return open_trace(path)
