"""The figures of Poms et al. (2021), "Low-Shot Validation": `python -m benchmarks.reproduce.low_shot`.

About two minutes on one core.  Pools are read from ASSAY_POOLS.
"""

from pathlib import Path

from benchmarks.reproduce.low_shot import figures
from benchmarks.reproduce.low_shot.data import digits, pairs, tags
from benchmarks.reproduce.low_shot.page import Results, page

PAGE = Path("docs/papers/low-shot.md")
REPEATS = 5    # trials of each of many classes; the paper has one
MANY = 50      # of a single pool
FOR_VARIANCE = 20   # the paper has 10
SHARED = 3     # evaluations, item by item


def main() -> None:
    """Write the page."""
    classes, records = tags(), pairs()
    found = Results(
        classes=[one.name for one in classes],
        repeats=REPEATS,
        tags=figures.errors(figures.COMPARED, classes, REPEATS),
        pairs={one.name: figures.errors(figures.COMPARED, [one], MANY) for one in records},
        open={
            "tags": figures.errors(figures.OPEN, classes, REPEATS),
            **{one.name: figures.errors(figures.OPEN, [one], MANY) for one in records},
        },
        variances={
            "tags": figures.variances(classes, FOR_VARIANCE),
            **{one.name: figures.variances([one], MANY) for one in records},
        },
        subsets={one.name: figures.subsets(one, 2000) for one in records},
        models=figures.models(digits(), SHARED),
        thresholds=figures.thresholds(classes, SHARED),
    )
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
