"""The report opens in a real browser: nothing is fetched, nothing complains, nothing sticks out."""

from pathlib import Path

import pytest
from doubles.report_data import estimate, report_data

from assay.tasks.report.files import write_report

CHROMIUM = Path("/usr/bin/chromium")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no Chromium at {CHROMIUM}"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    names = ("precision", "accuracy", "specificity", "balanced_accuracy", "mcc", "fbeta(2)")
    data = report_data(
        evaluation="a-name-" + "without-any-break" * 8 + "<script>document.title='broken into'</script>",
        estimates=[
            *report_data().estimates,
            *(estimate(name, 0.9, 0.05, 75) for name in names),
            estimate("f1", 0.5, 0.1, 9, segment="region=" + "x" * 120),
        ],
        truth={"f1": 0.81},
    )
    return write_report(data, tmp_path_factory.mktemp("report")).html


@pytest.mark.parametrize("width", [1280, 390, 360])
def test_the_page_opens_quietly_and_fits_its_window(browser, report, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    said, failed, requests = [], [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_load_state("networkidle")

    assert (said, failed, requests) == ([], [], [report.as_uri()])
    assert page.title().startswith("a-name-")
    assert page.locator("h1").is_visible()
    assert page.evaluate("[...document.images].map(i => i.complete && i.naturalWidth > 300)") == [True, True]
    # wide tables and figures scroll inside their own frames, never the page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # on a phone nothing hides beyond an edge: neither the last rounds nor the upper ends
    hidden = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        ".map(e => e.getAttribute('aria-label'))"
    )
    assert width > 400 or hidden == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast_with_what_is_behind_it(browser, report, scheme):
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page.goto(report.as_uri())
    # the WCAG 2 ratio of every element that holds text of its own, against the nearest painted background
    worst = page.evaluate(
        """() => {
            const rgb = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
            const light = c => { const [r, g, b] = c.slice(0, 3).map(v => v / 255)
                .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
            const behind = e => { for (; e; e = e.parentElement) {
                const c = rgb(getComputedStyle(e).backgroundColor);
                if (c.length && (c.length < 4 || c[3] > 0)) return c; } return [255, 255, 255]; };
            let worst = [99, ''];
            for (const e of document.querySelectorAll('main *')) {
                if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
                const style = getComputedStyle(e);
                const a = light(rgb(e instanceof SVGElement ? style.fill : style.color));
                const b = light(behind(e));
                const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 120)];
            }
            return worst;
        }"""
    )
    assert worst[0] >= 4.5, worst
    page.close()
