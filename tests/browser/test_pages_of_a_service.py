"""The pages of a service in a real browser, over 110 evaluations and 10 monitors in all states: desktop and
phone, light and dark; nothing complains, sticks out or is too pale; rounds come by themselves.
"""

import os
from pathlib import Path

import pytest
from doubles.served import HOSTILE, a_store, answer_some, fill, one_waiting
from services.serving import serving

from assay.flows.evaluation.advance import advance
from assay.flows.serve.stores import read_only_store

CHROMIUM = Path("/usr/bin/chromium")
SHOTS = os.environ.get("ASSAY_SHOTS")     # a folder: every page is left there as a picture

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no Chromium at {CHROMIUM}"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return a_store(fill(tmp_path_factory.mktemp("served"), 110, 10, windows=12))


@pytest.fixture(scope="module")
def address(store):
    with serving({"team": read_only_store("team", store)}) as url:
        yield url


def first(store, start):
    return min(key.split("/")[0] for key in store._values if key.startswith(start))


PAGES = {
    "home": "/", "breaches": "/?show=breach", "nothing": "/?q=nothing-like-it", "compare": "/compare",
    "labels": "/labels", "monitor": "/monitors/team/monitor-01", "failed": "/monitors/team/monitor-08",
    "window": "/monitors/team/monitor-01/windows/2026-11-25", "absent": "/evaluations/team/none",
}
CONTRAST = """() => {
    const rgb = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
    const light = c => { const [r, g, b] = c.slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const behind = e => { for (; e; e = e.parentElement) {
        const c = rgb(getComputedStyle(e).backgroundColor);
        if (c.length && (c.length < 4 || c[3] > 0)) return c; } return [255, 255, 255]; };
    let worst = [99, ''];
    for (const e of document.querySelectorAll('body *:not(option):not(script)')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
        if (e instanceof SVGElement) continue;
        const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 120)];
    }
    return worst;
}"""


def looked_at(browser, url, width, scheme, name):
    """What the page complains of, how far it sticks out, and its palest text."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(url, timeout=120_000)
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}-{width}-{scheme}.png")
    found = (
        said, page.evaluate("document.documentElement.scrollWidth"), page.evaluate(CONTRAST), page.title(),
        page.evaluate("[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
                      ".map(e => e.getAttribute('aria-label'))"),
    )
    page.close()
    return found


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_pages_are_quiet_fit_their_window_and_can_be_read(browser, store, address, width, scheme):
    pages = PAGES | {
        "report": f"/evaluations/team/{first(store, 'breached-')}",
        "open": f"/evaluations/team/{first(store, 'waiting-')}",
    }
    for name, path in pages.items():
        said, wide, pale, title, hidden = looked_at(browser, address + path, width, scheme, name)
        assert [one for one in said if "404" not in one] == [], name
        assert wide <= width, name
        assert pale[0] >= 4.5, (name, pale)
        assert title.endswith("· Assay"), name
        assert width > 400 or hidden == [], name


def test_a_person_finds_one_of_many_and_comes_to_its_report(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address, timeout=120_000)
    assert page.locator("table.entries tbody tr").count() == 50
    page.get_by_role("searchbox", name="Search").fill("model-0100")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/?q=model-0100*")
    assert page.locator("table.entries tbody tr").count() == 1
    page.locator("table.entries tbody a").click()
    page.wait_for_url("**/evaluations/team/*-model-0100", timeout=120_000)
    page.get_by_role("link", name="Everything").click()
    page.get_by_role("link", name="further →").click()
    assert "page 2 of" in page.locator(".turns").inner_text()
    page.close()


def test_hostile_texts_stay_texts(browser, store, address):
    page = browser.new_page()
    waiting = first(store, "waiting-")
    for path in (f"/?q={HOSTILE}", "/monitors/team/monitor-08", f"/evaluations/team/{waiting}"):
        page.goto(address + path, timeout=120_000)
        assert page.title().endswith("· Assay")
        assert page.evaluate("document.scripts.length") == 1
    page.close()


def test_a_round_that_closes_comes_onto_the_page(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.flows.serve.app.LOOK_SECONDS", 0.3)
    live = one_waiting(tmp_path)
    with serving({"team": read_only_store("team", live)}) as url:
        page = browser.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(f"{url}/evaluations/team/live", timeout=120_000)
        assert "No round has closed yet" in page.locator("main").inner_text()
        answer_some(tmp_path / "desk" / "live", tmp_path / "labels.csv", share=1.0)
        advance(live, "live")
        page.get_by_text("How the estimate settled").first.wait_for(timeout=120_000)
        assert said == []
        page.close()
