"""The traces that are measured: four kinds, each at any size.

What a reader pays for depends on what a trace holds: deep Python stacks, whole microseconds,
shapes, call stacks as text. Only the kind *cpu* is in the repository; the others are repeated from
recordings that ``KINETOSCOPE_TRACES`` names, and are "not measured" where they are absent.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks._scale import Scaled, Template, copies_for, read_text, template, write

ROOT = Path(__file__).resolve().parent.parent
TRACES = Path(os.environ.get("KINETOSCOPE_TRACES") or ROOT.parent / "shared" / "traces").resolve()
FOLDER = Path(tempfile.gettempdir()) / "kinetoscope-benchmarks"

_SIZE = re.compile(r"(\d+(?:\.\d+)?)(MB|GB|M)")
_UNIT = {"MB": 1e6, "GB": 1e9, "M": 1e6}


class AbsentError(Exception):
    """The recording that a kind is made of is not there; the text says which."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of trace."""

    holds: str
    root: Path
    sources: tuple[str, ...]  # patterns below the root; the first that is there counts

    def source(self) -> Path:
        """The recording to repeat.

        Raises:
            AbsentError: there is none.
        """
        for pattern in self.sources:
            for path in sorted(self.root.glob(pattern)):
                return path
        raise AbsentError(f"the trace is absent: {self.sources[0]} below KINETOSCOPE_TRACES")


KINDS = {
    "stacks": Kind(
        "MI300X training, Python frames, shapes, arrows",
        TRACES,
        ("tracelens/mi300/resnet_act_checkpoint.json.gz",),
    ),
    "nccl": Kind(
        "A100 training, NCCL, whole microseconds, no stacks",
        TRACES,
        ("hta/trace_diff/control/control.json.gz",),
    ),
    "cpu": Kind(
        "torch 2.13 training on the CPU, Python frames, shapes, memory",
        ROOT / "samples" / "traces",
        ("train_cpu/*.pt.trace.json.gz",),
    ),
    "2021": Kind(
        "V100 training of 2021, call stacks as text, memory",
        TRACES,
        ("kineto_tb_samples/resnet50_num_workers_0/*.pt.trace.json.gz",),
    ),
}


@dataclass(frozen=True, slots=True)
class Made:
    """A trace of a kind and a size, on disk as gzip."""

    kind: str
    size: str
    path: Path
    copies: int
    events: int
    text_bytes: int


def made(kind: str, size: str, folder: Path = FOLDER) -> Made:
    """The trace of this kind and size; made at the first call, which takes about 25 s per GB.

    ``size`` is of text ("100MB", "1GB") or of events ("10M").

    Raises:
        AbsentError: its source is not there.
        ValueError: ``size`` is none.
    """
    found = _SIZE.fullmatch(size)
    if found is None:
        raise ValueError(f"a size is for example 100MB, 2.5GB or 10M (events), not {size!r}")
    amount = float(found[1]) * _UNIT[found[2]]
    source = KINDS[kind].source()
    folder.mkdir(parents=True, exist_ok=True)
    # A source that changed is another file.
    path = folder / f"{kind}-{size}-{source.stat().st_size}.pt.trace.json.gz"
    told = path.with_name(path.name + ".told")
    if not (path.exists() and told.exists()):
        cut = template(read_text(source))
        copies = _copies_of(cut, amount) if found[2] == "M" else copies_for(cut, amount)
        told.write_text(json.dumps(asdict(write(cut, path, copies))))
    scaled = Scaled(**json.loads(told.read_text()))
    return Made(kind, size, path, scaled.copies, scaled.events, scaled.text_bytes)


def _copies_of(cut: Template, events: float) -> int:
    return max(1, -int(-(events - cut.once) // cut.each))
