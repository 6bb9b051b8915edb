"""Which Python frames say nothing about the user's program: the rules of the layout ``filtered``.

Their children take their place. Rules are tried on the name of the frame as the recorder writes it:
``torch/nn/modules/module.py(1773): _wrapped_call_impl``, ``<built-in method …>``, ``nn.Module: …``.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ...trace.model import HostKind, Trace
from ..names import matches

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
"""Pattern, and what it hides."""

_ANY = re.compile("|".join(f"(?:{pattern})" for pattern, _ in RULES))


def is_plumbing(name: str) -> bool:
    """Whether a frame of this name is left out.

    >>> is_plumbing("torch/nn/modules/module.py(1773): _wrapped_call_impl")
    True
    >>> is_plumbing("train.py(12): main")
    False
    """
    return _ANY.search(name) is not None


def plumbing(trace: Trace) -> NDArray[np.bool_]:
    """Which host rows are left out."""
    hit = trace.host.kind == HostKind.PYTHON
    rows = np.flatnonzero(hit)
    hit[rows] = matches(trace.strings, trace.host.name[rows], _ANY)
    return np.asarray(hit)
