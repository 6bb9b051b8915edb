"""Folders on other machines, such as `s3://bucket/logs`: how an address is read, and reached.

Recording and viewing read an address in the same way, so that what one writes the other finds.
fsspec does the transport; it is imported when the first call is made. What its libraries do not
know by themselves of the variables people have set is added here:

| address | library | extra |
|---|---|---|
| `s3://bucket/path` (`s3a`, `s3n`) | s3fs | `kinetoscope[s3]` |
| `gs://bucket/path` (`gcs`) | gcsfs | `kinetoscope[gcs]` |
| `az://container/path` (`abfs`, `abfss`), `abfs://container@account.dfs.core.windows.net/path`, `https://account.blob.core.windows.net/container/path` | adlfs | `kinetoscope[azure]` |
| `hdfs://host:port/path`, `webhdfs://…` | pyarrow, requests | `kinetoscope[hdfs]` |
| any other that fsspec knows | | |

Nothing that lets somebody in (a key, a password, the signature in an address) is in a text that is
made here: `shown` and the messages of `RemoteError` may be logged.
"""  # noqa: E501  # a table

from __future__ import annotations

import errno
import importlib.util
import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

T = TypeVar("T")
Reason = Literal["missing", "exists", "denied", "extra", "refused", "unreachable"]

PAUSES_S = (0.5, 1.0, 2.0)
"""Before the second, third and fourth attempt; the libraries try again on their own, too."""
LONGEST_S = 60.0
"""No further attempt when a call has taken so long."""

# Two letters at least: `C:/logs` is a drive. One slash is enough: pathlib eats the other.
_SCHEME = re.compile(r"(?P<scheme>[a-zA-Z][0-9a-zA-Z.+-]+)://?(?P<rest>.*)", re.DOTALL)
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"} | dict.fromkeys(
    ("az", "abfs", "abfss", "azure", "wasb", "wasbs"), "abfs"
)
_ACCOUNT = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)\.(?P<kind>blob|dfs)\.(?P<cloud>core\.[a-z.]+)")
_CLOUD = "core.windows.net"

# Scheme → what is imported, and the extra of kinetoscope that brings it.
_NEEDS: Mapping[str, tuple[str, str]] = {
    "s3": ("s3fs", "s3"),
    "gs": ("gcsfs", "gcs"),
    "abfs": ("adlfs", "azure"),
    "hdfs": ("pyarrow", "hdfs"),
    "webhdfs": ("requests", "hdfs"),
    "http": ("aiohttp", ""),
    "https": ("aiohttp", ""),
}
_HINTS: Mapping[str, str] = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, say who you are; "
    "AWS_ENDPOINT_URL or S3_ENDPOINT where the server is, if it is not Amazon's.",
    "gs": "`gcloud auth application-default login`, or GOOGLE_APPLICATION_CREDENTIALS, says who "
    "you are.",
    "abfs": "AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME with "
    "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or `az login`, says who you are.",
    "hdfs": "It needs a Java runtime and libhdfs: JAVA_HOME, HADOOP_HOME and CLASSPATH say where. "
    "webhdfs:// needs neither.",
}
_AZURE_KEYS = (
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_CLIENT_ID",
)
ATOMIC = frozenset({"s3", "gs", "abfs"})
"""A file put there appears whole or not at all, and folders need not be made."""


class RemoteError(OSError):
    """What went wrong on another machine, or on the way there; tells no secret."""

    def __init__(self, message: str, reason: Reason, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.reason, self.hint = message, reason, hint

    def __reduce__(self) -> tuple[type[RemoteError], tuple[str, Reason, str]]:
        return RemoteError, (self.message, self.reason, self.hint)


@dataclass(frozen=True)
class RemoteAddress:
    """One folder or file on another machine."""

    protocol: str  # as fsspec has it
    url: str  # as fsspec wants it
    shown: str  # as typed, but for secrets
    # Tried in this order until one is let in; the last word has the first or the last of them.
    options: tuple[Mapping[str, Any], ...] = field(default=({},), repr=False, hash=False)

    def problem(self) -> RemoteError | None:
        """Why nothing there can be reached from this installation; None if it may be."""
        needs, extra = _NEEDS.get(self.protocol, ("", ""))
        absent = [one for one in ("fsspec", needs) if one and not _is_installed(one)]
        if not absent:
            return None if needs else self._unknown()
        names = " and ".join(absent)
        wanted = f"'kinetoscope[{extra}]'" if extra else " ".join(absent)
        return RemoteError(
            f"{self.shown}: {names} is not installed, which reads and writes {self.protocol}://",
            "extra",
            f"pip install {wanted}",
        )

    def _unknown(self) -> RemoteError | None:
        """Why a protocol that is not in our table cannot be used."""
        import fsspec

        try:
            fsspec.get_filesystem_class(self.protocol)
        except (ImportError, ValueError) as error:
            return RemoteError(
                f"{self.shown}: {redacted(str(error)).strip().rstrip('.')}",
                "extra",
                "s3://, gs://, az:// and hdfs:// are known, and what fsspec has a library for.",
            )
        return None


def is_remote(path: str) -> bool:
    """True for an address of another machine, False for a path of this one."""
    return _split(path) is not None


def _split(text: str) -> tuple[str, str] | None:
    """Scheme and rest of an address; None for a path."""
    match = _SCHEME.fullmatch(text.strip())
    if match is None:
        return None
    scheme = match["scheme"].lower()
    return None if scheme in {"file", "local"} else (scheme, match["rest"])


def parse(text: str) -> RemoteAddress:
    """The address that a text means.

    Raises:
        ValueError: it is a path of this machine.
    """
    parts = _split(text)
    if parts is None:
        raise ValueError(f"{text} is no address of another machine")
    scheme, rest = parts
    protocol = _SAME.get(scheme, scheme)
    shown = _shown(f"{scheme}://{rest}")
    azure = _azure(scheme, rest)
    if azure is not None:
        container, options = azure
        return RemoteAddress("abfs", f"abfs://{container}", shown, options)
    rest = rest.rstrip("/") if protocol not in {"http", "https"} else rest
    return RemoteAddress(protocol, f"{protocol}://{rest}", shown, _options(protocol))


def _shown(url: str) -> str:
    """Without password and without query, in which signatures travel."""
    url = re.sub(r"^([^:]+://[^/:@]*):[^/@]*@", r"\1@", url)
    if url.startswith(("http://", "https://", "az://", "abfs")):
        url = url.partition("?")[0]
    return url.rstrip("/")


def _options(protocol: str) -> tuple[Mapping[str, Any], ...]:
    """What the library of a protocol is told, beside the variables that it reads itself."""
    if protocol == "s3":
        options = _s3()
        return options, {**options, "anon": True}  # a public bucket, when nobody said who we are
    if protocol == "gs" and os.environ.get("STORAGE_EMULATOR_HOST"):
        return ({"token": "anon"},)
    return ({},)


def _s3() -> dict[str, Any]:
    env = os.environ
    options: dict[str, Any] = {}
    client: dict[str, Any] = {}
    endpoint = env.get("S3_ENDPOINT", "").strip()
    if endpoint and not (env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL")):
        if "://" not in endpoint:
            secure = env.get("S3_USE_HTTPS", "1").strip().lower() not in {"0", "false"}
            endpoint = f"{'https' if secure else 'http'}://{endpoint}"
        options["endpoint_url"] = endpoint
    if env.get("S3_VERIFY_SSL", "1").strip().lower() in {"0", "false"}:
        client["verify"] = False
    region = env.get("AWS_REGION") or env.get("S3_REGION")
    if region and not env.get("AWS_DEFAULT_REGION"):
        client["region_name"] = region
    return {**options, "client_kwargs": client} if client else options


def _azure(scheme: str, rest: str) -> tuple[str, tuple[Mapping[str, Any], ...]] | None:
    """Container with path, and options; None for an address of something else."""
    host = urlsplit(f"x://{rest}")
    authority = (host.hostname or "").lower()
    match = _ACCOUNT.fullmatch(authority)
    if scheme in {"http", "https"}:
        if match is None:
            return None
        place, query = host.path, host.query
    elif _SAME.get(scheme) == "abfs":
        before, at, _ = host.netloc.partition("@")
        place = f"{before}{host.path}" if at else f"{host.netloc}{host.path}"
        query = host.query
        match = match if at else None
    else:
        return None
    place = unquote(place).strip("/") if scheme.startswith("http") else place.strip("/")
    return place, _azure_options(match, query)


def _azure_options(match: re.Match[str] | None, query: str) -> tuple[Mapping[str, Any], ...]:
    env = os.environ
    mine = _account_of(env.get("AZURE_STORAGE_CONNECTION_STRING", "")) or (
        env.get("AZURE_STORAGE_ACCOUNT_NAME") or env.get("AZURE_STORAGE_ACCOUNT") or ""
    )
    name = match["name"] if match else ""
    is_signed = "sig" in parse_qs(query)
    if match and (is_signed or (mine and name != mine)):
        # Said outright, or the library would use the keys of the other account.
        text = f"BlobEndpoint=https://{name}.blob.{match['cloud']};"
        return ({"connection_string": text + f"SharedAccessSignature={query}" * is_signed},)
    if env.get("AZURE_STORAGE_CONNECTION_STRING"):
        return ({},)
    options: dict[str, Any] = {}
    if name or mine:
        options["account_name"] = name or mine
    if match and match["cloud"] != _CLOUD:
        options["account_host"] = f"{name}.blob.{match['cloud']}"
    key = env.get("AZURE_STORAGE_KEY")
    if key and not env.get("AZURE_STORAGE_ACCOUNT_KEY"):
        options["account_key"] = key
    if any(env.get(one) for one in _AZURE_KEYS):
        return (options,)
    return {**options, "anon": True}, options  # a public container first: it costs one request


def _account_of(connection_string: str) -> str:
    found = re.search(r"(?:^|;)\s*AccountName=([^;]+)", connection_string, re.IGNORECASE)
    return found[1].strip() if found else ""


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


# --- calls --------------------------------------------------------------------------------------


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

    def call(self, action: Callable[[Any], T], *, once: bool = False) -> T:
        """What an action does with the filesystem; tried again after a while when it failed.

        Raises:
            RemoteError: it failed for good.
            OSError: this machine's disk is the cause.
        """
        if self._chosen is not None:
            return self._repeated(action, self._chosen, once=once)
        errors: list[RemoteError] = []
        for number, options in enumerate(self.address.options):
            # A private container of Azure does not exist for who has no name.
            passes = {"denied", "missing"} if options.get("anon") else {"denied"}
            try:
                done = self._repeated(action, number, once=once)
            except RemoteError as error:
                if error.reason not in passes:
                    raise
                errors.append(error)
            else:
                self._chosen = number
                return done
        # Of the attempts with and without a name the one with a name has the last word.
        raise errors[-1 if self.address.options[0].get("anon") else 0]

    def _repeated(self, action: Callable[[Any], T], number: int, *, once: bool) -> T:
        began = time.monotonic()
        for pause in (*(() if once else self._pauses_s), None):
            try:
                return action(self._filesystem(number))
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
        """What is said of an error of a library."""
        if isinstance(error, RemoteError):
            return error
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return error
        reason = _reason(error)
        text = redacted(str(error)).strip().partition("\n")[0][:300] or type(error).__name__
        shown, hint = self.address.shown, _HINTS.get(self.address.protocol, "")
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
    """The kind of an error, whatever library it comes from; what is not known may pass."""
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


_SECRET = re.compile(
    r"(?i)((?:sig|signature|token|secret|password|credential|access[-_]?key(?:[-_]?id)?|account[-_]?key"
    r"|sharedaccesssignature|x-(?:amz|goog)-[a-z-]+|[a-z_]*(?:secret|token)[a-z_]*)\s*[=:]\s*)[^&;,\s\"']+"
)
_SECRET_VARIABLES = (
    *_AZURE_KEYS,
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
)


def redacted(text: str) -> str:
    """A text of a library without what lets somebody in."""
    for name in _SECRET_VARIABLES:
        value = os.environ.get(name, "")
        if len(value) >= 8:
            text = text.replace(value, "…")
    text = re.sub(r"://[^/\s@]*:[^/\s@]*@", "://…@", text)
    return _SECRET.sub(r"\1…", text)
