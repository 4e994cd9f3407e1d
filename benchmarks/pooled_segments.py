"""Segments that share what they know: `python -m benchmarks.pooled_segments`.

Writes docs/measured/pooled-segments.md (about six minutes on one processor).  Twenty segments, 200 labels of
a simple random sample.  The method was chosen on the families TRIED; it is judged on the families JUDGED,
which were drawn afterwards, and were not looked at before.  One table is of families by lot, with a prior
chance that segments do not differ at all; the last is of whole evaluations, with a score.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from assay.evalcore.estimators.area_likelihood import DirectEstimates
from assay.evalcore.estimators.partial_pooling import PooledEstimates, pooled_estimates
from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import build_partition, count_by_segment
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints
from assay.evalcore.weighted.segments import segment_rows
from benchmarks.pages import write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "pooled-segments.md"
SEGMENTS, LABELS, ITEMS = 20, 200, 10_000
CONFIDENCE = 0.95
RUNS, LIVE_RUNS = 200, 20
TRIED_SEED, JUDGED_SEED, LOT_SEED = 53, 5353, 20261
CHANCES = (None, 0.3, 0.6, 0.9)     # prior ones, that segments do not differ

Draw = Callable[[np.random.Generator], Floats]     # the chance (S,) of an item of each segment to be right


def _odds(rng: np.random.Generator, scatter: Floats) -> Floats:
    return np.asarray(scipy.special.expit(scipy.special.logit(rng.uniform(0.6, 0.95)) + scatter))


def _with_one(usual: tuple[float, float], unusual: float) -> Draw:
    def draw(rng: np.random.Generator) -> Floats:
        chance = np.full(SEGMENTS, rng.uniform(*usual))
        chance[0] = np.clip(chance[0] + unusual, 0.05, 0.99)
        return chance

    return draw


def _groups(*drops: float) -> Draw:
    def draw(rng: np.random.Generator) -> Floats:
        number = np.arange(SEGMENTS) * len(drops) // SEGMENTS
        return np.asarray(rng.uniform(0.75, 0.95) - np.array(drops)[number])

    return draw


def _three_bad(rng: np.random.Generator) -> Floats:
    chance = np.full(SEGMENTS, rng.uniform(0.8, 0.95))
    chance[:3] -= rng.uniform(0.2, 0.5, 3)
    return chance


def _u_shaped(rng: np.random.Generator) -> Floats:
    return rng.beta(0.7, 0.7, SEGMENTS)


TRIED: Mapping[str, Draw] = {
    "equal": lambda rng: np.full(SEGMENTS, rng.uniform(0.6, 0.95)),
    "one bad": _with_one((0.6, 0.95), -0.35),
    "two groups": _groups(0.0, 0.25),
    "trend": lambda rng: np.linspace(0.0, 0.24, SEGMENTS) + rng.uniform(0.4, 0.74),
    "heavy tails": lambda rng: _odds(rng, 0.3 * rng.standard_t(2, SEGMENTS)),
    "rare errors": lambda rng: 1 - rng.beta(1, 60, SEGMENTS),
    "hardly any": lambda rng: np.full(SEGMENTS, 0.995),
    "wide": lambda rng: rng.beta(2, 1, SEGMENTS),
    "normal": lambda rng: _odds(rng, 0.4 * rng.standard_normal(SEGMENTS)),
    "unequal sizes": lambda rng: _odds(rng, 0.5 * rng.standard_normal(SEGMENTS)),
}
JUDGED: Mapping[str, Draw] = {
    "equal, at a half": lambda rng: np.full(SEGMENTS, rng.uniform(0.4, 0.6)),
    "one far better": _with_one((0.3, 0.6), 0.35),
    "one a little worse": _with_one((0.85, 0.95), -0.2),
    "three bad": _three_bad,
    "four groups": _groups(0.0, 0.1, 0.25, 0.5),
    "steep trend": lambda rng: np.linspace(0.0, 0.6, SEGMENTS) + rng.uniform(0.1, 0.35),
    "heavier tails": lambda rng: _odds(rng, 0.2 * rng.standard_t(1.5, SEGMENTS)),
    "rare, skewed errors": lambda rng: np.minimum(0.01 * np.exp(rng.standard_normal(SEGMENTS)), 0.5) * -1 + 1,
    "U-shaped": _u_shaped,
    "unequal sizes, small ones worse": lambda rng: _odds(rng, np.linspace(-1.2, 0.3, SEGMENTS)),
}


def sizes(name: str, rng: np.random.Generator) -> Ints:
    """(S,) items of each segment, in rising order where they are unequal."""
    if not name.startswith("unequal"):
        return np.full(SEGMENTS, ITEMS // SEGMENTS)
    return np.sort(np.maximum((ITEMS * rng.dirichlet(np.full(SEGMENTS, 0.7))).astype(np.int64), 30))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One evaluation: the truth of every segment, and what was estimated of it."""

    truth: Floats
    own: Floats          # NaN without a label
    whole: float         # the pool's value
    pooled: PooledEstimates

    @property
    def held(self) -> np.ndarray:
        """(S,) whether the interval holds the truth."""
        return (self.pooled.lower <= self.truth) & (self.truth <= self.pooled.upper)


def run(name: str, draw: Draw, seed: int, number: int) -> Run:
    """One pool of a family, and a simple random sample of it."""
    rng = stream(seed, f"pooled segments/{name}/{number}")
    sample = _sample(rng, draw(rng), sizes(name, rng), LABELS)
    return Run(truth=sample.truth, own=sample.own, whole=sample.whole, pooled=_pooled(sample))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sample:
    """A simple random sample of a pool in segments: the truth of every segment (S,), the share of its own
    labels, NaN without one, how many they are, its items; and the pool's value."""

    truth: Floats
    own: Floats
    labels: Floats
    size: Floats
    whole: float


def _sample(rng: np.random.Generator, chance: Floats, size: Ints, labels: int) -> _Sample:
    """chance, size (S,): of an item to be right, and how many items there are."""
    parts = len(size)
    segment = np.repeat(np.arange(parts), size)
    right = (rng.random(len(segment)) < chance[segment]).astype(np.float64)
    at = rng.choice(len(segment), labels, replace=False)
    count = np.bincount(segment[at], minlength=parts).astype(np.float64)
    return _Sample(
        truth=np.bincount(segment, right, parts) / size, labels=count, size=size.astype(np.float64),
        own=np.bincount(segment[at], right[at], parts) / np.where(count > 0, count, np.nan),
        whole=float(right[at].mean()),
    )


def _pooled(sample: _Sample, chance_of_none: float | None = None) -> PooledEstimates:
    own, labels = sample.own, sample.labels
    pooled = pooled_estimates(DirectEstimates(
        value=own, labels=labels, predicted=np.full(len(own), np.nan), items=sample.size,
        variance=own * (1 - own) / np.maximum(labels - 1, 1) * (1 - labels / sample.size),
    ), CONFIDENCE, (0.0, 1.0), chance_of_none)
    if pooled is None:
        raise ValueError("most segments have labels")
    return pooled


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Of a family."""

    own: float           # root mean squared error of a segment, by its own labels alone
    whole: float         # by the whole pool's value
    pooled: float
    coverage: float      # in the mean over segments
    of_farthest: float   # of the segment that is farthest from the others' mean
    together: float      # of all segments at once
    width: float
    everything: float    # share of intervals from 0 to 1
    worst_found: float   # how often the one called the worst is among the worst three


def summary(runs: Sequence[Run]) -> Summary:
    """Of these evaluations."""
    def rmse(errors: Iterator[Floats]) -> float:
        return float(np.sqrt(np.nanmean(np.concatenate(list(errors)) ** 2)))

    farthest = [int(np.abs(r.truth - r.truth.mean()).argmax()) for r in runs]
    pooled = [r.pooled for r in runs]
    return Summary(
        own=rmse(r.own - r.truth for r in runs), whole=rmse(r.whole - r.truth for r in runs),
        pooled=rmse(r.pooled.value - r.truth for r in runs),
        coverage=float(np.mean([r.held.mean() for r in runs])),
        of_farthest=float(np.mean([r.held[s] for r, s in zip(runs, farthest, strict=True)])),
        together=float(np.mean([
            ((p.lower_together <= r.truth) & (r.truth <= p.upper_together)).all()
            for r, p in zip(runs, pooled, strict=True)
        ])),
        width=float(np.mean([p.upper - p.lower for p in pooled])),
        everything=float(np.mean([(p.lower <= 0) & (p.upper >= 1) for p in pooled])),
        worst_found=float(np.mean([
            r.truth[p.chance_lowest.argmax()] <= np.sort(r.truth)[2]
            for r, p in zip(runs, pooled, strict=True)
        ])),
    )


def families(drawn: Mapping[str, Draw], seed: int, runs: int = RUNS) -> dict[str, Summary]:
    """By family."""
    return {
        name: summary([run(name, draw, seed, number) for number in range(runs)])
        for name, draw in drawn.items()
    }


# Families by lot, and a prior that segments do not differ at all.

Scatter = Callable[[np.random.Generator, int], Floats]     # what segments (S,) differ by, in logits
LOT: Mapping[str, Scatter] = {
    "do not differ": lambda rng, s: np.zeros(s),
    "hardly differ": lambda rng, s: rng.uniform(0.1, 0.3) * rng.standard_normal(s),
    "normal": lambda rng, s: rng.uniform(0.3, 1.2) * rng.standard_normal(s),
    "heavy tails": lambda rng, s: rng.uniform(0.1, 0.4) * rng.standard_t(2, s),
    "one apart": lambda rng, s: np.where(np.arange(s), 0.0, rng.choice([-1, 1]) * rng.uniform(1, 3)),
    "groups": lambda rng, s: rng.choice([-1, 0, 1], s) * rng.uniform(0.3, 1.2),
    "trend": lambda rng, s: np.linspace(-1, 1, s) * rng.uniform(0.3, 1.5),
}


def by_lot(name: str, number: int) -> tuple[list[float], list[float]]:
    """Of 10 to 30 segments of unequal sizes, 10 labels each in the mean: the mean squared errors of the
    pool's value and of pooling with each of CHANCES, and what share of the intervals of these hold."""
    rng = stream(LOT_SEED, f"pooled segments by lot/{name}/{number}")
    parts = int(rng.integers(10, 31))
    level = scipy.special.logit(rng.uniform(0.3, 0.97))
    chance = scipy.special.expit(level + LOT[name](rng, parts))
    weights = rng.dirichlet(np.full(parts, rng.uniform(1, 20)))
    size = np.maximum((parts * 500 * weights).astype(np.int64), 30)
    sample = _sample(rng, chance, size, 10 * parts)
    estimates = [_pooled(sample, chance_of_none) for chance_of_none in CHANCES]
    errors = [sample.whole - sample.truth, *(pooled.value - sample.truth for pooled in estimates)]
    held = [(e.lower <= sample.truth) & (sample.truth <= e.upper) for e in estimates]
    return [float((error**2).mean()) for error in errors], [float(h.mean()) for h in held]


def _table_by_lot(runs: int) -> Iterator[str]:
    names = ["as it is" if chance is None else f"{chance:g}" for chance in CHANCES]
    columns = [f"{what}, {name}" for what in ("error", "covered") for name in names]
    yield f"| segments | pool's value | {' | '.join(columns)} |"
    yield "|---" * (2 + 2 * len(CHANCES)) + "|"
    for name in LOT:
        errors, held = zip(*(by_lot(name, number) for number in range(runs)), strict=True)
        yield (
            f"| {name} | " + " | ".join(f"{x:.3f}" for x in np.sqrt(np.mean(errors, axis=0))) + " | "
            + " | ".join(f"{x:.3f}" for x in np.mean(held, axis=0)) + " |"
        )


# Whole evaluations, with a score.

def live(name: str, run_number: int) -> tuple[Floats, Floats, Floats, float]:
    """The truth of every segment, its pooled value, whether its interval holds the truth, and the pool's
    value."""
    rng = stream(JUDGED_SEED, f"pooled segments, live/{run_number}")
    segment = rng.integers(0, SEGMENTS, 4000)
    chance = _odds(rng, 0.6 * rng.standard_normal(SEGMENTS))[segment]
    sure = np.clip(chance + 0.1 * rng.standard_normal(4000), 0.5, 0.99)     # a score that knows a little
    prediction = (rng.random(4000) < 0.4).astype(np.int64)
    label = np.where(rng.random(4000) < chance, prediction, 1 - prediction)
    score = np.where(prediction == 1, sure, 1 - sure)
    chosen = method(name)
    partition, cell = build_partition(chosen, score, score, prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=chosen, cells=partition.cells, measures=(measure("accuracy"),), confidence=CONFIDENCE,
        seed=run_number, evaluation="pooled segments",
        by_segment={"s": count_by_segment(cell, partition.cells.n_cells, segment, SEGMENTS)},
    )
    state, rounds = before_any_label(question), []
    while state.labels < LABELS:
        drawn = plan(question, state, min(50, LABELS - state.labels))
        items = order[offset[drawn.cell] + drawn.rank]
        state = observe(question, state, drawn, label[items])
        rounds.append(LabelledRound(
            plan=drawn, items=Items(prediction=prediction[items, None].astype(np.float64)), new=drawn.ask,
            code=label[items].astype(np.float64), segment={"s": segment[items]},
        ))
    values = {str(s): int((segment == s).sum()) for s in range(SEGMENTS)}
    rows = segment_rows(question, state, rounds, {"s": values})
    right = (prediction == label).astype(np.float64)
    truth = np.bincount(segment, right, SEGMENTS) / np.bincount(segment, minlength=SEGMENTS)
    pooled = [row.pooled for row in rows if row.pooled is not None]
    held = np.array([p.lower <= t <= p.upper for p, t in zip(pooled, truth, strict=True)], np.float64)
    value = float(chosen.estimate(state.inner, CONFIDENCE, stream(0, "value"))[0].value[0])
    return truth, np.array([p.value for p in pooled]), held, value


# The page.

COLUMNS = (
    "own", "whole", "pooled", "coverage", "of_farthest", "together", "width", "everything", "worst_found",
)
FORMATS = dict(zip(COLUMNS, (".3f", ".3f", ".3f", ".3f", ".2f", ".2f", ".2f", ".1%", ".2f"), strict=True))


def _table(summaries: Mapping[str, Summary]) -> Iterator[str]:
    yield ("| family | own labels | pool's value | pooled | covered | farthest | all at once | width "
           "| [0, 1] | worst |")
    yield "|---" * (1 + len(COLUMNS)) + "|"
    for name, of_family in summaries.items():
        yield _line(name, {column: getattr(of_family, column) for column in COLUMNS})
    yield _line("**mean**", {column: _mean(summaries, column) for column in COLUMNS})


def _line(name: str, numbers: Mapping[str, float]) -> str:
    return f"| {name} | " + " | ".join(format(x, FORMATS[column]) for column, x in numbers.items()) + " |"


def _mean(summaries: Mapping[str, Summary], column: str) -> float:
    return float(np.mean([getattr(of_family, column) for of_family in summaries.values()]))


def _finding(judged: Mapping[str, Summary]) -> str:
    larger = [name for name, s in judged.items() if s.pooled > s.whole]
    least = min(judged, key=lambda name: judged[name].coverage)
    but = f"; it is larger on {', '.join(larger)}" if larger else ""
    return (
        f"On the families it is judged on the pooled error is {_mean(judged, 'pooled'):.3f} in the mean "
        f"where quoting the pool's value has {_mean(judged, 'whole'):.3f}{but}. Intervals cover "
        f"{_mean(judged, 'coverage'):.3f} in the mean, and least, {judged[least].coverage:.3f}, on {least}. "
        "The segment that is farthest from all others is drawn too far, and is covered less often than the "
        "rest: where it matters, give it labels of its own.\n"
    )


def page(runs: int, live_runs: int) -> Iterator[str]:
    """The lines of the page."""
    yield "# Segments that share what they know\n"
    yield "Made by `python -m benchmarks.pooled_segments`; do not edit.\n"
    judged, tried = families(JUDGED, JUDGED_SEED, runs), families(TRIED, TRIED_SEED, runs)
    yield (
        f"{SEGMENTS} segments of {ITEMS // SEGMENTS} items, {LABELS} labels of a simple random sample, "
        f"nominal 95%, {runs} evaluations a family; a coverage in the mean has a standard error of about "
        "0.004. Errors are root mean squared, by segment: of its own labels alone, of quoting the whole "
        "pool's value for "
        "each, and pooled. *Farthest* is the coverage of the segment that is farthest from the mean of all, "
        "*all at once* that of the simultaneous intervals, *worst* how often the segment called the worst is "
        "one of the three worst.\n"
    )
    yield _finding(judged)
    yield f"## Judged on (seed {JUDGED_SEED})\n"
    yield from _table(judged)
    yield f"\n## Chosen on (seed {TRIED_SEED})\n"
    yield from _table(tried)
    yield f"\n## Where segments do not differ, by lot (seed {LOT_SEED})\n"
    yield (
        "Where segments have one rate the pool's value is sufficient and admissible for it: what is nowhere "
        "worse there **is** the pool's value (Rao and Blackwell), and gains nothing elsewhere, but for items "
        "whose labels are known. Only the price can be chosen: here the prior gives no difference a chance "
        "of 0.3, 0.6 or 0.9. The error there comes to the pool's, and intervals fail where segments differ. "
        f"{runs} pools a row, 10 to 30 segments.\n"
    )
    yield from _table_by_lot(runs)
    yield f"\n## Whole evaluations with a score, 4,000 items, batches of 50 ({live_runs} each)\n"
    yield "| method | pool's value | pooled | covered |"
    yield "|---|---|---|---|"
    for name in ("passive", "recalibrated", "dirichlet-tree", "score-test"):
        found = [live(name, number) for number in range(live_runs)]
        whole = np.sqrt(np.mean([(value - truth) ** 2 for truth, _, _, value in found]))
        pooled = np.sqrt(np.mean([(value - truth) ** 2 for truth, value, _, _ in found]))
        held = np.mean([h.mean() for _, _, h, _ in found])
        yield f"| {name} | {whole:.3f} | {pooled:.3f} | {held:.3f} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--live-runs", type=int, default=LIVE_RUNS)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    write_page(given.out, "\n".join(page(given.runs, given.live_runs)) + "\n")


if __name__ == "__main__":
    main()
