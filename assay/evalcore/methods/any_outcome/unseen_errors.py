"""What no label has shown, for any measure: how far it could take each number (`estimators.intervals`).

An unlabelled item of cell c differs from what the labels make one expect by at most

    g_c = (M_c - J·(m_c + ē_g)) / N,

m_c the label model's expected loss, ē_g the mean residual of its group (`reading`), and M_c the largest J·ℓ
there can be (`Stack.largest_pull`).  J is a secant: with a step of one label's part of the pool, as far as
the mean of a component can rise.  Of means that is the slope; a class that few items belong to cannot take a
macro F1 further down than to nothing.  Where components are very many (areas under curves) it is the slope,
and lower ends are drawn in as those of a ratio whose denominator grows.  The chance of an item to have been
drawn is that of the labels that its cell was given.

Where many labels differ from what was guessed, they tell how large errors are, and the tail beyond them is
left to `tails`: g is drawn to the size of an error seen as k grows beyond FEW.  With z the distance of J·ℓ
from the best guess (that of the least Σ |z|; the median of all J·ℓ is one), k = (Σ √|z|)²/Σ |z| counts the
labels that differ, and Σ z²/Σ |z| on either side is the size of an error there.

A share, the mean of a loss that is 0 or 1, has the interval of so many hits among the labels of a random
sample that these ones are worth (Korn & Graubard 1998), exact where they are one.  Student's was two to three
times as wide where one to five labels were wrong: of so few, fourth moments and skewness tell nothing that
the share does not.  What is hidden counts there too: n* is too large where the few wrong labels are of cells
that were asked often.

Losses without a bound have none that is exact: numbers are taken to lie where outcomes were seen or
predicted, other losses up to the largest seen.  The share of the pool that may differ from all that was seen
is bounded all the same (`Unseen.largest_share`).
"""

from dataclasses import dataclass, field

import numpy as np

from assay.evalcore.estimators.intervals import (
    clopper_pearson,
    effective_number,
    exact_share,
    hidden_items,
    hidden_reach,
)
from assay.evalcore.measures.by_class import Counts
from assay.evalcore.measures.measure import Loss
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.reading import Reading
from assay.evalcore.methods.any_outcome.state import SampleState
from assay.evalcore.reproducible import first_largest, is_nothing
from assay.evalcore.types import Bools, Floats, Ints

MOST_SECANTS = 256   # components
FEW = 5.0   # labels that differ: up to so many do not tell how large errors are
TWO = 4              # hits and labels of two classes
FALL = 4   # power with which what they do not tell falls as more differ


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unseen:
    """What no label has shown, in R repeats: how far one unlabelled item of each of C cells may take each of
    Q numbers down and up, and how surely such an item would have been drawn. Intervals are widened by it."""

    down: Floats         # (R, Q, C) how far one item takes each number down
    up: Floats           # (R, Q, C)
    caught: Floats       # (R, C) -log of the chance that an item was not drawn
    unlabelled: Floats   # (R, C)
    error: Floats        # (R, Q) standard errors
    counted: Bools       # (R, Q) the number is a share: the mean of a loss that is 0 or 1 of every label
    share: Bools         # (R, Q) one, and the labels are a simple random sample of the pool
    hits: Ints           # (R, Q) of shares, how many labels are hits
    labels: int
    items: Floats        # (R,)
    bent: bool           # lower ends are drawn in
    apart: Floats        # (R, Q) how much higher numbers are if classes neither predicted nor seen are none
    unknown: Bools       # (R,) all labels are alike, and nothing tells what others may be
    wider: float = 1.0   # the intervals of shares by counts, where residuals were fitted
    _made: dict[tuple[int, bytes], tuple[Floats, Floats, tuple[Floats, Floats] | None]] = field(
        default_factory=dict
    )

    def widened(
        self, value: Floats, lower: Floats, upper: Floats, confidence: Floats
    ) -> tuple[Floats, Floats]:
        """The ends (R, Q), no nearer than what is hidden may reach; of shares by counts, exact where they
        are."""
        lower, upper = lower.copy(), upper.copy()
        for q in range(value.shape[1]):
            counted = self.counted[:, q]
            if counted.any():
                p, level = np.clip(value[counted, q], 0.0, 1.0), confidence[counted, q]
                variance = (self.wider * self.error[counted, q]) ** 2
                labels = np.full(len(p), float(self.labels))
                ends = clopper_pearson(p, effective_number(p, variance, labels, level), level)
                lower[counted, q], upper[counted, q] = ends.lower, ends.upper
            below, above, exact = self._reach(q, confidence[:, q])
            if self.bent:
                room: Floats = np.maximum(value[:, q], 1e-12)
                below = below / (1 + below / room)
            apart = self.apart[:, q]
            lower[:, q] = np.minimum(lower[:, q], value[:, q] - below) + np.minimum(apart, 0.0)
            upper[:, q] = np.maximum(upper[:, q], value[:, q] + above) + np.maximum(apart, 0.0)
            is_share = self.share[:, q]
            if exact is not None:
                lower[is_share, q], upper[is_share, q] = exact
        return lower, upper

    def _reach(self, q: int, confidence: Floats) -> tuple[Floats, Floats, tuple[Floats, Floats] | None]:
        """How far down and up number q may be (R,), and the exact ends of shares; confidence (R,).

        Made once of each confidence: who varies that of one number asks again for all the others.
        """
        key = q, confidence.tobytes()
        if key not in self._made:
            tail, is_share = (1 - confidence) / 2, self.share[:, q]
            below, above = (
                hidden_reach(gain[:, q], self.caught, self.unlabelled, self.error[:, q], tail)
                for gain in (self.down, self.up)
            )
            items = np.round(self.items[is_share]).astype(np.int64)
            self._made[key] = below, above, exact_share(
                self.hits[is_share, q], np.full(len(items), self.labels), items, tail[is_share]
            ) if is_share.any() else None
        return self._made[key]

    def largest_share(self, confidence: float) -> Floats:
        """(R,) of the pool: so much of it at most differs from all labels, where none of it was drawn."""
        depth = np.full((len(self.items), 1), -np.log(1 - confidence))
        alike = np.ones(self.caught.shape)
        hidden = hidden_items(alike, self.caught, self.unlabelled, depth)
        return np.asarray(hidden[:, 0].sum(axis=1) / self.items)


def unseen_errors(
    state: SampleState, reading: Reading, risk: Floats, slopes: Floats, variance: Floats
) -> Unseen:
    """What the labels of a state leave open; risk (R, D + D_k), slopes (R, Q, D), variance (R, Q)."""
    stack, open_items = state.stack, state.wanted.astype(np.float64)
    label_loss = state.table.loss[state.item]                                       # type: ignore[union-attr]
    own_weight = _own_weights(state)
    scale, bent = loss_scale(stack, label_loss / own_weight), stack.size > MOST_SECANTS
    secant = slopes if bent else _secants(state, risk, slopes, scale)
    possible, unknown = possible_pulls(state, secant * scale[:, None])
    pull = np.einsum("rnd,rqd->rnq", label_loss / own_weight, secant)
    few, sizes = _seen_errors(state, pull, secant)
    expected, items = _expected(state, reading, secant), reading.items[:, None, None]
    heavy: Floats = np.ones(1)
    if stack.weights is not None and state.cells.heavy is not None:
        heavy = state.cells.heavy[:, 0]
        expected = expected / np.where(heavy > 0, state.cells.mean_weight, 1.0)
    down, up = (
        heavy * np.maximum(_drawn(largest - sign * expected, size, few), 0.0) / items
        for sign, largest, size in zip((-1.0, 1.0), possible, sizes, strict=True)
    )
    counted, hits = _counts(state, risk, slopes, label_loss)
    counted &= state.wanted.any(axis=1, keepdims=True)
    sample = np.full(counted.shape, len(state.cells.size) == 1)
    if reading.by_prediction is not None:      # such rates are no counts among a random sample
        sample &= ~(slopes[..., reading.by_prediction.columns] != 0).any(axis=2)
    return Unseen(
        down=down, up=up, caught=np.log1p(reading.given / np.maximum(open_items, 1e-12)),
        unlabelled=open_items,
        error=np.sqrt(variance), counted=counted, share=counted & sample, hits=hits,
        labels=state.n, items=reading.items, bent=bent, apart=_apart(state, risk, label_loss),
        unknown=unknown,
    )


def _own_weights(state: SampleState) -> Floats:
    """(R, n, 1) of the labels; 1 where items have no weights, and of those that count for nothing."""
    if state.stack.weights is None or state.table is None:
        return np.ones((1, 1, 1))
    label_weight = state.table.known[state.item, -1:]
    return np.where(label_weight > 0, label_weight, 1.0)


def _apart(state: SampleState, risk: Floats, label_loss: Floats) -> Floats:
    """(R, Q) the change of the numbers if classes that are never predicted, and no label shows, are none.

    A label model that gives such a class a little makes a macro average count it, with a value of 0.  Of two
    classes, or of one against all others, none is missed either as long as no label shows one that is: where
    the class is rare, few labels cannot tell the model that it expects too many of them.
    """
    stack, known_sizes = state.stack, state.cells.known_sizes.tolist()
    none = stack.may_be_none(risk, known_sizes) & ~(label_loss != 0).any(axis=1)
    without = risk.copy()
    without[:, : stack.size] = np.where(none, 0.0, risk[:, : stack.size])
    at = 0
    for loss in stack.losses:
        if isinstance(loss, Counts) and loss.size == TWO:
            hits, labels = slice(at, at + 2), slice(at + 2, at + 4)
            missed = (label_loss[..., labels] > label_loss[..., hits]).any(axis=1)
            without[:, labels] = np.where(missed, without[:, labels], without[:, hits])
        at += loss.size
    return np.nan_to_num(stack.value(without, known_sizes) - stack.value(risk, known_sizes))


def loss_scale(stack: Stack, label_loss: Floats) -> Floats:
    """(R, D) by how much losses that tell no bound are larger than 1, as far as the labels show: label_loss
    (R, n, D). It is 1 for losses that tell a bound, and never less; R counts repeats and D components."""
    scales, at = [], 0
    for loss in stack.losses:
        largest = np.maximum(np.abs(label_loss[..., at : at + loss.size]).max(axis=1), 1.0)
        has_bound = type(loss).most is not Loss.most or type(loss).most_by_class is not Loss.most_by_class
        scales.append(np.ones_like(largest) if has_bound else largest)
        at += loss.size
    return np.concatenate(scales, axis=1)


def _secants(state: SampleState, risk: Floats, slopes: Floats, scale: Floats) -> Floats:
    """(R, Q, D) the change of the numbers by one label's part of the pool, in each component."""
    stack, known_sizes = state.stack, state.cells.known_sizes.tolist()
    room = np.maximum(stack.highest_means(risk, known_sizes) - risk[:, : stack.size], 0.0)
    step = np.minimum(scale / state.n, room)
    value, secants = stack.value(risk, known_sizes), slopes.copy()
    for d in range(stack.size):
        moved = risk.copy()
        moved[:, d] += step[:, d]
        has_step = (step[:, d] > 1e-9)[:, None]
        change = (stack.value(moved, known_sizes) - value) / np.where(has_step, step[:, d, None], 1.0)
        secants[:, :, d] = np.where(np.isfinite(change) & has_step, change, slopes[:, :, d])
    return secants


def possible_pulls(state: SampleState, secant: Floats) -> tuple[tuple[Floats, Floats], Bools]:
    """The largest -J·ℓ and J·ℓ (R, Q, C) that outcomes may give, and where (R,) that is not known."""
    cells, known_sizes = state.cells, state.cells.known_sizes.tolist()
    no_known, many_systems = np.zeros(sum(known_sizes)), cells.said.shape[1] > 1
    stacks, unknown = _ranges(state)
    pull_by_key: dict[tuple[int, bytes], Floats] = {}

    def largest(measures: Stack, slope: Floats) -> Floats:
        key = id(measures), slope.tobytes()
        if key not in pull_by_key:
            pull_by_key[key] = measures.largest_pull(
                cells.said, np.concatenate([slope, no_known]), known_sizes, together=many_systems
            )
        return pull_by_key[key]

    low, high = (
        np.stack([[largest(measures, sign * slope) for slope in rows] for measures, rows in zip(
            stacks, secant, strict=True)])
        for sign in (-1.0, 1.0)
    )
    return (low, high), unknown


def _ranges(state: SampleState) -> tuple[list[Stack], Bools]:
    """The stack of each repeat; numbers without bounds lie between those seen and predicted.

    And where (R,) these are all alike.
    """
    stack, predicted, repeats = state.stack, state.cells.said, len(state.labelled)
    valued = any(not np.isfinite(m.bounds).all() for m in stack.measures)
    if stack.kind.parts or np.isfinite(stack.kind.value_range).all() or not valued:
        return [stack] * repeats, np.zeros(repeats, np.bool_)
    ranges = [stack.kind.predicted_range(predicted[:, s]) for s in range(predicted.shape[1])]
    codes = state.table.code[state.item]  # type: ignore[union-attr]
    low = np.min(
        [codes.min(axis=1), *(np.full(repeats, lowest_codes.min()) for lowest_codes, _ in ranges)], axis=0
    )
    high = np.max(
        [codes.max(axis=1), *(np.full(repeats, highest_codes.max()) for _, highest_codes in ranges)], axis=0
    )
    alike = is_nothing(high - low, np.abs(high) + np.abs(low))
    ends = zip(low.tolist(), np.where(alike, low + 1.0, high).tolist(), strict=True)
    return [stack.with_values(*bounds) for bounds in ends], np.asarray(alike)


def _seen_errors(state: SampleState, pull: Floats, secant: Floats) -> tuple[Floats, list[Floats]]:
    """How few labels differ from the best guess, 1 for FEW or fewer, and the size of errors downwards and
    upwards, each (R, Q, C), or (R, Q, 1) where that is one for all cells; pull (R, n, Q)."""
    guesses = state.table.guess[state.item]                                   # type: ignore[union-attr]
    n_guesses = state.cells.guesses(state.stack)
    guesses = guesses[:, :, : n_guesses if state.stack.kind.label_model.shared else n_guesses - 1]
    weight = _own_weights(state)
    off, size = [pull], np.abs(pull)
    for b in range(guesses.shape[2]):
        explained = np.einsum("rnd,rqd->rnq", guesses[:, :, b] / weight, secant)
        off.append(pull - explained)
        size = size + np.abs(explained)
    whose = _whose(state)
    groups = range(int(whose.max()) + 1)
    errors = [_errors_of(off, size, (whose[state.cell] == group)[..., None]) for group in groups]
    few, down, up = (
        np.stack(parts, axis=-1)[..., whose if len(groups) > 1 else whose[:1]]
        for parts in zip(*errors, strict=True)
    )
    return few, [down, up]


def _whose(state: SampleState) -> Ints:
    """(C,) the cells that tell of each other's errors: those of one of the contenders; all, where there are
    none, and where cells are of several (comparisons, a simple random sample)."""
    systems, alike = state.stack.contenders, np.zeros(state.cells.n_cells, np.int64)
    if not systems:
        return alike
    is_contender = state.cells.said[:, 0, -systems:] > 0
    return np.asarray(is_contender.argmax(axis=1)) if (is_contender.sum(axis=1) == 1).all() else alike


def _errors_of(off: list[Floats], size: Floats, counted: Bools) -> tuple[Floats, Floats, Floats]:
    """Of the labels that are `counted` (R, n, 1): FEW against those that differ, and the size of errors
    downwards and upwards, each (R, Q); off: the pull, then it less each guess, (R, n, Q)."""
    pull, *residuals = off
    apart = np.stack([pull - _median(pull, counted), *residuals])
    best = first_largest(-(np.abs(apart) * counted).sum(axis=2), axis=0)
    z = np.take_along_axis(apart, best[None, :, None], axis=0)[0]
    z = np.where(counted & ~is_nothing(z, size), z, 0.0)
    total = np.abs(z).sum(axis=1)
    k = np.sqrt(np.abs(z)).sum(axis=1) ** 2 / np.where(total > 0, total, 1.0)
    sizes = []
    for side in (np.maximum(-z, 0.0), np.maximum(z, 0.0)):
        sums = side.sum(axis=1)
        sizes.append((side**2).sum(axis=1) / np.where(sums > 0, sums, 1.0))
    return (FEW / np.maximum(k, FEW)) ** FALL, sizes[0], sizes[1]


def _median(pull: Floats, counted: Bools) -> Floats:
    """(R, 1, Q) of the labels that are `counted` (R, n, 1); 0 of none."""
    if counted.all():
        return np.asarray(np.median(pull, axis=1, keepdims=True))
    n = counted.sum(axis=1, keepdims=True)
    ordered = np.sort(np.where(counted, pull, np.inf), axis=1)
    low, high = (
        np.take_along_axis(ordered, np.broadcast_to(place, (len(pull), 1, pull.shape[2])), axis=1)
        for place in (np.maximum(n - 1, 0) // 2, np.minimum(n // 2, np.maximum(n - 1, 0)))
    )
    return np.where(n > 0, (low + high) / 2, 0.0)


def _drawn(possible: Floats, size: Floats, few: Floats) -> Floats:
    """g (R, Q, C): the most there can be, drawn to the size of errors unless few were seen."""
    typical = np.minimum(possible, size)
    return np.asarray(typical + few * (possible - typical))


def _expected(state: SampleState, reading: Reading, secant: Floats) -> Floats:
    """J·(m_c + ē_g) (R, Q, C)."""
    pull = np.einsum("rnd,rqd->rnq", reading.residual, secant)
    mean = reading.by_group(reading.share[..., None] * pull)                   # (R, G, Q)
    expected_pull = np.take_along_axis(mean, reading.group_of[..., None], axis=1).transpose(0, 2, 1)
    guess = state.cells.guess / state.cells.size[:, None, None]
    for b in range(guess.shape[1]) if reading.weights.any() else ():
        expected_pull = expected_pull + (secant * reading.weights[:, None, b]) @ guess[:, b].T
    if reading.by_prediction is not None:
        size, known_means = state.cells.size, state.cells.told / state.cells.size[:, None]
        weight = np.ones(len(size)) if state.stack.weights is None else known_means[:, -1]
        shape = (len(mean), *known_means.shape)
        expected = reading.by_prediction.expected(
            np.broadcast_to(known_means, shape), np.broadcast_to(weight, shape[:2]), state.stack.size
        )
        expected_pull = expected_pull + np.einsum("rqd,rcd->rqc", secant, expected)
    if reading.offset is not None:
        expected_pull = (
            expected_pull
            + np.einsum("rqd,rd->rq", secant, reading.offset)[..., None] * state.cells.mean_weight
        )
    return np.asarray(expected_pull)


def _counts(state: SampleState, risk: Floats, slopes: Floats, label_loss: Floats) -> tuple[Bools, Ints]:
    """Which numbers (R, Q) are shares, and their hits: the mean of one component that is 0 or 1."""
    stack, known_sizes = state.stack, state.cells.known_sizes.tolist()
    single_component = (np.abs(slopes) > 0).sum(axis=2) == 1
    at = np.argmax(slopes, axis=2)
    mean = np.take_along_axis(risk, at, axis=1)
    column = np.take_along_axis(label_loss, at[:, None], axis=2)                     # (R, n, Q)
    zero_or_one = ((column == 0) | (column == 1)).all(axis=1)
    same = np.isclose(np.take_along_axis(slopes, at[..., None], axis=2)[..., 0], 1.0, atol=1e-6)
    same &= np.isclose(stack.value(risk, known_sizes), mean, rtol=0, atol=1e-9)
    share = single_component & zero_or_one & same
    share &= np.array([stack.measures[m].bounds == (0.0, 1.0) for m, _ in stack.parts])
    share &= state.table.cluster is None   # type: ignore[union-attr]   # else of the clusters' population
    return np.asarray(share), np.where(zero_or_one, column.sum(axis=1), 0.0).astype(np.int64)
