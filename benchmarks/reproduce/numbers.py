"""Our number and that of an independent implementation, for rows of the papers' pages.

    PYTHONPATH=tests:. python -m benchmarks.reproduce.numbers

The second implementations are those of the tests.  Each pair goes to docs/measured/papers/tables/numbers.csv,
from where `benchmarks.reproduce.items` puts it into its row: `python -m benchmarks.reproduce.items`.
"""

import csv
import re
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from assay.evalcore.design.draws import waterfill
from assay.evalcore.label_models import isotonic_curve, platt_rates
from assay.evalcore.measures.registry import measure, outcome_measure
from assay.evalcore.methods.dirichlet import Leaves, dirichlet_tree, fit_tree
from assay.evalcore.outcomes.score_grid import grids
from assay.tasks.replay.labelled_pool import read_labelled_pool
from benchmarks.reproduce.items import NUMBERS, PAPERS, Pair
from benchmarks.reproduce.needle.curves import curve, pulls
from benchmarks.reproduce.pools import pool_file


def interval_of_ledger(method: str, formula: str) -> Pair:
    """F1 and its interval as a run stored it, and by the paper's formula from the same files."""
    printed: Any = import_module("features.test_intervals_as_printed")
    with tempfile.TemporaryDirectory() as folder:
        rounds = printed.rounds_of(printed.run(Path(folder), method))
    stored = rounds[-2 if formula == "printed_tree" else -1][2]
    value, (lower, upper) = getattr(printed, formula)(rounds)
    ours = (stored["value"], stored["lower"], stored["upper"])
    return _interval(*ours), _interval(value, max(lower, 0.0), min(upper, 1.0))


def label_model() -> Pair:
    """π(y | leaf) of the first class in the first leaf, of three and of ten classes."""
    second: Any = import_module("unit.evalcore.methods.test_label_model_as_printed")
    ours, other = [], []
    for classes in (3, 10):
        rng, leaves = np.random.default_rng(classes), 8
        size, score = rng.integers(20, 60, leaves), rng.dirichlet(np.ones(classes), leaves)
        labelled = rng.integers(0, 3, (leaves, classes))
        tree = dirichlet_tree(Leaves(
            slot=np.arange(leaves), size=size, chance=score, n_slots=leaves, lump=np.arange(classes)
        )).as_printed()
        ours.append(tree.chances(fit_tree(tree, labelled[None], tree.initial(1)))[0, 0, 0])
        other.append(second.printed_posterior(score, size, labelled, 3)[0, 0])
    return ", ".join(f"{x:.6f}" for x in ours), ", ".join(f"{x:.6f}" for x in other)


def matthews() -> Pair:
    """Matthews' correlation of abt-buy, and scikit-learn's."""
    from sklearn.metrics import matthews_corrcoef

    pool = read_labelled_pool(str(pool_file("abt-buy")))
    ours = float(measure("mcc").of_confusion(pool.confusion()))
    return f"{ours:.6f}", f"{matthews_corrcoef(pool.label, pool.prediction):.6f}"


def average_precision() -> Pair:
    """The area under the curve of Example 1, of 3,000 items with ties, and scikit-learn's."""
    from sklearn.metrics import average_precision_score

    curves: Any = import_module("unit.evalcore.measures.test_curves")
    items, label, score = curves.made(3000, 1, score=True)
    area = outcome_measure("average_precision", curves.KIND, 3000, grids=grids(curves.KIND, items))
    ours = float(area.of_pool(items, curves.KIND.phi(label))[0])
    return f"{ours:.6f}", f"{average_precision_score(label, score):.6f}"


def pull_of_a_positive() -> Pair:
    """‖D_g ℓ‖ of a positive in the third of seven bins of a curve, and by central differences."""
    mass, step = np.random.default_rng(3).random((7, 2)) / 14, 1e-6
    moved = np.zeros_like(mass)
    moved[2, 1] = step
    slope = (curve(mass + moved) - curve(mass - moved)) / (2 * step)
    return f"{pulls(mass)[2, 1]:.5f}", f"{np.linalg.norm(slope):.5f}"


def platt() -> Pair:
    """The two ends of Platt's curve, and by Nelder and Mead on its likelihood."""
    from scipy.optimize import minimize

    score, labelled = np.linspace(-2, 3, 12), np.zeros((12, 2), np.int64)
    labelled[:7, 0], labelled[5:, 1] = [3, 2, 4, 1, 2, 3, 1], [1, 0, 2, 1, 3, 2, 1]
    negatives, positives = labelled.sum(axis=0)
    targets = 1 / (negatives + 2), (positives + 1) / (positives + 2)

    def loss(line: Any) -> float:
        p = 1 / (1 + np.exp(-(line[0] * score + line[1])))
        return -float(sum(
            labelled[:, y] @ (t * np.log(p) + (1 - t) * np.log(1 - p)) for y, t in enumerate(targets)
        ))

    options = {"xatol": 1e-9, "fatol": 1e-13}
    slope, offset = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options=options).x
    other = 1 / (1 + np.exp(-(slope * score + offset)))
    ours = platt_rates(score, labelled)
    return f"{ours[0]:.3f}, {ours[-1]:.3f}", f"{other[0]:.3f}, {other[-1]:.3f}"


def isotonic() -> Pair:
    """The mean rate of an isotonic curve of 17 labels, and scikit-learn's."""
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(2)
    score = np.sort(rng.normal(size=60))
    label = (rng.random(60) < 1 / (1 + np.exp(-2 * score))).astype(int)
    chosen = rng.choice(60, 17, replace=False)
    labelled = np.zeros((60, 2), np.int64)
    labelled[chosen, label[chosen]] = 1
    other = IsotonicRegression(out_of_bounds="clip").fit(score[chosen], label[chosen]).predict(score)
    return f"{isotonic_curve(score, labelled).mean():.6f}", f"{other.mean():.6f}"


def f1_of_pools() -> Pair:
    """F1 of abt-buy and restaurant, and as Table 3 prints it."""
    f1 = measure("f1")
    pools = [read_labelled_pool(str(pool_file(name))) for name in ("abt-buy", "restaurant")]
    return ", ".join(f"{float(f1.of_confusion(pool.confusion())):.4f}" for pool in pools), "0.595, 0.899"


def five_deviations() -> Pair:
    """Σ h²/b of deviations 10, 4, 3, 2, 1 at Σ b = 3, and its minimum by SLSQP."""
    from scipy.optimize import minimize

    h = np.array([10.0, 4, 3, 2, 1])
    b = waterfill(h[None], np.ones((1, 5), np.int64), np.array([3]))[0]
    least = minimize(
        lambda x: (h**2 / x).sum(), np.full(5, 0.6), bounds=[(1e-3, 1)] * 5, method="SLSQP",
        constraints={"type": "eq", "fun": lambda x: x.sum() - 3}, options={"ftol": 1e-12},
    )
    return f"{(h**2 / b).sum():.4f}", f"{least.fun:.4f}"


def saved_of_table_1() -> Pair:
    """The mean of the 25 cells of Table 1, as its page has it, and as printed."""
    text = (PAPERS / "recycled-samples.md").read_text(encoding="utf-8")
    numbers = re.search(r"([\d.]+)% is saved, and ([\d.]+)% as printed", text)
    return (f"{numbers[1]}%", f"{numbers[2]}%") if numbers else ("", "")


PAIRS: Mapping[tuple[str, str], Callable[[], Pair]] = {
    ("adaptive-importance-sampling", "Definition 1, Tables 1 and 2"): matthews,
    ("adaptive-importance-sampling", "Example 1, a PR curve of L thresholds"): average_precision,
    ("adaptive-importance-sampling", "Propositions 1 and 2"): pull_of_a_positive,
    ("adaptive-importance-sampling", "Algorithm 1, equation 1"):
        lambda: interval_of_ledger("dirichlet-tree:printed=true", "printed_tree"),
    ("adaptive-importance-sampling", "Theorem 2"): lambda: interval_of_ledger("dirichlet-tree", "importance"),
    ("adaptive-importance-sampling", "Section 3.3.2, Σ̂ and the F region"):
        lambda: interval_of_ledger("dirichlet-flat:printed=true", "printed_tree"),
    ("adaptive-importance-sampling", "Section 4, equations 8 to 13, and the prior of section 5.2"):
        label_model,
    ("adaptive-importance-sampling", "Remark 4, static importance sampling"):
        lambda: interval_of_ledger("static-is", "importance"),
    ("adaptive-importance-sampling", "Definition 2, passive"):
        lambda: interval_of_ledger("passive-with-replacement", "importance"),
    ("adaptive-importance-sampling", "Table 3"): f1_of_pools,
    ("adaptive-importance-sampling", "Figures 2, 3, 5 to 7"):
        lambda: found_sentences("adaptive-importance-sampling", "Figures 2", "Figures 6"),
    ("adaptive-importance-sampling", "Figures 4 and 8"):
        lambda: found_sentences("adaptive-importance-sampling", "Figures 4"),
    ("bernoulli-sampling", "Algorithm 1, equations 12 to 17"):
        lambda: interval_of_ledger("optimal-is", "optimal_is"),
    ("bernoulli-sampling", "Algorithms 2 and 3"): five_deviations,
    ("bernoulli-sampling", "Equations 18 and 28, the beta interval"):
        lambda: interval_of_ledger("bernoulli", "bernoulli"),
    ("bernoulli-sampling", "Appendix E, equation 128"):
        lambda: interval_of_ledger("bernoulli-online:combination=equal", "bernoulli_online"),
    ("active-f-measure", "Section 2.3, the interval"):
        lambda: interval_of_ledger("sawade:variance=printed", "sawade_printed"),
    ("active-f-measure", "Lemma 2 with E[w]²"): lambda: interval_of_ledger("sawade", "sawade_corrected"),
    ("low-shot", "Appendix C, Platt's curve"): platt,
    ("low-shot", "The baselines: top-k, GMM, herding, isotonic, Platt"): isotonic,
    ("low-shot", "Equations 2 to 6"): lambda: interval_of_ledger("acis", "acis"),
    ("recycled-samples", "Table 1"): saved_of_table_1,
}


def found_sentences(page: str, *headings: str) -> Pair:
    """How many of the paper's sentences below these headings of a page were found, of how many."""
    sections = re.split(r"^## ", (PAPERS / f"{page}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = "".join(section for section in sections if section.startswith(headings))
    found, missing = text.count("**Found**"), text.count("**Not found**")
    return f"{found} of {found + missing} sentences found", "the paper's sentences"


def _interval(value: float, lower: float, upper: float) -> str:
    return f"{value:.6f} [{lower:.6f}, {upper:.6f}]"


def main() -> None:
    """Compute every pair, and write the file."""
    with NUMBERS.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["page", "item", "ours", "other"])
        rows.writerows([*key, *pair()] for key, pair in PAIRS.items())


if __name__ == "__main__":
    main()
