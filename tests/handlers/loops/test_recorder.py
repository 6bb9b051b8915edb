"""Recording on demand: by file, signal and call; one window, all ranks in step."""

from __future__ import annotations

import logging
import os
import signal
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from kinetoscope.handlers import Recorder, tensorboard_trace_handler
from tests.handlers.recording import event_names, files_in, read, run_python

pytestmark = pytest.mark.filterwarnings("ignore:.*Profiler clears events")


def steps_in(path: Path) -> list[str]:
    return sorted(name for name in event_names(path) if name.startswith("ProfilerStep#"))


def train(recorder: Recorder, steps: int) -> None:
    for _ in range(steps):
        torch.mm(torch.ones(4, 4), torch.ones(4, 4))
        recorder.step()


def recorder_in(folder: Path, **options: Any) -> tuple[Recorder, Any]:
    handler = tensorboard_trace_handler(folder / "log", "w", background=False)
    cpu = {"activities": [ProfilerActivity.CPU]}
    return Recorder(handler, steps=2, warmup=1, check_every=5, profiler=cpu, **options), handler


def test_a_touched_file_starts_one_window(tmp_path: Path) -> None:
    ask = tmp_path / "record_now"
    recorder, handler = recorder_in(tmp_path, file=ask)
    train(recorder, 12)
    assert handler.saved_paths == ()
    ask.touch()
    train(recorder, 20)  # asked for before step 13, seen in step 15, one step warms up

    (path,) = handler.saved_paths
    assert steps_in(path) == ["ProfilerStep#16", "ProfilerStep#17"]
    assert not ask.exists()
    assert not recorder.is_recording


def test_asked_again_it_records_again(tmp_path: Path) -> None:
    recorder, handler = recorder_in(tmp_path)
    for _ in range(2):
        recorder.request()
        recorder.request()  # while one is agreed on: no second one
        train(recorder, 20)

    assert [steps_in(path)[0] for path in handler.saved_paths] == [
        "ProfilerStep#6",
        "ProfilerStep#26",
    ]


def test_a_signal_starts_a_window_and_reaches_whom_it_reached_before(tmp_path: Path) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: heard.append(number))
    try:
        with recorder_in(tmp_path, signal=signal.SIGUSR2)[0] as recorder:
            os.kill(os.getpid(), signal.SIGUSR2)
            train(recorder, 10)
        os.kill(os.getpid(), signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)

    assert len(files_in(tmp_path / "log")) == 1
    assert heard == [signal.SIGUSR2, signal.SIGUSR2]


DEBUG_SERVER = """
    import sys, urllib.request
    import torch
    from torch._C._distributed_c10d import _WorkerServer
    from torch.profiler import ProfilerActivity
    from kinetoscope.handlers import Recorder, tensorboard_trace_handler

    torch.set_num_threads(1)
    handler = tensorboard_trace_handler(sys.argv[1], "w", background=False)
    early = _WorkerServer("127.0.0.1", 0)
    cpu = {"activities": [ProfilerActivity.CPU]}
    recorders = [
        Recorder(handler, steps=2, warmup=1, check_every=5, profiler=cpu, debug_server=True)
        for _ in range(2)
    ]
    del recorders[1]  # one that is gone is not asked
    late = _WorkerServer("127.0.0.1", 0)
    for server in (early, late):
        address = f"http://127.0.0.1:{server.port}/handler/kinetoscope_record"
        request = urllib.request.Request(address, method="POST")
        print(urllib.request.urlopen(request, timeout=60).read().decode(), end="")
        for _ in range(20):
            torch.mm(torch.ones(4, 4), torch.ones(4, 4))
            recorders[0].step()
"""


def test_torchs_debug_server_starts_a_window(tmp_path: Path) -> None:
    """And the process ends well, which torch alone does not see to."""
    pytest.importorskip("torch._C._distributed_c10d", reason="no torch.distributed here")
    output = run_python("-W", "ignore", "-c", textwrap.dedent(DEBUG_SERVER), tmp_path)

    assert output == "1 recorders were asked\n" * 2
    windows = [steps_in(tmp_path / name)[0] for name in files_in(tmp_path)]
    assert windows == ["ProfilerStep#6", "ProfilerStep#26"]


def test_a_training_that_ends_in_the_window_keeps_what_was_recorded(tmp_path: Path) -> None:
    recorder, handler = recorder_in(tmp_path)
    recorder.request()
    train(recorder, 7)
    assert recorder.is_recording
    recorder.stop()

    assert steps_in(handler.saved_paths[0]) == ["ProfilerStep#6", "ProfilerStep#7"]


def test_without_a_request_nothing_happens(tmp_path: Path) -> None:
    recorder, _ = recorder_in(tmp_path, file=tmp_path / "ask")
    train(recorder, 50)
    recorder.stop()

    assert files_in(tmp_path) == []


def test_another_profiler_in_the_way_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder, handler = recorder_in(tmp_path)
    with profile(activities=[ProfilerActivity.CPU]):
        recorder.request()
        train(recorder, 20)
    assert any(record.levelno >= logging.ERROR for record in caplog.records) or handler.saved_paths

    recorder.request()
    train(recorder, 20)
    assert handler.saved_paths


@pytest.mark.parametrize("steps", [1, 100], ids=["in a step", "as it is stopped"])
def test_what_is_to_save_a_trace_may_raise(steps: int, caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: object) -> None:
        raise OSError("no room")

    with Recorder(fails, steps=steps, warmup=1, check_every=1) as recorder:
        recorder.request()
        train(recorder, 5)
    assert "no room" in caplog.text


def test_profiler_options_that_do_not_exist_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(tmp_path, check_every=1, profiler={"no_such_option": True})
    recorder.request()
    train(recorder, 3)

    assert "could not record on demand" in caplog.text
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("counts", [{"steps": 0}, {"warmup": -1}, {"check_every": 0}])
def test_counts_that_cannot_be(tmp_path: Path, counts: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        Recorder(tmp_path, **counts)  # type: ignore[arg-type]


def test_all_ranks_record_the_same_steps_though_one_was_asked(tmp_path: Path) -> None:
    program = """
        import sys, warnings
        warnings.simplefilter("ignore")
        import torch
        import torch.distributed as dist
        from torch.profiler import ProfilerActivity
        from kinetoscope.handlers import Recorder

        directory, rank = sys.argv[1], int(sys.argv[2])
        torch.set_num_threads(1)
        dist.init_process_group(
            "gloo", init_method=f"file://{directory}/rendezvous", rank=rank, world_size=2
        )
        recorder = Recorder(
            directory + "/log", steps=2, check_every=4,
            profiler={"activities": [ProfilerActivity.CPU]},
        )
        for step in range(40):
            if (rank, step) in {(1, 5), (0, 24), (1, 25)}:  # the last two mean the same
                recorder.request()
            dist.all_reduce(torch.ones(4))
            recorder.step()
        recorder.stop()
        dist.destroy_process_group()
    """
    with ThreadPoolExecutor(2) as threads:
        jobs = [
            threads.submit(run_python, "-c", textwrap.dedent(program), tmp_path, rank)
            for rank in (0, 1)
        ]
        for job in jobs:
            job.result()

    paths = [tmp_path / "log" / name for name in files_in(tmp_path / "log")]
    found = sorted((read(path)["kinetoscope"]["rank"], steps_in(path)) for path in paths)
    windows = [found[i][1] for i in range(2)]
    assert windows[0] == ["ProfilerStep#18", "ProfilerStep#19"]
    assert found == [(rank, steps) for rank in (0, 1) for steps in windows]
