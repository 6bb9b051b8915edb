"""How fast can a device compute and move data? Peak rates of data sheets, as data.

``device_peaks.json`` has dense rates, each row with the page of its vendor. A device that is not
there gets no ceiling, rather than a wrong one. Rows of the same form in ``device_peaks.json`` in
the folder of settings come first. Of a part of a device (MIG, CPX) rates are scaled by its
multiprocessors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ...base.errors import QueryError
from ...base.machine import user_folder
from ...trace.model import Device

FILE = "device_peaks.json"
MOST_BYTES = 1 << 20
_NEARLY = 0.02  # part by which the memory of a device may differ from its row
_MEASURED = ("half_tflops", "float_tflops", "double_tflops", "bandwidth_gb_s")
_FASTEST = 1e9  # more is no measurement
_NAMELESS = ("", "AMD Radeon Graphics")


class DevicePeak(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the table; ``device`` is a pattern of its name. Rates are in TFLOP/s, dense."""

    device: str
    bandwidth_gb_s: float
    multiprocessors: int
    half_tflops: float | None = None  # float16 and bfloat16 on tensor or matrix cores
    has_bfloat16: bool = True
    float_tflops: float | None = None  # float32 without tensor cores
    source: str = "yours"
    tf32_tflops: float | None = None
    double_tflops: float | None = None
    fp8_tflops: float | None = None
    int8_tops: float | None = None
    memory_gb: float | None = None  # tells a device without a name, with the multiprocessors

    def bandwidth(self, device: Device) -> float:
        """Bytes per second of its memory."""
        return self.bandwidth_gb_s * 1e9 * self.part(device)

    def part(self, device: Device) -> float:
        """Which part of the whole device this one is."""
        have = device.multiprocessor_count
        return min(1.0, have / self.multiprocessors) if have else 1.0

    def rate(self, dtype: str, unit: str) -> tuple[float | None, str]:
        """TFLOP/s of products of a type, and the unit that has this rate.

        ``unit`` is what the kernel's name tells: "TF32", "FP32" or "". Where it does not tell,
        float32 counts at the faster of the two.
        """
        if dtype in ("float16", "bfloat16"):
            has = dtype == "float16" or self.has_bfloat16
            return self.half_tflops if has else None, "16-bit"
        if dtype == "float32":
            both = {"FP32": self.float_tflops, "TF32": self.tf32_tflops or self.float_tflops}
            found = unit or max(both, key=lambda name: both[name] or 0.0)
            return both[found], found
        return {
            "float64": (self.double_tflops, "FP64"),
            "float8": (self.fp8_tflops, "FP8"),
            "int8": (self.int8_tops, "INT8"),
        }.get(dtype, (None, dtype))


_Peaks = tuple[DevicePeak, ...]


@cache
def device_peaks() -> _Peaks:
    """All rows: the user's own, then ours.

    Raises:
        QueryError: the user's file is wrong.
    """
    ours = msgspec.json.decode(Path(__file__).with_name(FILE).read_bytes(), type=_Peaks)
    own = Path(user_folder("config")) / FILE
    return (*read_peaks(own), *ours) if own.is_file() else ours


def read_peaks(path: Path) -> _Peaks:
    """The rows of a user's file.

    Raises:
        QueryError: it cannot be read, holds something else, or has a wrong pattern.
    """
    hint = (
        'A list of {"device": a pattern of its name, "half_tflops": …, "bandwidth_gb_s": …,'
        ' "multiprocessors": …, "float_tflops": …}.'
    )
    try:
        with path.open("rb") as stream:
            rows = msgspec.json.decode(stream.read(MOST_BYTES), type=_Peaks)
        for row in rows:
            re.compile(row.device)
    except OSError as error:
        raise QueryError(f"{path} cannot be read: {error.strerror or error}.", hint=hint) from None
    except (msgspec.DecodeError, re.error) as error:
        raise QueryError(f"{path} holds no device peaks: {error}.", hint=hint) from None
    return rows


def measured_peak(handler: Mapping[str, Any]) -> DevicePeak | None:
    """The rates of the CPU that our handler measured; None where it did not."""
    told = handler.get("cpu_peak")
    rates = told if isinstance(told, dict) else {}
    known: dict[str, Any] = {
        key: float(value)
        for key, value in rates.items()
        if key in _MEASURED and isinstance(value, int | float) and 0 < value < _FASTEST
    }
    if "bandwidth_gb_s" not in known:
        return None
    return DevicePeak(device="^CPU$", multiprocessors=1, source="measured", **known)


def peak_of(device: Device) -> DevicePeak | None:
    """The row of a device; None where it has none.

    By its name; without a name by memory and multiprocessors, which must both fit one row.
    """
    peaks = device_peaks()
    if device.name not in _NAMELESS:
        return next((one for one in peaks if re.search(one.device, device.name)), None)
    have = device.memory_bytes
    if device.vendor not in ("AMD", "") or not have:
        return None
    fitting = [
        one
        for one in peaks
        if one.memory_gb is not None
        and abs(have / 1e9 - one.memory_gb) <= _NEARLY * one.memory_gb
        and device.multiprocessor_count == one.multiprocessors
    ]
    return fitting[0] if len(fitting) == 1 else None
