"""Bytes that each kind of op reads and writes, by hand: the models of ``transfers``."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.speed_of_light import transfers
from kinetoscope.analysis.speed_of_light.arguments import (
    Argument,
    CallArguments,
    Model,
    RefusedError,
    TensorArgument,
)
from kinetoscope.analysis.speed_of_light.transfers import ElementwiseModel, ReductionModel


def dense(*sizes: int, dtype: str = "float32") -> TensorArgument:
    return TensorArgument(sizes, (), dtype)


OWN = dense(3, 5)  # 15 elements, 60 bytes
HALF, WIDE = dense(3, 5, dtype="float16"), dense(3, 5, dtype="float64")
BOOL, WHOLE = dense(3, 5, dtype="bool"), dense(3, 5, dtype="int32")
LONG = dense(3, 5, dtype="int64")
ROW, ONE = dense(5), dense()
BATCH, FEW = dense(4, 3, 10), dense(3)  # 480 and 12 bytes
MEAN, AFFINE = dense(4, 1), dense(3, 10)  # 16 and 120 bytes
IMAGE = dense(2, 3, 8, 8)  # 1,536 bytes
INDEX, MANY = dense(2, 2, dtype="int64"), dense(10, 5, dtype="int64")  # 32 and 400 bytes

Values = tuple[str, ...]
PLACES: dict[str, Values] = {
    "pool": ("", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"),
    "ceil": ("", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "True"),
    "no stride": ("", "[3, 3]", "[]", "[1, 1]", "[1, 1]", "False"),
    "dilated": ("", "[3, 3]", "[2, 2]", "[1, 1]", "[2, 2]", "False"),
    "uneven": ("", "[3, 1]", "[2, 4]", "[1, 0]", "[1, 1]", "False"),
}


@pytest.mark.parametrize(
    ("model", "arguments", "values", "read", "written"),
    [
        # Element by element: a row is broadcast; out= has its own type.
        (ElementwiseModel(2), (OWN, ROW), (), 80, 60),
        (ElementwiseModel(1), (OWN, HALF), (), 60, 30),
        (ElementwiseModel(1), (OWN, ONE), (), 60, 60),
        (ElementwiseModel(2, in_place=True), (OWN, ROW), (), 80, 60),
        (ElementwiseModel(2, in_place=True, reads_own=False), (OWN, ROW), (), 20, 60),
        (ElementwiseModel(1, in_place=True, reads_own=False), (OWN,), (), 0, 60),
        (ElementwiseModel(2, "first"), (BOOL, WIDE), (), 135, 15),
        (ElementwiseModel(3, "where"), (BOOL, HALF, HALF), (), 75, 30),
        (ElementwiseModel(1, "float"), (LONG,), (), 120, 60),
        (ElementwiseModel(1, "float"), (HALF,), (), 30, 30),
        (ElementwiseModel(2, "bool"), (OWN, OWN), (), 120, 15),
        (transfers.copied, (OWN, WIDE), (), 120, 60),
        (transfers.converted, (OWN, None), ("", "5"), 60, 60),
        (transfers.converted, (OWN,) + (None,) * 5, ("", "5"), 60, 60),
        (transfers.converted, (OWN,) + (None,) * 6, ("", "5"), 60, 30),
        (transfers.converted, (OWN,) + (None,) * 6, ("", ""), 60, 60),
        (transfers.joined, ((OWN, dense(2, 5, dtype="float64")),), (), 140, 200),
        (transfers.joined, ((OWN, dense(2, 5)), dense(5, 5, dtype="float16")), (), 100, 50),
        (transfers.joined, ((OWN, dense(2, 5)), ONE), (), 100, 100),
        (transfers.padded, (OWN,), ("", "[1, 2]"), 60, 96),
        (transfers.padded, (OWN,), ("", "[-1, 2]"), 48, 72),
        (transfers.padded, (OWN,), ("", "[2, -1]"), 48, 72),
        (transfers.padded, (OWN,), ("", "[0, 0, 1, 2]"), 60, 120),
        (transfers.dropout, (OWN,), (), 60, 75),
        (transfers.loss, (OWN, WIDE), ("", "", "1"), 180, 4),
        (transfers.loss, (OWN, WIDE), ("", "", "0"), 180, 60),
        (transfers.loss_backward, (ONE, WIDE, OWN), (), 184, 120),
        (transfers.loss_backward, (None, WIDE, OWN), (), 180, 120),
        (transfers.likelihood, (OWN, dense(3, dtype="int64")), ("",) * 3 + ("1",), 36, 8),
        (transfers.likelihood, (OWN, dense(3, dtype="int64"), ROW), ("",) * 3 + ("0",), 56, 16),
        (transfers.likelihood_backward, (ONE, OWN, dense(3, dtype="int64")), (), 28, 60),
        (transfers.likelihood_backward, (None, OWN, dense(3, dtype="int64")), (), 24, 60),
        # Reductions: of all, of one dimension, of several.
        (ReductionModel(), (OWN,), ("",), 60, 4),
        (ReductionModel(), (OWN, None), ("", "1"), 60, 12),
        (ReductionModel(), (OWN, None), ("", "[0]"), 60, 20),
        (ReductionModel(), (OWN, None), ("", "[-1]"), 60, 12),
        (ReductionModel(), (OWN, None), ("", "[0, 1]"), 60, 4),
        (ReductionModel(), (OWN, None), ("", "[]"), 60, 4),
        (ReductionModel(), (OWN, None), ("", "True"), 60, 4),
        (ReductionModel(None), (OWN, None), ("", "1"), 60, 4),
        (ReductionModel(2), (OWN, None, None), ("", "2", "[1]"), 60, 4),
        (ReductionModel(2), (OWN, None, None, None), ("", "2", "[1]"), 60, 12),
        (ReductionModel(out="sum"), (WHOLE, None), ("", "1"), 60, 24),
        (ReductionModel(out="sum"), (HALF, None), ("", "1"), 30, 6),
        (ReductionModel(out="int64"), (OWN, None), ("", "1"), 60, 24),
        (ReductionModel(outputs=2), (OWN, None), ("", "1"), 60, 24),
        (ReductionModel(asks_type=3), (OWN, None, None, None), ("", "1", "", "7"), 60, 24),
        (ReductionModel(asks_type=3), (OWN, None, None, None), ("", "1", "", ""), 60, 12),
        (ReductionModel(asks_type=3), (OWN, None, None), ("", "1", "", "7"), 60, 12),
        (ReductionModel(has_index=True), (OWN, None), ("", "1"), 60, 36),
        (ReductionModel(has_index=True), (OWN,), ("",), 60, 4),
        (ReductionModel(has_index=True), (OWN, HALF), (), 90, 60),
        (transfers.largest, (OWN, None), ("", "2"), 60, 72),
        (transfers.largest, (OWN, None, None), ("", "2", "0"), 60, 120),
        (transfers.largest, (OWN, None, None), ("", "2", "1"), 60, 72),
        (transfers.softmax, (HALF,), ("", "1", "True"), 30, 60),
        (transfers.softmax, (HALF,), ("", "1", "False"), 30, 30),
        (transfers.softmax_backward, (OWN, WIDE, None, None), ("", "", "1", "5"), 180, 30),
        (transfers.softmax_backward, (OWN, WIDE, None), ("", "", "1", "5"), 180, 60),
        # Norms: what is saved of each row, and the gradients that a mask asks for.
        (transfers.layer_norm(2), (BATCH, None, FEW, FEW), ("", "[10]"), 504, 480 + 12 * 8),
        (transfers.layer_norm(1), (BATCH, None), ("", "[3, 10]"), 480, 480 + 4 * 4),
        (
            transfers.layer_norm_backward(2),
            (BATCH, BATCH, None, MEAN, MEAN, AFFINE, AFFINE, None),
            ("",) * 7 + ("[False, True, False]",), 1112, 120,
        ),
        (
            transfers.layer_norm_backward(2),
            (BATCH, BATCH, None, MEAN, MEAN, AFFINE, AFFINE, None),
            ("",) * 7 + ("[True, True, True]",), 1112, 720,
        ),
        (
            transfers.layer_norm_backward(1), (BATCH, BATCH, None, MEAN, AFFINE, None),
            ("",) * 5 + ("[True, True]",), 1096, 600,
        ),
        (
            transfers.layer_norm_backward(1), (BATCH, BATCH, None, MEAN, AFFINE, None),
            ("",) * 5 + ("[True, False]",), 1096, 480,
        ),
        (transfers.group_norm, (BATCH, FEW, FEW, ONE), ("",) * 3 + ("4", "3", "10", "3"), 504, 576),
        (transfers.group_norm, (BATCH, FEW, FEW), ("",) * 3 + ("4", "3", "10", "1"), 504, 512),
        (transfers.batch_norm, (BATCH, *(FEW,) * 4, MEAN), ("",) * 5 + ("True",), 528, 528),
        (transfers.batch_norm, (BATCH, *(FEW,) * 4), ("",) * 5 + ("False",), 528, 480),
        (transfers.batch_norm, (ROW, None, None, ONE), ("",) * 5 + ("True",), 24, 24),
        (
            transfers.batch_norm_backward(1, 0),
            (BATCH, BATCH, FEW, FEW, FEW, *(dense(3, dtype="float64"),) * 2, MEAN), (), 1020, 504,
        ),
        (transfers.batch_norm_backward(1, 0), (BATCH, BATCH, None, FEW, FEW), (), 984, 480),
        (
            transfers.batch_norm_backward(0, 1),
            (BATCH, dense(4, 3, 10, dtype="float16"), FEW, ONE, ONE, FEW, FEW), (), 756, 504,
        ),
        # Rows of tables: no more is read than there is.
        (transfers.gathered, (OWN, None, INDEX), (), 48, 16),
        (transfers.gathered, (OWN, None, MANY), (), 460, 200),
        (transfers.scattered, (OWN, None, INDEX, WIDE), (), 64, 16),
        (transfers.scattered, (OWN, None, INDEX, ONE), (), 32, 16),
        (transfers.scattered, (OWN, None, MANY), (), 400, 60),
        (transfers.scatter_added, (OWN, None, INDEX, WIDE), (), 80, 16),
        (
            transfers.embedding_backward,
            (dense(2, 3, 8), dense(2, 3, dtype="int64")), ("", "", "10"), 240, 320,
        ),
        # Lists.
        (transfers.foreach, ((OWN, dense(2)), (dense(4),)), (), 84, 68),
        (transfers.foreach_in_place, ((OWN, dense(2)), (dense(4),)), (), 84, 68),
        (transfers.foreach_written, ((OWN, dense(2)), (dense(4),)), (), 16, 68),
        (transfers.foreach_norm, ((OWN, HALF), (dense(4),)), (), 90, 6),
        (
            transfers.fused_step(1),
            ((dense(4),), (dense(4, dtype="float16"),), (dense(4), dense(1)), (ONE,)), (), 44, 36,
        ),
        # Pools, and ops of other libraries.
        (transfers.pooled, (IMAGE,), PLACES["pool"], 1536, 6 * 4 * 4 * 12),
        (transfers.pooled, (IMAGE,), PLACES["ceil"], 1536, 6 * 5 * 5 * 12),
        (transfers.pooled, (IMAGE,), PLACES["no stride"], 1536, 6 * 3 * 3 * 12),
        (transfers.pooled, (IMAGE,), PLACES["dilated"], 1536, 6 * 3 * 3 * 12),
        (transfers.pooled, (IMAGE,), PLACES["uneven"], 1536, 6 * 4 * 2 * 12),
        (transfers.pooled_backward, (dense(2, 3, 4, 4), IMAGE), (), 96 * 12, 1536),
        (transfers.mean_pooled, (IMAGE,), ("", "[2, 3]"), 1536, 144),
        (transfers.mean_pooled_backward, (dense(2, 3, 2, 3), IMAGE), (), 144, 1536),
        (transfers.named_out(1), (OWN, dense(2)), (), 8, 60),
        (transfers.named_out(1, 1), (OWN, dense(2)), (), 68, 60),
        (transfers.named_out(2, 1), (OWN, dense(2), dense(4)), (), 76, 68),
        (transfers.cached, (OWN, dense(2), dense(99)), (), 68, 68),
        (
            transfers.rotated,
            (dense(3, dtype="int64"), dense(3, 4), dense(3, 2), None, dense(99, 6)), (), 168, 72,
        ),
        (
            transfers.rotated,
            (dense(3, dtype="int64"), dense(3, 4), dense(3, 2), None, dense(2, 6)), (), 144, 72,
        ),
    ],
)  # fmt: skip
def test_what_a_call_reads_and_writes(
    model: Model, arguments: tuple[Argument, ...], values: Values, read: int, written: int
) -> None:
    work = model(CallArguments(arguments, values))
    assert (work.read, work.written) == (read, written)


@pytest.mark.parametrize(
    ("model", "arguments", "reason"),
    [
        (ElementwiseModel(1), (None, OWN), "shapes"),
        (transfers.copied, (OWN, None), "shapes"),
        (transfers.copied, (None, OWN), "shapes"),
        (transfers.converted, (OWN,) + (None,) * 6, "values"),
        (transfers.joined, (OWN,), "shapes"),
        (transfers.padded, (OWN,), "values"),
        (ReductionModel(), (OWN, None), "output"),
        (transfers.largest, (OWN,), "values"),
        (transfers.taken(0, 1), (OWN, None), "shapes"),
        (transfers.foreach, (OWN,), "shapes"),
        (transfers.foreach_in_place, (OWN,), "shapes"),
        (transfers.foreach_written, (OWN,), "shapes"),
        (transfers.foreach_norm, (OWN,), "shapes"),
        (transfers.fused_step(0), ((OWN,), (ONE,)), "shapes"),
        (transfers.mean_pooled, (OWN,), "values"),
        (transfers.named_out(1), (None, OWN), "shapes"),
    ],
)
def test_a_call_without_what_a_model_needs_has_no_figure(
    model: Model, arguments: tuple[Argument, ...], reason: str
) -> None:
    with pytest.raises(RefusedError, match=reason):
        model(CallArguments(arguments, (), has_values=False))


def test_calls_without_plain_arguments() -> None:
    def written(model: Model, *arguments: Argument) -> int:
        return model(CallArguments(arguments, (), has_values=False)).written

    assert written(transfers.converted, OWN, *(None,) * 5) == 60
    assert written(transfers.likelihood, OWN, dense(3, dtype="int64")) == 8
    assert written(transfers.softmax, HALF) == 30
    assert written(transfers.softmax_backward, OWN, OWN, None, None) == 60
    assert written(transfers.batch_norm, BATCH, FEW, FEW, FEW, FEW) == 480
    assert written(transfers.layer_norm_backward(2), BATCH, BATCH, None, MEAN, MEAN, AFFINE) == 720


def test_a_generated_kernel_writes_its_last_tensor() -> None:
    call = CallArguments((OWN, dense(2), ONE, dense(4), None), ())
    work = transfers.triton_work(call, "triton_poi_fused_add_0")
    assert (work.read, work.written) == (68, 16)
    with pytest.raises(RefusedError, match="model"):
        transfers.triton_work(call, "triton_tem_fused_mm_0")
    with pytest.raises(RefusedError, match="shapes"):
        transfers.triton_work(CallArguments((ONE,), ()), "triton_poi_fused_add_0")
