"""Memory snapshots drawn by hand: what an allocator did, a line each, as torch writes it."""

from __future__ import annotations

import io
import pickle
from typing import Any

from kinetoscope.trace.memory_model import Snapshot
from kinetoscope.trace.pickles.snapshot import read_snapshot

MIB = 1 << 20


def frames(*lines: str) -> list[dict[str, Any]]:
    """``"train.py:7 forward"`` as torch writes frames, innermost first."""
    result = []
    for line in filter(None, lines):
        place, _, name = line.partition(" ")
        file, _, number = place.rpartition(":")
        result.append({"filename": file, "line": int(number), "name": name})
    return result


def event(
    action: str, addr: int, size: int, time_us: int, *stack: str, **more: object
) -> dict[str, Any]:
    """One entry of a device's trace."""
    return {
        "action": action,
        "addr": addr,
        "size": size,
        "stream": 0,
        "time_us": time_us,
        "frames": frames(*stack),
        **more,
    }


def block(
    size: int, state: str = "active_allocated", *stack: str, **more: object
) -> dict[str, Any]:
    """One piece of a segment."""
    return {"size": size, "requested_size": size, "state": state, "frames": frames(*stack), **more}


def segment(address: int, *blocks: dict[str, Any], **more: object) -> dict[str, Any]:
    """One reserved range; its size is that of its blocks, which lie one behind the other."""
    at = address
    for one in blocks:
        one.setdefault("address", at)
        at += one["size"]
    held = sum(one["size"] for one in blocks if one["state"] == "active_allocated")
    return {
        "device": 0,
        "address": address,
        "total_size": at - address,
        "allocated_size": held,
        "active_size": held,
        "requested_size": held,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": list(blocks),
        **more,
    }


def snapshot(
    *events: dict[str, Any], segments: tuple[dict[str, Any], ...] = (), **more: object
) -> dict[str, Any]:
    """The dict that torch pickles, of one device."""
    return {"segments": list(segments), "device_traces": [list(events)], **more}


def reread(root: object) -> Snapshot:
    """What our reader makes of it."""
    return read_snapshot(io.BytesIO(pickle.dumps(root)))
