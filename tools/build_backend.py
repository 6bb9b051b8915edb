"""The build backend: setuptools, which asks for a Node.js from a wheel only when it needs one.

pip installs what the `get_requires_*` hooks name before it builds. Most builds need no Node.js
at all, because the page is there already, and most machines that build have one.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from build_page import is_wanted
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
    return [*build_meta.get_requires_for_build_wheel(config_settings), *node_requirement()]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """What an editable install needs beside setuptools."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *node_requirement()]


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
