"""The documentation as a site, opened from a disk."""

from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.browser import TIMEOUT

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_site_opens_from_a_disk_and_finds_a_word(chromium: "Browser", site: Path) -> None:
    tab = chromium.new_page()
    tab.set_default_timeout(TIMEOUT * 1000)
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("requestfailed", lambda request: complaints.append(request.url))
    tab.on(
        "request",
        lambda request: None if request.url.startswith(site.as_uri()) else complaints.append(request.url),
    )
    tab.goto((site / "index.html").as_uri())
    tab.fill("input[name='q']", "teacher forcing")
    tab.press("input[name='q']", "Enter")
    tab.click("#search-results a[href*='reference/glossary.html']")
    assert "Training with the reference" in tab.inner_text("main, article")
    tab.goto((site / "explanation" / "equations.html").as_uri())
    assert tab.locator("math[display='block']").count() == 15
    assert tab.locator("math mfrac").first.bounding_box()
    assert complaints == []
