"""One reader of verdicts: what people are asked, and what is a gap, follows from what a scorer says."""

from collections import Counter

import pytest

from assay.tasks.connectors.responses.verdicts import good_end, reading_of, verdicts_of


def read(*values):
    return verdicts_of(Counter(map(reading_of, values)))


@pytest.mark.parametrize(("said", "labels", "first"), [
    ([True, False], {"classes": ["correct", "incorrect"]}, {"name": "rate", "class": "correct"}),
    ([0.0, 1.0], {"classes": ["correct", "incorrect"]}, {"name": "rate", "class": "correct"}),
    (["yes", "Fail", "TRUE"], {"classes": ["correct", "incorrect"]}, {"name": "rate", "class": "correct"}),
    ([True, "partial"], {"classes": ["correct", "incorrect", "partial"]},
     {"name": "rate", "class": "correct"}),
    (["C", "I", "P"], {"classes": ["correct", "incorrect", "partial"]}, {"name": "rate", "class": "correct"}),
    (["good", "bad"], {"classes": ["bad", "good"]}, {"name": "rate", "class": "good"}),
    (["good"], {"classes": ["good", "not good"]}, {"name": "rate", "class": "good"}),
    (["toxic"], {"classes": ["toxic", "not toxic"]}, {"name": "rate", "class": "not toxic"}),
    (["FLAGGED", "ok"], {"classes": ["FLAGGED", "ok"]}, {"name": "rate", "class": "ok"}),
    (["A", "B", "C"], {"classes": ["A", "B", "C"]}, {"name": "rate", "class": "A"}),
    ([2, 4, 5], {"grades": [1, 2, 3, 4, 5]}, "mean"),
    (["7/10", "2/10"], {"grades": [*range(1, 11)]}, "mean"),
    (["Rating: [[3]]", "**5**", "1"], {"grades": [1, 2, 3, 4, 5]}, "mean"),
    ([0.25, 0.5], {"number": {"min": 0, "max": 1}}, "mean"),
    (["70%", "5 %"], {"number": {"min": 0, "max": 1}}, "mean"),
    (["3/4", "7/10"], {"number": {"min": 0, "max": 1}}, "mean"),
    (["4/5 - good", "3/5 ok", "1"], {"grades": [1, 2, 3, 4, 5]}, "mean"),
    (["5 - strongly agree", "3 – neutral", "4. It says so", "Score: 2 (poor)"],
     {"grades": [1, 2, 3, 4, 5]}, "mean"),
    (["★★★☆☆", "★★★★★", "★☆☆☆☆"], {"grades": [1, 2, 3, 4, 5]}, "mean"),
    (["⭐⭐", "⭐⭐⭐⭐"], {"grades": [1, 2, 3, 4]}, "mean"),
    (["👍", "👎", "👍️"], {"classes": ["correct", "incorrect"]}, {"name": "rate", "class": "correct"}),
    (["### Score: 3", "The score is 4.", "It is good. Rating: [[5]]", "Feedback: ok. [RESULT] 2",
      "It is so.\n**Score: 1**", "good.\n<score>4</score>", "hence \\boxed{4}", "I give it 4/5"],
     {"grades": [1, 2, 3, 4, 5]}, "mean"),
    (["(A)", "(B)", "(C)", "B: better than A", "the reasons, then [[C]]"], {"classes": ["A", "B", "C"]},
     {"name": "rate", "class": "A"}),
    (["Good.", "good", '"good"', "bad!"], {"classes": ["bad", "good"]}, {"name": "rate", "class": "good"}),
    (["3.x", "2.x"], {"classes": ["2.x", "3.x"]}, {"name": "rate", "class": "2.x"}),
    (["3 apples", "2 pears"], {"classes": ["2 pears", "3 apples"]}, {"name": "rate", "class": "2 pears"}),
    (["C", "I", 0.5], {"number": {"min": 0, "max": 1}}, "mean"),
    ([-3.5, 120.0], {"number": {}}, "mean"),
    (["0,5", "1,25"], {"number": {}}, "mean"),
])
def test_the_labels_and_the_first_measure(said, labels, first):
    verdicts = read(*said)
    assert verdicts.scale.labels == labels
    assert verdicts.scale.measures[0] == first
    assert verdicts.scale.half_width > 0
    assert not verdicts.gaps
    assert len(verdicts.written) == len({reading_of(value) for value in said})


@pytest.mark.parametrize(("said", "labels", "gaps"), [
    ([1, 5, 3, "N/A"], {"grades": [1, 2, 3, 4, 5]}, {"N/A": 1}),
    ([1, 5, 3, "I'm sorry, I cannot grade this."], {"grades": [1, 2, 3, 4, 5]},
     {"I'm sorry, I cannot grade this.": 1}),
    ([0, 1, float("nan"), float("inf")], {"classes": ["correct", "incorrect"]}, {"nan": 1, "inf": 1}),
    (["yes", "no", "unknown"], {"classes": ["correct", "incorrect"]}, {"unknown": 1}),
    ([True, False, "the grader did not answer in the form"], {"classes": ["correct", "incorrect"]},
     {"the grader did not answer in the form": 1}),
    (["good", "bad", "good", 0.5], {"classes": ["bad", "good"]}, {"0.5": 1}),
    (["good", "bad", "good", 1], {"classes": ["bad", "good"]}, {"1.0": 1}),
    ([3, 4, 10**400], {"grades": [1, 2, 3, 4]}, {"inf": 1}),
])
def test_what_is_no_verdict_is_a_gap_that_is_counted(said, labels, gaps):
    verdicts = read(*said)
    assert verdicts.scale.labels == labels
    assert verdicts.gaps == gaps


def test_names_that_differ_by_capitals_spaces_or_code_points_alone_are_one():
    verdicts = read("Café", " café ", "Cafe\u0301", "Tea", "tea", "tea")
    assert verdicts.scale.labels == {"classes": ["Café", "tea"]}


def test_where_no_word_is_good_the_share_of_each_is_measured_and_said():
    scale = read("red", "blue").scale
    assert scale.measures == ({"name": "rate", "class": "blue"}, {"name": "rate", "class": "red"})
    assert "No word says which of them is good" in scale.asks


@pytest.mark.parametrize(("names", "good"), [
    (["FAIL", "Accept"], "Accept"), (["not helpful", "helpful"], "helpful"), (["good", "excellent"], None),
    (["hallucinated", "factual"], "factual"), (["bad", "worse"], None), (["safe", "unsafe"], "safe"),
])
def test_the_good_end_follows_from_words(names, good):
    assert good_end(names) == good


def test_too_many_names_are_no_scale_but_rare_ones_are_gaps():
    assert read(*(f"name {i}" for i in range(30))).scale is None
    assert verdicts_of(Counter()).scale is None
    verdicts = read(*["good", "bad"] * 60, *(f"name {i}" for i in range(30)))
    assert verdicts.scale.labels == {"classes": ["bad", "good"]}
    assert sum(verdicts.gaps.values()) == 30


def test_numbers_with_leading_zeros_are_names():
    assert reading_of("007").kind == "name"
    assert reading_of("1,234").kind == "name"      # thousands, or a decimal comma: nobody knows


@pytest.mark.parametrize(("name", "values", "classes"), [
    ("hallucination", [0, 1], ["hallucination", "not hallucination"]),
    ("Toxicity", ["yes", "no"], ["Toxicity", "not Toxicity"]),
    ("is_biased", [True, False], ["is_biased", "not is_biased"]),
    ("hallucination", ["pass", "fail"], ["correct", "incorrect"]),
    ("no_harm", [0, 1], ["correct", "incorrect"]), ("correctness", [0, 1], ["correct", "incorrect"]),
])
def test_yes_to_a_bad_name_is_nothing_correct(name, values, classes):
    verdicts = verdicts_of(Counter(map(reading_of, values)), name)
    assert verdicts.scale.labels == {"classes": classes}
    [good] = [one["class"] for one in verdicts.scale.measures]
    assert good == ("correct" if "correct" in classes else f"not {name}")
    assert verdicts.written[reading_of(values[1 if values[0] == 0 else 0])] == classes[0]


@pytest.mark.parametrize(("written", "kind", "value"), [
    ("4\n\nThe answer is good", "number", 4.0), ("It is fine.\nScore: 4/5", "number", 4.0),
    ("Fail: it says nothing", "mark", False), ("PASS - good", "mark", True), ("Correct!", "mark", True),
    ("No, it is not", "truth", False), ("<score>4</score>", "number", 4.0), (r"\boxed{7}", "number", 7.0),
    ("I cannot say", "gap", "I cannot say"), ("I'm sorry", "gap", "I'm sorry"), ("n.a.", "gap", "n.a."),
    ("N/A - no answer", "gap", "N/A - no answer"), ("Answer: B", "name", "B"), ("[[A]]", "name", "A"),
    ("Correct, but too long", "name", "Correct, but too long"), ("No bias", "name", "No bias"),
])
def test_a_verdict_with_its_reasons_is_the_verdict(written, kind, value):
    reading = reading_of(written)
    assert (reading.kind, reading.value) == (kind, value)
