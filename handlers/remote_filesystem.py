"""Calls to folders on other machines: fsspec's filesystems, tried again, and errors in plain words.

fsspec does the transport; it is imported when the first call is made. Not every library gives up on
a server that has stopped to answer. So each call is made in a thread of its own, and left behind
when its time is over: ``CALL_S``, and ``MIB_S`` for each MiB that it carries.
"""

from __future__ import annotations

import errno
import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from .remote_address import Reason, RemoteAddress, RemoteError, redacted

T = TypeVar("T")

PAUSES_S = (0.5, 1.0, 2.0)
"""Before the second, third and fourth attempt; the libraries try again on their own, too."""
LONGEST_S = 60.0
"""No further attempt when a call has taken so long."""

CALL_S = 120.0
"""A listing of 50,000 names, page by page, takes less."""
MIB_S = 1.0

ATOMIC = frozenset({"s3", "gs", "abfs"})
"""A file put there appears whole or not at all, and folders need not be made."""

_HINTS: Mapping[str, str] = {
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a server that is "
    "not Amazon's also AWS_ENDPOINT_URL or S3_ENDPOINT.",
    "gs": "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS.",
    "abfs": "Set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME with "
    "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or run `az login`.",
    "hdfs": "Install a Java runtime and libhdfs, and set JAVA_HOME, HADOOP_HOME and CLASSPATH. "
    "webhdfs:// needs neither.",
}


_PLACES: Mapping[str, str] = {
    "s3": "AWS_ENDPOINT_URL or S3_ENDPOINT say where the server is, if it is not Amazon's.",
    "hdfs": _HINTS["hdfs"],
}
_AGAIN = "Try again. If it stays so, look at the server, and at a proxy on the way."


class _TooLongError(Exception):
    """The time of a call is over."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """Result or exception of `work` if it ends in time; else it continues in its thread.

    Raises:
        _TooLongError: it did not end in time.
    """
    ends: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

    def run() -> None:
        try:
            ends.put((True, work()))
        except BaseException as error:  # noqa: BLE001  # raised by who waits
            ends.put((False, error))

    try:
        threading.Thread(target=run, name="kinetoscope-remote", daemon=True).start()
    except RuntimeError:  # the system gives no more threads, or the program ends
        return work()
    try:
        is_done, result = ends.get(timeout=seconds)
    except Empty:
        raise _TooLongError from None
    if not is_done:
        raise result
    found: T = result
    return found


class RemoteFilesystem:
    """The filesystem of an address. Calls may come from several threads, and after a fork."""

    def __init__(self, address: RemoteAddress, pauses_s: Sequence[float] = PAUSES_S) -> None:
        self.address = address
        self._pauses_s = tuple(pauses_s)
        self._chosen: int | None = None  # of the options: the first that was let in
        self._opened: dict[tuple[int, int], Any] = {}  # by process and options

    def __reduce__(self) -> tuple[type[RemoteFilesystem], tuple[RemoteAddress, tuple[float, ...]]]:
        return RemoteFilesystem, (self.address, self._pauses_s)

    @property
    def root(self) -> str:
        """The path of the address in its filesystem."""
        absent = self.address.problem()
        if absent is not None:
            raise absent
        import fsspec

        # By the class: no call is made that would tell which of the options is let in.
        kind = fsspec.get_filesystem_class(self.address.protocol)
        text = str(kind._strip_protocol(self.address.url))
        return text.rstrip("/") or text

    def call(self, action: Callable[[Any], T], *, once: bool = False, carries: int = 0) -> T:
        """Run an action with the filesystem; retry after a pause if it fails.

        ``carries`` are the bytes that it transfers. An action that takes too long is not tried
        again: it still runs, in a thread for which nobody waits.

        Raises:
            RemoteError: it failed for good.
            OSError: this machine's disk is the cause.
        """
        if self._chosen is not None:
            return self._repeated(action, self._chosen, once=once, carries=carries)
        errors: list[RemoteError] = []
        for number, options in enumerate(self.address.options):
            # A private container of Azure does not exist for who has no name.
            passes = {"denied", "missing"} if options.get("anon") else {"denied"}
            try:
                done = self._repeated(action, number, once=once, carries=carries)
            except RemoteError as error:
                if error.reason not in passes:
                    raise
                errors.append(error)
            else:
                self._chosen = number
                return done
        # Of the attempts with and without a name the one with a name has the last word.
        raise errors[-1 if self.address.options[0].get("anon") else 0]

    def _repeated(self, action: Callable[[Any], T], number: int, *, once: bool, carries: int) -> T:
        limit_s = CALL_S + MIB_S * carries / (1 << 20)
        began = time.monotonic()
        for pause in (*(() if once else self._pauses_s), None):
            try:
                return within(limit_s, lambda: action(self._filesystem(number)))
            except _TooLongError:
                raise RemoteError(
                    f"{self.address.shown}: no answer within {limit_s:.0f} s",
                    "unreachable",
                    _PLACES.get(self.address.protocol, _AGAIN),
                ) from None
            except Exception as error:  # noqa: BLE001  the border to the libraries
                failure = self._failure(error)
                if (
                    pause is None
                    or not isinstance(failure, RemoteError)
                    or failure.reason != "unreachable"
                    or time.monotonic() - began > LONGEST_S
                ):
                    # Not `from error`: the texts of its chain may hold signatures.
                    raise failure from None
            time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  # spreads the load
        raise AssertionError("the last attempt returns or raises")

    def _filesystem(self, number: int) -> Any:  # noqa: ANN401  # fsspec carries no types
        absent = self.address.problem()
        if absent is not None:
            raise absent
        # Without a lock, which would stay held in a child that was forked meanwhile.
        key = os.getpid(), number
        if key not in self._opened:
            import fsspec

            opened = fsspec.filesystem(
                self.address.protocol,
                **_of_url(fsspec, self.address),
                **self.address.options[number],
                use_listings_cache=False,
            )
            self._opened.setdefault(key, opened)
        return self._opened[key]

    def _failure(self, error: Exception) -> Exception:
        """The error to report for a library's error."""
        if isinstance(error, RemoteError):
            return error
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return error
        reason = _reason(error)
        text = redacted(str(error)).strip().partition("\n")[0][:300] or type(error).__name__
        shown = self.address.shown
        if _is_damaged(error):
            return RemoteError(
                f"{shown}: the answer is cut off or damaged: {text}", "unreachable", _AGAIN
            )
        hints = _PLACES if reason == "unreachable" else _HINTS
        hint = hints.get(self.address.protocol, "")
        said = {
            "missing": "there is no such folder or file",
            "exists": "it exists already",
            "denied": f"access was denied: {text}",
            "refused": text,
            "unreachable": f"it cannot be reached: {text}",
        }[reason]
        return RemoteError(
            f"{shown}: {said}", reason, "" if reason in {"missing", "exists"} else hint
        )


def _of_url(fsspec: Any, address: RemoteAddress) -> dict[str, Any]:  # noqa: ANN401
    """The options that an address itself holds, such as host and port."""
    found = fsspec.get_filesystem_class(address.protocol)._get_kwargs_from_urls(address.url)
    return {name: value for name, value in found.items() if name not in address.options[0]}


_DENIED = frozenset(
    (
        *("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "InvalidConfigError"),
        *("TokenRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError"),  # Amazon's
        *("ClientAuthenticationError", "CredentialUnavailableError"),  # Azure's
        *("DefaultCredentialsError", "RefreshError"),  # Google's
    )
)
_BY_STATUS: Mapping[int, Reason] = {
    400: "refused",
    401: "denied",
    403: "denied",
    404: "missing",
    405: "refused",
    409: "denied",  # Azure: the account allows no public access
    410: "missing",
    412: "exists",
    501: "refused",
}


def _reason(error: Exception) -> Reason:
    """The kind of an error of any library; unknown errors count as temporary."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, FileNotFoundError) or "ResourceNotFoundError" in names:
        return "missing"
    if isinstance(error, FileExistsError) or "ResourceExistsError" in names:
        return "exists"
    if isinstance(error, PermissionError) or names & _DENIED:
        return "denied"
    status = _status(error)
    if status is not None:
        return _BY_STATUS.get(status, "unreachable")
    kinds = (NotImplementedError, ValueError, TypeError, ImportError, AttributeError, LookupError)
    return "refused" if isinstance(error, kinds) else "unreachable"


_DAMAGED = frozenset(
    (
        *("ResponseParserError", "IncompleteReadError", "IncompleteRead", "ParseError"),
        *("ClientPayloadError", "ContentTypeError", "ChunkedEncodingError", "JSONDecodeError"),
    )
)


def _is_damaged(error: Exception) -> bool:
    """True if the server sent an incomplete answer, and did not refuse."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & _DAMAGED) or isinstance(error, CutOffError)


class CutOffError(ConnectionError):
    """Fewer bytes came than were announced."""


def _status(error: Exception) -> int | None:
    """The HTTP status behind an error."""
    response = getattr(error, "response", None)
    values = [getattr(error, name, None) for name in ("status_code", "code", "status")]
    if isinstance(response, Mapping):
        values.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    else:
        values.append(getattr(response, "status_code", None))
    for value in values:
        if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()):
            return int(value)
    return None
