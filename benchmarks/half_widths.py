"""Labels to a half-width in a certification: every method's, beside the oracle's.

`assay.evalcore.replay.run` says what they are and when an interval does not cover,
`assay.evalcore.replay.run` what the oracle is.  Where positives hide, the wide interval counts.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.evalcore.measures.registry import named
from assay.evalcore.printed import printed
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import LabelsTo, labels_to, oracles
from benchmarks.contenders import SUBJECTS, contender

HALF_WIDTHS = (0.10, 0.05)

Sums = Mapping[tuple[str, str, str, int], Mapping[str, float]]    # by pool, method, measure, budget
Needs = Mapping[tuple[str, str], Mapping[float, int]]             # the oracle's labels, by pool and measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method on one pool and measure."""

    pool: str
    measure: str
    method: str
    reached: tuple[LabelsTo, ...]    # by HALF_WIDTHS


def oracle_needs(pool: LabelledPool, measures: Sequence[str]) -> dict[str, dict[float, int]]:
    """Labels the oracle needs on a pool, by measure (`f1`, `fbeta(2)`) and half-width."""
    return {
        one.measure.name: {target: one.labels_to(target) for target in HALF_WIDTHS}
        for one in oracles(pool, [named(name) for name in measures])
    }


def every_row(found: Sums, needs: Needs, hidden: Sequence[str] = ()) -> list[Row]:
    """Every method on every pool and measure; hidden: pools of which the wide interval counts."""
    groups: dict[tuple[str, str, str], dict[int, Mapping[str, float]]] = {}
    for (pool, method, measure, budget), sums in found.items():
        groups.setdefault((pool, measure, method), {})[budget] = sums
    return [
        Row(pool=pool, measure=measure, method=method, reached=tuple(
            narrowed(
                by_budget, method, needs.get((pool, measure), {}), "wide" if pool in hidden else "covers"
            )
        ))
        for (pool, measure, method), by_budget in sorted(groups.items())
    ]


def narrowed(
    sums: Mapping[int, Mapping[str, float]], method: str, needs: Mapping[float, int], covers: str = "covers"
) -> Iterator[LabelsTo]:
    """A method's labels to each of HALF_WIDTHS.

    sums: by budget, `n`, `covers` and `width` over repeats; needs: the oracle's labels, by half-width;
    covers: "wide" for the wide interval.
    """
    budgets = sorted(sums)
    at = [sums[b] for b in budgets]
    width = "width" if covers == "covers" else "wide_width"
    for target in HALF_WIDTHS:
        yield labels_to(
            target, budgets, [s[width] / s["n"] for s in at], [s[covers] / s["n"] for s in at],
            repeats=[round(s["n"]) for s in at],
            least_coverage=contender(method).least_coverage(0.95),
            oracle=needs.get(target),
        )


def table(every: Sequence[Row], subject: str) -> str:
    """One of SUBJECTS beside the published method that covers and needs the fewest labels, and the oracle."""
    told = [
        f"| pool | measure | half-width | oracle | {subject} | coverage | x oracle | best that covers "
        f"| its labels | coverage | x oracle | {subject} / it | sooner, but does not cover |",
        "|" + "---|" * 13,
    ]
    for own in (row for row in every if row.method == subject):
        beside = [
            row for row in every
            if (row.pool, row.measure) == (own.pool, own.measure) and row.method not in SUBJECTS
        ]
        for i, mine in enumerate(own.reached):
            covering = {r.method: r.reached[i] for r in beside if r.reached[i].covers}
            best = min(covering, key=lambda name: _labels(covering[name]), default=None)
            other = covering[best] if best is not None else None
            limit = _labels(other) if other else float("inf")
            failing = [
                f"{r.method} {r.reached[i].columns()[0]}" for r in beside
                if r.reached[i].covers is False and _labels(r.reached[i]) < limit
            ]
            oracle = "-" if mine.oracle is None else f"{mine.oracle:,}"
            told.append("| " + " | ".join([
                own.pool, own.measure, f"{mine.half_width:g}", oracle, *mine.columns(), best or "none",
                *(other.columns() if other else ("-", "-", "-")), _over(mine, other),
                ", ".join(failing) or "-",
            ]) + " |")
    return "\n".join(told) + "\n"


def _labels(reached: LabelsTo) -> float:
    return float("inf") if reached.labels is None else reached.labels


def _over(mine: LabelsTo, other: LabelsTo | None) -> str:
    """My labels over the other's, as far as both are known."""
    if other is None or not other.labels or (mine.at_most and other.at_most):
        return "-"
    number = mine.more_than if mine.labels is None else mine.labels
    sign = "> " if mine.labels is None else "≤ " if mine.at_most else "≥ " if other.at_most else ""
    return f"{sign}{(number or 0) / other.labels:.2f}{'*' if mine.covers is False else ''}"


def write_csv(by_asking: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Every method in full; by_asking: rows by the measures that were asked for together."""
    lines = [
        {"asked_for": asked, "pool": row.pool, "measure": row.measure, "method": row.method,
         **printed(reached)}
        for asked, every in by_asking.items() for row in every for reached in row.reached
    ]
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
