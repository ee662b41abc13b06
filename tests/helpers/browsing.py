"""Pages in a browser without a window: opened, clicked and typed through, and watched for complaints and requests."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed; the page is not tried out")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

NEEDS_BROWSER = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed; the page is not tried out"
)


def open_browser(downloads: Path | None = None) -> Iterator[Any]:
    """A browser, as a fixture yields it; it saves files that pages offer in this folder."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--force-prefers-reduced-motion"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if downloads is not None:
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER, env=dict(os.environ)))
    yield driver
    driver.quit()


def open_page(browser: Any, page: Path, width: int = 1280, height: int = 900) -> Any:
    """Open a page in a window of this size, and forget what was logged before."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())
    return browser


def all_of(browser: Any, selector: str) -> list[Any]:
    found: list[Any] = browser.find_elements("css selector", selector)
    return found


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def press(browser: Any, *keys: str) -> Any:
    """Type on whatever has the focus, and say what has it afterwards."""
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()
    return browser.switch_to.active_element


def keys() -> Any:
    from selenium.webdriver.common.keys import Keys

    return Keys


def click(browser: Any, element: Any) -> None:
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def overflow(browser: Any) -> int:
    return int(
        browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    )


def quiet(browser: Any) -> bool:
    """Nothing was complained about, and nothing fetched but the page itself."""
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requested = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in requested if not url.startswith(("data:", "file:", "blob:"))] == []
    assert len({url for url in requested if url.startswith("file:")}) == 1
    return True
