"""CO1, CO7, CO9: communication, DataParallel, the back end."""

from __future__ import annotations

import pytest

from kinetoscope.trace.model import Trace
from tests.analysis.advice.checks import NCCL, finding, needs, plain
from tests.drawing import V100, draw

TWO_CARDS = [{**V100, "id": 0}, {**V100, "id": 1}]


class TestCommunication:
    def of(self, exposed: str, hidden: str = "") -> Trace:
        return draw(
            f"""
            step   |11111111111111111111|
            call   |kn                  |
            gpu    |  {hidden or "k" * 10:18}|
            gpu.9  |            {exposed:8}|
            """,
            names={"n": NCCL},
        )

    def test_a_quarter_of_the_step(self) -> None:
        found = finding(self.of("nnnnn"), "CO1")
        assert found is not None
        assert plain(found.text).startswith(
            "Collectives take 5.00 µs in this step (25.0 %), "
            "and for 5.00 µs of that nothing computes."
        )
        assert found.gain is not None
        assert found.gain.ns_per_step == 5000
        assert found.gain.claims == ("exposed_communication_ns",)

    def test_ten_percent_is_not_above_ten_percent(self) -> None:
        assert finding(self.of("nn"), "CO1") is None
        assert finding(self.of("nnn"), "CO1") is not None

    def test_communication_under_compute_is_no_matter(self) -> None:
        assert finding(self.of("nnnnn", hidden="k" * 18), "CO1") is None

    def test_a_copy_beside_a_collective_does_not_make_its_part_larger_than_the_whole(self) -> None:
        """The classic breakdown counts the last two columns as copy; the collective runs on."""
        trace = draw(
            """
            step   |11111111111111111111|
            call   |knc                 |
            gpu    |  kkkkkkkkkk        |
            gpu.9  |            nnnnnn  |
            copy.8 |                cc  |
            """,
            names={"n": NCCL},
        )
        found = finding(trace, "CO1")
        assert found is not None
        assert plain(found.text).startswith(
            "Collectives take 6.00 µs in this step (30.0 %), "
            "and for 6.00 µs of that nothing computes."
        )

    def test_a_run_on_the_host(self) -> None:
        trace = draw("step |1111111111|\n op |aaacccc   |", names={"c": "c10d::allreduce_"})
        found = finding(trace, "CO1")
        assert found is not None
        assert found.gain is not None
        assert found.gain.ns_per_step == 4000

    def test_what_it_needs(self) -> None:
        assert needs(draw("gpu |aaa|"), "CO1")


class TestDataParallel:
    PICTURE = """
        step   |1111111111|
        op     |PPPPPPPP  |
        call   | ab       |
        gpu0   |  aaa     |
        gpu1   |   bbb    |
        """

    def test_on_two_devices(self) -> None:
        found = finding(draw(self.PICTURE, names={"P": "DataParallel.forward"}), "CO7")
        assert found is not None
        assert "GPU 0 and GPU 1" in plain(found.text)
        assert "--nproc_per_node=2" in found.snippet
        assert found.gain is None
        assert found.severity == "medium"

    def test_on_one_device(self) -> None:
        picture = self.PICTURE.replace("gpu1", "gpu0")
        assert finding(draw(picture, names={"P": "DataParallel.forward"}), "CO7") is None

    def test_two_devices_without_it(self) -> None:
        names = {"P": "DistributedDataParallel.forward"}
        assert finding(draw(self.PICTURE, names=names), "CO7") is None

    def test_what_it_needs(self) -> None:
        assert "supported_activities()" in needs(draw("op |aaa|"), "CO7")


class TestBackend:
    PICTURE = """
        step   |1111111111|
        op     |PPPPPPPP  |
        call   | a        |
        gpu    |  aaa     |
        note2  |    gggg  |
        """
    DDP = "DistributedDataParallel.forward"

    def of(self, collective: str = "gloo:all_reduce", ddp: str = DDP, **card: object) -> Trace:
        return draw(
            self.PICTURE,
            names={"P": ddp, "g": collective},
            deviceProperties=[{**V100, **card}],
        )

    def test_gloo_between_gpus(self) -> None:
        found = finding(self.of(), "CO9")
        assert found is not None
        assert "communicates with `gloo`" in found.text
        assert "nccl" in found.snippet

    @pytest.mark.parametrize(
        "trace",
        [
            pytest.param({"collective": "nccl:all_reduce"}, id="NCCL seen"),
            pytest.param({"ddp": "Net.forward"}, id="no DDP"),
            pytest.param({"computeMajor": 3, "computeMinor": 0}, id="a card too old for NCCL"),
        ],
    )
    def test_nothing_to_say(self, trace: dict[str, object]) -> None:
        assert finding(self.of(**trace), "CO9") is None  # type: ignore[arg-type]

    @pytest.mark.parametrize(("minor", "is_able"), [(4, False), (5, True)])
    def test_nccl_needs_a_capability_of_3_5(self, minor: int, is_able: bool) -> None:
        found = finding(self.of(computeMajor=3, computeMinor=minor), "CO9")
        assert (found is not None) is is_able

    def test_nccl_declared_by_the_recording(self) -> None:
        trace = draw(
            self.PICTURE,
            names={"P": self.DDP, "g": "gloo:barrier"},
            deviceProperties=[V100],
            distributedInfo={"backend": "cpu:gloo,cuda:nccl", "rank": 0, "world_size": 2},
        )
        assert finding(trace, "CO9") is None

    def test_the_host_alone_is_no_case_for_nccl(self) -> None:
        trace = draw("op |PPP|\n note2 |ggg|", names={"P": self.DDP, "g": "gloo:all_reduce"})
        assert finding(trace, "CO9") is None
        assert needs(trace, "CO9")

    def test_an_unknown_card(self) -> None:
        trace = draw(self.PICTURE, names={"P": self.DDP, "g": "gloo:all_reduce"})
        assert "compute capability" in needs(trace, "CO9")
