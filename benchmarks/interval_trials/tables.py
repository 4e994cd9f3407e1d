"""What the trials did: coverage, width and labels to a half-width, by class of pools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.recalibration.interval.usual import Ends
from assay.evalcore.replay.labels_to import labels_to
from assay.evalcore.types import Floats
from benchmarks.interval_trials.collect import CLASSES, Result
from benchmarks.interval_trials.look_alikes import DIGITS, INVERTED
from benchmarks.interval_trials.trials import GUARDS, IN_WORLDS, TRIALS
from benchmarks.interval_trials.view import row

HALF_WIDTHS = (0.10, 0.05)
_NARROW = 0.002
_ASKS = 0.02            # the oracle's width from which on others are compared with it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judged:
    """A trial on one pool, by budget; a row for each."""

    covered: Floats      # share of runs
    width: Floats        # mean
    runs: int

    @staticmethod
    def of(ends: Sequence[Ends], truth: float) -> "Judged":
        """ends: at each budget."""
        return Judged(
            covered=np.array([_covers(e, truth).mean() for e in ends]),
            width=np.array([(e[1] - e[0]).mean() for e in ends]),
            runs=len(ends[0][0]),
        )


def _covers(ends: Ends, truth: float) -> Floats:
    return np.asarray((ends[0] <= truth + 1e-9) & (truth <= ends[1] + 1e-9))


def tables(results: Sequence[Result]) -> str:
    """All tables, as far as there are runs."""
    # where F1 is 0 nothing that was found can be wrong
    by_lot = [r for r in results if r.group in CLASSES and r.truth > 0]
    alike = {name: [r for r in results if r.group == name] for name in (DIGITS, INVERTED)}
    parts = []
    if by_lot:
        parts += [_trials(by_lot), _in_worlds([r for r in by_lot if r.worlds])]
    parts += [_guards(name, group) for name, group in alike.items() if group]
    if by_lot:
        parts.append(_guards("by lot", by_lot))
    return "\n".join(parts)


def judged(results: Sequence[Result], names: Mapping[str, Callable[..., Ends]]) -> dict[str, list[Judged]]:
    """Every trial on every pool."""
    return {
        name: [
            Judged.of([make(v, n) for v, n in zip(r.views, r.terms, strict=True)], r.truth) for r in results
        ]
        for name, make in names.items()
    }


def _trials(results: Sequence[Result]) -> str:
    found = judged(results, TRIALS)
    head = "| interval | " + " | ".join(
        f"{name} ({sum(r.group == name for r in results)} pools)" for name in CLASSES
    ) + " | labels to ±0.10 | to ±0.05 |"
    lines = [head, "|---" * (len(CLASSES) + 3) + "|"]
    for name, each in found.items():
        cells = [_cell(results, each, found["today"], group) for group in CLASSES]
        lines.append("| " + " | ".join(
            [name, *cells, *(_labels(results, each, found["today"], h) for h in HALF_WIDTHS)]) + " |")
    return "\n".join(lines) + "\n"


def _cell(results: Sequence[Result], each: list[Judged], today: list[Judged], group: str) -> str:
    """Coverage (lowest pool's), and the width over today's and over the oracle's."""
    own = [i for i, r in enumerate(results) if r.group == group]
    if not own:
        return "-"
    covered = [each[i].covered.mean() for i in own]
    over = np.concatenate([np.log(_ratio(each[i].width, today[i].width)) for i in own])
    best = np.concatenate([_over_oracle(each[i].width, 2 * np.array(results[i].oracle)) for i in own])
    return (
        f"{np.mean(covered):.3f} ({np.min(covered):.2f}); {np.exp(over.mean()):.2f}; "
        f"{np.median(best):.2f}"
    )


def _over_oracle(width: Floats, oracle: Floats) -> Floats:
    """Widths over the oracle's, at the budgets at which that has anything left to ask."""
    asks = oracle >= _ASKS
    return width[asks] / oracle[asks]


def _ratio(a: Floats, b: Floats) -> Floats:
    """Widths over widths; below _NARROW nobody cares which is the narrower."""
    return np.asarray(np.maximum(a, _NARROW) / np.maximum(b, _NARROW))


def _labels(results: Sequence[Result], each: list[Judged], today: list[Judged], half_width: float) -> str:
    """Labels over those of today's interval: geometric mean over the pools that both reach."""
    logs, only = [], 0
    for r, one, now in zip(results, each, today, strict=True):
        mine, its = (
            labels_to(half_width, r.budgets, j.width.tolist(), j.covered.tolist(),
                      repeats=[j.runs] * len(r.budgets), least_coverage=0.94)
            for j in (one, now)
        )
        if mine.labels and its.labels and not (mine.at_most and its.at_most):
            logs.append(np.log(mine.labels / its.labels))
        only += bool(mine.labels and not its.labels) - bool(its.labels and not mine.labels)
    mean = f"{np.exp(np.mean(logs)):.2f}" if logs else "-"
    return f"{mean} ({len(logs)}; {only:+d})"


def _in_worlds(results: Sequence[Result]) -> str:
    head = "| interval | " + " | ".join(CLASSES) + " |"
    lines = [head, "|---" * (len(CLASSES) + 1) + "|"]
    for name, make in IN_WORLDS.items():
        cells = []
        for group in CLASSES:
            covered, ratio, runs = [], [], 0
            for r in results:
                if r.group != group:
                    continue
                for budget, own in r.worlds.items():
                    v = r.views[r.budgets.index(budget)]
                    ends = [make(row(v, i), *world) for i, world in enumerate(own)]
                    now = [(v.today[0][i], v.today[1][i]) for i in range(len(own))]
                    covered += [float(_covers(e, r.truth)[0]) for e in ends]
                    width = np.array([np.mean([e[1] - e[0] for e in ends])])
                    ratio.append(np.log(_ratio(width, np.array([np.mean([b - a for a, b in now])]))[0]))
                    runs += len(own)
            cells.append(f"{np.mean(covered):.3f} of {runs}; {np.exp(np.mean(ratio)):.2f}" if runs else "-")
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines) + "\n"


def _guards(title: str, results: Sequence[Result]) -> str:
    """By budget: coverage (lowest pool's), and the width over today's."""
    budgets = [b for b in results[0].budgets if b <= 200]
    lines = [
        f"| {title}, {len(results)} pools | " + " | ".join(f"{b} labels" for b in budgets) + " |",
        "|---" * (len(budgets) + 1) + "|",
    ]
    found = judged(results, GUARDS)
    for name, each in found.items():
        cells = []
        for budget in budgets:
            at = [(j.covered[i], j.width[i], now.width[i])
                  for r, j, now in zip(results, each, found["today"], strict=True)
                  if budget in r.budgets for i in [r.budgets.index(budget)]]
            covered, width, now = np.array(at).T
            over = np.exp(np.log(_ratio(width, now)).mean())
            cells.append(f"{covered.mean():.3f} ({covered.min():.2f}); {over:.2f}")
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines) + "\n"
