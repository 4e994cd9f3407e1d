"""Names of classes: every desk can show them and give them back, and people can tell them apart."""

import pytest
from pydantic import ValidationError

from assay.tasks.spec.question import Labels


@pytest.mark.parametrize("name", [
    "10\u00a0kg", "نمی\u200cخواهم", "👨\u200d👩\u200d👧", "Schiff\u00adfahrt", "全\u3000角", "$x", "<b>",
])
def test_a_name_with_unprintable_signs_of_ordinary_writing_stays_as_it_is(name):
    assert Labels(positive=name, negative="no").positive == name


@pytest.mark.parametrize(("name", "what"), [
    ("a\x00b", "a control character (U+0000)"), ("a\nb", "a control character (U+000A)"),
    ("a\tb", "a control character (U+0009)"), ("a\x85b", "a control character (U+0085)"),
    ("a\u2028b", "a line separator (U+2028)"), ("a\u2029b", "a paragraph separator (U+2029)"),
    ("a\uffffb", "a code point that is no character (U+FFFF)"),
    ("a\ufffeb", "a code point that is no character (U+FFFE)"),
])
def test_a_name_that_no_desk_can_show_is_refused(name, what):
    with pytest.raises(ValidationError, match="no desk can show") as caught:
        Labels(positive="yes", negative=name)
    assert what in str(caught.value)


@pytest.mark.parametrize("other", ["ma\u00adtch", "match\u200b", "\u00a0match", "match "])
def test_two_names_that_look_the_same_are_refused(other):
    with pytest.raises(ValidationError, match="look the same"):
        Labels(positive="match", negative=other)
