"""The arithmetic of the scripts that put figures of the papers beside ours."""

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from benchmarks.reproduce import numbers as of_papers
from benchmarks.reproduce.active_f_measure import labels_for, likelihood, shuffled
from benchmarks.reproduce.bernoulli_sampling import equivalence, influence
from benchmarks.reproduce.items import ITEMS, stored_numbers
from benchmarks.reproduce.numbers import PAIRS
from benchmarks.reproduce.pools import pool_of


def test_labels_for_an_error_are_read_off_a_log_log_line():
    grid, found = (100, 400, 1600), np.array([0.2, 0.1, 0.05])      # error ∝ 1/√n
    assert labels_for(0.1, grid, found) == pytest.approx(400)
    assert labels_for(0.2 / np.sqrt(2), grid, found) == pytest.approx(200)
    assert labels_for(0.3, grid, found) == 100
    assert labels_for(0.01, grid, found) is None


def test_the_likelihood_is_the_geometric_mean_of_the_chances_of_the_labels():
    pool = pool_of(np.array([0.9, 0.2]), np.array([1, 0]), np.array([1, 1]))
    assert likelihood(pool) == pytest.approx(np.sqrt(0.9 * 0.2))


def test_drift_keeps_the_number_of_positives_and_lowers_the_likelihood():
    pool = synthetic_pool(2000, seed=1)
    moved = shuffled(pool, 0.3)
    assert moved.label.sum() == pool.label.sum()
    assert 0 < (moved.label != pool.label).mean() < 0.3
    assert likelihood(moved) < likelihood(pool)
    assert (shuffled(pool, 0.0).label == pool.label).all()


def test_the_influence_of_f1_is_equation_12_and_the_table_of_appendix_c_has_its_rows():
    pool = synthetic_pool(300, seed=2)
    h = influence(pool, trust=1.0)
    p, f = pool.probability, pool.prediction
    value = 2 * (p * f).sum() / (p + f).sum()
    i = int(np.flatnonzero(f == 1)[0])
    squares = p[i] * (1 - value) ** 2 + (1 - p[i]) * (value / 2) ** 2
    assert h[i] == pytest.approx(np.sqrt(squares))
    assert len(list(equivalence(pool))) == 6


def test_every_number_has_its_row_and_agrees_with_the_one_beside_it():
    rows = {(page.removesuffix(".md"), item.what) for page, of_page in ITEMS.items() for item in of_page}
    numbers = stored_numbers()
    assert set(numbers) == set(PAIRS) == rows
    for (_, item), (ours, other) in numbers.items():
        if "±" in ours:
            mean, error = (float(number) for number in ours.split(" ± "))
            assert abs(mean - float(other)) < 4.9 * error, item      # a false alarm in a million
        elif not item.startswith(("Table", "Figures")):     # those are beside what is printed
            assert ours == other, item


def test_without_the_real_pools_the_numbers_that_need_them_stay(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("ASSAY_POOLS", str(tmp_path))
    needs = {key: pair for key, pair in PAIRS.items() if pair in (of_papers.matthews, of_papers.f1_of_pools)}
    monkeypatch.setattr(of_papers, "PAIRS", needs)
    kept = stored_numbers()
    assert dict(of_papers.computed(kept)) == {key: kept[key] for key in needs}
    assert "Table 3: left as it was" in capsys.readouterr().err
