"""Which Python frames say nothing about the user's program: the rules of two layouts.

``filtered`` leaves out plumbing, ``user`` all that is no code of the user's own.

Their children take their place. Rules are tried on the name of the frame as the recorder writes it:
``torch/nn/modules/module.py(1773): _wrapped_call_impl``, ``<built-in method …>``, ``nn.Module: …``.
"""

from __future__ import annotations

import re
import sys

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
# Recorders cut the directory that a module was found in: "transformers/trainer.py", "queue.py".
_OF_OTHERS = re.compile(
    r"^<(?!ipython-input)|(^|[\\/])(site|dist)-packages[\\/]|(^|[\\/])lib(64)?[\\/]python\d[\d.]*[\\/]"
    r"|[\\/]Lib[\\/]|[\\/]torch[\\/](nn|autograd|optim|utils|distributed|cuda|_\w+)[\\/]"
    rf"|^({_LIBRARIES})([\\/]|\.py\()|^({_STANDARD})([\\/]|\.py\()"
)


def is_of_others(name: str) -> bool:
    """Whether a frame is no code of the user's own: of Python, of torch, of an installed package.

    >>> is_of_others("torch/nn/modules/module.py(1773): _wrapped_call_impl")
    True
    >>> is_of_others("train.py(12): main")
    False
    """
    return _OF_OTHERS.search(name) is not None


def of_others(trace: Trace) -> NDArray[np.bool_] | None:
    """Which host rows are Python frames of others; None where all are: nothing would remain."""
    frames = trace.host.kind == HostKind.PYTHON
    rows = np.flatnonzero(frames)
    hit = np.zeros(len(frames), np.bool_)
    hit[rows] = matches(trace.strings, trace.host.name[rows], _OF_OTHERS)
    return None if len(rows) and hit[rows].all() else hit
