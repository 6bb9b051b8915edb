"""``counter_tiles``: samples in buckets of 4 ns, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.timeline.counter_tiles import thinned
from kinetoscope.analysis.timeline.model import CounterLevel


def of(*samples: tuple[int, float]) -> CounterLevel:
    """Level 2 of samples (ns, value)."""
    ts, value = zip(*samples, strict=True) if samples else ((), ())
    return thinned(np.array(ts, np.int64), np.array(value, np.float64), 2)


def test_a_bucket_has_its_extremes_its_last_value_and_the_mean_over_time() -> None:
    """From 1 to 2 the value is 6, to 4 it is 2, to 6 still 2, to 7 it is 9, to 8 it is 3."""
    found = of((1, 6.0), (2, 2.0), (6, 9.0), (7, 3.0))
    assert found.bucket.tolist() == [0, 1]
    assert found.low.tolist() == [2.0, 2.0]
    assert found.high.tolist() == [6.0, 9.0]
    assert found.last.tolist() == [2.0, 3.0]
    assert found.mean.tolist() == pytest.approx([(6 + 2 * 2) / 3, (2 * 2 + 9 + 3) / 4])


def test_a_value_that_a_sample_replaces_at_the_left_edge_never_held_there() -> None:
    found = of((0, 50.0), (4, 7.0))
    assert (found.high.tolist(), found.low.tolist()) == ([50.0, 7.0], [50.0, 7.0])
    assert found.mean.tolist() == [50.0, 7.0]


def test_a_value_that_holds_over_the_left_edge_counts_there() -> None:
    found = of((0, 50.0), (5, 7.0))
    assert (found.high.tolist(), found.low.tolist()) == ([50.0, 50.0], [50.0, 7.0])
    assert found.mean.tolist() == [50.0, (50 + 3 * 7) / 4]


def test_buckets_without_a_sample_are_left_out() -> None:
    found = of((0, 1.0), (41, 3.0))
    assert found.bucket.tolist() == [0, 10]
    assert found.mean.tolist() == [1.0, (1 + 3 * 3) / 4]


def test_no_samples_are_no_buckets() -> None:
    assert len(of().bucket) == 0
