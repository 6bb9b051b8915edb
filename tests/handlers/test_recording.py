"""What the handler saves of real profiles: with a schedule, without one, started by hand."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, schedule
from torch.profiler import tensorboard_trace_handler as handler_of_torch

from kinetoscope.handlers import tensorboard_trace_handler
from tests.handlers.recording import StandIn, event_names, files_in, read, save, train

# Torch warns at the second cycle, and crashes when a warning becomes an exception there.
pytestmark = pytest.mark.filterwarnings("ignore:.*Profiler clears events")

FILE_NAME = re.compile(r"(?P<worker>.+)\.(?P<time_ns>\d{19})\.pt\.trace\.json\.gz")


def step_names(path: Path) -> set[str]:
    return {name for name in event_names(path) if name.startswith("ProfilerStep#")}


def test_ten_cycles_of_a_schedule_become_ten_files(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path, "worker0")
    plan = schedule(wait=1, warmup=1, active=2, repeat=10)

    assert train(steps=45, schedule=plan, on_trace_ready=handler) == 45

    files = [tmp_path / name for name in files_in(tmp_path)]
    assert len(files) == 10
    assert all(FILE_NAME.fullmatch(path.name) for path in files)
    # Names sort by time, and each file holds its own two steps: 2 and 3, then 6 and 7, …
    assert [step_names(path) for path in files] == [
        {f"ProfilerStep#{first}", f"ProfilerStep#{first + 1}"} for first in range(2, 42, 4)
    ]
    metadata = [read(path)["kinetoscope"] for path in files]
    assert [m["cycle"] for m in metadata] == list(range(10))
    assert [m["step_num"] for m in metadata] == list(range(4, 44, 4))


def test_without_a_schedule_the_whole_training_is_one_file(tmp_path: Path) -> None:
    train(steps=3, on_trace_ready=tensorboard_trace_handler(tmp_path, "worker0"))

    (name,) = files_in(tmp_path)
    assert event_names(tmp_path / name).count("aten::mm") >= 3


def test_start_and_stop_by_hand_save_one_file_each_time(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path, "worker0")
    for _ in range(2):
        prof = profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler)
        prof.start()
        torch.mm(torch.ones(4, 4), torch.ones(4, 4))
        prof.stop()
    handler.flush()

    products = [event_names(tmp_path / name).count("aten::mm") for name in files_in(tmp_path)]
    assert products == [1, 1]


def test_the_file_holds_what_torchs_own_handler_would_hold(tmp_path: Path) -> None:
    # Torch exports a profile only once, so both handlers get the same export.
    export = tmp_path / "export.json"
    train(steps=3, on_trace_ready=lambda prof: prof.export_chrome_trace(str(export)))

    class Again(StandIn):
        def export_chrome_trace(self, path: str, **_: bool) -> None:
            data = export.read_bytes()
            Path(path).write_bytes(gzip.compress(data) if path.endswith(".gz") else data)

    handler_of_torch(str(tmp_path / "torch"), "worker0", use_gzip=True)(Again())
    ours = save(tensorboard_trace_handler(tmp_path / "ours", "worker0"), Again())

    assert ours is not None
    (name_of_torch,) = files_in(tmp_path / "torch")
    assert FILE_NAME.fullmatch(name_of_torch)
    assert FILE_NAME.fullmatch(ours.name)
    content = read(ours)
    del content["kinetoscope"]
    assert content == read(tmp_path / "torch" / name_of_torch)


def test_torchs_validator_accepts_the_file(tmp_path: Path) -> None:
    from torch.profiler._trace_validator import validate_trace

    handler = tensorboard_trace_handler(tmp_path)
    train(steps=3, with_stack=True, on_trace_ready=handler)

    assert validate_trace(str(handler.saved_paths[0])) == (True, [])


def test_metadata_says_who_recorded_what_with_which_options(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path, "worker0", source_roots=["/src"])
    train(steps=1, on_trace_ready=handler, record_shapes=True)

    (name,) = files_in(tmp_path)
    metadata = read(tmp_path / name)["kinetoscope"]
    assert metadata["worker"] == "worker0"
    assert metadata["source_roots"] == ["/src"]
    assert metadata["torch"] == torch.__version__
    assert metadata["profiler"] == {
        "activities": ["CPU"],
        "record_shapes": True,
        "profile_memory": False,
        "with_stack": False,
        "with_flops": False,
        "with_modules": False,
    }
    assert metadata["handler"] == {
        "use_gzip": True,
        "compresslevel": 6,
        "use_python_export": False,
    }


def test_metadata_of_the_user_stays_beside_ours(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path)
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler) as prof:
        prof.add_metadata_json("hyper", '{"lr": 0.1}')
    handler.flush()

    (name,) = files_in(tmp_path)
    content = read(tmp_path / name)
    assert content["hyper"] == {"lr": 0.1}
    assert content["kinetoscope"]["schema"] == 1


def test_plain_json_on_demand(tmp_path: Path) -> None:
    train(steps=1, on_trace_ready=tensorboard_trace_handler(tmp_path, "w", use_gzip=False))

    (name,) = files_in(tmp_path)
    assert name.startswith("w.")
    assert name.endswith(".pt.trace.json")
    assert "aten::mm" in event_names(tmp_path / name)


def test_python_export_on_demand(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path, "w", True, True)
    train(steps=2, on_trace_ready=handler)

    (name,) = files_in(tmp_path)
    assert "aten::mm" in event_names(tmp_path / name)
    assert read(tmp_path / name)["kinetoscope"]["handler"]["use_python_export"] is True


def test_python_export_is_not_asked_of_a_torch_that_cannot(tmp_path: Path) -> None:
    assert save(tensorboard_trace_handler(tmp_path, use_python_export=True), StandIn()) is not None


def test_a_relative_directory_is_meant_from_where_the_job_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = tensorboard_trace_handler("log/x://odd", "w")
    monkeypatch.chdir(tmp_path)

    path = save(handler)

    assert path is not None
    assert path.parent == tmp_path / "log" / "x:" / "odd"
