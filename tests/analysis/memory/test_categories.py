"""What a block holds, by where it was allocated and how long it lived."""

from __future__ import annotations

from kinetoscope.analysis.memory.categories import RULES
from kinetoscope.analysis.memory.curve import base_by_category
from kinetoscope.analysis.memory.model import Category, MemoryColumns
from tests.analysis.memory.made import MadeMemory, columns_of, only_device
from tests.drawing import LOADER

TRAINING = """
    step  |1111111111111111111111111111112222222222222222222222222222|
    note  | ll                         zz ll                      zz |
    note  |                   oooo                         oooo      |
    op    |    ffff gggg  cc              ffff gggg                  |
    op    |     hh                                                   |
    op2   |            bbb kkk                    bbb kkk            |
"""
NAMES = {
    "l": LOADER,
    "z": "Optimizer.zero_grad#AdamW.zero_grad",
    "o": "Optimizer.step#AdamW.step",
    "f": "aten::linear",
    "h": "aten::addmm",
    "g": "aten::relu",
    "c": "c10d::allreduce_",
    "b": "autograd::engine::evaluate_function: ReluBackward0",
    "k": "autograd::engine::evaluate_function: AddmmBackward0",
}


def held(columns: MemoryColumns) -> dict[int, str]:
    """Size of a block → what it holds, and how sure that is."""
    return {
        int(size): f"{Category(int(kind)).name.lower()}, {RULES[rule].confidence}"
        for size, kind, rule in zip(
            columns.blocks.bytes, columns.blocks.category, columns.blocks.rule, strict=True
        )
    }


def test_each_phase_of_a_training_leaves_its_own_kind_of_block() -> None:
    made = MadeMemory(base=10_000)
    made.allocate(1.5, "batch", 1)  # in the DataLoader
    made.allocate(5.5, "workspace", 2)  # in aten::addmm of aten::linear …
    made.release(6.5, "workspace")  # … and released in it
    made.allocate(6.8, "saved", 4)  # by aten::linear, released in the backward pass
    made.allocate(7.2, "between", 8)  # by aten::linear, released by aten::relu
    made.release(10, "between")
    made.allocate(15.5, "bucket", 16)  # in a collective
    made.allocate(12.5, "passing", 32, tid=2)  # in one backward op, released in the next
    made.allocate(13.5, "grad", 64, tid=2)  # lives until zero_grad
    made.release(16.5, "passing", tid=2)
    made.release(17.2, "saved", tid=2)
    made.allocate(19.5, "state", 128)  # by the optimizer, for ever
    made.allocate(20.2, "scratch", 256)  # by the optimizer, released in it
    made.release(21.5, "scratch")
    made.release(28.5, "grad")
    made.release(28.6, "old", 512)  # a gradient from before
    made.release(43.5, "older", 1024, tid=2)  # saved before the recording began
    assert held(columns_of(TRAINING, made, names=NAMES)) == {
        1: "input, high",
        2: "temporary, high",
        4: "activation, high",
        8: "activation, medium",
        16: "communication, medium",
        32: "autograd, high",
        64: "gradient, high",
        128: "optimizer, high",
        256: "temporary, medium",
        512: "gradient, medium",
        1024: "activation, medium",
    }


def test_what_outlives_its_pass_is_a_result_in_the_last_step_and_unknown_before() -> None:
    made = MadeMemory()
    made.allocate(6.5, "kept", 1)  # forward of the first step, never released
    made.allocate(36.5, "result", 2)  # forward of the last step
    assert held(columns_of(TRAINING, made, names=NAMES)) == {
        1: "unknown, low",
        2: "activation, low",
    }


def test_what_waits_for_a_pass_that_was_not_recorded_is_an_activation() -> None:
    made = MadeMemory()
    made.allocate(2, "saved", 1)
    made.allocate(8, "result", 2)
    recorded = {"f": {"Sequence number": 3, "Fwd thread id": 0}}
    found = held(columns_of("op |fffff gggg|", made, names=NAMES, args=recorded))
    assert found == {1: "activation, medium", 2: "unknown, low"}


def test_a_tensor_copied_to_the_device_is_an_input() -> None:
    made = MadeMemory()
    made.allocate(2, "batch", 1)
    names = {"f": "aten::to", "k": "Memcpy HtoD (Pinned -> Device)"}
    picture = "op |ffff  |\ncall | k   |\ncopy |   kk |"
    assert held(columns_of(picture, made, names=names)) == {1: "input, medium"}


def test_a_range_that_old_recorders_write_as_an_op_is_no_single_op() -> None:
    made = MadeMemory()
    made.allocate(2, "a", 1)
    made.release(6, "a")
    names = {"r": "## forward ##", "f": "aten::linear", "g": "aten::relu"}
    found = held(columns_of("op |rrrrrrrr|\nop | ff  gg |", made, names=names))
    assert found == {1: "activation, medium"}


def test_what_was_there_before_is_parameters_and_what_the_optimizer_keeps_of_them() -> None:
    made = MadeMemory(base=1000)
    made.allocate(13.5, "grad", 64, tid=2)
    columns = columns_of(TRAINING, made, names=NAMES)
    base = base_by_category(columns, only_device(columns))
    # AdamW keeps two values for each parameter, and parameters are as large as gradients.
    assert (base[Category.OPTIMIZER], base[Category.PARAMETER]) == (128, 872)
    plain = {**NAMES, "o": "Optimizer.step#SGD.step"}
    columns = columns_of(TRAINING, made, names=plain)
    assert base_by_category(columns, only_device(columns))[Category.PARAMETER] == 1000
