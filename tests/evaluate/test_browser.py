"""The page in a real browser: Chromium opens it from disk, sorts a table, and has nothing to complain of."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dioptre.evaluate.page import Body, Cell, Column, Figure, Table, build_page

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not BROWSER or not DRIVER, reason="there is no chromium with its chromedriver here"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # selenium's own sockets
]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip

VALUES = {"b": 10.0, "c": 9.0, "a": 2.0}
TABLE = Table(
    "Errors",
    "Of some methods.",
    [Column("method", number=False), Column("MAE", group="ours"), Column("RMSE", group="the paper's")],
    [
        Body(
            "One",
            [[Cell(name, small=f"key-{name}"), Cell(f"{at:g}", at), Cell("")] for name, at in VALUES.items()],
        ),
        Body("Two", [[Cell("z"), Cell("3", 3.0), Cell("5", 5.0)], [Cell("y"), Cell("4", 4.0), Cell("")]]),
    ],
)
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="10"><rect width="2000" height="10"/></svg>'
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "index.html"
    figure = Figure("A line", "Wide.", "dioptre report A B", SVG)
    path.write_text(build_page("Predictions", ["Simulated."], [TABLE, figure]), encoding="utf-8")
    return path


@pytest.fixture
def browser(page: Path, tmp_path: Path) -> Iterator["Chrome"]:
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'user'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        chrome.get(page.as_uri())
        yield chrome
        assert chrome.get_log("browser") == []
    finally:
        chrome.quit()


def column(browser: "Chrome", body: int, at: int) -> list[str]:
    rows = f"document.querySelectorAll('tbody')[{body}].querySelectorAll('tr:not(.title)')"
    return browser.execute_script(
        f"return [...{rows}].map(row => row.cells[{at}].firstChild?.textContent ?? '')"
    )


def test_a_table_is_sorted_by_the_head_that_is_pressed(browser: "Chrome") -> None:
    head = browser.find_elements("css selector", "th[scope=col]")
    assert column(browser, 0, 1) == ["10", "9", "2"]
    head[1].find_element("css selector", "button").click()
    assert column(browser, 0, 1) == ["2", "9", "10"]  # as numbers, and each body by itself
    assert column(browser, 1, 1) == ["3", "4"]
    assert head[1].get_attribute("aria-sort") == "ascending"
    head[1].find_element("css selector", "button").click()
    assert column(browser, 0, 1) == ["10", "9", "2"]
    head[0].find_element("css selector", "button").click()
    assert column(browser, 0, 0) == ["a", "b", "c"]
    assert head[1].get_attribute("aria-sort") is None
    for _ in range(2):  # what is not known stands last, either way
        head[2].find_element("css selector", "button").click()
        assert column(browser, 1, 2) == ["5", ""]
    titles = browser.find_elements("css selector", "tbody tr:first-child.title")
    assert [title.text for title in titles] == ["One", "Two"]


def test_light_and_dark_can_be_chosen(browser: "Chrome") -> None:
    def background() -> str:
        return browser.execute_script("return getComputedStyle(document.body).backgroundColor")

    light = background()
    browser.find_element("id", "theme").click()
    dark = background()
    assert dark != light
    browser.find_element("id", "theme").click()
    assert background() == light


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_page(browser: "Chrome", width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
