"""The native library, or why there is none.

It holds the loops that are worth a machine language. Each has a reference in Python that is used
where the library is missing, and with which it agrees by test. ``ctypes`` gives the interpreter
free for others while a function of it runs.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

INTERFACE = 1  # of native/src/ffi.rs
PANICKED = -1
OFF = "KINETOSCOPE_NATIVE"  # "0" in the environment: do without
FOLDER = Path(__file__).resolve().parent.parent / "native"
SUFFIXES = (".so", ".dylib", ".dll", ".pyd")


@dataclass(frozen=True, slots=True)
class Native:
    """``library`` is None where ``reason`` says why; ``path`` is the file in use."""

    library: ctypes.CDLL | None
    reason: str
    path: str = ""


@cache
def native() -> Native:
    """The library of this process, looked for once."""
    if os.environ.get(OFF) == "0":
        return Native(None, f"{OFF}=0 is set")
    files = sorted(file for file in FOLDER.glob("*") if file.suffix in SUFFIXES)
    if not files:
        return Native(None, "this installation was built without it (no cargo was found)")
    try:
        library = ctypes.CDLL(str(files[0]))
        found = int(library.kinetoscope_interface())
    except (OSError, AttributeError) as error:
        return Native(None, f"{files[0].name} cannot be loaded: {error}")
    if found != INTERFACE:
        return Native(None, f"{files[0].name} is of another version ({found}, not {INTERFACE})")
    return Native(library, "", str(files[0]))
