"""The labelled items of an evaluation, each with the number of items of the pool that it stands for.

`weighted_sample` makes the weights, by kind of design; `along_the_score`, `wrong_predictions` show the items.

With weights w the mean of any function of an item is estimated by Σ w f / Σ w, and the variance of a sum of
small pulls z by

    V(Σ w z) = Σ_i v_i (z_i - z̄_g(i))²          z̄_g: the mean of the group, 0 where an item has no group

v_i says what the design left to chance: 0 for an item that was certain to be asked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.state import LabelledRound, Question, State
from assay.evalcore.methods.method import PredictedCells, Weighting
from assay.evalcore.outcomes.base import UNDECIDED, OutcomeKind, is_outcome
from assay.evalcore.pool.strata import Cells
from assay.evalcore.printed import HIDDEN, key_as
from assay.evalcore.types import Array, Bools, Floats, Ints

NO_GROUP = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedSample:
    """Every item of the evaluation that has a label, once; n of them."""

    cell: Ints           # (n,)
    rank: Ints           # (n,) position of the item inside its cell
    round: Ints          # (n,) in which it was labelled, counted from 1
    draw: Ints           # (n,) the first draw of it in that round, counted from 0
    label: Floats        # (n,) the code of its outcome: see `evalcore.outcomes.base`
    probability: Floats  # (n,) of that draw, or of the item to be in that round
    weight: Floats       # (n,) items that it stands for, itself included
    factor: Floats       # (n,) v
    group: Ints          # (n,) items whose pulls are centred together; NO_GROUP for none
    reached: Bools       # (C,) cells whose items can be drawn
    exact: bool          # everything that can be drawn is labelled

    def __len__(self) -> int:
        return len(self.cell)


_Weights: TypeAlias = tuple[Floats, Floats, Ints]   # weight, factor and group, (n,) each
_First: TypeAlias = Mapping[str, Array]   # cell, rank, round, draw and probability of each item, (n,)


def weighted_sample(question: Question, state: State, rounds: Sequence[LabelledRound]) -> WeightedSample:
    """The labelled items of the closed rounds, of which there is one at least; state: after these rounds.

    Raises BadInput where the method's items have no known chances, and NothingToStandFor for a round with
    gaps where a prediction was asked and gave no answer.

    Weights of the labelled items of an evaluation, by kind of design.

    The capability `weighting` says which: `method` where the method itself knows what each item stands for
    (`OutcomeMethod.weights`), and of a positive and a negative class

      draws     with replacement. A draw under q stands for 1/(n q) items, n the draws of all rounds; an item
                for the sum over its draws (Hansen & Hurwitz 1943)
      rounds    without replacement, by chances that follow the labels. Round t alone estimates a total by
                what
                was known before it and Σ 1/π over its new items (Horvitz & Thompson 1952; Raj 1956). Rounds
                are averaged by how many items they ask, ω_t, which is known before their labels. So an item
                    of
                round s weighs ω_s/π + Σ_{t>s} ω_t, and the mean of a sum of weights is the truth whatever
                steered the draws
      pooled    without replacement, by chances that do not follow the labels: 1/Π, Π = 1 - Π_t (1 - π_t)
      cells     a simple random sample of each cell, however many: its items share its unlabelled ones; cells
                without a label go to the nearest with one, of the same prediction where there is one

    A round in which all was asked that is left settles everything: every item then weighs 1.  Where a round
    was closed with items unanswered, chances are those of being asked and answered
    (`evaluation.nonresponse`).

        T   draws of a round;  C   cells;  n   labelled items
    """
    weighting: Weighting = question.method.capabilities.weighting
    if weighting == "method":
        item_weights = question.method.weights(state.inner)
        return WeightedSample(
            **_first_draws(rounds), weight=item_weights.weight, factor=item_weights.factor,
            group=item_weights.group,
            reached=question.cells.relevant, exact=state.exhausted,
        )
    return weighted_by(weighting, question.cells, rounds)


def unweighted_sample(rounds: Sequence[LabelledRound], reached: Bools) -> WeightedSample:
    """The items of the closed rounds that have a label, each for itself alone. For what is said of items and
    not of the pool."""
    first_draws = _first_draws(rounds)
    weight, factor, group = _certain(first_draws)
    return WeightedSample(
        **first_draws, weight=weight, factor=factor, group=group, reached=reached, exact=False
    )


def weighted_by(weighting: Weighting, cells: Cells, rounds: Sequence[LabelledRound]) -> WeightedSample:
    """The labelled items of these rounds of two classes with their weights.

    Raises BadInput for a design whose items have no known chance, and NothingToStandFor for a round with gaps
    where a prediction was asked and gave no answer.
    """
    if weighting not in _MADE:
        raise BadInput("labelled items have no weights: they were not drawn with known probabilities")
    first_draws = _first_draws(rounds)
    settled = any(r.plan.census and not r.gaps for r in rounds)
    weight, factor, group = _certain(first_draws) if settled else _MADE[weighting](cells, rounds, first_draws)
    return WeightedSample(
        **first_draws, weight=weight, factor=factor, group=group, reached=_reached(cells, rounds),
        exact=settled,
    )


def predictions_unreached(
    cells: PredictedCells, kind: OutcomeKind, reached: Bools, *, as_frozen: bool
) -> Floats:
    """(m,) what may be predicted of the items of cells that are not reached (C,).

    Anything, unless as_frozen and the cells say it: by the pool's own predictions.  One code where outcomes
    are no classes.
    """
    if as_frozen and cells.prediction is not None:
        return np.asarray(np.unique(cells.prediction[~reached]), np.float64)
    return np.arange(max(len(kind.parts), 1), dtype=np.float64)


def _first_draws(rounds: Sequence[LabelledRound]) -> dict[str, Array]:
    """Of every item with a label, the draw that bought it."""
    columns: dict[str, list[Array]] = {
        name: [] for name in ("cell", "rank", "round", "draw", "label", "probability")
    }
    for number, labelled_round in enumerate(rounds, start=1):
        at = np.flatnonzero(labelled_round.plan.ask & labelled_round.new & is_outcome(labelled_round.code))
        columns["cell"].append(labelled_round.plan.cell[at])
        columns["rank"].append(labelled_round.plan.rank[at])
        columns["round"].append(np.full(len(at), number))
        columns["draw"].append(at)
        columns["label"].append(labelled_round.code[at])
        columns["probability"].append(labelled_round.plan.probability[at])
    return {name: np.concatenate(pieces) for name, pieces in columns.items()}


def _certain(first_draws: _First) -> _Weights:
    n = len(first_draws["cell"])
    return np.ones(n), np.zeros(n), np.full(n, NO_GROUP)


def _by_draws(cells: Cells, rounds: Sequence[LabelledRound], first_draws: _First) -> _Weights:
    sampled = [r for r in rounds if not r.plan.census]
    made = sum(len(r.code) for r in sampled)
    place = _places(first_draws)
    weight, squares = np.zeros(len(first_draws["cell"])), np.zeros(len(first_draws["cell"]))
    # an item that was asked again has a row for each answer: a draw that bought one goes by its own
    row_of_draw = {
        at: i
        for i, at in enumerate(zip(first_draws["round"].tolist(), first_draws["draw"].tolist(), strict=True))
    }
    for number, labelled_round in enumerate(rounds, start=1):
        if labelled_round.plan.census:
            continue
        stands = 1 / (made * labelled_round.plan.probability * labelled_round.response(cells))
        drawn = zip(labelled_round.plan.cell.tolist(), labelled_round.plan.rank.tolist(), strict=True)
        at = np.array([
            row_of_draw.get((number, t), place.get(address, -1)) for t, address in enumerate(drawn)
        ], np.int64)
        np.add.at(weight, at[at >= 0], stands[at >= 0])
        np.add.at(squares, at[at >= 0], stands[at >= 0] ** 2)
    return weight, squares * made / max(made - 1, 1), np.full(len(weight), NO_GROUP)


def _by_rounds(cells: Cells, rounds: Sequence[LabelledRound], first_draws: _First) -> _Weights:
    asked_counts = np.array([r.plan.ask.sum() for r in rounds], np.float64)
    say = asked_counts / asked_counts.sum()
    after = say.sum() - np.cumsum(say)
    weight, factor = np.empty(len(first_draws["cell"])), np.empty(len(first_draws["cell"]))
    for number, labelled_round in enumerate(rounds, start=1):
        of_round = first_draws["round"] == number
        draw_stands = _told(cells, labelled_round)[first_draws["draw"][of_round]]
        weight[of_round] = say[number - 1] * draw_stands + after[number - 1]
        factor[of_round] = say[number - 1] ** 2 * draw_stands * np.maximum(draw_stands - 1, 0.0)
    return weight, factor, np.full(len(weight), NO_GROUP)


def _told(cells: Cells, labelled_round: LabelledRound) -> Floats:
    """(T,) the items that each draw stands for in its round."""
    plan, rate = labelled_round.plan, labelled_round.response(cells)
    stands_for = plan.design.stands_for
    return np.asarray((1 / plan.probability if stands_for is None else stands_for[0, plan.cell]) / rate)


def _by_pooled(cells: Cells, rounds: Sequence[LabelledRound], first_draws: _First) -> _Weights:
    missed = np.zeros(cells.n_cells)
    for labelled_round in rounds:
        chance = labelled_round.plan.design.unlabelled[0].copy()
        rate = labelled_round.response(cells)
        chance[labelled_round.plan.cell] *= rate
        missed += np.log1p(-np.minimum(chance, 1 - 1e-12))
    inclusion = -np.expm1(missed)[first_draws["cell"]]
    return 1 / inclusion, (1 - inclusion) / inclusion**2, np.full(len(inclusion), NO_GROUP)


def _by_cells(cells: Cells, rounds: Sequence[LabelledRound], first_draws: _First) -> _Weights:
    cell = first_draws["cell"]
    n = np.bincount(cell, minlength=cells.n_cells)
    gone = [r.plan.cell[r.plan.ask & (r.code == UNDECIDED)] for r in rounds]
    undecided = np.bincount(np.concatenate(gone), minlength=cells.n_cells)
    open_items = (cells.size - n - undecided) * _reached(cells, rounds)
    opened = np.zeros(cells.n_cells)
    np.add.at(opened, _nearest_labelled(n, cells.prediction), open_items)
    open_per_label = opened / np.maximum(n, 1)
    group = _grouped(n, cells.prediction)
    together = np.bincount(group, weights=n)[group][cell]
    centred = np.where(together > 1, together / np.maximum(together - 1, 1), 1.0)
    factor = open_per_label * (open_per_label + 1)
    return 1 + open_per_label[cell], factor[cell] * centred, np.where(together > 1, group[cell], NO_GROUP)


def _nearest_labelled(n: Ints, prediction: Ints) -> Ints:
    """(C,) the nearest cell with a label: of the same prediction where it has any; itself if it has one."""
    nearest = np.arange(len(n))
    everywhere = np.flatnonzero(n > 0)
    for c in np.flatnonzero(n == 0).tolist():
        alike = everywhere[prediction[everywhere] == prediction[c]]
        among = alike if len(alike) else everywhere
        if len(among):
            nearest[c] = among[np.argmin(np.abs(among - c))]
    return nearest


def _grouped(n: Ints, prediction: Ints) -> Ints:
    """(C,) a number for each group of neighbouring cells of one prediction, of two labels or more."""
    group = np.zeros(len(n), np.int64)
    number = 0
    for f in (0, 1):
        of_f = np.flatnonzero(prediction == f)
        held = np.cumsum(n[of_f])
        piece = np.maximum((held - n[of_f]) // 2, 0)
        # the last label alone joins those before it
        last_piece = held[-1] // 2 - 1 if len(held) else 0
        group[of_f] = number + np.minimum(piece, max(int(last_piece), 0))
        number = int(group.max()) + 1
    return group


def _places(first_draws: _First) -> dict[tuple[int, int], int]:
    addresses = zip(first_draws["cell"].tolist(), first_draws["rank"].tolist(), strict=True)
    return {address: i for i, address in enumerate(addresses)}


def _reached(cells: Cells, rounds: Sequence[LabelledRound]) -> Bools:
    """(C,) cells whose every item was asked or could have been."""
    reached = np.zeros(cells.n_cells, np.bool_)
    for labelled_round in rounds:
        design = labelled_round.plan.design
        reached |= (design.unlabelled[0] > 0) | (design.left[0] == 0)
        reached[labelled_round.plan.cell] = True
    return reached


_MADE: Mapping[
    str, Callable[[Cells, Sequence[LabelledRound], _First], _Weights]
] = {"draws": _by_draws, "rounds": _by_rounds, "pooled": _by_pooled, "cells": _by_cells}


BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreBin:
    """One bin along the score: its ends, the items of the pool in it, and how many of them have a label, or
    a positive one."""

    lower: float
    upper: float
    items: int        # of the pool
    labelled: int     # of them, those with a label
    positives: int    # of these, those labelled positive


def along_the_score(
    position: Floats, size: Ints, cell: Sequence[int], positive: Sequence[bool]
) -> tuple[ScoreBin, ...]:
    """The axis in BINS pieces of one width, without those that hold no item; () where it is too long for
    a float.

    position (C,): mean score of the items of each cell; size (C,): its items; cell (n,): of each labelled
    item; positive (n,): whether it is labelled so. All items of a cell count where its mean is.
    """
    low, high = position.min().item(), position.max().item()
    if high - low == np.inf:
        return ()
    edges = np.linspace(low, high, BINS + 1) if high > low else np.array([low, high])
    pieces = len(edges) - 1
    at = np.clip(np.searchsorted(edges, position, side="right") - 1, 0, pieces - 1)
    items = np.bincount(at, weights=size, minlength=pieces)
    bin_of_label = at[np.asarray(cell, np.int64)]
    labelled = np.bincount(bin_of_label, minlength=pieces)
    positives = np.bincount(bin_of_label[np.asarray(positive, np.bool_)], minlength=pieces)
    return tuple(
        ScoreBin(
            lower=float(edges[i]), upper=float(edges[i + 1]), items=int(items[i]), labelled=int(labelled[i]),
            positives=int(positives[i]),
        )
        for i in np.flatnonzero(items > 0).tolist()
    )


MOST_LISTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledItem:
    """One item with a label and a prediction: when and with what chance it was drawn, how many items of the
    pool it stands for, and its score or probability.

    The labelled items whose label is not what was predicted, to learn from: those that weigh most first.

    They are no picture of the pool's errors: items were drawn unevenly, and where errors were expected more
    than elsewhere.  The weight says how many items of the pool an item stands for (`weighted.sample`).
    """

    item_id: str
    predicted: float = field(metadata=HIDDEN)    # codes: see `evalcore.outcomes.base`
    label: float = field(metadata=HIDDEN)
    round: int                  # in which it was labelled, counted from 1
    cell: int                   # the part of the pool it was drawn from
    chance: float               # of the draw that bought the label
    chance_kind: str            # per draw, inclusion (in the round) or census
    asked: bool = True          # False: its label was known beforehand, and nobody was asked
    weight: float | None = None        # items it stands for; None where items have no known chances
    score: float | None = None         # where the pool has one
    probability: float | None = None   # of the positive or of the predicted class, where the pool has one
    predicted_text: str = field(default="", metadata=key_as("predicted"))   # both as people write them
    label_text: str = field(default="", metadata=key_as("label"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongPredictions:
    """The labelled items whose prediction is wrong: how many, for how many items of the pool they stand, and
    the first MOST_LISTED of them."""

    labelled: int                      # items with a label
    count: int                         # of them, those with an error
    weight: float | None = field(metadata=key_as("stand_for"))   # items of the pool; None: weights not known
    items: tuple[LabelledItem, ...]    # MOST_LISTED of them at most, in order
    by_size: bool = field(metadata=HIDDEN)   # the largest errors first, not those that weigh most


def wrong_predictions(items: Sequence[LabelledItem], *, by_size: bool) -> WrongPredictions:
    """The items (any number) whose label differs from the prediction.

    by_size: outcomes are numbers: the largest |prediction - label| first. Otherwise the largest weight first,
    or where weights are not known the smallest chance. What is equal stays in the order given.
    """
    wrong = [item for item in items if item.predicted != item.label]
    weights = [item.weight for item in wrong if item.weight is not None]
    ordered = sorted(wrong, key=_by_size if by_size else _by_weight)
    return WrongPredictions(
        labelled=len(items), count=len(wrong), weight=sum(weights) if len(weights) == len(wrong) else None,
        items=tuple(ordered[:MOST_LISTED]), by_size=by_size,
    )


def _by_size(item: LabelledItem) -> float:
    return -abs(item.predicted - item.label)


def _by_weight(item: LabelledItem) -> float:
    return item.chance if item.weight is None else -item.weight
