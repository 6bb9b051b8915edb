"""Makes a Chromium available to the browser tests, or says that they will be skipped.

Usage: python tools/find_browser.py

Taken is the one on PATH. Where there is none and we may install packages (as root, on a system
with apt), it is installed. Its absence is no failure: the tests skip themselves with a reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of a Chromium, if there is one."""
    named = os.environ.get("KINETOSCOPE_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def install() -> bool:
    """Installs Chromium with apt; whether that succeeded."""
    print("no Chromium on PATH: installing it with apt for the browser tests", file=sys.stderr)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "--yes", "--no-install-recommends", "chromium"],
    ):
        if subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            return False
    return True


def main() -> int:
    """Looks, installs if it may, and reports; always 0."""
    may_install = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")
    if chromium() is None and not (may_install and install() and chromium()):
        print(
            "*** no Chromium: THE BROWSER TESTS WILL BE SKIPPED. Install it (Debian, Ubuntu: "
            "`apt install chromium`) or point KINETOSCOPE_CHROMIUM at one.",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
