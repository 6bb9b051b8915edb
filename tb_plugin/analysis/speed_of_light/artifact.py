"""The stored columns of the speed-of-light view: made once per trace, then memory-mapped."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

from ...base.artifact_spec import ArtifactSpec, opens, stores
from ...base.machine import user_folder
from .attribution import places_of, speed_of_light
from .devices import FILE as PEAKS_FILE
from .devices import MOST_BYTES
from .model import SpeedColumns, SpeedPlaces
from .models import OWN_FILE


def _own() -> str:
    """A part of the key for the user's own files, so that a change of them counts."""
    found = [Path(user_folder("config")) / name for name in (PEAKS_FILE, OWN_FILE)]
    texts = [path.read_bytes()[:MOST_BYTES] for path in found if path.is_file()]
    return f"-{crc32(b'|'.join(texts)):x}" if texts else ""


make_speed = stores(speed_of_light, "speed_of_light")
SPEED = ArtifactSpec(
    f"speed-of-light-7{_own()}", f"{__name__}:make_speed", opens(SpeedColumns, "speed_of_light")
)
make_places = stores(places_of, "places")
PLACES = ArtifactSpec(
    f"speed-places-1{_own()}", f"{__name__}:make_places", opens(SpeedPlaces, "places")
)
