"""A person who labels in a real browser: signs in, reads the page, presses the keys."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from assay.tasks.desks.label_studio.local import LocalLabelStudio

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)


@contextmanager
def signed_in(server: LocalLabelStudio) -> Iterator[Page]:
    """A page of a browser in which the server's owner is signed in."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.set_default_timeout(90_000)
            page.goto(f"{server.url}/user/login")
            page.fill("input[name=email]", server.email)
            page.fill("input[name=password]", server.password)
            page.click("button[type=submit]")
            page.wait_for_url(lambda url: "/user/login" not in url)
            yield page
        finally:
            browser.close()


def open_labelling(page: Page, server: LocalLabelStudio, project: int) -> None:
    page.goto(f"{server.url}/projects/{project}/data?labeling=1")


def item_shown(page: Page, one_of: list[str]) -> str:
    """The text that marks the item on the page, once it is drawn and its choices can be made."""
    page.wait_for_selector(".assay-choices input")
    return page.wait_for_function(
        "texts => { const page = document.querySelector('.assay-page');"
        " return page && texts.find(text => page.innerText.includes(text)) }",
        arg=one_of,
    ).json_value()


def press_and_submit(page: Page, key: str) -> None:
    """The keyboard is listened to a moment after the page is drawn: press until it took."""
    submit = page.locator('[data-testid=bottombar-submit-button]:not([disabled])')
    for _ in range(20):
        page.keyboard.press(key)
        page.wait_for_timeout(500)
        if submit.count():
            break
    submit.click()


def out_of_sight(page: Page) -> list[str]:
    """What of the answers, and Submit, is not wholly in the window or is under something else."""
    return page.evaluate("""() => {
        const wanted = [...document.querySelectorAll('.assay-question h4, .assay-choices label, '
                        + '.assay-choices input, [data-testid=bottombar-submit-button]')];
        if (wanted.length < 3) return ['the answers themselves'];
        return wanted.filter(one => {
            const box = (one.closest('label') || one).getBoundingClientRect();
            const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
            const top = document.elementFromPoint(x, y);
            return box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth
                || !top || !(top.contains(one) || (one.closest('label') || one).contains(top));
        }).map(one => one.outerHTML.slice(0, 200));
    }""")
