"""What a look makes of an item, row by row of the table in the module's text."""

from dataclasses import replace

import pytest

from assay.evalcore.annotators.adjudication import AnswerTally
from assay.flows.revisions import relabelled
from assay.tasks.ledger.closed_round import Decided

BEFORE = Decided(item_id="x", cell=0, rank=0, label=1, reason=None, annotations=("a",), askings=1, share=1.0)
UNDECIDED = replace(BEFORE, label=None, reason="unanswered", annotations=("b",), share=None)


def tally(status, skips=0, invalid=0, **votes):
    return AnswerTally(status=status, label=None, votes=votes, skips=skips, invalid=invalid, needs=0)


@pytest.mark.parametrize("on_desk", [True, False])
def test_a_class_with_more_votes_than_any_other_is_the_label_wherever_the_item_is(on_desk):
    fresh = replace(BEFORE, label=0, annotations=("b",), share=0.0)
    assert relabelled(BEFORE, fresh, tally("labelled", no=1), on_desk=on_desk) == fresh


@pytest.mark.parametrize("on_desk", [True, False])
def test_what_everybody_skips_now_is_undecided(on_desk):
    got = relabelled(BEFORE, UNDECIDED, tally("skipped", skips=1), on_desk=on_desk)
    assert got == replace(UNDECIDED, reason="skipped")


def test_an_answer_taken_back_is_withdrawn_where_the_item_is_on_the_desk_and_had_a_label():
    silent = tally("waiting")
    assert relabelled(BEFORE, UNDECIDED, silent, on_desk=True) == replace(UNDECIDED, reason="withdrawn")
    assert relabelled(BEFORE, UNDECIDED, silent, on_desk=False) == BEFORE
    unanswered = replace(BEFORE, label=None, reason="unanswered", share=None)
    assert relabelled(unanswered, UNDECIDED, silent, on_desk=True) == unanswered


def test_a_tie_or_an_answer_that_is_no_class_leaves_an_item_as_it_was():
    assert relabelled(BEFORE, UNDECIDED, tally("waiting", yes=1, no=1), on_desk=True) == BEFORE
    assert relabelled(BEFORE, UNDECIDED, tally("invalid", invalid=1), on_desk=True) == BEFORE


def test_an_old_answer_to_a_withdrawn_item_that_is_gone_does_not_count_again():
    withdrawn = replace(BEFORE, label=None, reason="withdrawn", share=None)
    fresh = replace(BEFORE, annotations=("b",))
    assert relabelled(withdrawn, fresh, tally("labelled", yes=1), on_desk=False) == withdrawn
    assert relabelled(withdrawn, fresh, tally("labelled", yes=1), on_desk=True) == fresh
