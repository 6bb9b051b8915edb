"""IN1: steps that wait for their batch."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.analysis.advice.checks import WORKERS, finding, needs, plain
from tests.conftest import TRACES, requires_traces
from tests.drawing import LOADER, draw

WAITING = """
    step   |11111111111111111111|
    note   |DDDDD               |
    call   |     a              |
    gpu    |      aaaaaaaaaaaaaa|
    """


def test_a_device_that_waits_for_the_batch() -> None:
    found = finding(draw(WAITING, names={"D": LOADER}), "IN1")
    assert found is not None
    assert found.title == "Input-bound: load batches in worker processes"
    assert plain(found.text) == (
        "The GPU idles 5.00 µs in this step while the launching thread prepares the batch. "
        "The dataset is read in the training process itself: give the DataLoader workers."
    )
    assert found.gain is not None
    assert (found.gain.ns_per_step, found.gain.ratio) == (5000, 0.25)
    assert found.severity == "high"
    assert found.snippet == "DataLoader(…, num_workers=4)  # now 0"
    assert plain(found.scope) == "1 of 1 step, GPU 0"


def test_several_steps_are_told_by_their_range_and_lead_to_the_worst() -> None:
    found = finding(
        draw(
            """
            step   |11111111112222222222|
            note   |DDD       DDDDD     |
            call   |   a           b    |
            gpu    |    aaaaaa      bbbb|
            """,
            names={"D": LOADER},
        ),
        "IN1",
    )
    assert found is not None
    assert "(3.00 µs to 5.00 µs)" in plain(found.text)
    assert found.links[0].params == {"steps": "2"}


def test_workers_that_do_not_keep_up() -> None:
    found = finding(draw(WAITING, names={"D": WORKERS}), "IN1")
    assert found is not None
    assert "workers do not keep up" in found.title
    assert "prefetch_factor" in found.snippet


@pytest.mark.parametrize(
    ("loader", "cores", "snippet"),
    [
        (LOADER, 2, "DataLoader(…, num_workers=2)  # now 0"),
        (LOADER, 64, "DataLoader(…, num_workers=4)  # now 0"),
        (WORKERS, 4, "DataLoader(…, prefetch_factor=4, persistent_workers=True)"),
        (WORKERS, 64, "DataLoader(…, num_workers=8, prefetch_factor=4, persistent_workers=True)"),
    ],
)
def test_no_more_workers_than_cores(loader: str, cores: int, snippet: str) -> None:
    trace = draw(WAITING, names={"D": loader}, kinetoscope={"cores": cores})
    found = finding(trace, "IN1")
    assert found is not None
    assert found.snippet == snippet


def test_a_run_on_the_host() -> None:
    found = finding(
        draw("step |1111111111|\n note |DDD|\n op |   aaaaaaa|", names={"D": LOADER}), "IN1"
    )
    assert found is not None
    assert "The main thread prepares the batch for 3.00 µs in this step." in plain(found.text)
    assert "pin_memory" not in found.snippet
    assert found.gain is not None
    assert found.gain.claims == ("dataloader_ns", "pattern 0")


@pytest.mark.parametrize(
    ("loader", "fires"), [("D", False), ("DD", True)], ids=["five percent", "ten percent"]
)
def test_the_threshold_is_five_percent(loader: str, fires: bool) -> None:
    trace = draw(
        f"""
        step   |11111111111111111111|
        note   |{loader:20}|
        op     |  aaaaaaaaaaaaaaaaaa|
        """,
        names={"D": LOADER},
    )
    assert (finding(trace, "IN1") is not None) is fires


def test_a_loader_hidden_under_kernels_is_no_matter() -> None:
    trace = draw(
        """
        step   |11111111111111111111|
        call   |a                   |
        note   |  DDDDDDDDDD        |
        gpu    | aaaaaaaaaaaaaaaaaaa|
        """,
        names={"D": LOADER},
    )
    assert finding(trace, "IN1") is None


def test_what_it_needs() -> None:
    assert "ProfilerActivity.CPU" in needs(draw("gpu |aaa|"), "IN1")


@requires_traces
def test_the_ceiling_of_a_real_training_covers_what_workers_won() -> None:
    # One training on a V100, recorded without workers and with four, whose first step begins in
    # the head.
    alone, with_four = (
        select(summarize(read(next((TRACES / "kineto_tb_samples" / folder).glob("*.gz")))))
        for folder in ("resnet50_num_workers_0", "resnet50_num_workers_4")
    )
    findings = check_all(alone)[0]
    first = findings[0]
    assert (first.id, first.severity) == ("IN1", "high")
    assert first.gain is not None
    step, shorter = (one.mean(one.total_ns) for one in (alone, with_four))
    won = step - shorter
    assert (round(step / 1e6, 1), round(shorter / 1e6, 1)) == (177.6, 132.8)
    assert 0 < won <= first.gain.ns_per_step
    assert round(first.gain.ns_per_step / 1e6, 1) == 58.7
    # The loader is no finding any more.
    assert "IN1" not in {one.id for one in check_all(with_four)[0]}
