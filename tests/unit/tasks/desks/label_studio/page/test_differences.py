"""The words that differ between two texts, marked."""

import re
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.desks.label_studio.page.fields import marked, unmarked

LONG = "The committee met on the fourth floor and nobody agreed on the second figure of the report."


@pytest.mark.parametrize(("left", "right", "shown"), [
    ("caitlin", "kaitlin", ("<mark>caitlin</mark>", "<mark>kaitlin</mark>")),
    ("12 elizabeth crescent flat 4", "12 elizabet crescent",
     ("12 <mark>elizabeth</mark> crescent <mark>flat 4</mark>", "12 <mark>elizabet</mark> crescent")),
    ("same  words", "same\nwords", ("same  words", "same\nwords")),        # white space is not compared
    ("1.99 EUR", "1.98 EUR", ("<mark>1.99</mark> EUR", "<mark>1.98</mark> EUR")),
    ("a b", "a, b", ("a b", "a<mark>,</mark> b")),
    ("東京都", "東京市", ("東京<mark>都</mark>", "東京<mark>市</mark>")),
    ("", "kim", ("", "kim")),                                              # nothing to compare with
])
def test_words_of_one_that_the_other_lacks_are_marked(left, right, shown):
    assert marked(left, right) == shown


def test_long_texts_with_little_in_common_have_no_marks():
    other = "It was cold outside, so they stayed until the morning came and then walked home by the river."
    assert marked(LONG, other) == (LONG, other)
    assert "<mark>fourth</mark>" in marked(LONG, LONG.replace("fourth", "fifth"))[0]


def test_texts_too_long_to_compare_by_words_at_once_are_compared_by_sentences():
    text = " ".join(f"{LONG} Number {n}." for n in range(400))
    begun = perf_counter()
    left, right = marked(text, text.replace("Number 217", "Section 217"))
    assert perf_counter() - begun < 5   # 0.1 s
    assert re.findall("<mark>.*?</mark>", left + right) == ["<mark>Number</mark>", "<mark>Section</mark>"]


@pytest.mark.parametrize("word", ["a ", "! ", "a. ", "<mark>", "漢"])
def test_no_text_makes_it_slow(word):
    begun = perf_counter()
    marked(word * 40_000, (word * 40_000)[::-1] + "c")
    assert perf_counter() - begun < 5   # 0.2 s


@given(st.text(max_size=80), st.text(max_size=80))
def test_marks_are_the_only_markup_and_the_text_is_all_there(left, right):
    for text, html in zip((left, right), marked(left, right), strict=True):
        assert set(re.findall("<[^>]*>?", html)) <= {"<mark>", "</mark>"}
        assert unmarked(html) == text
