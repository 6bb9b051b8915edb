"""The stored columns of the speed-of-light view: made once per trace, then memory-mapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from zlib import crc32

from ...base.artifact_spec import ArtifactSpec
from ...base.columnar import Writer, load
from ...base.machine import user_folder
from ...trace.model import Trace
from .attribution import speed_of_light
from .devices import FILE as PEAKS_FILE
from .devices import MOST_BYTES
from .model import SpeedColumns
from .models import OWN_FILE

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


def _own() -> str:
    """A part of the key for the user's own files, so that a change of them counts."""
    found = [Path(user_folder("config")) / name for name in (PEAKS_FILE, OWN_FILE)]
    texts = [path.read_bytes()[:MOST_BYTES] for path in found if path.is_file()]
    return f"-{crc32(b'|'.join(texts)):x}" if texts else ""


SPEED: ArtifactSpec[SpeedColumns] = ArtifactSpec(
    f"speed-of-light-6{_own()}", f"{__name__}:make_speed", open_speed
)
