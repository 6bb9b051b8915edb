"""Installs packages into this Python's environment: with uv where it can be had, else with pip.

Usage: python tools/install.py REQUIREMENT...      what pip takes, `--editable .` among it
       python tools/install.py --torch VERSION     torch; its CPU build where that can be had

uv fetches several packages at once, and knows where builds of torch without CUDA are. It reads none
of pip's settings, so pip does what uv cannot. The newest torch is taken where there is no such
version.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import urllib.request

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
QUIETLY = (*PIP, "install", "--quiet", "--no-compile")
"""As uv does, only what is imported is compiled: the rest would be a fifth more on the disk."""
UV = (sys.executable, "-m", "uv", "pip")
GROUPS = "25.1"
"""The first pip that knows `--group`; a new environment may have an older one."""
QUICK = {"UV_HTTP_TIMEOUT": "20", "UV_HTTP_RETRIES": "0", "UV_SYSTEM_CERTS": "1"}
"""Where uv reaches nothing, pip need not wait for it. Certificates are those of the system."""


def install(*arguments: str) -> int:
    """Installs, and returns an exit status; pip's messages are shown where it fails, too."""
    if has_uv() and _uv("install", "--quiet", *arguments):
        return 0
    if "--group" in arguments:
        subprocess.run([*PIP, "install", "--quiet", f"pip>={GROUPS}"], check=False)
    return subprocess.run([*QUIETLY, *arguments], check=False).returncode


def install_torch(version: str) -> int:
    """Installs torch unless it is there; says before how large what pip would fetch is."""
    if importlib.util.find_spec("torch") is not None:
        return 0
    for wanted in (f"torch=={version}", "torch"):
        if has_uv() and _uv("install", "--quiet", "--torch-backend=cpu", wanted):
            return 0
        size = size_of(wanted)
        if size is None:
            print(f"{wanted} cannot be had here", file=sys.stderr)
            continue
        print(f"installing {wanted}: {size / 1e6:,.0f} MB to fetch", file=sys.stderr, flush=True)
        if subprocess.run([*QUIETLY, wanted], check=False).returncode == 0:
            return 0
    return 1


def has_uv() -> bool:
    """Whether there is uv, which is fetched at the first call."""
    if importlib.util.find_spec("uv") is None:
        subprocess.run([*PIP, "install", "--quiet", "uv"], check=False, capture_output=True)
        importlib.invalidate_caches()
    return importlib.util.find_spec("uv") is not None


def size_of(wanted: str) -> int | None:
    """How many bytes pip would fetch for a requirement; None where it finds none."""
    command = [*PIP, "install", "--quiet", "--dry-run", "--report", "-", wanted]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        return None
    report = json.loads(done.stdout)
    return sum(_size_at(one["download_info"]["url"]) for one in report["install"])


def _size_at(url: str) -> int:
    """What a server says of a file's size; 0 where it says nothing."""
    asked = urllib.request.Request(url, method="HEAD")  # noqa: S310  # an address of pip's
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310
            return int(answer.headers.get("Content-Length") or 0)
    except (OSError, ValueError):
        return 0


def _uv(*arguments: str) -> bool:
    """Whether uv could do it. What it says of a failure is not told: pip goes on."""
    command = [*UV, *arguments, "--python", sys.executable]
    done = subprocess.run(command, check=False, capture_output=True, env={**os.environ, **QUICK})
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Installs what is named."""
    try:
        return install_torch(arguments[1]) if arguments[0] == "--torch" else install(*arguments)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
