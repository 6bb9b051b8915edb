"""Writes the tables of columns in docs/ from their declarations: `python tools/gen_docs.py`.

A page names a row between two comments, and everything between them is written:

    <!-- columns: kernels.rows.KernelRow -->
    | column | key | definition |
    …
    <!-- end of columns -->

With --check nothing is written; the exit status is 1 when a page is stale.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from kinetoscope.base.units import NBSP
from kinetoscope.views.table import Column, fields_of

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"(<!-- columns: ([\w.]+) -->\n).*?(<!-- end of columns -->)", re.DOTALL)


def with_columns(text: str) -> str:
    """A page with its tables of columns written anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{_table(found[2])}{found[3]}", text)


def _table(row: str) -> str:
    """The table of a row, by its module below views and its name."""
    module, name = row.rsplit(".", 1)
    kind = getattr(import_module(f"kinetoscope.views.{module}"), name)
    heads = [field.head for field in fields_of(kind) if field.head.label]
    return "\n".join(["| column | key | definition |", "|---|---|---|", *map(_line, heads), ""])


def _line(head: Column) -> str:
    minor = " *(hidden by default)*" if head.is_minor else ""
    text = head.help.replace("|", "\\|").replace(NBSP, " ")
    return f"| {head.label} | `{head.key}` | {text}{minor} |"


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or say which are stale."""
    stale = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        written = with_columns(text)
        if written != text:
            stale.append(page.name)
            if "--check" not in arguments:
                page.write_text(written, encoding="utf-8")
    if stale and "--check" in arguments:
        print(f"stale: {', '.join(stale)}: run `make docs`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
