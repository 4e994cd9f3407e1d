"""The figures of Poms et al. (2021), "Low-Shot Validation": `python -m benchmarks.reproduce.low_shot`.

About three minutes on one core.  Pools are read from ASSAY_POOLS.
"""

from pathlib import Path

from benchmarks.reproduce.low_shot import figures
from benchmarks.reproduce.low_shot.data import PAIRS, TAGS, digits, pairs, tags
from benchmarks.reproduce.low_shot.page import Results, Trials, page
from benchmarks.reproduce.pools import write_paper_page

PAGE = Path("docs/measured/papers/low-shot.md")
# the paper has 1 a class, and 10 for variances
RUN = Trials(classes=20, single=50, variances=20, shared=3, subsets=2000)


def run() -> Results:
    """All figures."""
    classes, records = tags(), pairs()
    return Results(
        classes=[one.name for one in classes],
        trials=RUN,
        tags=figures.errors(figures.COMPARED, classes, RUN.classes),
        pairs={one.name: figures.errors(figures.COMPARED, [one], RUN.single) for one in records},
        open={
            "tags": figures.errors(figures.OPEN, classes, RUN.classes),
            **{one.name: figures.errors(figures.OPEN, [one], RUN.single) for one in records},
        },
        variances={
            "tags": figures.variances(classes, RUN.variances),
            **{one.name: figures.variances([one], RUN.single) for one in records},
        },
        subsets={one.name: figures.subsets(one, RUN.subsets) for one in records},
        models=figures.models(digits(), RUN.shared),
        thresholds=figures.thresholds(classes, RUN.shared),
    )


def main() -> None:
    """Write the page."""
    write_paper_page(PAGE, lambda: page(run()), TAGS, *PAIRS)


if __name__ == "__main__":
    main()
