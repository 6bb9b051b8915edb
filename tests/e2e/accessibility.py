"""What axe-core says against a page."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.conftest import ROOT


def complaints(page: Page) -> list[str]:
    """Every violation: the rule, the element, what to do."""
    page.evaluate((ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary'][:200]}"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]
