"""Devices and streams: what is shown, and how it is called."""

from __future__ import annotations

from typing import Any

import pytest

from kinetoscope.trace.build.metadata import DeviceLabel, device_label, telling
from kinetoscope.trace.model import Trace
from tests.trace.drawn import drawn, kernel, launch, meta, x

A100 = {
    "id": 0,
    "name": "NVIDIA A100-SXM4-40GB",
    "totalGlobalMem": 42_314_694_656,
    "computeMajor": 8,
    "computeMinor": 0,
    "maxThreadsPerMultiprocessor": 2048,
    "numSms": 108,
}


def shown(trace: Trace) -> list[tuple[str, int, str, bool]]:
    return [(d.type, d.index, d.vendor, d.used) for d in trace.devices]


def test_declared_and_used() -> None:
    trace = drawn(
        meta("process_labels", 0, labels="GPU 0"),
        meta("process_labels", 1, labels="GPU 1"),
        meta("process_labels", 9, labels="GPU 9"),
        kernel("k", 0, 5, pid=1),
        deviceProperties=[A100, {**A100, "id": 1}],
    )
    # GPU 9 is announced, but neither declared nor used.
    assert shown(trace) == [("GPU", 0, "NVIDIA", False), ("GPU", 1, "NVIDIA", True)]
    assert trace.device.device.tolist() == [1]
    device = trace.devices[1]
    assert (device.key, device.name) == ("1", "NVIDIA A100-SXM4-40GB")
    assert (device.memory_bytes, device.capability) == (42_314_694_656, (8, 0))
    assert device.multiprocessor_count == 108


AGENT_9 = x("k", 0, 5, cat="kernel", pid=9, tid="stream 0", device=9, stream=0)
MI300X = {"name": "AMD Instinct MI300X", "totalGlobalMem": 206_141_652_992, "numSms": 304}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["AMD Instinct MI300X"], "AMD Instinct MI300X"),
        (["AMD Instinct MI300X", "AMD Instinct MI300X"], "AMD Instinct MI300X"),
        (["AMD Instinct MI300X", "AMD Instinct MI210"], ""),
    ],
)
def test_an_agent_of_amd_is_one_of_the_visible_devices(names: list[str], expected: str) -> None:
    properties = [{**MI300X, "id": at, "name": name} for at, name in enumerate(names)]
    trace = drawn(AGENT_9, hip_runtime_version=1, deviceProperties=properties)
    (used,) = [device for device in trace.devices if device.used]
    assert (used.index, used.name) == (9, expected)
    assert used.multiprocessor_count == (304 if expected else None)


def test_a_device_of_nvidia_has_its_own_properties_alone() -> None:
    trace = drawn(AGENT_9, deviceProperties=[A100])
    assert [device.name for device in trace.devices if device.used] == [""]


def test_the_python_exporter_writes_multiprocessors_under_another_key() -> None:
    properties = {key: value for key, value in A100.items() if key != "numSms"}
    trace = drawn(
        kernel("k", 0, 5), deviceProperties=[{**properties, "maxThreadsPerMultiprocessor": 108}]
    )
    assert trace.devices[0].multiprocessor_count == 108
    assert "python_exporter" in {note.kind for note in trace.health.notes}
    honest = drawn(kernel("k", 0, 5), deviceProperties=[properties])
    assert honest.devices[0].multiprocessor_count is None, "2048 are threads"


@pytest.mark.parametrize(
    ("metadata", "events", "expected"),
    [
        ({"hip_runtime_version": 70253211}, [kernel("k", 0, 5)], ("GPU", 0, "AMD")),
        ({}, [kernel("k", 0, 5), launch(0, 1, 1, name="hipLaunchKernel")], ("GPU", 0, "AMD")),
        ({}, [kernel("k", 0, 5), launch(0, 1, 1)], ("GPU", 0, "NVIDIA")),
        ({"deviceProperties": [{"id": 0, "name": ""}]}, [kernel("k", 0, 5)], ("GPU", 0, "")),
        ({"deviceProperties": [{"id": 0, "name": "Intel(R) Data Center GPU Max 1550"}]},
         [kernel("k", 0, 5)], ("XPU", 0, "Intel")),
        ({"deviceProperties": [{"name": "ARTEMIS"}]},
         [meta("process_labels", 17, labels="MTIA 17"),
          kernel("pe", 0, 5, pid=17, cat="mtia_ccp_events")],
         ("MTIA", 17, "Meta")),
    ],
)  # fmt: skip
def test_type_and_vendor(
    metadata: dict[str, Any], events: list[Any], expected: tuple[str, int, str]
) -> None:
    used = [device for device in drawn(events, **metadata).devices if device.used]
    assert [(device.type, device.index, device.vendor) for device in used] == [expected]


def test_streams_are_numbers_in_every_age() -> None:
    trace = drawn(
        kernel("a", 0, 5, tid="stream 7"),
        kernel("b", 6, 5, tid=20),
        meta("thread_name", 0, 20, name="stream 20 nccl"),
    )
    streams = trace.streams
    assert streams.stream.tolist() == [7, 20]
    assert [trace.text(code) for code in streams.name] == ["stream 7", "stream 20 nccl"]
    assert trace.device.stream.tolist() == [0, 1]


def test_device_rows_are_sorted_by_stream_and_time() -> None:
    trace = drawn(kernel("c", 9, 1, tid=20), kernel("b", 8, 1, tid=7), kernel("a", 2, 9, tid=20))
    assert [trace.text(code) for code in trace.device.name] == ["b", "a", "c"]


def test_a_wait_belongs_to_the_stream_it_names() -> None:
    wait = {"cat": "cuda_sync", "pid": 0}
    trace = drawn(
        kernel("k", 0, 5, tid=7),
        x("Stream Sync", 5, 1, tid=100_007, stream=7, **wait),
        x("Context Sync", 6, 1, tid=-1, stream=-1, **wait),
        x("Stream Sync", 7, 1, tid=33, stream=33, **wait),
    )
    assert trace.streams.stream.tolist() == [7, 33]
    assert trace.syncs.stream.tolist() == [0, -1, 1]
    assert trace.syncs.device.tolist() == [0, 0, 0]
    assert len(trace.device) == 1, "waits are no work"


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("GPU 3", DeviceLabel("GPU", 3)),
        ("XPU 0", DeviceLabel("XPU", 0)),
        ("NPU", DeviceLabel("NPU", None)),
        ("MTIA 17", DeviceLabel("MTIA", 17)),
        ("CPU", None),
        ("GPU server", None),
    ],
)
def test_process_labels(label: str, expected: DeviceLabel | None) -> None:
    assert device_label(label) == expected


def test_the_most_telling_name_of_a_thread_wins() -> None:
    names = ("", "thread 5 ()", "Thread 5", "thread 5 (python)", "loader")
    assert [telling(name) for name in names] == [0, 1, 1, 2, 3]
    trace = drawn(
        x("a", 0, 1, tid=5),
        meta("thread_name", 100, 5, name="loader"),
        meta("thread_name", 100, 5, name="thread 5 (python)"),
    )
    assert trace.text(int(trace.threads.name[0])) == "loader"


def test_what_an_exporter_derived_is_no_device() -> None:
    """Ascend labels the process of its overlap analysis like a device; its rows stay as ranges."""
    trace = drawn(
        meta("process_name", 800, name="Ascend Hardware"),
        meta("process_labels", 800, labels="NPU"),
        x("MatMul", 0, 5, cat="", pid=800, tid=3, **{"Task Type": "AI_CORE"}),
        meta("process_name", 900, name="Overlap Analysis"),
        meta("process_labels", 900, labels="NPU"),
        x("Computing", 0, 5, cat="", pid=900, tid=0),
        x("Free", 5, 5, cat="", pid=900, tid=3),
    )
    assert [(device.type, device.index, device.used) for device in trace.devices] == [
        ("NPU", 0, True)
    ]
    assert len(trace.device) == 1
    assert [trace.text(code) for code in trace.ranges.name] == ["Computing", "Free"]
    assert trace.ranges.device.tolist() == [-1, -1]
    assert "derived_rows" in {note.kind for note in trace.health.notes}
