"""Floating point operations: one impossible call costs its own figure, and is counted."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.operators.artifact import operators_of
from kinetoscope.analysis.operators.model import OperatorColumns
from tests.drawing import draw

PICTURE = "op |aaa bbb|"
NAMES = {"a": "aten::convolution", "b": "aten::mm"}
MM = {"Input Dims": [[2, 3], [3, 4]]}


def conv(**changed: Any) -> dict[str, Any]:
    """A convolution of a 2×3×8×8 image by four 3×3 kernels: 2·2·36·4·27 operations."""
    told = {"stride": "[1, 1]", "padding": "[0, 0]", "dilation": "[1, 1]"} | changed
    image, weight = told.get("image", [2, 3, 8, 8]), told.get("weight", [4, 3, 3, 3])
    values = ["", "", "", told["stride"], told["padding"], told["dilation"], "False", "[0, 0]", "1"]
    return {"Input Dims": [image, weight, [], [], [], [], [], [], []], "Concrete Inputs": values}


def operators(of_a: dict[str, Any]) -> OperatorColumns:
    """The calls of the picture; ``b`` is a product whose FLOPs are 2·2·3·4."""
    return operators_of(draw(PICTURE, names=NAMES, args={"a": of_a, "b": MM}))


def test_a_convolution_and_a_product() -> None:
    found = operators(conv())
    assert found.calls.flops.tolist() == [2 * 2 * 36 * 4 * 27, 2 * 2 * 3 * 4]
    assert "flops" not in found.missing


@pytest.mark.parametrize(
    ("of_a", "reason"),
    [
        (conv(stride="[0, 0]"), "a stride of 0"),
        (conv(stride="[Infinity, 1]"), "a stride of inf"),
        (conv(stride="1e999"), "a stride of inf"),
        (conv(stride=f"[{'9' * 310}, 1]"), "a stride of an impossible number"),
        (conv(stride="[NaN]"), "a stride of nan"),
        (conv(padding="[-1, 0]"), "a padding of -1"),
        (conv(dilation="[0, 0]"), "a dilation of 0"),
        (conv(image=[2, 3, -1, 8]), "a size of -1"),
        (conv(image=[int("9" * 310), 3, 8, 8]), "a size of an impossible number"),
        (conv(image=[2, 3, 1, 1]), "a kernel larger than its image"),
        (
            conv(image=[2**62] * 30, weight=[2**62] * 30, stride="1", padding="0", dilation="1"),
            "sizes whose product is no number",
        ),
    ],
)
def test_what_no_op_can_have_been_called_with(of_a: dict[str, Any], reason: str) -> None:
    found = operators(of_a)
    assert np.isnan(found.calls.flops[0])
    assert found.calls.flops[1] == 2 * 2 * 3 * 4
    assert found.missing["flops"] == (
        "The FLOPs of 1 call are not known, because no op can have been called like that: "
        f"`aten::convolution` has {reason}."
    )


def test_what_was_not_recorded_is_not_odd() -> None:
    nothing: tuple[object, ...] = ([], {}, {"stride": "[1, 1]"}, 7, "", "x")
    others = [conv() | {key: odd} for key in ("Concrete Inputs", "Input Dims") for odd in nothing]
    for of_a in ({}, {"Input Dims": [[2, 3, 8, 8]]}, *others):
        found = operators(of_a)
        assert np.isnan(found.calls.flops[0])
        assert "flops" not in found.missing


def test_many_sizes_cost_no_time() -> None:
    found = operators(conv(image=[2**62] * 200_000))
    assert np.isnan(found.calls.flops[0])


odd_json = st.recursive(
    st.sampled_from(
        [0, -1, 1, 2**62, 2**63, 10**310, 1e308, float("inf"), float("nan"), True, None]
    )
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=12,
)


@settings(max_examples=40)
@given(odd_json, st.lists(odd_json.map(json.dumps) | st.text(max_size=5), max_size=11))
def test_whatever_is_written_the_figure_is_finite_or_not_known(
    dims: Any, values: list[str]
) -> None:
    for name in ("aten::convolution", "aten::convolution_backward", "aten::bmm", "aten::linear"):
        told = {"Input Dims": dims, "Concrete Inputs": values}
        found = operators_of(draw("op |aaa|", names={"a": name}, args={"a": told}))
        flops = found.calls.flops[0]
        assert np.isnan(flops) or 0 <= flops < np.inf
