"""Several measures at once: their losses side by side, each computed once.

D    components that depend on outcomes, of all losses;  D_k  known ones
R    (..., D + D_k)  means over the pool
Q    numbers of all measures together, part by part
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.best_of import Race
from assay.evalcore.measures.by_class import CountsOfClass
from assay.evalcore.measures.contenders import ByContender, OfContender, present_in
from assay.evalcore.measures.measure import Loss, OutcomeMeasure
from assay.evalcore.outcomes.base import Likely, OutcomeKind
from assay.evalcore.outcomes.classes import OneClass
from assay.evalcore.outcomes.items import (
    RACING_GROUPS,
    ByJoint,
    ItemPool,
    Items,
    Places,
    PoolWeights,
    joint_predictions,
)
from assay.evalcore.outcomes.questions import SeveralQuestions
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Stack:
    """The measures of one question.

    measures where all are of one class, in the form that knows of no other
    drive    which measures the sampling serves: all of them unless said
    target   (M,) the error of each measure that counts as 1; its `scale` unless said
    weights  of the pool, where its items do not all count alike: measures are of the weighted pool
    race     where the best of several systems is asked for
    contenders  systems whose rows the pool has; 0 where a row is of none, or of all
    common   the losses, where they are those of more measures than these
    clustered  whether the items come in clusters, which a pool that is cut item by item does not say

    With weights every loss is w ℓ, and the mean of w is the last of what is known: R is divided by it, so a
    pool without its undecided items, and one of other clusters, have their own.
    """

    kind: OutcomeKind
    measures: tuple[OutcomeMeasure, ...]
    drive: tuple[bool, ...] = ()
    target: tuple[float, ...] = ()
    weights: PoolWeights | None = None
    race: Race | None = None
    contenders: int = 0
    common: tuple[Loss, ...] = ()
    clustered: bool = False

    def __post_init__(self) -> None:
        if not self.measures:
            raise BadInput("ask for at least one measure")
        for name in ("drive", "target"):
            entries = getattr(self, name)
            if entries and len(entries) != len(self.measures):
                raise BadInput(f"{name}: {len(entries)} entries for {len(self.measures)} measures")
        if self.drive and not any(self.drive):
            raise BadInput("at least one measure must drive the sampling")
        alone = [measure.alone for measure in self.measures if measure.alone is not None]
        if len(alone) == len(self.measures) and len({measure.parts for measure in alone}) == 1:
            object.__setattr__(self, "measures", tuple(alone))

    def __iter__(self) -> Iterator[OutcomeMeasure]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of all measures in the order of the measures, equal ones only once; or the losses that
        were set in common with further measures."""
        return self.common or tuple(dict.fromkeys(loss for m in self.measures for loss in m.losses))

    @cached_property
    def size(self) -> int:
        """The number D of components of all losses together that depend on outcomes."""
        return sum(loss.size for loss in self.losses)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Runs of components that are alike, one a class or tag."""
        runs, at = [], 0
        for loss in self.losses:
            start = at
            for length in loss.blocks:
                runs.append(slice(start, start + length))
                start += length
            at += loss.size
        return tuple(runs)

    @cached_property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """For each of the Q numbers of all measures, which measure it is of and at which place there: pairs
        (measure, part), both counted from 0."""
        return tuple((m, j) for m, measure in enumerate(self.measures) for j in range(len(measure.parts)))

    @cached_property
    def weight(self) -> Floats:
        """(Q,) 1/target² of the numbers that drive the sampling, shared by the parts of a measure; else 0.
        Squared errors are added with these weights where several numbers share labels."""
        weights = []
        for m, measure in enumerate(self.measures):
            target = self.target[m] if self.target else measure.scale
            drives = not self.drive or self.drive[m]
            weights += [drives / (target**2 * len(measure.parts))] * len(measure.parts)
        return np.array(weights, np.float64)

    @property
    def by_cluster(self) -> Bools:
        """Which of the Q numbers are of whole clusters instead of single items, (Q,): those with a loss that
        needs all items of a cluster, as gains need all documents of a query."""
        return np.array([any(loss.by_cluster for loss in self.measures[m].losses) for m, _ in self.parts])

    @cached_property
    def one_class(self) -> OneClass | None:
        """The class of more than two that every loss is of; None where they are of several, or of all. The
        pool is then cut and drawn as one of two classes."""
        classes = {loss.one if isinstance(loss, CountsOfClass) else None for loss in self.losses}
        return classes.pop() if len(classes) == 1 else None

    def as_asked(self, items: Items) -> Items:
        """The items; where all is about one class, with what is said of it and of all others together. The
        others' probabilities are added up for it."""
        return items if self.one_class is None else self.one_class.items(items)

    def guesses(self, items: Items) -> Floats:
        """φ (n, B, P) of each guess (`OutcomeKind.guesses`); of two classes where all is about one. B counts
        the guesses and P the length of φ."""
        shared_class = self.one_class
        return (
            self.kind.guesses(items)
            if shared_class is None
            else shared_class.shared(shared_class.two.guesses(shared_class.items(items)))
        )

    def compared(self, phi: Floats) -> Floats:
        """What of φ (..., P) guesses are judged by: (..., 2) where all is about one class, else all of it.
        Guesses that differ elsewhere alone are equally good."""
        return phi if self.one_class is None else self.one_class.sums(phi)

    def places(self, pool: ItemPool) -> Places:
        """How the items of a pool are put into groups, and in order inside them, before it is cut into
        cells: by system where rows have one, by joint predictions in a race of several systems, else as
        the kind of outcome says."""
        if self.contenders:
            return ByContender()
        if self.race is not None and self.kind.one_of_parts and pool.none.systems > 1:
            return ByJoint(joint_predictions(pool, RACING_GROUPS))
        return self.kind.places(pool) if self.one_class is None else self.one_class.places(pool)

    def said_with_contenders(self, support: Floats, items: Items, cell: Ints) -> Floats:
        """`OutcomeCells.said` (C, S, w), and behind it (C, 1 or S, K) which systems the rows of a cell are
        of; as it is where rows are of no system."""
        if not self.contenders:
            return support
        rows_of_systems: Floats = np.zeros((len(support), self.contenders))
        for rows, piece in items.chunks():
            np.maximum.at(rows_of_systems, cell[rows], present_in(piece, self.contenders).astype(np.float64))
        support = support if support.shape[1] else np.zeros((len(support), 1, support.shape[2]))
        beside = np.broadcast_to(rows_of_systems[:, None], (*support.shape[:2], self.contenders))
        return np.concatenate([support, beside], axis=2)

    def even(self, n: int) -> Floats:
        """φ (n, P) of n items of which nothing is known."""
        if self.one_class is not None:
            return np.broadcast_to(self.one_class.shared(np.full(2, 0.5)), (n, self.kind.width))
        return np.full((n, self.kind.width), 1 / max(self.kind.width, 2))

    def with_values(self, low: float, high: float) -> "Stack":
        """With outcomes between these values on the sides where none are known."""
        kind = self.kind.between(low, high)
        return replace(self, kind=kind, measures=tuple(
            replace(m, losses=tuple(replace(loss, kind=kind) for loss in m.losses)) for m in self.measures
        ))

    def check(self, items: Items) -> None:
        """Raises BadInput where the items lack a column that a measure needs, where their columns do not fit
        the kind of outcome, or where the pool has weights and they have none."""
        self.kind.check(items)
        if self.weights is not None:
            self.weights.relative_weights(items)
        for measure in self.measures:
            measure.check(items)
        for loss in self.common or ():
            loss.needs(items)

    def item_losses(self, items: Items, phi: Floats, into: Floats | None = None) -> Floats:
        """The losses ℓ of n items side by side, (n, D) for D components; times the weights of the items
        where the pool has weights. Written to the array `into` where there is one."""
        losses = np.concatenate([loss.item_losses(items, phi) for loss in self.losses], axis=1, out=into)
        if self.weights is not None:
            losses *= self.weights.relative_weights(items)[:, None]
        return losses

    def if_all(self, items: Items, code: float) -> Floats:
        """ℓ (n, D) of the items if this were the outcome of each."""
        losses = np.concatenate([loss.if_all(items, code) for loss in self.losses], axis=1)
        return losses if self.weights is None else losses * self.weights.relative_weights(items)[:, None]

    @cached_property
    def perfect(self) -> Floats:
        """The loss of a rightly predicted item, (D,) for D components: those of `Loss.perfect` one after the
        other, 0 where right items do not all have the same loss."""
        return np.concatenate([loss.perfect for loss in self.losses])

    def known(self, items: Items) -> Floats:
        """The known parts of all losses side by side, (n, D_k) for n items. Where the pool has weights they
        are multiplied by these, and the weight itself is the last column."""
        known_losses = np.concatenate([loss.known(items) for loss in self.losses], axis=1)
        if self.weights is None:
            return known_losses
        weight = self.weights.relative_weights(items)[:, None]
        return np.concatenate([known_losses * weight, weight], axis=1)

    def value(self, risk: Floats, known_sizes: Sequence[int]) -> Floats:
        """g (..., Q) at R; known_sizes: the length of each loss's known part."""
        risk = self._per_weight(risk)
        return np.concatenate(
            [m.value(risk[..., self.columns(m, known_sizes)]) for m in self.measures], axis=-1
        )

    def slopes(self, risk: Floats, known_sizes: Sequence[int]) -> Floats:
        """J (..., Q, D) at R; 0 where a measure is undefined."""
        rows, total = [], None if self.weights is None else risk[..., -1, None, None]
        risk = self._per_weight(risk)
        for m in self.measures:
            columns = self.columns(m, known_sizes)
            inner = np.nan_to_num(m.gradient(risk[..., columns]), nan=0.0, posinf=0.0, neginf=0.0)
            row = np.zeros((*inner.shape[:-1], self.size))
            row[..., columns[: inner.shape[-1]]] = inner
            rows.append(row if total is None else row / total)
        return np.concatenate(rows, axis=-2)

    def _per_weight(self, risk: Floats) -> Floats:
        """R divided by the mean weight, where items have weights."""
        return risk if self.weights is None else risk / risk[..., -1:]

    def slack(self, risk: Floats, known_sizes: Sequence[int]) -> Floats:
        """(..., Q) how far each number may be from what it stands for, at R; 0 where it is exact. Q counts
        the numbers; intervals are widened by it."""
        slacks, risk = [], self._per_weight(risk)
        for m in self.measures:
            if m.slack is None:
                slacks.append(np.zeros((*risk.shape[:-1], len(m.parts))))
            else:
                slacks.append(np.nan_to_num(m.slack(risk[..., self.columns(m, known_sizes)])))
        return np.concatenate(slacks, axis=-1)

    def columns_of_items(self, items: Items, phi: Floats) -> Floats | None:
        """(n, E) what measures computed item by item need, side by side; None where there is none of them. n
        counts the items, and E the columns of all such measures."""
        columns = [m.of_items.columns(items, phi) for m in self.measures if m.of_items is not None]
        return np.concatenate(columns, axis=1) if columns else None

    def values_of_items(self, columns: Floats, weight: Floats) -> dict[int, float]:
        """The value of each of the Q numbers that is computed item by item, all items being labelled.

        columns (N, E): `columns_of_items`; weight (N,).
        """
        values, at, q = {}, 0, 0
        for m in self.measures:
            if m.of_items is not None:
                width = m.of_items.width
                values[q] = m.of_items.value(columns[:, at : at + width], weight)
                at += width
            q += len(m.parts)
        return values

    def enough(self, loss: Floats) -> Bools:
        """(R, Q) whether labels with these losses (R, n, D) are as many as each number needs. A number
        without enough of them has the whole range for its interval."""
        sufficient = []
        for m in self.measures:
            columns = self.columns(m, [0] * len(self.losses))
            n_labels = loss[..., columns].any(axis=-1).sum(axis=-1) if m.least else np.zeros(len(loss))
            sufficient += [n_labels >= m.least] * len(m.parts)
        return np.stack(sufficient, axis=-1)

    @cached_property
    def curves(self) -> tuple[slice, ...]:
        """Which of the Q numbers are the points of one curve."""
        curves, at = [], 0
        for m in self.measures:
            if m.points:
                curves.append(slice(at, at + len(m.parts)))
            at += len(m.parts)
        return tuple(curves)

    def highest_means(self, risk: Floats, known_sizes: Sequence[int]) -> Floats:
        """(..., D) the largest that each component of R can be, as far as its known part tells. D counts the
        components of all losses."""
        parts = zip(self.losses, self._known_parts(self._per_weight(risk), known_sizes), strict=True)
        highest = np.concatenate([loss.highest_mean(part) for loss, part in parts], axis=-1)
        return highest if self.weights is None else highest * risk[..., -1:]

    def may_be_none(self, risk: Floats, known_sizes: Sequence[int]) -> Bools:
        """Which components are taken as 0 unless a label shows otherwise, (…, D), by the known parts of the
        means R: those of classes that are never predicted (`Loss.may_be_none`)."""
        parts = zip(self.losses, self._known_parts(risk, known_sizes), strict=True)
        return np.concatenate([loss.may_be_none(part) for loss, part in parts], axis=-1)

    def _known_parts(self, risk: Floats, known_sizes: Sequence[int]) -> list[Floats]:
        """The known part of each loss."""
        return np.split(risk[..., self.size :], np.cumsum(known_sizes)[:-1], axis=-1)[: len(self.losses)]

    def largest_pull(
        self, support: Floats, slopes: Floats, known_sizes: Sequence[int], *, together: bool
    ) -> Floats:
        """(C,) the largest that slopes·ℓ can be of an item of each cell, of weight 1, whatever its outcome.

        support (C, S, w): the `OutcomeKind.prediction_support` of each cell; slopes (D + D_k,); together:
        losses of several systems are bounded together, since the outcome is the same for all.
        """
        total, after = np.zeros(len(support)), self.size
        rows_of_systems: Floats | None = None
        if self.contenders:
            rows_of_systems, support = support[:, 0, -self.contenders :], support[..., : -self.contenders]
        by_class: list[Floats] = []
        for loss, at, length in zip(self.losses, self._starts, known_sizes[: len(self.losses)], strict=True):
            slope, known_slope = slopes[at : at + loss.size], slopes[after : after + length]
            after += length
            if not (slope.any() or known_slope.any()):
                continue
            by_outcome = loss.most_by_class(support, slope, known_slope) if together else None
            if by_outcome is None and rows_of_systems is not None and isinstance(loss, OfContender):
                cells_of_system = rows_of_systems[:, loss.number] > 0
                total += np.where(
                    cells_of_system, np.maximum(loss.most(support, slope, known_slope), 0.0), 0.0
                )
            elif by_outcome is None:
                total += loss.most(support, slope, known_slope)
            else:
                by_class.append(by_outcome)
        return total + np.sum(by_class, axis=0).max(axis=1) if by_class else total

    def known_sizes(self, items: Items) -> tuple[int, ...]:
        """The length of each loss's known part, in the order of the losses; where the pool has weights a 1
        for the weight comes last. Their sum is D_k."""
        sizes = tuple(loss.known(items.at(slice(0, 0))).shape[1] for loss in self.losses)
        return sizes if self.weights is None else (*sizes, 1)

    def spread(
        self, items: Items, phi: Floats, slopes: Floats, likely: Likely | None = None
    ) -> Floats:
        """(n, Q) the guessed variance of J·ℓ for outcomes distributed as φ (n, P); slopes (Q, D).

        likely: of several systems (`OutcomeKind.likely`), whose losses depend on one and the same outcome.
        """
        return self.spreads(items, [phi], slopes, likely)[0]

    def spreads(
        self, items: Items, phis: Sequence[Floats], slopes: Floats, likely: Likely | None = None
    ) -> list[Floats]:
        """Guesses at how far an item's outcome may move the measures, one array (n,) of variances for each
        of the supplied φ (n, P); multiplied by the squared weights where the pool has weights."""
        spreads = self._plain_spreads(items, phis, slopes, likely)
        if self.weights is None:
            return spreads
        squares = self.weights.relative_weights(items)[:, None] ** 2
        return [plain * squares for plain in spreads]

    def _plain_spreads(
        self, items: Items, phis: Sequence[Floats], slopes: Floats, likely: Likely | None
    ) -> list[Floats]:
        """The same of items of weight 1."""
        linear = [loss.pull(items, np.zeros(loss.size)) is not None for loss in self.losses] \
            if likely is not None else [True] * len(self.losses)
        spreads: list[Floats] = [np.empty((len(items), len(slopes))) for _ in phis]
        for q, slope in enumerate(slopes):
            for spread_of_phi, spread in zip(spreads, self._spreads(items, phis, slope, linear), strict=True):
                spread_of_phi[:, q] = spread
        if likely is None or all(linear):
            return spreads
        before: Floats | None = None   # outcomes of numbers do not depend on φ
        added: Floats = np.zeros(0)
        for i, phi in enumerate(phis):
            outcomes = likely(items, phi)
            if before is None or not np.array_equal(outcomes, before):
                before, added = outcomes, self._together(items, outcomes, slopes, linear)
            spreads[i] = spreads[i] + added
        return spreads

    def _together(self, items: Items, outcomes: Floats, slopes: Floats, linear: Sequence[bool]) -> Floats:
        """(n, Q) the variance over outcomes (n, V) of J·ℓ, of the losses that are not linear in φ."""
        nonlinear = [
            (loss, slice(start, start + loss.size))
            for loss, start, is_linear in zip(self.losses, self._starts, linear, strict=True) if not is_linear
        ]
        total: Floats = np.zeros((len(items), len(slopes)))
        squares: Floats = np.zeros((len(items), len(slopes)))
        for code in outcomes.T:
            phi = self.kind.phi(code)
            pull = sum(loss.item_losses(items, phi) @ slopes[:, columns].T for loss, columns in nonlinear)
            total, squares = total + pull, squares + pull**2
        n = outcomes.shape[1]
        variance = squares / n - (total / n) ** 2
        return np.where(is_nothing(variance, squares / n), 0.0, np.maximum(variance, 0.0))

    def _spreads(
        self, items: Items, phis: Sequence[Floats], slope: Floats, counted: Sequence[bool]
    ) -> list[Floats]:
        """counted: the losses that are looked at."""
        pulls: Floats = np.zeros(phis[0].shape)
        nonlinear: list[Floats] = [np.zeros(len(items)) for _ in phis]
        for loss, start, counts in zip(self.losses, self._starts, counted, strict=True):
            inner = slope[start : start + loss.size]
            if not counts or not inner.any():
                continue
            pull = loss.pull(items, inner)
            if pull is None:
                nonlinear = [
                    r + loss.spread(items, phi, inner) for r, phi in zip(nonlinear, phis, strict=True)
                ]
            else:
                pulls = pulls + pull
        if not pulls.any():
            return nonlinear
        return [self.kind.variance(pulls, phi) + r for r, phi in zip(nonlinear, phis, strict=True)]

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """Where each loss begins."""
        return tuple(np.cumsum([0, *(loss.size for loss in self.losses)])[:-1].tolist())

    @cached_property
    def _found(self) -> dict[tuple[OutcomeMeasure, tuple[int, ...]], Array]:
        """The columns of measures that were looked up before."""
        return {}

    def columns(self, measure: OutcomeMeasure, known_sizes: Sequence[int]) -> Array:
        """Where the risk of a measure stands in R: its losses, then what is known of them. Places in R, as an
        array of whole numbers; known_sizes counts what is known of each loss."""
        key = measure, tuple(known_sizes)
        if key not in self._found:
            starts = (*self._starts, self.size)
            after = self.size + np.cumsum([0, *known_sizes])
            positions = [self.losses.index(loss) for loss in measure.losses]
            pieces = [np.arange(starts[i], starts[i + 1]) for i in positions]
            pieces += [np.arange(after[i], after[i + 1]) for i in positions]
            self._found[key] = np.concatenate(pieces)
        return self._found[key]


def number_of_contenders(measures: object) -> int:
    """Systems whose rows the pool has, by the measures of a question; 0 where a row is of none, or of all.
    Measures that are no stack, those of two classes, have none."""
    return measures.contenders if isinstance(measures, Stack) else 0


@dataclass(frozen=True, kw_only=True, eq=False)
class StackOfQuestions(Stack):
    """The stacks of all questions, in the order of the kind's; measures: of all, question by question.

    What is computed of losses is computed by each question's own stack, never by this one.
    """

    each: tuple[Stack, ...]
    drives: tuple[bool, ...]     # which questions the choice of items serves

    def __post_init__(self) -> None:
        if not any(self.drives):
            raise BadInput("at least one question must drive the sampling")

    @property
    def questions(self) -> SeveralQuestions:
        """The kind of outcome as the several questions that it is. Raises TypeError for any other kind,
        which such a stack should never have."""
        kind = self.kind
        if not isinstance(kind, SeveralQuestions):
            raise TypeError("these are the measures of several questions")
        return kind

    def check(self, items: Items) -> None:
        """Raises BadInput where the items lack what a measure of a question needs."""
        for number, stack in enumerate(self.each):
            stack.check(self.questions.view(number, items))


def stack_of_questions(
    kind: SeveralQuestions, measures: dict[str, tuple[OutcomeMeasure, ...]],
    drive: tuple[str, ...] | None = None, weights: PoolWeights | None = None,
) -> StackOfQuestions:
    """The measures by question; drive: the questions that the choice of items serves, all unless said;
    weights: of the pool's items, where they have some.

    Raises BadInput for a question without a measure, and for one that is none.
    """
    for name in (*measures, *(drive or ())):
        kind.question(name)
    for question in kind.each:
        if not measures.get(question.name):
            raise BadInput(f"question {question.name!r} has no measure; give it one")
    stacks = tuple(
        Stack(kind=question.kind, measures=measures[question.name], weights=weights) for question in kind.each
    )
    return StackOfQuestions(
        kind=kind, each=stacks, weights=weights,
        drives=tuple(drive is None or name in drive for name in kind.names),
        measures=tuple(
            replace(measure, question=question.name)
            for question, stack in zip(kind.each, stacks, strict=True) for measure in stack.measures
        ),
    )
