"""The cache beside traces: which folder ``.kinetoscope`` of a logdir may be read?

Whoever can write there decides what every view shows. So such a folder is used only if it and all
folders above it belong to this user or to root, and nobody else can put anything into their places.
Where the system tells neither owner nor mode, none is used.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from ..discovery.walk import shown

log = logging.getLogger(__name__)

BESIDE = ".kinetoscope"
HIGHEST = 8  # folders above a file in which it is looked for


def folders_beside(path: str, logdirs: Sequence[Path] = ()) -> tuple[Path, ...]:
    """The nearest ``.kinetoscope`` above a file, and those of some logdirs; only trusted ones."""
    above = (folder / BESIDE for folder in list(Path(os.path.abspath(path)).parents)[:HIGHEST])
    nearest = next((folder for folder in above if folder.is_dir()), None)
    found = dict.fromkeys((nearest, *logdirs) if nearest else logdirs)
    return tuple(real for real in map(_trusted, found) if real is not None)


def folder_of(logdir: str) -> Path | None:
    """The ``.kinetoscope`` of a logdir; None if it has none."""
    folder = Path(logdir) / BESIDE
    return folder if folder.is_dir() else None


def _trusted(folder: Path) -> Path | None:
    """The folder without links; None if other users can write to it."""
    try:
        real = folder.resolve(strict=True)
        problem = why_untrusted(real)
    except OSError:  # gone, or not ours to look at
        return None
    if problem:
        _say_once(folder, problem)
    return None if problem else real


@functools.cache
def _say_once(folder: Path, problem: str) -> None:
    log.warning("%s is not used: %s", shown(str(folder)), problem)


def why_untrusted(folder: Path) -> str:
    """Why the folder is not trusted; "" if only this user and root can write to it.

    Links must have been followed before.

    Raises:
        OSError: it is not there.
    """
    if os.name != "posix":
        return "this system does not tell who may write to it."
    for place in (folder, *folder.parents):
        status = place.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return f"{shown(str(place))} is no folder."
        if status.st_uid not in {0, os.geteuid()}:
            return f"{shown(str(place))} belongs to another user."
        # In /tmp others may add entries, but not replace ours, whose owner is checked, too.
        is_sticky = status.st_mode & stat.S_ISVTX and place != folder
        if _is_open(status) and not is_sticky:
            return f"{shown(str(place))} can be written by others."
    return ""


def _is_open(status: os.stat_result) -> bool:
    """True if another user than the owner can write."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private(status.st_gid)


@functools.cache
def _is_private(group: int) -> bool:
    """True for root's group, and for a group that has this user alone, as many systems make one."""
    if group == 0:
        return True
    import grp
    import pwd

    with contextlib.suppress(KeyError):
        own, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
        alone = own.pw_gid == group and found.gr_name == own.pw_name
        return alone and set(found.gr_mem) <= {own.pw_name}
    return False


def open_to_readers(root: Path, made: Path) -> None:
    """Give a cache entry the read permissions of its parent folder.

    Raises:
        OSError: it is not ours to change.
    """
    mode = root.parent.stat().st_mode & 0o755 | 0o700
    for folder in (root, made.parent, *root.glob("*/")):
        if folder.is_dir():
            folder.chmod(mode)
    for place in (made, *made.rglob("*")):
        place.chmod(mode if place.is_dir() else mode & 0o644)
