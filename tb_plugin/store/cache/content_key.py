"""The content key of a trace file: files with equal keys have equal results.

* Up to ``WHOLE`` bytes every byte counts and nothing else does: a copied, moved or touched file
  keeps its key, and any change of the content changes it. A compressed trace of several million
  events is below that.
* Above, the size, the time of the last change and evenly spread samples count (the ends among
  them): reading gigabytes twice would delay the first picture. A copy then has a key of its own,
  and so has a file that was edited in the middle, as long as its time stamp moves.
* The key covers the code that reads and summarizes: an upgrade never uses results of older code.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
from pathlib import Path

from ..discovery.walk import FileVersion

WHOLE = 256 << 20
SAMPLES = 64
SAMPLE_BYTES = 64 << 10
_PIECE = 1 << 20


def digest(path: str, identity: FileVersion, version: str) -> str:
    """32 hex digits for the content of a file, as read by the code of this ``version``.

    Raises:
        OSError: the file cannot be read.
    """
    key = hashlib.blake2b(f"{version}\0{identity.bytes}\0".encode(), digest_size=16)
    with open(path, "rb") as file:
        if identity.bytes <= WHOLE:
            while piece := file.read(_PIECE):
                key.update(piece)
        else:
            key.update(f"{identity.modified_ns}\0".encode())
            for sample in range(SAMPLES):
                file.seek((identity.bytes - SAMPLE_BYTES) * sample // (SAMPLES - 1))
                key.update(file.read(SAMPLE_BYTES))
    return key.hexdigest()


@functools.cache
def code_version(*callables: str) -> str:
    """A key of the code of ``"module:function"`` names: of all source files of their packages.

    Nobody has to remember to raise a number when a formula changes. ``base`` and this package count
    always.
    """
    key = hashlib.blake2b(digest_size=8)
    folders = {Path(__file__).parent, Path(__file__).parent.parent / "base"}
    for name in callables:
        spec = importlib.util.find_spec(name.partition(":")[0])
        if spec is None or spec.origin is None or not os.path.isfile(spec.origin):
            key.update(name.encode())
        else:
            folders.add(Path(spec.origin).parent)
    for folder in sorted(folders):
        for file in sorted(folder.glob("*.*")):
            if file.suffix in {".py", ".so", ".pyd", ".dll", ".dylib", ".toml", ".json"}:
                key.update(file.name.encode() + b"\0")
                key.update(file.read_bytes())
    return key.hexdigest()
