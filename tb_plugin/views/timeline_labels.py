"""What kinds of slices and arrows, flags and parts are called on the Trace page."""

from __future__ import annotations

from collections.abc import Mapping

from ..analysis.timeline.model import FlowKind, SliceFlag, SliceKind

KINDS: Mapping[SliceKind, tuple[str, str]] = {
    SliceKind.OP: ("op", "Operator"),
    SliceKind.ANNOTATION: ("annotation", "Annotation"),
    SliceKind.PYTHON: ("python", "Python frame"),
    SliceKind.MODULE: ("module", "Module call"),
    SliceKind.RUNTIME: ("runtime", "Runtime call"),
    SliceKind.OVERHEAD: ("overhead", "Profiler overhead"),
    SliceKind.OTHER: ("other", "Other host event"),
    SliceKind.LOADER: ("loader", "DataLoader"),
    SliceKind.COMPUTE: ("compute", "Compute kernel"),
    SliceKind.COMMUNICATION: ("communication", "Communication"),
    SliceKind.MEMCPY: ("memcpy", "Copy"),
    SliceKind.MEMSET: ("memset", "Memset"),
    SliceKind.DEVICE_OTHER: ("device_other", "Other device activity"),
    SliceKind.DEVICE_ANNOTATION: ("device_annotation", "Annotation on the device"),
    SliceKind.SYNC: ("sync", "Synchronization"),
    SliceKind.RANGE: ("range", "Range of the recorder"),
}
"""Stem and label."""

FLOW_KINDS: Mapping[FlowKind, str] = {
    FlowKind.LAUNCH: "Launch to device activity",
    FlowKind.BACKWARD: "Forward op to backward op",
}

FLAGS: Mapping[SliceFlag, str] = {
    SliceFlag.OVERLAP: "overlaps its neighbours in a way that nesting does not explain",
    SliceFlag.INCOMPLETE: "the recording ended before it did",
}
"""Those that a reader has to know of."""

WITH_STACK = "record with `with_stack=True`"
WITH_SHAPES = "record with `record_shapes=True`"
WITH_MODULES = "record with `with_stack=True`"
