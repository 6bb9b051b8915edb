"""The mistakes of a first use: what the handler logs, and what is said of the file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerAction, ProfilerActivity, profile, schedule

import kinetoscope
from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.headline import headline
from kinetoscope.analysis.steps import select
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.handlers import Recorder, tensorboard_trace_handler
from kinetoscope.handlers.loops.schedules import Plan, nothing_recorded, plan_of
from kinetoscope.trace.io.source import root_of
from tests.handlers.recording import read, train

BEGIN = """
    import logging, os, sys
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule
    from kinetoscope.handlers import Recorder, tensorboard_trace_handler

    def profiler(name, plan, **options):
        logging.basicConfig(format="%(message)s")
        handler = tensorboard_trace_handler(sys.argv[1] + "/" + name)
        return profile(
            activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=handler, **options
        )
"""


def said_by(program: str, directory: Path) -> tuple[list[str], int]:
    """What a script that ends logs of kinetoscope, in sorted lines, and its exit status."""
    done = subprocess.run(
        [sys.executable, "-c", dedent(BEGIN) + dedent(program), str(directory)],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("kinetoscope")]
    return sorted(lines), done.returncode


def test_a_script_that_recorded_nothing_says_so_at_its_end(tmp_path: Path) -> None:
    program = """
        def main():
            with profiler("long", schedule(wait=6, warmup=2, active=3, repeat=1)) as prof:
                for _ in range(5):
                    prof.step()

        recorded = profiler("recorded", schedule(wait=0, warmup=1, active=1, repeat=1))
        with recorded:
            for _ in range(5):
                recorded.step()
        unstepped = profiler("unstepped", schedule(wait=1, warmup=1, active=3, repeat=1))
        with unstepped:
            torch.ones(2) + 1
        unused = tensorboard_trace_handler(sys.argv[1] + "/unused")
        recorder = Recorder(sys.argv[1] + "/unasked")
        if hasattr(os, "fork") and not os.fork():  # a worker that ends as a program does
            import atexit
            atexit._run_exitfuncs()
            os._exit(0)
        main()
    """
    unstepped = (
        "kinetoscope: nothing was recorded: prof.step() was never called, so the schedule never "
        "began to record. Call prof.step() after each step."
    )
    too_long = (
        "kinetoscope: nothing was recorded: the loop ran 5 steps, and the schedule skips the "
        "first 8. Use schedule(wait=1, warmup=1, active=3, repeat=1)."
    )
    assert said_by(program, tmp_path) == ([unstepped, too_long], 0)
    assert [path.name for path in tmp_path.iterdir()] == ["recorded"]


def test_a_program_that_failed_is_not_given_a_schedule(tmp_path: Path) -> None:
    program = """
        with profiler("a", schedule(wait=6, warmup=2, active=3, repeat=1)) as prof:
            for _ in range(2):
                prof.step()
            raise RuntimeError("out of luck")
    """
    line = (
        "kinetoscope: nothing was recorded: the program failed (RuntimeError) after 2 steps; "
        "the schedule skips the first 8."
    )
    assert said_by(program, tmp_path) == ([line], 1)


def test_a_profiler_that_was_never_stopped_or_has_a_schedule_of_its_own(tmp_path: Path) -> None:
    """Without a process of its own: at the end of one, torch 2.13 crashes on the first."""
    handler, other = tensorboard_trace_handler(tmp_path), tensorboard_trace_handler(tmp_path)
    plan = schedule(wait=0, warmup=1, active=9, repeat=1)
    prof = profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=handler)
    prof.start()
    prof.step()
    prof.step()
    try:
        assert (nothing_recorded(handler) or "").startswith("the profiler was never stopped.")
    finally:
        prof.stop()
    assert nothing_recorded(other) is None  # no profiler has it

    own = profile(
        activities=[ProfilerActivity.CPU],
        schedule=lambda _: ProfilerAction.NONE,
        on_trace_ready=other,
    )
    with own:
        own.step()
    assert nothing_recorded(other) == (
        "the loop ran 1 step, and its schedule recorded none. "
        "Run 2 steps or more with schedule(wait=0, warmup=1, active=1, repeat=1)."
    )


@pytest.mark.parametrize(
    "plan",
    [
        {"wait": 1, "warmup": 1, "active": 3, "repeat": 1},
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 3},
        {"wait": 0, "warmup": 2, "active": 2},
    ],
)
def test_a_plan_says_of_each_step_what_torch_does(plan: dict[str, int]) -> None:
    made = schedule(**plan)
    found = plan_of(made)

    assert found == Plan(**plan)
    recorded = [made(step).name.startswith("RECORD") for step in range(30)]
    assert [found.at(step) is not None for step in range(30)] == recorded
    assert recorded.index(True) == found.skipped
    assert plan_of(Plan(**plan).at) is None


def facts_of(directory: Path) -> Facts:
    return kinetoscope.open(directory).facts


def notes(facts: Facts) -> dict[str, str]:
    return {note.kind: note.title for note in facts.health.notes}


def record(directory: Path, steps: int, **plan: Any) -> dict[str, Any]:
    """The metadata of the only trace that a loop of so many steps leaves."""
    handler = tensorboard_trace_handler(directory)
    train(steps=steps, schedule=schedule(**plan), on_trace_ready=handler)
    (path,) = handler.saved_paths
    metadata = read(path)["kinetoscope"]
    assert isinstance(metadata, dict)
    return metadata


def test_a_loop_that_ended_within_its_window_keeps_what_was_recorded(tmp_path: Path) -> None:
    metadata = record(tmp_path, 4, wait=1, warmup=1, active=6, repeat=1)

    assert metadata["window"] == {"asked": 6, "recorded": 2}
    facts = facts_of(tmp_path)
    assert notes(facts)["partial_window"] == "2 of 6 steps were recorded: the loop ended"
    assert {"after_loop", "step_not_called"}.isdisjoint(notes(facts))


def test_a_full_window_is_not_called_partial(tmp_path: Path) -> None:
    metadata = record(tmp_path, 4, wait=1, warmup=1, active=2, repeat=1)

    assert metadata["window"] == {"asked": 2, "recorded": 2}
    assert "partial_window" not in notes(facts_of(tmp_path))


def test_the_end_of_a_loop_is_no_step(tmp_path: Path) -> None:
    """A schedule that begins to record with the last prof.step() records some microseconds."""
    metadata = record(tmp_path, 2, wait=1, warmup=1, active=3, repeat=1)

    assert metadata["window"] == {"asked": 3, "recorded": 0}
    facts = facts_of(tmp_path)
    assert notes(facts)["after_loop"] == "No step was recorded: the loop ended before"
    said = headline(select(facts))
    assert said.headline == "No step was recorded: the loop ended before."
    assert "%" not in said.headline + said.detail


def test_a_loop_without_steps_is_recorded_as_one(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path)
    with pytest.warns(UserWarning, match="warmup"):
        plan = schedule(wait=0, warmup=0, active=3, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=handler):
        for _ in range(3):
            torch.mm(torch.ones(8, 8), torch.ones(8, 8))
    assert handler.flush(60)

    found = notes(facts_of(tmp_path))
    assert found["step_not_called"] == "prof.step() was never called"
    assert "partial_window" not in found


def test_a_recorder_that_is_stopped_early_says_how_much_it_has(tmp_path: Path) -> None:
    cpu = {"activities": [ProfilerActivity.CPU]}
    with Recorder(tmp_path, steps=5, warmup=1, check_every=3, profiler=cpu) as recorder:
        recorder.request()
        for _ in range(6):  # it opens in step 3: one warms up, two are recorded
            torch.mm(torch.ones(8, 8), torch.ones(8, 8))
            recorder.step()
    assert recorder.flush(60)

    assert notes(facts_of(tmp_path))["partial_window"].startswith("2 of 5 steps were recorded")


def test_a_torch_for_the_cpu_has_no_accelerator(tmp_path: Path) -> None:
    if torch.version.cuda or torch.version.hip or torch.backends.mps.is_available():
        pytest.skip("this torch may have one")
    assert record(tmp_path, 2, wait=0, warmup=1, active=1, repeat=1)["accelerators"] == {}


def test_an_empty_file_of_stacks_is_torchs_own(tmp_path: Path) -> None:
    file = tmp_path / "stacks.txt"
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
        torch.mm(torch.ones(8, 8), torch.ones(8, 8))
    prof.export_stacks(str(file), "self_cpu_time_total")
    if file.stat().st_size:
        pytest.skip("this torch writes stacks")

    with pytest.raises(TraceFormatError) as raised:
        root_of(file.read_bytes())
    assert "export_stacks() of torch 2.13" in str(raised.value.hint)
