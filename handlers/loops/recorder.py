"""Recording on demand: one bounded window of a training that cannot be restarted.

    recorder = Recorder("./log/live", file="./record_now", steps=5)
    for batch in loader:
        train(batch)
        recorder.step()

`touch record_now`, a signal, or a request to torch's debug server starts the window; without one a
step costs a microsecond. In a distributed job any rank may be asked, and all ranks record the same
steps: the rank that is asked writes into the store of the process group in which step the window
begins, far enough ahead for the others to read it in time. Nobody waits for anybody.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal as signals
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from ..process import current_process
from ..trace_handler import tensorboard_trace_handler

_log = logging.getLogger("kinetoscope.handlers")


class Recorder:
    """Records `steps` steps on request, after `warmup` more.

    Args:
        on_trace_ready: a logdir, or what `torch.profiler.profile` takes: a handler.
        file: a file that asks when it appears. It is removed then. In a distributed job rank 0
            looks for it.
        signal: a number that asks, such as `signal.SIGUSR2`. A handler that was there is called,
            too. Signals can be caught by the main thread alone.
        debug_server: torch's debug server asks, too, when it gets `POST
            /handler/kinetoscope_record`: see `torch.distributed.debug.start_debug_server`, which
            may be called before or after. One rank is enough.
        steps: how many steps are recorded.
        warmup: how many before them are traced and thrown away.
        check_every: look at file and store every so many steps. In a distributed job the window
            begins after twice as many: ranks that are further apart than half of that begin late,
            which is logged.
        profiler: further arguments of `torch.profiler.profile`, such as those of
            `recommended_config`.

    `request()` asks from the program itself. Nothing of it raises into the training.

    Raises:
        ValueError: a count is too small, or `signal` is set in another than the main thread.
    """

    def __init__(
        self,
        on_trace_ready: str | os.PathLike[str] | Callable[[Any], object],
        *,
        file: str | os.PathLike[str] | None = None,
        signal: int | None = None,
        debug_server: bool = False,
        steps: int = 5,
        warmup: int = 2,
        check_every: int = 10,
        profiler: dict[str, Any] | None = None,
    ) -> None:
        if steps < 1 or warmup < 0 or check_every < 1:
            raise ValueError("steps and check_every: at least 1; warmup: at least 0")
        self._handler = (
            on_trace_ready
            if callable(on_trace_ready)
            else tensorboard_trace_handler(on_trace_ready)
        )
        self._file = None if file is None else Path(file)
        self._steps, self._warmup, self._check_every = steps, warmup, check_every
        self._options = {k: v for k, v in (profiler or {}).items() if k != "schedule"}
        self._asked = threading.Event()
        self._step = self._windows = 0
        self._begin: int | None = None  # the step in which the agreed window begins
        self._prof: Any = None
        self._left = 0
        self._previous: tuple[int, Any] | None = None
        if signal is not None:
            self._previous = (signal, signals.signal(signal, self._on_signal))
        if debug_server:
            _serve(self)

    @property
    def is_recording(self) -> bool:
        """True while a window is open."""
        return self._prof is not None

    def request(self) -> None:
        """Ask for a window; from any thread. One that is open or agreed on is enough."""
        self._asked.set()

    def start(self) -> None:
        """Nothing, as there is nothing to record yet; like `torch.profiler.profile` it has one."""

    def step(self) -> None:
        """Say that a step ended. To be called by every rank, once a step."""
        self._step += 1
        is_idle = self._prof is None and self._begin is None
        if is_idle and self._step % self._check_every:
            return
        is_done = False
        with _survived("record on demand"):
            self._advance()
            is_done = True
        if not is_done:
            self._close()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until every trace is in its place, or lost and logged.

        False if that took longer than `timeout_s`. Of an `on_trace_ready` that knows no `flush`
        there is nothing to wait for.
        """
        flush = getattr(self._handler, "flush", None)
        return bool(flush(timeout_s)) if callable(flush) else True

    def stop(self) -> None:
        """Close an open window early and restore the signal handler. The recorded part is saved."""
        self._close()
        if self._previous is not None and threading.current_thread() is threading.main_thread():
            number, before = self._previous
            signals.signal(number, signals.SIG_DFL if before is None else before)
            self._previous = None

    def __enter__(self) -> Recorder:  # noqa: PYI034  # Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _advance(self) -> None:
        if self._prof is not None:
            self._prof.step()
            self._left -= 1
            if self._left == 0:
                self._close()
            return
        if self._begin is None and self._step % self._check_every == 0:
            self._begin = self._agreed()
        if self._begin is not None and self._step >= self._begin:
            self._open()

    def _agreed(self) -> int | None:
        """The step in which all ranks begin; None before a request."""
        store = _store()
        if store is None:
            return self._step if self._is_wanted() else None
        key = f"kinetoscope/record/{self._windows}"
        if self._is_wanted():
            ahead = self._step + 2 * self._check_every
            return int(store.compare_set(key, "", str(ahead)))
        return int(store.get(key)) if store.check([key]) else None

    def _is_wanted(self) -> bool:
        if self._file is not None and current_process().rank in {None, 0}:
            with contextlib.suppress(OSError):
                self._file.unlink()
                self._asked.set()
        is_wanted = self._asked.is_set()
        self._asked.clear()
        return is_wanted

    def _open(self) -> None:
        from torch.profiler import profile, schedule

        begin, self._begin = self._begin, None
        self._windows += 1
        if begin != self._step:
            _log.warning(
                "kinetoscope begins to record in step %d: the others began in step %d.",
                self._step,
                begin,
            )
        first, counts = self._step, {"wait": 0, "warmup": self._warmup, "active": self._steps}
        plan = schedule(**counts, repeat=1)

        def shifted(step: int) -> Any:  # noqa: ANN401  # torch's class
            return plan(max(0, step - first))

        # The same from the first step on, in torch's own terms: for the metadata of the trace.
        shifted.__wrapped__ = schedule(**counts, repeat=1, skip_first=first)  # type: ignore[attr-defined]
        prof: Any = profile(
            **self._options,
            schedule=shifted,
            on_trace_ready=self._handler,
        )
        prof.step_num = first  # the steps in the trace are those of the training
        prof.start()
        self._prof, self._left = prof, self._warmup + self._steps
        _log.info("kinetoscope records steps %d to %d", first + self._warmup, first + self._left)

    def _close(self) -> None:
        prof, self._prof = self._prof, None
        if prof is not None:
            with _survived("stop recording"):
                prof.stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._asked.set()
        before = self._previous[1] if self._previous else None
        if callable(before):
            before(number, frame)


@contextlib.contextmanager
def _survived(work: str) -> Iterator[None]:
    """Log exceptions of torch, of another profiler, or of saving the trace."""
    try:
        yield
    except Exception:  # noqa: BLE001  # whatever it is, the training goes on
        _log.exception("kinetoscope could not %s. The training goes on.", work)


HANDLER = "kinetoscope_record"
"""The name under which torch's debug server asks."""
_served: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _serve(recorder: Recorder) -> None:
    """Let torch's debug server ask a recorder."""
    _served.add(recorder)
    try:
        import ctypes

        from torch._C._distributed_c10d import _register_handler
    except ImportError as error:
        _log.warning("kinetoscope cannot be asked by torch's debug server: %s", error)
        return
    # The table of handlers is destroyed after the interpreter. Would it let go of the last
    # reference to a function of Python then, the process would abort.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_on_debug_server))
    # Of another recorder, or of the parent: a table takes a name once.
    with contextlib.suppress(ValueError):
        _register_handler(HANDLER, _on_debug_server)


def _on_debug_server(_: Any, response: Any) -> None:  # noqa: ANN401  # torch's classes
    """Answer a request; in a thread of the server."""
    recorders = list(_served)
    for recorder in recorders:
        recorder.request()
    response.set_content(f"{len(recorders)} recorders were asked\n", "text/plain")
    response.set_status(200)


def _store() -> Any:  # noqa: ANN401  # torch's class
    """The store of the default process group; None without one."""
    distributed = sys.modules.get("torch.distributed.distributed_c10d")
    try:
        if distributed is None or not distributed.is_initialized():
            return None
        return distributed._get_default_store()  # torch has no other way to it
    except (AttributeError, RuntimeError, ValueError):
        return None
