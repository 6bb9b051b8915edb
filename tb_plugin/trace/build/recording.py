"""How was a trace recorded, by its own account and by the marks of its format?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..model import Recording
from ..raw import MISSING, RawTrace
from .categories import DEVICE_LABELS, is_graph_node
from .metadata import META, Census, ProcessMetadata
from .route import RANGED
from .strings import Texts

# Epoch stamps of this century; stamps relative to a base are far below.
_EPOCH_NS = 10**18
_HANDLER_KEY = "kinetoscope"
_OWN_KEYS = frozenset({_HANDLER_KEY, "traceEvents"})
_FLOWS_OF_D = frozenset({"async_cpu_to_gpu", "async_gpu", "forward_backward"})
_FLOWS_OF_E = frozenset({"ac2g", "fwdbwd", "cuda_driver"})
_KEYS_OF_E = frozenset({"traceName", "record_shapes", "with_stack", "profile_memory"})
_OLD_CATEGORIES = frozenset({"Operator", "Runtime", "Kernel", "Memcpy", "Memset"})


def describe(
    raw: RawTrace,
    texts: Texts,
    identity: ProcessMetadata,
    census: Census,
    start: int,
    resolution: int,
) -> Recording:
    """The recording of a file whose events begin at ``start`` (as written)."""
    metadata = raw.metadata
    distributed = metadata.get("distributedInfo")
    info: Mapping[str, Any] = distributed if isinstance(distributed, dict) else {}
    handler = metadata.get(_HANDLER_KEY)
    categories = {texts[code] for code in census.categories()}
    return Recording(
        torch_era=era(raw, texts, identity, census, start, resolution),
        resolution_ns=resolution,
        trace_id=_text(metadata.get("trace_id")),
        host_name=_text(metadata.get("host_name")),
        backend=_text(info.get("backend")),
        rank=_number(info.get("rank")),
        world_size=_number(info.get("world_size")),
        with_stack=_flag(metadata, "with_stack")
        or "python_function" in categories
        or _has_text(raw, texts, "call_stack"),
        with_modules=_flag(metadata, "with_modules")
        or _has_text(raw, texts, "module_hierarchy")
        or "python_module_id" in raw.ints,
        record_shapes=_flag(metadata, "record_shapes") or "input_dims" in raw.texts,
        profile_memory=_flag(metadata, "profile_memory") or "memory_bytes" in raw.ints,
        with_flops=_flag(metadata, "with_flops"),
        handler=handler if isinstance(handler, dict) else {},
        metadata={key: value for key, value in metadata.items() if key not in _OWN_KEYS},
    )


def era(
    raw: RawTrace,
    texts: Texts,
    identity: ProcessMetadata,
    census: Census,
    start: int,
    resolution: int,
) -> str:
    """The age of the format, "A" … "H" or "Ascend", by features that only that age has.

    ========  ==============================================================
    A         no categories (torch ≤ 1.7 and the legacy profiler)
    B, C      ``Operator``; C (1.9) knows devices or allocator events
    D         ``cpu_op`` with stamps since the epoch (1.11 – 1.13)
    E         the same, with ``ac2g`` arrows or keys such as ``traceName`` (2.0 – 2.3)
    F1        stamps since the epoch with fractions (nightlies of spring 2024)
    F         stamps relative to ``baseTimeNanoseconds`` (2.4 – 2.11)
    G         the same, metadata events first (2.12 and later)
    H         device work by Cuspy, the second engine (2.15 and later, where chosen)
    ========  ==============================================================
    """
    metadata = raw.metadata
    categories = {texts[code] for code in census.categories()}
    ranged = census.categories(RANGED)
    bare = not any(texts[code] for code in ranged)
    old = bool(categories & _OLD_CATEGORIES)
    devices = bool({"deviceProperties", "computeProperties"} & metadata.keys())
    based = "baseTimeNanoseconds" in metadata
    later = bool(_KEYS_OF_E & metadata.keys() or categories & _FLOWS_OF_E)
    evidence = (
        ("Ascend", "task_type" in raw.texts or "async_npu" in categories or _has_npu(identity)),
        ("unknown", not ranged),
        ("A", bare),
        ("C", old and (devices or "memory_bytes" in raw.ints)),
        ("B", old),
        ("H", based and _is_cuspy(raw, categories)),
        ("G", based and _metadata_first(raw)),
        ("F", based),
        ("unknown", start < _EPOCH_NS),
        ("F1", resolution == 1),
        ("D", bool(categories & _FLOWS_OF_D)),
        ("E", later),
    )
    return next((name for name, found in evidence if found), "D")


def _is_cuspy(raw: RawTrace, categories: set[str]) -> bool:
    """True if there are rows that only Cuspy writes: graph nodes, arguments of copies and sets."""
    own = ("source_memory", "target_memory", "memory_kind")
    return any(map(is_graph_node, categories)) or any(name in raw.texts for name in own)


def _metadata_first(raw: RawTrace) -> bool:
    """True if the first event with a time is a metadata event, as Kineto writes since 2026."""
    phase = raw.events.phase
    return bool(len(phase) and phase[0] == META and raw.events.ts[0] != MISSING)


def _has_npu(identity: ProcessMetadata) -> bool:
    return any(label.type == DEVICE_LABELS["NPU"] for label in identity.label.values())


def _has_text(raw: RawTrace, texts: Texts, column: str) -> bool:
    """True if a text column has a text that is not empty; old recorders always write empty ones."""
    sparse = raw.texts.get(column)
    return sparse is not None and any(texts[code] for code in texts.used(sparse.value).tolist())


def _flag(metadata: Mapping[str, Any], key: str) -> bool:
    return metadata.get(key) in (1, True, "1", "true", "True")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return int(value) if abs(value) < 1 << 53 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}", value.strip()):
        return int(value)
    return None
