"""The design of a round, its draws, its labels, and an estimate: what every method reads and writes.

    R   repeats run side by side: 1 in a live evaluation, hundreds in a replay
    C   cells;  y indexes the label, 0 or 1

The unlabelled items of a cell are exchangeable, so a design is one number per cell: the probability of one
unlabelled item.  Where labels are counted by cell, its items of one label are exchangeable too, and a
proposal over N items is K + 1 numbers per cell: of one unlabelled item, and of one labelled y.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED, is_outcome
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Bools, DiagnosticArrays, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """The probabilities of one round, with what a later round or an auditor needs to use them."""

    left: Ints           # (R, C) unlabelled items of each cell before the round
    unlabelled: Floats   # (R, C) of each: π, its chance to be in the round; with replacement, q of a draw
    census: Bools        # (R,) every item whose label matters and is still missing is asked
    model: Floats | None = None   # (R, C) what a label model gave the class asked for; None without one
    replacement: bool = False     # whether draws are with replacement
    # (R, C) the items that a new label of the cell stands for, where items were drawn one at a time
    # (evalcore.design.draws); None where the probabilities say it
    stands_for: Floats | None = None
    held: bool = False   # the items were drawn and labelled before the evaluation began, by somebody else

    def to_columns(self) -> dict[str, Floats | Ints | Bools]:
        """The design as columns of length C for the ledger (one repeat): unlabelled items, inclusion
        probabilities and whether all that is left is asked, with the label model's rates, the kind of
        draws and their origin where they are needed."""
        return {
            "left": self.left[0],
            "inclusion": self.unlabelled[0],
            "census": np.full(self.left.shape[1], bool(self.census[0])),
            **({} if self.model is None else {"model": self.model[0]}),
            **self._marks("replacement", "held"),
        }

    def chance_of_labelled(self, cell: int, label: int) -> float:
        """The q of an item of a cell that is labelled so, where labels are counted by cell; 0 without
        replacement. Designs with replacement give their own."""
        return 0.0

    def chances_of_rows(self, row: Ints) -> Floats:
        """The q of each of these labelled items (n,), by the number of its row; 0 without replacement. n
        counts the rows; designs with replacement give their own."""
        return np.zeros(len(row))

    def _marks(self, *names: str) -> dict[str, Bools]:
        """A column of ones for each of these fields that is true."""
        return {name: np.ones(self.left.shape[1], np.bool_) for name in names if getattr(self, name)}

    @classmethod
    def from_columns(cls, columns: Mapping[str, ArrayLike]) -> "Design":
        """The inverse of `to_columns`, of either class of designs.  Raises KeyError."""
        arrays = {name: np.asarray(values)[None] for name, values in columns.items()}
        census = arrays["census"][:, 0].astype(np.bool_)
        open_items, held = arrays["left"].astype(np.int64), "held" in arrays
        if "p_unlabelled" not in arrays:
            return Design(
                left=open_items, unlabelled=arrays["inclusion"].astype(np.float64), census=census,
                model=arrays["model"].astype(np.float64) if "model" in arrays else None,
                replacement=bool(arrays["replacement"][0, 0]) if "replacement" in arrays else False,
                held=held,
            )
        return CountedDesign(
            replacement=bool(arrays["replacement"][0, 0]),
            size=arrays["size"].astype(np.int64),
            left=open_items,
            unlabelled=arrays["p_unlabelled"].astype(np.float64),
            labelled=np.stack([arrays["p_labelled_0"], arrays["p_labelled_1"]], axis=-1).astype(np.float64),
            model=arrays["model"].astype(np.float64),
            gradient=arrays["gradient"].astype(np.float64),
            census=census,
            stands_for=arrays["stands_for"].astype(np.float64) if "stands_for" in arrays else None,
            held=held,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedDesign(Design):
    """The design of a method of two classes, which counts labels by cell: K = 2 numbers more in each cell."""

    model: Floats        # (R, C) the label model's mean of p(y = 1) for an unlabelled item
    size: Ints           # (R, C) items in the cell
    labelled: Floats     # (R, C, 2) q of each item already labelled y; 0 without replacement
    gradient: Floats     # (R, C) influence of a label 1 instead of 0 on what drives the sampling, times N

    def chance_of_labelled(self, cell: int, label: int) -> float:
        return float(self.labelled[0, cell, label])

    def to_columns(self) -> dict[str, Floats | Ints | Bools]:
        """The design as columns of length C for the ledger (one repeat): sizes, unlabelled items, the
        probabilities of an unlabelled item and of one labelled 0 or 1, the model's rates, and the
        gradient."""
        one_at_a_time = {} if self.stands_for is None else {"stands_for": self.stands_for[0]}
        return {
            "size": self.size[0],
            "left": self.left[0],
            "p_unlabelled": self.unlabelled[0],
            "p_labelled_0": self.labelled[0, :, 0],
            "p_labelled_1": self.labelled[0, :, 1],
            "model": self.model[0],
            "gradient": self.gradient[0],
            "replacement": np.full(self.size.shape[1], self.replacement),
            "census": np.full(self.size.shape[1], bool(self.census[0])),
            **one_at_a_time,
            **self._marks("held"),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DesignOfRows(Design):
    """The design of draws with replacement by a method that keeps a row for each labelled item.

    The q of a labelled item is stored with each draw of it (`RoundPlan.probability`), and not by cell.
    """

    labelled: Floats     # (R, n) q of each labelled item

    def chances_of_rows(self, row: Ints) -> Floats:
        return np.asarray(self.labelled[0, row])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundPlan:
    """The draws of one round of a live evaluation. T draws."""

    cell: Ints           # (T,)
    rank: Ints           # (T,) position of the item inside its cell
    ask: Bools           # (T,) the first draw of an item nobody has labelled
    probability: Floats  # (T,) q of the draw, or inclusion probability π
    census: bool         # all that is left is asked
    design: Any          # a `Design`, of the method's own class

    @property
    def probability_kind(self) -> Literal["census", "per draw", "inclusion"]:
        """What the probabilities of the draws are: 1 of a `census`, `per draw`, or of `inclusion` in the
        round."""
        if self.census:
            return "census"
        return "per draw" if self.design.replacement else "inclusion"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedDraws:
    """The draws of a round, and what people said of their items."""

    plan: RoundPlan
    code: Floats                 # (T,) an outcome, UNDECIDED or UNANSWERED: `evalcore.outcomes.base`
    items: Items | None = None   # the T items, where the cells do not say all that the pool does
    # (T,) of two classes: the part of the answers about an item asked that was positive; NaN where all agreed
    share: Floats | None = None
    seen: Floats | None = None   # (T,) codes as the plan saw them, where labels were revised since

    @property
    def gaps(self) -> bool:
        """Whether some item that was asked in the round got no answer."""
        return bool((self.code[self.plan.ask] == UNANSWERED).any())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundLabels:
    """The labels of a round counted by cell and label, (R, C, 2): items labelled for the first time, the
    draws that fell on them, and the draws that fell on items labelled in earlier rounds."""

    new: Ints            # (R, C, 2) items labelled for the first time
    drawn_new: Ints | Floats     # (R, C, 2) draws that fell on those items, repeats within the round included
    drawn_known: Ints | Floats   # (R, C, 2) draws that fell on items labelled in earlier rounds
    undecided: int = 0   # draws, in each repeat, that fell on items without a label: undecided or unanswered
    # (R, C, 2, 2) of the new items, by label: Σ of the shares of their answers that are 0 and that are 1;
    # None where every item got one answer, or answers that agree
    answers: Floats | None = None
    gaps: bool = False   # some items of the round were not answered: its design is that of the answered ones
    # (R, C, 2, 2) drawn_known by the label when the round was planned, then by the label now; None: no change
    revised: Ints | None = None

    def known_by_seen(self) -> Ints:
        """Draws of items labelled earlier, (R, C, 2, 2) by the label at planning and the label now. R counts
        repeats and C cells; the two differ only where people changed a label."""
        if self.revised is not None:
            return self.revised
        return np.asarray(self.drawn_known[..., None] * np.eye(2, dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EstimateArrays:
    """The estimate of one number in each repeat; NaN where it is undefined."""

    value: Floats        # (R,)
    lower: Floats        # (R,)
    upper: Floats        # (R,)
    variance: Floats     # (R,) of the estimator; 0 where it is not known, and after a census
    diagnostics: DiagnosticArrays
    exact: Bools | None = None   # (R,) every label that can change it is known; None: not looked at
    # lower, upper (R,): of the point of a curve, ends that hold together with those of the other points
    band: tuple[Floats, Floats] | None = None
    interval: str | None = None   # its kind, where it is not the method's
    # of confidences (R, Q): the lower and upper ends (R, Q) of all Q numbers; None where no others are made
    ends: Callable[[Floats], tuple[Floats, Floats]] | None = None


def class_numbers(codes: Floats) -> Ints:
    """The number of each class (T,); -1 where a code is no outcome.

    The answers of a live round, counted by cell and label: what a method of two classes learns from.

    C   cells;  T   draws of the round, repeats of an item included
    """
    return np.where(is_outcome(codes), codes, -1).astype(np.int64)


def round_labels(n_cells: int, answered: ClosedDraws) -> RoundLabels:
    """The labels of a round; draws without a label count as undecided.

    Raises BadInput for a code that is neither 0 nor 1, UNDECIDED nor UNANSWERED.
    """
    plan, codes = answered.plan, answered.code
    if not np.isin(codes, (UNANSWERED, UNDECIDED, 0, 1)).all():
        raise BadInput(f"give one label for each of {plural(len(plan.cell), 'draw')}: 0, 1 or none")
    label, labelled = class_numbers(codes), is_outcome(codes)
    newly, now_labelled = plan.ask & labelled, _asked_now(answered)
    at_new, at_known = labelled & now_labelled, labelled & ~now_labelled
    known_by_seen = np.zeros((1, n_cells, 2, 2), np.int64)
    before = label if answered.seen is None else class_numbers(answered.seen)
    np.add.at(known_by_seen[0], (plan.cell[at_known], before[at_known], label[at_known]), 1)
    share = answered.share
    return RoundLabels(
        new=_by_label(n_cells, plan.cell[newly], label[newly]),
        drawn_new=_by_label(n_cells, plan.cell[at_new], label[at_new]),
        drawn_known=known_by_seen.sum(axis=2),
        undecided=int((~labelled).sum()),
        answers=None if share is None else _answers(n_cells, plan.cell[newly], label[newly], share[newly]),
        gaps=answered.gaps,
        revised=None if answered.seen is None else known_by_seen,
    )


def _asked_now(answered: ClosedDraws) -> Bools:
    """Whether (T,) a draw fell on an item that is asked in this round."""
    plan = answered.plan
    ranks = int(plan.rank.max(initial=0)) + 1
    item = plan.cell.astype(np.int64) * ranks + plan.rank
    return np.isin(item, item[plan.ask])


def _by_label(n_cells: int, cell: Ints, label: Ints) -> Ints:
    counts = np.zeros((1, n_cells, 2), np.int64)
    np.add.at(counts[0], (cell, label), 1)
    return counts


def _answers(n_cells: int, cell: Ints, label: Ints, share: Floats) -> Floats:
    """Σ share of the answers 0 and 1 of the new items, by label: (1, C, 2, 2)."""
    positive = np.where(np.isfinite(share), share, label)
    answers = np.zeros((1, n_cells, 2, 2))
    np.add.at(answers[0], (cell, label), np.stack([1 - positive, positive], axis=-1))
    return answers
