"""The layouts of a timeline: which slices are shown on which lane, and how busy each track is.

Slices of a track are one below the other where they are nested or overlap (``lanes``). The busy
share of each track is kept for the minimap, in columns of equal width.

The layout ``filtered`` hides internal Python frames, ``user`` hides all frames that are not the
user's own code; the children of a hidden frame take its place. The rules match the name of the
frame as the recorder writes it: ``torch/nn/modules/module.py(1773): _wrapped_call_impl``,
``<built-in method …>``, ``nn.Module: …``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....base.arrays import F64, I32, I64, U8, is_any, matches, rows_by_code, take
from ....base.intervals import Intervals, length_before
from ....base.regex import regex
from ....trace.model import HostKind, Trace
from ..model import Narrow, Places, Track
from ..tracks import Heading, TrackGroups, divide
from .graph_rows import fold, is_folded, node_codes
from .lanes import Lanes, assign_lanes, share_lanes
from .slices import narrow

COLUMNS = 4096
"""Minimap columns kept; a divisor of it is exact, other numbers are interpolated evenly."""
MOST_CELLS = 1 << 22  # of all tracks: where there are thousands, each keeps fewer columns

_CHUNK = 1 << 20  # slices at a time
_NOWHERE = 255  # −1 in 8 bits


def columns_kept(tracks: int) -> int:
    """The number of columns kept for so many tracks; a power of two.

    >>> columns_kept(12), columns_kept(5000)
    (4096, 512)
    """
    return min(COLUMNS, 1 << max((MOST_CELLS // max(tracks, 1)).bit_length() - 1, 0))


def edges(end_ns: int, columns: int) -> I64:
    """Borders of the columns of [0, end_ns); one more than columns."""
    if end_ns * columns < 1 << 63:
        return np.arange(columns + 1, dtype=np.int64) * end_ns // columns
    return np.array([column * end_ns // columns for column in range(columns + 1)], np.int64)


def busy_columns(ts: I64, dur: I64, end_ns: int, columns: int) -> I64:
    """Length of the union of slices, given in order of their start, within each column.

    What a slice adds to the union begins where all before it have ended.
    """
    bounds = edges(end_ns, columns)
    before = np.zeros(columns + 1, np.int64)
    reached = 0
    for at in range(0, len(ts), _CHUNK):
        start = ts[at : at + _CHUNK]
        end = np.maximum.accumulate(start + dur[at : at + _CHUNK])
        np.maximum(end, reached, out=end)
        start = np.maximum(start, np.concatenate([[reached], end[:-1]]))
        before += length_before(Intervals(start, end), bounds)
        reached = int(end[-1])
    return np.diff(before)


def share(busy: Narrow, end_ns: int, columns: int) -> F64:
    """Busy share 0 … 1 of each track in so many columns; shape (tracks, columns)."""
    widths = np.diff(edges(end_ns, columns))
    passed = np.concatenate(
        [np.zeros((len(busy), 1), np.int64), np.cumsum(busy, axis=1, dtype=np.int64)], axis=1
    )
    kept = busy.shape[1]
    at = np.arange(columns + 1) * (kept / columns)
    low = np.minimum(at.astype(np.int64), kept - 1)
    before = passed[:, low] + (at - low) * busy[:, low]
    result: F64 = np.minimum(np.diff(before, axis=1) / np.maximum(widths, 1), 1.0)
    return result


def as_bytes(shares: F64) -> NDArray[np.uint8]:
    """0 … 255, rounded up, so that a busy column is never shown as idle."""
    result: U8 = np.ceil(np.round(shares * 255, 6)).astype(np.uint8)
    return result


RULES: tuple[tuple[str, str], ...] = (
    (r"torch/nn/modules/module\.py\(\d+\): _(wrapped_)?call_impl$", "how a module is called"),
    (r"torch/nn/modules/module\.py\(\d+\): (inner|__getattr__|__setattr__)$", "inside torch.nn"),
    (r"torch/utils/_contextlib\.py\(\d+\): ", "decorators such as no_grad"),
    (r"torch/utils/_(ordered_set|pytree)\.py\(\d+\): ", "walking nested containers"),
    (r"torch/_jit_internal\.py\(\d+\): ", "choice of a boolean's branch"),
    (r"torch/_dynamo/(eval_frame|external_utils)\.py\(\d+\): ", "entry of compiled code"),
    (r"torch/autograd/(grad_mode|function)\.py\(\d+\): (__enter__|__exit__|__init__)$", "modes"),
    (r"torch/profiler/", "the recorder itself"),
    (r"torch/autograd/profiler\.py\(\d+\): ", "the recorder itself"),
    (r"(^|/)contextlib\.py\(\d+\): ", "context managers"),
    (r"(^|/)functools\.py\(\d+\): ", "wrappers"),
    (r"^<frozen importlib|(^|/)importlib/|^<frozen (zipimport|runpy|posixpath|os)", "imports"),
    (r"^<built-in ", "functions of the interpreter"),
    (r"^<string>\(", "code made at run time"),
)
"""Pattern, and the kind of frames that it hides."""

_ANY = regex("|".join(f"(?:{pattern})" for pattern, _ in RULES))


def plumbing(trace: Trace) -> NDArray[np.bool_]:
    """True for host rows that are left out."""
    hit = trace.host.kind == HostKind.PYTHON
    rows = np.flatnonzero(hit)
    hit[rows] = matches(trace.strings, trace.host.name[rows], _ANY)
    return np.asarray(hit)


_LIBRARIES = (
    "torch|torchvision|torchaudio|torchtext|torchdata|torchrec|torchao|torchgen|functorch|caffe2"
    "|triton|triton_kernels|fbgemm_gpu|apex|xformers|flash_attn|flashinfer|transformer_engine|aiter"
    "|torch_npu|torch_xla|habana_frameworks|intel_extension_for_pytorch|cutlass|cupy|numba|cuda"
    "|kinetoscope|torch_tb_profiler|tensorboard|torchmetrics|ignite|fastai|timm|einops|opt_einsum"
    "|transformers|accelerate|diffusers|peft|trl|tokenizers|huggingface_hub|safetensors"
    "|sentence_transformers|bitsandbytes|deepspeed|megatron|lightning|lightning_fabric"
    "|pytorch_lightning|lightning_utilities|colossalai|fairscale|fairseq|vllm|sglang|ray|hydra"
    "|omegaconf|wandb|mlflow|fire|click|typer|absl|tqdm|rich|yaml|requests|urllib3|httpx|httpcore"
    "|aiohttp|fastapi|starlette|uvicorn|uvloop|anyio|pydantic|zmq|tornado|grpc|google|psutil|numpy"
    "|scipy|pandas|pyarrow|sklearn|skimage|matplotlib|PIL|cv2|joblib|cloudpickle|filelock|packaging"
    "|sympy|mpmath|networkx|jinja2|dill|regex|six|attr|attrs|msgspec|IPython|ipykernel|traitlets"
    "|jupyter_client|debugpy|pydevd|_pytest|pytest|pluggy|coverage"
)
# Modules of Python itself, without those whose name a user's script may well have.
_STANDARD = "|".join(
    sorted(
        {name for name in sys.stdlib_module_names if not name.startswith("__")}
        - {"profile", "test", "trace", "code", "calendar", "site", "select", "token", "this", "cmd"}
    )
)


@cache
def _of_others() -> re.Pattern[str]:
    """Names of frames that are not the user's own; compiled at its first use, which takes 10 ms.

    Recorders cut the directory that a module was found in: "transformers/trainer.py", "queue.py".
    """
    return regex(
        r"^<(?!ipython-input)|(^|[\\/])(site|dist)-packages[\\/]"
        r"|(^|[\\/])lib(64)?[\\/]python\d[\d.]*[\\/]"
        r"|[\\/]Lib[\\/]|[\\/]torch[\\/](nn|autograd|optim|utils|distributed|cuda|_\w+)[\\/]"
        rf"|^({_LIBRARIES})([\\/]|\.py\()|^({_STANDARD})([\\/]|\.py\()"
    )


def is_of_others(frame: str) -> bool:
    """True if a frame is not the user's own code: of Python, torch, or an installed package.

    >>> is_of_others("torch/nn/modules/module.py(1773): _wrapped_call_impl")
    True
    >>> is_of_others("train.py(12): main")
    False
    """
    return _of_others().search(frame) is not None


def of_others(trace: Trace) -> NDArray[np.bool_] | None:
    """True for Python frames of Python, torch, or an installed package: not the user's own code.

    None where no frame would remain.
    """
    frames = trace.host.kind == HostKind.PYTHON
    rows = np.flatnonzero(frames)
    hit = np.zeros(len(frames), np.bool_)
    hit[rows] = matches(trace.strings, trace.host.name[rows], _of_others())
    return None if len(rows) and hit[rows].all() else hit


class Arrangement(Struct, frozen=True, eq=False):
    """A layout before its levels of detail."""

    tracks: tuple[Track, ...]
    lane_first: I64
    order: I32
    lane: Places
    overlapping: I32  # slices that were displaced
    hidden: int  # slices that are in no lane
    is_all_of_others: bool  # no frame is the user's own: all are shown
    busy: I64  # (tracks, columns): union of the track's slices in equal parts of the trace


def arrange(
    trace: Trace,
    groups: TrackGroups,
    ts: I64,
    dur: I64,
    layout: str,
    on_share: Callable[[float], None],
) -> Arrangement:
    """Tracks and lanes of a layout; ``ts`` and ``dur`` by slice id.

    One track after the other, so that little is in memory at a time; ``on_share`` hears how much
    is done.
    """
    python, is_all_of_others = _python(trace, layout)
    folding = fold(trace) if is_folded(trace, layout) else None
    division = divide(trace, groups, python, folding)
    shown = _by_track(division.track, len(division.headings))
    order = np.empty(sum(map(len, shown)), np.int32)
    lane = np.full(len(ts), -1, np.int32)
    tracks: list[Track] = []
    busy, counts, overlapping = [], [np.zeros(1, np.int64)], [order[:0]]
    lanes, high, kept = 0, 0, columns_kept(len(division.headings))
    for heading, mine in zip(division.headings, shown, strict=True):
        ids = _in_time_order(mine, ts, dur)
        low, high = high, high + len(ids)
        start, length = take(ts, ids), take(dur, ids)
        if heading.kind == "graph":
            found = share_lanes(start, length, node_codes(trace, ids - len(trace.host)))
        else:
            found = assign_lanes(start, length, np.arange(len(ids)) == 0)
        columns = busy_columns(start, length, trace.end_ns, kept)
        displaced = ids[found.displaced]
        track = _track(heading, lanes, (start, length), found, columns, len(displaced))
        lane[ids] = found.lane + np.int32(lanes)
        # Of 16 bits numpy sorts by counting.
        order[low:high] = ids[np.argsort(found.lane, kind="stable")]
        counts.append(np.bincount(found.lane))
        overlapping.append(displaced)
        tracks.append(track)
        busy.append(columns)
        lanes += track.lanes
        on_share(high / len(order))
    return Arrangement(
        tracks=tuple(tracks),
        lane_first=np.cumsum(np.concatenate(counts)),
        order=order,
        lane=lane.astype(narrow(lanes)),
        overlapping=np.concatenate(overlapping),
        hidden=len(ts) - len(order),
        is_all_of_others=is_all_of_others,
        busy=np.stack(busy) if busy else np.empty((0, kept), np.int64),
    )


def _by_track(track: Places, count: int) -> list[I32]:
    """Ids of the slices of each track, ascending."""
    if count < _NOWHERE:
        return rows_by_code(track.astype(np.uint8), [[number] for number in range(count)])
    shown: I32 = np.flatnonzero(track >= 0).astype(np.int32)
    mine = track[shown]
    ends = np.cumsum(np.bincount(mine, minlength=count))
    return np.split(shown[np.argsort(mine, kind="stable")], ends[:-1])


def _in_time_order(ids: I32, ts: I64, dur: I64) -> I32:
    """The slices of a track by (ts, −dur, id); they nearly are."""
    start = take(ts, ids)
    later = start[1:] > start[:-1]
    if later.all():
        return ids
    length = take(dur, ids)
    if (later | ((start[1:] == start[:-1]) & (length[1:] <= length[:-1]))).all():
        return ids
    return ids[np.lexsort((ids, -length, start))]


def _python(trace: Trace, layout: str) -> tuple[I32 | None, bool]:
    """For each host row: 0 with the ops, 1 in a separate track, −1 hidden; None: all 0.

    And whether no frame is the user's own, so that all are shown.
    """
    kind = trace.host.kind
    layout, _, _ = layout.partition("-")
    if layout == "merged":
        return None, False
    python: I32 = is_any(kind, (HostKind.PYTHON, HostKind.MODULE)).astype(np.int32)
    left_out = None
    if layout == "filtered":
        left_out = plumbing(trace)
    elif layout == "user":
        left_out = of_others(trace)
    if left_out is not None:
        python[left_out] = -1
    return python, layout == "user" and left_out is None


def _track(
    heading: Heading, lane: int, times: tuple[I64, I64], lanes: Lanes, busy: I64, overlaps: int
) -> Track:
    start, length = times
    return Track(
        key=heading.key,
        group=heading.group,
        kind=heading.kind,
        label=heading.label,
        detail=heading.detail,
        lane=lane,
        lanes=int(lanes.counts[0]),
        slices=len(start),
        busy_ns=int(busy.sum()),
        first_ns=int(start[0]),
        last_ns=int((start + length).max()),
        overlaps=overlaps,
        hidden=heading.hidden,
        note=heading.note,
    )
