"""The arguments recommended for a question are taken by the profiler, and answer it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from kinetoscope.handlers import profiled, recommended_config
from tests.handlers.recording import read

QUESTIONS = ("what bounds my step", "memory", "call stacks", "smallest overhead")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_in_one_window(question: Any, tmp_path: Path) -> None:
    config = recommended_config(question)
    assert config.cost
    assert config.answers
    saved: list[Path] = []

    def save(prof: Any) -> None:
        saved.append(tmp_path / f"{len(saved)}.json")
        prof.export_chrome_trace(str(saved[-1]))

    options = {"activities": [ProfilerActivity.CPU], **config}
    for _ in profiled(range(30), profile(**options, on_trace_ready=save)):
        torch.mm(torch.ones(8, 8), torch.ones(8, 8))

    (path,) = saved
    events = read(path)["traceEvents"]
    names = {event.get("name") for event in events}
    assert "aten::mm" in names
    assert ("[memory]" in names) is (question == "memory")
    frames = any(event.get("cat") == "python_function" for event in events)
    assert frames is (question == "call stacks")
    shapes = any("Input Dims" in event.get("args", {}) for event in events)
    assert shapes is (question != "smallest overhead")


def test_another_question_is_told_those_that_there_are() -> None:
    with pytest.raises(ValueError, match='"what bounds my step", "memory"'):
        recommended_config("why is it slow")  # type: ignore[arg-type]
