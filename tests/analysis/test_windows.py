"""From when to when a step lasts, in pictures of 1 µs per column."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.overview.left_out import INCOMPLETE, WARM_UP
from kinetoscope.analysis.steps import Windows, step_windows
from kinetoscope.trace.model import Trace
from tests.drawing import draw


def spans(windows: Windows) -> list[tuple[int, int]]:
    """Windows in µs."""
    return [
        (int(a) // 1000, int(b) // 1000) for a, b in zip(windows.start, windows.end, strict=True)
    ]


def of(picture: str) -> Windows:
    return step_windows(draw(picture))


def test_a_step_lasts_until_the_work_it_launched_has_ended() -> None:
    windows = of(
        """
        step   |111111222222       |
        call   | a     b           |
        gpu    |    aaaaaa  bbbbb  |
        """
    )
    assert spans(windows) == [(0, 10), (10, 17)]
    assert windows.launches.tolist() == [1, 1]
    assert windows.device_events.tolist() == [1, 1]
    assert windows.excluded == (None, None)


def test_a_step_begins_on_the_host_when_the_device_is_done_earlier() -> None:
    windows = of(
        """
        step   |11111   22222|
        call   | a       b   |
        gpu    |  a       b  |
        """
    )
    assert spans(windows) == [(0, 5), (8, 13)]
    assert windows.edges.tolist() == [0, 5000, 8000, 13000]


def test_the_first_step_waits_for_work_launched_before_it() -> None:
    windows = of(
        """
        step   |  111111222222|
        call   |   a     b    |
        gpu    |oooo aa    b  |
        """
    )
    assert spans(windows) == [(4, 8), (8, 14)]


@pytest.mark.parametrize(("gaps", "start"), [(4, 8), (5, 1)], ids=["half", "less"])
def test_work_with_wide_gaps_is_of_no_queue(gaps: int, start: int) -> None:
    """Its launches are missing: the device was not on work launched before the step."""
    silent = " " * gaps
    windows = of(
        f"""
        step   |1111111111111111|
        call   |          a     |
        gpu    |o{silent}ooo{" " * (8 - gaps)}aa  |
        """
    )
    assert spans(windows)[0][0] == start


def test_without_device_work_windows_are_the_host_ranges() -> None:
    windows = of(
        """
        step   |1111122222 33333|
        op     | aaa  aaa   aaa |
        """
    )
    assert spans(windows) == [(0, 5), (5, 10), (11, 16)]


def test_ranges_on_a_stream_are_no_steps() -> None:
    windows = of(
        """
        step      |111111222222   |
        call      | a     b       |
        gpu       |   aaa   bbb   |
        gpunote   |   888   999   |
        """
    )
    assert len(windows) == 2


def test_where_nothing_marks_steps_the_whole_recording_is_one() -> None:
    windows = of(
        """
        op     |  aaaaaa      |
        call   |    l         |
        gpu    |      llllll  |
        """
    )
    assert spans(windows) == [(0, 10)]
    assert windows.launches.tolist() == [1]
    assert windows.excluded == (None,)


def test_a_recording_of_the_device_alone_lasts_as_long_as_its_work() -> None:
    trace = draw("gpu |    aaa  bbb |")
    assert spans(step_windows(trace)) == [(0, 8)]


def test_a_file_without_lasting_events_has_no_step() -> None:
    windows = step_windows(draw(""))
    assert len(windows) == 0


class TestIncompleteTail:
    def test_last_steps_without_device_work(self) -> None:
        windows = of(
            """
            step   |1111222233334444|
            call   | a   b          |
            gpu    |  a   b         |
            """
        )
        assert windows.excluded == (None, None, INCOMPLETE, INCOMPLETE)

    def test_a_last_step_with_less_than_four_fifths_of_the_work_before(self) -> None:
        windows = of(
            """
            step   |111111111122222222223333333333|
            call   |abcdef    ghijkl    mnop      |
            gpu    |  abcdef    ghijkl    mnop    |
            """
        )
        assert windows.device_events.tolist() == [6, 6, 4]
        assert windows.excluded == (None, None, INCOMPLETE)

    def test_a_last_step_with_four_fifths_counts(self) -> None:
        windows = of(
            """
            step   |11111111112222222222|
            call   |abcde     ghij      |
            gpu    |  abcde     ghij    |
            """
        )
        assert windows.excluded == (None, None)

    def test_without_a_device_the_ops_tell(self) -> None:
        windows = of(
            """
            step   |1111112222223|
            op     |abc   abc    |
            """
        )
        assert windows.excluded == (None, None, INCOMPLETE)

    def test_a_lone_step_is_never_cut_off(self) -> None:
        assert of("step |11111|\n op | aaa |").excluded == (None,)
        assert of("step |11111|\n op |     |").excluded == ("incomplete",), "it holds no work"

    def test_a_range_that_never_ended(self) -> None:
        trace = draw(
            """
            step   |1111122222|
            op     | a    a   |
            """,
            args={"2": {"finished": False}},
        )
        assert step_windows(trace).excluded == (None, INCOMPLETE)


class TestWarmUp:
    def test_a_first_step_half_as_long_again_as_the_median(self) -> None:
        windows = of(
            """
            step   |1111111122223333|
            op     | a       a   a  |
            """
        )
        assert windows.excluded == (WARM_UP, None, None)

    def test_two_steps_are_too_few_to_tell(self) -> None:
        windows = of(
            """
            step   |111111112222|
            op     | a       a  |
            """
        )
        assert windows.excluded == (None, None)


def test_windows_never_overlap_nor_run_backwards() -> None:
    trace: Trace = draw(
        """
        step   |111122223333            |
        call   |a   b   c               |
        gpu    |        bbbb            |
        gpu.9  |  aaaaaaaaaaaaaaaa      |
        gpu.8  |         cc             |
        """
    )
    windows = step_windows(trace)
    assert spans(windows) == [(0, 18), (18, 18), (18, 18)]
    assert (np.diff(windows.edges) >= 0).all()
