"""Call stacks: paths of Python frames, and what a frame's name says of its place."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from .model import Stacks

I32 = NDArray[np.int32]

_PLACE = re.compile(r"(?P<file>[^\n]+?)\((?P<line>\d+)\): (?P<function>.*)", re.DOTALL)


def frame_place(name: str) -> tuple[str, int]:
    """File and line of a frame such as ``train.py(12): step``; ``("", 0)`` where it tells none."""
    match = _PLACE.fullmatch(name)
    return (match["file"], int(match["line"])) if match and match["file"] != "<string>" else ("", 0)


def innermost_frames(stacks: Stacks, stack: I32, depth: int) -> I32:
    """For each stack one that stands for all with the same ``depth`` innermost frames.

    A path is told apart by its frames from the inside: the first, then the first two, and so on.
    So the classes of ``n`` frames refine those of ``n − 1``.
    """
    count = len(stacks)
    klass = np.zeros(count, np.int64)
    at = np.arange(count)
    for _ in range(depth):
        frame = np.where(at >= 0, stacks.frame[at], -1)
        klass = _ranked(klass << 32 | (frame.astype(np.int64) + 1))
        at = np.where(at >= 0, stacks.parent[at], -1)
        if (at < 0).all():
            break
    first = np.full(int(klass.max(initial=-1)) + 1, -1, np.int32)
    first[klass[::-1]] = np.arange(count - 1, -1, -1, dtype=np.int32)
    result = np.full(len(stack), -1, np.int32)
    known = stack >= 0
    result[known] = first[klass[stack[known]]]
    return result


def _ranked(key: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def frames_of(stacks: Stacks, stack: int) -> list[int]:
    """Codes of the frames of a stack, innermost first."""
    codes = []
    while stack >= 0:
        codes.append(int(stacks.frame[stack]))
        stack = int(stacks.parent[stack])
    return codes
