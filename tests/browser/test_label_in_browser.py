"""A person labels in a real browser, with the keyboard, on the page we generated; the desk sees it."""

import os
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from doubles.desks import label_studio_desk
from PIL import Image
from services.s3 import S3Server

from assay.evalcore.annotators.answers import class_answers
from assay.tasks.desks.desk import Batch, Item
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.desk import LabelStudioDesk
from assay.tasks.desks.label_studio.local import LocalLabelStudio
from assay.tasks.spec.labels.questions import QuestionList

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import Page
from services.label_studio_browser import (
    CHROMIUM,
    item_shown,
    open_labelling,
    out_of_sight,
    press_and_submit,
    signed_in,
)

pytestmark = [
    pytest.mark.services,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
]

# A no-break space, an emoji with joiners, the joiner of Persian, a soft hyphen, an ideographic space.
MATCH, NO_MATCH = "match\u00a0👨\u200d👩\u200d👧", "no\u200cma\u00adtch\u3000全"
NAMES = [("caitlin", "kaitlin"), ("O'Neill & sons <b>", "o neill"), ("", "nobody")]


@pytest.fixture(scope="module")
def page(label_studio: LocalLabelStudio) -> Iterator[Page]:
    """One browser for all tests of this file: signing in takes seconds."""
    with signed_in(label_studio) as page:
        yield page


def posted(
    api: LabelStudioApi, evaluation: str, display: list[str], shown: list[dict[str, str]], **options: Any
) -> tuple[LabelStudioDesk, Batch, int]:
    """A desk with the items, whose ids are their places, and its project."""
    answers = options.pop("answers", class_answers("yes", "no"))
    desk = label_studio_desk(api, evaluation=evaluation, answers=answers, display=display, **options)
    desk.prepare()
    items = [Item(item_id=str(place), shown=one) for place, one in enumerate(shown)]
    batch = Batch(evaluation=evaluation, round=1, items=items)
    desk.post(batch, items)
    (project,) = [p["id"] for p in api.projects() if evaluation in p["title"]]
    return desk, batch, project


def test_the_answers_are_in_sight_however_long_the_item_and_keys_give_them(
    page: Page, label_studio: LocalLabelStudio, label_studio_api: LabelStudioApi
):
    sentence = "The committee met again and nobody agreed. "
    text = "\n\n".join(f"Paragraph {n}. {sentence * 4}" for n in range(80))
    evaluation = f"long-{uuid4().hex[:8]}"
    desk, batch, project = posted(
        label_studio_api, evaluation, ["answer_a", "answer_b"],
        [{"answer_a": text, "answer_b": text.replace("Paragraph 7.", "Section 7.")}] * 2,
        answers=class_answers("A", "B", "tie"), question="Which answer is better?",
        guidelines="Be strict.\n<b>",
    )
    open_labelling(page, label_studio, project)
    item_shown(page, ["Paragraph 0."])
    assert page.inner_text(".lsf-modal-ls__body").split() == ["Be", "strict.", "<b>"]   # the guidelines
    page.keyboard.press("Escape")
    page.wait_for_selector(".lsf-modal-ls__body", state="detached")
    for width, height in ((1920, 1080), (480, 800), (1366, 768)):
        page.set_viewport_size({"width": width, "height": height})
        for edge in (True, False):                       # the beginning and the end of the item
            page.locator(".assay-item").evaluate("(item, top) => item.scrollIntoView(top)", edge)
            page.wait_for_timeout(200)
            assert out_of_sight(page) == [], (width, height, edge)
        assert page.locator(".lsf-sidepanels__wrapper:visible").count() == 0     # no panels of regions
    marks = page.locator(".assay-compared mark")
    assert marks.all_inner_texts() == ["Paragraph", "Section"]
    assert "underline" in marks.first.evaluate("mark => getComputedStyle(mark).textDecorationLine")
    columns = [page.locator(".assay-compared").nth(n).bounding_box() for n in (0, 1)]
    assert columns[0]["y"] == columns[1]["y"]
    assert columns[0]["x"] + columns[0]["width"] <= columns[1]["x"]
    for key in ("3", "c"):
        press_and_submit(page, key)
        page.wait_for_timeout(1000)
    said = sorted((one.kind, one.label) for one in desk.collect(batch).annotations)
    assert said == [("label", "tie"), ("skip", None)]


@pytest.fixture
def pictures(tmp_path: Path, s3: S3Server) -> Iterator[dict[str, str]]:
    """One picture, larger than the window, in each way in which a browser may get it."""
    Image.new("RGB", (3000, 2000), "teal").save(tmp_path / "large one.png")
    blob = (tmp_path / "large one.png").read_bytes()
    key = f"pictures/{uuid4().hex}.png"
    s3.client().put_object(Bucket=s3.bucket, Key=key, Body=blob, ContentType="image/png")
    serve = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {
            "a_folder": f"http://127.0.0.1:{server.server_port}/large%20one.png",
            "s3": s3.client().generate_presigned_url("get_object", {"Bucket": s3.bucket, "Key": key}),
            "itself": f"data:image/png;base64,{b64encode(blob).decode()}",
        }
        server.shutdown()


def test_pictures_are_shown_and_fitted_from_a_folder_from_s3_and_in_the_value_itself(
    page: Page, label_studio: LocalLabelStudio, label_studio_api: LabelStudioApi, pictures: dict[str, str]
):
    desk, batch, project = posted(
        label_studio_api, f"pictures-{uuid4().hex[:8]}", list(pictures), [pictures],
        show_as=dict.fromkeys(pictures, "image"),
    )
    assert desk.missing(batch) == []      # Label Studio changed nothing of what is shown
    page.set_viewport_size({"width": 1366, "height": 768})
    open_labelling(page, label_studio, project)
    page.wait_for_function(
        "n => n === [...document.querySelectorAll('.assay-item img')]"
        ".filter(picture => picture.naturalWidth === 3000).length", arg=len(pictures),
    )
    for place in range(len(pictures)):
        box = page.locator(".assay-item img").nth(place).bounding_box()
        assert 100 < box["height"] <= 768 - 300 + 1
        assert abs(box["width"] / box["height"] - 1.5) < 0.02
    assert out_of_sight(page) == []


def test_nothing_that_an_item_shows_acts_in_the_browser(
    page: Page, label_studio: LocalLabelStudio, label_studio_api: LabelStudioApi
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
    display = ["text", "note_html", "image_url", f"<img src=x onerror='{act}'>", "word_a", "word_b"]
    desk = label_studio_desk(
        label_studio_api, evaluation=evaluation, answers=class_answers(f"<img src=x onerror='{act}'>", "no"),
        display=display, question=attacks[0], guidelines="\n".join(attacks),
    )
    desk.prepare()
    everything = " ".join(attacks)
    shown = dict.fromkeys(display, everything) | {
        "image_url": f'http://127.0.0.1:9/x.png" onerror="{act}', "word_b": everything.replace("'", "' "),
    }
    items = [Item(item_id="one", shown=shown)]
    desk.post(Batch(evaluation=evaluation, round=1, items=items), items)
    (project,) = [p["id"] for p in label_studio_api.projects() if evaluation in p["title"]]
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
    page: Page, label_studio: LocalLabelStudio, label_studio_api: LabelStudioApi
):
    desk, batch, project = posted(
        label_studio_api, f"browser-{uuid4().hex[:8]}", ["name_a", "name_b"],
        [{"name_a": a, "name_b": b} for a, b in NAMES], answers=class_answers(MATCH, NO_MATCH),
    )
    whose = {right: str(place) for place, (_, right) in enumerate(NAMES)}

    given: dict[str, tuple[str, str | None]] = {}
    open_labelling(page, label_studio, project)
    for key, means in {"1": ("label", MATCH), "2": ("label", NO_MATCH), "c": ("skip", None)}.items():
        seen = item_shown(page, [right for right in whose if whose[right] not in given])
        text = page.inner_text(".assay-page")
        left, right = NAMES[int(whose[seen])]
        assert left in text          # both halves of the pair, markup and all, as text
        assert right in text
        press_and_submit(page, key)
        given[whose[seen]] = means
    page.wait_for_timeout(1000)

    collected = desk.collect(batch)
    assert {one.item_id: (one.kind, one.label) for one in collected.annotations} == given
    assert len(given) == 3


def test_three_questions_are_answered_on_one_page(
    page: Page, label_studio: LocalLabelStudio, label_studio_api: LabelStudioApi
):
    """A grade, a number and yes or no: all in sight with the item; one that cannot be told is left out."""
    asked = QuestionList.model_validate({"questions": [
        {"name": "coherence", "question": "How coherent is it?", "grades": [1, 2, 3, 4, 5]},
        {"name": "length", "number": {"min": 0, "max": 100}},
        {"name": "faithful", "question": "Is it faithful?", "positive": "yes", "negative": "no"},
    ]})
    text = "\n\n".join(f"Paragraph {n}. The committee met again and nobody agreed." for n in range(60))
    desk, batch, project = posted(
        label_studio_api, f"questions-{uuid4().hex[:8]}", ["summary"], [{"summary": text}] * 3,
        answers=asked.answers,
    )
    page.set_viewport_size({"width": 1366, "height": 900})
    for chosen in (["4", "12", "yes"], ["2", "", "can't tell"], ["can't tell", "can't tell", "can't tell"]):
        open_labelling(page, label_studio, project)
        item_shown(page, ["Paragraph 0."])
        if os.environ.get("ASSAY_SCREENSHOT"):
            page.screenshot(path=os.environ["ASSAY_SCREENSHOT"])
        assert out_of_sight(page) == []
        assert "Is it faithful?" in page.inner_text(".assay-answer")
        blocks = page.locator(".assay-asked")
        for place, answer in enumerate(chosen):
            block = blocks.nth(place)
            if answer.isdigit() and place == 1:
                block.locator("input[type=number]").fill(answer)
            elif answer:
                block.locator("label", has_text=answer).first.click()
        submit = page.locator("[data-testid=bottombar-submit-button]:not([disabled])")
        submit.click()
        page.wait_for_timeout(1500)
    said = sorted((one.kind, one.label or "") for one in desk.collect(batch).annotations)
    assert said == [
        ("label", '{"coherence": "2"}'),
        ("label", '{"coherence": "4", "length": "12.0", "faithful": "yes"}'), ("skip", ""),
    ]
