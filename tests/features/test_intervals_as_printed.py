"""Each printed interval, computed again from the files of a ledger alone by the formula of its paper.

Nothing of Assay is used below but the run itself: draws, probabilities and labels are read from Parquet, the
formulas are written out for F1, item by item, with SciPy's distributions.
"""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.stats
from doubles.small_pool import spec_json, write_small_pool

from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.spec.evaluation import Spec

N = 400   # items of the pool
AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)


def run(folder, method):
    """The folder of the rounds of a run of three rounds, or three iterations."""
    predictions, labels = write_small_pool(folder, n=N)
    store = open_store(f"file://{folder}/ledger")
    budget = {"labels": 70 if method.startswith("acis") else 60}
    spec = Spec.from_json(spec_json(
        predictions, labels, method=method, measure=["f1"], budget=budget, batch_size=20,
    ))
    begin_evaluation(store, spec)
    drive(store, spec.name, patience=AT_ONCE)
    return folder / "ledger" / "small" / "rounds"


def rounds_of(folder):
    """Of each round: the rows of its draws with the label of each, its design, and its estimate of F1."""
    label, found = {}, []
    for place in sorted(folder.glob("0*")):
        for row in pq.read_table(place / "labels.parquet").to_pylist():
            label[row["item_id"]] = int(row["label"])
        draws = pq.read_table(place / "plan.parquet").to_pylist()
        for row in draws:
            row["y"] = label[row["item_id"]]
        design = pq.read_table(place / "design.parquet").to_pylist()
        estimate = json.loads((place / "estimate.json").read_text(encoding="utf-8"))["estimates"][0]
        found.append((draws, design, estimate))
    return found


def of_draws(rounds):
    """Prediction, label, q (n,) of all draws, repeats included."""
    rows = [row for draws, _, _ in rounds for row in draws]
    return (np.array([row[name] for row in rows], float) for name in ("prediction", "y", "probability"))


def beta_ends(mean, variance, confidence=0.95):
    """Of the beta distribution with this mean and variance."""
    strength = mean * (1 - mean) / variance - 1
    tail = (1 - confidence) / 2
    return scipy.stats.beta.ppf([tail, 1 - tail], mean * strength, (1 - mean) * strength)


def bernoulli(rounds, epsilon=0.0):
    """Yilmaz et al., equations 18 and 28: b of an item over all rounds is 1 - Π (1 - π).  Footnote 3: ε is
    added to every squared deviation."""
    cells = len(rounds[0][1])
    missed, left = np.ones(cells), np.array([cell["size"] for cell in rounds[0][1]])
    rows = []
    for draws, design, _ in rounds:
        missed *= [1 - cell["p_unlabelled"] for cell in design]
        rows += [(row["prediction"], row["y"], row["cell"]) for row in draws]
    f, y, cell = np.array(rows).T
    b = 1 - missed[cell.astype(int)]
    above, below = f * y, (f + y) / 2
    value = (above / b).sum() / (below / b).sum()
    squares = (1 - b) * (above - value * below) ** 2 / b**2 + epsilon / b
    assert left.sum() == N
    return value, beta_ends(value, squares.sum() / (below / b).sum() ** 2)


def bernoulli_with_epsilon(rounds):
    """The same with ε = 0.01."""
    return bernoulli(rounds, 0.01)


def bernoulli_online(rounds, counts=len):
    """Appendix E: rounds weigh as their labels do; Σ ω² (1 - b)/b² (f - F g)² over all rounds."""
    known, sums, terms = [], np.zeros(2), []
    for draws, _, _ in rounds:
        names = "prediction", "y", "probability"
        f, y, b = (np.array([row[name] for row in draws], float) for name in names)
        totals = [
            sum(g(*one) for one in known) + (g(f, y) / b).sum()
            for g in (lambda f, y: f * y, lambda f, y: (f + y) / 2)
        ]
        sums += counts(draws) * np.array(totals)
        terms.append((counts(draws), f, y, b))
        known += list(zip(f, y, strict=True))
    value = sums[0] / sums[1]
    variance = sum(
        (n**2 * (1 - b) / b**2 * (f * y - value * (f + y) / 2) ** 2).sum() for n, f, y, b in terms
    ) / sums[1] ** 2
    return value, beta_ends(value, variance)


def bernoulli_online_equal(rounds):
    """Equation 128: all rounds weigh alike."""
    return bernoulli_online(rounds, lambda draws: 1)


def weighted_ratio(rounds):
    """Σ w f / Σ w g, w = 1/(N q), with the squares that its variance is made of."""
    f, y, q = of_draws(rounds)
    w, above, below = 1 / (N * q), f * y, (f + y) / 2
    value = (w * above).sum() / (w * below).sum()
    return value, w, below, (w**2 * (above - value * below) ** 2).sum()


def optimal_is(rounds):
    """Yilmaz et al., equations 15 and 17, with the beta interval."""
    value, w, below, squares = weighted_ratio(rounds)
    return value, beta_ends(value, squares / (w * below).sum() ** 2)


def sawade_printed(rounds):
    """Sawade et al., section 2.3: S² = Σ v² w² (ℓ - G)² / Σ v, Student's with n degrees of freedom."""
    value, v, _, squares = weighted_ratio(rounds)
    n = len(v)
    half = scipy.stats.t.ppf(0.975, n) * np.sqrt(squares / v.sum() / n)
    return value, (value - half, value + half)


def sawade_corrected(rounds):
    """The same with E[w]² below, as in appendix D.2 of Poms et al., and n - 1 degrees of freedom."""
    value, v, below, squares = weighted_ratio(rounds)
    half = scipy.stats.t.ppf(0.975, len(v) - 1) * np.sqrt(squares) / (v * below).sum()
    return value, (value - half, value + half)


def importance(rounds):
    """Marchant & Rubinstein, equation 1 and Theorem 2, with each draw's own proposal; J·R̂ is 0 of a ratio."""
    value, w, below, squares = weighted_ratio(rounds)
    half = scipy.stats.norm.ppf(0.975) * np.sqrt(squares) / (w * below).sum()
    return value, (value - half, value + half)


def printed_tree(rounds, squared_quantile=lambda n: scipy.stats.f.ppf(0.95, 1, n - 1)):
    """Section 3.3.2: q_N is the proposal of the round after, which the ledger has.

    The F region of one measure is Ĝ ± √(F_{1,n-1} Σ̂/n).
    """
    before, after = rounds[:-1], rounds[-1][1]
    rows = [row for draws, _, _ in before for row in draws]
    f, y, q = of_draws(before)
    last = np.array([after[row["cell"]][f"p_labelled_{row['y']}"] for row in rows])
    n, w = len(q), 1 / (N * q)
    loss = np.stack([f * y, (f + y) / 2], axis=1)
    risk = (w[:, None] * loss).mean(axis=0)
    value = risk[0] / risk[1]
    slope = np.array([1 / risk[1], -risk[0] / risk[1] ** 2])
    pulling = zip(loss, q, last, strict=True)   # an item without a loss adds nothing, and may have no q
    second = sum(np.outer(one, one) / (N**2 * a * b) for one, a, b in pulling if one.any()) / n
    sigma = slope @ (second - np.outer(risk, risk)) @ slope
    half = np.sqrt(squared_quantile(n) * sigma / n)
    return value, (value - half, value + half)


def printed_variance(rounds):
    """The same with the quantile of χ², as Theorem 2 has it."""
    return printed_tree(rounds, lambda n: scipy.stats.chi2.ppf(0.95, 1))


def acis(rounds, together=lambda a, variance: (a**2 * variance).sum()):
    """Poms et al. (2021): equations 2 and 6 in each of the iterations of 10, 20, 40 new items, where items
    labelled before weigh |L|/N each; then equation 5 with Σ a² V, and the normal interval."""
    seen, before, rows, parts, size = {}, {}, [], [], 10
    for draws, design, _ in rounds:
        for row in draws:
            seen[row["item_id"]] = row
            rows.append(row | {"q": design[row["cell"]]["p_unlabelled"]})   # of one item, drawn before or not
        if len(seen) - len(before) < size:
            continue
        w = [1 / (N * row["q"]) for row in rows] + [len(before) / N] * len(before)
        f, y = (np.array([row[name] for row in [*rows, *before.values()]], float)
                for name in ("prediction", "y"))
        w, wv = np.array(w), np.array(w) * (f + y) / 2
        value = (w * f * y).sum() / wv.sum()
        bessel = 1 - (wv**2).sum() / wv.sum() ** 2
        parts.append((w.sum(), value, ((w * f * y - value * wv) ** 2).sum() / wv.sum() ** 2 / bessel))
        before, rows, size = dict(seen), [], 2 * size
    assert not rows, "the budget ends with an iteration"
    mass, value, variance = np.array(parts).T
    a = mass / mass.sum()
    half = scipy.stats.norm.ppf(0.975) * np.sqrt(together(a, variance))
    return (a * value).sum(), ((a * value).sum() - half, (a * value).sum() + half)


def acis_averaged(rounds):
    """The same with Σ a V."""
    return acis(rounds, lambda a, variance: (a * variance).sum())


def acis_worst(rounds):
    """The same with the worst case, (Σ a √V)²."""
    return acis(rounds, lambda a, variance: (a * np.sqrt(variance)).sum() ** 2)


BEFORE_THE_LAST = (printed_tree, printed_variance)   # the next round's proposal is in their variance


@pytest.mark.parametrize(("method", "kind", "formula"), [
    ("bernoulli", "beta", bernoulli),
    ("bernoulli-online", "beta", bernoulli_online),
    ("optimal-is", "beta", optimal_is),
    ("sawade:variance=printed", "student-as-printed", sawade_printed),
    ("sawade", "student", sawade_corrected),
    ("acis", "acis-normal", acis),
    ("static-is", "ais-normal", importance),
    ("passive-with-replacement", "delta-normal", importance),
    ("oasis", "ais-normal", importance),
    ("dirichlet-tree", "ais-normal", importance),
    ("dirichlet-flat", "ais-normal", importance),
    ("dirichlet-tree:printed=true", "ais-student-as-printed", printed_tree),
    ("dirichlet-flat:printed=true", "ais-student-as-printed", printed_tree),
    ("bernoulli:draws=independent", "beta", bernoulli),
    ("bernoulli:epsilon=0.01", "beta", bernoulli_with_epsilon),
    ("bernoulli-online:combination=equal", "beta", bernoulli_online_equal),
    ("bernoulli-online:combination=equal:draws=independent", "beta", bernoulli_online_equal),
    ("acis:together=averaged", "acis-normal", acis_averaged),
    ("acis:together=worst", "acis-normal", acis_worst),
    ("dirichlet-tree-stochastic", "ais-normal", importance),
    ("dirichlet-tree-stochastic:requery=rounds", "ais-normal", importance),
    ("dirichlet-tree:variance=printed", "ais-normal-as-printed", printed_variance),
    ("dirichlet-tree-stochastic:variance=printed:requery=rounds", "ais-normal-as-printed", printed_variance),
    ("dirichlet-tree-stochastic:printed=true:requery=rounds", "ais-student-as-printed", printed_tree),
])
def test_the_interval_that_a_printed_method_reports_is_the_printed_one(tmp_path, method, kind, formula):
    rounds = rounds_of(run(tmp_path, method))
    assert len(rounds) >= 3
    told = rounds[-2 if formula in BEFORE_THE_LAST else -1][2]
    value, (lower, upper) = formula(rounds)
    assert told["interval"] == kind
    assert told["value"] == pytest.approx(value, abs=1e-9)
    assert (told["lower"], told["upper"]) == pytest.approx((max(lower, 0.0), min(upper, 1.0)), abs=1e-9)


@pytest.mark.parametrize("method", ["bernoulli", "static-is"])
def test_what_is_widened_is_named_so_and_is_no_narrower(tmp_path, method):
    (tmp_path / "printed").mkdir()
    (tmp_path / "widened").mkdir()
    printed = rounds_of(run(tmp_path / "printed", method))[-1][2]
    widened = rounds_of(run(tmp_path / "widened", f"{method}:unseen=true"))[-1][2]
    assert widened["interval"] == f"{printed['interval']}, and what no label has shown"
    assert widened["value"] == printed["value"]
    assert widened["lower"] <= printed["lower"]
    assert widened["upper"] >= printed["upper"]
    assert widened["upper"] - widened["lower"] > printed["upper"] - printed["lower"]
