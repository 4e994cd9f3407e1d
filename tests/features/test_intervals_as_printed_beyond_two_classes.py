"""Printed intervals of classes and tags, computed again from a ledger's files by the papers' formulas."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.stats
from doubles.classes import spec_of_classes, write_pool
from doubles.outcomes import TAGS, spec_of, write_tags
from features.test_dirichlet_tree_of_classes import leaves_of
from features.test_intervals_as_printed import AT_ONCE, beta_ends

from assay.flows.evaluation.advance import drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.fold import fold, not_begun
from assay.flows.record.opened import open_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.spec.evaluation import Spec

LABELS, BATCH = 60, 20


def rounds_of(folder, data):
    """Of each round of a run: the rows of its draws with the label of each, its design, its first estimate;
    and the number of items."""
    store, spec = store_of(folder), Spec.from_json(data)
    begin_evaluation(store, spec)
    drive(store, spec.name, patience=AT_ONCE)
    label, found = {}, []
    for place in sorted((folder / "ledger" / spec.name / "rounds").glob("0*")):
        for row in pq.read_table(place / "labels.parquet").to_pylist():
            label[row["item_id"]] = int(row["label"])
        draws = pq.read_table(place / "plan.parquet").to_pylist()
        draws = [row | {"y": label[row["item_id"]]} for row in draws]
        estimate = json.loads((place / "estimate.json").read_text(encoding="utf-8"))["estimates"][0]
        found.append((draws, pq.read_table(place / "design.parquet").to_pylist(), estimate))
    return found, sum(cell["left"] for cell in found[0][1])


def store_of(folder):
    return open_store(f"file://{folder}/ledger")


def of_classes(folder, method):
    """A run for the accuracy of four classes."""
    write_pool(folder)
    return rounds_of(folder, spec_of_classes(
        folder, method=f"{method}:depth=3", measure="accuracy", budget={"labels": LABELS}, batch_size=BATCH,
    ))


def accuracy_by_last_proposal(wrong, q, last, items):
    """Section 3.3.2 of Marchant & Rubinstein (2021) with ℓ = 1[y ≠ f], g = 1 - R: the value, and the F
    region of one measure with n draws; wrong, q and last (q_N): one entry a draw."""
    n = len(q)
    risk = (wrong / q).mean() / items
    sigma = (wrong / (q * last)).mean() / items**2 - risk**2
    half = np.sqrt(scipy.stats.f.ppf(0.95, 1, n - 1) * sigma / n)
    return 1 - risk, (1 - risk - half, 1 - risk + half)


@pytest.mark.parametrize("method", ["dirichlet-tree", "dirichlet-flat"])
def test_algorithm_1_of_classes(tmp_path, method):
    rounds, items = of_classes(tmp_path, f"{method}:printed=true")
    before, (_, design, _) = rounds[:-1], rounds[-1]
    rows = [row for draws, _, _ in before for row in draws]
    wrong, q = (np.array(x, float) for x in zip(
        *((row["y"] != row["prediction"], row["probability"]) for row in rows), strict=True
    ))
    # Proposition 2: of a labelled item q is c where it is wrong, of the others their part of what is left
    known_wrong = {row["item_id"] for row in rows if row["y"] != row["prediction"]}
    last = (1 - sum(cell["left"] * cell["inclusion"] for cell in design)) / len(known_wrong)
    value, (lower, upper) = accuracy_by_last_proposal(wrong, q, last, items)
    stored = before[-1][2]
    assert stored["interval"] == "ais-student-as-printed"
    assert stored["value"] == pytest.approx(value, abs=1e-9)
    assert (stored["lower"], stored["upper"]) == pytest.approx((lower, upper), abs=1e-7)


def test_appendix_h_of_classes(tmp_path):
    rounds, items = of_classes(tmp_path, "dirichlet-tree-stochastic:printed=true:requery=rounds")
    before, (_, design, _) = rounds[:-1], rounds[-1]
    # a round asks about different items, at π = b q: an answer weighs 1/(N q)
    wrong, q, last = (np.array(x, float) for x in zip(*(
        (row["y"] != row["prediction"], row["probability"] / BATCH, design[row["cell"]]["inclusion"] / BATCH)
        for draws, _, _ in before for row in draws
    ), strict=True))
    value, (lower, upper) = accuracy_by_last_proposal(wrong, q, last, items)
    stored = before[-1][2]
    assert stored["interval"] == "ais-student-as-printed"
    assert stored["value"] == pytest.approx(value, abs=1e-9)
    assert (stored["lower"], stored["upper"]) == pytest.approx((lower, upper), abs=1e-9)


def posterior_of_equation_14(score, weight, depth):
    """E p(y | leaf), (leaves, K), with α_y = 1 + Σ (s + w) and β = depth² + Σ (s + w) below each node; score,
    weight (leaves, K): s(y|k), and Σ 1/(N q) of the answers."""
    mass = score + weight
    theta = 1 + mass.sum(axis=0)
    joint = np.repeat(theta[None] / theta.sum(), len(mass), axis=0)
    for d in range(1, depth + 1):
        beta = mass.reshape(2**d, -1, mass.shape[1]).sum(axis=1) + d**2
        branch = beta / beta.reshape(-1, 2, mass.shape[1]).sum(axis=1).repeat(2, axis=0)
        joint *= branch.repeat(len(mass) // 2**d, axis=0)
    return joint / joint.sum(axis=1, keepdims=True)


def test_the_label_model_of_appendix_h_is_the_posterior_of_equation_14(tmp_path):
    rounds, items = of_classes(tmp_path, "dirichlet-tree-stochastic:printed=true:requery=rounds")
    opened = open_evaluation(store_of(tmp_path), "classes")
    state = fold(opened.ledger, opened.statistics, not_begun(opened.statistics)).state.inner
    weight = np.zeros(state.belief.chances[0].shape)
    for row in (row for draws, _, _ in rounds for row in draws):
        weight[row["cell"], row["y"]] += BATCH / (items * row["probability"])
    score, _, by_leaf, slot = leaves_of(state.cells, weight, weight, 3)
    posterior = posterior_of_equation_14(score, by_leaf, 3)
    assert np.abs(state.belief.chances[0] - posterior[slot]).max() < 1e-6
    assert weight.sum() != pytest.approx(LABELS, rel=1e-3), "weights are not scaled to the number of answers"


def tags_of(code):
    """(n, K) of 0 and 1: tag k is the bit 2^k."""
    return (np.array(code, np.int64)[:, None] >> np.arange(len(TAGS))) & 1


def micro(f, y, b):
    """Equations 18 and 28 for f = Σ_k f_k y_k, g = Σ_k (f_k + y_k)/2."""
    above, below = (f * y).sum(axis=1), (f + y).sum(axis=1) / 2
    value = (above / b).sum() / (below / b).sum()
    return value, ((1 - b) / b**2 * (above - value * below) ** 2).sum() / (below / b).sum() ** 2


def macro(f, y, b):
    """Equations 102 to 108: F1 of the mean precision and the mean recall over the tags, and V̂ by slopes in
    every tag's weighted hits, false alarms and misses, taken here by differences."""
    counts = np.stack([f * y, f * (1 - y), (1 - f) * y])                     # (3, n, K)
    weighed = (counts / b[:, None]).sum(axis=1)

    def value_at(means):
        hit, alarm, miss = means
        precision, recall = (hit / (hit + alarm)).mean(), (hit / (hit + miss)).mean()
        return 2 * precision * recall / (precision + recall)

    step, pull = 1e-4, np.zeros(len(b))
    for place in np.ndindex(weighed.shape):
        moved = np.zeros(weighed.shape)
        moved[place] = step
        slope = (value_at(weighed + moved) - value_at(weighed - moved)) / (2 * step)
        pull += slope * counts[place[0], :, place[1]]
    return value_at(weighed), ((1 - b) / b**2 * pull**2).sum()


def of_tags(folder, form, measure, formula):
    """What a run stored, and the value and the ends by the formula from the same files."""
    write_tags(folder)
    rounds, _ = rounds_of(folder, spec_of(
        "tags", folder, method=f"bernoulli:form={form}", measure=measure, budget={"labels": LABELS},
    ))
    missed, rows = np.ones(len(rounds[0][1])), []
    for draws, design, _ in rounds:
        missed *= [1 - cell["inclusion"] for cell in design]
        rows += [(row["prediction"], row["y"], row["cell"]) for row in draws]
    f, y, cell = zip(*rows, strict=True)
    value, variance = formula(tags_of(f), tags_of(y), 1 - missed[list(cell)])
    return rounds[-1][2], value, tuple(beta_ends(value, variance))


@pytest.mark.parametrize("form", ["printed", "corrected"])
@pytest.mark.parametrize(("measure", "formula"), [("micro_f1", micro), ("macro_f1_of_means", macro)])
def test_appendix_d_of_tags(tmp_path, form, measure, formula):
    stored, value, ends = of_tags(tmp_path, form, measure, formula)
    assert stored["interval"] == "beta"
    assert stored["value"] == pytest.approx(value, abs=1e-9)
    assert (stored["lower"], stored["upper"]) == pytest.approx(ends, abs=1e-8)
