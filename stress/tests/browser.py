"""A headless Chromium, where there is one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.remote.webdriver import WebDriver

__all__ = ["CHROMIUM", "DRIVER", "MISSING", "ActionChains", "browser", "requests_of"]

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = "no Chromium, or no driver of it, is installed"

_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
NARROW = {"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 2.0, "touch": True}}


@contextmanager
def browser(profile: Path, *, narrow: bool = False, dark: bool = False) -> Iterator[WebDriver]:
    """A browser with a profile of its own; it keeps the console's and the network's log."""
    options = Options()
    options.binary_location = str(CHROMIUM)
    for switch in (
        *_SWITCHES,
        f"--user-data-dir={profile}",
        "--window-size=1280,1400",
        "about:blank",
    ):
        options.add_argument(switch)
    if narrow:
        options.add_experimental_option("mobileEmulation", NARROW)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # The driver is told where everything is: its manager would look for it on the network.
    os.environ["SE_OFFLINE"] = "true"
    with webdriver.Chrome(options=options, service=Service(str(DRIVER))) as driver:
        if dark:
            feature = {"name": "prefers-color-scheme", "value": "dark"}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        yield driver


def requests_of(driver: WebDriver) -> list[str]:
    """The addresses that pages asked for, without those of the browser's own start page."""
    found = []
    for entry in driver.get_log("performance"):
        message: dict[str, Any] = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return [url for url in found if not url.startswith(("chrome://", "data:"))]
