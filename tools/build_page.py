"""Builds the page into tb_plugin/static when its sources changed since the last build.

Usage: python tools/build_page.py [--force | --modules]

A digest of the sources is left beside the built page. As long as it fits, nothing is done: so
an install from a source distribution, which carries the built page, needs no Node.js.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from node import ROOT, NodeNotFoundError, find_npm
from stamps import digest_of, read_stamp

FRONTEND = ROOT / "frontend"
PAGE = ROOT / "tb_plugin" / "static"
STAMP = PAGE / ".build-stamp"
MODULES = ROOT / "node_modules"
MODULES_STAMP = MODULES / ".install-stamp"
SKIP_VARIABLE = "KINETOSCOPE_SKIP_PAGE"
"""Set to 1, an install goes on without building the page."""


class PageBuildError(RuntimeError):
    """The page could not be built; the text says in one sentence why and what to do."""


def is_stale() -> bool:
    """Whether the built page is missing or older than its sources."""
    if not (PAGE / "index.js").is_file():
        return True
    if not FRONTEND.is_dir():  # a distribution with the built page alone
        return False
    return read_stamp(STAMP) != sources_digest()


def build() -> None:
    """Builds the page; where the modules of all tools are not there, with what it alone needs.

    Raises:
        PageBuildError: there is no Node.js, or one of the steps failed.
    """
    if not FRONTEND.is_dir():
        raise PageBuildError("the page cannot be built: this distribution has no frontend/ folder")
    complete = _has_modules()
    if not complete:
        with tempfile.TemporaryDirectory() as cache:  # nothing stays of what is needed once
            told = "`npm ci` failed, so the page cannot be built"
            _npm("ci", "--omit=dev", "--cache", cache, because=told)
    digest = sources_digest()
    shutil.rmtree(PAGE, ignore_errors=True)  # hashed chunks of earlier builds must not linger
    _npm("run", "build", because="building the page failed")
    STAMP.write_text(digest, encoding="ascii")
    if not complete:  # more than a hundred megabytes that nobody needs any more
        shutil.rmtree(MODULES, ignore_errors=True)


def is_wanted() -> bool:
    """Whether an install should build the page: it is stale, and nobody said to leave it alone."""
    return os.environ.get(SKIP_VARIABLE) != "1" and is_stale()


def build_if_wanted() -> None:
    """Builds the page if an install should."""
    if is_wanted():
        build()


def install_modules() -> None:
    """Installs the locked npm packages unless they are there."""
    if not _has_modules():
        _npm("ci", because="`npm ci` failed, so the page cannot be built")
        MODULES_STAMP.write_text(_lock(), encoding="ascii")


def _has_modules() -> bool:
    return read_stamp(MODULES_STAMP) == _lock()


def _lock() -> str:
    return hashlib.sha256((ROOT / "package-lock.json").read_bytes()).hexdigest()


def sources_digest() -> str:
    """One digest over everything the page is built from: names and contents, in order."""
    return digest_of(_sources(), ROOT)


def _sources() -> Iterator[Path]:
    """Files that the built page depends on; tests and what they need are not among them."""
    yield ROOT / "package-lock.json"
    yield ROOT / "package.json"
    for path in sorted(FRONTEND.rglob("*")):
        if path.is_file() and not _is_of_tests(path):
            yield path


def _is_of_tests(path: Path) -> bool:
    return (
        ".test." in path.name
        or path.name.startswith((".", "vitest."))
        or "test-fixtures" in path.relative_to(FRONTEND).parts
    )


def _npm(*args: str, because: str) -> None:
    """Runs npm; what it says is for who has to find out why it failed."""
    try:
        done = find_npm().run(*args, quiet=True)
    except NodeNotFoundError as error:
        raise PageBuildError(f"the page cannot be built: {error}") from error
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise PageBuildError(f"{because}; its messages are above")


def main(args: list[str]) -> int:
    """Builds the page if it is stale, or always (`--force`), or installs packages (`--modules`)."""
    try:
        if "--modules" in args:
            install_modules()
        elif "--force" in args:
            build()
        else:
            build_if_wanted()
    except PageBuildError as error:
        print(f"kinetoscope: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
