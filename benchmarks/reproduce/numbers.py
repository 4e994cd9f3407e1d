"""Our number and that of an independent implementation, for rows of the papers' pages.

    PYTHONPATH=tests:. python -m benchmarks.reproduce.numbers

The second implementations are those of the tests.  Each pair goes to docs/measured/papers/tables/numbers.csv,
from where `benchmarks.reproduce.items` puts it into its row: `python -m benchmarks.reproduce.items`.
"""

import csv
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from assay.evalcore.design.draws import bernoulli_error, bound, importance_error, waterfill
from assay.evalcore.label_models import isotonic_curve, platt_rates
from assay.evalcore.measures.registry import measure, outcome_measure
from assay.evalcore.methods.dirichlet import Leaves, dirichlet_tree, fit_tree
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.recycled import recycle_for_precision, uniform_sample
from assay.flows.evaluation.advance import drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.replay.labelled_pool import read_labelled_pool
from assay.tasks.spec.evaluation import Spec
from benchmarks.reproduce.items import NUMBERS, PAPERS, Pair, stored_numbers
from benchmarks.reproduce.needle.curves import curve, pulls
from benchmarks.reproduce.pools import pool_file


def rounds_of_two_classes(method: str) -> Any:
    """What a run for F1 on 400 items left in its ledger: draws, design and estimate of each round."""
    printed: Any = import_module("features.test_intervals_as_printed")
    with tempfile.TemporaryDirectory() as folder:
        return printed.rounds_of(printed.run(Path(folder), method))


def interval_of_ledger(method: str, formula: str) -> Pair:
    """F1 and its interval as a run stored it, and by the paper's formula from the same files."""
    printed: Any = import_module("features.test_intervals_as_printed")
    rounds = rounds_of_two_classes(method)
    stored = rounds[-2 if formula == "printed_tree" else -1][2]
    value, (lower, upper) = getattr(printed, formula)(rounds)
    ours = (stored["value"], stored["lower"], stored["upper"])
    return _interval(*ours), _interval(value, max(lower, 0.0), min(upper, 1.0))


def interval_of_tags() -> Pair:
    """Micro F1 of four tags with its beta interval as a run stored it, and by equations 18 and 28."""
    beyond: Any = import_module("features.test_intervals_as_printed_beyond_two_classes")
    with tempfile.TemporaryDirectory() as folder:
        stored, value, ends = beyond.of_tags(Path(folder), "printed", "micro_f1", beyond.micro)
    return _interval(stored["value"], stored["lower"], stored["upper"]), _interval(value, *ends)


def interval_of_one_class() -> Pair:
    """F1 of one class of four by `sawade`, and of the same pool and labels written as two classes."""
    one: Any = import_module("features.test_one_class_of_several")
    with tempfile.TemporaryDirectory() as folder:
        one.write_pool(Path(folder))
        runs = [one.run(spec)[1].estimates[0] for spec in (
            one.spec_of_owls(Path(folder), method="sawade"), one.spec_of_two(Path(folder), "sawade"),
        )]
    ours, other = (_interval(row.value, row.lower, row.upper) for row in runs)
    return ours, other


def even_share() -> Pair:
    """q of an item of the first cell with δ = 0.1, and 0.9 times that without, and 0.1/N."""
    first = [rounds_of_two_classes(f"dirichlet-tree{of}")[0][1] for of in (":reuse=0.1", "")]
    ours, without = (design[0]["p_unlabelled"] for design in first)
    return f"{ours:.8f}", f"{0.9 * without + 0.1 / sum(cell['size'] for cell in first[0]):.8f}"


def least_trace() -> Pair:
    """tr Σ of three measures under our proposal, and the least one over all proposals by SLSQP."""
    from scipy.optimize import minimize

    several: Any = import_module("unit.evalcore.design.test_several_measures")
    measures = [several.PRECISION, several.RECALL, several.ACCURACY]
    ours, shares = several.proposal(measures), several.SIZE / several.SIZE.sum()
    other = minimize(
        lambda x: several.total_variance(measures, x / several.SIZE), shares, bounds=[(1e-3, 1)] * 4,
        method="SLSQP", constraints={"type": "eq", "fun": lambda x: x.sum() - 1}, options={"ftol": 1e-14},
    )
    return f"{several.total_variance(measures, ours):.4f}", f"{other.fun:.4f}"


def proposal_of_sawade() -> Pair:
    """q of equation 11, drawn as a share of its sum over the cells: the largest one, and by Corollary 2."""
    static: Any = import_module("unit.evalcore.methods.two_classes.test_static_designs")
    cells, design = static.design_of("sawade", "f1", None)
    p, f, n = cells.mean_probability, cells.prediction, cells.size
    value = 2 * (n * p * f).sum() / (n * (p + f)).sum()
    by_hand = np.where(f == 1, np.sqrt(p * (1 - value) ** 2 + (1 - p) * value**2 / 4), np.sqrt(p) * value / 2)
    return f"{design.unlabelled[0].max():.8f}", f"{(by_hand / (n * by_hand).sum()).max():.8f}"


def errors_of_appendix_c() -> Pair:
    """Equations 79, 80 and 85 for h = 4, 3, 2, 1 and two draws, which meet 1.7 items, and by hand."""
    h = np.array([4.0, 3, 2, 1])
    ours = importance_error(h, 2), bernoulli_error(h, 1.7), bound(4, 2, 1.7)
    return _several(ours), _several((50.0, 100 / 1.7 - 30, 2 / 1.7 - 0.5))


def four_iterations() -> Pair:
    """F1 after 150 labels by `acis` with a stratum for every item, and by Algorithm 1 item by item."""
    acis: Any = import_module("unit.evalcore.methods.two_classes.test_acis")
    pool = acis.pool_of()
    asked, _, rounds = acis.run(acis.EveryItem(), pool, 150, seed=3)
    printed = acis.ItemByItem(pool)
    for plan, rows, _ in rounds:
        if plan.design.replacement:
            printed.iterate(rows)
    return f"{acis.estimates(asked, rounds[-1][2])[0].value:.6f}", f"{printed.answer()[0]:.6f}"


def labels_at_the_stop() -> Pair:
    """Labels at which `least_labels: 40, looks: 1` stops, where the first look meets the target; and 40."""
    targets: Any = import_module("features.test_targets_of_several_measures")
    with tempfile.TemporaryDirectory() as folder:
        asked = {"half_width": targets.WIDE, "least_labels": 40, "looks": 1}
        return str(targets.run(Path(folder), target=asked)[1].labels), "40"


def recycled_draws() -> Pair:
    """The mean number of draws that come from a parent's sample of 6, of which 3 in 10 are shared, over
    20,000 samples of 40; and by Lemma 3."""
    printed: Any = import_module("unit.evalcore.test_recycled_as_printed")
    found = printed.child_samples("shuffle", n_parent=6, size=40, runs=20_000)
    recycled = np.array([sample.recycled for sample in found])
    return f"{recycled.mean():.3f} ± {recycled.std() / np.sqrt(len(recycled)):.3f}", "1.800"


def share_recycled() -> Pair:
    """`saved` of a sample of 40, and the share of its draws that the parent predicts positive."""
    printed: Any = import_module("unit.evalcore.test_recycled_as_printed")
    found = printed.child_samples("shuffle", n_parent=400, size=40, runs=1)[0]
    return f"{found.saved:.4f}", f"{np.isin(found.sequence, printed.PARENT).mean():.4f}"


def variance_factors() -> Pair:
    """`variance_factor` of samples of 40 from a parent's of 20, 40 and 80, and 1 + min(n/L, L/n)."""
    rng, both, sizes = np.random.default_rng(7), np.arange(50), (20, 40, 80)
    ours = [
        recycle_for_precision(both, both, 40, uniform_sample(both, size, rng), "sample", rng).variance_factor
        for size in sizes
    ]
    return _several(ours), _several([1 + min(40 / size, size / 40) for size in sizes])


def recall_of_a_parent() -> Pair:
    """Recall of the parent as a run stored it, and from its precision and false-omission rate by atom."""
    systems: Any = import_module("unit.evalcore.test_recycled_systems")
    ledger: Any = import_module("features.test_intervals_as_printed")
    with tempfile.TemporaryDirectory() as folder:
        spec, store = Spec.from_json(systems.systems_spec(Path(folder))), open_store(f"file://{folder}/ledger")
        begin_evaluation(store, spec)
        standing = drive(store, spec.name, patience=ledger.AT_ONCE)
        rounds = ledger.rounds_of(Path(folder) / "ledger" / spec.name / "rounds")
    ours = next(row.value for row in standing.estimates if row.measure == "recall" and not row.system)
    rows = [row for draws, _, _ in rounds for row in draws]
    found = {True: 0.0, False: 0.0}
    for atom, cell in enumerate(rounds[0][1]):
        labels = [row for row in rows if row["cell"] == atom]
        positive = sum(row["y"] for row in labels) / max(len(labels), 1)
        found[any(row["prediction"] == 1 for row in labels)] += cell["size"] * positive
    return f"{ours:.6f}", f"{found[True] / (found[True] + found[False]):.6f}"


def labels_of_figure_1() -> Pair:
    """Labels that active F needs for recall, F1 and precision: ours on other data, and as printed."""
    text = (PAPERS / "active-f-measure.md").read_text(encoding="utf-8")
    row = r"^\| (?:recall|f1|precision) \| [\d.]+ \| fewer than (\d+) \| (\d+)"
    rows = re.findall(row, text, re.MULTILINE)
    return ", ".join(ours for _, ours in rows), "fewer than " + ", ".join(printed for printed, _ in rows)


def coverage_of_figure_3() -> Pair:
    """The least and the largest coverage of nominal 90% intervals of F1 by Bernoulli sampling."""
    text = (PAPERS / "bernoulli-sampling.md").read_text(encoding="utf-8")
    table = text[text.index("## 2. Coverage") : text.index("## 3.")]
    found = [int(share) for share in re.findall(r"(\d+)% \|$", table, re.MULTILINE)]
    return f"{min(found)}% to {max(found)}% (figure 3)", "90%"


def variance_of_figure_8() -> Pair:
    """The variance of F1 on 50,000 random items that is told: ours on other data, and as printed."""
    text = (PAPERS / "low-shot.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| [\w-]+ \| 50,000 \| [\d.]+ \| ([\d.e-]+)", text, re.MULTILINE)
    return ", ".join(f"{float(told):.4f}" for told in found) + " (figure 8)", "0.003"


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
    ("adaptive-importance-sampling", "Section 3.3.1, δ"): even_share,
    ("adaptive-importance-sampling", "Appendix D, Proposition 4"): least_trace,
    ("adaptive-importance-sampling", "Appendix H, Proposition 5"): lambda: interval_of_ledger(
        "dirichlet-tree-stochastic:printed=true:requery=rounds", "printed_tree"
    ),
    ("bernoulli-sampling", "Footnote 3, ε"):
        lambda: interval_of_ledger("bernoulli:epsilon=0.01", "bernoulli_with_epsilon"),
    ("bernoulli-sampling", "Appendix C, equations 79 to 87"): errors_of_appendix_c,
    ("bernoulli-sampling", "Appendix D, micro and macro F1 of tags"): interval_of_tags,
    ("bernoulli-sampling", "Figures 1 to 11"): coverage_of_figure_3,
    ("active-f-measure", "Equations 4, 11 to 16, Algorithm 1"): proposal_of_sawade,
    ("active-f-measure", "One class of several"): interval_of_one_class,
    ("active-f-measure", "Figures"): labels_of_figure_1,
    ("low-shot", "Algorithm 1"): four_iterations,
    ("low-shot", "A question of 40 labels"): labels_at_the_stop,
    ("low-shot", "Figures"): variance_of_figure_8,
    ("recycled-samples", "Algorithms 1 and 2"): recycled_draws,
    ("recycled-samples", "Equation 1, the share recycled"): share_recycled,
    ("recycled-samples", "Lemmas 1 and 2"): variance_factors,
    ("recycled-samples", "Section 6, recall"): recall_of_a_parent,
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


_OF_REAL_POOLS = (matthews, f1_of_pools)


def found_sentences(page: str, *headings: str) -> Pair:
    """How many of the paper's sentences below these headings of a page were found, of how many."""
    sections = re.split(r"^## ", (PAPERS / f"{page}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = "".join(section for section in sections if section.startswith(headings))
    found, missing = text.count("**Found**"), text.count("**Not found**")
    return f"{found} of {found + missing} sentences found", "the paper's sentences"


def _several(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.4f}" for number in numbers)


def _interval(value: float, lower: float, upper: float) -> str:
    return f"{value:.6f} [{lower:.6f}, {upper:.6f}]"


def computed(kept: Mapping[tuple[str, str], Pair]) -> Iterator[tuple[tuple[str, str], Pair]]:
    """Every pair anew; where the real pools are not there, those that need them stay as they are kept."""
    there = all(pool_file(name).exists() for name in ("abt-buy", "restaurant"))
    for key, pair in PAIRS.items():
        if there or pair not in _OF_REAL_POOLS:
            yield key, pair()
        else:
            print(f"{key[0]}, {key[1]}: left as it was; set ASSAY_POOLS to the folder of the pools",
                  file=sys.stderr)
            yield key, kept[key]


def main() -> None:
    """Compute every pair, and write the file."""
    made = list(computed(stored_numbers()))
    with NUMBERS.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["page", "item", "ours", "other"])
        rows.writerows([*key, *pair] for key, pair in made)


if __name__ == "__main__":
    main()
