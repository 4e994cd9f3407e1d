"""What it costs F1 that draws serve an area too: a part of docs/measured/one-engine.md.

Of a question, F1 and ROC AUC, the first drives the choice of items, and a part of each batch goes to the
other.  Here that part is changed, from none to all.  `beside_area` gives errors and widths of both at each
part, as multiples of F1 alone and of the area driving alone: if the draws were what F1 lacks, its error would
be least without a part for the area.

`knowing` is the same for somebody who knows the rate of positives in each of the cells.  With slope g, size N
and spread s² = p (1 − p) of a cell, the variance of an unbiased estimate with inclusion probabilities π is

    V = Σ g² N s² (1/π − 1)

least for π in proportion to |g| s.  Draws for both follow the root of λ g₁² s²/V₁ + (1 − λ) g₂² s²/V₂, V₁ and
V₂ the least variance of each alone; λ is the one at which the larger of the two ratios V/V₁, V/V₂ is least
(the compromise of surveys with several variables).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import numpy as np

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.score_model import ScoreState
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.recalibration import planning
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import REPEATS_OF_STREAM, ReplayPlan, Trace, join, run_block
from assay.evalcore.types import Floats

F1, AREA = "f1", "roc_auc"


@dataclass(frozen=True, slots=True)
class Row:
    """A question, and how its draws are shared."""

    says: str
    asked: tuple[str, ...] = (F1, AREA)
    drive: tuple[bool, ...] = ()
    share: float | None = None     # of a batch, for what does not drive; None: as it is
    times: int = 1                 # as many repeats as others


AS_IT_IS = planning.SECONDARY / (planning.SECONDARY + 1 / (1 - planning.EXPLORE))
ALONE = Row("F1 alone", (F1,), times=6)
ROWS = (
    Row("none", share=0.0, times=2),
    Row(f"{AS_IT_IS:.0%}, as it is", times=2),
    Row("30%", share=0.3),
    Row("60%", share=0.6),
    Row("all: the area drives, F1 has none", (AREA, F1), share=0.0),
    Row("both drive", drive=(True, True)),
)


@contextmanager
def _shared(share: float | None) -> Iterator[None]:
    """Batches of which this share goes to the measures that do not drive."""
    kept = planning.SECONDARY
    if share is not None:
        planning.SECONDARY = share / (1 - share) / (1 - planning.EXPLORE)
    try:
        yield
    finally:
        planning.SECONDARY = kept


def stack(pool: OutcomePool, asked: Sequence[str], drive: tuple[bool, ...] = ()) -> Stack:
    """The measures of these names."""
    n, made = len(pool.codes), grids(pool.kind, pool.items)
    measures = tuple(outcome_measure(one, pool.kind, n, grids=made) for one in asked)
    return Stack(kind=pool.kind, measures=measures, drive=drive)


def traces(pool: OutcomePool, row: Row, budgets: Sequence[int], blocks: int) -> dict[str, Trace]:
    """By the name of the measure."""
    method, asked = outcome_method("recalibrated"), stack(pool, row.asked, row.drive)
    ready = prepared(method, pool, asked, 1)
    with _shared(row.share):
        found = [
            run_block(method, ready, ReplayPlan(budgets=budgets), repeats=REPEATS_OF_STREAM, block=block)
            for block in range(blocks)
        ]
    return {name: join(several) for name, several in zip(row.asked, zip(*found, strict=True), strict=True)}


def _errors(trace: Trace, truth: float) -> tuple[Floats, Floats, Floats]:
    """Squared errors (R, budgets); coverage and mean width (budgets,)."""
    covered = (trace.lower <= truth + 1e-9) & (truth <= trace.upper + 1e-9)
    error = (np.nan_to_num(trace.value) - truth) ** 2
    return error, covered.mean(axis=0), (trace.upper - trace.lower).mean(axis=0)


def _against(error: Floats, other: Floats) -> str:
    """The ratio of two mean errors, and its standard error."""
    ratio = error.mean() / other.mean()
    spread = sum(one.var() / one.mean() ** 2 / len(one) for one in (error, other))
    return f"{ratio:.2f} ± {ratio * spread**0.5:.2f}"


SHARED = """\
In brackets, F1's error as a multiple of F1 alone, with its standard error. The bands of the area cut the
cells finer, which "none" has too."""
KNOWING = """\
Draws by somebody who knows the share of positives in each of the cells: items in cells with both classes (no
other cell needs a label), the least variance of each measure with all draws for it, and what each is
multiplied by where draws serve both and the larger multiple is as small as it can be."""


def section(pools: dict[str, OutcomePool], budgets: Sequence[int], blocks: int) -> Iterator[str]:
    """Both tables; blocks: of REPEATS_OF_STREAM repeats, in the rows with fewest."""
    yield from (SHARED, "")
    columns = [f"{title}, {b} labels" for title in ("F1", "ROC AUC") for b in budgets]
    yield f"| pool | draws for the area | evaluations | {' | '.join(columns)} |"
    yield "| --- " * (len(columns) + 3) + "|"
    for name, pool in pools.items():
        yield from beside_area(name, pool, budgets, blocks)
    each = ", ".join(f"{one_more(pool):.1e} on {name}" for name, pool in pools.items())
    yield from ("", f"One positive more that the system missed changes F1, squared, by {each}: an error of "
                    "that size is one that the model expects and that is not there.", "")
    yield from (KNOWING, "")
    yield "| pool | labels | items | F1 | ROC AUC | F1, both served | ROC AUC, both served |"
    yield "| --- " * 7 + "|"
    for name, pool in pools.items():
        yield from knowing(name, pool, budgets)


def beside_area(name: str, pool: OutcomePool, budgets: Sequence[int], blocks: int) -> Iterator[str]:
    """A row for each way to share."""
    truth = dict(zip((F1, AREA), pool.truth(stack(pool, (F1, AREA))).tolist(), strict=True))
    alone, *_ = _errors(traces(pool, ALONE, budgets, ALONE.times * blocks)[F1], truth[F1])
    for row in (ALONE, *ROWS):
        found = traces(pool, row, budgets, row.times * blocks)
        cells = []
        for measure in (F1, AREA):
            if measure not in found:
                cells += ["" for _ in budgets]
                continue
            error, covered, width = _errors(found[measure], truth[measure])
            for b in range(len(budgets)):
                cell = f"{error[:, b].mean():.1e} · {covered[b]:.2f} · {width[b]:.3f}"
                if measure == F1 and row is not ALONE:
                    cell += f" ({_against(error[:, b], alone[:, b])})"
                cells.append(cell)
        yield f"| {name} | {row.says} | {len(error)} | {' | '.join(cells)} |"


def one_more(pool: OutcomePool) -> float:
    """The squared change of F1 by one more positive that the system misses."""
    predicted, label = pool.items.prediction[:, 0], pool.codes
    hits, marked = float((predicted * label).sum()), float((predicted + label).sum())
    return (2 * hits / marked - 2 * hits / (marked + 1)) ** 2


def knowing(name: str, pool: OutcomePool, budgets: Sequence[int]) -> Iterator[str]:
    """What draws by the true rates reach, and what serving both costs each."""
    method, asked = outcome_method("recalibrated"), stack(pool, (F1, AREA))
    cut = method.cut(asked, pool.items)
    state = cast(ScoreState, method.start(cut.cells, asked, 1))
    size = cut.cells.size[None].astype(np.float64)
    positive = np.bincount(cut.cell, pool.codes, cut.cells.n_cells)[None].astype(np.float64)
    rate = positive / size
    spread = rate * (1 - rate)
    slopes = [
        one.slopes(one.groups.sums(positive), one.groups.sums(size))[:, 0, one.groups.of_cell]
        for one in state.quantities(slice(0, 1))
    ]
    mixed = int(size[spread > 0].sum())
    for budget in budgets:
        if mixed <= budget:
            yield f"| {name} | {budget} | {mixed} | 0 | 0 | – | – |"
            continue

        def variances(weight: Floats, labels: int = budget) -> Floats:
            """Of both, (2,), with draws by this weight (1, C)."""
            pi = planning.spread_labels(weight, size, np.array([float(labels)]))
            lost = np.divide(spread, pi, out=np.zeros_like(pi), where=spread > 0) - spread
            return np.array([(slope**2 * size * lost).sum() for slope in slopes])

        least = np.array([variances(np.abs(slope) * np.sqrt(spread))[m] for m, slope in enumerate(slopes)])
        pull = [slope**2 * spread / v for slope, v in zip(slopes, least, strict=True)]
        both = [
            variances(np.sqrt(part * pull[0] + (1 - part) * pull[1])) for part in np.linspace(0, 1, 101)
        ]
        best = min((one / least for one in both), key=lambda ratios: float(ratios.max()))
        yield (f"| {name} | {budget} | {mixed} | {least[0]:.1e} | {least[1]:.1e} | {best[0]:.2f} | "
               f"{best[1]:.2f} |")
