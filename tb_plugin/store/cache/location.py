"""Which folder is the cache in, may it be used, and how large may it grow?"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

from msgspec.structs import replace

from ...base.machine import free_disk, temporary_folder, user_folder
from ...base.units import parse_size
from . import content_key
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
    """The cache of this user, ready to use, and behind it a folder for this session; never fails.

    The latter, in the system's temporary folder, takes what the first cannot. ``close_session``
    removes it. For the rest see ``open_user_cache``.
    """
    cache = open_user_cache(folder, limit_bytes)
    session = _session_root()
    if not cache.roots and limit_bytes is None:
        cache = replace(cache, limit_bytes=_limit(session))
    _sweep_sessions()
    return replace(cache, roots=(*cache.roots, session))


def open_user_cache(folder: str | None = None, limit_bytes: int | None = None) -> Cache:
    """The cache of this user alone, for a program that soon ends; without a root if it is unusable.

    ``folder`` and ``limit_bytes`` default to the environment (``KINETOSCOPE_CACHE_DIR``,
    ``KINETOSCOPE_CACHE_SIZE``, for example ``20GB``), then to the user's cache folder and the
    smaller of 10 GB and a tenth of the free disk.
    """
    chosen = folder or os.environ.get(DIR_VARIABLE) or user_folder("cache")
    root = Path(os.path.abspath(os.path.expanduser(chosen)))
    problem = _prepare(root)
    limit = _limit(root) if limit_bytes is None else limit_bytes
    cache = Cache(() if problem else (root,), limit, problem)
    cache.sweep()
    return cache


def close_session(cache: Cache) -> None:
    """Remove the cache of this session."""
    content_key.delete(cache.roots[-1])


def _session_root() -> Path:
    # Not made before it is needed; its name cannot be guessed and taken by others.
    return Path(temporary_folder()) / f"{_SESSION}{os.getpid()}-{os.urandom(8).hex()}"


def _sweep_sessions() -> None:
    """Remove session folders of this user's programs that were killed long ago."""
    for folder in Path(temporary_folder()).glob(f"{_SESSION}*-*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            ours = os.name != "posix" or status.st_uid == os.geteuid()
            old = time.time() - status.st_mtime > ABANDONED_SECONDS
            if ours and old and stat.S_ISDIR(status.st_mode) and not _is_running(folder.name):
                content_key.delete(folder)


def _is_running(name: str) -> bool:
    pid = name[len(_SESSION) :].partition("-")[0]
    if os.name != "posix" or not pid.isdecimal():
        return True  # cannot be told
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
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
        probe = root / TMP / f"probe-{os.urandom(8).hex()}"
        # Without a buffer: where there is no memory for one, the file would stay.
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
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
        return min(MOST_BYTES, int(free_disk(root) * SHARE_OF_FREE))
    except OSError:
        return MOST_BYTES
