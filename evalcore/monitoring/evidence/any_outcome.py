"""The evidence of a window of classes, tags or numbers: see `evalcore.monitoring.evidence.sample`.

"The measure is at or above its limit" says that a linear function of the mean losses is 0 or more
(`OutcomeMeasure.margin`), so v of an item is that function of its own losses,

    v = constant + slope·ℓ(x, y) + told·known(x),

and the bets of `evalcore.monitoring.betting` are on v.  What v may be at most is known by cell: from what is
predicted of its items and from all outcomes there are (`Loss.most`).  Losses of two systems, whose difference
is watched, are bounded together: of items that both call the same it is known what v is.  What v is expected
to be comes from the guesses, weighed by the labels of earlier rounds; it decides how much a bet gains, and
never whether it is fair.  Its variance is the largest that a number between the least and the largest v with
that mean can have.

Undecided items count with v = 0: the mean over the items that can be decided has the same sign.  Shares of
predictions that a margin takes for known (Cohen's kappa, macro precision) are those of the whole window.

    T   draws of one round;  C cells;  D components of the losses;  K   values of a measure
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.design.one_at_a_time import weights
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.evidence.sample import WindowSample
from assay.evalcore.outcome_evaluation.labelled_round import LabelledOutcomes
from assay.evalcore.outcome_evaluation.state import Question
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.outcomes.codes import UNANSWERED, is_outcome
from assay.evalcore.types import Bools, Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Worth:
    """v by limit: constant (K,), slope (K, D), told (K, D_k), and its least and largest value (K, C)."""

    constant: Floats
    slope: Floats
    told: Floats
    least: Floats
    most: Floats

    def of(self, loss: Floats, known: Floats) -> Floats:
        """v (K, n) of losses (n, D) and what is known of them (n, D_k)."""
        return np.asarray(self.constant[:, None] + self.slope @ loss.T + self.told @ known.T)


@dataclass(frozen=True, kw_only=True, eq=False)
class OutcomeSample(WindowSample):
    """See WindowSample."""

    question: Question
    rounds: Sequence[LabelledOutcomes]   # with the labels of now

    @property
    def measure(self) -> OutcomeMeasure:
        """The one that is watched."""
        return self.question.stack.measures[0]

    @property
    def watched(self) -> str:
        """See WindowSample."""
        return self.measure.name

    @property
    def full_name(self) -> str:
        """See WindowSample."""
        name, system = self.measure.full_name, self.measure.system
        if system is None or self.versus is None:
            return name
        return f"{name} of {self.question.systems[system]} minus {self.versus}"

    @property
    def versus(self) -> str | None:
        """See WindowSample."""
        versus = self.measure.versus
        return None if versus is None else self.question.systems[versus]

    @property
    def bounds(self) -> tuple[float, float]:
        """See WindowSample."""
        return self.measure.bounds

    @property
    def bets(self) -> bool:
        """See WindowSample."""
        single = self.question.method.one_at_a_time and self.measure.margin is not None
        return single and not all(one.plan.census for one in self.rounds)

    @property
    def dependent(self) -> bool:
        """True: estimates use the label model."""
        return True

    def from_draws(self, values: Floats, side: Side, segment: str | None) -> Floats:
        """See WindowSample."""
        worth = self._worth(values, side)
        account = betting.Account.new(len(values))
        for one in self.rounds:
            if one.plan.census:
                new = self._counted(worth, one, segment).sum(axis=1)
                account = replace(account, labelled=account.labelled + new)
            else:
                account = self._bet(account, worth, one, segment)
        return account.factors

    def _worth(self, values: Floats, side: Side) -> _Worth:
        """v for limits (K,): its mean over the window is at or above 0 while the limit is kept."""
        stack, cells, measure = self.question.stack, self.question.cells, self.measure
        sign = 1.0 if side == "below" else -1.0
        columns = stack.columns(measure, cells.known_sizes.tolist())
        known = (cells.known / cells.n_items)[columns[columns >= stack.size] - stack.size]
        constant = np.zeros(len(values))
        whole: Floats = np.zeros((len(values), stack.size + len(cells.known)))
        most, least = (np.zeros((len(values), cells.n_cells)) for _ in range(2))
        for i, value in enumerate(values.tolist()):
            margin = measure.margin(value, known, side == "below")   # type: ignore[misc]
            constant[i] = sign * margin.constant
            whole[i, columns] = sign * np.concatenate([margin.slope, margin.told])
            most[i] = constant[i] + self._most(whole[i])
            least[i] = constant[i] - self._most(-whole[i])
        return _Worth(
            constant=constant, slope=whole[:, : stack.size], told=whole[:, stack.size :], most=most,
            least=np.minimum(least, most),
        )

    def _most(self, slopes: Floats) -> Floats:
        """(C,) the largest that all losses can make of slopes (D + D_k,)."""
        stack, cells = self.question.stack, self.question.cells
        total, at, after = np.zeros(cells.n_cells), 0, stack.size
        by_class: list[Floats] = []
        for loss, length in zip(stack.losses, cells.known_sizes.tolist(), strict=True):
            slope, told = slopes[at : at + loss.size], slopes[after : after + length]
            at, after = at + loss.size, after + length
            if not (slope.any() or told.any()):
                continue
            each = loss.most_by_class(cells.said, slope, told) if self.versus is not None else None
            if each is None:
                total += loss.most(cells.said, slope, told)
            else:
                by_class.append(each)
        return total + np.sum(by_class, axis=0).max(axis=1) if by_class else total

    def _expected(self, worth: _Worth, before: SampleState, segment: str | None) -> betting.Expected:
        cells, share = self.question.cells, self._share(segment)
        said = worth.of(self.question.method.expects(before), cells.told / cells.size[:, None])
        mean = np.clip(said, worth.least, worth.most)
        square = (worth.most - mean) * (mean - worth.least) + mean**2
        return betting.Expected(
            mean=share * mean, variance=np.maximum(share * square - (share * mean) ** 2, 0.0),
            best=np.maximum(worth.most, 0.0),
        )

    def _bet(
        self, account: betting.Account, worth: _Worth, one: LabelledOutcomes, segment: str | None
    ) -> betting.Account:
        """The account after a round."""
        said = self._expected(worth, one.before, segment)
        counted = self._counted(worth, one, segment)
        gaps = one.code == UNANSWERED
        counted[:, gaps] = said.best[:, one.plan.cell[gaps]]
        design = one.plan.design
        after = betting.bet_on_round(
            account, said,
            np.broadcast_to(weights(design.inclusion), said.mean.shape),
            np.broadcast_to(design.left, said.mean.shape),
            np.broadcast_to(one.plan.cell, counted.shape), counted,
        )
        # an unanswered item goes back to the unlabelled ones
        return replace(after, labelled=after.labelled - counted[:, gaps].sum(axis=1))

    def _counted(self, worth: _Worth, one: LabelledOutcomes, segment: str | None) -> Floats:
        """v (K, T) of the items asked in a round; 0 where undecided, unanswered or outside the segment."""
        stack = self.question.stack
        counts = is_outcome(one.code) & self._inside(one, segment)
        phi = stack.kind.phi(np.where(counts, one.code, 0.0))
        return np.where(counts, worth.of(stack.of(one.items, phi), stack.known(one.items)), 0.0)

    def _share(self, segment: str | None) -> float:
        """The share of the window's items that count."""
        if segment is None:
            return 1.0
        column, i = self.places[segment]
        return list(self.segments[column].values())[i] / self.question.cells.n_items

    def _inside(self, one: LabelledOutcomes, segment: str | None) -> Bools:
        """(T,) whether a draw's item is in the segment; all are where there is none."""
        if segment is None:
            return np.ones(len(one.code), np.bool_)
        column, i = self.places[segment]
        return np.asarray(one.segment[column] == i)
