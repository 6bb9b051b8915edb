"""Rates of work of which nothing moved: ``speed_of_light.contract``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

from kinetoscope.analysis.speed_of_light.figures import SpeedGroups
from kinetoscope.views.speed_of_light.contract import _flop_rates, _intensities


def test_a_rate_without_bytes_or_time_is_unknown() -> None:
    groups = SimpleNamespace(
        least_flops=np.array([600.0, 5.0, np.nan]),
        read_bytes=np.array([100.0, 0.0, 3.0]),
        written_bytes=np.array([20.0, 0.0, 4.0]),
        counted_ns=np.array([3, 0, 2]),
    )
    at = np.array([0, 1, 2])
    found = _intensities(cast("SpeedGroups", groups), at)
    assert np.array_equal(found, [5.0, np.nan, np.nan], equal_nan=True)
    found = _flop_rates(cast("SpeedGroups", groups), at)
    assert np.array_equal(found, [0.2, np.nan, np.nan], equal_nan=True)
