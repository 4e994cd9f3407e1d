"""What holds for any answers at all, and agreement with a slow, obvious version."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from assay.evalcore.annotators.adjudication import adjudicate


@dataclass(frozen=True)
class Given:
    item_id: str
    annotation_id: str
    annotator: str
    kind: str
    label: str | None
    updated_at: str


CLASSES = ("p", "q", "r")


@st.composite
def histories(draw):
    """Answers of up to six people about three items, each at a time of its own."""
    size = draw(st.integers(0, 25))
    answers = []
    for second in draw(st.permutations(range(size))):
        kind = draw(st.sampled_from(["label", "label", "skip", "invalid"]))
        answers.append(Given(
            item_id=draw(st.sampled_from("xyz")),
            annotation_id=f"n{second}",
            annotator=draw(st.sampled_from("abcdef")),
            kind=kind,
            label=draw(st.sampled_from(CLASSES)) if kind == "label" else None,
            updated_at=f"2026-01-01T00:00:{second:02d}Z",
        ))
    return answers


def slow(item, answers, k, present):
    """Status and label, from the text of the rules."""
    last = {}
    for answer in sorted((a for a in answers if a.item_id == item), key=lambda a: a.updated_at):
        last[answer.annotator] = answer
    votes = [a.label for a in last.values() if a.kind == "label"]
    tops = sorted(CLASSES, key=votes.count, reverse=True)
    if len(votes) >= k:
        if votes.count(tops[0]) > votes.count(tops[1]):
            return "labelled", tops[0]
        return ("waiting" if present else "absent"), None
    if sum(a.kind == "skip" for a in last.values()) >= k:
        return "skipped", None
    if sum(a.kind == "invalid" for a in last.values()) >= k:
        return "invalid", None
    return ("waiting" if present else "absent"), None


@given(histories(), st.integers(1, 4), st.sets(st.sampled_from("xyz")))
def test_it_agrees_with_the_obvious_version(answers, k, present):
    got = adjudicate("xyz", answers, annotators=k, present=present)
    assert {item: (o.status, o.label) for item, o in got.items()} == {
        item: slow(item, answers, k, item in present) for item in "xyz"
    }


@given(histories(), st.integers(1, 4), st.randoms())
def test_the_order_of_the_answers_does_not_matter(answers, k, random):
    shuffled = list(answers)
    random.shuffle(shuffled)
    assert adjudicate("xyz", answers, annotators=k) == adjudicate("xyz", shuffled, annotators=k)


@given(histories(), st.integers(1, 4))
def test_reading_the_same_answers_twice_changes_nothing(answers, k):
    assert adjudicate("xyz", answers, annotators=k) == adjudicate("xyz", [*answers, *answers], annotators=k)


@given(histories(), st.integers(1, 4))
def test_whoever_is_missing_can_always_settle_it(answers, k):
    # give every waiting item the votes it needs, all for one class, by people who said nothing yet
    outcomes = adjudicate("xyz", answers, annotators=k)
    more = [
        Given(item, f"new{number}", f"new{number}", "label", "p", "2026-01-02T00:00:00Z")
        for item, outcome in outcomes.items() for number in range(outcome.needs)
    ]
    after = adjudicate("xyz", [*answers, *more], annotators=k)
    for item, outcome in outcomes.items():
        if outcome.status == "waiting" and outcome.votes and set(outcome.votes) <= {"p"}:
            assert after[item].label == "p"
        assert sum(after[item].votes.values()) >= k or outcome.needs == 0
        assert outcome.people >= k or outcome.status in ("skipped", "invalid")
