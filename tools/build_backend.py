"""The build backend: setuptools, which asks for more only when it is of use.

pip installs what the `get_requires_*` hooks name before it builds: a Node.js from a wheel, when the
page must be built and the machine has none; what drives cargo, when there is one.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

import build_native
from build_page import is_wanted
from build_wheel_tag import REQUIREMENTS
from node import WHEEL, NodeNotFoundError, find_npm

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings: TypeAlias = dict[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """What a wheel build needs beside setuptools."""
    return [
        *build_meta.get_requires_for_build_wheel(config_settings),
        *node_requirement(),
        *library_requirement(),
        *tag_requirement(),
    ]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """What an editable install needs beside setuptools."""
    return [
        *build_meta.get_requires_for_build_editable(config_settings),
        *node_requirement(),
        *library_requirement(),
    ]


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """What a source distribution needs beside setuptools."""
    return [*build_meta.get_requires_for_build_sdist(config_settings), *node_requirement()]


def node_requirement() -> list[str]:
    """The Node.js wheel, when the page must be built and nothing here can build it."""
    if not is_wanted():
        return []
    try:
        find_npm()
    except NodeNotFoundError:
        return [WHEEL]
    return []


def tag_requirement() -> list[str]:
    """What finds the systems that a wheel with the library runs on, where these are several."""
    has_library = build_native.is_built() or build_native.requirement() is not None
    return list(REQUIREMENTS) if has_library and sys.platform.startswith("linux") else []


def library_requirement() -> list[str]:
    """What builds the native library, when it must be built and there is cargo."""
    requirement = build_native.requirement()
    return [] if requirement is None else [requirement]
