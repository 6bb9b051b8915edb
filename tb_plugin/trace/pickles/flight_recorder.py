"""Which collectives did a rank enter, and which of them ended? Files that a hanging job leaves.

Two writers, one table. PyTorch's *flight recorder* keeps the last collectives of a process and
writes them when one times out (``TORCH_NCCL_DUMP_ON_TIMEOUT``, file names begin with
``TORCH_NCCL_DEBUG_INFO_TEMP_FILE``), or when asked to, as a pickle or as JSON; what it has is told
by the PyTorch tutorial "Flight Recorder for Debugging Stuck Jobs". The *NCCL Inspector*, a plugin
of NCCL from 2.28 on (RCCL has it, too), writes a line of JSON for each collective that ended; what
they have is told by the README of the plugin.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.errors import TraceFormatError
from ...base.regex import regex
from ..io.json_text import decoded
from ..io.source import Text
from ..raw import FaultLog
from .pickle_bytes import text_of
from .unpickle import unpickle

LogWriter = Literal["flight recorder", "NCCL Inspector"]
SCHEDULED, STARTED, COMPLETED = 0, 1, 2
UNKNOWN = -1
MOST_TEXT = 128 << 20
"""Bytes of JSON that are read at once."""
MOST_LINE = 1 << 20
MOST_NAME, MOST_PATH = 200, 1000
MOST_GROUPS = 4096
"""Process groups, or communicators, that one file may name."""
MOST_RANKS = 4_000_000
_MOST_FRAMES, _MOST_SIDE = 256, 8
HALF_LINE = "Its last line is only half there, and does not count"
_LARGEST = (1 << 62) - 1


class LoggedGroup(Struct, frozen=True):
    """A process group as one rank names it.

    Attributes:
        ranks: global ranks; () where the file does not tell.
        size: number of ranks; 0 where the file does not tell.
        last_entered, last_completed: sequence number of the last collective that was issued and
            that ended, as the recorder counted them; ``UNKNOWN`` where it did not.
    """

    name: str
    description: str
    ranks: tuple[int, ...]
    size: int
    last_entered: int
    last_completed: int


class CollectiveLog(Struct, frozen=True):
    """The collectives of one rank, in the order of the file.

    Attributes:
        rank: global rank; of the Inspector the rank in ``groups``; ``UNKNOWN`` if nothing tells.
        process: host and process, as the Inspector writes them; "" otherwise.
        group: row of ``groups``.
        sequence: number of the collective, or of the message between two ranks, in its group.
        operation: code into ``operations``: all_reduce, send 0->1.
        signature: code into ``signatures``: sizes and types.
        state: ``SCHEDULED``, ``STARTED`` or ``COMPLETED``.
        is_p2p: a message between two ranks.
        place: code into ``places``: the innermost frame of the user's code; ``UNKNOWN`` = none.
        created_ns: when it was issued, since 1970; of the Inspector when it was written down.
        dur_ns: how long it took; ``UNKNOWN`` where that was not measured.
        bytes: of the message; ``UNKNOWN`` where the file has none.
        bus_gbs: bus bandwidth in GB/s as the Inspector tells it; NaN otherwise.
        damage: why the rest of the file is missing; "" when it is whole.
        skipped: records that could not be understood, a half last line among them.
    """

    path: str
    writer: LogWriter
    rank: int
    process: str
    groups: tuple[LoggedGroup, ...]
    group: NDArray[np.int32]
    sequence: NDArray[np.int64]
    operation: NDArray[np.int32]
    signature: NDArray[np.int32]
    state: NDArray[np.int8]
    is_p2p: NDArray[np.bool_]
    place: NDArray[np.int32]
    created_ns: NDArray[np.int64]
    dur_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    bus_gbs: NDArray[np.float64]
    operations: tuple[str, ...]
    signatures: tuple[str, ...]
    places: tuple[str, ...]
    damage: str
    skipped: int


def read_log(path: Path) -> tuple[CollectiveLog, ...]:
    """The collectives that a file tells of: of one rank, or of each communicator's rank.

    Raises:
        NotFoundError: there is no such file.
        TraceFormatError: it is neither a dump of the flight recorder nor a log of the Inspector.
    """
    try:
        with Text(path, FaultLog()) as text:
            head = text.read(1)
            rest = _After(head, text)
            if head == b"\x80":
                table = _Table()
                result = unpickle(rest, table.fold)
                table.skipped += _odd_entries(result.value)
                return (_recorded(path, result.value, table, result.damage),)
            if head == b"{":
                return _from_json(path, rest)
    except (ValueError, ArithmeticError, RecursionError, MemoryError, EOFError) as error:
        # Whatever else a library makes of a hostile file: it costs this file.
        raise _no_log(path, f"It cannot be read: {str(error) or type(error).__name__}.") from error
    raise _no_log(path)


def _no_log(path: Path, why: str = "") -> TraceFormatError:
    said = f"{path} is no dump of the flight recorder and no log of the NCCL Inspector."
    return TraceFormatError(
        "collective_log",
        f"{said} {why}".strip(),
        hint="Give the folder that TORCH_NCCL_DEBUG_INFO_TEMP_FILE or the Inspector writes to.",
    )


class _After:
    """A text whose first byte was looked at."""

    def __init__(self, head: bytes, text: Text) -> None:
        self._head, self._text = head, text

    def read(self, n: int, /) -> bytes:
        if self._head:
            head, self._head = self._head, b""
            return head + self._text.read(max(n - 1, 1))
        return self._text.read(n)


# --- rows -----------------------------------------------------------------------------------------


class _Texts(dict[Any, int]):
    """Texts by code, in the order in which they first appear."""

    def __missing__(self, value: object) -> int:
        self[value] = code = len(self)
        return code


class _Place(str):
    """A frame of the user's code, or of any."""

    __slots__ = ("is_own",)
    is_own: bool


class _Row(int):
    """Row of an entry, in its place."""


_INTEGERS = (
    "group",
    "sequence",
    "operation",
    "signature",
    "state",
    "is_p2p",
    "place",
    "created_ns",
    "dur_ns",
    "bytes",
)


class _Table:
    """Growing columns, and the groups that they name."""

    def __init__(self) -> None:
        self.columns = {name: array("q") for name in _INTEGERS}
        self.bus = array("d")
        self.groups = _Texts()
        self.operations, self.signatures, self.places = _Texts(), _Texts(), _Texts()
        self.skipped = 0

    def add(self, bus: float, *values: int) -> int:
        """Append a row, the values in the order of ``_INTEGERS``; its number."""
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)
        self.bus.append(bus)
        return len(self.bus) - 1

    def fold(self, container: dict[Any, Any] | list[Any]) -> object:
        """The row of a complete entry, the text of a frame, the container itself otherwise."""
        if isinstance(container, list):
            return container
        if "profiling_name" in container:
            return _Row(self.entry(container))
        if "filename" in container and "name" in container:
            return _place(container)
        return container

    def entry(self, one: dict[Any, Any]) -> int:
        """The row of an entry of the flight recorder; −1 if it cannot be understood."""
        name, group = text_of(one["profiling_name"], MOST_NAME), one.get("process_group")
        is_p2p = bool(one.get("is_p2p", False))
        sequence = _int(
            one.get("p2p_seq_id" if is_p2p else "collective_seq_id", one.get("seq_id")), UNKNOWN
        )
        if not isinstance(group, tuple | list) or not group or sequence < 0:
            self.skipped += 1
            return UNKNOWN
        description = text_of(group[1], MOST_NAME) if len(group) > 1 else ""
        backend, _, operation = name.rpartition(":")
        milliseconds = one.get("duration_ms")
        took = isinstance(milliseconds, float | int) and 0 <= milliseconds < 1e12
        return self.add(
            float("nan"),
            self.groups[text_of(group[0], MOST_NAME), description],
            sequence,
            self.operations[operation.strip()],
            self.signatures[_signature(one)],
            _state(one, backend),
            int(is_p2p),
            self.place(one.get("frames")),
            _int(one.get("time_created_ns"), UNKNOWN),
            round(milliseconds * 1e6) if took else UNKNOWN,  # type: ignore[operator]
            UNKNOWN,
        )

    def place(self, frames: object) -> int:
        """The innermost frame of the user's own code, else the innermost."""
        kept = frames if isinstance(frames, list | tuple) else ()
        found = [one for one in kept[:_MOST_FRAMES] if isinstance(one, _Place)]
        chosen = next((one for one in found if one.is_own), found[0] if found else None)
        return UNKNOWN if chosen is None else self.places[str(chosen)]

    def log(self, **told: Any) -> CollectiveLog:  # noqa: ANN401  # fields of the log
        """The log of all rows."""

        def ints(name: str) -> NDArray[np.int64]:
            return np.array(self.columns[name], np.int64)

        return CollectiveLog(
            group=ints("group").astype(np.int32),
            sequence=ints("sequence"),
            operation=ints("operation").astype(np.int32),
            signature=ints("signature").astype(np.int32),
            state=ints("state").astype(np.int8),
            is_p2p=ints("is_p2p").astype(np.bool_),
            place=ints("place").astype(np.int32),
            created_ns=ints("created_ns"),
            dur_ns=ints("dur_ns"),
            bytes=ints("bytes"),
            bus_gbs=np.array(self.bus, np.float64),
            operations=tuple(self.operations),
            signatures=tuple(self.signatures),
            places=tuple(self.places),
            **told,
        )


def _int(value: object, missing: int) -> int:
    """A whole number that int64 holds, else ``missing``."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= _LARGEST else missing  # type: ignore[call-overload, operator]


def _state(one: dict[Any, Any], backend: str) -> int:
    """State of a collective. Gloo never moves on from "scheduled", it only retires."""
    state = text_of(one.get("state"))
    if state == "completed" or (bool(one.get("retired")) and backend.lower() != "nccl"):
        return COMPLETED
    return STARTED if state == "started" else SCHEDULED


def _signature(one: dict[Any, Any]) -> str:
    """Sizes and types of the input and the output."""

    def side(name: str) -> str:
        sizes, types = one.get(f"{name}_sizes"), one.get(f"{name}_dtypes")
        sizes = sizes if isinstance(sizes, list | tuple) else ()
        types = types if isinstance(types, list | tuple) else ()
        named = [text_of(type_ or "", 32) for type_ in types[:_MOST_SIDE]]
        pairs = zip(sizes[:_MOST_SIDE], [*named, *[""] * _MOST_SIDE], strict=False)
        return ", ".join(f"{type_}{_dims(size)}" for size, type_ in pairs)

    return f"{side('input')} → {side('output')}"


def _dims(size: object) -> str:
    members = size if isinstance(size, list | tuple) else ()
    more = ["…"] if len(members) > _MOST_SIDE else []
    return f"[{', '.join([*(str(_int(n, 0)) for n in members[:_MOST_SIDE]), *more])}]"


_OTHERS = regex(r"(?:^|[\\/])(?:torch|site-packages|dist-packages|lib/python[\d.]+)[\\/]|^<")


def _place(frame: dict[Any, Any]) -> _Place:
    filename, line = text_of(frame["filename"], MOST_PATH), _int(frame.get("line"), 0)
    place = _Place(f"{filename}:{line} {text_of(frame['name'], MOST_NAME)}")
    place.is_own = _OTHERS.search(filename) is None
    return place


# --- the flight recorder --------------------------------------------------------------------------


def _odd_entries(root: object) -> int:
    """Number of values among the entries that are no entry."""
    entries = root.get("entries", []) if isinstance(root, dict) else []
    if not isinstance(entries, list | tuple):
        return 1
    return sum(type(one) is not _Row for one in entries)


def _recorded(path: Path, root: object, table: _Table, damage: str) -> CollectiveLog:
    if not isinstance(root, dict) or not {"entries", "pg_config"} & root.keys():
        raise _no_log(path)
    config, status = root.get("pg_config"), root.get("pg_status")
    config = config if isinstance(config, dict) else {}
    # A group that the process is in and never used: it is missed there.
    used = {name for name, _ in table.groups}
    names = [name for name in config if isinstance(name, str) and len(name) <= MOST_NAME]
    unused = [name for name in names if name and name not in used]
    named = [*table.groups, *((name, "") for name in unused)]
    if len(named) > MOST_GROUPS:
        raise _no_log(path, f"It names more than {MOST_GROUPS:,} process groups.")
    told = _ToldRanks()
    groups = tuple(_group(name, description, config, status, told) for name, description in named)
    rank = _int(root.get("rank"), UNKNOWN)
    return table.log(
        path=str(path),
        writer="flight recorder",
        rank=rank if rank >= 0 else _rank_of(path.name),
        process="",
        groups=groups,
        damage=damage,
        skipped=table.skipped,
    )


def _group(
    name: str, description: str, config: object, status: object, told_ranks: _ToldRanks
) -> LoggedGroup:
    told = config.get(name) if isinstance(config, dict) else None
    counts = status.get(name) if isinstance(status, dict) else None
    told = told if isinstance(told, dict) else {}
    counts = counts if isinstance(counts, dict) else {}
    ranks = told_ranks.of(told.get("ranks"))
    return LoggedGroup(
        name,
        description or text_of(told.get("desc", ""), MOST_NAME),
        ranks,
        len(ranks),
        _int(counts.get("last_enqueued_collective"), UNKNOWN),
        _int(counts.get("last_completed_collective"), UNKNOWN),
    )


class _ToldRanks:
    """Ranks of groups; groups may name the same list or text, which is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, ...]] = {}
        self._room = MOST_RANKS

    def of(self, told: object) -> tuple[int, ...]:
        """The ranks; () where they are not told, or where all groups name too many."""
        known = self._known.get(id(told))
        if known is None:
            known = self._known[id(told)] = _ranks(told)
        self._room -= len(known)
        return known if self._room >= 0 else ()


def _ranks(told: object) -> tuple[int, ...]:
    """``[0, 1]``, as a list or as text."""
    if isinstance(told, str):
        told = [int(n) for n in re.findall(r"\d{1,9}", told)] if "..." not in told else []
    found = [_int(n, UNKNOWN) for n in told] if isinstance(told, list | tuple) else []
    return tuple(sorted(set(found))) if found and min(found) >= 0 else ()


def _rank_of(name: str) -> int:
    """The rank at the end of a file's name: ``nccl_trace_rank_3``, ``rank_3.json``."""
    found = re.search(r"(\d{1,9})(?:\.(?:json|pickle|pkl|bin|pt|gz))*$", name)
    return int(found[1]) if found else UNKNOWN


# --- JSON: the recorder's other form, and the Inspector -------------------------------------------


def _from_json(path: Path, text: _After) -> tuple[CollectiveLog, ...]:
    data = bytearray()
    while len(data) < 1 << 16 and (piece := text.read(1 << 20)):
        data += piece
    first, _, _ = bytes(data[: 1 << 16]).partition(b"\n")
    if b'"header"' in first and b"_perf" in first:
        return _inspected(path, bytes(data), text)
    while piece := text.read(1 << 20):
        data += piece
        if len(data) > MOST_TEXT:
            raise _no_log(path, f"It has more than {MOST_TEXT:,} bytes of text.")
    root: Any = decoded(data)
    entries = root.get("entries") if isinstance(root, dict) else None
    if not isinstance(entries, list):
        raise _no_log(path)
    table = _Table()
    for one in entries:
        if isinstance(one, dict) and "profiling_name" in one:
            frames = one.get("frames")
            kept = frames if isinstance(frames, list) else ()
            shown = [_place(f) for f in kept if _is_frame(f)]
            table.entry({**one, "frames": shown})
        else:
            table.skipped += 1
    return (_recorded(path, root, table, ""),)


def _is_frame(one: object) -> bool:
    return isinstance(one, dict) and "filename" in one and "name" in one


def _lines(data: bytes, text: _After) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether its end is there; of one that is too long the first part."""
    is_long = False
    while True:
        *whole, data = data.split(b"\n")
        for line in whole:
            if not is_long:
                yield line, True
            is_long = False
        if len(data) > MOST_LINE:
            if not is_long:
                yield data[:MOST_LINE], True
            data, is_long = b"", True
        piece = text.read(1 << 20)
        if not piece:
            break
        data += piece
    if not is_long:
        yield data, False


def _inspected(path: Path, data: bytes, text: _After) -> tuple[CollectiveLog, ...]:
    """A log for each communicator of the file: they have ranks of their own."""
    tables: dict[tuple[str, int, int, str], _Table] = {}
    skipped = 0
    is_half = False
    for line, is_whole in _lines(data, text):
        if not line.strip():
            continue
        try:
            one: Any = decoded(line)
        except ValueError:
            skipped += 1
            is_half = not is_whole  # every line that was written whole ends with a break
            continue
        key = _communicator(one)
        is_room = key in tables or len(tables) < MOST_GROUPS
        if key is None or not is_room or not _inspected_row(tables, key, one):
            skipped += 1
    if not tables:
        raise _no_log(path)
    return tuple(
        table.log(
            path=str(path),
            writer="NCCL Inspector",
            rank=rank,
            process=process,
            groups=(LoggedGroup(id_, "", (), size, UNKNOWN, UNKNOWN),),
            damage=HALF_LINE if is_half else "",  # of which communicator, it does not tell
            skipped=skipped if first == 0 else 0,
        )
        for first, ((id_, rank, size, process), table) in enumerate(tables.items())
    )


def _communicator(one: object) -> tuple[str, int, int, str] | None:
    header = one.get("header") if isinstance(one, dict) else None
    if not isinstance(header, dict):
        return None
    rank, size = _int(header.get("rank"), UNKNOWN), _int(header.get("n_ranks"), UNKNOWN)
    told = one.get("metadata") if isinstance(one, dict) else None
    told = told if isinstance(told, dict) else {}
    parts = (text_of(told.get(name, ""), MOST_NAME) for name in ("hostname", "pid"))
    id_ = text_of(header.get("id", ""), MOST_NAME)
    return (id_, rank, size, " ".join(parts).strip()) if 0 <= rank < size else None


def _inspected_row(
    tables: dict[tuple[str, int, int, str], _Table], key: tuple[str, int, int, str], one: Any,  # noqa: ANN401  # JSON
) -> bool:  # fmt: skip
    for kind in ("coll", "p2p"):
        told = one.get(f"{kind}_perf")
        if not isinstance(told, dict):
            continue
        sequence = _int(told.get(f"{kind}_sn"), UNKNOWN)
        if sequence < 0:
            return False
        table = tables.setdefault(key, _Table())
        us, bus = told.get(f"{kind}_exec_time_us"), told.get(f"{kind}_busbw_gbs")
        has_time = isinstance(us, int | float) and 0 <= us < 1e15
        operation = _snake(text_of(told.get(kind, ""), MOST_NAME))
        metadata = one.get("metadata")
        written = metadata.get("dump_timestamp_us") if isinstance(metadata, dict) else None
        if kind == "p2p":
            operation = f"{operation} {_int(told.get('p2p_peer'), UNKNOWN)}"
        table.add(
            bus if isinstance(bus, float) else float(_int(bus, 0)) or float("nan"),
            table.groups[key[0]],
            sequence,
            table.operations[operation],
            table.signatures[""],
            COMPLETED,
            int(kind == "p2p"),
            UNKNOWN,
            _int(_int(written, 0) * 1000, 0) or UNKNOWN,
            round(us * 1000) if has_time else UNKNOWN,  # type: ignore[operator]
            _int(told.get(f"{kind}_msg_size_bytes"), UNKNOWN),
        )
        return True
    return False


def _snake(name: str) -> str:
    """``ReduceScatter`` → ``reduce_scatter``, as PyTorch writes it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


_TRACE = regex(r"\.(?:pt\.trace\.json|trace\.json|pt)(?:\.gz)?$|(?<!nccl_)trace.*\.json(?:\.gz)?$")
MOST_FILES = 100_000


def logs_below(path: Path) -> tuple[Path, ...]:
    """Possible logs: ``path`` itself, or the files in this folder that look like one.

    Of a folder the files that begin as a pickle, or as JSON that is no trace by its name.
    """
    if not path.is_dir():
        return (path,)
    found = sorted(one for one in path.iterdir() if one.is_file())[:MOST_FILES]
    return tuple(one for one in found if _may_be_log(one))


def _may_be_log(path: Path) -> bool:
    if _TRACE.search(path.name):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    if head[:1] == b"\x80":
        return b"entries" in head or b"pg_config" in head
    return head[:1] == b"{" and (b"_perf" in head or b'"entries"' in head)


def global_ranks(logs: Iterable[CollectiveLog]) -> dict[str, int]:
    """Process → global rank, of the Inspector's logs: the rank in the largest communicator."""
    best: dict[str, tuple[int, int]] = {}
    for log in logs:
        if log.writer == "NCCL Inspector" and log.process:
            size = log.groups[0].size
            if size > best.get(log.process, (0, 0))[0]:
                best[log.process] = (size, log.rank)
    return {process: rank for process, (_, rank) in best.items()}
