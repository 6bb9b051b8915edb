"""The fastest that a device can compute and move data, by its data sheet.

Rows are data (``device_peaks.json``): dense rates, each with the page of its vendor. A device that
is not there gets no ceiling, rather than a wrong one. Where only a part of a device is there (MIG),
its rates are scaled by the number of multiprocessors.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct

from ...trace.model import Device

_T, _G = 1e12, 1e9


class DevicePeak(Struct, frozen=True):
    """One row of the table; ``device`` is a pattern of its name."""

    device: str
    half_tflops: float  # float16 and bfloat16, dense, on tensor or matrix cores
    tf32_tflops: float | None
    float_tflops: float  # float32, without tensor cores
    bandwidth_gb_s: float
    multiprocessors: int
    source: str

    def flops(self, dtype: str, device: Device) -> float | None:
        """Operations per second for an input type as the recorder names it; None unknown."""
        rate = {
            "c10::BFloat16": self.half_tflops,
            "c10::Half": self.half_tflops,
            "float": self.float_tflops,
        }.get(dtype)
        return None if rate is None else rate * _T * self._part(device)

    def tf32(self, device: Device) -> float | None:
        """Operations per second of float32 products in TF32; None where it has none."""
        return None if self.tf32_tflops is None else self.tf32_tflops * _T * self._part(device)

    def bandwidth(self, device: Device) -> float:
        """Bytes per second of its memory."""
        return self.bandwidth_gb_s * _G * self._part(device)

    def _part(self, device: Device) -> float:
        have = device.multiprocessor_count
        return min(1.0, have / self.multiprocessors) if have else 1.0


@cache
def device_peaks() -> tuple[DevicePeak, ...]:
    """All rows."""
    text = resources.files(__package__).joinpath("device_peaks.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[DevicePeak, ...])


def peak_of(device: Device) -> DevicePeak | None:
    """The row of a device; None where its name is not there."""
    return next((one for one in device_peaks() if re.search(one.device, device.name)), None)
