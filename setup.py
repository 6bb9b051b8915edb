"""Maps the source folders to one import package, and builds what is not there: page and library.

Everything else about the distribution is said in pyproject.toml.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from setuptools import Command, Distribution, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.develop import develop
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

import build_native  # noqa: E402
import build_page  # noqa: E402
import build_wheel_tag  # noqa: E402
from release.commit import version_of, write_commit  # noqa: E402
from release.published_readme import published  # noqa: E402

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
                build_page.build_if_wanted()
            except build_page.PageBuildError as error:
                sys.exit(f"kinetoscope: {error}")
            super().run()

    return WithPage


def with_library(command: type[Command]) -> type[Command]:
    """The command, preceded by a build of the native library where there is cargo."""

    class WithLibrary(command):  # type: ignore[misc]
        def run(self) -> None:
            build_native.build_if_wanted()
            super().run()

    return WithLibrary


class BuildPy(with_page(build_py)):  # type: ignore[misc]
    """Copies the packages, but no page and no library of an earlier build."""

    def run(self) -> None:
        """Removes the old copies first: setuptools never does."""
        if self.build_lib is None or self.editable_mode:
            super().run()
            return
        package = Path(self.build_lib) / "kinetoscope"
        shutil.rmtree(package / "static", ignore_errors=True)
        shutil.rmtree(package / "native", ignore_errors=True)
        super().run()
        for shown in ("docs", "samples/traces"):  # what `docs` and `demo --samples` show
            if (ROOT / shown).is_dir():
                shutil.rmtree(package / shown, ignore_errors=True)
                shutil.copytree(ROOT / shown, package / shown)
        write_commit(ROOT, package)
        if not build_native.is_built():
            shutil.rmtree(package / "native", ignore_errors=True)


class Sdist(with_page(sdist)):  # type: ignore[misc]
    """The sources, the built page, and the commit they are of."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Adds the commit, which no file of the sources has."""
        super().make_release_tree(base_dir, files)
        write_commit(ROOT, Path(base_dir) / "tb_plugin")


class BdistWheel(bdist_wheel):  # type: ignore[misc]
    """One wheel for every Python: of one platform with the library inside, of any without."""

    def run(self) -> None:
        """Looks again whether it is for one platform, since the library is built only now."""
        build_native.build_if_wanted()
        self.root_is_pure = not self.distribution.has_ext_modules()
        super().run()
        files = self.distribution.dist_files
        for at, (kind, version, path) in enumerate(files):
            if kind == "bdist_wheel" and "-linux_" in Path(path).name:
                files[at] = (kind, version, str(build_wheel_tag.retag(Path(path))))

    def get_tag(self) -> tuple[str, str, str]:
        """The library is loaded by ctypes and knows nothing of Python's binary interface."""
        *_, platform = super().get_tag()
        return "py3", "none", platform


class Kinetoscope(Distribution):  # type: ignore[misc]
    """The distribution, which belongs to one platform when it has the library."""

    def has_ext_modules(self) -> bool:
        """What setuptools asks to know that."""
        return build_native.is_built()


setup(
    version=version_of(ROOT),
    distclass=Kinetoscope,
    packages=packages(),
    package_dir=FOLDERS,
    package_data={
        "kinetoscope": [
            "py.typed",
            "analysis/*.json",
            "analysis/*/*.json",
            "native/*",
            "static/**",
        ],
        "kinetoscope.handlers": ["py.typed"],
    },
    include_package_data=False,
    long_description=published(
        (ROOT / "README.md").read_text("utf-8"), (ROOT / "pyproject.toml").read_text("utf-8")
    ),
    long_description_content_type="text/markdown",
    zip_safe=False,
    cmdclass={
        "bdist_wheel": BdistWheel,
        "build_py": BuildPy,
        "develop": with_library(with_page(develop)),
        "editable_wheel": with_library(with_page(editable_wheel)),
        "sdist": Sdist,
    },
)
