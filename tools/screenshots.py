"""Takes the pictures of the docs: the real page, inside a real TensorBoard, on the sample traces.

    make pictures
    python tools/screenshots.py [NAME ...]
    python tools/screenshots.py --real FOLDER [NAME ...]

With --real it takes pictures of real recordings (KINETOSCOPE_TRACES) into a folder, to be looked
at; they are no part of the docs. Needs Chromium and the built page (`make page`).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the browser and the servers are those of the tests

from tests.conftest import TRACES  # noqa: E402
from tests.e2e.browser import chromium, watched  # noqa: E402
from tests.e2e.servers import Server, tensorboard  # noqa: E402

IMAGES = ROOT / "docs" / "images"
READY = {
    "timeline": ".tl-canvas[data-stats*='\"tiles\":']",
    "operators": ".dt-row, .flame-scroll",
    "kernels": ".dt-row",
}
"""View → what is there once its first rows or tiles are."""
SETTLE_MS = 2500  # charts are drawn after the first paint


@dataclass(frozen=True)
class Picture:
    """One picture: what the address says, and how large the window is."""

    state: str
    width: int = 1440
    height: int = 900
    dark: bool = False


TRACE = "view=timeline"
LOOK = f"run=train_cpu&{TRACE}&steps=2-3&timeline.find=aten::addmm&timeline.match=exact"

PICTURES = {
    "overview": Picture("run=train_cpu&view=overview"),
    "overview-dark": Picture("run=train_cpu&view=overview", dark=True),
    "health": Picture("run=train_cpu&view=health"),
    "trace": Picture(f"run=train_cpu&{TRACE}&steps=2&timeline.tab=flame"),
    "trace-dark": Picture(f"{LOOK}&timeline.tab=summary", dark=True),
    "trace-ranks": Picture(f"run=train_ddp_cpu&{TRACE}&timeline.workers=rank1"),
    "operators": Picture("run=train_cpu&view=operators"),
    "sample-transformer": Picture("run=transformer&view=modules", height=800),
    "sample-ddp": Picture("run=train_ddp_cpu&view=distributed", height=800),
    "sample-compiled": Picture("run=compiled&view=compile", height=800),
    "sample-serving": Picture("run=serving&view=overview", height=800),
    "operators-flame": Picture("run=train_cpu&view=operators&operators.mode=flame"),
}

# Run → where its files are below the folder of real traces.
RUNS = {
    "v100": "kineto_tb_samples/resnet50_num_workers_0",
    "h100": "tracelens/h100",
    "mi300": "tracelens/mi300",
    "ranks": "dlrm_8rank_v100",
    "cpu": "fresh_torch2.13/gpt_full",
}
RANKS = ",".join(f"worker{rank}_step_12" for rank in range(1, 8))
CONV = "timeline.find=aten::conv2d&timeline.match=exact"
MI300 = f"run=mi300&worker=resnet_act_checkpoint&{TRACE}"

REAL = {
    "v100": Picture(f"run=v100&{TRACE}&timeline.find=enumerate(DataLoader)"),
    "v100-step": Picture(f"run=v100&{TRACE}&steps=2&timeline.tab=gpu"),
    "h100": Picture(f"run=h100&worker=Qwen_Qwen1.5-0.5B-Chat__1016005&{TRACE}"),
    "h100-filtered": Picture(
        f"run=h100&worker=Qwen_Qwen1.5-0.5B-Chat__1016005&{TRACE}&timeline.layout=filtered"
        "&timeline.tab=flame"
    ),
    "mi300": Picture(f"{MI300}&timeline.at=16300000-37500000&timeline.select=9904"),
    "mi300-arrows": Picture(f"{MI300}&steps=1&timeline.arrows=backward&timeline.tab=summary"),
    "mi300-narrow": Picture(f"{MI300}&steps=1&{CONV}&timeline.tab=details", width=1000),
    "ranks": Picture(f"run=ranks&worker=worker0_step_12&{TRACE}&timeline.workers={RANKS}"),
    "cpu": Picture(f"run=cpu&{TRACE}"),
    "operators-v100": Picture("run=v100&view=operators"),
    "operators-mi300": Picture("run=mi300&worker=resnet_act_checkpoint&view=operators"),
    "operators-cpu": Picture("run=cpu&view=operators"),
    "kernels-v100": Picture("run=v100&view=kernels"),
    "kernels-mi300": Picture("run=mi300&worker=resnet_act_checkpoint&view=kernels"),
    "kernels-cpu": Picture("run=cpu&view=kernels"),
    "ranks-collectives": Picture(
        f"run=ranks&worker=worker0_step_12&{TRACE}&timeline.workers={RANKS}&timeline.find=nccl"
    ),
}


def main(arguments: list[str]) -> None:
    """Write docs/images/NAME.png for each name, by default all; or those of real recordings."""
    if arguments[:1] == ["--real"]:
        out = Path(arguments[1])
        names = arguments[2:] or list(REAL)
        take({name: REAL[name] for name in names}, out, real_runs)
        take({f"{name}-dark": replace(REAL[name], dark=True) for name in names}, out, real_runs)
    else:
        names = arguments or list(PICTURES)
        take({name: PICTURES[name] for name in names}, IMAGES, sample_runs)


def sample_runs(logdir: Path) -> int:
    """Lays out the traces of the repository; how many spans there are."""
    shutil.copytree(ROOT / "samples" / "traces", logdir)
    return 3


def real_runs(logdir: Path) -> int:
    """Lays out real recordings; how many spans there are."""
    for run, folder in RUNS.items():
        shutil.copytree(TRACES / folder, logdir / run)
    return 1 + 3 + 3 + 8 + 1


def take(pictures: dict[str, Picture], out: Path, lay_out: Callable[[Path], int]) -> None:
    """Writes each picture as OUT/NAME.png."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        tmp = Path(temporary)
        spans = lay_out(tmp / "log")
        with tensorboard(tmp / "log", tmp) as server, chromium() as browser:
            server.wait_ready(spans=spans)
            for name, picture in pictures.items():
                path = out / f"{name}.png"
                shoot(browser, server, picture, path)
                print(path)


def shoot(browser: Browser, server: Server, picture: Picture, path: Path) -> None:
    """One picture of the page inside TensorBoard, once it has settled."""
    state = "".join(f"&p.pytorch_profiler.{part}" for part in picture.state.split("&"))
    address = server.page + state
    if picture.dark:
        address = address.replace("/#", "/?darkMode=true#", 1)
    with watched(browser, picture.width, picture.height, picture.dark) as (page, _):
        page.goto(address)
        frame = page.frame_locator("iframe[src*='plugin_entry']")
        frame.locator("h1").wait_for()
        for view, shown in READY.items():
            if f"view={view}" in picture.state:
                # The first open prepares what the view needs, of each worker.
                frame.locator(shown).first.wait_for(timeout=120_000)
        page.wait_for_timeout(SETTLE_MS)
        frame.get_by_text(" is prepared").wait_for(state="hidden", timeout=120_000)
        page.wait_for_timeout(SETTLE_MS)
        page.screenshot(path=path)


if __name__ == "__main__":
    main(sys.argv[1:])
