"""Which row of the data sheets is a device's?"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kinetoscope.analysis.speed_of_light import devices
from kinetoscope.analysis.speed_of_light.devices import device_peaks, peak_of, read_peaks
from kinetoscope.base.errors import QueryError
from kinetoscope.trace.model import Device

GPU = Device("0", 0, "GPU", "NVIDIA", "", None, None, None, used=True)


def bandwidth(name: str) -> float | None:
    peak = peak_of(replace(GPU, name=name))
    return None if peak is None else peak.bandwidth_gb_s


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("NVIDIA H200", 4800),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA H100 80GB HBM3", 3350),
        ("NVIDIA H100 SXM5 80GB", 3350),
        ("NVIDIA H100 80GB HBM2e", None),
        ("NVIDIA H100 PCIe", 2000),
        ("NVIDIA H800", None),
        ("NVIDIA H20", 4000),
        ("NVIDIA B200", 8000),
        ("NVIDIA GB200", None),
        ("NVIDIA GB300", None),
        ("NVIDIA B300 SXM6 AC", None),
        ("NVIDIA GH200 480GB", None),
        ("NVIDIA A10", 600),
        ("NVIDIA A100", None),
        ("NVIDIA A40", 696),
        ("NVIDIA A10G", 600),
        ("NVIDIA RTX A6000", None),
        ("NVIDIA GeForce RTX 4090", None),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA L4", 300),
        ("NVIDIA L40", 864),
        ("NVIDIA L40S", 864),
        ("NVIDIA A100-SXM4-80GB", 2039),
        ("NVIDIA A100 80GB PCIe", 1935),
        ("NVIDIA A100-SXM4-40GB", 1555),
        ("NVIDIA A100-PG509-200", 1555),
        ("NVIDIA A800-SXM4-80GB", None),
        ("Tesla V100-SXM2-32GB", 900),
        ("Tesla V100-DGXS-32GB", None),
        ("Tesla V100-PCIE-16GB", None),
        ("Tesla T4", 320),
        ("AMD Instinct MI300X", 5300),
        ("AMD Instinct MI300X VF", 5300),
        ("AMD Instinct MI300A", None),
        ("AMD Instinct MI308X", None),
        ("AMD Instinct MI250", 1638.4),
        ("AMD Instinct MI250X/MI250", 1638.4),
        ("AMD Instinct MI350X", 8000),
        ("AMD Instinct MI355X", 8000),
        ("AMD Instinct MI325X", None),
        ("AMD Instinct MI210", 1638.4),
        ("AMD Instinct MI250X", 1638.4),
        ("AMD Instinct MI2100", None),
        ("", None),
    ],
)
def test_a_name_means_one_row_or_none(name: str, known: float | None) -> None:
    assert bandwidth(name) == known


@pytest.mark.parametrize("name", ["", "AMD Radeon Graphics"])
@pytest.mark.parametrize(
    ("memory", "multiprocessors", "known"),
    [
        (206_141_652_992, 304, 5300),
        (206_141_652_992, 228, None),
        (68_702_699_520, 104, 1638.4),
        (68_702_699_520, 111, None),
        (137_000_000_000, 304, None),
        (None, 304, None),
        (206_141_652_992, None, None),
    ],
)
def test_without_a_name_memory_and_multiprocessors_must_both_fit(
    name: str, memory: int | None, multiprocessors: int | None, known: float | None
) -> None:
    device = replace(
        GPU, vendor="AMD", name=name, memory_bytes=memory, multiprocessor_count=multiprocessors
    )
    peak = peak_of(device)
    assert (peak and peak.bandwidth_gb_s) == known


def test_a_part_of_a_device_has_its_part_of_the_rates() -> None:
    whole = replace(GPU, name="NVIDIA H100 80GB HBM3", multiprocessor_count=132)
    peak = peak_of(whole)
    assert peak is not None
    assert peak.part(whole) == 1.0
    assert peak.bandwidth(replace(whole, multiprocessor_count=33)) == 3350e9 / 4


def test_float32_counts_at_the_rate_that_the_name_tells_or_at_the_faster_one() -> None:
    peak = peak_of(replace(GPU, name="NVIDIA H100 80GB HBM3"))
    assert peak is not None
    assert peak.rate("float32", "") == (494.7, "TF32")
    assert peak.rate("float32", "FP32") == (66.9, "FP32")
    assert peak.rate("bfloat16", "") == (989.4, "16-bit")
    assert peak.rate("float64", "") == (66.9, "FP64")
    assert peak.rate("float8", "") == (1978.9, "FP8")
    assert peak.rate("float4", "") == (None, "float4")
    old = peak_of(replace(GPU, name="Tesla T4"))
    assert old is not None
    assert old.rate("float16", "") == (65, "16-bit")
    assert old.rate("bfloat16", "") == (None, "16-bit")
    tensor_cores_alone = peak_of(replace(GPU, name="NVIDIA A10"))
    assert tensor_cores_alone is not None
    assert tensor_cores_alone.rate("float32", "") == (62.5, "TF32")
    assert tensor_cores_alone.rate("float32", "FP32") == (None, "FP32")


def test_every_row_names_the_page_of_its_vendor() -> None:
    vendors = (
        "https://www.nvidia.com/",
        "https://images.nvidia.com/",
        "https://github.com/NVIDIA/",
        "https://github.com/NVIDIA-NeMo/",
        "https://www.amd.com/",
        "https://rocm.docs.amd.com/",
    )
    assert [one.device for one in device_peaks() if not one.source.startswith(vendors)] == []


def test_rows_of_the_user_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / devices.FILE).write_text(
        '[{"device": "^NVIDIA H200$", "half_tflops": 900, "float_tflops": 60,'
        ' "bandwidth_gb_s": 4000, "multiprocessors": 132}]'
    )
    monkeypatch.setattr(devices, "user_folder", lambda _: str(tmp_path))
    device_peaks.cache_clear()
    try:
        peak = peak_of(replace(GPU, name="NVIDIA H200"))
        assert peak is not None
        assert (peak.bandwidth_gb_s, peak.source) == (4000, "yours")
    finally:
        device_peaks.cache_clear()


BAD_PATTERN = (
    '[{"device": "(", "half_tflops": 1, "float_tflops": 1, "bandwidth_gb_s": 1,'
    ' "multiprocessors": 1}]'
)


@pytest.mark.parametrize("text", ["{}", '[{"device": "x"}]', BAD_PATTERN])
def test_a_wrong_file_of_the_user_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / devices.FILE
    path.write_text(text)
    with pytest.raises(QueryError, match="holds no device peaks"):
        read_peaks(path)
