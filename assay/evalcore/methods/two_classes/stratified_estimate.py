"""From labels by stratum to estimates of two classes, and how wide an interval a plan promises.

Neighbouring strata of one prediction with few labels are taken together, to about LABELS_OF_GROUP labels a
group ("collapsed": Cochran 1977, sec. 5A.12), each label for the items of its stratum that it stands for.
With U_g the unlabelled items of a group, n_g labels worth ñ_g of a random sample, and φ the pull of a
positive label,

    V = Σ_g φ_g² U_g (U_g/ñ_g + 1) s_g²

s_g² is drawn, by EXPECTED_VARIANCE_LABELS labels, towards what the supplied probabilities make one expect,
scaled to what was found over all groups: two or three labels of a kind are no proof of a pure group.  The
interval is Student's, as far as the fourth moment of the terms leaves degrees of freedom, longer on the side
of the long tail and reaching as far as that of the log odds (`estimators.linearised.interval_ends`); of a
share it is that of so many labels of a random sample as these are worth (Korn & Graubard 1998).

No end is nearer than what no label has shown may reach: positives (or negatives) in the cells where none was
found, as many as the draws miss with a chance of α/2, in the cells where they matter most for their chance
to be found (`estimators.intervals`).  Where labels have shown some, V speaks of them.

    R   repeats;  C   cells;  G   groups
"""

from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators.intervals import clopper_pearson, effective_number, hidden_items
from assay.evalcore.estimators.linearised import (
    MEANT_LABELS,
    WIDER,
    freedom,
    grouped,
    interval_ends,
    mean_of_items,
)
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.two_classes.base import MethodState, share_counted
from assay.evalcore.types import Bools, Floats, Ints

LABELS_OF_GROUP = 3.0   # labels of a group
EXPECTED_VARIANCE_LABELS = 3.0   # labels that the expected variance of a group counts for
EXPECTED_SCALE_LABELS = 12.0   # labels that the expected scale counts for
AT_MOST = 0.02   # that a prediction without a label may move a measure, which else has no value
TWO_SIDED = 0.025   # of the interval that is expected of a plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StrataOfLabels:
    """The labels of a state counted by stratum, with neighbouring strata of one prediction joined into G
    groups of about LABELS_OF_GROUP labels: rates, variances, and what each label stands for."""

    state: MethodState
    left: Floats         # (R, C) unlabelled items
    given: Floats        # (R, C) labels that each cell was given: those it has, drawn to those meant for it
    group_of: Ints       # (R, C) the group of each cell
    rate: Floats         # (R, C) of positives, of its group
    variance: Floats     # (R, G) U (U/ñ + 1) s²: of the positives of each group
    count: Floats        # (R, G) labels
    prediction: Ints     # (R, G) of each group
    bare: Bools          # (R, 2) predictions without a label

    @staticmethod
    def from_state(state: MethodState, allocated: Floats) -> "StrataOfLabels":
        """meant (R, C): labels so far as the allocation means them for each cell. Neighbouring strata with
        few labels are joined into groups."""
        cells, open_items = state.cells, np.maximum(state.left, 0).astype(np.float64)
        n, k = state.labelled.sum(axis=2).astype(np.float64), state.labelled[..., 1].astype(np.float64)
        group_of, groups = np.zeros(n.shape, np.int64), 0
        sides = []
        for f in (0, 1):
            at = np.flatnonzero(cells.prediction == f)
            if len(at):
                group_of[:, at] = groups + grouped(state.labelled.sum(axis=2)[:, at], LABELS_OF_GROUP)
                next_group = int(group_of[:, at].max()) + 1
                sides += [f] * (next_group - groups)
                groups = next_group
        given_labels = (MEANT_LABELS * allocated + n**2) / (MEANT_LABELS + n)
        weight = np.where(n > 0, np.maximum(open_items, 1e-9) / np.maximum(given_labels, 1e-9), 0.0)

        def total(values: Floats) -> Floats:
            """Sums over the cells of each group, (R, G), of values by cell, (R, C). R counts repeats, G
            groups and C cells."""
            flat = (np.arange(len(n))[:, None] * groups + group_of).ravel()
            sums = np.bincount(flat, values.ravel(), len(n) * groups)
            return np.asarray(sums.reshape(len(n), groups), np.float64)

        group_weight, opened, count = total(weight * n), total(open_items), total(n)
        group_rate = total(weight * k) / np.where(group_weight > 0, group_weight, 1.0)
        bare = np.stack([n[:, cells.prediction == f].sum(axis=1) == 0 for f in (0, 1)], axis=1)
        supplied = np.broadcast_to(np.clip(cells.mean_probability, 1e-9, 1 - 1e-9), n.shape)
        # a prediction without a label is a group of its own, of which nothing else is known
        open_weight = open_items + 1e-9
        group_rate = np.where(
            count > 0, group_rate, total(supplied * open_weight) / np.maximum(total(open_weight), 1e-12)
        )
        expected = supplied[0]
        expected = np.broadcast_to(expected * (1 - expected), n.shape)
        rate = np.take_along_axis(group_rate, group_of, axis=1)
        squares = total(k * (1 - rate) ** 2 + (n - k) * rate**2)
        average = mean_of_items(expected, open_items)
        scale = (squares.sum(axis=1, keepdims=True) + EXPECTED_SCALE_LABELS * average) / (
            (expected * n).sum(axis=1, keepdims=True) + EXPECTED_SCALE_LABELS * average
        )
        prior = scale * total((open_items + 1e-9) * expected) / np.maximum(total(open_items + 1e-9), 1e-12)
        s2 = (squares + EXPECTED_VARIANCE_LABELS * np.minimum(prior, 0.25)) / (
            np.maximum(count - 1, 0) + EXPECTED_VARIANCE_LABELS
        )
        effective = np.where(count > 0, group_weight**2 / np.maximum(total(weight**2 * n), 1e-300), 1.0)
        return StrataOfLabels(
            state=state, left=open_items, given=given_labels, group_of=group_of, rate=rate,
            variance=opened * (opened / effective + 1) * s2, count=count, bare=bare,
            prediction=np.broadcast_to(np.array(sides, np.int64), count.shape),
        )

    @property
    def table(self) -> Floats:
        """The estimated numbers of items by prediction and label, (R, 2, 2): the labels themselves, and the
        unlabelled items of each cell at the rate of its group."""
        state = self.state
        by_cell = state.labelled + self.left[..., None] * np.stack([1 - self.rate, self.rate], axis=-1)
        return np.stack([by_cell[:, state.cells.prediction == f].sum(axis=1) for f in (0, 1)], axis=1)

    def estimate(self, measure: Measure, confidence: float) -> EstimateArrays:
        """The measure of the table with its interval; the whole range where nothing is known of its error.
        Arrays over the repeats."""
        state, table = self.state, self.table
        cells = state.cells
        matters = measure.label_matters()[cells.prediction]
        value = np.where(self._unknown(measure, table), np.nan, measure.of_confusion(table))
        slope = _slopes(measure, table) / np.maximum(table.sum(axis=(1, 2)), 1)[:, None]
        by_group = np.take_along_axis(slope, self.prediction, axis=1)                    # (R, G)
        with np.errstate(invalid="ignore"):
            variance = (by_group**2 * self.variance).sum(axis=1)
        has_variance = np.isfinite(value) & np.isfinite(variance)
        df, skew = self._shape(by_group)
        safe, spread = np.nan_to_num(value), np.where(has_variance, variance, 0.0)
        low, high = measure.bounds
        lower, upper = (end[:, 0] for end in interval_ends(
            safe[:, None], spread[:, None], df[:, None], skew[:, None], confidence,
            (np.array([low]), np.array([high])),
        ))
        if share_counted(measure) is not None:
            labels = (state.labelled.sum(axis=2) * matters).sum(axis=1).astype(np.float64)
            number = effective_number(safe, np.maximum(WIDER**2 * spread, 1e-30), labels, confidence)
            ends = clopper_pearson(safe, number, confidence)
            narrower = ends.upper - ends.lower < upper - lower
            lower, upper = np.where(narrower, ends.lower, lower), np.where(narrower, ends.upper, upper)
        for sign in (-1.0, 1.0):
            hidden_change = self._unseen(measure, table, (1 - confidence) / 2, sign)
            if sign < 0:
                lower = np.minimum(lower, safe - hidden_change)
            else:
                upper = np.maximum(upper, safe + hidden_change)
        return EstimateArrays(
            value=value, lower=np.where(has_variance, np.clip(lower, low, high), low),
            upper=np.where(has_variance, np.clip(upper, low, high), high), variance=spread,
            diagnostics={"draws": state.labelled.sum(axis=(1, 2))},
        )

    def _unknown(self, measure: Measure, table: Floats) -> Bools:
        """(R,) whether a prediction of which there is no label may take the measure further than AT_MOST."""
        ends = []
        for label in (0, 1):
            may_be = table.copy()
            for f in (0, 1):
                open_items = self.left[:, self.state.cells.prediction == f].sum(axis=1)
                moved = np.where(self.bare[:, f], open_items, 0.0)
                may_be[:, f, 1 - label] = np.where(self.bare[:, f], 0.0, may_be[:, f, 1 - label])
                may_be[:, f, label] = np.where(self.bare[:, f], moved, may_be[:, f, label])
            ends.append(measure.of_confusion(may_be))
        return np.asarray(self.bare.any(axis=1) & ~(np.abs(ends[1] - ends[0]) <= AT_MOST))

    def _shape(self, by_group: Floats) -> tuple[Floats, Floats]:
        """Degrees of freedom and skewness (R,) of the error."""
        n, k = self.state.labelled.sum(axis=2), self.state.labelled[..., 1]
        label_error = np.sqrt(self.variance / np.maximum(self.count, 1)) * by_group
        # s² is in the variance already: off the centre in units of it
        spread = np.sqrt(np.maximum(self.rate * (1 - self.rate), 1e-12))
        label_error = np.take_along_axis(label_error, self.group_of, axis=1) / spread
        up, down = label_error * (1 - self.rate), -label_error * self.rate
        square, third, fourth = (
            (k * up**power + (n - k) * down**power).sum(axis=1) for power in (2, 3, 4)
        )
        df = [freedom(square[r : r + 1], fourth[r : r + 1], m) for r, m in enumerate(n.sum(axis=1).tolist())]
        return np.concatenate(df), third / np.where(square > 1e-200, square, np.inf) ** 1.5

    def _unseen(self, measure: Measure, table: Floats, tail: float, sign: float) -> Floats:
        """(R,) how far what no label has shown may take the measure down (sign -1) or up (+1)."""
        cells, state = self.state.cells, self.state
        slope = sign * _slopes(measure, table)                                           # (R, 2)
        towards = slope[:, cells.prediction] > 0               # by positives, else by negatives
        class_seen = np.where(towards, state.labelled[..., 1], state.labelled[..., 0]) > 0
        moved = towards - self.rate
        gain = np.where(class_seen, 0.0, slope[:, cells.prediction] * moved)
        caught = np.log1p(self.given / np.maximum(self.left, 1e-12))
        hidden = (
            hidden_items(gain, caught, self.left, np.full((len(gain), 1), -np.log(tail)))[:, 0] * ~class_seen
        )
        change = np.stack([(hidden * moved)[:, cells.prediction == f].sum(axis=1) for f in (0, 1)], axis=1)
        after = np.maximum(table + change[..., None] * np.array([-1.0, 1.0]), 0.0)
        with np.errstate(invalid="ignore"):
            possible_change = sign * (measure.of_confusion(after) - measure.of_confusion(table))
        return np.maximum(np.nan_to_num(possible_change), 0.0)


def _slopes(measure: Measure, table: Floats) -> Floats:
    """(R, 2) the pull of a positive label less that of a negative one, by prediction; table (R, 2, 2)."""
    risk = np.einsum("rfy,fyd->rd", table, measure.loss) / np.maximum(table.sum(axis=(1, 2)), 1)[:, None]
    influence = np.nan_to_num(measure.influence(risk))
    return np.asarray(influence[..., 1] - influence[..., 0])


def expected_width(
    state: MethodState, rate: Floats, slope: Floats, value: Floats, planned: Floats
) -> Floats:
    """(R,) how wide the interval of the first measure will be under a plan.

    rate, slope (R, C): of positives and the pull of one; value (R,): of the measure, as it is expected;
    planned (R, C): labels in all of each cell.  An end that comes near its bound gains little from labels.
    """
    slope, (low, high) = slope / state.cells.n_items, state.measures[0].bounds
    open_items = (state.cells.size - state.excluded).astype(np.float64)
    still_open = np.maximum(open_items - planned, 0.0)
    variance = (still_open * open_items / np.maximum(planned, 0.3) * slope**2 * rate * (1 - rate)).sum(axis=1)
    error = scipy.special.ndtri(1 - TWO_SIDED) * np.sqrt(variance)
    caught = np.log1p(planned / np.maximum(still_open, 1e-12))
    depth = np.full((len(still_open), 1), -np.log(TWO_SIDED))
    width = 0.0
    for sign in (-1.0, 1.0):
        towards = sign * slope > 0
        class_seen = np.where(towards, state.labelled[..., 1], state.labelled[..., 0]) > 0
        gain = np.where(class_seen, 0.0, np.abs(slope) * np.where(towards, 1 - rate, rate))
        hidden = (gain * hidden_items(gain, caught, still_open, depth)[:, 0]).sum(axis=1)
        reach, room = np.maximum(error, hidden), value - low if sign < 0 else high - value
        width = width + (
            reach * room / np.maximum(reach + room, 1e-300) if np.isfinite(high - low) else reach
        )
    return np.asarray(width)
