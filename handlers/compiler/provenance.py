"""Nodes and source lines of Inductor's fused kernels, taken from the logger `torch.__trace`.

Only with `compile="lines"`: it raises Inductor's `provenance_tracking_level` to 1, which is part of
the key of its cache since torch 2.12, so that everything is compiled once more.
"""

from __future__ import annotations

import importlib
import json
import logging
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

_log = logging.getLogger("kinetoscope.handlers")
_TRACE = "torch.__trace"
_MAPPINGS = "inductor_provenance_tracking_node_mappings"
_STACKS = "inductor_provenance_tracking_kernel_stack_traces"
_LINE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>[^\n]*)')
_GRADIENT = "Gradient addition node due to multiple use of tensor around:"
_MOST_GRAPHS = 1024
_MOST_KERNELS = 512  # of one graph
_MOST_NODES = 64  # of one kernel, and lines


class KernelNodes(logging.Handler):
    """Keeps two kinds of records, and drops all others at once."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._graphs: list[dict[str, Any]] = []
        self.dropped = 0

    @staticmethod
    def is_possible() -> bool:
        """True if the loaded torch can track where its kernels come from."""
        config = sys.modules.get("torch._inductor.config")
        return hasattr(getattr(config, "trace", None), "provenance_tracking_level")

    @classmethod
    def switched_on(cls) -> KernelNodes | None:
        """Ask Inductor for nodes and lines from now on; None where this torch has none."""
        config: Any = importlib.import_module("torch._inductor.config")
        if not cls.is_possible():
            _log.warning(
                'kinetoscope: compile="lines" needs torch 2.9 or later: no lines of fused kernels'
            )
            return None
        if not config.trace.provenance_tracking_level:
            config.trace.provenance_tracking_level = 1
            _log.info(
                'kinetoscope: compile="lines" changes the key of Inductor\'s cache (torch 2.12 or '
                "later): the first run compiles everything anew"
            )
        logger, found = logging.getLogger(_TRACE), cls()
        logger.addHandler(found)
        if logger.getEffectiveLevel() > logging.DEBUG:
            logger.setLevel(logging.DEBUG)
        return found

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record of nodes or of lines."""
        metadata = getattr(record, "metadata", None)
        artifact = metadata.get("artifact") if isinstance(metadata, dict) else None
        name = artifact.get("name") if isinstance(artifact, dict) else None
        if name not in (_MAPPINGS, _STACKS) or metadata is None:
            return
        try:
            payload: Any = getattr(record, "payload", None)
            found = json.loads(payload() if callable(payload) else payload)
            identity = f"{metadata.get('frame_id')}/{metadata.get('frame_compile_id')}"
            self._keep(name, identity, found)
        except (TypeError, ValueError, KeyError, AttributeError):  # another form in another torch
            self.dropped += 1

    def _keep(self, name: str, identity: str, found: Any) -> None:  # noqa: ANN401
        if name == _MAPPINGS:
            if len(self._graphs) >= _MOST_GRAPHS:
                self.dropped += 1
                return
            nodes = found.get("cppCodeToPost") or {}
            sources = found.get("postToPre") or {}
            kernels = {
                kernel: {"nodes": _texts(some), "lines": []}
                for kernel, some in list(nodes.items())[:_MOST_KERNELS]
            }
            self._graphs.append(
                {"id": identity, "sources": bool(sources), "kernels": kernels, "has_lines": False}
            )
            return
        # Lines come right behind the nodes of the same graph.
        graph = next((one for one in reversed(self._graphs) if one["id"] == identity), None)
        if graph is None or graph["has_lines"]:
            return
        graph["has_lines"] = True
        for kernel, stacks in list(found.items())[:_MOST_KERNELS]:
            one = graph["kernels"].setdefault(kernel, {"nodes": [], "lines": []})
            one["lines"] = [
                place for stack in _texts(stacks) if (place := _place(stack)) is not None
            ]

    def graphs(self, paths: Callable[[object], str]) -> list[dict[str, Any]]:
        """The kernels of each graph with nodes and lines; paths relative to the roots."""
        return [
            {
                "compilation": graph["id"],
                # What is compiled with its forward has nodes too; alone it has stacks only.
                "backward": not graph["sources"],
                "kernels": [
                    {
                        "name": name.rpartition(":")[0] or name,
                        "nodes": one["nodes"],
                        "lines": [[paths(file), line, of] for file, line, of in one["lines"]],
                    }
                    for name, one in graph["kernels"].items()
                ],
            }
            for graph in self._graphs
            if graph["kernels"]
        ]


def _texts(values: Any) -> list[str]:  # noqa: ANN401
    if isinstance(values, Mapping) or not hasattr(values, "__iter__"):
        return []
    return [str(one) for one in list(values)[:_MOST_NODES]]


def _place(stack: str) -> tuple[str, int, str] | None:
    """The innermost line of a stack; of a sum of gradients, the line of the tensor."""
    text = stack.partition(_GRADIENT)[0] or stack
    found = list(_LINE.finditer(text))
    if not found:
        return None
    last = found[-1]
    return last["file"], int(last["line"]), last["name"].strip()
