"""How well a device was used, in pictures of 1 µs per column."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.device_work import DeviceWork
from kinetoscope.analysis.overview.utilization import gauges, measures
from kinetoscope.analysis.steps import select, step_windows
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.drawing import V100, draw

GEMM, PLAIN, TRITON = "ampere_fp16_s16816gemm_fp16_64x64_nn", "volta_sgemm_64x64_nt", "triton_tem_1"


def shown(trace: Trace, steps: str = "") -> dict[str, float | None]:
    selection = select(summarize(trace), steps)
    assert selection.device is not None
    return {one.key: one.ratio for one in measures(selection, selection.device)}


def reasons(trace: Trace) -> dict[str, str]:
    selection = select(summarize(trace))
    assert selection.device is not None
    return {one.key: one.reason for one in measures(selection, selection.device) if one.reason}


def test_utilization_is_the_union_of_kernels_of_the_steps_and_the_gaps_between_them() -> None:
    trace = draw(
        """
        step   |11111  22222|
        call   |a b    cd   |
        gpu    | aaa        |
        gpu.9  |  bbb   cc  |
        copy.4 |      ddddd |
        """
    )
    #             union 1–5 (4) and 8–10 (2) of 12
    assert shown(trace)["utilization"] == pytest.approx(6 / 12)
    assert shown(trace, "1")["utilization"] == pytest.approx(4 / 5)
    assert shown(trace, "2")["utilization"] == pytest.approx(2 / 5)


def test_gaps_count_only_between_chosen_neighbours() -> None:
    trace = draw(
        """
        step   |111 222 333|
        call   |a   b   c  |
        gpu    | a   b   c |
        """
    )
    #                                    3 of 11 with both gaps; 2 of 6 without any
    assert shown(trace)["utilization"] == pytest.approx(3 / 11)
    assert shown(trace, "1,3")["utilization"] == pytest.approx(2 / 6)


def test_sm_efficiency_adds_concurrent_kernels_up_to_one() -> None:
    trace = draw(
        """
        step   |1111111111|
        call   |abc       |
        gpu    |  aaaa    |
        gpu.9  |    bbbb  |
        gpu.8  |     c    |
        """,
        args={
            "a": {"blocks per SM": 0.5},
            "b": {"blocks per SM": 0.25},
            "c": {"blocks per SM": 7.0},
        },
    )
    #        a alone 2·0.5, a+b 1·0.75, all 1·1, b alone 2·0.25
    assert shown(trace)["sm_efficiency"] == pytest.approx((1.0 + 0.75 + 1.0 + 0.5) / 10)


def test_occupancy_is_the_mean_by_duration_of_the_kernels_that_carry_it() -> None:
    trace = draw(
        """
        step   |1111111111|
        call   |abc       |
        gpu    |  aaabccc |
        """,
        args={"a": {"est. achieved occupancy %": 40}, "b": {"est. achieved occupancy %": 80}},
    )
    assert shown(trace)["occupancy"] == pytest.approx((3 * 0.4 + 1 * 0.8) / 4)


def test_what_was_not_recorded_is_no_zero() -> None:
    trace = draw("step |11111|\n call |a    |\n gpu  | aa  |")
    assert shown(trace)["sm_efficiency"] is None
    assert shown(trace)["occupancy"] is None
    assert "blocks per SM" in reasons(trace)["sm_efficiency"]
    assert "occupancy" in reasons(trace)["occupancy"]


def test_kernels_are_cut_at_the_borders_of_the_steps() -> None:
    trace = draw(
        """
        step   |1111122222|
        call   |a    b    |
        gpu    |   bbbbb  |
        gpu.9  | a        |
        """
    )
    first, second = gauges(DeviceWork(trace, 0), step_windows(trace))
    assert (first.window.busy_ns, second.window.busy_ns) == (3000, 3000)
    assert (first.window.kernel_ns, second.window.kernel_ns) == (3000, 3000)


class TestTensorCores:
    PICTURE = """
        step   |1111111111|
        op     |oooooo    |
        call   | a b      |
        gpu    |  aaabb   |
        """

    def of(self, a: str, b: str, **device: object) -> Trace:
        return draw(
            self.PICTURE,
            names={"o": "aten::mm", "a": a, "b": b},
            deviceProperties=[{**V100, **device}],
        )

    def test_share_of_the_time_of_kernels_of_ops(self) -> None:
        assert shown(self.of(GEMM, PLAIN))["tensor_core"] == pytest.approx(3 / 5)

    def test_what_moves_data_is_no_candidate(self) -> None:
        assert shown(self.of(GEMM, "ncclDevKernel_AllReduce_Sum_f32"))["tensor_core"] == 1.0

    def test_known_not_to_use_them(self) -> None:
        assert shown(self.of(PLAIN, PLAIN))["tensor_core"] == 0.0

    def test_names_that_do_not_tell(self) -> None:
        trace = self.of(TRITON, TRITON)
        assert shown(trace)["tensor_core"] is None
        assert "do not say" in reasons(trace)["tensor_core"]

    def test_before_volta_there_are_none(self) -> None:
        trace = self.of(PLAIN, PLAIN, computeMajor=6, name="Quadro GP100")
        assert "6.0" in reasons(trace)["tensor_core"]

    def test_kernels_without_an_op(self) -> None:
        trace = draw("step |11111|\n call |a    |\n gpu  | aa  |", names={"a": GEMM})
        assert "linked to an op" in reasons(trace)["tensor_core"]

    @pytest.mark.parametrize(("replayed", "is_known"), [(3, True), (4, False)])
    def test_replayed_kernels_have_no_op_that_tells(self, replayed: int, is_known: bool) -> None:
        """Known for three of so many kernels: told from half of their time on."""
        trace = draw(
            f"""
            step   |1111111111111|
            op     |oo           |
            call   | a g         |
            gpu    |  aaa{"g" * replayed}|
            """,
            names={"o": "aten::mm", "a": GEMM, "g": GEMM, "call g": "cudaGraphLaunch"},
            deviceProperties=[V100],
        )
        assert (shown(trace)["tensor_core"] == 1.0) is is_known
        why = reasons(trace).get("tensor_core", "")
        assert ("Most kernels run in replayed graphs" in why) is not is_known
