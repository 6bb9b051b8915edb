"""Pickles, logs of a hang and memory timelines with structure: memo, depth, sharing, collisions.

``python -m tests.fuzz.memory_files COUNT [SEED]`` reads so many inputs, each under a limit of
processor time, and prints what was wrong; kinds take turns.
"""

from __future__ import annotations

import io
import json
import pickle
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinetoscope.analysis.distributed.hang import explain_hang
from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.base.native import native
from kinetoscope.trace.io.memory_timeline import read_timeline
from kinetoscope.trace.memory_model import MOST_BYTES
from kinetoscope.trace.pickles import snapshot as snapshots
from kinetoscope.trace.pickles.flight_recorder import read_log
from kinetoscope.trace.pickles.snapshot import read_snapshot
from kinetoscope.trace.read import read
from kinetoscope.views.distributed.logs import _answer
from tests.reference.snapshots import read_records
from tests.trace.pickles import drawn_logs, drawn_snapshot
from tests.trace.pickles.test_native import is_same

from .campaign import failure
from .mutations import mutated

CPU_SECONDS = 2.0
IN_TEXT = (1, 3, 8)  # doublings: a text has no references
WORDS = (
    "segments", "device_traces", "host_segments", "blocks", "action", "size", "filename", "name",
    "line", "state", "addr", "frames", "time_us", "total_size", "address", "history", "stage",
    "external_annotations", "allocator_settings", "entries", "pg_config", "pg_status", "ranks",
    "profiling_name", "process_group", "collective_seq_id", "input_sizes", "input_dtypes", "START",
    "alloc", "free_completed", "oom", "active_allocated", "nccl:all_reduce", "completed", "0", "",
)  # fmt: skip
NUMBERS = (0, 1, 2, -1, 255, 1 << 31, 1 << 40, (1 << 61) - 1, (1 << 61) - 2, 1 << 63, -(1 << 63),
           (1 << 64) + 1, 1 << 90)  # fmt: skip
Chance = random.Random


# --- pickles ------------------------------------------------------------------------------------


def _long(value: int) -> bytes:
    text = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(text)]) + text


def _text(text: str) -> bytes:
    encoded = text.encode()
    return b"X" + len(encoded).to_bytes(4, "little") + encoded


def _scalar(chance: Chance) -> bytes:
    kind = chance.randrange(6)
    if kind < 3:
        return _text(chance.choice(WORDS))
    if kind == 3:
        return _long(chance.choice(NUMBERS))
    if kind == 4:
        return _long(chance.randrange(1 << 16) * ((1 << 61) - 1) + chance.randrange(3))
    return chance.choice((b"N", b"\x88", b"\x89", b"G\x3f\xf8" + bytes(6), b"K\x07", b"C\x01x"))


def _doubled(chance: Chance) -> bytes:
    times = chance.choice((2, 10, 25, 60, 250))
    match chance.randrange(4):
        case 0:
            return b")" + b"2\x86" * times
        case 1:
            return b")" + b"\x85" * times
        case 2:
            return b"]" + b"".join(b"r" + n.to_bytes(4, "little") + b"]"
                                   + 2 * (b"j" + n.to_bytes(4, "little") + b"a")
                                   for n in range(times))  # fmt: skip
        case _:
            return b"](" + _scalar(chance) + b"e" + b"2" * times


def program(chance: Chance) -> bytes:
    """Instructions that mostly find their values, in an order that no pickler writes."""
    out, values, marks, memo = [b"\x80\x04"], 0, [0], 0
    for _ in range(chance.randrange(3, 120)):
        own = values - marks[-1]
        roll = chance.random()
        if roll < 0.3:
            out.append(_scalar(chance))
            values += 1
        elif roll < 0.45:
            out.append(chance.choice((b"}", b"]", b")")))
            values += 1
            if chance.random() < 0.6:
                out.append(b"\x94")
                memo += 1
        elif roll < 0.52:
            out.append(b"(")
            marks.append(values)
        elif roll < 0.62 and len(marks) > 1:
            values = marks.pop()
            code = chance.choice((b"u", b"e", b"t", b"d", b"l", b"1"))
            values += code in b"tdl"
            out.append(code)
        elif roll < 0.72 and own >= 2:
            out.append(chance.choice((b"a", b"s", b"\x86")))
            values -= 1
        elif roll < 0.8 and memo:
            out.append(b"h" + bytes([chance.randrange(min(memo, 256))]))
            values += 1
        elif roll < 0.86 and own:
            out.append(chance.choice((b"2", b"\x85", b"\x94", b"0", b"2\x86")))
        elif roll < 0.9:
            out.append(_doubled(chance))
            values += 1
        else:
            out.append(_record(chance))
            values += 1
    return b"".join(out) + b"e" * chance.randrange(3) + b"."


def _record(chance: Chance) -> bytes:
    """A dict with some keys of a record, some of them with containers as values."""
    keys = chance.sample(WORDS, chance.randrange(1, 7))
    pairs = [
        _text(key) + (_scalar(chance) if chance.random() < 0.7 else _small(chance)) for key in keys
    ]
    return b"}(" + b"".join(pairs) + b"u"


def _small(chance: Chance) -> bytes:
    inner = b"".join(_scalar(chance) for _ in range(chance.randrange(3)))
    return chance.choice((b"](" + inner + b"e", b"(" + inner + b"t", _doubled(chance)))


def _odd(value: Any, chance: Chance, doublings: tuple[int, ...] = (1, 3, 12, 40)) -> Any:
    """A value with some members replaced: by others, by itself, by what shares a hash."""
    if chance.random() < 0.04:
        shared: Any = [chance.choice(WORDS)]
        for _ in range(chance.choice(doublings)):
            shared = [shared, shared] if chance.random() < 0.7 else (shared,)
        return chance.choice((shared, chance.choice(NUMBERS), None, 1.5, "é\udc80", {}, [], (),
                              {"name": "f", "filename": "g", "line": 1},
                              {"state": "x", "size": 1}))  # fmt: skip
    if isinstance(value, dict):
        return {key: _odd(one, chance, doublings) for key, one in value.items()}
    if isinstance(value, list):
        found = [_odd(one, chance, doublings) for one in value]
        return found * 3 if chance.random() < 0.03 else found
    return value


def _snapshot(chance: Chance) -> dict[str, Any]:
    made = drawn_snapshot
    events = [
        made.event(chance.choice(("alloc", "free_completed", "oom", "segment_alloc")),
                   4096 * chance.randrange(9), 512 * chance.randrange(9), number, "a.py:1 f")
        for number in range(chance.randrange(6))
    ]  # fmt: skip
    states = ("active_allocated", "inactive")
    blocks = [made.block(512, chance.choice(states), "a.py:2 g") for _ in range(3)]
    segment = made.segment(1 << 20, *blocks, device=chance.randrange(2))
    traces = [events, []] if chance.random() < 0.5 else [[], events]
    return {"segments": [segment], "device_traces": traces}


def _lines(chance: Chance) -> str:
    words = [f"{n}{chance.choice(('', '', '|', ':send->1', '[4]'))}" for n in range(1, 5)]
    return " ".join(["world", *words])


def _dump(chance: Chance) -> dict[str, Any]:
    return drawn_logs.dump(_lines(chance), {"world": range(chance.choice((2, 4)))})


def a_pickle(chance: Chance) -> bytes:
    if chance.random() < 0.5:
        found = program(chance)
    else:
        root = _odd(chance.choice((_snapshot, _dump))(chance), chance)
        found = pickle.dumps(root, chance.choice((2, 4, 5)))
    return mutated(found, [program(chance)], chance) if chance.random() < 0.4 else found


def a_log(chance: Chance) -> bytes:
    if chance.random() < 0.4:
        lines = drawn_logs.inspected(0, 2, 4).splitlines()
        odd = [json.dumps(_odd(json.loads(line), chance, IN_TEXT)) for line in lines]
        found = "\n".join(odd).encode()
    else:
        found = json.dumps(_odd(_dump(chance), chance, IN_TEXT)).encode()
    if chance.random() < 0.1:
        found += b"[" * chance.choice((10, 1000, 100_000))
    return mutated(found, [b"\xff\xfe", b'"entries"'], chance) if chance.random() < 0.5 else found


def a_timeline(chance: Chance) -> bytes:
    def number(usual: int) -> Any:
        return usual if chance.random() < 0.97 else chance.choice((*NUMBERS, 1.5, "1", None, [1]))

    many = chance.randrange(12)
    if chance.random() < 0.5:
        rows: Any = [
            [number(1_700_000_000_000_000_000 + at) if chance.random() < 0.8 else -1,
             number(chance.choice((2, 3, 4, 1))), number(chance.randrange(-5, 1 << 20)),
             number(chance.randrange(8))]
            for at in range(many)
        ]  # fmt: skip
    else:
        sums = [[number(chance.randrange(1 << 20)) for _ in range(9)] for _ in range(many)]
        rows = [[number(1_700_000_000_000_000 + at) for at in range(many)], sums]
    found = json.dumps(_odd(rows, chance, IN_TEXT)).encode()
    return mutated(found, [b"-9223372036854775808"], chance) if chance.random() < 0.3 else found


# --- what must hold -----------------------------------------------------------------------------


@contextmanager
def limited(seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Raises TimeoutError beyond so much processor time."""

    def stop(*_: object) -> None:
        raise TimeoutError("it takes too long")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    began = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if time.process_time() - began > seconds:
        stop()


def _said(data: bytes) -> Any:
    try:
        return read_snapshot(io.BytesIO(data))
    except TraceFormatError as error:
        return error.kind, error.message


def check_pickle(data: bytes) -> list[str]:
    """Both readers say the same; what they say can be shown; the log reader refuses or reads it."""
    with limited():
        found = _said(data)
        if native().library is not None:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(snapshots, "read_natively", read_records)
                reference = _said(data)
            # What torch does not write the native reader refuses.
            if not isinstance(found, tuple) and not is_same(found, reference):
                return [f"readers differ: {str(found)[:300]} / {str(reference)[:300]}"]
    if not isinstance(found, tuple):
        with _file(data, "snapshot.pickle") as path, limited(2 * CPU_SECONDS):
            memory_of(read(path))
    return check_log(data)


def check_log(data: bytes) -> list[str]:
    """It is read or refused; what is read can be explained and sent."""
    with _file(data, "nccl_trace_rank_0") as path, limited():
        try:
            logs = read_log(path)
        except TraceFormatError:
            return []
        msgspec.json.encode(_answer(logs, ()))
        explain_hang(logs)
    return []


def check_timeline(data: bytes) -> list[str]:
    """It is read or refused, and no sum is beyond reason."""
    with _file(data, "memory.json") as path, limited():
        try:
            found = read_timeline(path)
        except TraceFormatError:
            return []
        most = max((abs(one) for one in found.base), default=0)
        return ["beyond reason"] if most > MOST_BYTES or found.length_us < 0 else []


@contextmanager
def _file(data: bytes, name: str) -> Iterator[Path]:
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        yield path


KINDS: dict[str, tuple[Callable[[Chance], bytes], Callable[[bytes], list[str]]]] = {
    "pickle": (a_pickle, check_pickle),
    "log": (a_log, check_log),
    "timeline": (a_timeline, check_timeline),
}


def main() -> int:
    """Read inputs of each kind in turn; the exit code is how many kinds of failures there were."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    chance = Chance(seed)
    done: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for turn in range(count // len(KINDS)):
        if turn % 1000 == 999:
            sys.stderr.write(f"{dict(done)} {dict(seen)}\n")
        for name, (draw, check) in KINDS.items():
            data = draw(chance)
            done[name] += 1
            found = failure(check, data)
            if found:
                seen[f"{name}: {found.kind}"] += 1
                if seen[f"{name}: {found.kind}"] == 1:
                    sys.stderr.write(f"{name} {len(data)} {data[:2000]!r}\n{found.reasons}\n")
    sys.stdout.write(f"{dict(done)} {dict(seen)}\n")
    return len(seen)


if __name__ == "__main__":
    sys.exit(main())
