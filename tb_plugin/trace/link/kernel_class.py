"""Class of each device activity: strongest evidence first, names last, all rules as data.

The first evidence that speaks decides:

1. the category: copies and memsets;
2. collective args on the kernel itself;
3. the innermost op around its launch is a collective: communication, unless the name of the kernel
   is plainly a helper (FSDP copies into and out of its buffers inside such ops). What lies above
   that op says nothing: some back ends keep the range of a collective open while other ops run;
4. the name of the kernel, by ``NAME_RULES``;
5. none: compute.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I8, I32, where
from ..build.device import Activity
from ..build.host import Host
from ..model import DeviceClass, DeviceKind, HostKind
from ..raw import Texts
from .flows import op_above


@dataclass(frozen=True, slots=True)
class NameRule:
    """A kernel whose name matches is of this class."""

    pattern: re.Pattern[str]
    klass: DeviceClass
    why: str


def _rule(pattern: str, klass: DeviceClass, why: str) -> NameRule:
    return NameRule(re.compile(pattern, re.IGNORECASE), klass, why)


NAME_RULES: tuple[NameRule, ...] = (
    _rule(r"(^|[^a-z])(nccl|rccl)", DeviceClass.COMMUNICATION, "NCCL or RCCL"),
    _rule(r"^hcom_|hccl", DeviceClass.COMMUNICATION, "HCCL"),
    _rule(
        r"oneccl|(^|[^a-z])xccl|ccl_[a-z]+_(kernel|collective)", DeviceClass.COMMUNICATION, "oneCCL"
    ),
    _rule(r"mscclpp?", DeviceClass.COMMUNICATION, "MSCCL"),
    _rule(
        r"cross_device_reduce|(one|two)_?shot_(all_?reduce|reduce)|custom_?all_?reduce"
        r"|quick_?reduce|allreduce_(fusion|one_?shot|two_?shot)|trtllm_allreduce",
        DeviceClass.COMMUNICATION,
        "custom all-reduce of an inference engine",
    ),
    _rule(r"multimem_|nvshmem|rocshmem|symm_mem", DeviceClass.COMMUNICATION, "symmetric memory"),
    _rule(
        r"get_dispatch_layout|(::ep|deep_ep|hybrid_ep)::(\w+::)*\w*(layout|permute|scan)",
        DeviceClass.COMPUTE,
        "counts or sorts on its own rank what will be sent",
    ),
    _rule(
        r"::ep::|deep_ep|hybrid_ep|(intra|inter)node(_ll)?::",
        DeviceClass.COMMUNICATION,
        "expert-parallel exchange",
    ),
    _rule(r"__amd_rocclr_copyBuffer", DeviceClass.COPY, "copy by a ROCm kernel"),
    _rule(r"__amd_rocclr_fillBuffer", DeviceClass.MEMSET, "fill by a ROCm kernel"),
)

COLLECTIVE_OPS = re.compile(
    r"record_param_comms$|c10d::|_?c10d_functional|(nccl|gloo|xccl|hccl|ucc|mpi):"
    r"|symm_mem::|.*(all_reduce|allreduce|all_gather|allgather|reduce_scatter|all_to_all|alltoall)",
    re.IGNORECASE,
)
RANGES = re.compile(r"(nccl|gloo|xccl|hccl|ucc|mpi):", re.IGNORECASE)
# Work that collectives' wrappers do beside the exchange.
HELPER_KERNELS = re.compile(
    r"at::native|at_cuda_detail|cub::|hipcub|rocprim|thrust::|elementwise|multi_tensor_apply"
    r"|CatArray|copy|memset|memcpy|fill|index|gather_kernel|scatter_kernel|split_with_sizes|chunk_cat"
    r"|reduce_kernel|triton_|gemm|cutlass|cublas",
    re.IGNORECASE,
)
_BY_KIND = {
    DeviceKind.KERNEL: DeviceClass.COMPUTE,
    DeviceKind.OTHER: DeviceClass.COMPUTE,
    DeviceKind.MEMCPY: DeviceClass.COPY,
    DeviceKind.MEMSET: DeviceClass.MEMSET,
}
_NO_RULE = -1


def class_of_name(name: str) -> int:
    """The class that the name of a kernel proves, −1 when it proves none."""
    for rule in NAME_RULES:
        if rule.pattern.search(name):
            return int(rule.klass)
    return _NO_RULE


def classify(texts: Texts, host: Host, device: Activity, op: I32) -> I8:
    """``DeviceClass`` of every device activity; ``op`` is the host row around its launch."""
    by_kind = np.zeros(max(DeviceKind) + 1, np.int8)
    for kind, klass in _BY_KIND.items():
        by_kind[kind] = klass
    result = by_kind[device.kind]
    open_ = (device.kind == DeviceKind.KERNEL) | (device.kind == DeviceKind.OTHER)
    # Tables by text hold 0 for what was not asked, so answers are shifted by one.
    named = texts.table(device.name[open_], lambda text: class_of_name(text) + 1, np.int8)
    by_name = named[device.name] - 1
    result = np.where(open_ & (by_name != _NO_RULE), by_name, result).astype(np.int8)

    helper = texts.table(
        device.name[open_], lambda text: HELPER_KERNELS.search(text) is not None, np.bool_
    )
    inside = in_collective(texts, host, op) & (by_name == _NO_RULE)
    result[open_ & inside & ~helper[device.name]] = DeviceClass.COMMUNICATION
    if (collective := device.args.get("collective")) is not None:
        marked = collective.row[open_[collective.row]]
        result[marked] = DeviceClass.COMMUNICATION
    categories = texts.table(
        device.category, lambda text: text.casefold() == "collective_comm", np.bool_
    )
    result[categories[device.category]] = DeviceClass.COMMUNICATION
    return result


def in_collective(texts: Texts, host: Host, op: I32) -> NDArray[np.bool_]:
    """True for each op that is the call of a collective; False for −1 and for ranges left open."""
    is_collective = texts.table(
        host.names, lambda text: COLLECTIVE_OPS.match(text) is not None, np.bool_
    )
    asked = where(op >= 0)
    result = np.zeros(len(op), np.bool_)
    result[asked] = is_collective[host.name[op[asked]]]
    is_range = texts.table(host.names, lambda text: RANGES.match(text) is not None, np.bool_)
    asked = asked[result[asked] & is_range[host.name[op[asked]]]]
    if len(asked):
        result[asked] = ~_left_open(host, is_collective)[op[asked]]
    return result


def _left_open(host: Host, is_collective: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Ops with other ops below them that are not collectives."""
    others = where((host.kind == HostKind.OP) & ~is_collective[host.name])
    above = op_above(host)[others]
    result = np.zeros(len(host), np.bool_)
    result[above[above >= 0]] = True
    return result
