"""The labelling page as XML, from names and classes people may have called anything."""

import re
from xml.etree import ElementTree

import pytest

from assay.evalcore.annotators.answers import class_answers
from assay.tasks.desks.label_studio.page.config import as_on_page, labelling_config
from assay.tasks.desks.label_studio.page.controls import Control, from_page, hotkeys
from assay.tasks.desks.label_studio.page.fields import (
    paired_lines,
    shown_fields,
    shown_value,
    shown_values,
    still_shows,
)

PIXEL = "data:image/png;base64,iVBORw0KGgo="
NASTY = ['Say "hi" & <b>\'x\'</b>', "$price_a", "]]>", "<!-- -->", "två 漢", "a\x00b\nc"]
# Characters that str.isprintable denies, in names people write: no-break space, the joiners of Persian and of
# emoji, soft hyphen, ideographic space, and signs newer than Python's table of them.
UNPRINTABLE = ["10\u00a0kg", "نمی\u200cخواهم", "👨\u200d👩\u200d👧", "Schiff\u00adfahrt", "全\u3000角",
               "\u00a0edge\u00a0", "\ue000", "\U0001fae9\U0003fffd"]


def page(display, classes=("yes", "no"), question=None, **options):
    control = Control(class_answers(*classes))
    fields = shown_fields(display, **options)
    return ElementTree.fromstring(labelling_config(fields, control, question))


@pytest.mark.parametrize("name", NASTY)
def test_any_field_and_any_class_makes_well_formed_xml(name):
    tree = page([name, "other"], [name, "no"])
    assert len(tree.findall(".//Text")) == 2
    assert len(page([name], question=name).findall(".//Text")) == 1
    written = tree.findall(".//Choice")[0].get("value")
    assert from_page(written) == name.replace("\x00", "")


@pytest.mark.parametrize("name", UNPRINTABLE)
def test_the_page_offers_the_class_that_the_spec_names(name):
    tree = page([name], [name, "no"])
    assert from_page(tree.findall(".//Choice")[0].get("value")) == name
    assert tree.findall(".//Header")[0].get("value").split() == name.split()


def test_no_word_of_ours_is_a_template_of_label_studio():
    # Label Studio replaces $word by a value of the item; only the fields' own keys may be such words.
    text = labelling_config(shown_fields(["$price_a", "cost $x"]), Control(class_answers("$y", "no")))
    assert set(re.findall(r"\$[\w\[\].{}]+", text)) == {"$shown__price_a", "$shown_cost__x"}


def test_every_class_has_a_choice_and_a_hotkey_in_the_order_given():
    choices = page(["t"], ["match", "no match"]).findall(".//Choice")
    assert [(c.get("value"), c.get("hotkey")) for c in choices] == [
        ("match", "1"), ("no match", "2"), ("can't tell", "c"),
    ]


def test_many_classes_have_buttons_the_first_with_keys_and_too_many_are_a_list():
    buttons, listed = (page(["t"], [f"c{number}" for number in range(n)]) for n in (60, 61))
    keys = [choice.get("hotkey") for choice in buttons.findall(".//Choice")]
    assert keys == [*"1234567890qtasdfgzxynjl", *[None] * 37, "c"]
    assert [one.find(".//Choices").get("layout") for one in (buttons, listed)] == [None, "select"]
    inside, apart = listed.findall(".//Choices")
    assert len(inside.findall("Choice")) == 61
    assert {choice.get("hotkey") for choice in inside} == {None}
    assert [choice.get("hotkey") for choice in apart] == ["c"]
    assert (inside.get("visibleWhen"), inside.get("whenTagName")) == ("choice-unselected", apart.get("name"))


@pytest.mark.parametrize(("names", "keys"), [
    (["1", "2", "3", "4", "5"], "12345"), (["0", "1", "2"], "012"), (["1", "0"], "10"),
    (["-1", "0", "1"], "q01"), ([f"{n}" for n in range(1, 11)], "123456789q"), (["A", "B", "tie"], "123"),
])
def test_a_class_that_is_a_digit_has_that_digit_as_its_key(names, keys):
    assert hotkeys(names) == list(keys)


def test_a_class_called_as_ours_is_told_apart_from_it():
    values = [c.get("value") for c in page(["t"], ["yes", "Can't tell"]).findall(".//Choice")]
    assert values == ["yes", "Can't tell", "cannot be decided"]


def test_the_question_stands_on_the_page_and_there_is_always_one():
    tree = page(["t"], question="Is it $pam?")
    (asked,) = [one for one in tree.iter("View") if one.get("className") == "assay-question"]
    assert from_page(asked.find("Header").get("value")) == "Is it $pam?"
    (usual,) = [one for one in page(["t"]).iter("View") if one.get("className") == "assay-question"]
    assert usual.find("Header").get("value").startswith("Which is it: ")


def test_the_control_reads_one_required_choice_of_the_first_field():
    control = page(["t", "u"]).find(".//Choices")
    assert {name: control.get(name) for name in ("name", "toName", "choice", "required")} == {
        "name": "label", "toName": "shown_t", "choice": "single-radio", "required": "true"
    }


@pytest.mark.parametrize(("display", "rows"), [
    (["name_a", "name_b"], [("name", "name_a", "name_b")]),
    (["left_name", "right_name"], [("name", "left_name", "right_name")]),
    (["name_left", "name_right"], [("name", "name_left", "name_right")]),
    (["name_1", "name_2"], [("name", "name_1", "name_2")]),
    (["name_b", "name_a"], [("name", "name_a", "name_b")]),            # A is left, whatever came first
    (["name_a", "city"], [("name a", "name_a", None), ("city", "city", None)]),   # no other half
    (["name_a", "city", "name_b"], [("name", "name_a", "name_b"), ("city", "city", None)]),
    (["_a", "_b"], [("a", "_a", None), ("b", "_b", None)]),            # nothing is shared
])
def test_record_pairs_are_found_by_their_names(display, rows):
    found = paired_lines(shown_fields(display))
    assert [(r.title, r.left.name, r.right.name if r.right else None) for r in found] == rows


def test_pairs_stand_in_two_columns_under_a_and_b():
    tree = page(["name_a", "name_b", "city"])
    item, answer = tree.findall("./View")
    assert [one.get("className") for one in (item, answer)] == ["assay-item", "assay-answer"]
    lines = item.findall("./View")
    kinds = [line.get("className") for line in lines]
    assert kinds == ["assay-two assay-heads", "assay-two", "assay-one"]
    assert [head.get("value") for head in lines[0].iter("Header")] == ["underlined: differs", "A", "B"]
    assert [text.get("name") for text in lines[1].iter("HyperText")] == ["shown_name_a", "shown_name_b"]
    assert [text.get("name") for text in lines[2].iter("Text")] == ["shown_city"]
    assert answer.find("./View/Choices") is not None


def test_names_that_differ_only_in_signs_keep_their_own_values():
    keys = [field.key for field in shown_fields(["a b", "a.b", "a_b", "漢", "字"])]
    assert len(set(keys)) == 5
    assert all(re.fullmatch(r"\w+", key, re.ASCII) for key in keys)


@pytest.mark.parametrize(("name", "values", "kind"), [
    ("photo", [], "image"), ("product_image_url", [], "image"), ("imagery", [], "text"),
    ("page_html", [], "html"), ("HTML", [], "html"), ("t", ["<b>x</b>"], "text"),
    ("t", ["https://x.org/a.png", "http://x.org/b.jpeg?w=3"], "image"),
    ("t", ["https://x.org/a.png", ""], "image"), ("t", ["https://x.org/a.png", "none"], "text"),
    ("t", ["https://x.org/a.html"], "text"), ("t", ["", ""], "text"), ("t", ["x.png"], "text"),
])
def test_the_kind_of_a_field_is_seen_in_its_name_or_in_all_of_its_values(name, values, kind):
    (field,) = shown_fields([name], sample=[{name: value} for value in values])
    assert field.kind == kind


def test_what_the_spec_says_comes_first():
    fields = shown_fields(["photo", "body"], {"photo": "text", "body": "html"})
    assert [field.kind for field in fields] == ["text", "html"]


def test_what_a_field_is_shown_as_is_read_from_the_page_again():
    """People may have edited the page, and another process may not have seen the first batch."""
    display = ["name_a", "name_b", "photo", "inline", "body_html", "city", "x_a", "x_b"]
    sample = [{"photo": "https://x.org/1.png", "inline": PIXEL} | dict.fromkeys(("x_a", "x_b"), "http://x/1.png")]
    seen = shown_fields(display, {"inline": "image"}, sample)
    kinds = ["compared", "compared", "image", "embedded", "html", "text", "image", "image"]
    assert [field.kind for field in seen] == kinds
    written = labelling_config(seen, Control(class_answers("yes", "no")))
    guessed = shown_fields(display, {"inline": "image"})
    assert [as_on_page(field, written).kind for field in guessed] == kinds
    plain = written.replace("HyperText", "Text").replace("<Image", "<Text")
    assert {as_on_page(field, plain).kind for field in guessed} == {"text"}


def test_markdown_is_shown_where_the_spec_says_so():
    (field,) = shown_fields(["answer"], {"answer": "markdown"})
    written = labelling_config([field], Control(class_answers("yes", "no")))
    assert "<HyperText" in written
    assert as_on_page(field, written).kind == "markdown"
    value = shown_value(field, "**b**")
    assert value.strip() == "<p><strong>b</strong></p>"
    assert still_shows(value, "**b**")
    assert not still_shows(value, "**c**")


def test_the_words_that_differ_are_marked_in_both_halves_of_a_pair():
    fields = shown_fields(["name_b", "city", "name_a"])
    shown = {"name_a": "O'Neill & <b>", "name_b": "ONeill & <b>", "city": "<i>"}
    assert shown_values(fields, shown) == {
        "shown_name_a": "<mark>O&#x27;Neill</mark> &amp; &lt;b&gt;",
        "shown_name_b": "<mark>ONeill</mark> &amp; &lt;b&gt;", "shown_city": "<i>",
    }
    for field in fields:
        assert still_shows(shown_values(fields, shown)[field.key], shown[field.name])
        assert not still_shows(shown_values(fields, shown)[field.key] + "s", shown[field.name])


def test_pictures_are_shown_as_pictures_and_other_values_as_the_text_they_are():
    (field,) = shown_fields(["photo"])
    assert shown_value(field, " https://x.org/a?b=1&c ") == (
        '<img src="https://x.org/a?b=1&amp;c" style="max-width: 100%">'
    )
    assert shown_value(field, "javascript:alert(1)") == "javascript:alert(1)"
    assert shown_value(field, '<img src=x onerror="alert(1)">').startswith("&lt;img")
    assert shown_value(field, 'https://x.org/"><script>') == "https://x.org/&quot;&gt;&lt;script&gt;"


def test_a_picture_in_the_value_itself_is_uploaded_as_it_is_and_anything_else_as_no_picture():
    (field,) = shown_fields(["photo"], sample=[{"photo": f" {PIXEL}\n"}])
    assert field.kind == "embedded"
    assert shown_value(field, f" {PIXEL}\n") == PIXEL
    for value in ("", "a cat", f'{PIXEL}" onerror="alert(1)', "data:text/html;base64,AAAA", "javascript:x"):
        assert shown_value(field, value).startswith("data:image/gif;base64,R0lGODlhAQAB")
        assert still_shows(shown_value(field, value), value)
