"""The collected traces: their names, and one of them read."""

from __future__ import annotations

import pytest

from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read
from tests.conftest import TRACES

FILES = (
    sorted(
        path.relative_to(TRACES).as_posix()
        for path in TRACES.rglob("*")
        if path.is_file() and path.name.endswith((".json", ".gz"))
    )
    if TRACES.is_dir()
    else []
)
"""Names of what may be a trace, below ``TRACES``; none where the collection is absent."""


def opened(name: str) -> Trace:
    """A trace of the collection; the test ends, passed by, where the file is none."""
    try:
        trace = read(TRACES / name)
    except KinetoscopeError as error:
        pytest.skip(f"no trace, as it says: {error.message}")
    if trace.is_memory_alone:
        pytest.skip("it tells of memory alone")
    return trace
