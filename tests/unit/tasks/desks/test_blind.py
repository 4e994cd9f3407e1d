"""Comparing two answers blind: what a desk is shown, and what its answers mean."""

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.answers import class_answers
from assay.tasks.desks.blind import BlindPair
from assay.tasks.desks.desk import Item
from assay.tasks.desks.kind import Labelling

TWO = BlindPair(answers=("old", "new"), seed=3, evaluation="e")
IDS = [f"item-{i}" for i in range(200)]


def test_the_order_is_drawn_for_each_item_and_stays():
    first = [TWO.order(one)[0] for one in IDS]
    assert first == [BlindPair(answers=("old", "new"), seed=3, evaluation="e").order(one)[0] for one in IDS]
    # of 200 fair draws, four standard deviations are 28
    assert 72 <= first.count("old") <= 128
    assert first != [BlindPair(answers=("old", "new"), seed=4, evaluation="e").order(one)[0] for one in IDS]


def test_nothing_that_is_shown_names_an_answer_and_what_is_said_is_turned_back():
    for one in IDS[:20]:
        shown = TWO.shown(Item(item_id=one, shown={"old": "text 1", "prompt": "?", "new": "text 2"})).shown
        assert {*shown} == {"prompt", "answer_a", "answer_b"}
        for side in "AB":
            preferred = "old" if shown[f"answer_{side.lower()}"] == "text 1" else "new"
            said = Annotation(item_id=one, annotation_id="1", annotator="p", kind="label", label=side,
                              updated_at="", raw={"line": 2})
            meant = TWO.with_answer_names(said)
            assert meant.label == preferred
            assert meant.raw == {"line": 2, "said": side, "answer_a": TWO.order(one)[0]}
            assert TWO.side(one, preferred) == side
        for label, kind in (("tie", "label"), (None, "skip")):
            same = Annotation(
                item_id=one, annotation_id="1", annotator="p", kind=kind, label=label, updated_at=""
            )
            assert TWO.with_answer_names(same).label == label


def test_a_desk_is_opened_for_sides():
    asked = Labelling(
        evaluation="e", answers=class_answers("old", "new", "tie"), two_answers=("old", "new"), seed=3,
        display=("old", "prompt", "new"), show_as={"old": "html", "prompt": "image"}, id_column="id",
    )
    blind = asked.blind
    assert blind.answers.choices == ("A", "B", "tie")
    assert list(blind.display) == ["prompt", "answer_a", "answer_b"]
    assert blind.show_as == {"prompt": "image", "answer_a": "html", "answer_b": "html"}
    assert blind.pair is None
