"""Small functions of columns say what their slower models in numpy say."""

from __future__ import annotations

import subprocess
import sys
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.host_activity import HostRole
from kinetoscope.base.arrays import Sparse, equal, filled, median
from kinetoscope.trace.build.categories import EventRole
from kinetoscope.trace.model import DeviceClass, DeviceKind, HostKind, Link


@given(st.lists(st.integers(-(2**62), 2**62) | st.floats(-1e300, 1e300), min_size=1))
def test_the_median_is_that_of_numpy(values: list[float]) -> None:
    assert median(values) == np.median(np.array(values))


def test_the_median_does_not_import_masked_arrays() -> None:
    code = (
        "import sys; from kinetoscope.base.arrays import median; median([3, 1, 2]);"
        "sys.exit('numpy.ma' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float64])
def test_a_column_that_is_filled_keeps_its_type(dtype: type) -> None:
    found = filled(Sparse(np.array([1, 4], np.int32), np.array([-7, 9], dtype)), 6)
    assert found.tolist() == [0, -7, 0, 0, 9, 0]
    assert found.dtype == dtype


@pytest.mark.parametrize("codes", [HostKind, DeviceKind, DeviceClass, Link, HostRole, EventRole])
def test_codes_are_compared_as_narrow_as_they_are(codes: type[IntEnum]) -> None:
    column = np.array([*codes, *codes][::-1], np.int8)
    for code in codes:
        found = equal(column, code)
        assert found.dtype == np.bool_
        assert found.tolist() == [one == code for one in column.tolist()]
