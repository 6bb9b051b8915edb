"""Which rules fire on which kind of recording: every rule on every kind, on real traces.

`kinds.tsv` has a row for each rule and a column for each kind: ``fires`` on a recording of that
kind, ``cannot`` on any (an input is missing), or nothing: it must not fire. A rule without a row
must fire on none of them. To write it anew after an intended change, and then judge what changed:

    python -m tests.analysis.advice.test_kinds > /tmp/kinds.tsv
"""

from __future__ import annotations

import csv
import sys
from functools import cache
from pathlib import Path

import pytest

from kinetoscope.analysis.advice import RULES, check_all
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.conftest import ROOT, TRACES

TABLE = Path(__file__).with_name("kinds.tsv")
SAMPLES = ROOT / "samples" / "traces"
_NEW, _LENS = "fresh_torch2.13", "tracelens"

KINDS: dict[str, tuple[str, ...]] = {
    "CPU training": (
        f"{_NEW}/resnet_w0", f"{_NEW}/resnet_w0_slowloader", f"{_NEW}/resnet_w2",
        f"{_NEW}/gpt_full", "train_cpu",
    ),
    "GPU training": (
        "kineto_tb_samples/resnet50_num_workers_0", "kineto_tb_samples/resnet50_num_workers_4",
    ),
    "DDP": (
        "hta/ns_resolution_trace", f"{_LENS}/mi300/resnet_act_checkpoint.json.gz",
        f"{_NEW}/ddp2_full", f"{_NEW}/ddp4_straggler_rank2", "train_ddp_cpu",
    ),
    "FSDP": (f"{_NEW}/fsdp2_gpt",),
    "tensor parallel": (f"{_LENS}/b200/eager_trace.json.gz",),
    "inference": (
        f"{_LENS}/h100", f"{_LENS}/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        f"{_LENS}/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    ),
    "inference with graphs": (
        f"{_LENS}/inference/sglang_decode",
        f"{_LENS}/inference/vllm_decode_full/graph_execution.json.gz",
    ),
    "diffusion": (f"{_LENS}/inference/xdit_sd_3.5",),
    "compiled": (f"{_LENS}/torch_compile_triton", f"{_NEW}/compile"),
    "MTIA": ("hta/mtia_inference_trace",),
    "Ascend": ("ascend_npu/trace_view.json",),
    "AMD": ("hta/amd_trace", f"{_LENS}/mi210/gpu_only_trace"),
    "legacy": ("fresh_torch1.8.1/legacy", f"{_NEW}/legacy", "fresh_torch1.11.0/minimal"),
    "damaged": (
        "derived_oddities/container/truncated.json.gz",
        "derived_oddities/container/truncated_mid_event.json",
        "derived_oddities/container/array_no_closing_bracket.json",
    ),
    "without its device": (
        "hta/rank_unavailable", "misc_repos/zoology_trace.json.gz",
        "derived_oddities/gpu/runtime_without_kernels.json",
    ),
    "without steps": (
        "misc_repos/switch_transformers", "misc_repos/particle_transformer", "hta_history",
    ),
}  # fmt: skip
"""Kind → files and folders of recordings, among the shared traces or the samples."""


def files_of(kind: str) -> list[Path]:
    """The recordings of a kind that are here."""
    found = []
    for name in KINDS[kind]:
        path = SAMPLES / name if (SAMPLES / name).exists() else TRACES / name
        found += sorted(path.rglob("*.json*")) if path.is_dir() else [path] * path.is_file()
    return found


@cache
def verdicts(kind: str) -> dict[str, str]:
    """Rule → what it does on a kind: ``fires``, ``cannot``, or "" where it must not."""
    fired: set[str] = set()
    unchecked = {rule.id for rule in RULES}
    for path in files_of(kind):
        findings, lacking = check_all(select(summarize(read(path))))
        fired |= {one.id for one in findings}
        unchecked &= {one.id for one in lacking}
    return {
        rule.id: "fires" if rule.id in fired else "cannot" if rule.id in unchecked else ""
        for rule in RULES
    }


def rows() -> dict[str, dict[str, str]]:
    """The table: rule → kind → cell."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return {row.pop("rule"): row for row in csv.DictReader(file, delimiter="\t")}


def test_rules_and_kinds_of_the_table_are_there() -> None:
    table = rows()
    assert set(table) <= {rule.id for rule in RULES}
    assert all(list(row) == list(KINDS) for row in table.values())


@pytest.mark.parametrize("kind", KINDS)
def test_what_rules_do_on_a_kind_of_recording(kind: str) -> None:
    if len(files_of(kind)) < len(KINDS[kind]):
        pytest.skip(f"not all recordings of this kind are at {TRACES}")
    listed = {rule: row[kind] for rule, row in rows().items()}
    found = {
        rule: cell for rule, cell in verdicts(kind).items() if rule in listed or cell == "fires"
    }
    assert found == listed


def test_a_part_of_a_recording_gets_no_finding_on_times() -> None:
    """Files that end early: what is missing could be the cause."""
    table = rows()
    fires = {rule for rule, row in table.items() if row["damaged"] == "fires"}
    assert fires == set()


if __name__ == "__main__":
    out = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    out.writerow(("rule", *KINDS))
    found = {kind: verdicts(kind) for kind in KINDS}
    for rule in sorted(rule.id for rule in RULES):
        out.writerow((rule, *(found[kind][rule] for kind in KINDS)))
