"""Maps the source folders to one import package, and builds the page when it is not there.

Everything else about the distribution is said in pyproject.toml.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from setuptools import Command, find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.develop import develop
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

from build_page import PageBuildError, build_if_wanted  # noqa: E402

FOLDERS = {"kinetoscope": "tb_plugin", "kinetoscope.handlers": "handlers"}


def packages() -> list[str]:
    """Every import package, found under the folder it is mapped to."""
    found = list(FOLDERS)
    for package, folder in FOLDERS.items():
        found += [f"{package}.{name}" for name in find_packages(str(ROOT / folder))]
    return found


def with_page(command: type[Command]) -> type[Command]:
    """The command, preceded by a build of the page."""

    class WithPage(command):  # type: ignore[misc]
        def run(self) -> None:
            try:
                build_if_wanted()
            except PageBuildError as error:
                sys.exit(f"kinetoscope: {error}")
            super().run()

    return WithPage


class BuildPy(with_page(build_py)):  # type: ignore[misc]
    """Copies the packages, but no page of an earlier build."""

    def run(self) -> None:
        """Removes the old copy first: setuptools never does."""
        if self.build_lib is not None and not self.editable_mode:
            shutil.rmtree(Path(self.build_lib) / "kinetoscope" / "static", ignore_errors=True)
        super().run()


setup(
    packages=packages(),
    package_dir=FOLDERS,
    package_data={"kinetoscope": ["py.typed", "static/**"], "kinetoscope.handlers": ["py.typed"]},
    include_package_data=False,
    zip_safe=False,
    cmdclass={
        "build_py": BuildPy,
        "develop": with_page(develop),
        "editable_wheel": with_page(editable_wheel),
        "sdist": with_page(sdist),
    },
)
