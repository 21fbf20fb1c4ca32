"""The page in a browser, as somebody with a failure at hand opens it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser as browsers
import pytest

from fencepost_stress import verdict as verdicts
from fencepost_stress.report import page
from fencepost_stress.report.claims import FATES, Claim
from fencepost_stress.report.gather import Gathered
from fencepost_stress.report.marks import Mark
from fencepost_stress.report.origin import Origin
from fencepost_stress.verdict import RunVerdict, Verdicts

pytestmark = pytest.mark.skipif(
    browsers.CHROMIUM is None or browsers.DRIVER is None, reason=browsers.MISSING
)

VIEW = "return document.querySelector('.run:not([hidden]) .timeline').timeline.view"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browsers.browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browsers.browser(tmp_path_factory.mktemp("narrow"), narrow=True, dark=True) as opened:
        yield opened


def open_page(driver: Any, file: Path) -> None:
    driver.get_log("performance")
    driver.get(file.as_uri())


def span(driver: Any) -> float:
    low, high = driver.execute_script(VIEW)
    return float(high - low)


def test_it_opens_at_the_first_failure_without_network_or_errors(
    driver: Any, planted_run: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, lie = planted_run
    file = folder / "index.html"
    open_page(driver, file)
    assert driver.get_log("browser") == []
    assert browsers.requests_of(driver) == [file.as_uri()]
    shown = driver.find_element("css selector", ".story:not([hidden])")
    assert shown.is_displayed()
    assert driver.execute_script("return scrollY") == 0
    assert shown.rect["y"] < 700
    assert lie["run_id"] in shown.text
    # The timeline shows the moment of it, with the row on top.
    timeline = "document.querySelector('.timeline').timeline"
    low, high = driver.execute_script(VIEW)
    assert low <= driver.execute_script(f"return {timeline}.story.at") <= high
    top = driver.execute_script(f"return {timeline}.data.lanes[{timeline}.rows[0].lane]")
    assert lie["run_id"] in top
    assert high - low < 5000
    driver.save_screenshot(str(tmp_path / "wide.png"))
    assert (tmp_path / "wide.png").stat().st_size > 40_000


def test_the_timeline_zooms_moves_and_filters(
    driver: Any, planted_run: tuple[Path, dict[str, Any]]
) -> None:
    open_page(driver, planted_run[0] / "index.html")
    first = span(driver)
    driver.find_element("css selector", "[data-do=in]").click()
    assert span(driver) == pytest.approx(first / 2)
    driver.find_element("css selector", "[data-do=all]").click()
    whole = span(driver)
    assert whole > first
    lanes = driver.find_element("css selector", ".lanes")
    lanes.send_keys("++")
    assert span(driver) == pytest.approx(whole / 4)
    before = driver.execute_script(VIEW)
    lanes.send_keys("\ue014")  # arrow right
    assert driver.execute_script(VIEW)[0] > before[0]
    actions = browsers.ActionChains(driver)
    actions.click_and_hold(lanes).move_by_offset(150, 0).release().perform()
    assert span(driver) == pytest.approx(whole / 4)
    box = driver.find_element("css selector", ".timeline input")
    box.send_keys("no lane is called that")
    rows = "return document.querySelector('.timeline').timeline.rows"
    assert all(row["pinned"] for row in driver.execute_script(rows))
    driver.find_element("css selector", "[data-do=story]").click()
    assert span(driver) == pytest.approx(first)
    assert driver.get_log("browser") == []


def test_the_next_violation_is_a_click_away(
    driver: Any, planted_run: tuple[Path, dict[str, Any]]
) -> None:
    open_page(driver, planted_run[0] / "index.html")
    stories = driver.find_elements("css selector", ".story")
    assert len(stories) > 1
    driver.find_element("css selector", ".picker .next").click()
    assert [story.is_displayed() for story in stories].index(True) == 1
    driver.find_element("css selector", ".picker .previous").click()
    assert stories[0].is_displayed()


def test_a_narrow_screen_has_nothing_cut_off(
    narrow: Any, planted_run: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    open_page(narrow, planted_run[0] / "index.html")
    assert narrow.get_log("browser") == []
    width = narrow.execute_script("return document.documentElement.scrollWidth")
    assert width <= narrow.execute_script("return innerWidth")
    assert narrow.find_element("css selector", ".story:not([hidden])").is_displayed()
    narrow.save_screenshot(str(tmp_path / "narrow.png"))
    assert (tmp_path / "narrow.png").stat().st_size > 20_000


def test_a_valid_run_shows_all_of_its_time(driver: Any, saved_run: Path) -> None:
    open_page(driver, saved_run / "index.html")
    assert driver.get_log("browser") == []
    whole = driver.execute_script("return document.querySelector('.timeline').timeline.whole")
    assert driver.execute_script(VIEW) == whole
    assert "Promises" in driver.find_element("css selector", "main").text


def large(claims: int) -> Gathered:
    spans = {
        f"workflow_run_queue:run-3.1-{number}": [
            Claim(
                f"worker-{number % 16:02d}-{number % 5:03d}",
                f"token-{number}",
                round(number * 6.31, 2),
                round(number * 6.31 + 600, 2),
                round(number * 6.31 + 17.3, 2),
                FATES[number % len(FATES)],
                number % 3,
            )
        ]
        for number in range(claims)
    }
    marks = [Mark("kill", number * 97.1, f"worker-{number % 16:02d}-000") for number in range(800)]
    flow = {"from_ms": 0, "step_ms": 700, "calls": [900.0] * 600, "claims": [300.0] * 600}
    fairness = {"workers": [], "jain_calls": 1.0, "jain_claims": 1.0}
    return Gathered(Origin(0, 0.0), [], spans, 1, marks, {"load": 0.0}, [], flow, fairness)


def test_a_hundred_thousand_operations_fit_in_five_megabytes(driver: Any, tmp_path: Path) -> None:
    """As many claims as a report draws, which a run of so many operations does not reach."""
    run = RunVerdict(
        engine="</script><b>hostile</b>",
        seed=1,
        profile="soak",
        verdict="valid",
        reasons=(),
        repeat="",
        directory="",
        properties=(),
        sometimes=(),
        counts={"calls": 100_000, "commits": 80_000},
        faults={},
        environment={},
        run_seconds=1.0,
        check_seconds=1.0,
    )
    file = tmp_path / "index.html"
    page.write(Verdicts(verdicts.SCHEMA, "valid", (run,)), [large(60_000)], [[]], file)
    assert file.stat().st_size < 5_000_000
    open_page(driver, file)
    assert driver.get_log("browser") == []
    assert "</script><b>hostile</b>" in driver.find_element("css selector", "main").text
    took = driver.execute_script(
        "const t = document.querySelector('.timeline').timeline, from = performance.now();"
        "t.zoom(0.5); return performance.now() - from"
    )
    assert took < 1000
