"""What is installed here, for reports of what does not work."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from pathlib import Path

from msgspec import Struct

from .. import __version__
from ..base import units
from ..base.native import FOLDER, INTERFACE, native
from ..store.cache_place import open_cache
from ..web.page import HOW_TO_BUILD, STATIC
from ..web.plugin import OLD_DISTRIBUTION, plugin_name

PACKAGES = ("tensorboard", "numpy", "pandas", "pyarrow", "msgspec", "isal", "werkzeug", "torch")


class Fact(Struct, frozen=True):
    """One line."""

    what: str
    value: str


def installation() -> tuple[Fact, ...]:
    """Versions, the reader, the cache, the page, the name of the plugin."""
    return (
        Fact("kinetoscope", __version__),
        Fact("Python", f"{platform.python_version()} ({sys.executable})"),
        Fact("System", platform.platform()),
        *(Fact(name, version(name) or "not installed") for name in PACKAGES),
        Fact("Reader", reader_in_use()),
        Fact("Cache", cache()),
        Fact("Page", "built" if (STATIC / "index.js").is_file() else f"not built: {HOW_TO_BUILD}"),
        Fact("Plugin", plugin()),
    )


def version(distribution: str) -> str | None:
    """The version of an installed distribution, without importing it."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def reader_in_use() -> str:
    """Which of the two readers reads traces, and why."""
    found = native()
    if found.library is None:
        return f"Python, several times slower than the native one: {found.reason}. {found.remedy}."
    older = ", older than its sources: run `make native`" if is_older_than_sources() else ""
    return f"native, interface {INTERFACE}: {found.path}{older}"


def is_older_than_sources() -> bool:
    """Whether this is a checkout in which the library is waiting to be built again."""
    built = Path(native().path).stat().st_mtime
    sources = (FOLDER.parent.parent / "native" / "src").rglob("*.rs")
    return any(source.stat().st_mtime > built for source in sources)


def cache() -> str:
    """Where answers are kept, and how many bytes of them."""
    found = open_cache()
    place = f"{found.roots[0]}, at most {units.size(found.limit_bytes)}"
    return f"{place}. {found.problem}" if found.problem else place


def plugin() -> str:
    """Under which name TensorBoard shows it, and why."""
    name = plugin_name()
    old = version(OLD_DISTRIBUTION)
    return f"{name}, because {OLD_DISTRIBUTION} {old} is installed too" if old else name
