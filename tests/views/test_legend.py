"""The names, colours and definitions of the parts of a step, as they are declared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kinetoscope.analysis.wording import CAUSE_NAMES
from kinetoscope.views import legend
from kinetoscope.views.legend import (
    BREAKDOWN,
    GAUGES,
    HOST,
    PARTITION,
    core_words,
    cores_name,
    gauge_help,
    named_for,
    path_kind,
)


def facts(device_type: str = "GPU", *, python: int = 0, era: str = "H") -> Any:
    return SimpleNamespace(device_type=device_type, counts={"python": python}, torch_era=era)


def test_idle_parts_are_drawn_as_such() -> None:
    """The device works in the first four parts of a step, and idles in the others."""
    assert [part.ghost for part in PARTITION] == [False] * 4 + [True] * (len(PARTITION) - 4)
    assert all(part.label.startswith("Idle: ") == part.ghost for part in PARTITION)
    # Without a device what the host does is the work, but for what is not known.
    assert [part.key for part in HOST if part.ghost] == ["uninstrumented_ns"]


@pytest.mark.parametrize("kind", ["dispatch", "uninstrumented", "unattributed", "python", "gc"])
def test_kinds_of_a_path(kind: str) -> None:
    on_a_device, on_the_host = path_kind(kind, facts()), path_kind(kind, facts("CPU"))
    words = CAUSE_NAMES[f"idle_{kind}_ns"]
    assert on_a_device.label == words[0].upper() + words[1:]
    assert on_a_device.ghost
    assert on_the_host.ghost == (kind in ("uninstrumented", "unattributed"))
    assert on_the_host.category == on_a_device.category
    if kind == "dispatch":
        assert on_the_host.label == "Ops"


def test_device_work_of_a_path_is_no_ghost() -> None:
    for kind, label in (("compute", "Compute"), ("communication_device", "Communication"),
                        ("copy", "Copy"), ("memset", "Memset")):  # fmt: skip
        assert path_kind(kind, facts())[::2] == (label, False)
    assert path_kind("start_up", facts()) == ("Start-up", "other", True)


def test_the_python_that_is_not_recorded_is_said_how_to_record() -> None:
    plain = {part.key: part for part in PARTITION}
    with_python = {part.key: part for part in named_for(PARTITION, facts(python=3))}
    assert with_python == plain
    without = {part.key: part for part in named_for(PARTITION, facts(python=3), facts())}
    changed = {key for key, part in without.items() if part != plain[key]}
    assert changed == {"idle_uninstrumented_ns"}
    assert "with_stack=True" in without["idle_uninstrumented_ns"].help
    assert without["idle_uninstrumented_ns"].label == plain["idle_uninstrumented_ns"].label


def test_the_classic_categories_of_a_device() -> None:
    assert [part.key for part in legend.DEVICE_PARTS] == [
        "kernel_ns", "memcpy_ns", "memset_ns", "runtime_ns",
    ]  # fmt: skip
    assert {part.key for part in legend.DEVICE_PARTS} < {part.key for part in BREAKDOWN}
    assert [one.ghost for one in (legend.UNKNOWN_KIND, legend.UNTOLD, legend.COPY)] == [
        True, True, False,
    ]  # fmt: skip


def test_cores_by_vendor() -> None:
    def device(vendor: str, *, used: bool = True) -> Any:
        return SimpleNamespace(vendor=vendor, used=used)

    assert cores_name([device("AMD")]) == "Matrix cores"
    assert cores_name([device("AMD"), device("NVIDIA", used=False)]) == "Matrix cores"
    assert cores_name([device("AMD"), device("NVIDIA")]) == "Tensor cores"
    assert cores_name([]) == "Tensor cores"
    said = "Tensor-core time; a tensor core, a Tensor of ops"
    assert core_words(said, "Tensor cores") == said
    assert core_words(said, "Matrix cores") == "Matrix-core time; a matrix core, a Tensor of ops"


def test_without_steps_a_gauge_does_not_mention_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for noun, mentions in (("recording", False), ("step", True)):
        monkeypatch.setattr(legend, "step_noun", lambda _, noun=noun: noun)
        assert ("chosen step" in gauge_help("utilization", facts())) is mentions
    assert gauge_help("occupancy", facts()) == GAUGES["occupancy"][1]
