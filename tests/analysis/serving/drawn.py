"""A drawn server: what each of its iterations does is an argument, so every figure is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.summarize import summarize
from tests.drawing import PID, STREAM, Event, trace_of

HOST_US = 100.0  # an iteration's range on the host
COPY_US = 5.0  # work of a copy on the device


class Pass(NamedTuple):
    """One iteration. Its work begins when it was launched and the work before has ended."""

    name: str
    kernels: Sequence[float] = (400.0,)  # durations in µs, one launch for each
    host: float = 0.0  # µs in the scheduler before it
    pause: float = 0.0  # µs between its kernels: each is launched so late
    graph: bool = False  # one replay launches all of its kernels
    copied: float = 0.0  # µs for which a blocking copy to the host goes on when it is done


SCHEDULER = "schedule: allocate_slots"


def event(cat: str, name: str, ts: float, dur: float, tid: int = 1, **args: Any) -> Event:
    pid = PID if tid == 1 else 0
    return {
        "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip


def served(*passes: Pass, kernel: str = "gemm") -> list[Event]:
    """The events of iterations, one behind the other on one thread; 10 µs a launch."""
    events: list[Event] = []
    now, free, number = 0.0, 0.0, 0
    for one in passes:
        if one.host:
            # The host waits until the tokens of the iteration before are there.
            now = max(now, free)
            events.append(event("user_annotation", SCHEDULER, now, one.host))
            now += one.host
        begun = now
        for at, dur in enumerate(one.kernels):
            if not (one.graph and at):
                number += 1
                call = "cudaGraphLaunch" if one.graph else "cudaLaunchKernel"
                events.append(event("cuda_runtime", call, now, 10, correlation=number))
                now += 10
            start = max(now, free)
            events.append(
                event("kernel", f"{kernel}_{at}", start, dur, STREAM, correlation=number,
                      device=0, stream=STREAM)
            )  # fmt: skip
            free = start + dur
            if one.pause:
                now = free + one.pause - 10
        if one.copied:
            number += 1
            end = max(now, free) + COPY_US
            events.append(
                event(
                    "gpu_memcpy",
                    "Memcpy DtoH (Device -> Pageable)",
                    end - COPY_US,
                    COPY_US,
                    STREAM,
                    correlation=number,
                    device=0,
                    stream=STREAM,
                )
            )
            events.append(
                event("cuda_runtime", "cudaMemcpy", now, end + one.copied - now, correlation=number)
            )
            now, free = end + one.copied, end
        now = max(begun + HOST_US, now)
        events.append(event("user_annotation", one.name, begun, now - begun))
    return events


def facts_of(*passes: Pass, **metadata: Any) -> Facts:
    return summarize(trace_of(served(*passes), **metadata))


def decode(batch: int, keys: int = 1000) -> str:
    """A name of vLLM's detailed form: one new token for each of ``batch`` requests."""
    none = "sq0sk0sqsq0sqsk0"
    some = f"sq{batch}sk{keys}sqsq{batch}sqsk{keys}"
    return f"execute_{batch}_context_0({none})_generation_{batch}({some})"
