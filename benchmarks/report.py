"""The tables of ``docs/benchmarks.md``, made of ``results.json``: no figure is typed by hand.

python -m benchmarks.report            prints the tables
python -m benchmarks.report --write    puts them between the markers of docs/benchmarks.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks import _corpus, _peers, _results
from benchmarks._targets import Measured, targets

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def tables(results: Mapping[str, Any]) -> str:
    """All tables as Markdown."""
    measured: Measured = results["measured"]
    parts = [
        _about(results["machine"], measured),
        _table(("promise", "target", "measured", "met"), _verdicts(measured)),
        "### What reading costs",
        _table(
            ("trace", "text", "events", "Overview: CPU", "wall", "memory",
             "columns: CPU", "wall", "memory", "calibration units",
             "floor: inflate", "tokenize", "Overview ÷ floor"),
            _ingested(measured),
        ),
        "### The same files elsewhere",
        _table(("program", "trace", "CPU", "wall", "memory", "CPU ÷ ours"), _elsewhere(measured)),
    ]  # fmt: skip
    return "\n\n".join(parts)


def _about(machine: Mapping[str, Any], measured: Measured) -> str:
    dates = sorted({entry["date"] for entry in measured.values()})
    days = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    loads = [entry["load"] for entry in measured.values()]
    return (
        f"{machine['cores']} cores of {machine['cpu']}, {machine['memory_bytes'] / 1e9:.0f} GB,"
        f" Python {machine['python']}, {machine['system']}, {days}. Other work ran on the machine:"
        f" its load was {min(loads)} to {max(loads)} when figures were taken, so compare CPU time."
    )


def _verdicts(measured: Measured) -> Iterator[tuple[str, ...]]:
    words = {True: "yes", False: "**no**", None: "–"}
    for target in targets():
        verdict = target.judge(measured)
        yield verdict.promise, verdict.promised, verdict.measured, words[verdict.met]


def _sizes(measured: Measured) -> Iterator[tuple[str, dict[str, float]]]:
    """Each kind and size that was read, with its figures."""
    for kind in _corpus.KINDS:
        names = {name.split("/")[2] for name in measured if name.startswith(f"ingest/{kind}/")}
        found = []
        for size in names - {"exponent"}:
            prefix = f"ingest/{kind}/{size}/"
            figures = {
                name.removeprefix(prefix): entry["value"]
                for name, entry in measured.items()
                if name.startswith(prefix) and entry["value"] is not None
            }
            if "text_bytes" in figures:
                found.append((f"{kind}, {size}", figures))
        yield from sorted(found, key=lambda pair: pair[1]["text_bytes"])


def _ingested(measured: Measured) -> Iterator[tuple[str, ...]]:
    for name, of in _sizes(measured):
        yield (
            name,
            f"{of['text_bytes'] / 1e6:,.0f} MB",
            f"{of['events'] / 1e6:.2f} M",
            *_cost(of, "overview_"),
            *_cost(of, "columns_"),
            f"{of['columns_cpu'] / of['calibration_cpu']:.1f}",
            *_floor(of),
        )


def _floor(of: Mapping[str, float]) -> tuple[str, str, str]:
    if "floor_cpu" not in of:
        return "–", "–", "–"
    size = of["text_bytes"] / 1e6
    return (
        f"{size / of['floor_inflate_cpu']:,.0f} MB/s",
        f"{size / of['floor_scan_cpu']:,.0f} MB/s",
        f"{of['overview_cpu'] / of['floor_cpu']:.2f}×",
    )


def _elsewhere(measured: Measured) -> Iterator[tuple[str, ...]]:
    programs = {
        **{f"peer_{peer}_": name for peer, name in _peers.NAMES.items()},
        "fallback_columns_": "kinetoscope without its native library",
    }
    for prefix, program in programs.items():
        for name, of in _sizes(measured):
            if f"{prefix}cpu" in of:
                ours = of["overview_cpu" if prefix.startswith("peer") else "columns_cpu"]
                ratio = f"{of[f'{prefix}cpu'] / ours:.1f}×"
                yield program, name, *_cost(of, prefix), ratio


def _cost(of: Mapping[str, float], prefix: str) -> tuple[str, str, str]:
    return (
        f"{of[f'{prefix}cpu']:.1f} s",
        f"{of[f'{prefix}wall']:.1f} s",
        f"{of[f'{prefix}peak'] / 1e6:,.0f} MB",
    )


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def placed(page: str, content: str) -> str:
    """The page with other content between its markers.

    Raises:
        ValueError: a marker is missing.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"no {BEGIN} … {END} in the page")
    return f"{before}{BEGIN}\n\n{content}\n\n{END}{after}"


def kept() -> dict[str, Any]:
    """Everything that was measured and kept."""
    found: dict[str, Any] = json.loads(_results.RESULTS.read_text())
    return found


@click.command()
@click.option("--write", is_flag=True, help="Put the tables into docs/benchmarks.md.")
def main(write: bool) -> None:
    """Show what was measured."""
    if not _results.RESULTS.exists():
        click.echo("nothing was kept: run benchmarks with --keep first")
        return
    content = tables(kept())
    if write:
        PAGE.write_text(placed(PAGE.read_text(), content))
    else:
        click.echo(content)


if __name__ == "__main__":
    main()
