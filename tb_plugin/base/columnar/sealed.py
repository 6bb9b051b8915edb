"""Checksums that find damage: of files, and of JSON that carries its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from isal import isal_zlib

from ..regex import regex

_SEALED = regex(r'\{"crc32": (\d+), "content": (.*)\}', re.DOTALL)


def checksum(file: Path) -> tuple[int, int]:
    """Size and CRC-32 of a file.

    Raises:
        OSError: it cannot be read.
    """
    size = crc = 0
    with file.open("rb") as stream:
        while piece := stream.read(1 << 20):
            crc = isal_zlib.crc32(piece, crc)
            size += len(piece)
    return size, crc


def sealed(content: object) -> str:
    """JSON of a value with its checksum, in ASCII."""
    # The standard library keeps what metadata may hold: NaN, huge integers, lone surrogates.
    body = json.dumps(content)
    return f'{{"crc32": {isal_zlib.crc32(body.encode())}, "content": {body}}}'


def unsealed(text: str) -> Any:  # noqa: ANN401  any JSON
    """The value in a text that ``sealed`` made.

    Raises:
        ValueError: it is not the text that was written.
    """
    match = _SEALED.fullmatch(text)
    if not match or isal_zlib.crc32(match[2].encode()) != int(match[1]):
        raise ValueError("the index is damaged")
    return json.loads(match[2])
