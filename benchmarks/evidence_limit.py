"""How soon could a monitor call a drop, whatever the bets?  `python -m benchmarks.evidence_limit`

The bets of a monitor may use nothing but the draws, each with its known probability.  Here somebody bets who
knows the rate of positives of every cell after the drop, r₁.  With q_c the chance that the next draw falls in
cell c, the most that evidence can grow by, whatever it is made of, is

    min over r₀ of Σ_c q_c KL(r₁_c, r₀_c),       r₀ all rates at which the limit is kept

and it is reached by the likelihood ratio r₁/r₀ at the r₀ of the minimum (the growth-rate optimal e-value:
Grünwald, de Heide & Koolen 2024, "Safe testing").  The rates that keep the limit are a half-space,
Σ_c u_c (v_c0 + (v_c1 − v_c0) r_c) ≥ −(what is labelled), so that r₀ is

    r₁ = r₀ + a r₀ (1 − r₀),    a_c = −ν u_c (v_c1 − v_c0)/q_c

with one number ν, and the factor of a draw is 1 + a_c (y − r₀_c): a bet as in
`evalcore.monitoring.betting`, with r₀ for what the label model expects.

    spread     standard deviation of what a draw says of the measure
    growth     of the log evidence, a window: the bets as they are (the best one of the grid), and the limit
    delay      windows to the alarm of the e-detector, after 20 quiet ones: of the bets as they are, of those
               of somebody who knows the rates, and of the latter with the threshold lowered until 5% of the
               streams of 200 stable windows have an alarm
    CUSUM      on the windows' estimates, tuned the same way, as in `benchmarks.monitoring`
    best       the limit if the draws themselves were spread in the best way for it

    R   windows;  C   cells
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.base import Method
from assay.evalcore.monitoring.betting import Account, bet_on_round, draw_weights, expected, worth
from assay.evalcore.monitoring.lifetime import HORIZON, Promise
from assay.evalcore.randomness import stream
from assay.evalcore.replay.pool import LabelledPool, prepare
from assay.evalcore.types import Floats, Ints
from benchmarks.monitored_windows import Windows, begun, monitored, rounds
from benchmarks.monitoring import ERROR_RATE, SETTINGS, STREAMS, Setting, delay, first_alarm, tuned_cusum

PROMISE = Promise(error_rate=ERROR_RATE)
COUNTS = {"passive": 150, "recalibrated": 60}
_HALVINGS, _EDGE = 30, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """What somebody knows who knows the rates after the drop."""

    rate: Floats         # (C,) r₁
    value: Floats        # (C, 2) v of an item, by its label


def closest(known: Rates, left: Floats, chance: Floats, labelled: Floats) -> tuple[Floats, Floats]:
    """r₀ and a (R, C); left, chance (R, C): unlabelled items, and q of a draw; labelled (R,): Σ v so far.

    a is 0 where r₁ itself keeps the limit: no bet.
    """
    change = known.value[:, 1] - known.value[:, 0]
    pull = np.divide(left * change, chance, out=np.zeros_like(left), where=chance > 0)
    pull /= left.sum(axis=1, keepdims=True)

    def at(nu: Floats) -> tuple[Floats, Floats]:
        a = -nu[:, None] * pull
        r = known.rate
        return 2 * r / (1 + a + np.sqrt(np.maximum((1 + a) ** 2 - 4 * a * r, 0.0))), a

    def margin(rate: Floats) -> Floats:
        return np.asarray(labelled + (left * (known.value[:, 0] + change * rate)).sum(axis=1))

    low, high = np.zeros(len(left)), np.full(len(left), 64.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        kept = margin(at(middle)[0]) >= 0
        low, high = np.where(kept, low, middle), np.where(kept, middle, high)
    return at(high)


def growth(rate: Floats, null: Floats, chance: Floats) -> Floats:
    """Σ_c q_c KL(r₁_c, r₀_c), (R,)."""
    r, s = np.clip(rate, _EDGE, 1 - _EDGE), np.clip(null, _EDGE, 1 - _EDGE)
    return np.asarray((chance * (r * np.log(r / s) + (1 - r) * np.log((1 - r) / (1 - s)))).sum(axis=-1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bets:
    """Windows of one pool, with the factors of somebody who knows the rates after the drop."""

    windows: Windows
    knowing: Floats      # (R,) log factors
    growth: Floats       # (R,) the limit, added up over the window's draws
    spread: float        # of what the first draw says
    best: float          # the limit a window, if the draws were spread in the best way for it


def simulated(
    how: Method, setting: Setting, data: LabelledPool, floor: float, count: int, known: Rates
) -> Bets:
    """`count` windows of a pool."""
    what = measure(setting.measure)
    cells, by_label = prepare(how, data)
    rng = stream(1, f"evidence limit/{how.name}/{setting.title}", len(data.label))
    state = begun(how, what, data, count, setting.labels, setting.stable())
    account, knowing, most = Account.new(count), np.zeros(count), np.zeros(count)
    spread = 0.0
    for one in rounds(how, state, by_label, setting.labels, rng):
        weight, left = draw_weights(one.design), one.design.left
        drawn = known.value[np.maximum(one.cell, 0), one.label]
        if not spread:
            spread = _spread(known, weight[0], left[0], one.design.model[0]) / cells.n_items
        gained, limit = _knowing(known, account.labelled, weight, left, one.cell, one.label)
        knowing, most = knowing + gained, most + limit
        account = bet_on_round(
            account, expected(known.value[None], one.design.model), weight, left, one.cell, drawn)
        state = one.after
    e = how.estimate(state, 0.95, rng)[0]
    truth = float(what.of_confusion(data.confusion()))
    return Bets(
        windows=Windows(truth=truth, value=e.value, lower=e.lower, upper=e.upper, factors=account.factors),
        knowing=knowing, growth=most, spread=spread, best=setting.labels * _best(known, cells.size),
    )


def _knowing(
    known: Rates, labelled: Floats, weight: Floats, left: Ints, cell: Ints, label: Ints
) -> tuple[Floats, Floats]:
    """The log factors (R,) of a round's draws, and the most they could grow by."""
    items, labelled = left.astype(np.float64), labelled.copy()
    gained, most = np.zeros(len(left)), np.zeros(len(left))
    for t in range(cell.shape[1]):
        r = np.flatnonzero(cell[:, t] >= 0)
        c, y = cell[r, t], label[r, t]
        mass = items[r] * weight[r]
        chance = mass / mass.sum(axis=1, keepdims=True)
        null, a = closest(known, items[r], chance, labelled[r])
        rows = np.arange(len(r))
        gained[r] += np.log(np.maximum(1 + a[rows, c] * (y - null[rows, c]), _EDGE))
        most[r] += growth(known.rate, null, chance)
        labelled[r] += known.value[c, y]
        items[r, c] -= 1
    return gained, most


def _spread(known: Rates, weight: Floats, left: Ints, model: Floats) -> float:
    """N times the standard deviation of X for the first draw of a window."""
    total = (left * weight).sum()
    told = ((1 - model)[:, None] * known.value[:, :1] + model[:, None] * known.value[:, 1:])
    x = np.divide((known.value - told) * total, weight[:, None], out=np.zeros_like(known.value),
                  where=weight[:, None] > 0)
    chance = (left * weight / total)[:, None] * np.stack([1 - known.rate, known.rate], axis=-1)
    mean = (chance * x).sum()
    return float(np.sqrt((chance * (x - mean) ** 2).sum()))


def _best(known: Rates, size: Ints) -> float:
    """The limit of a draw whose chances follow Neyman's allocation at r₁."""
    pull = np.abs(known.value[:, 1] - known.value[:, 0]) * np.sqrt(known.rate * (1 - known.rate))
    chance = (size * (pull + 1e-6))[None].astype(np.float64)
    chance /= chance.sum()
    null, _ = closest(known, size[None].astype(np.float64), chance, np.zeros(1))
    return float(growth(known.rate, null, chance)[0])


def row_of(setting: Setting, name: str) -> str:
    """One method in one setting."""
    how, what = monitored(name), measure(setting.measure)
    stable, after = setting.stable(), setting.after()
    floor = float(what.of_confusion(stable.confusion())) if setting.floor is None else setting.floor
    cells, by_label = prepare(how, after)
    value = worth(what, floor, "below", cells)
    if value is None:
        raise ValueError(f"{what.name} cannot be watched")
    known = Rates(rate=np.clip(by_label[:, 1] / cells.size, _EDGE, 1 - _EDGE), value=value)
    quiet, late = (simulated(how, setting, pool, floor, COUNTS[name], known) for pool in (stable, after))
    rng = stream(3, f"evidence limit/{setting.title}/{name}")
    usual, _ = delay(PROMISE, quiet.windows, late.windows, 20, rng)
    told = [_known_delay(quiet, late, rng), _known_delay(quiet, late, rng, _tuned(quiet, rng))]
    cusum = tuned_cusum(quiet.windows, late.windows, floor, rng)
    return " | ".join([
        f"| {setting.title}", name, f"{late.spread:.2f}",
        f"{late.windows.factors.mean(axis=0).max():.2f}", f"{late.growth.mean():.2f}", f"{late.best:.2f}",
        f"{usual:.1f}", f"{told[0]:.1f}", f"{told[1]:.1f}", f"{cusum:.1f} |",
    ])


def _as_windows(bets: Bets) -> Windows:
    w = bets.windows
    return Windows(truth=w.truth, value=w.value, lower=w.lower, upper=w.upper, factors=bets.knowing[:, None])


def _known_delay(quiet: Bets, late: Bets, rng: np.random.Generator, error_rate: float = ERROR_RATE) -> float:
    return delay(Promise(error_rate=error_rate), _as_windows(quiet), _as_windows(late), 20, rng)[0]


def _tuned(quiet: Bets, rng: np.random.Generator) -> float:
    """The error rate to ask for, so that ERROR_RATE of the streams of stable windows have an alarm."""
    rows = rng.integers(len(quiet.knowing), size=(STREAMS, HORIZON))
    rates: Sequence[float] = np.geomspace(ERROR_RATE, 0.99, 30).tolist()
    alarms = [
        (first_alarm(Promise(error_rate=rate), quiet.knowing[rows][..., None]) <= HORIZON).mean()
        for rate in rates
    ]
    return max((rate for rate, share in zip(rates, alarms, strict=True) if share <= ERROR_RATE),
               default=ERROR_RATE)


def main() -> None:
    """Print the table; docs/monitoring-measured.md has it."""
    parser = argparse.ArgumentParser(description="The limit of evidence from draws.")
    parser.add_argument("--methods", nargs="+", default=list(COUNTS), choices=list(COUNTS))
    chosen = parser.parse_args().methods
    print("| setting | method | spread | growth | limit | best | delay | knowing the rates | and tuned | "
          "CUSUM |\n|" + "---|" * 10)
    for setting in SETTINGS:
        if setting.measure == "accuracy":
            for name in chosen:
                print(row_of(setting, name), flush=True)


if __name__ == "__main__":
    main()
