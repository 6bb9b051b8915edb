"""What is promised, and whether the measurements keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks import _corpus
from benchmarks._results import value

Measured: TypeAlias = Mapping[str, Mapping[str, Any]]

GB = 1e9
LARGE, HUGE = "1GB", "10M"


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
        f"{kind}, 1 GB: CPU time, as a multiple of inflating and tokenizing alone",
        2, False, "{:.2f}×", ingest(kind, LARGE, "columns_cpu", "floor_cpu"), ratio,
    )  # fmt: skip
    yield Target(
        f"{kind}: exponent of CPU time over size",
        1.05, False, "{:.3f}", (f"ingest/{kind}/exponent",), itself,
    )  # fmt: skip
    yield Target(
        f"{kind}, 1 GB: CPU time of torch-tb-profiler, as a multiple of ours",
        20, True, times, ingest(kind, LARGE, "peer_tb_cpu", "columns_cpu"), ratio,
    )  # fmt: skip
    yield Target(
        f"{kind}, 1 GB: CPU time of loading with HTA, as a multiple of ours",
        25, True, times, ingest(kind, LARGE, "peer_hta_cpu", "columns_cpu"), ratio,
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
    found = [
        target
        for kind in _corpus.KINDS
        for target in _of_kind(kind)
        if kind in _PEER_KINDS.get(target.names[0].rpartition("/")[2], _corpus.KINDS)
    ]
    memory = ("memory_back/nccl/1GB/after", "memory_back/nccl/1GB/before")
    return [
        *found,
        Target(
            "nccl, 10 million events: memory of all processes",
            1.3, False, "{:.2f} GB", ingest("nccl", HUGE, "columns_peak"), in_gb,
        ),
        Target(
            "second open of 10 million events: first screen",
            0.1, False, "{:.3f} s", (f"second_open/nccl/{HUGE}/screen_first",), itself,
        ),
        Target(
            "second open of 10 million events: columns, server warm",
            0.5, False, "{:.2f} s", (f"second_open/nccl/{HUGE}/columns_wall",), itself,
        ),
        Target(
            "memory of the server after ten traces of 1 GB, as a multiple of before",
            1.1, False, "{:.2f}×", memory, ratio,
        ),
    ]  # fmt: skip
