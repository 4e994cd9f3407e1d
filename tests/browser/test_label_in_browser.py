"""A person labels in a real browser, with the keyboard, on the page we generated; the desk sees it."""

from uuid import uuid4

import pytest

from assay.evalcore.annotators.answers.classes import class_answers
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.desk import LabelStudioDesk
from assay.tasks.desks.label_studio.local.server import LocalLabelStudio
from assay.tasks.desks.protocol import Batch, Item

pytest.importorskip("playwright", reason="playwright is not installed")
from services.label_studio_browser import (
    CHROMIUM,
    item_shown,
    open_labelling,
    press_and_submit,
    signed_in,
    skip,
)

pytestmark = [
    pytest.mark.services,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
]

# A no-break space, an emoji with joiners, the joiner of Persian, a soft hyphen, an ideographic space.
MATCH, NO_MATCH = "match\u00a0👨\u200d👩\u200d👧", "no\u200cma\u00adtch\u3000全"
NAMES = {"p1": ("caitlin", "kaitlin"), "p2": ("O'Neill & sons <b>", "o neill"), "p3": ("", "nobody")}


def test_nothing_that_an_item_shows_acts_in_the_browser(
    label_studio: LocalLabelStudio, label_studio_api: LabelStudioApi
):
    """Scripts, handlers and addresses that act, in text, HTML, pictures, column names and classes."""
    act = "window.attacked = (window.attacked || 0) + 1"
    attacks = [
        f"<script>{act}</script>", f"<img src=x onerror='{act}'>", f"<svg onload='{act}'></svg>",
        f"<a href='javascript:{act}'>x</a>", f"<iframe srcdoc='<script>parent.{act}</script>'></iframe>",
        f"<style>@import 'javascript:{act}'</style>", "{{constructor.constructor('" + act + "')()}}",
        f"<math><mtext><style><img src=x onerror='{act}'></style></mtext></math>",
        f'x" onerror="{act}', f"javascript:{act}", "$shown_text",
    ]
    evaluation = f"acts-{uuid4().hex[:8]}"
    display = ["text", "note_html", "image_url", f"<img src=x onerror='{act}'>"]
    desk = LabelStudioDesk(
        label_studio_api, evaluation=evaluation, answers=class_answers(f"<img src=x onerror='{act}'>", "no"),
        display=display,
    )
    desk.prepare()
    everything = " ".join(attacks)
    shown = dict.fromkeys(display, everything) | {"image_url": f'http://127.0.0.1:9/x.png" onerror="{act}'}
    items = [Item(item_id="one", shown=shown)]
    desk.post(Batch(evaluation=evaluation, round=1, items=items), items)
    (project,) = [p["id"] for p in label_studio_api.projects() if evaluation in p["title"]]
    with signed_in(label_studio) as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        open_labelling(page, label_studio, project)
        page.wait_for_selector(".assay-page")
        assert "window.attacked" in page.inner_text(".assay-page")     # as text
        page.wait_for_timeout(1000)
        assert page.evaluate("window.attacked") is None
        assert all(frame.evaluate("window.attacked") is None for frame in page.frames)
        assert dialogs == []


def test_a_record_pair_labelled_with_hotkeys_is_collected(
    label_studio: LocalLabelStudio, label_studio_api: LabelStudioApi
):
    evaluation = f"browser-{uuid4().hex[:8]}"
    desk = LabelStudioDesk(
        label_studio_api, evaluation=evaluation, answers=class_answers(MATCH, NO_MATCH),
        display=["name_a", "name_b"],
    )
    desk.prepare()
    items = [Item(item_id=one, shown={"name_a": a, "name_b": b}) for one, (a, b) in NAMES.items()]
    batch = Batch(evaluation=evaluation, round=1, items=items)
    desk.post(batch, items)
    (project,) = [p["id"] for p in label_studio_api.projects() if evaluation in p["title"]]
    whose = {right: one for one, (_, right) in NAMES.items()}

    given: dict[str, tuple[str, str | None]] = {}
    with signed_in(label_studio) as page:
        open_labelling(page, label_studio, project)
        for kind in (MATCH, NO_MATCH, "skip"):
            seen = item_shown(page, [right for right in whose if whose[right] not in given])
            text = page.inner_text(".assay-page")
            left, right = NAMES[whose[seen]]
            assert left in text          # both halves of the pair, markup and all, as text
            assert right in text
            if kind == "skip":
                skip(page)
                given[whose[seen]] = ("skip", None)
            else:
                press_and_submit(page, "1" if kind == MATCH else "2")
                given[whose[seen]] = ("label", kind)
        page.wait_for_timeout(1000)

    collected = desk.collect(batch)
    assert {one.item_id: (one.kind, one.label) for one in collected.annotations} == given
    assert len(given) == 3
