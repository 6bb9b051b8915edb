"""Files of other machines for one command: which file an address names, and the copy of it here."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ..base.errors import UnavailableError
from ..handlers.remote_address import RemoteError
from ..store.cache.location import close_session, open_cache
from ..store.contract import ErrorInfo
from ..store.discovery.walk import resolve
from ..store.filesystems.copies import AT_ONCE, Copies
from ..store.filesystems.listing import RemoteObject, as_error, named_file
from ..trace.raw import OnProgress, Progress

COPYING = "copying"


def copies_here() -> Copies:
    """Copies of remote files; those that the cache cannot keep go when the program ends."""
    cache = open_cache()
    if cache.problem:
        atexit.register(close_session, cache)
    return Copies(cache)


def fetched(origin: RemoteObject, on_progress: OnProgress | None = None) -> str:
    """The path of the copy of a file, made when it is missing.

    Raises:
        KinetoscopeError: the file cannot be fetched.
        OSError: this machine has no room for it.
    """

    def on_bytes(done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(Progress(COPYING, done, total, 0))

    try:
        return str(copies_here().bring(origin, on_bytes))
    except RemoteError as error:
        raise as_error(error) from None


def remote_file(address: str) -> RemoteObject | None:
    """The file that an address of another machine names; None for a folder.

    Raises:
        UnavailableError: it needs a library that is not installed.
        KinetoscopeError: there is neither, or it cannot be told; says why.
    """
    (logdir,) = resolve(address, None)
    if logdir.far is None:
        problem = logdir.problem or ErrorInfo("remote", f"{address} cannot be read")
        raise UnavailableError(problem.message, hint=problem.hint)
    try:
        return named_file(logdir.far)
    except RemoteError as error:
        raise as_error(error) from None


def fetched_together(every: Sequence[RemoteObject]) -> dict[RemoteObject, str | OSError]:
    """The copies of several files, a few of which are fetched at the same time; or the errors."""
    copies = copies_here()

    def fetch(origin: RemoteObject) -> str | OSError:
        try:
            return str(copies.bring(origin))
        except OSError as error:
            return error

    with ThreadPoolExecutor(AT_ONCE, "kinetoscope-copy") as pool:
        return dict(zip(every, pool.map(fetch, every), strict=True))
