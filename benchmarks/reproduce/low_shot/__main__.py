"""The figures of Poms et al. (2021), "Low-Shot Validation": `python -m benchmarks.reproduce.low_shot`.

About three minutes on one core.  Pools are read from ASSAY_POOLS.
"""

from pathlib import Path

from benchmarks.reproduce.low_shot import figures
from benchmarks.reproduce.low_shot.data import digits, pairs, tags
from benchmarks.reproduce.low_shot.page import Results, Trials, page

PAGE = Path("docs/papers/low-shot.md")
# the paper has 1 a class, and 10 for variances
RUN = Trials(classes=20, single=50, variances=20, shared=3, subsets=2000)


def main() -> None:
    """Write the page."""
    classes, records = tags(), pairs()
    found = Results(
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
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
