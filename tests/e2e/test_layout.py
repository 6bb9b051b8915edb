"""In every view nothing overprints, is cut without a sign, leaves the window or is covered.

Looked at in three widths, with rows, menus and tabs open, on the shipped recordings and on one that
is made of what strains a layout: long paths, long names of kernels, many threads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .browser import watched
from .conftest import copy_samples
from .servers import Server, standalone

WIDTHS = (1440, 1000, 700)
FIND_FAULTS = (Path(__file__).with_name("layout.js")).read_text()

ROWS = "main [aria-expanded=false]:is(tr)"
MENUS = "button[aria-haspopup]:visible"
# Scrolls the view to its start or its end, and says how far that is.
SCROLL = "(share) => { main.scrollTop = share * main.scrollHeight; return main.scrollTop; }"
TABS = "main [role=tab]:visible"

RUN = "pretraining_of_a_mixture_of_experts_2026-11-20_17-05-59_attempt_3"
WORKER = "node-0123456789.cluster.example_rank3"
FOLDERS = "opt/conda/envs/training/lib/python3.12/site-packages/megatron/core/transformer/moe"
KERNEL = (
    "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::kernel"
    "::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma>>>"
)


@dataclass
class Crowd:
    """A recording that strains the layout, event by event."""

    events: list[dict[str, Any]] = field(default_factory=list)
    allocated: int = 0  # bytes, as the allocator counts them

    def add(self, cat: str, name: str, ts: float, dur: float, **args: Any) -> None:
        place = {"pid": 0 if cat == "kernel" else 9, "tid": args.pop("thread", 7)}
        at = {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur}
        self.events.append({**at, **place, "args": args})

    def step(self, number: int) -> None:
        start = 20_000 * number
        self.add("user_annotation", f"ProfilerStep#{number}", start, 19_000)
        for depth in range(12):
            frame = f"{FOLDERS}/experts_of_depth_{depth}.py({100 + depth}): forward_with_routing"
            self.add("python_function", frame, start + depth, 18_000 - 2 * depth)
        for call in range(12):
            begin, key = start + 100 + 1400 * call, 100 * number + call
            dims: dict[str, Any] = {"Input Dims": [[32, 4096, 128], [4096, 14336], [14336]]}
            op = f"megatron::fused_permute_and_pad_{call}_with_probabilities"
            self.add("cpu_op", op, begin, 1200, **dims, **{"External id": key})
            self.add("cuda_runtime", "cudaLaunchKernel", begin + 10, 5, correlation=key)
            shape: dict[str, Any] = {"grid": [1024, 128, 4], "block": [256, 2, 1]}
            shape |= {"registers per thread": 168, "shared memory": 213_000}
            shape |= {"blocks per SM": 3.5, "est. achieved occupancy %": 12}
            name, where = f"{KERNEL}({call})", {"device": 0, "stream": 7, "correlation": key}
            self.add("kernel", name, begin + 30, 1100, **where, **shape)
            # All of the compute time overlaps communication: its part of the ruler is striped.
            where["stream"] = 20
            self.add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin + 30, 1100, **where)
        for thread in range(20, 32):
            self.add("cpu_op", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                     start + 50, 9000, thread=thread)  # fmt: skip

    def allocate(self, number: int) -> None:
        """Blocks of three sizes, each by an op of its own: what a step takes and gives back."""
        start, held = 20_000 * number, []
        for call in range(12):
            size, address = (1 << 20) << call % 3, 1 << 12 << call
            held.append((size, address))
            self.memory(start + 200 + 1400 * call, size, address)
        for size, address in held[:-2]:
            self.memory(start + 18_500, -size, address)

    def memory(self, ts: float, size: int, address: int) -> None:
        self.allocated += size
        args = {"Bytes": size, "Addr": address, "Device Type": 1, "Device Id": 0}
        args |= {"Total Allocated": self.allocated, "Total Reserved": 64 << 20}
        place = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "pid": 9, "tid": 7}
        self.events.append({**place, "name": "[memory]", "ts": ts, "args": args})

    def text(self) -> str:
        for number in range(1, 5):
            self.step(number)
            self.allocate(number)
        gpu = {"id": 0, "name": "NVIDIA H100 80GB HBM3 of a name that goes on", "numSms": 132}
        rank = {"rank": 3, "world_size": 8, "backend": "nccl"}
        metadata = {"deviceProperties": [gpu], "distributedInfo": rank}
        return json.dumps({"schemaVersion": 1, **metadata, "traceEvents": self.events})


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    tmp = tmp_path_factory.mktemp("crowded")
    copy_samples(tmp / "log")
    run = tmp / "log" / RUN
    run.mkdir()
    (run / f"{WORKER}.pt.trace.json").write_text(Crowd().text())
    (run / "pointer.pt.trace.json").write_text("version https://git-lfs.github.com/spec/v1\n")
    with standalone(tmp / "log", tmp) as server:
        server.wait_ready(spans=4)
        yield server


class Looking:
    """One page, looked at again and again; a fault is told with what was open."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.found: dict[str, str] = {}

    def look(self, when: str) -> None:
        self.page.wait_for_timeout(120)
        for fault in self.page.evaluate(FIND_FAULTS):
            self.found.setdefault(fault, f"{self.page.evaluate('innerWidth')} px, {when}: {fault}")

    def each(self, selector: str, most: int) -> Iterator[tuple[int, Locator]]:
        places = self.page.locator(selector)
        for place in range(min(most, places.count())):
            yield place, places.nth(place)

    def widths(self) -> None:
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            self.look("as it comes")
            if self.page.evaluate(SCROLL, 1) > 0:
                self.look("its end")
                self.page.evaluate(SCROLL, 0)
            for place, row in self.each(ROWS, 1):
                row.click(position={"x": 30, "y": 8})
                expect(self.page.get_by_text("Reading…")).to_have_count(0)
                self.look(f"row {place} open")
                for stack in self.page.locator("main tr summary").all()[:1]:
                    stack.click()
                    self.look("stack open")
                self.page.locator("main tr[aria-expanded=true]").first.press("Escape")
            for place, tab in self.each(TABS, 8):
                tab.click()
                self.look(f"tab {place} open")
            for place, menu in self.each(MENUS, 14):
                menu.click()
                expect(self.page.get_by_text("Opening…")).to_have_count(0)
                self.look(f"menu {place} open")
                self.page.keyboard.press("Escape")


# What is there once the view is.
VIEWS = {
    "view=overview": ".ruler",
    "view=operators": "main tr[aria-expanded]",
    "view=operators&operators.group=stack": "main tr[aria-expanded]",
    "view=operators&operators.mode=flame": "main canvas",
    "view=kernels&kernels.group=properties": "main tr[aria-expanded]",
    "view=timeline&timeline.select=40": ".tl-canvas",
    "view=memory": ".treemap-box",
    "view=memory&memory.tab=operators": "main .dt-row",
    "view=health": ".note-item, .counts",
    "view=distributed": ".ranks-panel .dt-row",
    "view=diff&diff.base=train_ddp_cpu": "main .dt-row",
}
# A recording of the processor alone: a view that is not available, and the rest of the states.
OF_SEVERAL = ("view=distributed", "view=diff&diff.base=train_ddp_cpu")
OF_SAMPLES = ("view=overview", "view=kernels", "view=timeline&timeline.select=40")
CROWDED = f"run={RUN}&worker={WORKER}"


CASES = [
    *((CROWDED, view) for view in VIEWS if view not in OF_SEVERAL),
    *(("run=train_ddp_cpu", view) for view in OF_SAMPLES),
    ("run=train_cpu", "view=memory"),
    ("run=train_ddp_cpu", "view=distributed"),
    ("run=train_cpu", "view=diff&diff.base=train_ddp_cpu"),
]


@pytest.mark.parametrize(("run", "view"), CASES)
def test_nothing_is_in_the_way_of_anything(
    browser: Browser, crowded: Server, run: str, view: str
) -> None:
    with watched(browser) as (page, watch):
        page.goto(f"{crowded.page}#{run}&{view}")
        expect(page.locator(VIEWS.get(view, "h1")).first).to_be_visible()
        page.wait_for_load_state("networkidle")
        if "mode=flame" in view:
            page.locator("main canvas").first.click(position={"x": 60, "y": 45})
        looking = Looking(page)
        looking.widths()
        assert list(looking.found.values()) == []
        assert (watch.console, watch.failed) == ([], [])


# Of the long names of the table: how many lost their middle, and how many their end.
CUT_NAMES = """() => {
  const names = [...document.querySelectorAll(".dt .code-name > .long")];
  const cut = (part) => names.filter((name) => part(name).scrollWidth > part(name).clientWidth);
  return {
    all: names.length,
    middle: cut((name) => name.firstElementChild).length,
    end: cut((name) => name.lastElementChild).length,
  };
}"""


def test_a_long_name_loses_its_middle_and_only_for_want_of_room(
    browser: Browser, crowded: Server
) -> None:
    with watched(browser) as (page, _):
        page.set_viewport_size({"width": 700, "height": 900})
        page.goto(f"{crowded.page}#{CROWDED}&view=operators&operators.search=fused_permute")
        expect(page.locator("main .dt-row .long").first).to_be_visible()
        assert page.evaluate(CUT_NAMES) == {"all": 12, "middle": 12, "end": 0}
        page.set_viewport_size({"width": 2800, "height": 900})
        page.wait_for_timeout(300)
        assert page.evaluate(CUT_NAMES) == {"all": 12, "middle": 0, "end": 0}


def test_a_long_file_name_stays_in_the_window_while_it_is_read(
    browser: Browser, crowded: Server
) -> None:
    progress = {"phase": "waiting for a free process", "bytes_done": 0, "bytes_total": 9}
    progress |= {"events": 0, "seconds": 1, "file": f"worker_{'long' * 60}.pt.trace.json"}
    reading = json.dumps({"reading": progress})
    with watched(browser) as (page, _):
        page.route(
            "**/api/view/kernels?**",
            lambda route: route.fulfill(status=202, body=reading, content_type="application/json"),
        )
        page.set_viewport_size({"width": 700, "height": 900})
        page.goto(f"{crowded.page}#{CROWDED}&view=kernels")
        expect(page.get_by_role("heading", name="Reading the trace")).to_be_visible()
        looking = Looking(page)
        looking.look("reading")
        assert list(looking.found.values()) == []
        assert page.evaluate("main.scrollWidth - main.clientWidth") <= 0
