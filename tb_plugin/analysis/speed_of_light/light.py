"""The figures of one kind of call: its work, the unit that computes it, and the least time for it.

Two ways lead here: calls of a recording (``attribution``) and calls that a recording of a capture
lends to replayed graphs (``captured``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import F64, I32
from ...base.regex import regex
from ...trace.link.iterations import Requests
from .arguments import DTYPES, CallArguments, OddArgumentError, OpWork, RefusedError, arguments_of
from .devices import DevicePeak
from .model import NONE, KindTable, Reason
from .models import model_of, work_of
from .products import paged_attention, ragged_attention

TRITON = "triton_"
PAGED: Mapping[str, Callable[[CallArguments, Sequence[Requests]], OpWork]] = {
    "vllm::unified_attention_with_output": paged_attention,
    "vllm::unified_attention": paged_attention,
    "aiter::paged_attention_ragged": ragged_attention,
}
"""Attention over a pool of pages: the engine's annotation alone tells how much of it is read."""

_TF32 = regex(r"tf32|xf32|bf16x|s1688|s16816|tensorop_s\w*gemm")
_FP32 = regex(r"sgemm|simt|ffma|_s_?\w*gemm_fp32")
_OF_LIST = regex(r"[<, (](float|double|(?:c10|at)::(?:Half|BFloat16)|long|int|bool)[,>]")
_OPAQUE = regex(r"OpaqueType<\(?(?:unsigned int\))?(\d+)u?>")
_OF_WIDTH = {"1": "int8", "2": "float16", "4": "float32", "8": "float64", "16": "complex128"}
_OF_REASON = {
    "shapes": Reason.SHAPES,
    "dtype": Reason.DTYPE,
    "values": Reason.VALUES,
    "output": Reason.OUTPUT,
    "model": Reason.MODEL,
    "lengths": Reason.LENGTHS,
    "odd": Reason.ODD,
}


class CallTexts(NamedTuple):
    """A call as recorded; "" where a text is not there."""

    op: str
    dims: str = ""
    types: str = ""
    strides: str = ""
    values: str = ""
    list_dtype: str = ""  # of the tensors of its lists
    kernel: str = ""  # the name of its longest kernel


class KindFigures(Struct, frozen=True):
    """The figures of one kind; NaN and "" where unknown."""

    flops: float = np.nan
    least: float = np.nan
    read: float = np.nan
    written: float = np.nan
    weights: float = np.nan
    dtype: str = ""
    unit: str = ""
    peak: float = np.nan
    compute_ns: float = np.nan
    memory_ns: float = np.nan
    reason: int = Reason.MODEL
    odd: str = ""  # the argument that no call can have had


_NUMBERS = ("flops", "least", "read", "written", "weights", "peak", "compute_ns", "memory_ns")


def has_model(name: str) -> bool:
    """True if ops of this name have a model."""
    return name in PAGED or name.startswith(TRITON) or model_of(name) is not None


def figures_of(
    call: CallTexts,
    peak: DevicePeak | None,
    part: float = 1.0,
    lengths: Sequence[Requests] = (),
    otherwise: str = "",
) -> KindFigures:
    """The figures of a call on a device.

    ``part``: the part of the device, as ``DevicePeak.part`` tells it. ``lengths``: of the requests
    in the batch, as the engine wrote them. ``otherwise``: the unit of float32 where no kernel tells
    it, "" for the faster one.
    """
    try:
        told = call.kernel.lower()
        unit = "TF32" if _TF32.search(told) else "FP32" if _FP32.search(told) else otherwise
        return _lit(_work(call, lengths), peak, part, unit)
    except OddArgumentError as error:
        return KindFigures(reason=Reason.ODD, odd=error.what)
    except RefusedError as error:
        return KindFigures(reason=_OF_REASON.get(str(error), Reason.SHAPES))
    except OverflowError:
        return KindFigures(reason=Reason.ODD, odd="sizes whose product is no number")
    except (ValueError, TypeError, RecursionError):
        return KindFigures(reason=Reason.SHAPES)


def _work(call: CallTexts, lengths: Sequence[Requests]) -> OpWork:
    if not has_model(call.op):
        raise RefusedError("model")
    if not call.dims:
        raise RefusedError("shapes")
    given = arguments_from(call)
    paged = PAGED.get(call.op)
    return paged(given, lengths) if paged is not None else work_of(call.op, given)


def arguments_from(call: CallTexts) -> CallArguments:
    """The arguments of a call.

    Raises:
        RefusedError: they are of another form.
        ValueError: a text is no JSON.
        RecursionError: it nests too deeply.
    """
    shapes, kinds, steps = (
        one if isinstance(one, list) else []
        for one in map(_json, (call.dims, call.types, call.strides))
    )
    return arguments_of(shapes, kinds, steps, _json(call.values), call.list_dtype)


def _json(text: str) -> Any:  # noqa: ANN401  # whatever the recorder wrote
    return json.loads(text) if text else None


def _lit(work: OpWork, peak: DevicePeak | None, part: float, unit: str) -> KindFigures:
    """The figures of work on a device; ``unit``: what computes float32, "" unknown."""
    known = KindFigures(
        flops=float(work.flops),
        least=float(work.least),
        read=float(work.read),
        written=float(work.written),
        weights=float(work.weights),
        dtype=work.dtype,
        reason=Reason.SHEET,
    )
    if peak is None:
        return known
    memory = (work.read + work.written) / (peak.bandwidth_gb_s * part)
    if not work.flops:
        return replace(known, reason=Reason.KNOWN, compute_ns=0.0, memory_ns=memory)
    rate, unit = peak.rate(work.dtype, unit)
    if rate is None:
        return replace(known, reason=Reason.RATE)
    return replace(
        known,
        reason=Reason.KNOWN,
        unit=unit,
        peak=rate,
        compute_ns=work.least / (rate * part * 1e3),
        memory_ns=memory,
    )


def dtype_of_lists(kernel: str) -> str:
    """The type of the tensors of a list by the template of a kernel's name; "" where none tells.

    >>> dtype_of_lists("CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 2, 64, 64>")
    'float16'
    """
    if (opaque := _OPAQUE.search(kernel)) is not None:
        return _OF_WIDTH.get(opaque[1], "")
    found = _OF_LIST.search(kernel)
    return DTYPES.get(found[1].replace("at::", "c10::"), "") if found else ""


class StringCodes:
    """Codes of the strings of a trace, and of further ones."""

    def __init__(self, strings: tuple[str, ...], *, shares: bool = False) -> None:
        """``shares``: a text that the trace has keeps its code; else it gets another one."""
        self._strings, self._more = strings, dict[str, int]()
        self._own = {text: code for code, text in enumerate(strings)} if shares else {}
        self._added: list[str] = []

    def code(self, text: str) -> int:
        """The code of a text; −1 for none."""
        if not text:
            return NONE
        if (own := self._own.get(text)) is not None:
            return own
        found = self._more.setdefault(text, len(self._strings) + len(self._more))
        if len(self._added) < len(self._more):
            self._added.append(text)
        return found

    def text(self, code: int) -> str:
        """The text of a code; "" for −1."""
        if code < 0:
            return ""
        own = len(self._strings)
        return self._strings[code] if code < own else self._added[code - own]

    def all(self) -> tuple[str, ...]:
        """All strings by their codes."""
        return (*self._strings, *self._added)


def kind_table(
    op: I32, kernel: I32, shapes: I32, types: I32, rows: Iterable[KindFigures], codes: StringCodes
) -> KindTable:
    """The table of kinds; each column has a row per kind."""
    found = list(rows)
    numbers: dict[str, F64] = {
        name: np.array([getattr(one, name) for one in found], np.float64) for name in _NUMBERS
    }
    return KindTable(
        op=op.astype(np.int32),
        kernel=kernel.astype(np.int32),
        shapes=shapes.astype(np.int32),
        types=types.astype(np.int32),
        dtype=np.array([codes.code(one.dtype) for one in found], np.int32),
        unit=np.array([codes.code(one.unit) for one in found], np.int32),
        reason=np.array([one.reason for one in found], np.int8),
        lent=np.zeros(len(found), np.int8),
        **numbers,
    )
