"""Figures of what moves a judge hold together; audits of a calibration pass falsely as seldom as they say.

Uneven draws of finite pools, whose truth is what a census of the pool gives.  A share of runs is held against
its bound with a chance of a false alarm of 10⁻⁴ at most, were the truth at the bound.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy
from doubles.studies import in_a_study

from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from assay.evalcore.weighted.judge_audit import audit_of_judge, calibration_of
from assay.evalcore.weighted.judge_effects import Feature, judge_effects
from assay.evalcore.weighted.judges import Judge, JudgedPool
from assay.evalcore.weighted.sample import WeightedSample

N, RUNS, CONFIDENCE = 1500, 100, 0.95
GRADES = Classes(("1", "2", "3", "4"), (1.0, 2.0, 3.0, 4.0))
YES_OR_NO = Classes(("no", "yes"))


def least(runs: int) -> int:
    """Runs of which the intervals must hold together; 100 find a coverage of 0.8 in nine of ten cases."""
    return int(scipy.stats.binom.ppf(1e-4, runs, CONFIDENCE))


def most(runs: int) -> int:
    """Runs that may pass at the margin."""
    return int(scipy.stats.binom.ppf(1 - 1e-4, runs, (1 - CONFIDENCE) / 2))


@dataclass(frozen=True)
class World:
    """A pool whose labels and judge are known."""

    kind: OutcomeKind
    label: Floats
    said: Floats
    features: dict[str, Floats | list[str]]
    chance: Floats      # of each item to be asked

    def asked(self, rng) -> Floats:
        return np.flatnonzero(rng.random(N) < self.chance)

    def pool(self, at, *, census=False) -> JudgedPool:
        w = np.ones(len(at)) if census else 1 / self.chance[at]
        none = np.zeros(len(at), np.int64)
        sample = WeightedSample(
            cell=none, rank=at, round=none + 1, draw=at, label=self.label[at], probability=1 / w, weight=w,
            factor=w * (w - 1), group=none - 1, reached=np.array([True]), exact=census,
        )
        positive = "yes" if self.kind == YES_OR_NO else None
        items = Items(prediction=self.said[at][:, None])
        return JudgedPool(kind=self.kind, sample=sample, items=items, size=N, positive=positive)

    def judge(self, at) -> Judge:
        return Judge(name="judge", codes=self.said[at], phi=self.kind.phi(self.said[at]))

    def seen(self, at) -> list[Feature]:
        return [
            Feature(name=name, number=values[at]) if isinstance(values, np.ndarray)
            else Feature(name=name, level=[values[i] for i in at]) for name, values in self.features.items()
        ]


def a_world(name: str, labels: int) -> World:
    rng = stream(11, f"judges/{name}")
    length = rng.gamma(1.5, 300.0, N)
    layout = rng.choice(["prose", "table", "code", "list"], N, p=[0.5, 0.25, 0.15, 0.1])
    model = np.where(rng.random(N) < scipy.special.expit((length - 450) / 300), "large", "small")
    long, coded = (length - length.mean()) / length.std(), layout == "code"
    if name in ("grades", "nothing moves it"):
        moved = 0.25 * long + 0.5 * coded + 0.3 * (model == "large") if name == "grades" else 0.0
        quality = rng.normal(2.6, 1.0, N)
        kind, label = GRADES, np.clip(np.round(quality), 1, 4) - 1
        said = np.clip(np.round(quality + moved + rng.normal(0, 0.6, N)), 1, 4) - 1
    elif name == "numbers with tails":
        kind, label = Numbers(), rng.normal(50.0, 10.0, N)
        said = label + rng.standard_t(3, N) * 2.0 * (1 + coded) + 1.5 * long
    else:
        kind, label = YES_OR_NO, (rng.random(N) < 0.7).astype(float)
        said = np.where(rng.random(N) < 0.03 + 0.07 * coded, 1 - label, label)
    size = (0.5 + rng.random(N)) * (1 + (label != said))     # errors are asked more often
    return World(kind, label, said, {
        "length": length, "layout": layout.tolist(), "model": model.tolist(),
    }, np.minimum(labels * size / size.sum(), 1.0))


WORLDS = ("grades", "nothing moves it", "numbers with tails", "hardly ever wrong")


@pytest.mark.parametrize("labels", [90, in_a_study(250)])
@pytest.mark.parametrize("name", WORLDS)
def test_all_figures_of_a_table_hold_together(name, labels):
    world, every, held = a_world(name, labels), np.arange(N), 0
    truth = {
        (e.figure, e.feature, e.level): e for e in judge_effects(
            world.pool(every, census=True), [world.judge(every)], world.seen(every), CONFIDENCE
        ).effects
    }
    for run in range(RUNS):
        at = world.asked(stream(12, f"judges/{name}/{labels}", run))
        told = judge_effects(world.pool(at), [world.judge(at)], world.seen(at), CONFIDENCE).effects
        assert {(e.figure, e.feature, e.level) for e in told} == set(truth)
        held += all(_holds(e, truth[e.figure, e.feature, e.level]) for e in told if e.value is not None)
    assert held >= least(RUNS)


def _holds(told, truth) -> bool:
    # of a number: of the step that is said
    value = truth.value if truth.step is None else truth.value * told.step / truth.step
    return told.lower - 1e-9 <= value <= told.upper + 1e-9


def test_what_moves_a_judge_is_found():
    world, found = a_world("grades", 400), 0
    for run in range(30):
        at = world.asked(stream(13, "judges/found", run))
        told = judge_effects(world.pool(at), [world.judge(at)], world.seen(at), CONFIDENCE).effects
        found += next(e for e in told if (e.figure, e.feature) == ("shift", "length")).beyond_chance
    assert found >= 25


@pytest.mark.parametrize("labels", [60, in_a_study(200)])
@pytest.mark.parametrize("name", ["grades", "numbers with tails", "hardly ever wrong"])
def test_a_calibration_that_is_off_by_the_margin_hardly_ever_passes(name, labels):
    world, every = a_world(name, labels), np.arange(N)
    old = np.sort(stream(14, "judges/old").choice(N, 300, replace=False))
    calibration = calibration_of(world.pool(old), world.judge(old))
    rng = stream(14, f"judges/drift/{name}")
    drifted = {"grades": np.where(rng.random(N) < 0.25, np.maximum(world.label - 1, 0), world.label),
               "numbers with tails": world.label - 1.0}.get(
        name, np.where(rng.random(N) < 0.1, 0.0, world.label))
    new = World(world.kind, drifted, world.said, {}, world.chance)
    census = audit_of_judge(
        calibration, new.pool(every, census=True), new.judge(every), margin=1.0, confidence=CONFIDENCE
    )
    [line] = census.lines
    assert line.interval == "exact"
    off, verdicts = abs(line.value), []
    for run in range(RUNS):
        at = new.asked(stream(15, f"judges/audit/{name}/{labels}", run))
        verdicts.append([
            audit_of_judge(calibration, new.pool(at), new.judge(at), margin=margin, confidence=CONFIDENCE)
            .verdict for margin in (off, 4 * off, off / 8)
        ])
    at_margin, far_within, far_beyond = zip(*verdicts, strict=True)
    assert at_margin.count("pass") <= most(RUNS)
    assert at_margin.count("fail") <= most(RUNS)
    assert "fail" not in far_within
    assert "pass" not in far_beyond
