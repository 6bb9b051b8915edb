"""The stored columns behind graphs: of their replays, and of recordings of a capture.

Made once per trace when first asked for, then memory-mapped.
"""

from __future__ import annotations

from ...base.artifact_spec import ArtifactSpec, opens, stores
from .captures import captures_of
from .model import CaptureColumns, GraphColumns
from .replays import graphs_of

make_graphs = stores(graphs_of, "graphs")
make_captures = stores(captures_of, "captures")
GRAPHS = ArtifactSpec("graphs-1", f"{__name__}:make_graphs", opens(GraphColumns, "graphs"))
CAPTURES = ArtifactSpec(
    "captures-2", f"{__name__}:make_captures", opens(CaptureColumns, "captures")
)
