"""Algorithms 1 and 2 of the paper, and its three lemmas."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, chisquare

from assay.evalcore.errors import BadInput
from assay.evalcore.recycled import (
    mix_sequence,
    recycle_down,
    recycle_for_precision,
    uniform_sample,
)

PARENT, CHILD = np.arange(0, 10), np.arange(7, 12)   # an overlap of three; two are the child's alone
RUNS = 3_000
ALARM = 1e-6                                         # false alarms of each test


def child_samples(mixing, n_parent=100, size=30, seed=1, runs=RUNS):
    rng = np.random.default_rng(seed)
    return [
        recycle_for_precision(
            PARENT, CHILD, size, uniform_sample(PARENT, n_parent, rng), mixing, rng
        )
        for _ in range(runs)
    ]


@pytest.mark.parametrize("mixing", ["sample", "shuffle"])
def test_every_draw_is_uniform_over_the_child_s_positives(mixing):   # Lemmas 1 and 2
    drawn = np.array([found.sequence for found in child_samples(mixing)])
    for place in (0, 15, 29):
        counts = np.bincount(drawn[:, place] - CHILD[0], minlength=len(CHILD))
        assert chisquare(counts).pvalue > ALARM


def test_draws_of_sample_depend_on_each_other():                     # against Lemma 1
    # both items are of both: S+ is a, a or b, b with chance 1/2, and then the two draws are equal
    rng, both = np.random.default_rng(6), np.arange(2)
    equal = 0
    for _ in range(RUNS):
        found = recycle_for_precision(both, both, 2, uniform_sample(both, 2, rng), "sample", rng)
        equal += int(found.sequence[0] == found.sequence[1])
    assert binomtest(equal, RUNS, 3 / 4).pvalue > ALARM
    assert binomtest(equal, RUNS, 1 / 2).pvalue < ALARM


def test_the_variance_factor_of_each_mixing():
    rng, both = np.random.default_rng(7), np.arange(50)
    for n_parent, factor in ((20, 1.5), (40, 2.0), (80, 1.5)):
        own = uniform_sample(both, n_parent, rng)
        assert recycle_for_precision(both, both, 40, own, "sample", rng).variance_factor == factor
        assert recycle_for_precision(both, both, 40, own, "shuffle", rng).variance_factor == 1


def test_shuffling_leaves_less_variance_than_sampling():             # what the paper says of Lemma 2
    shares = {
        mixing: np.var([np.isin(one.sequence, [10, 11]).mean() for one in child_samples(mixing, runs=300)])
        for mixing in ("sample", "shuffle")
    }
    assert shares["shuffle"] < 0.5 * shares["sample"]


def test_what_is_saved_is_binomial_until_the_overlap_is_full():      # Lemma 3 (a) and (b)
    saved = np.array([found.recycled for found in child_samples("shuffle", n_parent=6, size=40)])
    # X <= 6 and size * CIR = 24, so all of S+ is used: (b)
    counts = np.bincount(saved, minlength=7)
    expected = binom.pmf(np.arange(7), 6, 3 / 10) * len(saved)
    merged = np.append(counts[:5], counts[5:].sum()), np.append(expected[:5], expected[5:].sum())
    assert chisquare(*merged).pvalue > ALARM


def test_beyond_it_only_the_first_draws_count():                     # Lemma 3 (c)
    for found in child_samples("shuffle", n_parent=400, size=10, runs=200):
        assert len(found.sequence) == 10
        assert found.recycled == np.isin(found.sequence, [7, 8, 9]).sum()
    mean = np.mean([found.recycled for found in child_samples("shuffle", n_parent=400, size=10, runs=500)])
    assert mean == pytest.approx(6, abs=0.35)                        # CIR = 3/5 of ten; sd 1.55 / √500 = 0.07


def test_mixing_keeps_or_redraws():
    rng = np.random.default_rng(3)
    sequence = np.arange(100)
    assert sorted(mix_sequence(sequence, "shuffle", rng)) == list(range(100))
    assert len(set(mix_sequence(sequence, "sample", rng))) < 80      # 63 distinct are expected
    assert not len(uniform_sample(sequence[:0], 5, rng))


def test_a_child_without_overlap_gets_a_sample_of_its_own():
    rng = np.random.default_rng(4)
    found = recycle_for_precision(np.arange(5), np.arange(5, 9), 20, np.array([0, 1]), "shuffle", rng)
    assert (found.recycled, found.saved, len(found.sequence)) == (0, 0.0, 20)
    assert set(found.sequence) <= set(range(5, 9))


def test_an_ensemble_recycles_to_its_members():
    rng = np.random.default_rng(5)
    members = {"a": np.arange(100, 1100), "b": np.arange(900)}
    found = recycle_down(np.arange(1000), members, 200, "shuffle", rng)
    assert list(found) == ["", "a", "b"]
    assert all(len(sample.sequence) == 200 for sample in found.values())
    assert found["a"].saved > 0.75
    assert found["b"].saved > 0.75


@pytest.mark.parametrize(("change", "message"), [
    ({"child": np.arange(0)}, "at least one predicted positive"),
    ({"size": 0}, "at least 1"),
    ({"parent_sample": np.array([99])}, "does not predict positive"),
])
def test_what_makes_no_sense_is_refused(change, message):
    asked = {"parent": PARENT, "child": CHILD, "size": 5, "parent_sample": PARENT[:2], "mixing": "sample"}
    with pytest.raises(BadInput, match=message):
        recycle_for_precision(**asked | change, rng=np.random.default_rng(0))
    with pytest.raises(BadInput, match="an ensemble needs"):
        recycle_down(np.arange(0), {}, 5, "shuffle", np.random.default_rng(0))
