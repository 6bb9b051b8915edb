"""The stored columns behind graphs: of their replays, and of recordings of a capture.

Made once per trace when first asked for, then memory-mapped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...base.artifact_spec import ArtifactSpec
from ...base.columnar import Writer, load
from ...trace.model import Trace
from .captures import captures_of
from .model import CaptureColumns, GraphColumns
from .replays import graphs_of

_GRAPHS, _CAPTURES = "graphs", "captures"


def make_graphs(trace: Trace, folder: Path, on_share: Callable[[float], None]) -> None:
    """Fills an empty folder with the graphs of a trace.

    Raises:
        OSError: no room, or no permission.
    """
    with Writer(folder) as writer:
        writer.close(graphs_of(trace), _GRAPHS)
    on_share(1.0)


def make_captures(trace: Trace, folder: Path, on_share: Callable[[float], None]) -> None:
    """Store the launches of a recording of a capture in an empty folder.

    Raises:
        OSError: no room, or no permission.
    """
    with Writer(folder) as writer:
        writer.close(captures_of(trace), _CAPTURES)
    on_share(1.0)


def open_graphs(folder: Path) -> GraphColumns:
    """The graphs again. Raises DamagedError."""
    return load(GraphColumns, folder, _GRAPHS)


def open_captures(folder: Path) -> CaptureColumns:
    """The launches again. Raises DamagedError."""
    return load(CaptureColumns, folder, _CAPTURES)


GRAPHS: ArtifactSpec[GraphColumns] = ArtifactSpec(
    "graphs-1", f"{__name__}:make_graphs", open_graphs
)
CAPTURES: ArtifactSpec[CaptureColumns] = ArtifactSpec(
    "captures-2", f"{__name__}:make_captures", open_captures
)
