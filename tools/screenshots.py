"""Takes the pictures of the docs: the real page, inside a real TensorBoard, on the sample traces.

    python tools/screenshots.py [NAME ...]

Needs Chromium and the built page (`make page`).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the browser and the servers are those of the tests

from tests.e2e.browser import chromium, watched  # noqa: E402
from tests.e2e.servers import tensorboard  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SETTLE_MS = 2500  # charts are drawn after the first paint


@dataclass(frozen=True)
class Picture:
    """One picture: what the address says, and how large the window is."""

    state: str
    width: int = 1440
    height: int = 900
    dark: bool = False


PICTURES = {
    "overview": Picture("run=train_cpu&view=overview"),
    "overview-dark": Picture("run=train_cpu&view=overview", dark=True),
    "health": Picture("run=train_cpu&view=health"),
}


def main(names: list[str]) -> None:
    """Write docs/images/NAME.png for each name, by default all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        tmp = Path(temporary)
        shutil.copytree(ROOT / "samples" / "traces", tmp / "log")
        with tensorboard(tmp / "log", tmp) as server, chromium() as browser:
            server.wait_ready(spans=3)
            for name in names or list(PICTURES):
                picture = PICTURES[name]
                state = "".join(f"&p.pytorch_profiler.{part}" for part in picture.state.split("&"))
                address = server.page + state
                if picture.dark:
                    address = address.replace("/#", "/?darkMode=true#", 1)
                with watched(browser, picture.width, picture.height, picture.dark) as (page, _):
                    page.goto(address)
                    page.frame_locator("iframe[src*='plugin_entry']").locator("h1").wait_for()
                    page.wait_for_timeout(SETTLE_MS)
                    page.screenshot(path=IMAGES / f"{name}.png")
                print(f"docs/images/{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
