"""How often all figures of what moves a judge hold together, and how often audits of a calibration are wrong.

`python -m benchmarks.judges` rewrites the tables of docs/measured/judges.md between START and END.  Items are
drawn by the methods themselves, round by round; the truth of a pool is what a census of it gives.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints
from assay.evalcore.weighted.judge_audit import audit_of_judge, calibration_of
from assay.evalcore.weighted.judge_effects import Feature, JudgeEffects, judge_effects
from assay.evalcore.weighted.judges import Judge, JudgedPool
from assay.evalcore.weighted.sample import NO_GROUP, WeightedSample
from benchmarks.pages import rewrite

START = "<!-- judges: made by python -m benchmarks.judges -->"
END = "<!-- end of judges -->"
OUT = Path(__file__).parent.parent / "docs" / "measured" / "judges.md"
SIZE, BATCH = 2_000, 50
BUDGETS = (100, 200, 400)
METHODS = ("auto", "passive")
CONFIDENCE = 0.95
VERDICTS = ("pass", "fail", "inconclusive")
GRADES = Classes(tuple("12345"), values=(1.0, 2.0, 3.0, 4.0, 5.0))
KINDS = Classes(("praise", "question", "complaint"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownPool:
    """A pool with its labels, what a judge says of it, and features of its items."""

    kind: OutcomeKind
    measure: str
    label: Floats
    said: Floats
    length: Floats
    layout: Sequence[str]
    system: Sequence[str]

    @property
    def items(self) -> Items:
        """As methods see them."""
        predicts = self.measure == "accuracy"
        none = np.zeros((SIZE, 0))
        return Items(prediction=self.said[:, None] if predicts else none, judge=self.said[:, None])

    def judged(self, at: Ints, sample: WeightedSample) -> JudgedPool:
        """Of some items."""
        return JudgedPool(kind=self.kind, sample=sample, items=self.items.at(at), size=SIZE, positive=None)

    def judge(self, at: Ints) -> Judge:
        """What it says of them."""
        return Judge(name="judge", codes=self.said[at], phi=self.kind.phi(self.said[at]))

    def effects(self, at: Ints, sample: WeightedSample) -> JudgeEffects:
        """Of all features."""
        return judge_effects(self.judged(at, sample), [self.judge(at)], [
            Feature(name="length", number=self.length[at]),
            Feature(name="layout", level=[self.layout[i] for i in at.tolist()]),
            Feature(name="system", level=[self.system[i] for i in at.tolist()]),
        ], CONFIDENCE)


def _pool(name: str) -> KnownPool:
    rng = stream(1, f"benchmarks/judges/{name}")
    length = rng.lognormal(6.0, 0.7, SIZE)
    long = (np.log(length) - 6.0) / 0.7
    layout = rng.choice(["prose", "list", "table"], SIZE, p=[0.6, 0.3, 0.1])
    system = np.where(rng.random(SIZE) < scipy.special.expit(long), "new", "old")
    shape: dict[str, Any] = {"length": length, "layout": layout.tolist(), "system": system.tolist()}
    if name.startswith("grades"):
        moved = 0.25 * long + 0.4 * (layout == "table") if "moved" in name else 0.0
        quality = rng.normal(3.3, 0.9, SIZE)
        said = np.clip(np.round(quality + moved + rng.normal(0, 0.6, SIZE)), 1, 5) - 1
        label = np.clip(np.round(quality), 1, 5) - 1
        return KnownPool(kind=GRADES, measure="mean", label=label, said=said, **shape)
    if name.startswith("numbers"):
        label = rng.gamma(4.0, 5.0, SIZE)
        said = label + rng.standard_t(3, SIZE) * 2 * (1 + (layout == "table")) + long
        return KnownPool(kind=Numbers(), measure="mean", label=label, said=said, **shape)
    rate = (0.02 if "hardly" in name else 0.12) + 0.08 * (layout == "table")
    label = rng.integers(0, 3, SIZE).astype(np.float64)
    said = np.where(rng.random(SIZE) < rate, (label + 1) % 3, label)
    return KnownPool(kind=KINDS, measure="accuracy", label=label, said=said, **shape)


POOLS = ("grades, a judge moved by length and layout", "grades, a judge moved by nothing",
         "numbers, heavy tails", "three classes", "three classes, hardly ever wrong")


def _census(pool: KnownPool, label: Floats) -> WeightedSample:
    return _sample(np.arange(SIZE), label, np.ones(SIZE), np.zeros(SIZE), np.full(SIZE, NO_GROUP), exact=True)


def _sample(
    at: Ints, label: Floats, weight: Floats, factor: Floats, group: Ints, *, exact: bool = False
) -> WeightedSample:
    none = np.zeros(len(at), np.int64)
    return WeightedSample(
        cell=none, rank=at, round=none + 1, draw=np.arange(len(at)), label=label[at], probability=1 / weight,
        weight=weight, factor=factor, group=group, reached=np.array([True]), exact=exact,
    )


def drawn(pool: KnownPool, label: Floats, by: str, run: int) -> Iterator[tuple[int, Ints, WeightedSample]]:
    """The labelled items of one evaluation when each budget is spent; label: what people say."""
    stack = Stack(kind=pool.kind, measures=(outcome_measure(pool.measure, pool.kind, SIZE),))
    chosen = outcome_method(by)
    cut = chosen.cut(stack, pool.items)
    members = np.split(np.argsort(cut.cell, kind="stable"), np.cumsum(cut.cells.size)[:-1])
    question = Question(method=chosen, measures=stack, cells=cut.cells, confidence=CONFIDENCE, seed=run,
                        evaluation=f"judges/{by}")
    state, asked = before_any_label(question), np.zeros(0, np.int64)
    for budget in BUDGETS:
        while state.labels < budget:
            one = plan(question, state, BATCH)
            at = np.array([members[c][r] for c, r in zip(one.cell, one.rank, strict=True)], np.int64)
            state = observe(question, state, one, label[at], pool.items.at(at))
            asked = np.concatenate([asked, at])
        found = question.method.weights(state.inner)
        yield budget, asked, _sample(asked, label, found.weight, found.factor, found.group)


def _key(one: Any) -> tuple[str, str, str | None]:
    return one.figure, one.feature, one.level


def figures_held(name: str, by: str, runs: int) -> Mapping[int, Floats]:
    """Budget -> how many tables held in all figures, single intervals held, and were told."""
    pool, counted = _pool(name), {budget: np.zeros(3) for budget in BUDGETS}
    every = np.arange(SIZE)
    truth = {_key(one): one for one in pool.effects(every, _census(pool, pool.label)).effects}
    for run in range(runs):
        for budget, at, sample in drawn(pool, pool.label, by, run):
            held = [_holds(one, truth[_key(one)]) for one in pool.effects(at, sample).effects
                    if one.value is not None]
            counted[budget] += (all(held), sum(held), len(held))
    return counted


def _holds(one: Any, truth: Any) -> bool:
    value = truth.value if truth.step is None else truth.value * one.step / truth.step
    return bool(one.lower - 1e-9 <= value <= one.upper + 1e-9)


def verdicts(name: str, by: str, runs: int) -> Mapping[tuple[int, str], Floats]:
    """(Budget, margin) -> how many audits passed, failed and stayed open; people have drifted meanwhile."""
    pool, rng = _pool(name), stream(2, f"benchmarks/judges/{name}")
    old = np.sort(rng.choice(SIZE, 400, replace=False))
    weight = np.full(len(old), SIZE / len(old))
    before = _sample(old, pool.label, weight, weight * (weight - 1), np.full(len(old), NO_GROUP))
    calibration = calibration_of(pool.judged(old, before), pool.judge(old))
    if pool.kind is GRADES:
        label = np.where(rng.random(SIZE) < 0.2, np.maximum(pool.label - 1, 0), pool.label)
    else:
        label = pool.label - 1.0 if pool.measure == "mean" else np.where(
            rng.random(SIZE) < 0.1, 2.0, pool.label
        )
    every = np.arange(SIZE)

    def audit(at: Ints, sample: WeightedSample, margin: float) -> Any:
        return audit_of_judge(calibration, pool.judged(at, sample), pool.judge(at), margin=margin,
                              confidence=CONFIDENCE)

    off = max(abs(line.value or 0.0) for line in audit(every, _census(pool, label), 1.0).lines)
    found: dict[tuple[int, str], Floats] = {}
    for run in range(runs):
        for budget, at, sample in drawn(replace(pool, label=label), label, by, run):
            for what, margin in (("at", off), ("beyond", off / 3), ("within", 3 * off)):
                told = np.array([audit(at, sample, margin).verdict == one for one in VERDICTS], np.float64)
                found[budget, what] = found.get((budget, what), np.zeros(3)) + told
    return found


def tables(runs: int) -> Iterator[str]:
    """Both, as Markdown."""
    yield "| pool | method | " + " | ".join(f"{budget} labels" for budget in BUDGETS) + " |"
    yield "|---|---|" + "---|" * len(BUDGETS)
    for name in POOLS:
        for by in METHODS:
            held = figures_held(name, by, runs)
            cells = [f"{held[b][0] / runs:.3f} ({held[b][1] / max(held[b][2], 1):.4f})" for b in BUDGETS]
            yield f"| {name} | {by} | {' | '.join(cells)} |"
    yield ""
    yield "| pool | method | pass, off by the margin | pass, by three margins | fail, by three margins | " \
          "fail, by a third | pass, by a third |"
    yield "|---|---|---|---|---|---|---|"
    for name in (POOLS[0], POOLS[2], POOLS[3]):
        for by in METHODS:
            found = verdicts(name, by, runs)
            asked = (("at", 0), ("beyond", 0), ("beyond", 1), ("within", 1), ("within", 0))
            cells = [
                " / ".join(f"{found[budget, what][verdict] / runs:.3f}" for budget in BUDGETS)
                for what, verdict in asked
            ]
            yield f"| {name} | {by} | {' | '.join(cells)} |"


def main() -> None:
    """Rewrite the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    given = parser.parse_args()
    rewrite(OUT, "\n".join(tables(given.runs)), START, END)


if __name__ == "__main__":
    main()
