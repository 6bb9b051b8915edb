"""Writes tables in docs/ from what they are declared by: `python tools/gen_docs.py`.

A page names a row between two comments, and everything between them is written:

    <!-- columns: kernels.rows.KernelRow -->
    | column | key | definition |
    …
    <!-- end of columns -->

The tables of rules, thresholds, tables of SQL, macros, views and options of commands stand between
``<!-- rules -->``, ``<!-- thresholds -->``, … and their ends in the same way; a rule's docstring is
its row.

With --check nothing is written; the exit status is 1 when a page is stale.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

import click

from kinetoscope.analysis.advice import RULES
from kinetoscope.analysis.advice.rule import OF_SEVERITY, Threshold, all_thresholds
from kinetoscope.ask.sources import TABLES, declared
from kinetoscope.ask.sql import MACROS
from kinetoscope.base.units import NBSP
from kinetoscope.cli.entry import COMMANDS
from kinetoscope.cli.entry import main as command_line
from kinetoscope.views import all_views
from kinetoscope.views.table import Column, fields_of

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"(<!-- columns: ([\w.]+) -->\n).*?(<!-- end of columns -->)", re.DOTALL)


NAMED = re.compile(
    r"(<!-- (rules|thresholds|sql|macros|views|options) -->\n).*?(<!-- end of \2 -->)", re.DOTALL
)


def with_tables(text: str) -> str:
    """A page with its tables written anew."""
    text = BLOCK.sub(lambda found: f"{found[1]}{_table(found[2])}{found[3]}", text)
    tables = {
        "rules": _rules,
        "thresholds": _thresholds,
        "sql": _sql,
        "macros": _macros,
        "views": _views,
        "options": _options,
    }
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


def _views() -> str:
    """The views in tab order, each with its page."""
    rows = ["| view | key | question | page |", "|---|---|---|---|"]
    for view in all_views():
        names = (f"{view.stem}.md", f"{view.title.lower()}.md")
        page = next((name for name in names if (DOCS / name).is_file()), "")
        if not page:
            raise SystemExit(f"docs/ has no page for the view {view.stem}")
        linked = f"[{page}]({page})"
        rows.append(f"| {view.title} | `g {view.key}` | {view.question} | {linked} |")
    return "\n".join([*rows, ""])


def _options() -> str:
    """The options of each command, as ``--help`` says them; what all views take, once."""
    above = click.Context(command_line, info_name="kinetoscope")
    parts = []
    for name in COMMANDS:
        command = command_line.get_command(above, name)
        if command is None:
            raise SystemExit(f"there is no command {name}")
        context = click.Context(command, info_name=name, parent=above)
        inner = command.list_commands(context) if isinstance(command, click.Group) else []
        within = [command.get_command(context, one) for one in inner]  # type: ignore[attr-defined]
        of_each = [
            _of_command(one, click.Context(one, info_name=called, parent=context))
            for called, one in zip(inner, within, strict=True)
        ]
        usage, rows = _of_command(command, context)
        shared = set.intersection(*(set(rows) for _, rows in of_each)) if of_each else set()
        rows = [*rows, *(row for row in of_each[0][1] if row in shared)] if of_each else rows
        parts.append(_as_table(usage, rows))
        parts += [
            _as_table(usage, [row for row in rows if row not in shared]) for usage, rows in of_each
        ]
    return "\n".join(parts)


def _of_command(command: click.Command, context: click.Context) -> tuple[str, list[str]]:
    """Its usage and purpose, and a row for each option but ``--help``."""
    pieces = [one for one in command.collect_usage_pieces(context) if one != "[OPTIONS]"]
    found = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    shown = [record for one in found if (record := one.get_help_record(context)) is not None]
    rows = [
        f"| `{_on_one_line(names)}` | {_on_one_line(text)} |"
        for names, text in shown
        if "--help" not in names
    ]
    purpose = command.get_short_help_str(limit=200)
    return f"`{' '.join([context.command_path, *pieces])}`: {purpose}", rows


def _as_table(usage: str, rows: Sequence[str]) -> str:
    table = ["| option | does |", "|---|---|", *rows, ""] if rows else []
    return "\n".join([usage, "", *table])


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
