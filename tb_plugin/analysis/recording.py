"""How was the trace recorded, and what did the recording leave out?"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from ..trace.columns import distinct_values
from ..trace.model import Trace
from ..trace.raw import Sparse
from .counts import graph_nodes
from .facts import RecordingFacts, UserValue

MOST_PATH_CHARS = 4096
MOST_VALUES, MOST_VALUE_CHARS = 100, 2000
# Top-level keys that recorders and exporters write; what else there is, the user wrote.
_OF_RECORDERS = re.compile(
    r"schemaVersion|deviceProperties|computeProperties|distributedInfo|trace_?[nN]ame|trace_id"
    r"|group_trace_id|displayTimeUnit|baseTimeNanoseconds|host_name|record_shapes|with_\w+"
    r"|profile_memory|\w+_version|INFO|WARN(?:ING)?|ERROR|FATAL|otherData|systemTraceEvents"
    r"|stackFrames|samples|powerTraceAsString|controllerTraceDataKey|excerpt"
)
_VERSIONS = {
    "cuda_runtime_version": "CUDA runtime",
    "cuda_driver_version": "CUDA driver",
    "cupti_version": "CUPTI",
    "hip_runtime_version": "HIP runtime",
    "hip_driver_version": "HIP driver",
    "roctracer_version": "roctracer",
}


def recording_facts(trace: Trace) -> RecordingFacts:
    """What the file says of its making, and which optional kinds of data are really there."""
    told = trace.recording
    memory = trace.memory
    return RecordingFacts(
        resolution_ns=told.resolution_ns,
        backend=told.backend,
        trace_id=told.trace_id,
        with_stack=told.with_stack,
        with_modules=told.with_modules,
        record_shapes=told.record_shapes,
        profile_memory=told.profile_memory,
        with_flops=told.with_flops,
        by_handler=bool(told.handler),
        versions=_versions(told.metadata),
        shapes=says(trace, "input_dims"),
        call_stacks=says(trace, "call_stack"),
        addresses=bool((memory.address != 0).any()),
        totals=bool((memory.total_allocated >= 0).any()),
        syncs=len(trace.syncs) > graph_nodes(trace),
        linked=int((trace.device.launch >= 0).sum()),
        collectives=len(trace.collectives),
        working_directory=_working_directory(told.handler),
        script=_script(told.handler),
        user=user_values(told.metadata),
        user_more=max(0, len(_user_keys(told.metadata)) - MOST_VALUES),
    )


def _script(handler: Mapping[str, Any]) -> str:
    """What was started, joined with the recorded directory as text; "" where it is not told."""
    script = handler.get("script")
    if not isinstance(script, str) or not 0 < len(script) <= MOST_PATH_CHARS:
        return ""
    return posixpath.normpath(posixpath.join(_working_directory(handler), script))


def _user_keys(metadata: Mapping[str, Any]) -> list[str]:
    return [key for key in metadata if not _OF_RECORDERS.fullmatch(key)]


def user_values(metadata: Mapping[str, Any]) -> tuple[UserValue, ...]:
    """What the user added to the file: at most so many values, each cut with its rest counted."""
    found = []
    for key in _user_keys(metadata)[:MOST_VALUES]:
        value = metadata[key]
        text = value if isinstance(value, str) else _json(value)
        more = max(0, len(text) - MOST_VALUE_CHARS)
        found.append(UserValue(key[:MOST_VALUE_CHARS], text[:MOST_VALUE_CHARS], more))
    return tuple(found)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be shown)"


def _working_directory(handler: Mapping[str, Any]) -> str:
    """The directory that our handler noted down; "" for other recorders, and for no path."""
    told = handler.get("cwd")
    return told if isinstance(told, str) and len(told) <= MOST_PATH_CHARS else ""


def says(trace: Trace, column: str) -> bool:
    """Whether some host row says something in an argument; an empty text or list says nothing."""
    sparse: Sparse | None = trace.host.args.get(column)
    if sparse is None:
        return False
    return any(trace.strings[int(code)] not in ("", "[]") for code in distinct_values(sparse.value))


def _versions(metadata: Mapping[str, Any]) -> dict[str, str]:
    """CUDA writes 12080 for 12.8 and 26 for CUPTI 26; everything else is shown as it is."""
    found = {}
    for key, label in _VERSIONS.items():
        value = metadata.get(key)
        if isinstance(value, int) and key.startswith("cuda_"):
            found[label] = f"{value // 1000}.{value % 1000 // 10}"
        elif isinstance(value, int | float | str):
            found[label] = str(value)
    return found
