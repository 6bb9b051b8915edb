"""Writes tables in docs/ from what they are declared by: `python tools/gen_docs.py`.

A page names a row between two comments, and everything between them is written:

    <!-- columns: kernels.rows.KernelRow -->
    | column | key | definition |
    …
    <!-- end of columns -->

The tables of rules, thresholds, tables of SQL and macros stand between ``<!-- rules -->``,
``<!-- thresholds -->``, ``<!-- sql -->``, ``<!-- macros -->`` and their ends in the same way; a
rule's docstring is its row.

With --check nothing is written; the exit status is 1 when a page is stale.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from kinetoscope.analysis.advice import RULES
from kinetoscope.analysis.advice.rule import OF_SEVERITY, Threshold, all_thresholds
from kinetoscope.ask.sources import TABLES, declared
from kinetoscope.ask.sql import MACROS
from kinetoscope.base.units import NBSP
from kinetoscope.views.table import Column, fields_of

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"(<!-- columns: ([\w.]+) -->\n).*?(<!-- end of columns -->)", re.DOTALL)


NAMED = re.compile(r"(<!-- (rules|thresholds|sql|macros) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def with_tables(text: str) -> str:
    """A page with its tables written anew."""
    text = BLOCK.sub(lambda found: f"{found[1]}{_table(found[2])}{found[3]}", text)
    tables = {"rules": _rules, "thresholds": _thresholds, "sql": _sql, "macros": _macros}
    return NAMED.sub(lambda found: f"{found[1]}{tables[found[2]]()}{found[3]}", text)


def _rules() -> str:
    """The table of rules; thresholds stand in the docstrings by their names."""
    values = {name: _number(one) for name, one in all_thresholds().items()}
    rows = ["| rule | fires when | ceiling |", "|---|---|---|"]
    for rule in sorted(RULES, key=lambda one: one.id):
        text = cleandoc(rule.text).format(**values)
        fires, _, ceiling = text.partition("\n\nCeiling: ")
        rows.append(
            f"| {rule.id} | {_on_one_line(fires)} | {_on_one_line(ceiling).rstrip('.') or '–'} |"
        )
    return "\n".join([*rows, ""])


def _thresholds() -> str:
    rows = ["| name | default | meaning |", "|---|---|---|"]
    rows += [_threshold(one) for one in OF_SEVERITY]
    rows += [
        _threshold(one, f"{rule.id}: ")
        for rule in sorted(RULES, key=lambda one: one.id)
        for one in rule.thresholds
        if one not in OF_SEVERITY
    ]
    return "\n".join([*rows, ""])


def _sql() -> str:
    """The tables of ``kinetoscope sql`` with their columns; arguments of a file come with it."""
    rows = ["| table | a row is | columns |", "|---|---|---|"]
    for name, text in TABLES.items():
        keys = ", ".join(f"`{key}`" for key, _ in declared(None, name))
        rows.append(f"| `{name}` | {text} | {keys} |")
    return "\n".join([*rows, ""])


def _macros() -> str:
    rows = ["| macro | gives |", "|---|---|"]
    rows += [f"| `{call}` | {text} |" for call, text in MACROS.items()]
    return "\n".join([*rows, ""])


def _threshold(one: Threshold, rule: str = "") -> str:
    return f"| `{one.name}` | {one.value:g} | {rule}{one.meaning} |"


def _number(one: Threshold) -> str:
    """A threshold with its unit, which is the end of its name; one of cores is no share."""
    return f"{one.value * 100:g} %" if one.name.endswith("_ratio") else f"{one.value:g}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


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
        written = with_tables(text)
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
