"""Two classes are classes with two names: the bars of one engine, measured.

`python -m benchmarks.one_engine` writes docs/measured/one-engine.md (about half an hour on one processor):

    hard predictions   where evaluations stop whose pool has predictions and no score: real pools, that of the
                       demo, and pools by lot (`lottery`) with every score thrown away
    beside F1          F1 alone, and beside a curve, clusters or another system
    shared draws       F1's error and an area's by the share of the draws that the area gets (`shared_draws`)
    curves             areas and points under curves of rare pools, against the difference estimator
    three classes      the negatives split in two at random, and the names in another order, by every method
    one of many        F1 of one class of 28 against the evaluation that asks it as two classes
    several of many    named classes, and averages over all 28, against labels drawn evenly
    counts and rows    two classes as counts by cell and as rows of items: why both forms of a sample stand
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit

from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.measure import OutcomeMeasure, leading, side_by_side
from assay.evalcore.measures.registry import measure, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import METHODS, OUTCOME_METHODS, method, outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.run import ReplayPlan, Trace, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from assay.tasks.ledger.checkpoint_values import written_value
from assay.tasks.pool.febrl import write_febrl_pool
from assay.tasks.replay.labelled_pool import read_labelled_pool
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool
from benchmarks import lottery, rounds, shared_draws
from benchmarks.reproduce.pools import pool_file, write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "one-engine.md"
POOLS = ("abt-buy", "restaurant")
LOOKS = tuple(range(25, 301, 25))
TARGET = 0.05
LOTS, EACH, FIRST = 40, 5, 9_000      # pools by lot, evaluations of each, and the first of them
LARGEST = 60_000
RARE = ("gratitude", "remorse", "annoyance")
BY_EVERY = tuple(name for name, one in OUTCOME_METHODS.items() if not one.capabilities.needs_clusters)
POINTS = (0.3, 0.5, 0.7)              # thresholds of the curve, as shares of the way from its lowest score up
# squared errors of the same numbers at 100 and at 300 labels before there was one engine (commit a2ab18bd),
# with 100 repeats, the score as it is and its expit as the probability: what questions with a curve were
# answered by when the bar was set
BEFORE = {
    "abt-buy": (
        (3.2e-1, 2.2e-1), (1.2e-1, 1.2e-1), (1.3e-5, 4.9e-33), (4.2e-10, 1.6e-32), (9.8e-2, 8.8e-2),
        (3.7e-2, 9.1e-2), (2.2e-2, 6.0e-2),
    ),
    "restaurant": (
        (4.1e-1, 2.9e-1), (1.4e-2, 3.5e-3), (3.5e-3, 2.5e-7), (4.3e-5, 4.4e-33), (5.9e-1, 2.4e-1),
        (4.4e-1, 1.7e-1), (2.5e-1, 1.1e-1),
    ),
}
_TINY = 1e-9
_NOTHING = 1e-6    # an error or a width that nothing is compared with


def stopped(pool: LabelledPool, repeats: int, seed: int = 1) -> tuple[float, float, float]:
    """Coverage where evaluations of the predictions alone stop, the share that stops on target, and width."""
    alone = pool.prediction - 0.5
    hard = replace(pool, score=alone, probability=np.asarray(expit(alone)), unsure=True)
    f1 = measure("f1")
    truth = float(f1.of_confusion(hard.confusion()))
    (trace,) = simulate(
        method("recalibrated"), hard, [f1], ReplayPlan(budgets=LOOKS, seed=seed), repeats=repeats
    )
    met = ((trace.upper - trace.lower) / 2 <= TARGET) & (np.array(LOOKS) >= 100)
    twice = met[:, 1:] & met[:, :-1]
    at = np.where(twice.any(axis=1), twice.argmax(axis=1) + 1, len(LOOKS) - 1)[:, None]
    lower, upper = (np.take_along_axis(end, at, axis=1) for end in (trace.lower, trace.upper))
    covered = (lower <= truth + _TINY) & (truth <= upper + _TINY)
    return float(covered.mean()), float(twice.any(axis=1).mean()), float((upper - lower).mean())


def by_lot() -> Iterator[lottery.Ticket]:
    """Pools whose F1 exists, of at most LARGEST items, with both predictions."""
    index = FIRST
    while True:
        ticket = lottery.draw(index)
        index += 1
        predicted = ticket.pool.confusion().sum(axis=1)
        if len(ticket.pool.label) <= LARGEST and predicted.min() > 0:
            yield ticket


def _of_the_demo() -> LabelledPool:
    """The pool of `assay demo`, as a pool of predictions."""
    with tempfile.TemporaryDirectory() as folder:
        made = write_febrl_pool(Path(folder))
    (tn, fn), (fp, tp) = made.confusion.astype(np.int64).tolist()
    prediction, label = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [tn, fn, fp, tp], axis=0).T
    none = np.zeros(len(label))
    return LabelledPool(score=none, probability=none, prediction=prediction, label=label)


def _hard(repeats: int) -> Iterator[str]:
    yield "| pool | evaluations | coverage at the stop | stopped on target | mean width |"
    yield "| --- | --- | --- | --- | --- |"
    for name in (*POOLS, "the demo's"):
        pool = _of_the_demo() if name == "the demo's" else read_labelled_pool(pool_file(name))
        covered, met, width = stopped(pool, repeats)
        yield f"| {name} | {repeats} | {covered:.3f} | {met:.2f} | {width:.2f} |"
    tickets = by_lot()
    found = np.array([stopped(next(tickets).pool, EACH, seed=n) for n in range(LOTS)])
    covered, met, width = found.mean(axis=0)
    yield (f"| {LOTS} by lot | {LOTS * EACH} | {covered:.3f} (lowest {found[:, 0].min():.1f}) | {met:.2f} | "
           f"{width:.2f} |")


def _figures(trace: Trace, truth: float) -> list[Floats]:
    """Squared error, coverage and width, (budgets,) each.  Without one the value counts as 0."""
    value = np.where(np.isfinite(trace.value), trace.value, 0.0)
    covered = (trace.lower <= truth + _TINY) & (truth <= trace.upper + _TINY)
    width = np.nan_to_num(trace.upper - trace.lower, nan=1.0)    # no interval: all of the range
    return [((value - truth) ** 2).mean(axis=0), covered.mean(axis=0), width.mean(axis=0)]


def _told(found: list[Floats], beside: list[Floats] | None = None) -> str:
    """The figures at each budget; with the error and the width as multiples of those of `beside`."""
    cells = []
    for b, (mse, covered, width) in enumerate(zip(*found, strict=True)):
        cell = f"{mse:.1e} · {covered:.2f} · {width:.3f}"
        if beside is not None:
            cell += f" ({_times(mse, beside[0][b])}, {_times(width, beside[2][b])})"
        cells.append(cell)
    return " | ".join(cells)


def _times(one: float, other: float) -> str:
    return f"{one / other:.2f}" if other > _NOTHING else "–"


def _head(columns: Sequence[str], budgets: Sequence[int]) -> Iterator[str]:
    yield "| " + " | ".join([*columns, *(f"{b:,} labels" for b in budgets)]) + " |"
    yield "| --- " * (len(columns) + len(budgets)) + "|"


@cache
def _as_classes(name: str) -> OutcomePool:
    """A pool of two classes, written as classes of which one is counted."""
    pool = read_labelled_pool(pool_file(name))
    return OutcomePool(
        kind=Classes(("negative", "positive"), positive="positive"), codes=pool.label.astype(np.float64),
        items=Items(prediction=pool.prediction.astype(np.float64)[:, None], score=pool.score[:, None]),
    )


def _score(pool: OutcomePool) -> Floats:
    """(N,) of a pool that has one."""
    if pool.items.score is None:
        raise ValueError("the pool has no score")
    return pool.items.score[:, 0]


def _run(
    pool: OutcomePool, measures: Sequence[OutcomeMeasure], budgets: Sequence[int], repeats: int,
    by: str = "recalibrated", drive: tuple[bool, ...] = (),
) -> list[list[Floats]]:
    """The figures of each number."""
    stack = Stack(kind=pool.kind, measures=tuple(measures), drive=drive)
    traces = simulate(outcome_method(by), pool, stack, ReplayPlan(budgets=budgets), repeats=repeats)
    return [_figures(*one) for one in zip(traces, pool.truth(stack).tolist(), strict=True)]


def _beside(repeats: int, budgets: Sequence[int]) -> Iterator[str]:
    yield from _head(("pool", "asked"), budgets)
    for name in POOLS:
        pool = _as_classes(name)
        made, n = grids(pool.kind, pool.items), len(pool.codes)
        f1, area = (outcome_measure(one, pool.kind, n, grids=made) for one in ("f1", "roc_auc"))
        (alone,) = _run(pool, [f1], budgets, repeats)
        yield f"| {name} | F1 | {_told(alone)} |"
        yield f"| {name} | F1, ROC AUC | {_told(_run(pool, [f1, area], budgets, repeats)[0], alone)} |"
        five = stream(0, "one engine", n, "clusters").permutation(n) // 5
        clustered = replace(pool, items=replace(pool.items, cluster=five.astype(np.float64)[:, None]))
        (own,) = _run(clustered, [f1], budgets, repeats)
        yield f"| {name} | F1, in clusters of five at random | {_told(own, alone)} |"
        order = np.sort(_score(pool))[::-1]
        more = (_score(pool) >= order[2 * int(pool.items.prediction.sum())]).astype(np.float64)
        both = replace(pool, items=replace(
            pool.items, prediction=np.column_stack([pool.items.prediction[:, 0], more]), score=None,
        ))
        hard = replace(pool, items=replace(pool.items, score=None))
        (bare,) = _run(hard, [f1], budgets, repeats)
        yield f"| {name} | F1, predictions alone | {_told(bare)} |"
        values = [outcome_measure("f1", pool.kind, n, system=s) for s in (0, 1)]
        asked = side_by_side([values])
        found = _run(both, asked, budgets, repeats, drive=leading(asked))
        at = next(i for i, one in enumerate(asked) if one.versus is None and one.system == 0)
        yield f"| {name} | F1, predictions alone, beside another system | {_told(found[at], bare)} |"


CURVES = """\
In brackets, multiples of the difference estimator (`guesses`), where every number drives. Of `recalibrated`
the area drives, and the points get a part of each batch; "both drive": `drive: [roc_auc, pr_curve]`, half as
many repeats. "Before": the error before there was one engine, and how many times that "both drive" has.
Points 1 to 3 are precision at three thresholds, 4 to 6 recall. Bar: coverage at least 0.93, error at most
0.2 times."""


def _curves(repeats: int, budgets: Sequence[int]) -> Iterator[str]:
    yield from _head(("pool", "measure", "by"), budgets)
    for name in POOLS:
        pool = _as_classes(name)
        made, n = grids(pool.kind, pool.items), len(pool.codes)
        score = _score(pool)
        low, high = np.quantile(score, 0.999), score.max()
        at = tuple(float(low + (high - low) * share) for share in POINTS)
        asked = [
            outcome_measure("roc_auc", pool.kind, n, grids=made),
            outcome_measure("pr_curve", pool.kind, n, options={"at": at}, grids=made),
        ]
        by = {one: _run(pool, asked, budgets, repeats, one) for one in ("guesses", "recalibrated")}
        served = _run(pool, asked, budgets, max(repeats // 2, 1), drive=(True, True))
        titles = [f"{one.title} {part + 1}" if len(one.parts) > 1 else one.title
                  for one in asked for part in range(len(one.parts))]
        for q, title in enumerate(titles):
            yield f"| {name} | {title} | `guesses` | {_told(by['guesses'][q])} |"
            yield f"| {name} | {title} | `recalibrated` | {_told(by['recalibrated'][q], by['guesses'][q])} |"
            told = _told(served[q], by["guesses"][q])
            yield f"| {name} | {title} | `recalibrated`, both drive | {told} |"
            then = [f"{mse:.1e} ({_times(served[q][0][b], mse)})" for b, mse in enumerate(BEFORE[name][q])]
            yield f"| {name} | {title} | before | {' | '.join(then)} |"


def _split(pool: OutcomePool, names: tuple[str, str, str]) -> OutcomePool:
    """The negatives of a pool of two classes in two at random, labels and predictions each on their own."""
    rng = stream(0, "one engine", len(pool.codes), "split")
    place = {name: float(at) for at, name in enumerate(names)}

    def codes(positive: Floats) -> Floats:
        other = np.where(rng.random(len(positive)) < 0.5, place["this"], place["that"])
        return np.where(positive > 0, place["positive"], other)

    said = codes(pool.items.prediction[:, 0])
    p = np.asarray(expit(_score(pool)))
    probability = np.zeros((len(p), 3))
    probability[:, int(place["positive"])] = p
    for name in ("this", "that"):
        probability[:, int(place[name])] = (1 - p) / 2
    return OutcomePool(
        kind=Classes(names), codes=codes(pool.codes),
        items=Items(prediction=said[:, None], probability=probability),
    )


def _three(repeats: int, budget: int) -> Iterator[str]:
    yield from _head(("pool", "method", "classes"), [budget])
    for name in POOLS:
        two = _as_classes(name)
        three = [_split(two, names) for names in (("this", "that", "positive"), ("this", "positive", "that"))]
        p = np.asarray(expit(_score(two)))
        two = OutcomePool(
            kind=Classes(("negative", "positive")), codes=two.codes,
            items=Items(prediction=two.items.prediction, probability=np.stack([1 - p, p], axis=1)),
        )
        for by in BY_EVERY:
            found = []
            for pool in (two, *three):
                f1 = outcome_measure("f1", pool.kind, len(pool.codes), options={"class": "positive"})
                found += _run(pool, [f1], [budget], repeats, by)
            yield f"| {name} | `{by}` | two | {_told(found[0])} |"
            yield f"| {name} | `{by}` | three | {_told(found[1], found[0])} |"
            yield f"| {name} | `{by}` | three, named in another order | {_told(found[2], found[0])} |"


@cache
def _many() -> OutcomePool:
    columns = OutcomeColumns(outcome="classes", probability="p_")
    return read_outcome_pool(pool_file("goemotions-classes"), columns)


def _f1_of(pool: OutcomePool, name: str) -> OutcomeMeasure:
    return outcome_measure("f1", pool.kind, len(pool.codes), options={"class": name})


def _of_many(repeats: int, budgets: Sequence[int], names: Sequence[str] = RARE) -> Iterator[str]:
    many = _many()
    yield from _head(("class", "share", "asked as"), budgets)
    for name in names:
        k = many.kind.parts.index(name)
        p = np.asarray(many.items.probability)[:, k]
        two = OutcomePool(
            kind=Classes(("other", name), positive=name), codes=(many.codes == k).astype(np.float64),
            items=Items(
                prediction=(many.items.prediction == k).astype(np.float64),
                probability=np.stack([1 - p, p], axis=1),
            ),
        )
        (alone,) = _run(two, [outcome_measure("f1", two.kind, len(two.codes))], budgets, repeats)
        (one,) = _run(many, [_f1_of(many, name)], budgets, repeats)
        share = f"{(many.codes == k).mean():.1%}"
        yield f"| {name} | {share} | two classes | {_told(alone)} |"
        yield f"| {name} | {share} | one of 28 | {_told(one, alone)} |"


def _several(repeats: int, budgets: Sequence[int]) -> Iterator[str]:
    many = _many()
    averages = [outcome_measure(name, many.kind, len(many.codes)) for name in ("macro_f1", "macro_recall")]
    yield from _head(("asked", "of it", "by"), budgets)
    for asked, measures in (
        ("three classes", [_f1_of(many, name) for name in RARE]), *((one.title, [one]) for one in averages),
    ):
        by = {one: _run(many, measures, budgets, repeats, one) for one in ("passive", "recalibrated")}
        for q, one in enumerate(measures):
            even, mine = by["passive"][q], by["recalibrated"][q]
            yield f"| {asked} | {one.full_name} | `passive` | {_told(even)} |"
            yield f"| {asked} | {one.full_name} | `recalibrated` | {_told(mine, even)} |"


IN_BOTH = tuple(name for name in METHODS if name in OUTCOME_METHODS)
FORMS = """\
Two classes stand in two forms of one `LabelledSample`: counts by cell and label, for methods published for
two classes, and rows of labelled items, for any outcome. Rows alone were looked at twice and left out:
replays of counts never draw an item, so rows would be made up or move every golden replay; rows grow with
draws with replacement; independent coins give every repeat another number of labels; rows carry losses,
products and clusters that counts do not need (bytes below). About 120 lines would go, and more come.

The same question in both forms, 300 labels: squared error · coverage · mean width · processor seconds of all
repeats. The trees differ most: counts are drawn with replacement, as printed, and their interval covers too
rarely; rows are drawn without, and theirs reaches towards the label model."""


def _both_forms(repeats: int, budget: int) -> Iterator[str]:
    yield "| pool | method | counts | rows |"
    yield "| --- | --- | --- | --- |"
    for name in POOLS:
        pool, rows = read_labelled_pool(pool_file(name)), _as_classes(name)
        rows = replace(rows, items=replace(
            rows.items, score=None, probability=np.stack([1 - pool.probability, pool.probability], axis=1)
        ))
        counts, f1 = measure("f1"), outcome_measure("f1", rows.kind, len(rows.codes))
        truth = float(counts.of_confusion(pool.confusion()))
        for by in IN_BOTH:
            start = time.process_time()
            (trace,) = simulate(method(by), pool, [counts], ReplayPlan(budgets=(budget,)), repeats=repeats)
            between = time.process_time()
            (other,) = _run(rows, [f1], (budget,), repeats, by)
            seconds = between - start, time.process_time() - between
            cells = [f"{_told(found)} · {spent:.1f} s" for found, spent in
                     zip((_figures(trace, truth), other), seconds, strict=True)]
            yield f"| {name} | `{by}` | {cells[0]} | {cells[1]} |"


def _a_round(n_items: int) -> Iterator[str]:
    """Twenty rounds of 50 labels: median processor time, and what is known after them."""
    yield f"| method, {n_items:,} items | form | cells | plan | observe | bytes of the state |"
    yield "| --- | --- | --- | --- | --- | --- |"
    score, prediction, label = rounds.pool(n_items)
    kind = Classes(("negative", "positive"), positive="positive")
    p = np.asarray(expit(score))
    items = Items(
        prediction=prediction.astype(np.float64)[:, None], probability=np.stack([1 - p, p], axis=1)
    )
    for by in ("passive", "dirichlet-tree", "recalibrated"):
        two, rows = method(by), outcome_method(by)
        counted, cell = build_partition(two, score, p, prediction)
        stack = Stack(kind=kind, measures=(outcome_measure("f1", kind, n_items),))
        cut = rows.cut(stack, items)
        for form, chosen, asked, cells, at in (
            ("counts", two, (measure("f1"),), counted.cells, cell),
            ("rows", rows, stack, cut.cells, cut.cell),
        ):
            question = Question(
                method=chosen, cells=cells, measures=asked, confidence=0.95, seed=1, evaluation="one engine"
            )
            order, first = np.argsort(at, kind="stable"), np.cumsum(cells.size) - cells.size
            begun = before_any_label(question)
            state, took = begun, []
            for _ in range(20):
                start = time.process_time()
                drawn = plan(question, state, 50)
                planned = time.process_time()
                at_hand = order[first[drawn.cell] + drawn.rank]
                state = observe(
                    question, state, drawn, label[at_hand].astype(np.float64), items.at(at_hand)
                )
                took.append((planned - start, time.process_time() - planned))
            planning, observing = np.median(np.array(took), axis=0) * 1_000
            size = len(written_value(state.inner, 20, begun.inner)[0])
            yield (f"| `{by}` | {form} | {cells.n_cells} | {planning:.0f} ms | {observing:.0f} ms | "
                   f"{size:,} |")


def _seen(lines: Iterator[str]) -> Iterator[str]:
    """The lines, shown as they come: the page takes a while."""
    for line in lines:
        print(line, flush=True)
        yield line


def page(repeats: int) -> str:
    """All of it."""
    lines = [
        "# One engine",
        "",
        f"Made by `python -m benchmarks.one_engine --repeats {repeats}`: `recalibrated` unless said, nominal "
        "95%. Cells: squared error · coverage · mean width; in brackets error and width as multiples of what "
        "they are compared with. The standard error of a coverage of 0.95 is "
        f"{np.sqrt(0.95 * 0.05 / repeats):.3f}.",
        "",
        "## Predictions without a score",
        "",
        f"F1, looks every 25 labels, ±{TARGET} at two looks in a row from 100 labels on, budget {LOOKS[-1]}. "
        "Bar: coverage at the stop at least 0.94.",
        "",
        *_seen(_hard(2 * repeats)),
        "",
        "## F1 beside something else",
        "",
        "Of F1; in brackets, multiples of F1 alone. Bar: error at most 1.1 times.",
        "",
        *_seen(_beside(repeats, (100, 300))),
        "",
        "### Whose draws they are",
        "",
        *_seen(shared_draws.section({name: _as_classes(name) for name in POOLS}, (100, 300),
                                    max(repeats // 100, 1))),
        "",
        "## Curves of rare pools",
        "",
        CURVES,
        "",
        *_seen(_curves(repeats, (100, 300))),
        "",
        "## The negatives split at random",
        "",
        "F1 of the positive class; in brackets, multiples of the same pool with two classes. Bar: error at "
        "most 1.3 times, and 1.05 between orders of the names.",
        "",
        *_seen(_three(repeats, 300)),
        "",
        "## One class of 28",
        "",
        "F1; in brackets, multiples of the evaluation of two classes. Bar: error and width at most 1.2 "
        "times, coverage at least 0.93.",
        "",
        *_seen(_of_many(repeats, (50, 100, 300, 1_000))),
        "",
        f"{4 * repeats} repeats of what is furthest apart above:",
        "",
        *_seen(_of_many(4 * repeats, (50, 100), RARE[:1])),
        "",
        "## Several of 28",
        "",
        "In brackets, multiples of labels drawn evenly. Bar: coverage at least 0.93.",
        "",
        *_seen(_several(repeats, (50, 100, 300, 1_000))),
        "",
        "## Counts and rows",
        "",
        FORMS,
        "",
        *_seen(_both_forms(repeats, 300)),
        "",
        *_seen(_a_round(10**6)),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=100, help="of a cell; twice that in the first table")
    given = parser.parse_args()
    write_page(OUT, lambda: page(given.repeats), *POOLS, "goemotions-classes")


if __name__ == "__main__":
    main()
