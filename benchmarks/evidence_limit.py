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

Evidence that grows by g a window reaches c after log(c)/g windows on average at the soonest (Wald).

    spread     standard deviation of what the first draw says of the measure
    one stake  growth of the log evidence a window, of bets as they are with the best stake for each round
    limit      the most it can grow by
    Neyman     the limit if the draws followed Neyman's allocation at r₁
    told when  windows to the alarm at the soonest, for somebody who also knows the window of the drop
    detector   the same for the e-detector's threshold

Growth is worked out at the beginning of each round and not drawn by lot, so few windows will do.

    R   windows;  C   cells
"""

import argparse
from dataclasses import dataclass

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.betting import draw_weights, worth
from assay.evalcore.replay.pool import prepared_cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints
from benchmarks.monitored_windows import begun, even_pool, monitored, rounds
from benchmarks.monitoring import ACCURACY, ERROR_RATE, F1, SETTINGS, Setting

METHODS, WINDOWS = ("passive", "recalibrated"), 12
SMALL_FALLS = (
    Setting(
        title="F1 0.79 falls to 0.69, floor 0.745, 50 labels", measure="f1", labels=50, floor=0.745,
        stable=lambda: even_pool(0.0, F1), after=lambda: even_pool(0.1, F1),
    ),
    Setting(
        title="accuracy falls by 0.03, 50 labels", measure="accuracy", labels=50,
        stable=lambda: even_pool(0.0, ACCURACY), after=lambda: even_pool(0.03, ACCURACY),
    ),
)
BEGINNINGS = 4.0         # ρ H of the e-detector (`evalcore.monitoring.verdicts`)
STAKES: Floats = np.geomspace(0.01, 300.0, 160)
_HALVINGS, _EDGE = 50, 1e-9


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

    low, high = np.zeros(len(left)), np.full(len(left), 1e4)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        kept = margin(at(middle)[0]) >= 0
        low, high = np.where(kept, low, middle), np.where(kept, middle, high)
    return at(high)


def growth(rate: Floats, null: Floats, chance: Floats) -> Floats:
    """Σ_c q_c KL(r₁_c, r₀_c), (R,)."""
    r, s = np.clip(rate, _EDGE, 1 - _EDGE), np.clip(null, _EDGE, 1 - _EDGE)
    return np.asarray((chance * (r * np.log(r / s) + (1 - r) * np.log((1 - r) / (1 - s)))).sum(axis=-1))


def _neyman(known: Rates, size: Ints) -> float:
    """The limit of a draw whose chances follow Neyman's allocation at r₁; half a positive in every cell."""
    rate = (known.rate * size + 0.5) / (size + 1)
    pull = np.abs(known.value[:, 1] - known.value[:, 0]) * np.sqrt(rate * (1 - rate))
    chance = (size * pull)[None].astype(np.float64)
    chance /= chance.sum()
    null, _ = closest(known, size[None].astype(np.float64), chance, np.zeros(1))
    return float(growth(known.rate, null, chance)[0])


def _one_stake(
    known: Rates, left: Floats, chance: Floats, labelled: Floats, model: Floats
) -> tuple[Floats, Floats]:
    """The best growth (R,) of a draw's log factor with one stake, and the standard deviation of X (R,)."""
    items = left.sum(axis=1)[:, None, None]
    told = (1 - model) * known.value[:, 0] + model * known.value[:, 1]                   # (R, C)
    base = labelled + (left * told).sum(axis=1)
    each = np.divide(left, chance, out=np.zeros_like(left), where=chance > 0)[..., None]  # 1/q of an item
    x = (base[:, None, None] + (known.value - told[..., None]) * each) / items
    share = chance[..., None] * np.stack([1 - known.rate, known.rate], axis=-1)
    mean = (share * x).sum(axis=(1, 2))
    spread = np.sqrt((share * x**2).sum(axis=(1, 2)) - mean**2)
    best = np.zeros(len(left))
    for stake in STAKES:
        safe = (stake * np.where(share > 0, x, -np.inf)).max(axis=(1, 2)) < 1
        gained = (share * np.log(np.maximum(1 - stake * x, _EDGE))).sum(axis=(1, 2))
        best = np.where(safe, np.maximum(best, gained), best)
    return best, spread


def row_of(setting: Setting, name: str) -> str:
    """One method in one setting."""
    how, what = monitored(name), measure(setting.measure)
    stable, after = setting.stable(), setting.after()
    floor = float(what.of_confusion(stable.confusion())) if setting.floor is None else setting.floor
    cells, by_label = prepared_cells(how, after)
    value = worth(what, floor, "below", cells)
    if value is None:
        raise ValueError(f"{what.name} cannot be watched")
    known = Rates(rate=np.clip(by_label[:, 1] / cells.size, _EDGE, 1 - _EDGE), value=value)
    state = begun(how, what, after, WINDOWS, setting.labels, stable)
    rng = stream(1, f"evidence limit/{setting.title}/{name}")
    most = one = 0.0
    spreads = []
    for drawn in rounds(how, state, by_label, setting.labels, rng):
        left = drawn.design.left.astype(np.float64)
        labelled = (state.labelled * value).sum(axis=(1, 2))
        mass = left * draw_weights(drawn.design)
        chance = mass / mass.sum(axis=1, keepdims=True)
        null, _ = closest(known, left, chance, labelled)
        draws = (drawn.cell >= 0).sum(axis=1).mean()
        most += draws * growth(known.rate, null, chance).mean()
        gained, spread = _one_stake(known, left, chance, labelled, drawn.design.model)
        one += draws * gained.mean()
        spreads.append(spread.mean())
        state = drawn.after
    neyman = setting.labels * _neyman(known, cells.size)
    soonest = (-np.log(ERROR_RATE) / most, np.log((1 + BEGINNINGS) / ERROR_RATE) / most)
    return " | ".join([
        f"| {setting.title}", name, f"{spreads[0]:.2f}", f"{one:.2f}", f"{most:.2f}", f"{neyman:.2f}",
        f"{soonest[0]:.1f}", f"{soonest[1]:.1f} |",
    ])


def main() -> None:
    """Print the table; docs/measured/monitoring.md has it."""
    parser = argparse.ArgumentParser(description="The limit of evidence from draws.")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    chosen = parser.parse_args().methods
    print("| setting | method | spread | one stake | limit | Neyman | told when | detector |")
    print("|" + "---|" * 8)
    for setting in (*SETTINGS, *SMALL_FALLS):
        for name in chosen:
            print(row_of(setting, name), flush=True)


if __name__ == "__main__":
    main()
