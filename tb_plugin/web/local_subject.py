"""A trace in memory as views with an artifact see it, for one command or a notebook.

There is no catalog then: artifacts are made when they are asked for, in a folder that goes away.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

from ..analysis.facts import Facts
from ..store.worker import load_callable
from ..trace.model import Trace
from ..trace.rereader import Rereader
from ..views.view import Artifact, Subject, View
from .subject import available


def subject_of_trace(view: View, trace: Trace, facts: Facts) -> Subject:
    """The trace as the view and its parts see it.

    Raises:
        UnavailableError: this trace cannot fill the view.
    """
    if view.artifact is None:
        raise TypeError(f"the view {view.stem} has no artifact")
    artifacts = _Artifacts(view.artifact, trace)
    file = Rereader(trace.path, trace.blocks)
    return Subject(available(view, facts), artifacts.opened, lambda: trace, file.event)


class _Artifacts:
    """The variants of an artifact that were asked for."""

    def __init__(self, artifact: Artifact, trace: Trace) -> None:
        self._artifact = artifact
        self._trace = trace
        self._opened: dict[str, Any] = {}
        self._lock = threading.Lock()
        # Mapped files cannot be deleted everywhere: what is left goes with the system's own.
        self._folder = tempfile.TemporaryDirectory(
            prefix="kinetoscope-", ignore_cleanup_errors=True
        )

    def opened(self, variant: str) -> Any:  # noqa: ANN401  # what the artifact opens as
        """A variant; the first one is what the others may refer to."""
        with self._lock:
            for one in dict.fromkeys((self._artifact.variants[0], variant)):
                if one not in self._opened:
                    self._opened[one] = self._artifact.open(self._made(one))
            return self._opened[variant]

    def _made(self, variant: str) -> Path:
        folder = Path(self._folder.name, f"{self._artifact.name}-{variant}")
        folder.mkdir()
        make = load_callable(self._artifact.make)
        arguments = [variant] if len(self._artifact.variants) > 1 else []
        make(self._trace, folder, lambda _: None, *arguments)
        return folder
