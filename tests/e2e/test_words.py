"""The first screen of the Overview has half the words that it once had."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from .browser import watched
from .conftest import SAMPLES
from .servers import Server, standalone

# Sample → words on the first screen before; numbers alone are no words.
BEFORE = {
    "resnet_workers0": 270,
    "resnet_workers4": 266,
    "serving": 213,
    "train_cpu": 299,
    "train_ddp_cpu": 253,
    "transformer": 243,
}
SPANS = 8

WORDS = r"""() => {
  const found = [], range = document.createRange();
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const shown = { opacityProperty: true, visibilityProperty: true };
    const element = node.parentElement;
    if (!element.checkVisibility(shown) || element.closest(".unseen, script, style, option")) {
      continue;
    }
    for (const word of node.data.matchAll(/\S*\p{L}{2}\S*/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const { width, top, bottom } = range.getBoundingClientRect();
      if (width >= 1 && top >= 0 && bottom <= innerHeight) {
        found.push(word[0]);
      }
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def all_samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with standalone(SAMPLES, tmp_path_factory.mktemp("words")) as server:
        server.wait_ready(spans=SPANS)
        yield server


@pytest.mark.parametrize("run", BEFORE)
def test_half_as_many_words(browser: Browser, all_samples: Server, run: str) -> None:
    with watched(browser) as (page, _):
        page.goto(f"{all_samples.page}#run={run}&view=overview")
        for heading in ("Findings", "Critical path"):
            expect(page.get_by_role("heading", name=heading)).to_be_visible()
        if run == "train_ddp_cpu":
            expect(page.get_by_role("link", name="Compare them")).to_be_visible()
            expect(page.get_by_role("heading", level=1)).to_contain_text("Rank 1")
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        expect(page.get_by_text("Following the longest chain")).to_have_count(0)
        words = page.evaluate(WORDS)
    assert 40 < len(words) <= BEFORE[run] / 2, " ".join(words)
