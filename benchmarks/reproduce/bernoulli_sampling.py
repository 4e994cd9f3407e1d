"""Figures 1 to 11 of Yilmaz et al. (2021): `python -m benchmarks.reproduce.bernoulli_sampling`.

One minute on a core of its own.  Pools come from ASSAY_POOLS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.evalcore.design.draws import (
    bernoulli_error,
    bound,
    distinct_items,
    importance_error,
    leading_ratio,
    printed_bound,
)
from assay.evalcore.estimators.intervals import beta_fit
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.replay.pool import LabelledPool, prepared
from assay.evalcore.replay.run import ReplayPlan, run_block
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.reproduce import tags_of_appendix_d as deviations
from benchmarks.reproduce.pools import Tagged, digits, emotion, tags, write_paper_page
from benchmarks.reproduce.tags_of_appendix_d import Estimated, chances, estimate_macro, estimate_micro

PAGE = Path("docs/measured/papers/bernoulli-sampling.md")
METRICS = ("accuracy", "f1", "precision", "recall", "specificity")
METHODS = {
    "uniform": "passive-with-replacement:secondary-mixing=0",
    "importance": "optimal-is:secondary-mixing=0",
    "Bernoulli": "bernoulli:draws=independent:secondary-mixing=0",
}
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75)
CROSS_SHARE = 0.1
REPEATS = 300
TAG_LABELS = (100, 200, 500, 1000)
TAG_REPEATS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method at one budget: by metric."""

    labels: float
    error: dict[str, float]      # mean squared error; an undefined estimate counts as 0
    covered: dict[str, float]    # by nominal 90% intervals
    undefined: float             # share of the repeats in which F1 was


def row(
    pool: LabelledPool, name: str, first: str, budget: int, repeats: int, also: Sequence[str] = METRICS
) -> Row:
    """Repeats with one batch of this many labels, drawn for the metric `first`."""
    measures = [measure(m, None) for m in (first, *(m for m in also if m != first))]
    traces = run_block(
        method(name), prepared(method(name), pool, measures),
        ReplayPlan(budgets=[budget], batch_size=budget, confidence=0.9), repeats=repeats,
    )
    error, covered = {}, {}
    for one, trace in zip(measures, traces, strict=True):
        truth = float(one.of_confusion(pool.confusion()))
        value = np.nan_to_num(trace.value[:, 0])
        error[one.name] = float(((value - truth) ** 2).mean())
        inside = (trace.lower[:, 0] <= truth + 1e-9) & (truth - 1e-9 <= trace.upper[:, 0])
        covered[one.name] = float((inside & np.isfinite(trace.value[:, 0])).mean())
    return Row(
        labels=float(traces[0].labels.mean()), error=error, covered=covered,
        undefined=float(np.isnan(traces[0].value[:, 0]).mean()),
    )


def by_budget(
    pool: LabelledPool, shares: Sequence[float] = SHARES, repeats: int = REPEATS
) -> dict[tuple[str, float], Row]:
    """Samples drawn for F1, by method and share of the pool: figures 1 to 3 and 7 to 9."""
    n = len(pool.label)
    found = {
        (name, share): row(pool, METHODS[name], "f1", round(share * n), repeats)
        for share in shares for name in METHODS
    }
    return {**found, ("Bernoulli", 1.0): row(pool, METHODS["Bernoulli"], "f1", n, 20)}


def cross(pool: LabelledPool, share: float, repeats: int = REPEATS) -> dict[tuple[str, str], Row]:
    """By method and the metric that the samples were drawn for: figures 10 and 11."""
    budget = round(share * len(pool.label))
    return {
        (name, first): row(pool, METHODS[name], first, budget, repeats)
        for name in ("importance", "Bernoulli") for first in METRICS
    }


def certain(pool: LabelledPool) -> dict[float, float]:
    """Share of the pool with b = 1 by the share that is labelled: figure 4, left."""
    h = influence(pool)
    return {
        share: float((np.asarray(chances(h**2, round(share * len(h)))) >= 1).mean()) for share in SHARES
    }


def first_certain(pool: LabelledPool) -> float:
    """The share labelled from which on some item is certain: eq. 88, M/N = mean h / largest h."""
    h = influence(pool)
    return float(h.mean() / h.max())


def influence(pool: LabelledPool, trust: float = 0.9) -> Floats:
    """h (N,) of eq. 12 for F1, item by item."""
    f, p = pool.prediction.astype(np.float64), trust * pool.probability + (1 - trust) / 2
    value = (f * p).sum() / ((f + p) / 2).sum()
    return np.asarray(np.sqrt(
        p * (f - value * (f + 1) / 2) ** 2 + (1 - p) * (value * f / 2) ** 2
    ))


def equivalence(pool: LabelledPool) -> Iterator[str]:
    """Rows of appendix C: E_BS/E_IS at as many distinct items, known labels and the best designs."""
    for name, h in [("the same for all", np.ones(len(pool.label))), ("of F1", influence(pool))]:
        q, n = h / h.sum(), len(h)
        for draws in (n // 100, n // 20, n // 10):
            labels = distinct_items(q, draws)
            ratio = bernoulli_error(h, labels) / importance_error(h, draws)
            yield (
                f"| {name} | {draws} | {labels:.1f} | {ratio:.3f} | {leading_ratio(q, draws):.3f} "
                f"| {bound(n, draws, labels):.3f} | {printed_bound(n, draws):.3f} |"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRow:
    """Micro and macro F1 of tags, by one design at one budget."""

    labels: float
    micro: float       # mean |error|
    macro: float
    covered_micro: float
    covered_macro: float


def tag_designs(pool: Tagged, labels: int) -> dict[str, Floats]:
    """b (N,) by design."""
    p = deviations.softened(pool.probability)
    n = len(p)
    return {
        "uniform": np.full(n, labels / n),
        "for micro F1": chances(deviations.micro_squares(pool.predicted, p), labels),
        "for macro F1": chances(deviations.macro_squares(pool.predicted, p), labels),
        "for macro F1, eq. 109 as printed": chances(
            deviations.macro_squares(pool.predicted, p, printed=True), labels
        ),
    }


def tag_row(pool: Tagged, b: Floats, repeats: int, rng: np.random.Generator) -> TagRow:
    """Repeated draws with these coins."""
    label = pool.label.astype(np.float64)
    everything = np.ones(len(b))
    truths = [e(pool.predicted, label, everything).value for e in (estimate_micro, estimate_macro)]
    found: list[tuple[Estimated, Estimated]] = []
    size = 0
    for _ in range(repeats):
        s = rng.random(len(b)) < b
        size += int(s.sum())
        drawn = pool.predicted[s], label[s], b[s]
        found.append((estimate_micro(*drawn), estimate_macro(*drawn)))
    error, covered = [], []
    for which, truth in enumerate(truths):
        value = np.array([pair[which].value for pair in found])
        variance = np.array([pair[which].variance for pair in found])
        told = np.isfinite(value) & (variance > 1e-14)
        ends = beta_fit(np.nan_to_num(value), np.nan_to_num(variance), told, 0.9, (0.0, 1.0))
        error.append(float(np.abs(np.nan_to_num(value) - truth).mean()))
        covered.append(float(((ends.lower <= truth) & (truth <= ends.upper)).mean()))
    return TagRow(
        labels=size / repeats, micro=error[0], macro=error[1],
        covered_micro=covered[0], covered_macro=covered[1],
    )


def importance_tag_row(pool: Tagged, labels: int, repeats: int, rng: np.random.Generator) -> TagRow:
    """Micro F1 by importance sampling with its own best q, until so many items are distinct."""
    label = pool.label.astype(np.float64)
    everything = np.ones(len(label))
    truth = estimate_micro(pool.predicted, label, everything).value
    h = np.sqrt(deviations.micro_squares(pool.predicted, deviations.softened(pool.probability)))
    q, error = h / h.sum(), []
    for _ in range(repeats):
        drawn = rng.choice(len(q), size=20 * labels, p=q)
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[: int(np.sort(first)[labels - 1]) + 1]
        error.append(abs(estimate_micro(pool.predicted[drawn], label[drawn], q[drawn]).value - truth))
    return TagRow(
        labels=labels, micro=float(np.mean(error)), macro=np.nan, covered_micro=np.nan, covered_macro=np.nan
    )


def all_tags(pool: Tagged, repeats: int = TAG_REPEATS) -> dict[tuple[int, str], TagRow]:
    """Figures 5 and 6, by labels and design."""
    found: dict[tuple[int, str], TagRow] = {}
    for labels in TAG_LABELS:
        for name, b in tag_designs(pool, labels).items():
            found[labels, name] = tag_row(pool, b, repeats, stream(labels, f"benchmarks/tags/{name}"))
        rng = stream(labels, "benchmarks/tags/importance")
        found[labels, "importance, for micro F1"] = importance_tag_row(pool, labels, repeats, rng)
    return found


def _rate(rows: dict[tuple[str, float], Row], share: float, metric: str) -> str:
    """The squared error of Bernoulli sampling over that of importance sampling."""
    ours, other = (rows[name, share].error[metric] for name in ("Bernoulli", "importance"))
    return "0" if ours == 0 else f"{ours / other:.2f}" if other > 0 else "-"


def budget_tables(rows: dict[tuple[str, float], Row]) -> Iterator[str]:
    """Errors of F1, and of Bernoulli over importance sampling for every metric."""
    yield (
        "| labelled | uniform | importance | Bernoulli | Bernoulli / importance, F1 | accuracy "
        "| precision | recall | specificity |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for share in [s for name, s in rows if name == "Bernoulli"]:
        errors = [
            f"{rows[name, share].error['f1']:.1e}" if (name, share) in rows else "" for name in METHODS
        ]
        rates = [_rate(rows, share, m) if ("importance", share) in rows else "exact"
                 for m in ("f1", "accuracy", "precision", "recall", "specificity")]
        yield f"| {share:.0%} | {' | '.join(errors)} | {' | '.join(rates)} |"


def coverage_table(rows: dict[tuple[str, float], Row]) -> Iterator[str]:
    """Coverage of the 90% intervals of F1."""
    yield "| labelled | uniform | importance | Bernoulli |"
    yield "|---|---|---|---|"
    for share in SHARES:
        yield f"| {share:.0%} | " + " | ".join(
            f"{rows[name, share].covered['f1']:.0%}" for name in METHODS
        ) + " |"


def limits_in_words(rows: dict[tuple[str, float], Row]) -> str:
    """How often the 90% intervals of table 2 cover: the least and the most."""
    covered = [rows[name, share].covered["f1"] for share in SHARES for name in METHODS]
    return f"they cover in {min(covered):.0%} to {max(covered):.0%}"


def cross_table(rows: dict[tuple[str, str], Row], name: str) -> Iterator[str]:
    """Squared errors by the metric drawn for (rows) and the metric estimated (columns)."""
    yield f"| {name}, drawn for | " + " | ".join(METRICS) + " |"
    yield "|---|" + "---|" * len(METRICS)
    least = {m: min(rows[name, first].error[m] for first in METRICS) for m in METRICS}
    for first in METRICS:
        cells = []
        for m in METRICS:
            error = rows[name, first].error[m]
            told = "0" if error == 0 else f"{error:.1e}"
            cells.append(f"**{told}**" if error == least[m] else told)
        yield f"| {first} | {' | '.join(cells)} |"


def tag_table(rows: dict[tuple[int, str], TagRow]) -> Iterator[str]:
    """Mean absolute errors and coverage."""
    yield "| labels | drawn | error of micro F1 | of macro F1 | 90% interval of micro F1 | of macro F1 |"
    yield "|---|---|---|---|---|---|"
    for (labels, name), one in rows.items():
        values = [f"{one.micro:.4f}", f"{one.macro:.4f}", f"{one.covered_micro:.0%}",
                  f"{one.covered_macro:.0%}"]
        told = ["" if v.startswith("nan") else v for v in values]
        yield f"| {labels:,} | {name} | {' | '.join(told)} |"


def page() -> str:
    """The document."""
    images, comments = digits(), emotion("admiration")
    rows, crossed = by_budget(images), cross(images, CROSS_SHARE)
    text = by_budget(comments, (0.02, 0.05, 0.1, 0.25))
    share = [f"| {s:.0%} | {c:.1%} |" for s, c in certain(images).items()]
    return "\n".join([
        _HEAD.format(repeats=REPEATS, first=first_certain(images), limits=limits_in_words(rows)),
        *budget_tables(rows), "", _EXACT, *coverage_table(rows), "",
        _CERTAIN, *share, "",
        _TEXT.format(repeats=REPEATS), *budget_tables(text), "",
        _CROSS.format(share=f"{CROSS_SHARE:.0%}"), *cross_table(crossed, "Bernoulli"), "",
        *cross_table(crossed, "importance"), "",
        _TAGS.format(repeats=TAG_REPEATS), *tag_table(all_tags(tags())), "",
        _EQUIVALENCE, *equivalence(images), "", _REST,
    ])


_HEAD = """# Bernoulli sampling

Yilmaz, Hayes, Habib, Burgess & Barber (2021), *Sample Efficient Model Evaluation*, which plots and prints no
table: what it says in words, beside our figures (`python -m benchmarks.reproduce.bernoulli_sampling`).

- uniform: `passive-with-replacement`
- importance: `optimal-is`, Algorithm 1
- Bernoulli: `bernoulli:draws=independent`, Algorithms 2 and 3 (line 13 corrected: [errata](errata.md)), with
  one batch a run

λ is 0.9, draws serve the first metric alone (`secondary-mixing=0`), labels are distinct items, squared
errors means over {repeats} runs (the paper: 3,000), with a standard error of 8 to 12%; undefined counts as 0.

| what the paper says | here |
|---|---|
| Bernoulli and importance sampling do alike while few items are labelled | yes, up to a tenth of the pool |
| with more labels, Bernoulli sampling is better and better | yes: the squared error of F1 on images is \
0.7, 0.3 and 0.1 times that of importance sampling with 25%, 50% and 75% labelled |
| at M = N it is exact | yes |
| so on the metrics that the samples were not drawn for | on images yes, for all five; on text, accuracy and \
recall are not better at 25% (table 4) |
| no item is certain while M is small; then a share that grows, from about 25% labelled on | yes, from \
{first:.0%} on (eq. 88; table 3) |
| 90% limits are about right | {limits} (table 2) |
| no metric to draw for is better than the one that is wanted | yes, but for chance and one exception \
(table 5): importance samples drawn for precision are better for specificity than those drawn for it |
| with 6 tags, Bernoulli sampling is ahead of importance sampling after a small part is labelled | by a \
tenth up to a quarter of the pool, by more than a quarter at half (table 6) |

## 1. Errors on images (figures 1, 2, 7 and 8)

In place of MNIST: the 1,797 images of scikit-learn's digits, "8 or not", by a logistic regression that did
not see them (F1 0.75, 9.7% eights; the paper has N = 11,200, 10%). Samples are drawn for F1.
"""
_EXACT = """\
An error of precision of 0: every predicted positive was certain to be drawn. Importance sampling touches
every item only in the limit.

## 2. Coverage of 90% intervals of F1 (figure 3)
"""
_CERTAIN = """## 3. Items that are certain to be drawn (figure 4)

| labelled | share of the pool with b = 1 |
|---|---|"""
_TEXT = """## 4. Errors on text (figure 9)

In place of Newsgroups: 4,548 comments (GoEmotions), "admiration or not", by the
probabilities of a classifier of 28 classes; {repeats} runs.
"""
_CROSS = """## 5. Drawn for one metric, used for another (F.1, figures 10 and 11)

Squared errors on the images with {share} labelled. The smallest error of each column is bold.
"""
_TAGS = """## 6. Micro and macro F1 of tags (figures 5 and 6)

In place of the toxic comments: 2,000 comments (GoEmotions), their 6 most frequent tags but "neutral". Mean
absolute errors over {repeats} runs; macro F1 is that of the paper. That eq. 109 leaves out products of two
tags ([errata](errata.md)) makes no difference beyond chance: 2.7% of these comments have two.
"""
_EQUIVALENCE = """## 7. Appendix C: as many distinct items

E_BS/E_IS with the best designs for known labels, as formulas. Eq. 85 is a bound. Eq. 87 as printed is none:
it takes M_BS for M_IS ([errata](errata.md)).

| h | M_IS | M_BS (eq. 83) | E_BS/E_IS | to first order | eq. 85 | eq. 87 as printed |
|---|---|---|---|---|---|---|"""
_REST = """\
## What is not here

MNIST, the 20 newsgroups and the toxic comments of Kaggle, so absolute errors are not comparable; the
authors' code, whose address is gone.
"""


def main() -> None:
    """Write the page."""
    write_paper_page(PAGE, page, "goemotions-classes", "goemotions-tags")


if __name__ == "__main__":
    main()
