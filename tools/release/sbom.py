"""Writes dist/kinetoscope-VERSION.cdx.json: what the wheel contains that others wrote.

Usage: python tools/release/sbom.py

A CycloneDX document (https://cyclonedx.org/docs/1.6/json/) of the libraries in the page, as the
build of the page lists them. The native library has no crate, and Python packages are not in the
wheel: pip installs them, and its metadata names them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "tb_plugin" / "static" / "third-party-licenses.txt"
_HEADING = re.compile(r"^## (\S+) - (\S+) \((.+)\)$", re.MULTILINE)


def components(bundled: str) -> list[dict[str, object]]:
    """One entry for each heading ``## name - version (license)``.

    Raises:
        ValueError: there is none.
    """
    found = [
        {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
            "licenses": [{"license": {"id": terms}}],
        }
        for name, version, terms in _HEADING.findall(bundled)
    ]
    if not found:
        raise ValueError(f"{BUNDLED} names no library")
    return found


def document(version: str, commit: str, bundled: str) -> dict[str, object]:
    """The document for one release."""
    about: dict[str, object] = {"type": "application", "name": "kinetoscope", "version": version}
    if commit:
        about["properties"] = [{"name": "commit", "value": commit}]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": about},
        "components": components(bundled),
    }


def main() -> int:
    """Writes the file, and says where."""
    sys.path.insert(0, str(ROOT / "tools"))
    from release.commit import commit_of, version_of

    version = version_of(ROOT)
    made = document(version, commit_of(ROOT), BUNDLED.read_text("utf-8"))
    target = ROOT / "dist" / f"kinetoscope-{version}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(made, indent=2) + "\n", "utf-8")
    print(target.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
