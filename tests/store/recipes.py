"""An artifact whose variants behave as they are called.

"rows" says how many rows the trace has; "twice" reads that of the variant beside it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from kinetoscope.base.artifact_spec import ArtifactSpec
from kinetoscope.base.errors import UnavailableError
from kinetoscope.trace.model import Trace

FILE = "rows.txt"
VARIANTS = ("rows", "twice", "kill", "bug", "unavailable", "slow", "no room")


def make(trace: Trace, folder: Path, on_share: Callable[[float], None], variant: str = "") -> None:
    """Writes the number of rows, or does what the variant says."""
    on_share(0.5)
    if variant == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif variant == "bug":
        raise ZeroDivisionError("a bug")
    elif variant == "unavailable":
        raise UnavailableError("No host events.", hint="Record the host.")
    elif variant == "no room":
        raise OSError(28, "No space left on device")
    elif variant == "slow":
        for _ in range(4):
            time.sleep(0.15)
            on_share(0.5)
    (folder / FILE).write_text(str(len(trace.host)))


def open_(folder: Path) -> int:
    """The number of rows; of "twice" both numbers together."""
    if folder.name == "rows-twice":
        return open_(folder.with_name("rows-rows")) + int((folder / FILE).read_text())
    return int((folder / FILE).read_text())


class Rows(ArtifactSpec[int], frozen=True):
    """How it is made and opened."""

    name: str = "rows"
    make: str = "tests.store.recipes:make"
    open: Callable[[Path], int] = open_
    variants: tuple[str, ...] = VARIANTS
