"""Files made to crash or to freeze who reads them, by name; those of a folder beside the traces."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conftest import TRACES
from tests.trace.pickles.drawn_logs import dump
from tests.trace.pickles.drawn_snapshot import MIB, block, event, segment, snapshot

FOLDER = TRACES.parent / "hostile"
"""Files made by hand, where they are at hand."""


def _doubled(value: object) -> object:
    for _ in range(60):
        value = (value, value)
    return value


def _log(filename: object) -> bytes:
    root = dump("world 1|", {"world": [0]})
    root["entries"][0]["frames"][0]["filename"] = filename
    return pickle.dumps(root, 4)


def _list() -> list[Any]:
    inner: list[Any] = ["x"]
    for _ in range(60):
        inner = [inner, inner]
    return inner


_COLLIDING = b"".join(
    b"\x8a\x18" + (n * ((1 << 61) - 1)).to_bytes(24, "little") + b"N" for n in range(1, 50_000)
)
_ELSEWHERE = snapshot(segments=(segment(1 << 20, block(MIB)),))
_ELSEWHERE["device_traces"] = [[], [event("alloc", 1 << 30, MIB, 1)]]

DRAWN: Mapping[str, bytes] = {
    "doubled_key.pickle": b"\x80\x04})" + b"2\x86" * 60 + b"K\x01s.",
    "deep_key.pickle.gz": gzip.compress(b"\x80\x04})" + b"\x85" * 1_000_000 + b"K\x01s."),
    "colliding.pickle.gz": gzip.compress(
        b"\x80\x04}(X\x08\x00\x00\x00segments](}(" + _COLLIDING + b"ueu."
    ),
    "elsewhere.pickle": pickle.dumps(_ELSEWHERE),
    "no_history.pickle": pickle.dumps(snapshot(segments=(segment(1 << 20, block(MIB)),))),
    "nccl_trace_rank_0": _log(_doubled("x")),
    "nccl_trace_rank_1": _log(_list()),
    "nccl_trace_rank_2.json": json.dumps(dump("world 1|", {"world": [2]}))
    .encode()
    .replace(b"all_reduce", b"all\xff\xfereduce"),
    "nccl_trace_rank_3": pickle.dumps(dump("world 1|", {"world": [3]}), 4),
    "inspector.log": b'{"header":{"id":"0x1","rank":0,"n_ranks":2},"metadata":[1,2],'
    b'"coll_perf":{"coll":"AllReduce","coll_sn":1,"coll_exec_time_us":1}}\n',
    "timeline.json": b"[[1700000000000000000, 2, 9223372036854775807, 0],"
    b"[1700000000000000001, 2, 1, 0]]",
}


def write_drawn(folder: Path) -> list[Path]:
    """The drawn files, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in DRAWN.items():
        (folder / name).write_bytes(data)
    return sorted(folder.iterdir())


def made_by_hand() -> list[Path]:
    """Those of the folder; none where it is absent."""
    found = sorted(FOLDER.rglob("*")) if FOLDER.is_dir() else []
    return [path for path in found if path.is_file() and path.suffix != ".md"]
