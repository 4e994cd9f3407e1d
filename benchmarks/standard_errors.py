"""Is the standard error that is printed the error that is made?  `python -m benchmarks.standard_errors`.

On every certified pool the mean of the variance that a target of variances is held against, over the mean
squared error of the same runs.  What is finished is kept in the cache, and a run goes on from there.  Reads
ASSAY_POOLS.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.evalcore.measures.registry import usual
from assay.evalcore.replay.families import FAMILIES
from assay.evalcore.replay.pool import prepared
from assay.evalcore.replay.run import simulate_rounds
from assay.evalcore.reproducible import stream
from benchmarks.certification_doc import REAL
from benchmarks.certify import load
from benchmarks.contenders import contender
from benchmarks.pages import write_page

PAGE = Path(__file__).parent.parent / "docs" / "measured" / "standard-errors.md"
METHODS, MEASURES, LOOKS = ("score-test", "recalibrated"), ("f1", "accuracy"), (100, 300)
LEAST, MOST = 0.8, 1.25      # what the ratio is held to in the mean over pools
NO_ERROR = 1e-12             # a mean squared error of rounding alone

Line = dict[str, Any]        # a cell of the study: its pool, method, measure, look, and the two means


def ratios_of(pool: str, method_name: str, measure_name: str, repeats: int) -> Iterator[Line]:
    """The mean variance and the mean squared error at each look; none where the measure has no value."""
    how, measure, labelled = contender(method_name), usual(measure_name), load(pool)
    truth = float(measure.of_confusion(labelled.confusion()))
    if not np.isfinite(truth):
        return
    ready = prepared(how, labelled, [measure])
    for look, state in simulate_rounds(how, ready, LOOKS, repeats=repeats, batch_size=25):
        estimate = how.numbers(state, 0.95, stream(1, "standard errors", look))[0]
        has_value = np.isfinite(estimate.value)
        yield {
            "pool": pool, "method": method_name, "measure": measure_name, "look": look, "repeats": repeats,
            "variance": float(estimate.variance[has_value].mean()),
            "squared": float(((estimate.value[has_value] - truth) ** 2).mean()),
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
    ratio = {
        (line["pool"], line["method"], line["measure"], line["look"]): line["variance"] / line["squared"]
        for line in lines if line["squared"] > NO_ERROR
    }
    columns = [
        (method_name, measure_name, look)
        for method_name in METHODS for measure_name in MEASURES for look in LOOKS
        if any(key[1:] == (method_name, measure_name, look) for key in ratio)
    ]
    heading = "| | " + " | ".join(f"{m}, {q}, {n}" for m, q, n in columns) + " |"
    by_column = [[x for key, x in ratio.items() if key[1:] == column] for column in columns]
    summaries = {
        "median": [f"{np.median(x):.2f}" for x in by_column],
        "geometric mean": [f"{np.exp(np.mean(np.log(x))):.2f}" for x in by_column],
        f"within {LEAST} to {MOST}": [
            f"{sum(LEAST <= r <= MOST for r in x)} of {len(x)}" for x in by_column
        ],
        "below": [str(sum(r < LEAST for r in x)) for x in by_column],
    }
    pools = {
        pool: [f"{ratio[pool, *column]:.2f}" if (pool, *column) in ratio else "-" for column in columns]
        for pool in dict.fromkeys(line["pool"] for line in lines)
    }
    rows = [f"| {name} | {' | '.join(cells)} |" for name, cells in {**summaries, **pools}.items()]
    repeats = {line["method"]: line["repeats"] for line in lines}
    said = " and ".join(f"{n} runs of `{name}`" for name, n in repeats.items())
    return "\n".join([_HEAD.format(said=said), heading, "|---" * (len(columns) + 1) + "|", *rows])


_HEAD = """# Standard errors

Made by `python -m benchmarks.standard_errors`: `standard_error`² of JSON over the squared error, both in the
mean of
{said},
after 100 and 300 labels, on certified pools (-: not run, or without an error). Wanted: 0.8 to 1.25 in the
mean. Where positives are rare and nearly all found it is larger, as the interval is; where many hide,
smaller.
"""


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(description="Standard errors beside errors.")
    parser.add_argument("--cache", type=Path, default=Path(".cache/standard-errors.jsonl"))
    parser.add_argument("--repeats", type=int, default=50, help="of score-test")
    parser.add_argument("--repeats-recalibrated", type=int, default=50)
    given = parser.parse_args()
    given.cache.parent.mkdir(parents=True, exist_ok=True)
    repeats = {"score-test": given.repeats, "recalibrated": given.repeats_recalibrated}
    write_page(PAGE, page(run(given.cache, repeats)))


if __name__ == "__main__":
    main()
