"""Folder and size limit of the cache, and its replacement when the folder cannot be used."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
import time
from pathlib import Path

import platformdirs

from ...base.units import parse_size
from .disk import ABANDONED_SECONDS, ENTRIES, TMP, Cache

DIR_VARIABLE = "KINETOSCOPE_CACHE_DIR"
SIZE_VARIABLE = "KINETOSCOPE_CACHE_SIZE"
MOST_BYTES = 10 << 30
SHARE_OF_FREE = 0.1
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Answers of kinetoscope; may be deleted at any time.\n"
)
_SESSION = "kinetoscope-"


def open_cache(folder: str | None = None, limit_bytes: int | None = None) -> Cache:
    """The cache of this user, ready to use; never fails.

    ``folder`` and ``limit_bytes`` default to the environment (``KINETOSCOPE_CACHE_DIR``,
    ``KINETOSCOPE_CACHE_SIZE``, for example ``20GB``), then to the user's cache folder and the
    smaller of 10 GB and a tenth of the free disk. A folder for this session, in the system's
    temporary folder, is always second: it takes what the first cannot. ``close_session`` removes
    it.
    """
    chosen = (
        folder or os.environ.get(DIR_VARIABLE) or platformdirs.user_cache_dir("kinetoscope", False)
    )
    root = Path(os.path.abspath(os.path.expanduser(chosen)))
    session = _session_root()
    problem = _prepare(root)
    roots = (session,) if problem else (root, session)
    limit = limit_bytes if limit_bytes is not None else _limit(roots[0])
    cache = Cache(roots, limit, problem)
    cache.sweep()
    _sweep_sessions()
    return cache


def close_session(cache: Cache) -> None:
    """Remove the cache of this session."""
    shutil.rmtree(cache.roots[-1], ignore_errors=True)


def _session_root() -> Path:
    # Not made before it is needed; its name cannot be guessed and taken by others.
    return Path(tempfile.gettempdir()) / f"{_SESSION}{os.getpid()}-{secrets.token_hex(8)}"


def _sweep_sessions() -> None:
    """Remove session folders of this user's programs that were killed long ago."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SESSION}*-*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            ours = os.name != "posix" or status.st_uid == os.geteuid()
            old = time.time() - status.st_mtime > ABANDONED_SECONDS
            if ours and old and stat.S_ISDIR(status.st_mode) and not _is_running(folder.name):
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(name: str) -> bool:
    pid = name[len(_SESSION) :].partition("-")[0]
    if os.name != "posix" or not pid.isdecimal():
        return True  # cannot be told
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _prepare(root: Path) -> str:
    """Makes the folders of a cache; returns why it cannot be used, "" when it can."""
    try:
        for part in (root, root / ENTRIES, root / TMP):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = root.stat()
        if os.name == "posix" and status.st_uid != os.geteuid() and os.geteuid() != 0:
            return f"The cache folder {root} belongs to another user."
        if os.name == "posix" and status.st_mode & stat.S_IWOTH:
            return f"The cache folder {root} can be written by everybody."
        probe = root / TMP / f"probe-{secrets.token_hex(8)}"
        probe.write_bytes(b"")
        probe.unlink()
        tag = root / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(_TAG)
    except OSError as error:
        # A full disk may have room again later: only a folder that cannot be written is given up.
        if (
            not isinstance(error, PermissionError)
            and (root / TMP).is_dir()
            and os.access(root, os.W_OK)
        ):
            return ""
        return f"The cache folder {root} cannot be used: {error.strerror or error}."
    return ""


def _limit(root: Path) -> int:
    given = parse_size(os.environ.get(SIZE_VARIABLE, ""))
    if given is not None:
        return given
    while not root.exists() and root.parent != root:
        root = root.parent
    try:
        return min(MOST_BYTES, int(shutil.disk_usage(root).free * SHARE_OF_FREE))
    except OSError:
        return MOST_BYTES
