"""UT1, DT2, ME1: utilization, tensor cores, memory."""

from __future__ import annotations

from typing import Any

import pytest

from kinetoscope.analysis.counters.measured import counter_of, measured
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.analysis.advice.checks import NCCL, finding, needs, plain
from tests.drawing import LOADER, V100, draw, memory
from tests.trace.drawn import annotation, drawn, kernel, launch, x

GIB = 1 << 30


class TestUtilization:
    def of(self, kernels: str, note: str = "", **names: str) -> Trace:
        return draw(
            f"""
            step   |1111111111|
            note   |{note:10}|
            call   |a         |
            gpu    | {kernels:9}|
            """,
            names=names,
        )

    def test_below_half(self) -> None:
        found = finding(self.of("aaaa", "hhhhhhhhhh"), "UT1")
        assert found is not None
        assert plain(found.title) == "GPU 0 runs kernels 40.0 % of the time"
        assert plain(found.text).startswith(
            "Kernels cover 40.0 % of the time on GPU 0, and it idles 6.00 µs in this step. "
            "Meanwhile the host is in `note h` for 5.00 µs (once, nothing recorded inside); "
            "`cudaLaunchKernel` for 1.00 µs (once, the first call in the recording)."
        )
        assert found.gain is not None
        assert found.gain.ns_per_step == 6000

    def test_time_between_steps_is_said_to_count(self) -> None:
        """The device could have worked there too; the steps alone were busy 75 % of the time."""
        trace = draw(
            """
            step   |1111        2222|
            call   |a           b   |
            gpu    | aaa         bbb|
            """
        )
        found = finding(trace, "UT1")
        assert found is not None
        assert plain(found.text).startswith(
            "Kernels cover 37.5 % of the time on GPU 0 from the start of the first chosen step to"
            " the end of the last, the time between neighbours included, and it idles 1.00 µs per"
            " step."
        )

    def test_half_is_not_below_half_and_is_idle_all_the_same(self) -> None:
        found = finding(self.of("aaaaa"), "UT1")
        assert found is not None
        assert plain(found.title) == "GPU 0 idles 50.0 % of the step"

    def test_a_device_that_computes_nearly_all_of_the_time(self) -> None:
        assert finding(self.of("aaaaaaaaa"), "UT1") is None

    def test_the_data_loaders_part_is_another_findings(self) -> None:
        found = finding(self.of("aaa", "     DDDDD", D=LOADER), "UT1")
        assert found is not None
        assert "Most of it is the DataLoader" in found.text
        assert found.gain is not None
        assert found.gain.ns_per_step == 7000 - 5000

    def test_every_low_device_is_named_and_the_chosen_one_explained(self) -> None:
        trace = draw(
            """
            step   |1111111111|
            call   |abc       |
            gpu0   |   a      |
            gpu1   |   bb     |
            gpu2   |   ccccccc|
            """
        )
        found = finding(trace, "UT1")
        assert found is not None
        assert "2 devices are below half: GPU 0 and GPU 1." in plain(found.text)
        assert plain(found.title) == "GPU 0 runs kernels 10.0 % of the time"
        assert [one.value for one in found.evidence if one.unit == "ratio"] == [0.1, 0.2]

    def test_copies_are_no_use_of_the_device(self) -> None:
        trace = draw(
            """
            step   |1111111111|
            call   |ac        |
            gpu    | aa       |
            copy.9 |  cccccccc|
            """
        )
        found = finding(trace, "UT1")
        assert found is not None
        assert "pinned memory" in found.text

    def test_blocking_calls(self) -> None:
        trace = draw(
            """
            step   |11111111111111|
            call   | sssa  sssb   |
            gpu    |     a     bb |
            """,
            names={"call s": "cudaStreamSynchronize"},
        )
        own = finding(trace, "SY1")
        assert own is not None
        assert own.title == "`cudaStreamSynchronize` blocks the host"
        assert "Meanwhile the host is in `cudaStreamSynchronize` for 6.00 µs" in plain(own.text)
        assert "wait for the device less often" in own.text
        assert finding(trace, "UT1") is None  # most of it has a finding of its own

    def test_a_name_is_said_once_though_it_holds_the_device_for_two_causes(self) -> None:
        """Before a launch and after the last one the same note is another cause."""
        trace = draw(
            """
            step   |11111111111111111111|
            note   |hhhhhhhhhhhhhhhhhhhh|
            call   |      a             |
            gpu    |       aaaa         |
            """,
        )
        found = finding(trace, "UT1")
        assert found is not None
        held = [one for one in select(summarize(trace)).held if one.name == "note h"]
        assert len({one.cause for one in held}) == 2
        said = "Meanwhile the host is in `note h` for 15.0 µs (once, nothing recorded inside)"
        assert said in plain(found.text)

    def test_reading_a_value_back(self) -> None:
        trace = draw(
            """
            step   |11111111111111|
            op     |iiii  iiii    |
            call   | sssa  sssb   |
            gpu    |     a     bb |
            """,
            names={"call s": "cudaStreamSynchronize", "i": "aten::_local_scalar_dense"},
        )
        own = finding(trace, "SY1")
        assert own is not None
        assert "in `aten::_local_scalar_dense`" in own.text
        assert "`.item()`" in own.text

    @pytest.mark.parametrize("call", ["hipMemcpyWithStream", "cudaStreamSynchronize"])
    def test_a_first_call_that_does_not_come_again_gets_no_remedy(self, call: str) -> None:
        trace = draw(
            """
            step   |11111111111111|
            call   | ssssa   sb   |
            gpu    |      a    bb |
            """,
            names={"call s": call},
        )
        found = finding(trace, "SY1")
        assert found is not None
        assert not found.action
        assert not found.snippet

    @pytest.mark.parametrize(
        ("copies", "said", "snippet"),
        [
            ("o ", "into pinned memory and read it later", "results.copy_(y, non_blocking=True)"),
            (" i", "from pinned memory", "x = x.to(device, non_blocking=True)"),
            ("oi", "from or into pinned memory", ""),
            ("  ", "from or into pinned memory", ""),
        ],
        ids=["to the host", "to the device", "both", "unknown"],
    )
    def test_a_copy_that_returns_when_it_is_done(
        self, copies: str, said: str, snippet: str
    ) -> None:
        """What is to be copied otherwise goes the way that the copies of the file go."""
        trace = draw(
            f"""
            step   |11111111111111111111|
            call   | sssssa ssssssb     |
            gpu    |       a       bb   |
            copy   |                 {copies} |
            """,
            names={
                "call s": "hipMemcpyWithStream",
                "o": "Memcpy DtoH (Device -> Host)",
                "i": "Memcpy HtoD (Host -> Device)",
            },
        )
        found = finding(trace, "SY1")
        assert found is not None
        assert said in found.text
        assert found.snippet.startswith(snippet)
        assert bool(found.snippet) is bool(snippet)

    def test_what_it_needs(self) -> None:
        assert "supported_activities()" in needs(draw("op |aaa|"), "UT1")


class TestTensorCores:
    def of(self, kernel: str, op: str = "aten::mm", **card: Any) -> Trace:
        return draw(
            """
            step   |1111111111|
            op     |ooo       |
            call   | a        |
            gpu    |  aaaaaaaa|
            """,
            names={"o": op, "a": kernel},
            deviceProperties=[{**V100, **card}],
        )

    def test_a_plain_product_on_volta(self) -> None:
        found = finding(self.of("volta_sgemm_64x64_nt"), "DT2")
        assert found is not None
        assert plain(found.text).startswith("100 % of kernel time on GPU 0 is matrix work")
        assert "most of it `aten::mm`" in found.text
        assert found.gain is not None
        assert found.gain.ns_per_step == 7000  # 7/8 of 8 µs
        assert "torch.float16" in found.snippet

    def test_since_ampere_bfloat16(self) -> None:
        found = finding(self.of("ampere_sgemm_64x64_nt", computeMajor=8, name="NVIDIA A100"), "DT2")
        assert found is not None
        assert "torch.bfloat16" in found.snippet

    @pytest.mark.parametrize(
        "trace",
        [
            pytest.param({"kernel": "volta_fp16_s884gemm_fp16_nn"}, id="used"),
            pytest.param({"kernel": "triton_tem_fused_mm_1"}, id="the name does not tell"),
            pytest.param({"kernel": "elementwise_kernel", "op": "aten::add"}, id="not eligible"),
            pytest.param(
                {"kernel": "sgemm", "computeMajor": 6, "name": "Tesla P100"}, id="no tensor cores"
            ),
            pytest.param(
                {"kernel": "sgemm", "computeMajor": 9, "name": "AMD Instinct MI300X"}, id="AMD"
            ),
        ],
    )
    def test_nothing_to_say(self, trace: dict[str, Any]) -> None:
        assert finding(self.of(**trace), "DT2") is None

    def test_what_it_needs(self) -> None:
        assert "supported_activities()" in needs(draw("op |aaa|"), "DT2")
        assert "compute capability" in needs(draw("call |a |\n gpu | a|"), "DT2")
        alone = draw("step |111|\n gpu |aa |", deviceProperties=[V100])
        assert "linked to the ops" in needs(alone, "DT2")


class TestMemoryCapacity:
    PICTURE = "call |ab  |\ngpu0 | aaa|\ngpu1 | bbb|"
    CARDS = ({**V100, "id": 0}, {**V100, "id": 1, "totalGlobalMem": 16 * GIB})

    def of(self, *events: dict[str, object]) -> Trace:
        return draw(self.PICTURE, events=events, deviceProperties=self.CARDS)

    def test_over_nine_tenths_of_its_own_card(self) -> None:
        found = finding(self.of(memory(1, GIB, 15 * GIB, device=1)), "ME1")
        assert found is not None
        assert plain(found.title) == "The memory of GPU 1 is nearly full"
        assert "15.0 GiB, 93.8 % of the 16.0 GiB of GPU 1" in plain(found.text)

    def test_the_same_bytes_on_a_larger_card(self) -> None:
        assert finding(self.of(memory(1, GIB, 15 * GIB, device=0)), "ME1") is None

    def test_memory_of_the_host_does_not_fill_a_card(self) -> None:
        trace = self.of(memory(1, GIB, 60 * GIB, device=-1, kind=0), memory(1, GIB, GIB, device=1))
        assert finding(trace, "ME1") is None

    def test_activations_are_recomputed_only_where_there_is_a_backward_pass(self) -> None:
        grows = (memory(1, GIB, 2 * GIB, device=1), memory(2, GIB, 15 * GIB, device=1))
        found = finding(self.of(*grows), "ME1")
        assert found is not None
        assert "Make the batch smaller" in found.text
        assert found.snippet == ""

    def test_memory_that_is_held_throughout(self) -> None:
        found = finding(self.of(memory(1, GIB, 15 * GIB, device=1)), "ME1")
        assert found is not None
        assert "is held throughout the recording" in found.text

    @pytest.mark.parametrize(
        "op", ["vllm::unified_attention", "sgl_kernel::rotary_embedding", "trtllm::fused_moe"]
    )
    def test_a_framework_that_takes_all_memory_on_purpose(self, op: str) -> None:
        trace = draw(
            "op |vvv |\n" + self.PICTURE,
            names={"v": op},
            events=[memory(1, GIB, 15 * GIB, device=1)],
            deviceProperties=self.CARDS,
        )
        assert finding(trace, "ME1") is None

    def test_what_it_needs(self) -> None:
        assert "profile_memory=True" in needs(self.of(), "ME1")
        unknown = draw(self.PICTURE, events=[memory(1, GIB, GIB)])
        assert "memory size" in needs(unknown, "ME1")


def test_a_recording_of_the_device_alone_is_told_to_record_the_host() -> None:
    alone = finding(draw("gpu |aa      bb|"), "UT1")
    assert alone is not None
    assert alone.action.startswith("Record the host, too (`ProfilerActivity.CPU`)")
    both = finding(draw("op |mm       m|\ngpu |aa      bb|"), "UT1")
    assert both is not None
    assert "Record the host" not in both.text


def test_a_clock_that_falls_is_measured_while_kernels_run() -> None:
    """As “Measured on GPU” does: idle, a device sleeps at its lowest clock, and takes little power.

    step   │ 0                 │ 1                 │
    gpu    │ gemm gemm gemm …  │ gemm              │
    MHz      1980                1683     300
    W        700                 700      60
    """
    values = {"SM Clock (MHz)": (1980, 1683, 300), "Power (W)": (700, 700, 60)}
    flat = [annotation(f"ProfilerStep#{step}", step * 1000.0, 1000) for step in range(2)]
    for number, (begin, length) in enumerate(((10, 950), (1010, 385)), start=1):
        flat += [x("aten::mm", begin, 8, external_id=number), launch(begin + 1, 2, number)]
        flat.append(
            kernel("ampere_bf16_s16816gemm", begin + 5, length, correlation=number, grid=[8, 1, 1])
        )
    for name, (high, low, idle) in values.items():
        flat += [
            {"ph": "C", "cat": "hardware_counters", "name": name, "pid": 0, "tid": 0, "ts": ts,
             "args": {"": high if ts < 1000 else low if ts < 1400 else idle}}
            for ts in range(0, 2001, 50)
        ]  # fmt: skip
    trace = drawn(flat, deviceProperties=[{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": GIB}])
    found = finding(trace, "CLK2")
    assert found is not None
    assert plain(found.text).startswith(
        "For 28.8 % of the time with kernels the clock is low. In the recording it is at 1,683 MHz "
        "in the mean while kernels run then, and at 1,980 MHz at its best. Power is at its highest "
        "meanwhile"
    )
    clock = counter_of(measured(select(summarize(trace), "1")), "sm_clock")
    assert clock is not None
    assert clock.lowest == 1683.0
    assert found.gain is not None
    slow_ns = 385_000
    assert found.gain.ns_per_step == pytest.approx(slow_ns * (1 - 1683 / 1980) / 2, abs=2)


def test_kernels_without_a_length_beside_a_collective() -> None:
    """Rounded to whole microseconds they may all last 0, and nothing covers them."""
    grid = {"grid": [8, 1, 1]}
    kernels = [kernel("gemm", at, 0, **grid) for at in range(0, 60, 10)]
    facts = summarize(drawn(kernels, kernel(NCCL, 5, 0, **grid)))
    assert not [found for found in facts.patterns.found if found.kind == "contention"]
