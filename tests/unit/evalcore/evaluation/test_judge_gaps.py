"""Judges whose gaps depend on which items are labelled."""

import re

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.judge_gaps import REFUSED_BY_CHANCE, JudgedItems, JudgeGaps, refuse_uneven_gaps
from assay.evalcore.outcomes.items import SILENT


def _gaps(judge, labelled, stratum=None, pieces=1):
    stratum = np.zeros(len(judge), np.int64) if stratum is None else stratum
    cut = [np.array_split(values, pieces) for values in (judge[:, None], labelled, stratum)]
    return JudgeGaps.counted(
        [JudgedItems(*piece) for piece in zip(*cut, strict=True)], strata=int(stratum.max()) + 1
    )


@pytest.fixture
def drawn():
    rng = np.random.default_rng(1)
    return rng, rng.normal(50, 1, 400), np.isin(np.arange(400), rng.permutation(400)[:60])


@pytest.mark.parametrize("at_random", [True, False])
def test_a_judge_of_labelled_items_alone_is_refused_however_they_were_drawn(drawn, at_random):
    rng, said, labelled = drawn
    for heard in (labelled, labelled & (rng.random(400) < 0.5), labelled & (np.cumsum(labelled) < 3)):
        with pytest.raises(BadInput, match=rf"judge: column 'gpt' guesses {heard.sum()} rows with a label"):
            refuse_uneven_gaps(_gaps(np.where(heard, said, SILENT), labelled), ["gpt"], at_random=at_random)


@pytest.mark.parametrize(("change", "message"), [
    (lambda said, labelled, some: np.where(~labelled & some, SILENT, said), "nothing of .* of 340 rows"),
    (lambda said, labelled, some: np.where(labelled & some, SILENT, said), "nothing of 0 of 340 rows"),
    (lambda said, labelled, some: np.where(labelled, said, 0.0), "the same of 340 of 340 rows"),
])
def test_gaps_that_random_labels_do_not_make_are_refused(drawn, change, message):
    rng, said, labelled = drawn
    gaps = _gaps(change(said, labelled, rng.random(400) < 0.5), labelled)
    with pytest.raises(BadInput, match=message):
        refuse_uneven_gaps(gaps, ["gpt"], at_random=True)
    refuse_uneven_gaps(gaps, ["gpt"], at_random=False)


def test_gaps_of_a_judge_that_does_not_look_at_labels_are_no_matter(drawn):
    _, said, labelled = drawn
    for judge in (said, np.where(said > 51, SILENT, said), np.full(400, SILENT), np.full(400, 3.0)):
        refuse_uneven_gaps(_gaps(judge, labelled), ["gpt"], at_random=True)


def test_a_gap_in_one_stratum_is_looked_at_there(drawn):
    rng, said, labelled = drawn
    stratum = (rng.random(400) < 0.2).astype(np.int64)
    gaps = _gaps(np.where(~labelled & (stratum == 1), SILENT, said), labelled, stratum)
    assert gaps.chance[0] < REFUSED_BY_CHANCE
    # a judge that knows one stratum alone, of which more was labelled, is no reason for doubt
    most = np.isin(np.arange(400), [*np.flatnonzero(stratum == 1), *range(10)])
    open_to_doubt = np.where(stratum == 0, SILENT, said)
    assert _gaps(open_to_doubt, most).chance[0] < REFUSED_BY_CHANCE
    assert _gaps(open_to_doubt, most, stratum).chance[0] == 1


def test_the_alarm_is_as_rare_as_is_said_and_pieces_are_no_matter():
    rng = np.random.default_rng(5)
    judge = np.where(rng.random(120) < 0.3, SILENT, 1.0 * np.arange(120))
    chances = []
    for _ in range(2_000):
        labelled = np.isin(np.arange(120), rng.permutation(120)[:30])
        one, several = (_gaps(judge, labelled, pieces=pieces) for pieces in (1, 7))
        assert one.chance == several.chance
        chances.append(one.chance[0])
    for level in (0.01, 0.05, 0.2):
        # a share of 2,000 that are this rare is above 1.5 times as often as that once in 100,000 times
        assert np.mean(np.array(chances) <= level) <= 1.5 * level


def test_the_message_names_the_judge_among_several(drawn):
    _, said, labelled = drawn
    judges = np.stack([said, np.where(labelled, said, SILENT)], axis=1)
    gaps = JudgeGaps.counted([JudgedItems(judges, labelled, np.zeros(400, np.int64))])
    with pytest.raises(BadInput, match=re.escape("judge: column 'copy'")):
        refuse_uneven_gaps(gaps, ["gpt", "copy"], at_random=True)
