"""Answers that are kept beside the columns of a recording: asked again, they are there at once.

    <root>/entries/<digest>/artifacts/answer-<key>/answer.msgpack

The key stands for the question, for the code of the whole package, and for the user's settings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ..base.artifact_spec import ArtifactSpec
from ..base.machine import user_folder
from ..store.cache import artifacts, content_key
from ..store.cache.disk import workspace

A = TypeVar("A", bound=Struct)

LEAST_BYTES, MOST_BYTES = 1 << 20, 4 << 20
"""Of a smaller file an answer is made as soon as it is found; a larger answer is not kept."""
_FILE = "answer.msgpack"


def spec_of(question: str, kind: type[A], notes: Path | None) -> ArtifactSpec[A]:
    """Where the answer to a question is kept, and how it is opened.

    Args:
        question: all that the answer depends on beside the file, the code and the settings.
        kind: of the answer.
        notes: the folder of the cache that knows the key of the code.
    """

    def answer(folder: Path) -> A:
        text = content_key.read_regular(folder / _FILE, MOST_BYTES)
        try:
            return msgspec.msgpack.decode(text, type=kind)
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from error

    code = content_key.code_version(f"{__name__.partition('.')[0]}:", root=notes)
    told = repr((question, kind.__qualname__, code, *_settings()))
    key = blake2b(told.encode(errors="surrogateescape"), digest_size=12).hexdigest()
    return ArtifactSpec(f"answer-{key}", f"{__name__}:spec_of", answer, is_mapped=False)


def _settings() -> Iterator[tuple[str, str, int, int]]:
    """The user's own files and variables: some change models, thresholds or names."""
    for name, value in sorted(os.environ.items()):
        if name.startswith("KINETOSCOPE_"):
            yield name, value, *_state(value)
    folder = user_folder("config")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        yield folder, name, *_state(os.path.join(folder, name))


def _state(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0, 0
    return found.st_size, found.st_mtime_ns


def packed(answer: A, kind: type[A]) -> bytes | None:
    """An answer as it is kept; None for one that is too large, or would come back as another."""
    try:
        text = msgspec.msgpack.encode(answer)
        again = msgspec.msgpack.encode(msgspec.msgpack.decode(text, type=kind))
    except (TypeError, ValueError, msgspec.MsgspecError):
        return None
    return text if again == text and len(text) <= MOST_BYTES else None


def storing(text: bytes, spec: ArtifactSpec[A], digest: str) -> Callable[[Path, str], None]:
    """A function that puts a packed answer into a cache, by its root and a token."""

    def store(root: Path, token: str) -> None:
        version = artifacts.version_of(spec.make)
        folder = workspace(root, token) / spec.name
        folder.mkdir(mode=0o700)
        (folder / _FILE).write_bytes(text)
        artifacts.seal(folder, version)
        artifacts.publish_artifact(folder, root, digest, version)

    return store
