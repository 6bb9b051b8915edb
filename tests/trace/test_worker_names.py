"""Node and process of a worker: by its file, else by its name, and never guessed."""

from __future__ import annotations

import pytest

from kinetoscope.trace.worker_names import process_behind, worker_of_file


@pytest.mark.parametrize(
    ("worker", "node", "process", "expected"),
    [
        ("gpu-17_4711", "", None, ("gpu-17", 4711)),  # torch's own handler
        ("gpu-17_4711_rank3", "", None, ("gpu-17", 4711)),
        ("gpu-17_4711", "gpu-17", None, ("gpu-17", 4711)),
        ("gpu-17_4711", "gpu-17", 99, ("gpu-17", 99)),  # the file knows better
        ("train_50", "gpu-17", None, ("gpu-17", None)),  # 50 is no process of that node
        ("train_50", "gpu-17", 99, ("gpu-17", 99)),
        ("worker_0", "", None, ("", None)),
        ("rank3", None, None, ("", None)),
        ("rank3", "gpu-17", 0, ("gpu-17", None)),
    ],
)
def test_the_process_behind_a_worker(
    worker: str, node: str | None, process: int | None, expected: tuple[str, int | None]
) -> None:
    assert process_behind(worker, node, process) == expected


def test_a_number_that_is_no_time_makes_no_host_of_what_is_before_it() -> None:
    worker = worker_of_file("/log/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz")
    assert process_behind(worker, None, None) == ("", None)


@pytest.mark.parametrize(
    ("path", "worker"),
    [
        ("/log/run/gpu-17_4711.1694128201545.pt.trace.json.gz", "gpu-17_4711"),
        ("gpu-17_4711.pt.trace.json", "gpu-17_4711"),
        (r"C:\log\host.domain_7.1694128201545.pt.trace.json", "host.domain_7"),
        ("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "rank-34.Jul_15_10_52_41.1074"),
        ("/log/run_7/trace.json", ""),
        ("s3://bucket/log_7/a_8.pt.trace.json", "a_8"),
    ],
)
def test_the_worker_of_a_file(path: str, worker: str) -> None:
    assert worker_of_file(path) == worker
