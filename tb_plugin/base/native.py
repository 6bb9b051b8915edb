"""The native library, or the reason why there is none.

It has the loops that are too slow in Python. Each has a reference in Python, which is used where
the library is missing and with which it agrees by test. ``ctypes`` releases the interpreter lock
while a function of the library runs.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:  # a server asks for the library before it needs numbers
    from numpy.typing import NDArray

INTERFACE = 19  # of native/src/ffi.rs
PANICKED = -1
OFF = "KINETOSCOPE_NATIVE"  # "0" in the environment: do without
FOLDER = Path(__file__).resolve().parent.parent / "native"
SUFFIXES = (".so", ".dylib", ".dll", ".pyd")

log = logging.getLogger(__name__)


AGAIN = "Install Rust's cargo, then kinetoscope again"


class Native(Struct, frozen=True):
    """``library`` is None where ``reason`` says why, and ``remedy`` what to do about it."""

    library: ctypes.CDLL | None
    reason: str = ""
    remedy: str = ""
    path: str = ""  # of the file in use


@cache
def native() -> Native:
    """The library of this process, loaded once."""
    if os.environ.get(OFF) == "0":
        return Native(None, f"{OFF}=0 is set", "Unset it")
    there = os.listdir(FOLDER) if FOLDER.is_dir() else []
    files = sorted(FOLDER / name for name in there if name.endswith(SUFFIXES))
    if not files:
        return Native(None, "this installation was built without cargo", AGAIN)
    try:
        library = ctypes.CDLL(str(files[0]))
        found = int(library.kinetoscope_interface())
    except (OSError, AttributeError) as error:
        return Native(None, f"{files[0].name} cannot be loaded ({error})", AGAIN)
    if found != INTERFACE:
        reason = f"{files[0].name} is of another version ({found}, not {INTERFACE})"
        return Native(None, reason, AGAIN)
    return Native(library, path=str(files[0]))


def reader() -> Literal["native", "python"]:
    """The implementation that reads traces: native or Python."""
    return "python" if native().library is None else "native"


def call(name: str, *arguments: NDArray[Any] | bytes | int) -> int | None:
    """Call a function of the library; None: the caller has to use its reference.

    Arrays and bytes are handed over as pointers: an array must be contiguous and of the type that
    the function expects, and what it holds is undefined after None. Numbers are 64 bits wide.
    """
    library = native().library
    function = None if library is None else _function(library, name)
    if function is None:
        return None
    answer = int(function(*map(_handed, arguments)))
    if answer == PANICKED:
        _warn_once("%s failed in the native library: its slower reference is used", name)
        return None
    return answer


@cache
def _function(library: ctypes.CDLL, name: str) -> Callable[..., int] | None:
    """A function of the library, looked up once; None where it has no such function."""
    try:
        function = library[name]  # not as an attribute, which would share its types with others
    except AttributeError:
        log.warning("the native library has no %s: build it again (make native)", name)
        return None
    function.restype = ctypes.c_int64
    return function


@cache
def _warn_once(message: str, name: str) -> None:
    """Log a warning about a function once: a reading calls some of them thousands of times."""
    log.warning(message, name)


def _handed(argument: NDArray[Any] | bytes | int) -> object:
    if isinstance(argument, bytes):
        return argument
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    if not argument.flags.c_contiguous:
        raise ValueError("the native library reads and writes contiguous arrays alone")
    if argument.flags.writeable and argument.nbytes:  # in half the time that others take
        return ctypes.byref(ctypes.c_char.from_buffer(argument.data))
    return ctypes.c_void_p(argument.ctypes.data)
