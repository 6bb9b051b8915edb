"""Folders on other machines, such as `s3://bucket/logs`: how an address is read.

Recording and viewing read an address in the same way, so that what one writes the other finds.
`remote_filesystem` reaches it, with fsspec. What fsspec's libraries do not know by themselves of
the variables people have set is added here:

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

import importlib.util
import os
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Reason = Literal["missing", "exists", "denied", "extra", "refused", "unreachable"]

# Two letters at least: `C:/logs` is a drive. One slash is enough: pathlib eats the other.
_SCHEME = r"(?P<scheme>[a-zA-Z][0-9a-zA-Z.+-]+)://?(?P<rest>.*)"
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"} | dict.fromkeys(
    ("az", "abfs", "abfss", "azure", "wasb", "wasbs"), "abfs"
)
_ACCOUNT = r"(?P<name>[a-z0-9][a-z0-9-]*)\.(?P<kind>blob|dfs)\.(?P<cloud>core\.[a-z.]+)"
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
_AZURE_KEYS = (
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_CLIENT_ID",
)


class RemoteError(OSError):
    """Error of a remote filesystem or of the connection; its text has no credentials."""

    def __init__(self, message: str, reason: Reason, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.reason, self.hint = message, reason, hint

    def __reduce__(self) -> tuple[type[RemoteError], tuple[str, Reason, str]]:
        return RemoteError, (self.message, self.reason, self.hint)


class RemoteAddress(NamedTuple):
    """One folder or file on another machine."""

    protocol: str  # as fsspec has it
    url: str  # as fsspec wants it
    shown: str  # as typed, but for secrets
    # Tried in this order until one is let in; the last word has the first or the last of them.
    options: tuple[Mapping[str, Any], ...] = ({},)

    def __repr__(self) -> str:
        return f"RemoteAddress({self.shown!r})"  # the options hold secrets

    def __hash__(self) -> int:
        return hash((self.protocol, self.url))

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


def has_scheme(text: str) -> bool:
    """True for what begins like an address of any kind, `file://` too; not for `name:/path`."""
    return re.match(r"[a-zA-Z][0-9a-zA-Z.+-]*://", text) is not None


def without_file_scheme(text: str) -> str:
    """`file:///log` is `/log`."""
    return text[len("file://") :] if text.lower().startswith("file://") else text


def _split(text: str) -> tuple[str, str] | None:
    """Scheme and rest of an address; None for a path."""
    # A path needs no expression: thousands of them are looked at.
    match = re.fullmatch(_SCHEME, text.strip(), re.DOTALL) if ":/" in text else None
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
    """Options for the library of a protocol, in addition to its own environment variables."""
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
    from urllib.parse import unquote, urlsplit

    host = urlsplit(f"x://{rest}")
    authority = (host.hostname or "").lower()
    match = re.fullmatch(_ACCOUNT, authority)
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
    from urllib.parse import parse_qs

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


_LETS_IN = (
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
    """Remove credentials from a library's message."""
    for name in _SECRET_VARIABLES:
        value = os.environ.get(name, "")
        if len(value) >= 8:
            text = text.replace(value, "…")
    text = re.sub(r"://[^/\s@]*:[^/\s@]*@", "://…@", text)
    return re.sub(_LETS_IN, r"\1…", text)
