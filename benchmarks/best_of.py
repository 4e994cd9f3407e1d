"""Labels to name the best of several systems: `python -m benchmarks.best_of [--repeats R]`.

Racing (`guesses`, which is what `auto` means here) against uniform allocation under the same rule: the looks
that an evaluation has, and bounds that share the error among pairs and looks.  Rewrites
docs/measured/best-of.md below its line MARK.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import scipy

from assay.evalcore.design.draws import waterfill
from assay.evalcore.measures.best_of import LEAST_LABELS_OF_LOOK, Race, look_rounds, pairs_of
from assay.evalcore.measures.contenders import code_of, of_contender
from assay.evalcore.measures.measure import OutcomeMeasure, leading, side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.racing import racing_root, views
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import simulate_rounds
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints
from benchmarks.outcomes import pool_path
from benchmarks.pages import rewrite

MARK = "<!-- below: made by python -m benchmarks.best_of -->"
OUT = Path(__file__).parent.parent / "docs" / "measured" / "best-of.md"
GRADES = Classes(("0", "1"), values=(0.0, 1.0))
VERDICTS = Classes(("first", "second"))
FALSE_ALARM = 0.01
RUNS = 10            # on one pool


@dataclass(frozen=True, kw_only=True)
class Contest:
    """A pool, what is asked of it, and when it is looked at."""

    name: str
    pool: OutcomePool
    systems: int
    measure: str
    margin: float
    looks: tuple[int, ...]
    uniform: str             # the method that allocates evenly
    batch: int = 50
    rows: bool = True        # rows are of one system each, or compare two

    def stack(self) -> Stack:
        """All systems and the differences of every two."""
        def one(s: int) -> OutcomeMeasure:
            measure = outcome_measure(self.measure, self.pool.kind, len(self.pool.items),
                                      system=0 if self.rows else s)
            return of_contender(measure, s) if self.rows else measure

        measures = side_by_side([[one(s) for s in range(self.systems)]], all_pairs=True)
        looks = sum(look >= LEAST_LABELS_OF_LOOK for look in self.looks)
        return Stack(
            kind=self.pool.kind, measures=measures, drive=leading(measures),
            race=Race(margin=self.margin, confidence=0.95, looks=looks),
            contenders=self.systems if self.rows else 0,
        )


def graded(right: Floats) -> OutcomePool:
    """A row for each system and question: right (n, K) 0 or 1."""
    n, k = right.shape
    items = Items(prediction=np.zeros((n * k, 0)), contender=code_of(np.tile(np.arange(k), n))[:, None])
    return OutcomePool(kind=GRADES, items=items, codes=right.ravel().astype(np.float64))


def compared(worth: Floats) -> OutcomePool:
    """A row for every two systems and question: worth (n, K), higher is better, alike is a tie."""
    kind = preferences("first", "second", "tie")
    one, other = np.triu_indices(worth.shape[1], 1)
    a, b = worth[:, one].ravel(), worth[:, other].ravel()
    code = np.where(a > b, 0.0, np.where(a < b, 1.0, 2.0))
    contender = code_of(np.tile(one, len(worth)), np.tile(other, len(worth)))
    return OutcomePool(kind=kind, codes=code, items=Items(
        prediction=np.zeros((len(code), 0)), contender=contender[:, None]
    ))


def verdicts(
    rng: np.random.Generator, items: int, right: tuple[float, ...], *, tied: bool = False
) -> OutcomePool:
    """Judges' verdicts on pairs of answers of which one is right, as in JudgeBench.

    Judges err on the same hard items: the chance to be right is a logistic function of the judge's ability
    less the item's difficulty.  tied: the first two are right equally often on this very pool.
    """
    hard = rng.normal(0, 1.5, items)
    uniform = rng.random((items, len(right)))
    truth = rng.integers(0, 2, items)
    ability = [scipy.optimize.brentq(
        lambda a, p=p: scipy.special.expit(a - hard).mean() - p, -9, 9) for p in right]
    correct = uniform < scipy.special.expit(np.array(ability) - hard[:, None])
    if tied:
        more = int(correct[:, 1].sum() > correct[:, 0].sum())
        surplus = int(correct[:, more].sum() - correct[:, 1 - more].sum())
        only = np.flatnonzero(correct[:, more] & ~correct[:, 1 - more])
        correct[only[:surplus], more] = False
    said = np.where(correct, truth[:, None], 1 - truth[:, None])
    return OutcomePool(kind=VERDICTS, codes=truth.astype(np.float64),
                       items=Items(prediction=said.astype(np.float64)))


def play(contest: Contest, method_name: str, repeats: int, seed: int) -> tuple[Ints, Ints]:
    """Of each repeat the system that is named, -1 for none, and the labels by then."""
    method, stack = outcome_method(method_name), contest.stack()
    ready = prepared(method, contest.pool, stack)
    named, labels = np.full(repeats, -1), np.full(repeats, contest.looks[-1])
    rounds = simulate_rounds(
        method, ready, contest.looks, repeats=repeats, batch_size=contest.batch, seed=seed
    )
    for look, state in rounds:
        for view in views(method, state) if look >= LEAST_LABELS_OF_LOOK else ():
            winner = view.ranking.winner
            new = (named[view.rows] < 0) & (winner >= 0)
            named[view.rows[new]], labels[view.rows[new]] = winner[new], look
        if (named >= 0).all():
            break
    return named, labels


def wrong(contest: Contest, named: Ints) -> int:
    """How many of those that are named another one beats by more than the margin."""
    stack = contest.stack()
    pairs = pairs_of(stack.measures)
    value = contest.pool.truth(stack)[pairs.values]
    return int((value[named[named >= 0]] < value.max() - contest.margin - 1e-12).sum())


def oracle(right: Floats, margin: float, looks: int) -> float:
    """Labels of an allocation over the systems that knows their values: the least with which the standard
    error of each difference from the best, drawn without replacement, is its gap plus the margin over z."""
    n, k = right.shape
    z = float(scipy.special.ndtri(1 - 0.05 / (k - 1) / looks))
    value = np.sort(right.mean(axis=0))[::-1]
    spread = value * (1 - value)
    most = ((value[0] - value[1:] + margin) / z) ** 2

    def labels(variance: Floats, part: Floats) -> Floats:
        """Of a mean with this variance, from a population with this spread."""
        return np.asarray(part / (variance + part / n))

    first = np.linspace(1e-3, 0.999, 999) * most.min()
    rest = np.maximum(most[:, None] - first, 1e-12)
    return float((labels(first, spread[0]) + labels(rest, spread[1:, None]).sum(axis=0)).min())


def oracle_of_verdicts(contest: Contest) -> float:
    """The same of an allocation over what the judges say together, by which of them differ from the best."""
    said, truth = contest.pool.items.prediction, contest.pool.codes
    value = (said == truth[:, None]).mean(axis=0)
    best = int(value.argmax())
    others = np.delete(np.arange(contest.systems), best)
    z = float(scipy.special.ndtri(1 - 0.05 / len(others) / len(contest.looks)))
    goal = ((value[best] - value[others] + contest.margin) / z) ** 2
    patterns, cell = np.unique(said[:, others] != said[:, [best]], axis=0, return_inverse=True)
    items = np.bincount(cell.ravel()).astype(np.float64)
    differs = patterns.astype(np.float64)
    spread = np.zeros(len(items))
    for c in np.flatnonzero(patterns.any(axis=1)):
        spread[c] = (said[cell.ravel() == c, best] == truth[cell.ravel() == c]).var() * 4
    root = racing_root((differs * spread[:, None])[None], items[None], goal[None])[0]

    def enough(labels: float) -> bool:
        per_item = waterfill(root[None], items[None], np.array([labels]))[0]
        drawn = np.maximum(items * per_item, 1e-9)
        left = items**2 / len(truth) ** 2 * (1 / drawn - 1 / items) * spread
        return bool(((differs * left[:, None]).sum(axis=0) <= goal).all())

    counts = np.arange(10, len(truth), 10)
    return float(next((n for n in counts if enough(float(n))), len(truth)))


def looks_of(batch: int, most: int) -> tuple[int, ...]:
    """The labels at which an evaluation looks."""
    return tuple(batch * number for number in look_rounds(batch, most))


def bar(repeats: int) -> Iterator[str]:
    """Labels to name the best, against uniform allocation."""
    table = pq.read_table(pool_path("fourteen-systems"))
    names = [name for name in table.column_names if name.startswith("error_")]
    right = 1 - np.column_stack([table[name].to_numpy().astype(np.float64) for name in names])
    people = _summaries()
    rng = stream(1, "judges")
    judges = (0.70, 0.64, 0.62, 0.60, 0.58, 0.56, 0.54, 0.50)
    contests = [
        Contest(name="fourteen systems, a grade each", pool=graded(right), systems=14, measure="mean",
                margin=0.05, batch=100, looks=looks_of(100, 20_000), uniform="stratified"),
        Contest(name="arena of twelve summarisers (people's grades)", pool=compared(people), systems=12,
                measure="win_rate", margin=0.05, looks=looks_of(50, 6_400), uniform="stratified"),
        Contest(name="eight judges on 2,000 pairs", pool=verdicts(rng, 2_000, judges), systems=8,
                measure="accuracy", margin=0.0, batch=25, looks=looks_of(25, 2_000), uniform="passive",
                rows=False),
        Contest(name="three judges on 2,000 pairs", pool=verdicts(rng, 2_000, (0.84, 0.78, 0.72)), systems=3,
                measure="accuracy", margin=0.0, batch=25, looks=looks_of(25, 2_000), uniform="passive",
                rows=False),
    ]
    yield "| pool | margin | uniform: labels | racing: labels | ratio | named: uniform, racing " \
          "| wrong: uniform, racing | oracle's ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for contest in contests:
        many = repeats if contest.systems < 9 else max(repeats // 3, 4)
        found = [play(contest, name, many, 1) for name in (contest.uniform, "guesses")]
        (first, uniform), (second, racing) = found
        best = "–"
        if contest.measure == "mean":
            best = f"{oracle(right, contest.margin, len(contest.looks)) / uniform.mean():.2f}"
        elif not contest.rows:
            best = f"{oracle_of_verdicts(contest) / uniform.mean():.2f}"
        yield (
            f"| {contest.name} | {contest.margin:g} | {uniform.mean():,.0f} | {racing.mean():,.0f} | "
            f"**{racing.mean() / uniform.mean():.2f}** | "
            f"{np.mean(first >= 0):.2f}, {np.mean(second >= 0):.2f} | "
            f"{wrong(contest, first)}, {wrong(contest, second)} of {many} | {best} |"
        )


def _summaries() -> Floats:
    """(100, 12) what people say of the coherence of each system's summary of a document."""
    table = pq.read_table(pool_path("summeval")).to_pandas()
    column = next(name for name in table.columns if name in ("coherence", "human_coherence"))
    return np.asarray(table.pivot(index="document", columns="system", values=column), np.float64)


def errors(repeats: int) -> Iterator[str]:
    """How often a wrong system is named where naming one is hard: each run on a pool of its own."""
    def tied_rows(rng: np.random.Generator) -> Contest:
        right = rng.random((400, 5)) < (0.7, 0.7, 0.6, 0.5, 0.3)
        surplus = int(right[:, 0].sum() - right[:, 1].sum())
        more = int(surplus < 0)
        right[np.flatnonzero(right[:, more])[: abs(surplus)], more] = False
        return Contest(name="", pool=graded(right.astype(np.float64)), systems=5, measure="mean", margin=0.0,
                       looks=looks_of(50, 1_500), uniform="stratified")

    def near_rows(rng: np.random.Generator) -> Contest:
        right = rng.random((400, 5)) < (0.72, 0.7, 0.7, 0.7, 0.5)
        return Contest(name="", pool=graded(right.astype(np.float64)), systems=5, measure="mean", margin=0.0,
                       looks=looks_of(50, 1_500), uniform="stratified")

    def rare_rows(rng: np.random.Generator) -> Contest:
        right = rng.random((500, 4)) < (0.99, 0.985, 0.985, 0.95)
        return Contest(name="", pool=graded(right.astype(np.float64)), systems=4, measure="mean", margin=0.0,
                       looks=looks_of(50, 1_500), uniform="stratified")

    def tied_verdicts(rng: np.random.Generator) -> Contest:
        pool = verdicts(rng, 1_500, (0.66, 0.66, 0.6, 0.55), tied=True)
        return Contest(name="", pool=pool, systems=4, measure="accuracy", margin=0.0, looks=looks_of(50, 750),
                       uniform="passive", rows=False)

    def near_arena(rng: np.random.Generator) -> Contest:
        pool = compared(np.round(rng.normal((0.1, 0.1, 0.0, -0.3), 1.0, (200, 4)), 1))
        return Contest(name="", pool=pool, systems=4, measure="win_rate", margin=0.0, looks=looks_of(50, 750),
                       uniform="stratified")

    families: list[tuple[str, Callable[[np.random.Generator], Contest], bool]] = [
        ("grades of five systems, the two best exactly alike", tied_rows, True),
        ("grades of five systems, four nearly alike", near_rows, False),
        ("grades of four systems that hardly err", rare_rows, False),
        ("verdicts of four judges, the two best exactly alike", tied_verdicts, True),
        ("arena of four, the two best drawn alike", near_arena, False),
    ]
    yield "| pools | method | runs | named | wrong | at most (99%) |"
    yield "|---|---|---|---|---|---|"
    for number, (title, draw, tied) in enumerate(families):
        for method in ("racing", "uniform"):
            named, bad = 0, 0
            for run in range(repeats):
                contest = draw(stream(run, f"family {number}"))
                found, _ = play(contest, "guesses" if method == "racing" else contest.uniform, RUNS, run)
                named += int((found >= 0).sum())
                # of two that are exactly alike neither is the best
                bad += int((found >= 0).sum()) if tied else wrong(contest, found)
            runs = RUNS * repeats
            most = float(scipy.special.betaincinv(bad + 1, runs - bad, 1 - FALSE_ALARM))
            yield f"| {title} | {method} | {runs} | {named / runs:.3f} | {bad / runs:.3f} | {most:.3f} |"


def main() -> None:
    """Rewrite the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=24)
    repeats = parser.parse_args().repeats
    lines = ["**Labels to name the best.**", ""]
    for line in bar(repeats):
        print(line, flush=True)
        lines.append(line)
    lines += ["", f"**Errors.** {RUNS} runs on each of {repeats * 2 // 3} pools of a family.", ""]
    for line in errors(repeats * 2 // 3):
        print(line, flush=True)
        lines.append(line)
    rewrite(OUT, "\n".join(lines), MARK)


if __name__ == "__main__":
    main()
