"""How many floating point operations does a call do? By the models of ``speed_of_light``."""

from __future__ import annotations

import json
import math

import numpy as np
from msgspec import Struct

from ...base.arrays import F64, I32, cells, pairs_of, put, take, where
from ...trace.model import Trace
from ..speed_of_light.arguments import OddArgumentError, RefusedError, arguments_of
from ..speed_of_light.models import FLOPS_OPS, work_of

UNKNOWN = math.nan


class OddArguments(Struct, frozen=True):
    """The number of calls that have a model but unusable arguments."""

    calls: int
    example: str  # "`aten::convolution` has a stride of 0"


def flops_of(trace: Trace, rows: I32, shapes: I32) -> tuple[F64, OddArguments]:
    """The operations of each of these host rows, by its own model; NaN where there is none.

    Arguments that cannot be computed with cost the figure of their own call.

    A call inside another one with a model counts too: a sum must take the innermost ones.
    """
    result = np.full(len(rows), UNKNOWN)
    modelled = np.array([name in FLOPS_OPS for name in trace.strings], np.bool_)
    shaped = where(shapes >= 0)
    asked = shaped[take(modelled, take(trace.host.name, take(rows, shaped)))]
    calls = take(rows, asked)
    values = cells(trace.host.args.get("concrete_inputs"), calls, -1)
    # Each combination of op, shapes and values is computed once, by the first call that has it.
    name, dims = take(trace.host.name, calls), take(shapes, asked)
    of_shapes = pairs_of(name, dims, len(trace.strings))[2]
    size = max(len(trace.strings), len(calls)) + 1
    of_call = pairs_of(of_shapes, (values + 1).astype(np.int32), size)[2]
    first = np.empty(int(of_call.max(initial=-1)) + 1, np.int64)
    first[of_call[::-1]] = np.arange(len(calls) - 1, -1, -1)
    keys = zip(*(one[first].tolist() for one in (name, dims, values)), strict=True)
    answers = [_answer(trace, *key) for key in keys]
    put(result, asked, take(np.array([found for found, _ in answers]), of_call))
    odd = [at for at, (_, reason) in enumerate(answers) if reason]
    if not odd:
        return result, OddArguments(0, "")
    earliest = min(odd, key=lambda at: int(first[at]))
    example = f"`{trace.strings[name[first[earliest]]]}` has {answers[earliest][1]}"
    return result, OddArguments(int(np.bincount(of_call)[odd].sum()), example)


def _answer(trace: Trace, name: int, shapes: int, values: int) -> tuple[float, str]:
    """The operations of a call, NaN where unknown; and the problem with its arguments."""
    try:
        dims = json.loads(trace.strings[shapes])
        inputs = json.loads(trace.strings[values]) if values >= 0 else None
        # FLOPs are the same in every type, so one stands for types that are not recorded.
        types = ["float" if sizes else "" for sizes in dims]
        found = float(work_of(trace.strings[name], arguments_of(dims, types, (), inputs)).flops)
    except OddArgumentError as error:
        return UNKNOWN, error.what
    except OverflowError:
        return UNKNOWN, "sizes whose product is no number"
    # A text that is no JSON, nests too deeply, or lacks what the model needs.
    except (RefusedError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return UNKNOWN, ""
    return found, ""
