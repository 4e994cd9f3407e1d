"""Is the standard error that is printed the error that is made?  `python -m benchmarks.standard_errors`.

On every certified pool the mean of the variance that a target of variances is held against, over the mean
squared error of the same runs; and the least that the half-width of an honest interval over 1.96 comes to.
What is finished is kept in the cache, and a run goes on from there.  Reads ASSAY_POOLS.

The least.  Let m of the N items that are rightly predicted negative be positive instead.  Of all choices of
m, one at least is such that n labels meet none of them with a chance of s = C(N - n, m)/C(N, m) or more, for
that is the mean over all choices; all else being the same, so are the labels, and the interval.  One that
covers both truths with a chance of 0.94 holds both with a chance of s - 0.12 or more, and then is as wide as
they are far apart, Δ.  So (half-width/1.96)² has a mean of (s - 0.12) (Δ/3.92)² or more, whatever the method.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln

from assay.evalcore.measures.registry import usual
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.replay.families import FAMILIES
from assay.evalcore.replay.pool import LabelledPool, prepared
from assay.evalcore.replay.run import simulate_rounds
from assay.evalcore.reproducible import stream
from benchmarks.certification_doc import REAL
from benchmarks.certify import load
from benchmarks.contenders import contender
from benchmarks.pages import write_page

PAGE = Path(__file__).parent.parent / "docs" / "measured" / "standard-errors.md"
METHODS, MEASURES, LOOKS = ("score-test", "recalibrated"), ("f1", "accuracy"), (100, 300)
LEAST, MOST = 0.8, 1.25      # what the ratio is held to in the mean over pools
NO_ERROR = 1e-10             # a mean squared error that nobody would see
HONEST, WIDTH = 0.94, 3.92   # coverage, and standard errors, of an honest interval

Line = dict[str, Any]        # a cell of the study: its pool, method, measure, look, and the two means


def least_variance(pool: LabelledPool, measure: Measure, labels: int) -> float:
    """The largest (s - 0.12) (Δ/3.92)² over all m; s and Δ are those of this module's docstring."""
    counts = pool.confusion().astype(np.float64)
    negatives, truth, least = counts[0, 0], float(measure.of_confusion(counts)), 0.0
    for m in np.unique(np.geomspace(1, max(negatives - labels, 1), 200).astype(int)).tolist():
        if m > negatives - labels:
            break
        ways = gammaln(np.array([negatives - labels, negatives]) + 1)
        others = gammaln(np.array([negatives - labels - m, negatives - m]) + 1)
        unmet = float(np.exp((ways - others) @ [1, -1]))
        moved = counts + np.array([[-m, m], [0, 0]])
        distance = abs(truth - float(measure.of_confusion(moved)))
        least = max(least, (unmet - 2 * (1 - HONEST)) * (distance / WIDTH) ** 2)
    return least


def ratios_of(pool: str, method_name: str, measure_name: str, repeats: int) -> Iterator[Line]:
    """The mean variance and the mean squared error at each look; none where the measure has no value."""
    how, measure, labelled = contender(method_name), usual(measure_name), load(pool)
    truth = float(measure.of_confusion(labelled.confusion()))
    if not np.isfinite(truth):
        return
    ready = prepared(how, labelled, [measure])
    for look, state in simulate_rounds(how, ready, LOOKS, repeats=repeats, batch_size=25):
        estimate = how.number_estimates(state, 0.95, stream(1, "standard errors", look))[0]
        has_value = np.isfinite(estimate.value)
        yield {
            "pool": pool, "method": method_name, "measure": measure_name, "look": look, "repeats": repeats,
            "variance": float(estimate.variance[has_value].mean()),
            "squared": float(((estimate.value[has_value] - truth) ** 2).mean()),
            "covers": float(((estimate.lower <= truth + 1e-9) & (truth <= estimate.upper + 1e-9)).mean()),
            "least": least_variance(labelled, measure, look),
        }


def run(cache: Path, repeats: Mapping[str, int]) -> list[Line]:
    """All cells, those of the cache and new ones; repeats: by method."""
    lines = [json.loads(text) for text in cache.read_text().splitlines()] if cache.exists() else []
    finished = {(line["pool"], line["method"], line["measure"]) for line in lines}
    for pool in (*REAL, *FAMILIES):
        for method_name in METHODS:
            for measure_name in MEASURES:
                if (pool, method_name, measure_name) in finished:
                    continue
                made = list(ratios_of(pool, method_name, measure_name, repeats[method_name]))
                lines += made
                with cache.open("a", encoding="utf-8") as out:
                    out.writelines(json.dumps(line) + "\n" for line in made)
    return lines


def page(lines: Sequence[Line]) -> str:
    """The document: means over pools, then every pool."""
    cells = {
        (line["pool"], line["method"], line["measure"], line["look"]): line
        for line in lines if line["squared"] > NO_ERROR
    }
    columns = [
        (method_name, measure_name, look)
        for method_name in METHODS for measure_name in MEASURES for look in LOOKS
        if any(key[1:] == (method_name, measure_name, look) for key in cells)
    ]
    heading = "| | " + " | ".join(f"{m}, {q}, {n}" for m, q, n in columns) + " |"
    of_columns = [[line for key, line in cells.items() if key[1:] == column] for column in columns]
    summaries: dict[str, list[str]] = {}
    for name, summary in _SUMMARIES.items():
        summaries[name] = [summary(of_column) for of_column in of_columns]
    pools = {
        pool: [_ratio_told(cells.get((pool, *column))) for column in columns]
        for pool in dict.fromkeys(line["pool"] for line in lines)
    }
    rows = [f"| {name} | {' | '.join(told)} |" for name, told in {**summaries, **pools}.items()]
    repeats = {
        name: sorted({line["repeats"] for line in lines if line["method"] == name}) for name in METHODS
    }
    said = " and ".join(
        f"{' or '.join(map(str, numbers))} runs of `{name}`" for name, numbers in repeats.items() if numbers
    )
    return "\n".join([_HEAD.format(said=said), heading, "|---" * (len(columns) + 1) + "|", *rows])


def _ratio(line: Line) -> float:
    return float(line["variance"] / line["squared"])


def _least_ratio(line: Line) -> float:
    return float(line["least"] / line["squared"])


def _ratio_told(line: Line | None) -> str:
    """`14.37 (8.26)`: the ratio, with the least one where that is beyond what is wanted; `-` of no cell."""
    if line is None:
        return "-"
    least = _least_ratio(line)
    return f"{_ratio(line):.2f} ({least:.2f})" if least > MOST else f"{_ratio(line):.2f}"


def _least_mean(column: Sequence[Line]) -> str:
    """The mean over pools, if each were as low as it may be: 0.8, or the least where that is more."""
    return f"{np.mean([max(_least_ratio(line), LEAST) for line in column]):.2f}"


def _of_the_others(column: Sequence[Line]) -> str:
    """The mean over the pools where the least is not above what is wanted."""
    return f"{np.mean([_ratio(line) for line in column if _least_ratio(line) <= MOST]):.2f}"


def _mean_over_mean(column: Sequence[Line]) -> str:
    return f"{sum(line['variance'] for line in column) / sum(line['squared'] for line in column):.2f}"


_SUMMARIES: Mapping[str, Callable[[Sequence[Line]], str]] = {
    "median": lambda column: f"{np.median([_ratio(line) for line in column]):.2f}",
    "mean": lambda column: f"{np.mean([_ratio(line) for line in column]):.2f}",
    "mean, at least": _least_mean,
    "mean without brackets": _of_the_others,
    "geometric mean": lambda column: f"{np.exp(np.mean([np.log(_ratio(line)) for line in column])):.2f}",
    "mean variance over mean squared error": _mean_over_mean,
    f"within {LEAST} to {MOST}": lambda column: (
        f"{sum(LEAST <= _ratio(line) <= MOST for line in column)} of {len(column)}"
    ),
    "below": lambda column: str(sum(_ratio(line) < LEAST for line in column)),
    "in brackets": lambda column: str(sum(_least_ratio(line) > MOST for line in column)),
    "lowest coverage": lambda column: f"{min(line['covers'] for line in column):.2f}",
}
_HEAD = """# Standard errors

Made by `python -m benchmarks.standard_errors`: `standard_error`² of JSON over the squared error, both in the
mean of {said}, on certified pools (-: not
run, or without an error). Wanted: a mean of 0.8 to 1.25. In brackets, above 1.25: the
least that (half-width / 1.96)² comes to of an interval that covers 0.94 wherever positives lie among the
predicted negatives. "Mean, at least": each pool at its bracket, or 0.8; above 1.25 no such interval has it.
"""


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(description="Standard errors beside errors.")
    parser.add_argument("--cache", type=Path, default=Path(".cache/standard-errors.jsonl"))
    parser.add_argument("--repeats", type=int, default=400, help="of score-test")
    parser.add_argument("--repeats-recalibrated", type=int, default=120)
    given = parser.parse_args()
    given.cache.parent.mkdir(parents=True, exist_ok=True)
    repeats = {"score-test": given.repeats, "recalibrated": given.repeats_recalibrated}
    write_page(PAGE, page(run(given.cache, repeats)))


if __name__ == "__main__":
    main()
