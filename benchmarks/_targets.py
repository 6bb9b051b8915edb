"""What is promised, and whether the measurements keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks import _corpus
from benchmarks._results import value

Measured: TypeAlias = Mapping[str, Mapping[str, Any]]

GB = 1e9
LARGE, HUGE, REFERENCE = "1GB", "10M", 10_000_000
ALLOCATOR_EVENTS = 2_000_000
SNAPSHOT_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Target:
    """One promise: ``figure`` is at most, or at least, ``limit``."""

    promise: str
    limit: float
    at_least: bool
    form: str  # format of a figure, for example "{:.2f} GB"
    names: tuple[str, ...]  # the measurements it is made of, the first one told when it is missing
    figure: Callable[..., float]  # of their values

    def judge(self, measured: Measured) -> Verdict:
        """The promise, held against the measurements."""
        sign = "≥" if self.at_least else "≤"
        promised = f"{sign} {self.form.format(self.limit)}"
        values = [value(measured, name) for name in self.names]
        for name, found in zip(self.names, values, strict=True):
            if found is None:
                because = measured.get(name, {}).get("because", "it was not run")
                return Verdict(self.promise, promised, f"not measured, because {because}", None)
        figure = self.figure(*values)
        met = figure >= self.limit if self.at_least else figure <= self.limit
        return Verdict(self.promise, promised, self.form.format(figure), met)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row of the table; ``met`` is None where nothing was measured."""

    promise: str
    promised: str
    measured: str
    met: bool | None


def ingest(kind: str, size: str, *figures: str) -> tuple[str, ...]:
    """Names of figures of ``benchmarks.ingest``."""
    return tuple(f"ingest/{kind}/{size}/{figure}" for figure in figures)


def in_gb(size: float) -> float:
    """Bytes as GB."""
    return size / GB


def ratio(one: float, other: float) -> float:
    """How many times the other the one is."""
    return one / other


def itself(figure: float) -> float:
    """The figure as it was measured."""
    return figure


def _of_kind(kind: str) -> Iterator[Target]:
    times, memory = "{:.1f}×", "{:.2f} GB"
    yield Target(
        f"{kind}, 1 GB of text: memory of all processes, columns written",
        0.8, False, memory, ingest(kind, LARGE, "columns_peak"), in_gb,
    )  # fmt: skip
    yield Target(
        f"{kind}, 1 GB: CPU time to the Overview, as a multiple of inflating and tokenizing alone",
        2, False, "{:.2f}×", ingest(kind, LARGE, "overview_cpu", "floor_cpu"), ratio,
    )  # fmt: skip
    yield Target(
        f"{kind}: exponent of CPU time over size",
        1.05, False, "{:.3f}", (f"ingest/{kind}/exponent",), itself,
    )  # fmt: skip
    yield Target(
        f"{kind}, 1 GB: CPU time of torch-tb-profiler, as a multiple"
        " of kinetoscope's to the Overview",
        20, True, times, ingest(kind, LARGE, "peer_tb_cpu", "overview_cpu"), ratio,
    )  # fmt: skip
    yield Target(
        f"{kind}, 1 GB: CPU time of loading with HTA, as a multiple"
        " of kinetoscope's to the Overview",
        25, True, times, ingest(kind, LARGE, "peer_hta_cpu", "overview_cpu"), ratio,
    )  # fmt: skip
    yield Target(
        f"{kind}, without the native library: CPU time per GB of text",
        30, False, "{:.1f} s", ingest(kind, LARGE, "fallback_columns_cpu", "text_bytes"),
        lambda seconds, size: seconds / size * GB,
    )  # fmt: skip
    yield Target(
        f"{kind}, 1 GB, without the native library: memory of all processes",
        0.6, False, memory, ingest(kind, LARGE, "fallback_columns_peak"), in_gb,
    )  # fmt: skip


# Peers are run on the kind that suits each: HTA does not read traces of 2021 or of a CPU.
_PEER_KINDS = {"peer_tb_cpu": ("stacks", "nccl"), "peer_hta_cpu": ("nccl",)}


def targets() -> list[Target]:
    """Every promise, in the order of the table."""
    of_kinds = [
        target
        for kind in _corpus.KINDS
        for target in _of_kind(kind)
        if kind in _PEER_KINDS.get(target.names[0].rpartition("/")[2], _corpus.KINDS)
    ]
    return [
        *of_kinds,
        *_of_many_events(),
        *_of_the_trace_view(),
        *_of_the_memory_view(),
        *_of_a_snapshot(),
    ]


def _of_the_memory_view() -> Iterator[Target]:
    for figure, promise in (
        ("view_p95", "everything over a range, 95 of 100"),
        ("curve_p95", "curve of a range, 95 of 100"),
        ("events_by_size_p95", "largest blocks of a range, 95 of 100"),
        ("statistics_p95", "ops of a range, 95 of 100"),
    ):
        yield Target(
            f"Memory view, 2 million allocator events: {promise}",
            300, False, _MS, (f"memory/{ALLOCATOR_EVENTS}/{figure}",), in_ms,
        )  # fmt: skip


def _of_a_snapshot() -> Iterator[Target]:
    key = f"snapshots/native/{SNAPSHOT_BYTES}"
    yield Target(
        "memory snapshot of 1 GB: memory of all processes, view made",
        1.5, False, "{:.2f} GB", (f"{key}/peak",), in_gb,
    )  # fmt: skip
    yield Target(
        "memory snapshot of 1 GB: tiles of the address map, 95 of 100",
        300, False, _MS, (f"{key}/map_tiles_p95",), in_ms,
    )  # fmt: skip


def _of_many_events() -> Iterator[Target]:
    memory = ("memory_back/nccl/1GB/after", "memory_back/nccl/1GB/before")
    yield Target(
        "nccl, 10 million events: memory of all processes",
        1.3, False, "{:.2f} GB", ingest("nccl", HUGE, "columns_peak"), in_gb,
    )  # fmt: skip
    yield Target(
        "second open of 10 million events: first screen",
        0.1, False, "{:.3f} s", (f"second_open/nccl/{HUGE}/screen_first",), itself,
    )  # fmt: skip
    yield Target(
        "second open of 10 million events: columns, server warm",
        0.5, False, "{:.2f} s", (f"second_open/nccl/{HUGE}/columns_wall",), itself,
    )  # fmt: skip
    shown = tuple(f"second_open/stacks/{LARGE}/{name}" for name in ("show_cpu", "show_small_cpu"))
    yield Target(
        "second `show overview` of 1 GB: CPU time more than of a small file",
        0.2, False, "{:.2f} s", shown, lambda large, small: max(large - small, 0.0),
    )  # fmt: skip
    yield Target(
        "memory of the server after ten traces of 1 GB, as a multiple of before",
        1.1, False, "{:.2f}×", memory, ratio,
    )  # fmt: skip


def _of_the_trace_view() -> Iterator[Target]:
    for module, figure, promise, limit, form, scale in _TRACE_VIEW:
        yield Target(
            f"Trace view, 10 million slices: {promise}",
            limit, figure == "fps", form, (f"{module}/{REFERENCE}/{figure}",), scale,
        )  # fmt: skip


def in_ms(seconds: float) -> float:
    """Seconds as milliseconds."""
    return seconds * 1e3


def in_mb(size: float) -> float:
    """Bytes as MB."""
    return size / 1e6


def in_kb(size: float) -> float:
    """Bytes as KB."""
    return size / 1e3


_MS, _S, _MB, _COUNT = "{:.0f} ms", "{:.2f} s", "{:,.0f} MB", "{:.0f}"
_TRACE_VIEW: tuple[tuple[str, str, str, float, str, Callable[[float], float]], ...] = (
    ("tiles", "tiles_p50", "tiles of a viewport, median", 30, _MS, in_ms),
    ("tiles", "tiles_p95", "tiles of a viewport, 95 of 100", 100, _MS, in_ms),
    ("tiles", "tiles_bytes_p95", "tiles of a viewport, 95 of 100", 250, "{:.0f} KB", in_kb),
    ("tiles", "search_p95", "search of a name, 95 of 100", 150, _MS, in_ms),
    ("tiles", "hit_p95", "next hit, 95 of 100", 100, _MS, in_ms),
    ("tiles", "slice_p95", "details of a slice, 95 of 100", 100, _MS, in_ms),
    ("tiles", "area_all", "summary of everything", 1.0, _S, itself),
    ("tiles", "flame_first", "flame graph of everything", 1.5, _S, itself),
    ("tiles", "flame_again", "flame graph of everything, again", 0.5, _S, itself),
    ("tiles", "rows_first", "first page of all slices", 0.3, _S, itself),
    ("tiles", "server_bytes", "memory of the server", 1000, _MB, in_mb),
    ("tiles", "stored_bytes_per_slice", "disk per slice", 60, "{:.0f} B", itself),
    ("timeline_fps", "interactive", "open of a trace that was read before", 1.5, _S, itself),
    ("timeline_fps", "fps", "frames per second, no graphics card, median", 45, _COUNT, itself),
    ("timeline_fps", "frame_ms_p95", "time between frames, 95 of 100", 33, _MS, itself),
    ("timeline_fps", "frame_cpu_ms", "CPU time of the page per frame", 16, "{:.1f} ms", itself),
    ("timeline_fps", "tasks_over_100ms", "tasks over 100 ms while moving", 0, _COUNT, itself),
    ("timeline_fps", "page_bytes", "memory of the page's process", 250, _MB, in_mb),
)  # fmt: skip
