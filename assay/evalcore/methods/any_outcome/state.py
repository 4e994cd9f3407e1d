"""What is known of a pool for any kind of outcome: its cells, the losses of labelled items, and what rounds
added.

    R   repeats side by side: 1 in a live evaluation, hundreds in a replay
    C   cells;  n   labelled items so far, the same number in every repeat
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self, TypeAlias, TypedDict

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.method import LabelledSample
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import EXACT_WIDTH, OFF_TIES
from assay.evalcore.types import ONE_LABEL, UNSEEN, Array, Bools, DiagnosticArrays, Floats, Ints

HITS = -1     # what the cells' axis is of, in place of a class: whether an item is a hit
LEAST_PULL_SPREAD = 1e-30    # of a cell's pull: it is no less, so that anything may be divided by it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """Where cells lie along a score of one class against the rest, (C,) each, rising."""

    part: int            # the code of the class
    stratum: Ints
    prediction: Ints     # 1 where the (first) system predicts the class
    score: Floats        # mean, minus the score where predictions change
    probability: Floats  # mean supplied probability of the class
    density: Floats      # log of the pool's density in score
    votes: Floats        # share of further systems and judges that say the class; 0 without any

    def to_array(self) -> Floats:
        """The columns as one plain array, (7, C) for C cells, with the code of the class repeated in the
        first row. `from_array` makes the same columns of it again."""
        rows = [getattr(self, f.name) for f in fields(self)[1:]]
        return np.stack([np.full(len(self.score), self.part), *rows]).astype(np.float64)

    @staticmethod
    def from_array(array: Floats) -> "Axis":
        """The columns read from an array (7, C), as `to_array` writes it."""
        part, stratum, prediction, *columns = array
        score, probability, density, votes = columns
        return Axis(
            part=int(part[0]), stratum=stratum.astype(np.int64), prediction=prediction.astype(np.int64),
            score=score, probability=probability, density=density, votes=votes,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeCells:
    """The cells of one pool, for one question: for each of C cells its size, sums of what the guesses
    expect, the guessed spread of its items' pull, and what the pool tells. All computation per round is
    on these."""

    size: Ints          # (C,) items
    guess: Floats       # (C, B, D) sums of what each guess expects of the losses
    spread: Floats      # (C, Q) mean guessed variance of an item's pull at each number
    relevant: Bools     # (C,) whether the labels of its items can change anything that is asked
    told: Floats        # (C, D_k) sums of what the pool tells of the losses
    said: Floats        # (C, S, w) what each system predicts of the items (`OutcomeKind.prediction_support`)
    known_sizes: Ints   # the length of each loss's part of `known`
    first: Floats       # (B,) the weights of the guesses before any label
    # of methods with a Dirichlet tree (`dirichlet_leaves`); None for the others
    chance: Floats | None = None      # (C, K) the mean supplied probability of each class
    by_class: Floats | None = None    # (3, n) losses by class
    axis: Floats | None = None        # (7, C) of cells along a score: `Axis`
    slot: Ints | None = None          # (C,) the leaf
    lump: Ints | None = None          # (K,) classes of one number are one to the tree
    # (X,) which columns beside the guesses vary; None where none does.  `guess` has them last, and where
    # guesses share their weights a constant 1 after them
    beside: Bools | None = None
    # (C, 2) Σ w²/Σ w of its items and their largest w, where items have weights; the mean over the pool is 1
    heavy: Floats | None = None
    segment: Ints | None = None       # (C, L) codes of the segments of its items, where segments drive

    @property
    def prediction(self) -> None:
        """What is predicted of all items of a cell: it may differ."""

    @property
    def known(self) -> Floats:
        """(D_k,) sums over the pool of what it tells of the losses."""
        return np.asarray(self.told.sum(axis=0))

    @property
    def mean_weight(self) -> Floats:
        """(C,) of the items of each cell, where items have weights."""
        return np.asarray(self.told[:, -1] / self.size)

    def guesses(self, stack: Stack) -> int:
        """How many of B are guesses: the rest is beside them."""
        if self.beside is None:
            return len(self.first)
        return len(self.first) - len(self.beside) - int(stack.kind.label_model.shared)

    @property
    def n_cells(self) -> int:
        """The number C of cells that the pool is cut into."""
        return len(self.size)

    @property
    def n_items(self) -> int:
        """The number N of items in the pool."""
        return int(self.size.sum())

    def to_arrays(self) -> dict[str, Array]:
        """The columns by name as plain arrays, without those that are None, for whoever stores the cells.
        They are read back to the same bits."""
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: values for name, values in columns.items() if values is not None}

    @staticmethod
    def from_arrays(arrays: Mapping[str, Array]) -> "OutcomeCells":
        """The cells made of stored columns by name, as `to_arrays` gives them."""
        return OutcomeCells(**{name: np.asarray(values) for name, values in arrays.items()})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossTable:
    """Of M items with their outcomes: all that any method ever sees of them.

    A live evaluation has the labelled items in it; a replay has the whole pool, of which a method sees the
    rows of the items that it drew.  d' is 1 where guesses share their weights, else D.
    """

    loss: Floats     # (M, D) ℓ(x, y)
    guess: Floats    # (M, B, D)
    known: Floats    # (M, D_k)
    gram: Floats     # (M, d', B, B)  products of guesses, of φ or of the losses
    cross: Floats    # (M, d', B)     guesses times the truth
    square: Floats   # (M, d')        the truth squared
    code: Floats     # (M,) of the outcome
    cluster: Floats | None = None   # (M,) the cluster of each item, where items come in clusters
    stratum: Floats | None = None   # (M,) the stratum that each was drawn from, where the pool says
    # (M, E) what measures that are computed item by item need (`measures.measure.OfLabelledItems`)
    columns: Floats | None = None

    def plus(self, following: "LossTable") -> "LossTable":
        """The table with the rows of another one below its own; columns that are None stay None. Neither
        table is changed. Rows of the other one keep their order."""
        names = [f.name for f in fields(self) if getattr(self, f.name) is not None]
        return LossTable(**{
            name: np.concatenate([getattr(self, name), getattr(following, name)]) for name in names
        })


def guessed(stack: Stack, items: Items) -> tuple[Floats, Floats]:
    """φ (n, B', P) of each guess and the loss (n, B, D) it expects; with what is beside the guesses, last.

    For a label model that fits every component on its own the last guess is the constant 1.
    """
    phi = stack.guesses(items)
    loss = np.empty((len(items), phi.shape[1] + columns_beside(stack, items), stack.size))
    expect(stack, items, phi, loss)
    return phi, loss


def columns_beside(stack: Stack, none: Items) -> int:
    """How many columns follow the guesses: those beside them, and where there are some a constant, unless
    the guesses have one; none: no item is needed, only the columns that items have."""
    beside = none.at(slice(0, 0)).beside.shape[1]
    return beside + (1 if beside and stack.kind.label_model.shared else 0)


def expect(stack: Stack, items: Items, phi: Floats, loss: Floats) -> None:
    """Write to loss (n, B, D) what each guess expects, and what is beside them; phi (n, B', P): guesses. n
    counts items, B guesses and D components."""
    n_guesses = phi.shape[1]
    for b in range(n_guesses):
        stack.item_losses(items, phi[:, b], into=loss[:, b])
    item_weight = 1.0 if stack.weights is None else stack.weights.relative_weights(items)[:, None]
    if not stack.kind.label_model.shared:
        loss[:, n_guesses - 1] = item_weight
    if loss.shape[1] > n_guesses:
        beside = items.beside
        loss[:, n_guesses:] = 1.0
        loss[:, n_guesses : n_guesses + beside.shape[1]] = beside[..., None]
        if stack.weights is not None:
            loss[:, n_guesses:] *= stack.weights.relative_weights(items)[:, None, None]


def loss_table(stack: Stack, items: Items, codes: Floats) -> LossTable:
    """The losses, the guesses and their products of n items whose outcomes are known, one row for each item;
    the codes of the outcomes are (n,)."""
    truth = stack.kind.phi(codes)
    phi, guess = guessed(stack, items)
    loss = stack.item_losses(items, truth)
    if stack.kind.label_model.shared:
        guessed_outcome, actual = stack.compared(phi), stack.compared(truth)
        gram = np.einsum("nbp,nkp->nbk", guessed_outcome, guessed_outcome)[:, None]
        cross = np.einsum("nbp,np->nb", guessed_outcome, actual)[:, None]
        square = (actual**2).sum(axis=1, keepdims=True)
    else:
        gram = np.einsum("nbd,nkd->ndbk", guess, guess)
        cross = np.einsum("nbd,nd->ndb", guess, loss)
        square = loss**2
    return LossTable(
        loss=loss, guess=guess, known=stack.known(items), gram=gram, cross=cross, square=square, code=codes,
        cluster=None if items.cluster is None else items.cluster[:, 0],
        stratum=None if items.stratum is None else items.stratum[:, 0],
        columns=stack.columns_of_items(items, truth),
    )


def may_differ(stack: Stack, cells: OutcomeCells) -> Bools:
    """(Q,) whether the label of some item can move each number: not a difference of two systems that predict
    alike, or of two biases, which is known.

    It can where pulls were guessed to spread; and where all slopes were 0 at what was expected, which may be
    others elsewhere.
    """
    sizes = cells.known_sizes.tolist()
    expected = np.einsum("b,cbd->d", cells.first, cells.guess)
    slopes = stack.slopes(np.concatenate([expected, cells.known])[None] / cells.n_items, sizes)[0]
    spread = (cells.spread > 2 * LEAST_PULL_SPREAD).any(axis=0)
    measures = [stack.measures[m] for m, _ in stack.parts]
    known = [m.versus is not None and m.difference_from_known is not None for m in measures]
    return np.asarray((spread | ~slopes.any(axis=1)) & ~np.array(known))


def spent_on_fit(stack: Stack, cells: OutcomeCells) -> float:
    """How many labels the fit of the label model uses up."""
    n_beside = 0 if cells.beside is None else int(cells.beside.sum())
    return stack.kind.label_model.spent(cells.guesses(stack)) + n_beside


_EXACT_DECIMALS = 12   # of an exact value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundOutcomes:
    """What was said of the items of a round: rows of the loss table and cells of the newly labelled items,
    (R, b) each, and what was guessed of undecided ones. With replacement also how often each item was
    drawn."""

    item: Ints                 # (R, b) rows of the table: the newly labelled items
    cell: Ints                 # (R, b) their cells
    table: LossTable | None = None      # replaces the table, where it has grown
    asked: Ints | None = None           # (R, .) the cells of all items asked, where some have no label
    undecided_guess: Floats | None = None   # (R, B, D) what was guessed of the undecided items; None: of none
    undecided_known: Floats | None = None   # (R, D_k)
    # of draws with replacement: how often (R, n + b) each labelled item was drawn, the new ones last
    times: Ints | None = None
    # and of a live round besides (R = 1): with which q, with ranks (R, b) in their cells; how many draws were
    # made, and how many items those on undecided ones stand for, N w
    q: Floats | None = None      # (R, n + b)
    rank: Ints | None = None     # (R, b)
    draws: int | None = None
    lost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleState(LabelledSample):
    """What methods of any outcome know: the rows of the labelled items too."""

    fits_guesses: ClassVar[bool] = True    # labels are spent on the weights of guesses, and widen intervals

    cells: OutcomeCells
    stack: Stack
    table: LossTable | None    # None before the first label
    item: Ints                 # (R, n) rows of the table: the labelled items
    cell: Ints                 # (R, n) their cells
    excluded_guess: Floats     # (R, B, D) what was guessed of the items that are excluded
    excluded_known: Floats     # (R, D_k)
    # (R, C) how many labels the designs of all rounds meant for each cell, where the method's own share does
    # not say it: after a sample that others drew, and where segments drive
    given: Floats | None = None

    @property
    def n(self) -> int:
        """The number of labelled items, the same in every repeat."""
        return int(self.item.shape[1])

    @property
    def clustered(self) -> bool:
        return self.table is not None and self.table.cluster is not None

    @property
    def of_the_pool(self) -> Self:
        return replace(self, table=replace(self.table, cluster=None)) if self.clustered else self   # type: ignore[type-var]

    @property
    def relevant(self) -> Bools:
        return self.cells.relevant

    def of_repeats(self, rows: Ints) -> Self:
        """The state of these repeats alone, in the order of the row numbers; cells, measures and the loss
        table are shared. A repeat may be named more than once."""
        names = ("item", "cell", "labelled", "excluded", "excluded_guess", "excluded_known")
        given = None if self.given is None else self.given[rows]
        return replace(self, given=given, **{name: getattr(self, name)[rows] for name in names})

    def outcome_of(self, codes: Floats) -> Ints:
        """By which of the K outcomes that are told apart labels with these codes (R, b) count. R counts
        repeats and b the items of a round."""
        return np.zeros(codes.shape, np.int64)

    def outcomes_of(self, table: LossTable, answers: RoundOutcomes) -> Ints:
        """The same of the answers (R, b) of a round, which are rows of the table. R counts repeats and b the
        items of a round."""
        return self.outcome_of(table.code[answers.item])

    def plus(self, answers: RoundOutcomes) -> Self:
        """The state with the labels of a round: the rows are appended, and the labels counted by cell and,
        where the method tells outcomes apart, by outcome."""
        table, (repeats, c, k) = answers.table or self.table, self.labelled.shape
        place = np.arange(repeats)[:, None] * c + answers.cell
        if k > 1 and table is not None:
            place = place * k + self.outcomes_of(table, answers)
        count = np.bincount(place.ravel(), minlength=repeats * c * k).reshape(repeats, c, k)
        return replace(
            self,
            table=table,
            item=np.concatenate([self.item, answers.item], axis=1),
            cell=np.concatenate([self.cell, answers.cell], axis=1),
            labelled=self.labelled + count,
        )

    def without(self, answers: RoundOutcomes, excluded: Ints) -> Self:
        """Without the items (R, C) of a round that people could not decide."""
        if answers.undecided_guess is None or answers.undecided_known is None:
            return self
        return replace(
            self,
            excluded=self.excluded + excluded,
            excluded_guess=self.excluded_guess + answers.undecided_guess,
            excluded_known=self.excluded_known + answers.undecided_known,
        )


class EmptySampleFields(TypedDict):
    """The fields of `SampleState` that have no default, by their names."""

    stack: Stack
    cells: OutcomeCells
    table: None
    item: Ints
    cell: Ints
    labelled: Ints
    excluded: Ints
    excluded_guess: Floats
    excluded_known: Floats


def no_rows_yet(stack: Stack, cells: OutcomeCells, repeats: int, outcomes: int = 1) -> EmptySampleFields:
    """The fields of `SampleState` before any label; outcomes: K, how many are told apart."""
    shape, b = (repeats, cells.n_cells), len(cells.first)
    return {
        "stack": stack,
        "cells": cells,
        "table": None,
        "item": np.zeros((repeats, 0), np.int64),
        "cell": np.zeros((repeats, 0), np.int64),
        "labelled": np.zeros((*shape, outcomes), np.int64),
        "excluded": np.zeros(shape, np.int64),
        "excluded_guess": np.zeros((repeats, b, stack.size)),
        "excluded_known": np.zeros((repeats, len(cells.known))),
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemWeights:
    """What each labelled item stands for (R = 1): the fields of `evalcore.weighted.sample.WeightedSample`."""

    weight: Floats       # (n,)
    factor: Floats       # (n,)
    group: Ints          # (n,) -1 for none


# of confidences (R, Q): the lower and the upper ends (R, Q)
Ends: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeEstimates:
    """The Q numbers that are asked for, in each repeat; NaN where one is undefined."""

    value: Floats        # (R, Q)
    lower: Floats        # (R, Q)
    upper: Floats        # (R, Q)
    variance: Floats     # (R, Q) 0 once everything that matters is labelled
    exact: Bools         # (R,) everything that matters is labelled
    settled: Bools | None = None   # (R, Q) everything that matters to the number; None: as `exact`
    ends: Ends | None = None     # the interval at other confidences; None before the first label
    # (R, Q) of measures without bounds: the share of one label in the variance
    largest: Floats | None = None
    # (R,) of measures without bounds: the share of the pool that may differ from all labels
    unseen: Floats | None = None
    # lower, upper (R, Q): of the points of a curve, ends that hold together; None without curves
    band: tuple[Floats, Floats] | None = None
    interval: str | None = None   # the kind of the intervals, where it is not the method's
    notes: Sequence[DiagnosticArrays] | None = None   # of each number, what the method says besides (R = 1)

    def number(self, q: int) -> EstimateArrays:
        """The estimate of number q alone, as arrays over the repeats. Exact values are rounded to get rid of
        sums' last bits, and a single label that carries more than half of the variance is named among the
        diagnostics."""
        diagnostics: DiagnosticArrays = {} if self.notes is None else self.notes[q]
        exact = self.exact if self.settled is None else self.exact | self.settled[:, q]
        if self.largest is not None:
            share = np.where(exact, np.nan, self.largest[:, q])
            if (share > 0.5 + OFF_TIES).any():    # of two labels alike, each has half
                diagnostics = {**diagnostics, ONE_LABEL: share}
            if self.unseen is not None and np.isfinite(share).any():
                diagnostics = {**diagnostics, UNSEEN: np.where(exact, np.nan, self.unseen)}
        value, lower, upper = self.value[:, q], self.lower[:, q], self.upper[:, q]
        closed = exact & ~(upper - lower > EXACT_WIDTH)
        # 0 and not 2.9e-16, a sum of shares
        value = np.where(closed, np.round(value, _EXACT_DECIMALS), value)
        return EstimateArrays(
            value=value, lower=np.where(closed, value, lower), upper=np.where(closed, value, upper),
            variance=self.variance[:, q], diagnostics=diagnostics, exact=exact, ends=self.ends,
            interval=self.interval,
            band=None if self.band is None else (self.band[0][:, q], self.band[1][:, q]),
        )
