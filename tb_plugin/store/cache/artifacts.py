"""How is an artifact made, sealed, and known to be whole? Columns of their own beside a trace's.

    <root>/entries/<digest>/artifacts/<name>-<variant>/
                                             seal.json    version of the code, sizes, checksums

The seal has the size of each file, and a checksum of its first and last 64 KiB: opening a gigabyte
must not read it. After a change of the code that made an artifact, which the seal names too, it is
made anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isal import isal_zlib
from msgspec import Struct

from ...base.artifact_spec import given
from . import content_key
from .disk import entry, move_folder, remove, workspace

if TYPE_CHECKING:
    from ...trace.model import Trace

ARTIFACTS, SEAL = "artifacts", "seal.json"
ENDS, MOST_SEAL_BYTES = 64 << 10, 16 << 20

OnShare = Callable[[float], None]
"""Called with the share of an artifact that is made, 0 … 1."""


class Making(Struct, frozen=True):
    """An artifact to make of a trace: some of its variants, in this order."""

    function: Callable[..., None]  # (trace, folder, on_share[, variant])
    version: str  # of the code behind it
    name: str
    variants: Sequence[str]
    argument: str = ""


class Target(Struct, frozen=True):
    """Destination of an artifact: root, content key, temporary folder."""

    root: Path
    digest: str
    token: str


def make_missing(trace: Trace, making: Making, target: Target, on_share: OnShare) -> None:
    """Make and publish the missing variants; ``on_share`` gets the share of the whole.

    Raises:
        OSError: no room, or no permission.
    """
    root, version = target.root, making.version
    missing = [
        variant
        for variant in making.variants
        if not is_whole(artifact_folder(root, target.digest, making.name, variant), version)
    ]
    for done, variant in enumerate(missing):

        def on_part(share: float, done: int = done) -> None:
            on_share((done + min(max(share, 0.0), 1.0)) / len(missing))

        folder = workspace(root, target.token) / folder_name(making.name, variant)
        folder.mkdir(mode=0o700)
        making.function(trace, folder, on_part, *given(variant, making.argument))
        seal(folder, version)
        publish_artifact(folder, root, target.digest, version)


def needed_variants(variants: tuple[str, ...], variant: str) -> tuple[str, ...]:
    """The variants required to open one, in the order in which they are made."""
    return tuple(dict.fromkeys((variants[0], variant)))


def version_of(make: str) -> str:
    """Version of an artifact: a key of the code that makes it."""
    return content_key.code_version(make)


def artifact_folder(root: Path, digest: str, name: str, variant: str) -> Path:
    """The folder of a variant of an artifact."""
    return entry(root, digest) / ARTIFACTS / folder_name(name, variant)


def folder_name(name: str, variant: str) -> str:
    """The name of the folder of a variant."""
    return f"{name}-{variant}" if variant else name


def seal(folder: Path, version: str) -> None:
    """Closes a folder that is complete.

    Raises:
        OSError: no room, or no permission.
    """
    from ...base.columnar.sealed import sealed

    files = {file.name: _ends(file) for file in sorted(folder.iterdir())}
    text = sealed({"version": version, "files": files})
    (folder / SEAL).write_text(text, encoding="ascii")


def is_whole(folder: Path, version: str) -> bool:
    """True if a folder is there as this version of the code made it."""
    from ...base.columnar.sealed import unsealed

    try:
        told = unsealed(content_key.read_regular(folder / SEAL, MOST_SEAL_BYTES).decode("ascii"))
        if told["version"] != version:
            return False
        return all(_ends(folder / name) == ends for name, ends in told["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def publish_artifact(folder: Path, root: Path, digest: str, version: str) -> None:
    """Move a sealed folder, which has the name of its place, to its place.

    Raises:
        OSError: no room, or no permission.
    """
    target = entry(root, digest) / ARTIFACTS / folder.name
    if is_whole(target, version):
        content_key.delete(folder)  # another process was first
        return
    remove(target, root)
    entry(root, digest).mkdir(mode=0o700, exist_ok=True)
    move_folder(folder, target)


def _ends(file: Path) -> list[int]:
    """Size, and the checksum of the ends."""
    with content_key.open_regular(file) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        crc = isal_zlib.crc32(stream.read(ENDS))
        stream.seek(max(size - ENDS, 0))
        return [size, isal_zlib.crc32(stream.read(ENDS), crc)]
