"""``kinetoscope snapshot FILE [OTHER]``: what fills the device's memory, and why it ran out.

With a second snapshot: which code holds more than before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import click
import numpy as np

from ..analysis.memory.snapshots.allocator import SiteBytes, peak_state, sites
from ..analysis.memory.snapshots.changes import site_changes
from ..analysis.memory.snapshots.out_of_memory import Cause, explain, sentence
from ..base.errors import QueryError, TraceFormatError
from ..base.units import listing, parse_size, plural, size
from ..trace.memory_model import HOST, Snapshot
from ..trace.pickles.snapshot import read_snapshot
from ..views.table import Column, Table
from .entry import FORMAT, as_json, printable, write
from .render import (
    TableLayout,
    escaped,
    print_tables,
    progress_bar,
    tables_markdown,
    width_of,
    wrapped,
    write_csv,
)

ROWS = 20
NO_STACK = "without a stack"

_SITE = Column("site", "Site", "innermost frames of your own code", "name")


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("other", metavar="[OTHER]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--device", type=int, help="Number of the device.  [default: the one that holds most]"
)
@click.option(
    "--capacity",
    metavar="SIZE",
    callback=lambda _context, _option, text: _capacity(text),
    help="Memory of the device, as 80GiB: tells whether others hold some of it.",
)
@click.option("--limit", type=click.IntRange(min=1), help=f"Rows of a table.  [default: {ROWS}]")
@click.option("--format", "form", **FORMAT)
def snapshot(
    file: Path,
    other: Path | None,
    device: int | None,
    capacity: int | None,
    limit: int | None,
    form: str,
) -> None:
    """Explains a memory snapshot, or compares two by the code that allocated.

    FILE is what torch.cuda.memory._dump_snapshot() wrote, also compressed with gzip. OTHER is a
    later one.
    """
    before = _read(file)
    device = _device(before, device)
    site = _short_frames if form == "text" else _frames
    tables: list[Table] = [_memory(before)]
    text = _story(before, device, capacity)
    if other is not None:
        after = _read(other)
        text = _story(after, device, capacity)
        tables = [_changes(before, after, device, site)]
    else:
        tables.append(_sites(before, device, site))
    if form != "text":
        _write(form, text, tables)
        return
    width = width_of(sys.stdout)
    for line in wrapped(printable(text), width):
        write(line)
    write("")
    shown = [_first(table, limit or ROWS) for table in tables]
    print_tables(shown, sys.stdout, TableLayout(width, None, "--format csv has them"))


def _write(form: str, text: str, tables: list[Table]) -> None:
    """All rows with whole paths."""
    if form == "csv":
        write_csv(tables, sys.stdout)
    elif form == "markdown":
        write(f"{escaped(text)}\n\n{tables_markdown(tables)}")
    else:
        found = [
            {
                "title": table.title,
                "rows": [
                    dict(zip((column.key for column in table.columns), row, strict=True))
                    for row in table.rows
                ],
            }
            for table in tables
        ]
        write(as_json({"text": text, "tables": found}))


def _capacity(text: str | None) -> int | None:
    found = None if text is None else parse_size(text)
    if text is not None and not found:
        raise click.BadParameter(f"{text!r} is no size; write 80GiB, or bytes")
    return found


def _read(path: Path) -> Snapshot:
    with progress_bar(str(path)) as on_progress:
        try:
            return read_snapshot(path, on_progress)
        except TraceFormatError as error:
            message = f"{path}: {error.message}"
            raise TraceFormatError(error.kind, message, hint=error.hint) from error


def _device(found: Snapshot, asked: int | None) -> int:
    """The device that is meant.

    Raises:
        QueryError: the snapshot says nothing of this device.
    """
    known = np.union1d(found.segments.device, found.events.device).tolist()
    if asked is None:
        held = {number: _bytes(found, number)[0] for number in known}
        return max(held, key=lambda number: held[number], default=0)
    if asked not in known:
        names = listing([_name(number) for number in known]) or "none"
        raise QueryError(f"there is no device {asked}", hint=f"devices: {names}")
    return asked


def _name(device: int) -> str:
    return "pinned host memory" if device == HOST else str(device)


def _bytes(found: Snapshot, device: int) -> tuple[int, int, int]:
    """Reserved, in use, and requested bytes of a device when the snapshot was taken."""
    segments, blocks = found.segments, found.blocks
    of_device = segments.device == device
    held = blocks.is_state("active_allocated", "active_pending_free")
    held &= of_device[blocks.segment]
    requested = np.where(blocks.requested[held] < 0, blocks.size[held], blocks.requested[held])
    return int(segments.size[of_device].sum()), int(blocks.size[held].sum()), int(requested.sum())


def _story(found: Snapshot, device: int, capacity: int | None) -> str:
    """The opening sentences."""
    said = [f"The file is damaged: {found.damage}. What came before was read."] * bool(found.damage)
    if found.skipped:
        parts = [f"{what} ({plural(n, 'time')})" for what, n in found.skipped.items()]
        said.append(f"Not understood and left out: {listing(parts)}.")
    failure = explain(found, capacity)
    if failure is not None:
        said.append(f"Out of memory on device {_name(failure.device)}: {sentence(failure)}")
        holders = [
            f"{_short_frames(site.frames[:1])} ({size(site.size)})" for site in failure.sites
        ]
        said.append(f"Most was held by {listing(holders)}." if holders else "")
        if capacity is None and failure.cause is Cause.CAPACITY:
            said.append(
                "Memory of other processes is not known, because a snapshot does not contain the"
                " size of the device: give --capacity."
            )
    else:
        if len(found.events.size):
            said.append(
                "The part of the history that was read has no failed allocation."
                if found.damage or found.skipped
                else "No allocation failed in the recorded history."
            )
        said.append(_held_now(found, device))
    if not len(found.events.size) and not found.damage:
        said.append(
            "The history of allocations is not available, because it was not recorded: call "
            "torch.cuda.memory._record_memory_history() first."
        )
    return " ".join(filter(None, said))


def _held_now(found: Snapshot, device: int) -> str:
    if not len(found.segments.size):
        why = "they could not be read" if found.damage or found.skipped else "it lists none"
        return f"What the snapshot's segments hold is not known, because {why}."
    reserved, held, _ = _bytes(found, device)
    return f"Device {_name(device)} has {size(held)} in use of {size(reserved)} reserved."


def _memory(found: Snapshot) -> Table:
    columns = (
        Column("device", "Device"),
        Column("reserved_bytes", "Reserved", "taken from the device"),
        Column("allocated_bytes", "In use", "allocated, or freed and still used by a stream"),
        Column("rounding_bytes", "Rounding", "in use beyond what was asked for"),
        Column("largest_free_bytes", "Largest free", "free block within the reserved memory"),
        Column("segments", "Segments"),
        Column("events", "Events", "of the allocator, in the history"),
    )
    rows = []
    for device in np.union1d(found.segments.device, found.events.device).tolist():
        reserved, held, requested = _bytes(found, device)
        of_device = found.segments.device == device
        free = found.blocks.is_state("inactive") & of_device[found.blocks.segment]
        rows.append(
            (
                _name(device),
                reserved,
                held,
                held - requested,
                int(found.blocks.size[free].max(initial=0)),
                int(of_device.sum()),
                int((found.events.device == device).sum()),
            )
        )
    return Table("Memory when the snapshot was taken", columns, tuple(rows))


_Site: TypeAlias = Callable[[tuple[str, ...]], str]


def _frames(frames: tuple[str, ...]) -> str:
    return " < ".join(frames) or NO_STACK


def _short_frames(frames: tuple[str, ...]) -> str:
    """Frames without their folders: paths of three frames have no room in a terminal."""
    return _frames(tuple(re.split(r"[\\/]", frame)[-1] for frame in frames))


def _sites(found: Snapshot, device: int, name: _Site) -> Table:
    held = peak_state(found, device).held
    total = sum(one.size for one in held)
    columns = (
        _SITE,
        Column("allocated_bytes", "Bytes"),
        Column("allocations", "Allocations"),
        Column("share_ratio", "Share", "of all bytes in use at the peak"),
    )

    def row(site: SiteBytes) -> tuple[str, int, int, float | None]:
        return name(site.frames), site.size, site.count, site.size / total if total else None

    title = f"In use at the peak of device {_name(device)}, {size(total)}, by code"
    return Table(title, columns, tuple(map(row, sites(held, found.stacks))))


def _changes(before: Snapshot, after: Snapshot, device: int, name: _Site) -> Table:
    found = site_changes(before, after, device)
    difference = sum(one.difference for one in found)
    columns = (
        _SITE,
        Column("change", "Change"),
        Column("difference_bytes", "Difference"),
        Column("before_bytes", "Before"),
        Column("after_bytes", "After"),
        Column("before_allocations", "Allocations before", is_minor=True),
        Column("after_allocations", "Allocations after", is_minor=True),
    )
    rows = tuple(
        (
            name(one.frames),
            one.change,
            one.difference,
            one.before,
            one.after,
            one.count_before,
            one.count_after,
        )
        for one in found
    )
    sign = "+" if difference > 0 else ""
    title = f"In use at the peaks of device {_name(device)}: {sign}{size(difference)}, by code"
    return Table(title, columns, rows)


def _first(table: Table, most: int) -> Table:
    if len(table.rows) <= most:
        return table
    return Table(table.title, table.columns, table.rows[:most], len(table.rows), table.note)
