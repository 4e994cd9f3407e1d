"""How soon do methods call a fall, without the luck of few windows?  `python -m benchmarks.delays`

The log evidence of a window varies three times as much as its mean, so that a delay measured on a hundred
windows is off by a third by chance.  Here the mean is known far better: before every draw it is worked out,
over all cells and labels, what its log factor is expected to be.  Factors less what was expected of them are
0 on average, so they are moved until their mean is that of the expectations.

    growth     expected log evidence of a window, with the best size of step of the betting grid
    limit      the most that any valid evidence from these draws can grow by (`benchmarks.evidence_limit`)
    further    growth where the estimates that are bet on are others of the same draws: they expect of an
               unlabelled item what one rate for each prediction says (no model), the mean of that and of the
               label model, or the true rates, which nobody knows
    delay      windows to the alarm after 20 quiet ones, and its standard error; the label model has learned
               of the fall from the second window on
    one step   the same, told the best size of step
    false      share of streams of 200 windows at the floor with an alarm

With --mix another table: delays where the evidence is the mean of that of the first three estimates, the
label model's included, and by each of them alone.

    R  windows;  C  cells;  G  the betting grid
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.monitoring.betting import EFFECTS, Account, bet_on_round, draw_weights, expected, worth
from assay.evalcore.monitoring.verdicts import HORIZON_WINDOWS, Life, Promise, step
from assay.evalcore.pool.strata import Cells
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints
from benchmarks.evidence_limit import Rates, closest, growth
from benchmarks.monitored_windows import DrawnRound, begun, even_pool, monitored, rounds
from benchmarks.monitoring import ERROR_RATE, first_alarm

METHODS = ("recalibrated", "stratified", "dirichlet-tree:depth=4", "passive")
LABELS, STREAMS, QUIET, LONGEST, EDGE = 50, 2000, 20, 500, 1e-9
FEW = 40     # windows, of what hardly varies from one to the next
PROMISE = Promise(error_rate=ERROR_RATE)
FURTHER = ("no model", "half", "true rates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What is watched, and by which method."""

    method: str
    what: Measure
    floor: float


@dataclass(slots=True, kw_only=True, eq=False)
class Bets:
    """The bets of windows, and what was expected of them."""

    account: Account
    foreseen: Floats     # (R, G) Σ of the expected log factors of the draws

    def moved(self) -> Floats:
        """(R, G) log factors whose mean is the expected one."""
        return np.asarray(self.account.factors - (self.account.factors - self.foreseen).mean(axis=0))


def bet(bets: Bets, drawn: DrawnRound, model: Floats, value: Floats, by_label: Ints) -> None:
    """Follow the draws of a round; model (R, C); value (C, 2); by_label (R, C, 2) unlabelled items."""
    weight, left, there = draw_weights(drawn.design), drawn.design.left.copy(), by_label.copy()
    said, rows = expected(value[None], model), np.arange(len(left))
    for cell, label in zip(drawn.cell.T, drawn.label.T, strict=True):
        mass = there * weight[..., None]
        chance = mass / mass.sum(axis=(1, 2), keepdims=True)
        for c in np.flatnonzero(chance.sum(axis=(0, 2)) > 0):
            for y in (0, 1):
                at = np.where(chance[:, c, y] > 0, c, -1)[:, None]
                after = bet_on_round(bets.account, said, weight, left, at, np.full(at.shape, value[c, y]))
                gained = after.factors - bets.account.factors
                bets.foreseen += chance[:, c, y, None] * gained
        v = value[np.maximum(cell, 0), label]
        bets.account = bet_on_round(bets.account, said, weight, left, cell[:, None], v[:, None])
        new = rows[cell >= 0]
        there[new, cell[new], label[new]] -= 1
        left[new, cell[new]] -= 1


def windows(
    watch: Watch, data: LabelledPool, before: LabelledPool, count: int, by: tuple[str, ...] = ("model",)
) -> tuple[dict[str, Bets], float]:
    """`count` windows, by what is expected of unlabelled items; and the limit of growth of a window."""
    how = monitored(watch.method)
    cells, by_label = prepared_cells(how, data)
    value = worth(watch.what, watch.floor, "below", cells)
    if value is None:
        raise ValueError(f"{watch.what.name} cannot be watched")
    found = {
        name: Bets(account=Account.new(count), foreseen=np.zeros((count, len(EFFECTS)))) for name in by
    }
    rng = stream(1, f"delays/{watch.method}/{watch.what.name}/{watch.floor:.6f}", len(data.label))
    state, limit = begun(how, watch.what, data, count, LABELS, before), 0.0
    for drawn in rounds(how, state, by_label, LABELS, rng):
        left = by_label - state.labelled
        for name, bets in found.items():
            bet(bets, drawn, _model(name, drawn.design.model, cells, left), value, left)
        rate = np.clip(left[..., 1] / np.maximum(left.sum(axis=-1), 1), EDGE, 1 - EDGE)
        limit += _most(Rates(rate=rate, value=value), drawn, (state.labelled * value).sum(axis=(1, 2)))
        state = drawn.after
    return found, limit


def _model(name: str, model: Floats, cells: Cells, left: Ints) -> Floats:
    items = left.sum(axis=-1)
    if name == "model":
        return model
    if name == "true rates":
        return np.where(items > 0, left[..., 1] / np.maximum(items, 1), model)
    one = np.empty_like(model)
    for said in np.unique(cells.prediction):
        at = cells.prediction == said
        one[:, at] = np.average(model[:, at], axis=1, weights=items[:, at] + EDGE)[:, None]
    return one if name == "no model" else (one + model) / 2


def _most(known: Rates, drawn: DrawnRound, labelled: Floats) -> float:
    """The most that evidence can grow by in a round."""
    left = drawn.design.left.astype(np.float64)
    mass = left * draw_weights(drawn.design)
    chance = mass / mass.sum(axis=1, keepdims=True)
    null, _ = closest(known, left, chance, labelled)
    draws = (drawn.cell >= 0).sum(axis=1).mean()
    return float(draws * growth(known.rate, null, chance).mean())


def alarms(parts: Mapping[str, Floats], rng: np.random.Generator) -> Floats:
    """(S,) windows from the fall to the alarm."""
    def some(name: str, count: int) -> Floats:
        return np.asarray(parts[name][rng.integers(len(parts[name]), size=(STREAMS, count))])

    whole = np.concatenate([some("quiet", QUIET), some("first", 1), some("later", LONGEST - 1)], axis=1)
    return np.minimum(first_alarm(PROMISE, whole, QUIET), LONGEST + 1)


def alarms_of_mix(several: Sequence[Mapping[str, Floats]], rng: np.random.Generator) -> Floats:
    """`alarms` where the evidence is the mean of that of several estimates of the same windows."""
    sizes = {"quiet": QUIET, "first": 1, "later": LONGEST - 1}
    rows = {
        part: rng.integers(len(several[0][part]), size=(STREAMS, count)) for part, count in sizes.items()
    }
    streams = [np.concatenate([one[part][rows[part]] for part in sizes], axis=1) for one in several]
    new = Life.new(PROMISE.test, len(EFFECTS))
    lives = [replace(new, wealth=np.zeros((STREAMS, len(EFFECTS)))) for _ in streams]
    found = np.full(STREAMS, LONGEST + 1.0)
    for w in range(QUIET + LONGEST):
        told = []
        for k, one in enumerate(streams):
            lives[k], evidence = step(PROMISE, lives[k], one[:, w])
            told.append(evidence)
        alarm = np.logaddexp.reduce(told, axis=0) - np.log(len(told)) >= -np.log(ERROR_RATE)
        if w < QUIET:
            for life in lives:
                life.wealth[alarm] = new.wealth
        else:
            found = np.where(alarm & (found > LONGEST), w - QUIET + 1, found)
    return found


def mix_of(name: str, fall: float, method: str, count: int) -> str:
    """A mix of estimates beside that with the label model alone, on the same windows."""
    what = measure(name)
    quiet, fallen = even_pool(0.0, what), even_pool(fall, what)
    truth = float(what.of_confusion(quiet.confusion()))
    watch = Watch(method=method, what=what, floor=truth - fall / 2 if name == "f1" else truth)
    mixed = ("model", "no model", "half")
    parts = {
        part: windows(watch, data, before, count, mixed)[0]
        for part, data, before in (
            ("quiet", quiet, quiet), ("first", fallen, quiet), ("later", fallen, fallen))
    }
    each = [{part: bets[one].moved() for part, bets in parts.items()} for one in mixed]
    told = [
        alarms_of_mix(some, stream(3, f"delays/mix/{name}/{fall}/{method}"))
        for some in (each[:1], each, each[1:2], each[2:])
    ]
    return " | ".join([
        f"| {name} falls by {fall:.2f}", method, *(f"{one.mean():.1f}" for one in told),
        f"{(told[1] - told[0]).mean():+.2f} ± {(told[1] - told[0]).std() / np.sqrt(STREAMS):.2f} |",
    ])


def row_of(name: str, fall: float, method: str, count: int) -> str:
    """One method at one size of a fall."""
    what = measure(name)
    quiet, fallen = even_pool(0.0, what), even_pool(fall, what)
    truth = float(what.of_confusion(quiet.confusion()))
    watch = Watch(method=method, what=what, floor=truth - fall / 2 if name == "f1" else truth)
    parts = {
        part: windows(watch, data, quiet, count)[0]["model"]
        for part, data in (("quiet", quiet), ("first", fallen))
    }
    later, limit = windows(watch, fallen, fallen, count)
    parts["later"] = later["model"]
    others, _ = windows(watch, fallen, fallen, min(FEW, count), FURTHER)
    moved = {part: bets.moved() for part, bets in parts.items()}
    rng = stream(3, f"delays/{name}/{fall}/{method}")
    found = alarms(moved, rng)
    grown = parts["later"].foreseen.mean(axis=0)
    alone = min(
        alarms({part: np.repeat(f[:, [g]], len(EFFECTS), axis=1) for part, f in moved.items()}, rng).mean()
        for g in np.argsort(-grown)[:2]
    )
    at_floor = windows(replace(watch, floor=truth), quiet, quiet, count)[0]["model"].moved()
    stable = at_floor[rng.integers(count, size=(STREAMS, HORIZON_WINDOWS))]
    return " | ".join([
        f"| {name} falls by {fall:.2f}", method, f"{grown.max():.3f}", f"{limit:.3f}",
        ", ".join(f"{others[one].foreseen.mean(axis=0).max():.3f}" for one in FURTHER),
        f"{found.mean():.1f} ± {found.std() / np.sqrt(STREAMS):.1f}", f"{alone:.1f}",
        f"{(first_alarm(PROMISE, stable) <= HORIZON_WINDOWS).mean():.3f} |",
    ])


def main() -> None:
    """Print the table; docs/measured/monitoring.md has it."""
    parser = argparse.ArgumentParser(description="Delays of methods, without the luck of few windows.")
    parser.add_argument("--windows", type=int, default=400)
    parser.add_argument("--measures", nargs="+", default=["f1", "accuracy"])
    parser.add_argument("--falls", nargs="+", type=float, default=[0.2, 0.1, 0.05, 0.03])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--mix", action="store_true", help="mixes of estimates instead")
    given = parser.parse_args()
    if given.mix:
        titles = "fall | method | label model | mix | no model | half | the mix is later by"
        print(f"| {titles} |\n|" + " --- |" * 7)
        for name in given.measures:
            for fall in given.falls:
                print(mix_of(name, fall, given.methods[0], given.windows), flush=True)
        return
    print("| fall | method | growth | limit | further | delay | one step | false |\n|" + " --- |" * 8)
    for name in given.measures:
        for fall in given.falls:
            for method in given.methods:
                print(row_of(name, fall, method, given.windows), flush=True)


if __name__ == "__main__":
    main()
