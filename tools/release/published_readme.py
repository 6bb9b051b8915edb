"""The README as a package index shows it: links and pictures that lead to the public source."""

from __future__ import annotations

import re

_SOURCE = re.compile(r'^Source = "([^"]+)"$', re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)\s]+)\)")


def published(readme: str, pyproject: str) -> str:
    """The text with each relative link below the address that ``pyproject`` calls Source.

    >>> published("[docs](docs/a.md#b)", 'Source = "https://x.example/s"')
    '[docs](https://x.example/s/docs/a.md#b)'
    """
    return _LINK.sub(rf"]({source_address(pyproject)}/\1)", readme)


def source_address(pyproject: str) -> str:
    """The address that ``pyproject`` calls Source.

    Raises:
        ValueError: there is none.
    """
    found = _SOURCE.search(pyproject)
    if found is None:
        raise ValueError("pyproject.toml: [project.urls] has no Source")
    return found[1]
