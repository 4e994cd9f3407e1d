"""Items that were asked and not answered, when a round is closed all the same.

The assumption, named with every number that rests on it: **missing at random within cells**.  Which of a
cell's asked items were answered may depend on the cell (people may put off the hard ones), but not on the
label beside it. Then, with n_c items of cell c asked in the round and m_c of them answered (an item people
could not decide is answered), the answered ones are a simple random part of the asked ones, and

    inclusion probability, or chance per draw, of an answered new item  =  π_c · m_c / n_c

weighs them so that in expectation over who answers, given m_c ≥ 1, they stand for all n_c: for every function
t of an item, E Σ_answered t/(π m/n) = Σ_asked t/π (weighting-class adjustment: Oh & Scheuren 1983; Särndal et
al. 1992, sec. 15.6).  So every estimator that weighs by the design's probabilities stays unbiased, draws with
replacement, Horvitz-Thompson and the difference estimator alike: nothing changes but the design it is given.
Draws of items labelled in earlier rounds are never missing and keep their probability.

Cells of which few items were asked are collapsed with their neighbours of the same prediction, in the order
of the score, until LEAST_ASKED were asked: of the few, often none is answered, and which cells are joined
must not depend on who answered.  The joint m/n then holds for all of them, and the assumption is made for the
collapsed cells together.  Cells still without an answer (m = 0) are collapsed into the nearest with some.
Where a whole prediction was asked and gave no answer nothing can stand for it: such a round cannot be closed.

The unanswered items go back to their cells: unlabelled, and free to be asked again.

Methods for any outcome join neighbouring cells by themselves wherever labels are few
(`any_outcome.reading`), so their designs stay as they are: only the answered items have rows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.evalcore.design.round import ClosedDraws, CountedDesign, RoundPlan
from assay.evalcore.errors import AssayError, plural
from assay.evalcore.outcomes.base import UNANSWERED
from assay.evalcore.pool.strata import Cells, relevant_cells
from assay.evalcore.types import Bools, Floats, Ints

LEAST_ASKED = 5  # items asked in cells that stand for each other; fewer are collapsed with their neighbours
ASSUMPTION = "missing at random within cells"


class NothingToStandFor(AssayError):
    """A round cannot be closed: of one prediction items were asked and none was answered."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Response:
    """Who answered in one round, by cell, (C,) each: items asked and answered, the response rate that weighs
    the answered ones, and which cells were collapsed with which."""

    asked: Ints      # (C,) n
    answered: Ints   # (C,) m
    rate: Floats     # (C,) m/n, of the joint cells where cells were collapsed; 1 where nobody was asked
    joined: Ints     # (C,) the first cell of those it was collapsed with; its own number otherwise

    @property
    def collapsed(self) -> int:
        """The number of cells, of those asked, that were collapsed with others because few of their items
        were asked, or none answered. 0 where every cell that was asked stands alone."""
        together = np.bincount(self.joined[self.asked > 0], minlength=len(self.joined))
        return int(((together[self.joined] > 1) & (self.asked > 0)).sum())

    @property
    def adjusted(self) -> int:
        """The number of cells in which answered items stand for unanswered ones too, so that the design was
        adjusted. Each answered item of them counts for 1/rate."""
        return int((self.rate < 1).sum())


def response(cells: Cells, cell: Ints, answered: Bools) -> Response:
    """The response of a round; cell (n,) and answered (n,) of each item asked.

    Raises NothingToStandFor where a prediction was asked and gave no answer.
    """
    n = np.bincount(cell, minlength=cells.n_cells)
    m = np.bincount(cell[answered], minlength=cells.n_cells)
    joined = np.arange(cells.n_cells)
    for f in (0, 1):
        of_f = np.flatnonzero(cells.prediction == f)
        if n[of_f].sum() and not m[of_f].sum():
            raise NothingToStandFor(
                f"no answer about {plural(int(n[of_f].sum()), 'item')} predicted "
                f"{'positive' if f else 'negative'}: "
                "no answered item can stand for them; get an answer to at least one, then close the round"
            )
        _collapse(of_f[n[of_f] > 0], n, m, joined)
    n_joint = np.bincount(joined, weights=n, minlength=cells.n_cells)[joined]
    m_joint = np.bincount(joined, weights=m, minlength=cells.n_cells)[joined]
    rate = np.divide(m_joint, n_joint, out=np.ones(cells.n_cells), where=n_joint > 0)
    return Response(asked=n, answered=m, rate=rate, joined=joined)


def _collapse(cells: Ints, n: Ints, m: Ints, joined: Ints) -> None:
    """Join these cells, given in the order of the score, in place."""
    classes: list[list[int]] = []
    for c in cells.tolist():
        if classes and n[classes[-1]].sum() < LEAST_ASKED:
            classes[-1].append(c)
        else:
            classes.append([c])
    if len(classes) > 1 and n[classes[-1]].sum() < LEAST_ASKED:
        short = classes.pop()
        classes[-1].extend(short)
    answering = [i for i, class_cells in enumerate(classes) if m[class_cells].sum()]
    for i, class_cells in enumerate(classes):
        nearest = min((abs(j - i), j) for j in answering)[1]
        joined[class_cells] = classes[nearest][0]


def adjusted(design: CountedDesign, cells: Cells, round_response: Response, certain: Bools) -> CountedDesign:
    """The design (R = 1) as the answered items came out of it.

    certain (C,): cells whose every open item was asked, in a census.  A census with gaps is a sample again,
    in which each item had the response rate for its chance; draws with replacement have no such chance, and
    keep the census: its labels are known, and as a sample they add nothing.
    """
    if not bool(design.census[0]):
        weights_of_draws = None if design.stands_for is None else design.stands_for / round_response.rate
        return replace(
            design, unlabelled=design.unlabelled * round_response.rate, stands_for=weights_of_draws
        )
    if design.replacement:
        return design
    return replace(
        design, census=np.zeros_like(design.census),
        unlabelled=np.where(certain, round_response.rate, 0.0)[None],
        stands_for=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRate:
    """What stands beside an estimate whose rounds were closed with items unanswered."""

    response_rate: float     # items answered, of all asked in any round
    unanswered: int          # items asked in vain
    rounds: int              # closed early
    cells: int               # whose answers stand for unanswered items
    collapsed: int           # that were joined with neighbours
    assumption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nonresponse:
    """What is reported of non-response over all rounds so far: rounds that were closed with items
    unanswered, how many such items, and how many cells it touched."""

    rounds: int = 0        # closed with items unanswered
    unanswered: int = 0    # items asked in vain in them
    cells: int = 0         # cells, summed over those rounds, whose answers stand for unanswered items
    collapsed: int = 0     # of all cells asked, those that were collapsed with others

    def plus(self, round_response: Response) -> "Nonresponse":
        """The record with one more round added to it."""
        return Nonresponse(
            rounds=self.rounds + 1,
            unanswered=self.unanswered + int((round_response.asked - round_response.answered).sum()),
            cells=self.cells + round_response.adjusted,
            collapsed=self.collapsed + round_response.collapsed,
        )

    def rate(self, answered: int) -> ResponseRate | None:
        """What an estimate says of them; None without a gap. `answered`: items answered in all rounds. Rates
        by cell and the number of adjusted cells are in it."""
        if not self.rounds:
            return None
        return ResponseRate(
            response_rate=answered / (answered + self.unanswered),
            unanswered=self.unanswered,
            rounds=self.rounds,
            cells=self.cells,
            collapsed=self.collapsed,
            assumption=ASSUMPTION,
        )


def after_gaps(
    measures: Any, cells: Any, answered: ClosedDraws, before: Nonresponse
) -> tuple[Any, Nonresponse]:
    """The design as the answered items came out of it, and the non-response of all rounds. Without a gap both
    come back as they were.

    Raises NothingToStandFor as `response`.
    """
    plan = answered.plan
    if not answered.gaps:
        return plan.design, before
    cell, has_answer = plan.cell[plan.ask], answered.code[plan.ask] != UNANSWERED
    if cells.prediction is not None:
        round_response = response(cells, cell, has_answer)
        return adjusted(plan.design, cells, round_response, relevant_cells(measures, cells)), before.plus(
            round_response
        )
    return plan.design, Nonresponse(
        rounds=before.rounds + 1,
        unanswered=before.unanswered + int((~has_answer).sum()),
        cells=before.cells + len(np.unique(cell[~has_answer])),
        collapsed=before.collapsed,
    )


def refuse_gaps(cells: Any, plan: RoundPlan, has_answer: Bools) -> None:
    """Raise NothingToStandFor where the answered ones (n,) of the items asked cannot stand for the rest.
    Cells are joined with their neighbours before that is said."""
    if cells.prediction is not None:
        response(cells, plan.cell[plan.ask], has_answer)
    elif len(has_answer) and not has_answer.any():
        raise NothingToStandFor("no item of the round was answered: nothing can stand for it")
