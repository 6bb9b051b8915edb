"""A memory snapshot of any size through the real catalog, and its views over HTTP.

    python -m benchmarks.snapshots [--bytes 100000000] [--requests 40] [--keep]

The snapshot is made up: a training whose activations wait for the backward pass, each allocation
with a stack of forty frames, pickled as torch does (protocol 4, repeated objects by number). Memory
is that of all processes of the server, as high as it rose. The address map is dragged in a headless
Chromium, if there is one; CPU time per frame is that of the page's main thread.
"""

from __future__ import annotations

import io
import math
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from benchmarks import _corpus, _results
from benchmarks._measure import sampled, tree_cpu_seconds
from benchmarks._server import Server, linked, server
from benchmarks._viewports import percentile
from benchmarks.memory import ranges
from benchmarks.timeline_fps import (
    SIZE,
    WATCH,
    chromium,
    chromium_path,
    main_thread_seconds,
    watched,
)
from kinetoscope.trace.pickles.snapshot import read_snapshot

LAYERS, DEPTH = 48, 40
ACTIVATION, TEMPORARY, PARAMETER = 64 << 20, 16 << 20, 200 << 20
BASE = 0x7F00 << 32
BACKWARD = 4 * LAYERS


class Pickler:
    """Plain data as protocol 4 writes it; what repeats is named by its number."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._known, self._count = file, dict[str, int](), 0
        file.write(b"\x80\x04")

    def memoize(self) -> int:
        """The number of the value just written."""
        self._file.write(b"\x94")
        self._count += 1
        return self._count - 1

    def get(self, number: int) -> None:
        """A value again."""
        self._file.write(b"j" + struct.pack("<I", number))

    def text(self, text: str) -> None:
        """A string."""
        if text in self._known:
            self.get(self._known[text])
            return
        data = text.encode()
        self._file.write(b"X" + struct.pack("<I", len(data)) + data)
        self._known[text] = self.memoize()

    def number(self, value: int) -> None:
        """An integer of up to eight bytes."""
        if -(1 << 31) <= value < 1 << 31:
            self._file.write(b"J" + struct.pack("<i", value))
        else:
            self._file.write(b"\x8a\x08" + struct.pack("<q", value))

    def write(self, code: bytes) -> None:
        """Instructions as they are."""
        self._file.write(code)

    def value(self, value: Any) -> None:  # noqa: ANN401  plain data
        """Plain data."""
        if isinstance(value, str):
            self.text(value)
        elif isinstance(value, bool) or value is None:
            self.write({True: b"\x88", False: b"\x89", None: b"N"}[value])
        elif isinstance(value, int):
            self.number(value)
        elif isinstance(value, tuple):
            for one in value:
                self.value(one)
            self.write(b"\x86")
        elif isinstance(value, dict):
            self.write(b"}")
            self.memoize()
            self.write(b"(")
            for key, one in value.items():
                self.text(key)
                self.value(one)
            self.write(b"u")
        else:
            self.write(b"]")
            self.memoize()
            self.write(b"(")
            for one in value:
                self.value(one)
            self.write(b"e")


def made(size: int, folder: Path) -> Path:
    """The snapshot, written once; at least so many bytes."""
    target = folder / f"snapshot-{size}.pickle"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".part")
        with partial.open("wb", buffering=1 << 20) as file:
            _write(Pickler(file), file, size)
        partial.rename(target)
    return target


def _write(out: Pickler, file: BinaryIO, size: int) -> None:
    out.write(b"}")
    out.memoize()
    out.write(b"(")
    out.text("segments")
    out.value(_segments())
    out.text("device_traces")
    out.write(b"](](")
    stacks = _Stacks(out)
    for number, (action, address, bytes_, layer) in enumerate(_events()):
        out.write(b"}")
        out.memoize()
        out.write(b"(")
        for key, value in (
            ("action", action), ("addr", address), ("size", bytes_), ("stream", 0),
            ("time_us", 1_790_000_000_000_000 + 25 * number), ("compile_context", "N/A"),
            ("user_metadata", ""),
        ):  # fmt: skip
            out.text(key)
            out.value(value)
        out.text("frames")
        stacks.write(action, layer)
        out.write(b"u")
        if number % BACKWARD == BACKWARD - 1:
            # A pickler puts a thousand values into a list at once.
            out.write(b"e(")
            if file.tell() >= size:
                break
    out.write(b"ee")
    out.text("allocator_settings")
    out.value({"expandable_segments": False})
    out.write(b"u.")


class _Stacks:
    """The frames of each layer, once; lists of them, a new one at each allocation."""

    def __init__(self, out: Pickler) -> None:
        self._out, self._frames, self._last = out, dict[tuple[int, int], int](), -1

    def write(self, action: str, layer: int) -> None:
        """Writes the stack of an event."""
        out = self._out
        if action != "alloc":
            out.get(self._last)
            return
        out.write(b"]")
        self._last = out.memoize()
        out.write(b"(")
        for depth in range(DEPTH):
            own = layer if depth < 3 else -1
            if (own, depth) in self._frames:
                out.get(self._frames[own, depth])
                continue
            place = "/home/me/model.py" if own >= 0 else "/opt/torch/nn/modules/module.py"
            name = f"layer_{layer}" if own >= 0 else "_call_impl"
            out.write(b"}")
            self._frames[own, depth] = out.memoize()
            out.write(b"(")
            for key, value in (("filename", place), ("name", name), ("line", 10 * depth + own)):
                out.text(key)
                out.value(value)
            out.write(b"u")
        out.write(b"e")


def _events() -> Iterator[tuple[str, int, int, int]]:
    """Action, address, bytes and layer of each event, without an end."""
    while True:
        for layer in range(LAYERS):
            yield "alloc", BASE + layer * ACTIVATION, ACTIVATION, layer
            yield "alloc", BASE + LAYERS * ACTIVATION, TEMPORARY, layer
            yield "free_requested", BASE + LAYERS * ACTIVATION, TEMPORARY, layer
            yield "free_completed", BASE + LAYERS * ACTIVATION, TEMPORARY, layer
        for layer in reversed(range(LAYERS)):
            yield "free_requested", BASE + layer * ACTIVATION, ACTIVATION, layer
            yield "free_completed", BASE + layer * ACTIVATION, ACTIVATION, layer


def _segments() -> list[dict[str, Any]]:
    """Parameters, and the cache of what the history allocates and releases."""
    low = BASE - LAYERS * PARAMETER
    held = [_segment(low + n * PARAMETER, PARAMETER, "active_allocated") for n in range(LAYERS)]
    cached = [_segment(BASE + n * ACTIVATION, ACTIVATION, "inactive") for n in range(LAYERS + 1)]
    return held + cached


def _segment(address: int, size: int, state: str) -> dict[str, Any]:
    held = size if state == "active_allocated" else 0
    piece = {"address": address, "size": size, "requested_size": held, "state": state, "frames": []}
    return {
        "device": 0, "address": address, "total_size": size, "allocated_size": held,
        "active_size": held, "requested_size": held, "stream": 0, "segment_type": "large",
        "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [piece],
    }  # fmt: skip


def figures(snapshot: Path, requests: int) -> dict[str, float]:
    """Seconds, and bytes of memory."""
    found: dict[str, float] = {"bytes": snapshot.stat().st_size}
    with tempfile.TemporaryDirectory() as temporary:
        logdir, cache = Path(temporary) / "log", Path(temporary) / "cache"
        linked(logdir, "run", snapshot)
        with server(logdir, cache) as first, sampled(first.pid) as memory:
            began = time.perf_counter()
            (span,) = first.spans()
            found["read"] = time.perf_counter() - began
            began = time.perf_counter()
            answer = first.get("view/memory", span)
            found["made"] = time.perf_counter() - began
            found["events"] = answer["devices"][0]["events"]
            found["cpu"] = tree_cpu_seconds(first.pid)
            found["peak"] = max(taken for _, taken in memory)
            found["mapped"] = first.mapped_bytes()
            end_ns = answer["recording_end_ns"]
            for name, query in (("view", {}), ("curve", {}), ("map_tiles", {"row_level": 22})):
                found[f"{name}_p95"] = _answers(first, span, name, end_ns, requests, query)
            began = time.perf_counter()
            first.fetch("view/memory/free", span)
            found["free"] = time.perf_counter() - began
            executable = chromium_path()
            if executable is not None:
                found |= panned(f"{first.page}#view=memory", executable)
    return found


def panned(address: str, executable: str) -> dict[str, float]:
    """Frames of the address map in a browser while it is dragged to and fro."""
    with chromium(executable) as browser:
        page = browser.new_page(viewport=SIZE)
        page.add_init_script(WATCH)
        page.goto(address)
        drawn = page.locator(".mem-map[aria-busy=false]")
        drawn.wait_for(timeout=60_000)
        drawn.focus()
        for _ in range(4):
            page.keyboard.press("+")
        drawn.wait_for()
        box = drawn.bounding_box()
        assert box is not None
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

        def drag() -> None:
            page.mouse.move(*middle)
            page.mouse.down()
            for step in range(240):
                swing = math.sin(step / 30)
                page.mouse.move(middle[0] + 500 * swing, middle[1] + 60 * swing)
                time.sleep(1 / 60)
            page.mouse.up()

        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        cpu = main_thread_seconds(session)
        seen = watched(page, drag)
        spent = main_thread_seconds(session) - cpu
        return {
            "map_frame_ms_p50": 1000 / seen["fps"],
            "map_frame_ms_p95": seen["frame_ms_p95"],
            "map_frame_cpu_ms": 1000 * spent / seen["frames"],
            "map_tasks_over_100ms": seen["tasks_over_100ms"],
        }


def _answers(
    at: Server, span: dict[str, str], name: str, end_ns: int, requests: int, query: dict[str, int]
) -> float:
    """Seconds of an answer, at the 95th percentile."""
    seconds = []
    route = "view/memory" if name == "view" else f"view/memory/{name}"
    for chosen in ranges(end_ns, requests):
        asked: dict[str, int | str] = {**span, **query, **chosen}
        if name == "map_tiles":
            width = chosen["end_ns"] - chosen["start_ns"]
            level = max(0, (width // 1000).bit_length())
            first = chosen["start_ns"] >> (level + 9)
            asked = {**span, **query, "level": level, "tiles": f"{first}.0,{first + 1}.0"}
        began = time.perf_counter()
        at.fetch(route, {key: str(value) for key, value in asked.items()})
        seconds.append(time.perf_counter() - began)
    return percentile(seconds, 0.95)


def reading(snapshot: Path) -> dict[str, float]:
    """CPU seconds to read it whole, cut off, and with an instruction that there is not."""
    whole = snapshot.read_bytes()
    place = 9 * len(whole) // 10
    broken = bytearray(whole)
    broken[whole.index(b"\x94(", place)] = 0xFF  # in front of the values of an event
    found: dict[str, float] = {}
    for name, data in (("whole", whole), ("cut", whole[:place]), ("broken", bytes(broken))):
        began = time.process_time()
        read = read_snapshot(io.BytesIO(data))
        found[f"read_{name}_cpu"] = time.process_time() - began
        found[f"read_{name}_events"] = len(read.events.size)
    return found


@click.command()
@click.option("--bytes", "size", default=100_000_000, show_default=True, help="At least.")
@click.option("--requests", default=40, show_default=True)
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(size: int, requests: int, folder: Path, keep: bool) -> None:
    """Time how a large memory snapshot opens."""
    snapshot = made(size, folder)
    found: dict[str, Any] = {**figures(snapshot, requests), **reading(snapshot)}
    for name, figure in found.items():
        click.echo(f"  {name:<26}{figure:>16,.4g}")
    if keep:
        _results.keep(f"snapshots/native/{size}", found)


if __name__ == "__main__":
    main()
