"""The stored columns of the speed-of-light view: made once per trace, then memory-mapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...base.artifact_spec import ArtifactSpec
from ...base.columnar import Writer, load
from ...trace.model import Trace
from .attribution import speed_of_light
from .model import SpeedColumns

_STEM = "speed_of_light"


def make_speed(trace: Trace, folder: Path, on_share: Callable[[float], None]) -> None:
    """Fills an empty folder; tells which share of the work is done.

    Raises:
        OSError: no room, or no permission.
    """
    columns = speed_of_light(trace)
    on_share(0.9)
    with Writer(folder) as writer:
        writer.close(columns, _STEM)


def open_speed(folder: Path) -> SpeedColumns:
    """The columns again, mapped. Raises DamagedError."""
    return load(SpeedColumns, folder, _STEM)


SPEED: ArtifactSpec[SpeedColumns] = ArtifactSpec(
    "speed-of-light-2", f"{__name__}:make_speed", open_speed
)
