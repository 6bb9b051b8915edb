"""Occupancy: a recorded 0 is no value, and what is computed equals what recorders write."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kinetoscope.trace.build.occupancy import (
    Launched,
    filling,
    launches,
    limits_of,
    resident_blocks,
    volume,
)
from kinetoscope.trace.model import DeviceKind, Trace
from kinetoscope.trace.raw import Texts
from kinetoscope.trace.scan.scanner import scan
from tests.collected import FILES, opened
from tests.conftest import TRACES, requires_traces
from tests.trace.drawn import drawn, kernel, kinds, meta

H100: dict[str, Any] = {
    "id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0, "warpSize": 32,
    "numSms": 132, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536,
    "sharedMemPerMultiprocessor": 233472, "sharedMemPerBlock": 49152,
}  # fmt: skip
RECORDED = ("blocks per SM", "est. achieved occupancy %")


def launched(blocks: int, threads: int, registers: int, shared: int) -> Launched:
    return Launched(*(np.array([one], np.int64) for one in (blocks, threads, registers, shared)))


def one_kernel(
    occupancy: float | None, blocks: float | None, *, shared: int = 80_000, **properties: Any
) -> Trace:
    """A kernel of 264 blocks of 128 threads with 128 registers each, as recorded."""
    written = dict(zip(RECORDED, (blocks, occupancy), strict=True))
    return drawn(
        meta("process_labels", 0, labels="GPU 0"),
        kernel("k", 10, 5, **{name: told for name, told in written.items() if told is not None},
               **{"grid": [264, 1, 1], "block": [128, 1, 1], "registers per thread": 128,
                  "shared memory": shared}),
        deviceProperties=[{**H100, **properties}],
    )  # fmt: skip


def occupancy_of(trace: Trace) -> float | None:
    column = trace.device.args.get("occupancy")
    return None if column is None else float(column.value[0])


def test_a_recorded_0_is_replaced_by_what_the_launch_gives() -> None:
    # 2 blocks per SM, 4 by registers, 2 by shared memory: 256 of 2048 threads.
    trace = one_kernel(0, 2.0)
    assert occupancy_of(trace) == 12.5
    assert "occupancy_computed" in kinds(trace)
    assert float(trace.device.args["blocks_per_sm"].value[0]) == 2.0


@pytest.mark.parametrize("blocks", [None, 0])
def test_what_was_not_recorded_is_computed_too(blocks: float | None) -> None:
    trace = one_kernel(None, blocks)
    assert occupancy_of(trace) == 12.5
    assert float(trace.device.args["blocks_per_sm"].value[0]) == 2.0
    assert float(trace.device.args["warps_per_sm"].value[0]) == 8.0


def test_a_recorded_value_stays() -> None:
    trace = one_kernel(13, 2.0)
    assert occupancy_of(trace) == 13
    assert "occupancy_computed" not in kinds(trace)


@pytest.mark.parametrize(
    "properties",
    [
        {"numSms": None},
        {"sharedMemPerMultiprocessor": None},
        {"computeMinor": None},
        {"computeMajor": 3},
        {"name": "AMD Instinct MI300X", "computeMinor": 4, "warpSize": 64},
        {"warpSize": 64},
        {"maxThreadsPerMultiprocessor": "Infinity"},
        {"sharedMemPerMultiprocessor": 4096},  # smaller than the kernel's: it cannot have run
    ],
)
def test_without_the_inputs_there_is_no_value_and_never_a_zero(properties: dict[str, Any]) -> None:
    trace = one_kernel(0, 2.0, **properties)
    assert occupancy_of(trace) is None
    assert "occupancy_unknown" in kinds(trace)
    assert trace.device.args["blocks_per_sm"].value.tolist() == [2.0], "recorded"


def test_a_launch_in_other_words_is_no_launch() -> None:
    assert [volume(text) for text in ("[64,2,1]", "64", "[1,1,1,1]")] == [128, 64, -1]
    assert [volume(text) for text in ("", "[0,1,1]", "[-3,1,1]")] == [-1, -1, -1]
    assert volume("[" + "9" * 90 + ",1,1]") == -1


@given(
    st.integers(1, 1 << 20), st.integers(1, 1024), st.integers(0, 255), st.integers(0, 227 * 1024)
)
def test_what_is_resident_fits(blocks: int, threads: int, registers: int, shared: int) -> None:
    limits = limits_of(H100, (9, 0), 132)
    assert limits is not None
    launch = launched(blocks, threads, registers, shared)
    (active,) = resident_blocks(limits, launch).tolist()
    assert active * threads <= limits.threads
    assert active * threads * registers <= limits.registers
    assert active * (shared + limits.reserved_bytes) <= limits.shared_bytes
    assert 0 <= active <= limits.blocks
    _, _, (occupancy,) = filling(limits, launch)
    assert np.isnan(occupancy) if not active else 0 < occupancy <= 100


@requires_traces
def test_the_table_of_the_second_engine() -> None:
    """Each kernel of its truth table: launch → blocks, warps, occupancy, to its six digits."""
    truth = json.loads((TRACES / "torch2.15_cuspy" / "truth.json").read_text())["all_on"]
    trace = opened("torch2.15_cuspy/node0_4242.1795335000000000000.pt.trace.json.gz")
    limits = limits_of(H100, (9, 0), 132)
    assert limits is not None
    names = [trace.text(code) for code in trace.device.name]
    for name, true in truth["occupancy_by_kernel_computed"].items():
        row = names.index(name)
        for column, key in (
            ("blocks_per_sm", "blocks_per_sm"),
            ("warps_per_sm", "warps_per_sm"),
        ):
            found = trace.device.args[column]
            value = float(found.value[np.searchsorted(found.row, row)])
            assert value == pytest.approx(true[key], abs=1e-6)
        found = trace.device.args["occupancy"]
        value = float(found.value[np.searchsorted(found.row, row)])
        assert value == pytest.approx(100 * true["est_achieved_occupancy"], abs=1e-4)
        threads, registers = true["threads"], true["registers"]
        launch = launched(1, threads, registers, true["shared_bytes"])
        assert resident_blocks(limits, launch).tolist() == [true["active_blocks_per_sm"]]
        assert true["active_blocks_per_sm"] * threads / 2048 == true["theoretical_occupancy"]


WRITTEN = (
    "dlrm_8rank_v100/worker0", "hta/critical_path/alexnet", "hta/ns_resolution_trace/",
    "hta/trace_diff/control", "kineto_tb_samples/resnet50_num_workers_4", "misc_repos/switch",
    "misc_repos/particle", "param/resnet_kineto", "tracelens/b200/eager", "tracelens/h100/",
)  # fmt: skip


@requires_traces
@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(WRITTEN)])
def test_computed_equals_recorded_wherever_a_value_was_recorded(name: str) -> None:
    """Recorders round to whole percent; the recorder of the V100 rounds some halves down."""
    trace = opened(name)
    listed = trace.recording.metadata["deviceProperties"]
    texts = Texts(trace.strings)
    of_file = file_columns(trace, name)
    for number, device in enumerate(trace.devices):
        kernels = trace.device.kind == DeviceKind.KERNEL
        mine = np.flatnonzero((trace.device.device == number) & kernels)
        limits = limits_of(listed[device.index], device.capability, device.multiprocessor_count)
        assert limits is not None
        rows, launch = launches(texts, trace.device.args, mine)
        blocks, warps, occupancy = filling(limits, launch)
        told = of_file["occupancy"][rows]
        good = told > 0
        away = np.abs(occupancy[good] - told[good])
        assert (away <= 0.5 + 1e-4).all(), "rounded to whole percent"
        for column, computed in (("blocks_per_sm", blocks), ("warps_per_sm", warps)):
            recorded = of_file[column][rows]
            good = recorded > 0
            assert recorded[good] == pytest.approx(computed[good], rel=1e-4)
        assert (occupancy > 0).all()


def file_columns(trace: Trace, name: str) -> dict[str, NDArray[np.float64]]:
    """What the file itself says, by row of the device table; -1 where it says nothing."""
    raw = scan(TRACES / name)
    result = {}
    for column in ("occupancy", "blocks_per_sm", "warps_per_sm"):
        written = np.full(len(raw.events), -1.0)
        written[raw.floats[column].row] = raw.floats[column].value
        result[column] = written[trace.device.raw]
    return result
