"""Headline figures of a recording, and its report, in the tracker of the training.

    handler = tensorboard_trace_handler("log")
    …
    kinetoscope.integrations.publish(handler, wandb.run)         # W&B
    kinetoscope.integrations.publish(handler, mlflow)            # MLflow, its active run
    kinetoscope.integrations.publish("log", writer, step=100)    # SummaryWriter of TensorBoard
    kinetoscope.integrations.publish("log", trainer)             # Lightning's or Hugging Face's

Of a handler it is the last recording, once it is written; of a folder the newest one. It is read in
a process of its own, at low priority, by rank 0 alone. Whatever goes wrong is one line in the log,
and the training goes on. A figure that is not known is left out; it is never 0.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .web.report import MOST_SIZE

_log = logging.getLogger(__name__)
_PATIENCE_S = 600.0
_WRITING_S = 120.0  # for the handler to publish what was recorded
_NICE = 10
_REPORT = "kinetoscope_report.html"


def headline(path: str | os.PathLike[str]) -> dict[str, float]:
    """The figures of the newest recording below a path, by their names in a tracker.

    profile/step_ms                      mean step in ms; absent without a whole step
    profile/idle_ratio                   share of the steps in which the device is idle; absent
                                         where no device was recorded
    profile/communication_exposed_ratio  share in which it only communicates; absent where there
                                         are no collectives
    profile/peak_memory_bytes            highest allocated total of a device; absent where memory
                                         was not recorded
    profile/findings_high                number of findings of high severity

    Raises:
        kinetoscope.base.errors.KinetoscopeError: there is no recording, or it cannot be read.
    """
    from . import open as open_trace
    from .analysis.steps import select

    trace = open_trace(path)
    chosen = select(trace.facts)
    figures: dict[str, float] = {}
    peaks = [one.peak_allocated_bytes for one in trace.facts.devices if one.peak_allocated_bytes]
    if peaks:
        figures["profile/peak_memory_bytes"] = max(peaks)
    if not chosen.count or not chosen.total_ns or chosen.cut:
        return figures
    figures["profile/step_ms"] = chosen.mean(chosen.total_ns) / 1e6
    if chosen.partition is not None:
        figures["profile/idle_ratio"] = chosen.ratio(chosen.partition.idle_ns)
        if chosen.communication.total_ns:
            exposed = chosen.partition.exposed_communication_ns
            figures["profile/communication_exposed_ratio"] = chosen.ratio(exposed)
    findings = trace.overview().findings
    figures["profile/findings_high"] = sum(one.severity == "high" for one in findings)
    return figures


def publish(
    path: Any,  # noqa: ANN401  # a path, or the handler
    tracker: Any,  # noqa: ANN401  # of some library, none of which is a dependency
    *,
    step: int | None = None,
    report: bool = True,
    max_size: str = MOST_SIZE,
) -> dict[str, float]:
    """Hand the headline figures, and the report as a file, to a tracker; the figures.

    ``tracker`` is a run of W&B, the module ``mlflow``, a ``SummaryWriter``, a logger of Lightning,
    or a trainer of Lightning or Hugging Face. Other ranks than 0, and a failure, give {}.
    """
    try:
        return _publish(path, tracker, step, max_size if report else "")
    except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
        _log.warning("kinetoscope could not publish %s: %s. The training goes on.", path, error)
        return {}


def _publish(
    path: Any,  # noqa: ANN401
    tracker: Any,  # noqa: ANN401
    step: int | None,
    max_size: str,
) -> dict[str, float]:
    if os.environ.get("RANK", "0") != "0":
        return {}
    targets = list(_targets(tracker))
    if not targets:
        raise TypeError(f"{type(tracker).__name__} is no tracker that it knows")
    if hasattr(path, "saved_paths"):
        path.flush(_WRITING_S)
        if not path.saved_paths:
            raise RuntimeError("nothing was recorded")
        path = path.saved_paths[-1]
    with tempfile.TemporaryDirectory(prefix="kinetoscope-") as folder:
        file = Path(folder, _REPORT)
        wanted = ["--report", str(file), "--max-size", max_size] if max_size else []
        figures = _read_apart(os.fspath(path), wanted)
        for log_figures, log_file in targets:
            log_figures(figures, step)
            if log_file is not None and file.is_file():
                log_file(str(file))
    return figures


def _read_apart(path: str, wanted: list[str]) -> dict[str, float]:
    """Read the figures in a separate process, so that its memory and faults do not harm the job."""
    command = [sys.executable, "-m", "kinetoscope.integrations", path, *wanted]
    done = subprocess.run(  # our own module
        command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it ended without a word"])[-1])
    found: dict[str, float] = json.loads(done.stdout)
    if done.stderr.strip():
        _log.warning("kinetoscope: %s", done.stderr.strip())
    return found


_Figures = Callable[[Mapping[str, float], "int | None"], object]
_File = Callable[[str], object]


def _targets(tracker: Any) -> Iterator[tuple[_Figures, _File | None]]:  # noqa: ANN401
    """Functions that send figures and a file to a tracker, by the methods that it has."""
    own = getattr(tracker, "loggers", None)
    if isinstance(own, list | tuple):  # a trainer of Lightning
        for one in own:
            yield from _targets(one)
    elif hasattr(tracker, "add_scalar"):  # SummaryWriter
        yield (lambda figures, step: _add_scalars(tracker, figures, step)), None
    elif hasattr(tracker, "log_artifact") and hasattr(tracker, "log_metrics"):  # the module mlflow
        yield (
            (lambda figures, step: tracker.log_metrics(dict(figures), step=step)),
            tracker.log_artifact,
        )
    elif hasattr(tracker, "log_artifact") and hasattr(tracker, "log"):  # a run of W&B
        yield (
            (lambda figures, step: tracker.log(dict(figures), step=step)),
            (lambda file: tracker.log_artifact(file, name="kinetoscope", type="profile")),
        )
    elif hasattr(tracker, "log_metrics"):  # a logger of Lightning
        yield (
            (lambda figures, step: tracker.log_metrics(dict(figures), step=step)),
            _file_of_logger(tracker),
        )
    elif hasattr(tracker, "callback_handler") and hasattr(tracker, "log"):  # Hugging Face's trainer
        folder = getattr(getattr(tracker, "args", None), "output_dir", None)
        yield (lambda figures, _: tracker.log(dict(figures))), _into(folder)


def _file_of_logger(logger: Any) -> _File | None:  # noqa: ANN401
    """Function that gives a file to a logger of Lightning: to its tracker, else into its folder."""
    experiment = getattr(logger, "experiment", None)
    log: Any = getattr(experiment, "log_artifact", None)
    run = getattr(logger, "run_id", None)
    if run is not None and log is not None:  # MLflow's client
        return lambda file: log(run, file)
    if log is not None:
        return lambda file: log(file, name="kinetoscope", type="profile")
    return _into(getattr(logger, "log_dir", None))


def _into(folder: object) -> _File | None:
    """Function that copies a file into a folder; None without a folder."""
    if not isinstance(folder, str):
        return None

    def keep(file: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, Path(folder, _REPORT))

    return keep


def _add_scalars(writer: Any, figures: Mapping[str, float], step: int | None) -> None:  # noqa: ANN401
    for name, value in figures.items():
        writer.add_scalar(name, value, step)
    writer.flush()


def _main(arguments: list[str]) -> int:
    """Print the figures as JSON; what ``_read_apart`` starts. A report that fails is a warning."""
    from . import open as open_trace
    from .base.errors import KinetoscopeError

    path, *rest = arguments
    given = dict(zip(rest[::2], rest[1::2], strict=True))
    if hasattr(os, "nice"):
        os.nice(_NICE)
    try:
        sys.stdout.write(json.dumps(headline(path)))
        sys.stdout.flush()
    except KinetoscopeError as error:
        sys.stderr.write(f"{error.text}\n")
        return error.exit_code
    if "--report" in given:
        try:
            open_trace(path).report(given["--report"], max_size=given["--max-size"])
        except KinetoscopeError as error:
            sys.stderr.write(f"no report: {error.text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
