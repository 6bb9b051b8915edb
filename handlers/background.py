"""Work beside the training: functions run one after the other in a thread of their own.

The thread is there only while there is work. It is no daemon, so that the interpreter waits for it
at its end. Nothing of it survives a fork: the child has neither the thread nor its work.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable

Work = Callable[[], object]
_NICE = 10
_LOOK_SECONDS = 0.1


class Background:
    """A queue of work and the thread that does it; of one process, which makes its own.

    Work that raises ends the thread; what was queued behind it goes on with the next `submit` or
    `flush`.
    """

    def __init__(self) -> None:
        # A signal handler may flush what its own thread is just submitting: the lock re-enters.
        self._changed = threading.Condition(threading.RLock())
        self._waiting: deque[Work] = deque()
        self._is_busy = False
        self._flushers = 0

    def submit(self, work: Work) -> None:
        """Do `work` after all that waits; at once where no thread can be started any more."""
        with self._changed:
            self._waiting.append(work)
        self._begin()

    def _begin(self) -> None:
        with self._changed:
            if self._is_busy or not self._waiting:
                return
            self._is_busy = True
        # Behind the end of the main thread the interpreter waits for no thread that begins now.
        if threading.main_thread().is_alive():
            thread = threading.Thread(target=self._run, name="kinetoscope-writer", daemon=False)
            try:
                thread.start()
                return
            except RuntimeError:  # the system gives no more threads
                pass
            except BaseException:  # Ctrl-C: whoever submits or flushes next begins it
                if thread.ident is None:
                    self._is_idle_again()
                raise
        self._work_off()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all work is done. False if that took longer than `timeout_s`."""
        self._begin()  # what waits where a thread ended, or did not begin
        with self._changed:
            self._flushers += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._is_busy, timeout_s)
            finally:
                self._flushers -= 1

    def pause(self, seconds: float) -> None:
        """Sleep between jobs; return at once during `flush()` and at exit."""
        end = time.monotonic() + seconds
        with self._changed:
            while not self._flushers and threading.main_thread().is_alive():
                rest = end - time.monotonic()
                if rest <= 0:
                    return
                self._changed.wait(min(rest, _LOOK_SECONDS))

    def _run(self) -> None:
        if sys.platform == "linux":  # elsewhere a priority is the whole process's
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        self._work_off()

    def _work_off(self) -> None:
        is_done = False
        try:
            while work := self._next():
                work()
            is_done = True
        finally:
            if not is_done:
                self._is_idle_again()

    def _is_idle_again(self) -> None:
        with self._changed:
            self._is_busy = False
            self._changed.notify_all()

    def _next(self) -> Work | None:
        with self._changed:
            if self._waiting:
                return self._waiting.popleft()
            self._is_busy = False
            self._changed.notify_all()
            return None
