"""What labels say: the fitted label model, residuals, what each labelled item stands for, and corrections by
class.
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.estimators.linearised import MEANT_LABELS, grouped
from assay.evalcore.measures.by_class import Counts
from assay.evalcore.methods.any_outcome.state import SampleState
from assay.evalcore.outcomes.base import Regression
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Floats, Ints

LEAST_GROUP_LABELS = 5.0   # labels of a group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """The labels of a state, read: the weights of the guesses, the residuals of the labelled items, the
    group that each cell is corrected with, and how many items each label stands for."""

    weights: Floats      # (R, B, D') of the guesses; zeros where the method has no label model
    modelled: Floats     # (R, D) Σ of m over the pool
    residual: Floats     # (R, n, D) e
    group_of: Ints       # (R, C) the group of each cell
    group: Ints          # (R, n) the group of each labelled item
    share: Floats        # (R, n) its part of ē_g: Σ over a group is 1
    open: Floats         # (R, G) U
    effective: Floats    # (R, G) 1/Σ share²: how many labels the mean rests on; 1 for a group without labels
    items: Floats        # (R,) N, without undecided items
    given: Floats        # (R, C) a, the labels that each cell was given
    spread: Floats       # (C, Q), or (R, C, Q) where labels tell of it: how far pulls are guessed to spread
    # (R, D) what residuals come to for a weight of 1, where items have weights: it is taken off them
    offset: Floats | None = None
    weight: Floats | None = None   # (R,) the weight of the items that can matter, without undecided ones
    # rates by predicted class, which residuals are taken from
    by_prediction: "PostStrataOfPredictions | None" = None

    @property
    def stands(self) -> Floats:
        """(R, n) the items that each labelled one stands for: itself, and its part of its group's rest. R
        counts repeats and n labelled items."""
        return 1 + np.take_along_axis(self.open, self.group, axis=1) * self.share

    @property
    def correction(self) -> Floats:
        """What the residuals add to the mean of the label model, (R, D): Σ (items that a label stands for) ×
        residual, divided by the number of items."""
        total = np.einsum("rn,rnd->rd", self.stands, self.residual)
        if self.offset is not None and self.weight is not None:
            total = total + self.offset * self.weight[:, None]
        return np.asarray(total / self.items[:, None])

    def by_group(self, values: Floats) -> Floats:
        """Sums (R, G, ...) over the labelled items of each group of values (R, n, ...). R counts repeats, G
        groups and n labelled items."""
        return sums(self.group, values, self.open.shape[1])


def sums(place: Ints, values: Floats, length: int) -> Floats:
    """Sums (R, length, ...) of values (R, n, ...) by place (R, n)."""
    repeats, n = place.shape
    flat = (np.arange(repeats)[:, None] * length + place).ravel()
    inner = values.reshape(repeats * n, -1)
    cells = repeats * length
    columns = [np.bincount(flat, weights=column, minlength=cells) for column in inner.T]
    return np.asarray(np.stack(columns, axis=1).reshape(repeats, length, *values.shape[2:]), np.float64)


def fit_difference_estimator(
    state: SampleState, allocation: Floats, modelled: bool, group_labels: float = LEAST_GROUP_LABELS,
    post_stratified: bool = False,
) -> Reading:
    """The difference estimator of a state; allocation (R, C): labels planned for each cell; modelled: with a
    label model; post_stratified: hits and labels of a class by whether it is predicted.
    """
    items = (state.cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)
    group_of = grouped(state.by_cell, group_labels)
    g = int(group_of.max()) + 1
    group = np.take_along_axis(group_of, state.cell, axis=1)
    open_items = state.wanted.astype(np.float64)
    given_labels = (MEANT_LABELS * allocation + state.by_cell**2) / (MEANT_LABELS + state.by_cell)
    weight = np.maximum(open_items, 1e-9) / np.maximum(given_labels, 1e-9)
    label_weight = np.take_along_axis(weight, state.cell, axis=1)
    total = sums(group, label_weight[..., None], g)[..., 0]
    share = label_weight / np.take_along_axis(total, group, axis=1)
    squares = sums(group, share[..., None] ** 2, g)[..., 0]
    opened = sums(group_of, open_items[..., None], g)[..., 0]
    stands = 1 + np.take_along_axis(opened, group, axis=1) * share
    weights = fitted(state, stands) if modelled else np.zeros((len(items), len(state.cells.first), 1))
    relevant = state.cells.relevant
    guessed = state.cells.guess[relevant].sum(axis=0)[None] - state.excluded_guess
    idle = np.einsum("b,bd->d", state.cells.first, state.cells.guess[~relevant].sum(axis=0))
    reading = Reading(
        weights=weights,
        modelled=(weights * guessed).sum(axis=1) + idle,
        residual=residuals(state, weights, modelled),
        group_of=group_of,
        group=group,
        share=share,
        open=opened,
        effective=1 / np.where(squares > 0, squares, 1.0),
        items=items,
        given=given_labels,
        spread=state.cells.spread,
    )
    if post_stratified:
        reading = _from_predictions(state, reading)
    return reading if state.stack.weights is None else _per_weight(state, reading)


OF_ALL = 1.0   # labels with the rate of all predictions, that each prediction counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PostStrataOfPredictions:
    """Post-strata by what is predicted: for components that are hits or labels of a class, the rate where
    the class is predicted and where it is not, (R, d) each. Residuals are taken from these rates.

    How often a class is predicted is known of the whole pool.  So hits and labels of class k are estimated
    from the items that are predicted to be k, and from all others, each by their known number
    (post-stratification: Holt & Smith 1979; Cochran 1977, sec. 5A.9):

        m_k(x) = a_k x + b_k (1 - x),      x = 1 where k is predicted

    a_k, b_k the rates among the labels, each for what it stands for, and hits have no b.  With F1 = 2 hit/(f
    + label) estimated so, a random sample needs a third of the labels that it needs with hits and labels as
    they come.  Few labels of a prediction say little of it: a_k counts one label more, with the rate of hits
    among all labels.  What m_k misses is added as of any label model, so once all is labelled nothing of it
    is left.
    """

    columns: Ints    # (d,) components that have them,
    known_columns: Ints       # (d,) and where what is predicted of their class stands among what is known
    hit: Floats      # (R, d) a
    missed: Floats    # (R, d) b
    in_one_direction: bool   # the rates of classes, which are wrong together
    lean: Floats     # (R, d) how far the mean of a component may be off for the label that a counts more

    def off(self, slopes: Floats) -> Floats:
        """(R, Q) how far numbers with these slopes (R, Q, D) may be off for it, as a standard error.

        Tags err each on its own.  Classes all in one direction: a class that is seldom predicted is mostly
        one that is seldom right.
        """
        bent = slopes[..., self.columns] * self.lean[:, None]
        half = bent.shape[-1] // 2                       # hits, then labels of the same classes
        joint_slope = np.abs(bent[..., :half] + bent[..., half:])
        return np.asarray(
            joint_slope.sum(axis=-1) if self.in_one_direction else np.sqrt((joint_slope**2).sum(axis=-1))
        )

    def expected(self, known_parts: Floats, weight: Floats, size: int) -> Floats:
        """m (R, ..., size) of items with known parts (R, ..., D_k) and weights (R, ...); or of their sums.
        Post-strata are the classes that the first system predicts."""
        x = known_parts[..., self.known_columns]
        between = (slice(None),) + (None,) * (known_parts.ndim - 2)
        expected_loss = np.zeros((*x.shape[:-1], size))
        expected_loss[..., self.columns] = self.hit[between] * x + self.missed[between] * (
            weight[..., None] - x
        )
        return expected_loss


def _of_predictions(state: SampleState) -> tuple[Ints, Ints, int]:
    """The components that are hits or labels of a class, where its predictions stand among what is known, and
    how many of the components, which come first, are hits."""
    hits: list[int] = []
    labels: list[int] = []
    known_columns: list[int] = []
    at = after = 0
    sizes = state.cells.known_sizes.tolist()
    for loss, width in zip(state.stack.losses, sizes, strict=False):
        if isinstance(loss, Counts):
            hits += range(at, at + width)
            labels += range(at + width, at + 2 * width)
            known_columns += range(after, after + width)
        at, after = at + loss.size, after + width
    return np.array(hits + labels, np.int64), np.array(known_columns * 2, np.int64), len(hits)


def _from_predictions(state: SampleState, reading: Reading) -> Reading:
    """With residuals from the rates by prediction."""
    columns, known_columns, n_hits = _of_predictions(state)
    if not len(columns) or state.table is None or not state.n:
        return reading
    known_parts, loss = state.table.known[state.item], reading.residual
    item_weights = np.ones(loss.shape[:2]) if state.stack.weights is None else known_parts[..., -1]
    stands, x = reading.stands, known_parts[..., known_columns]
    y = loss[..., columns]
    predicted_so = x > 0

    def total(values: Floats) -> Floats:
        return np.asarray(np.einsum("rn,rnd->rd", stands, values))

    hits, predicted = total(y * predicted_so), total(x)
    of_all = hits[:, :n_hits].sum(axis=1) / np.maximum(predicted[:, :n_hits].sum(axis=1), 1e-12)
    label_weight = OF_ALL * stands.mean(axis=1)[:, None]
    # the one label is of no use where all that are predicted so are labelled
    any_open = (
        np.maximum(
            state.cells.known[known_columns] - state.excluded_known[:, known_columns] - x.sum(axis=1), 0.0
        )
        > 0
    )
    hit = (hits + any_open * label_weight * of_all[:, None]) / np.maximum(
        predicted + any_open * label_weight, 1e-12
    )
    counted = any_open * label_weight / np.maximum(predicted + any_open * label_weight, 1e-12)
    share = state.cells.known[known_columns] / reading.items[:, None]
    lean = share * counted * np.sqrt(np.clip(of_all * (1 - of_all), 0.0, 0.25))[:, None]
    not_predicted = total(item_weights[..., None] - x)
    missed = np.where(
        not_predicted > 0, total(y * ~predicted_so) / np.where(not_predicted > 0, not_predicted, 1.0), 0.0
    )
    rates = PostStrataOfPredictions(
        columns=columns, known_columns=known_columns, hit=hit, missed=missed, lean=lean,
        in_one_direction=state.stack.kind.one_of_parts,
    )
    expected = rates.expected(known_parts, item_weights, loss.shape[2])
    relevant = state.cells.relevant
    sums = state.cells.told[relevant].sum(axis=0) - state.excluded_known
    items = state.wanted.sum(axis=1) + state.by_cell.sum(axis=1).astype(np.float64)
    weight = items if state.stack.weights is None else sums[:, -1]
    size = np.abs(loss) + np.abs(expected)
    return replace(
        reading, by_prediction=rates,
        residual=np.where(is_nothing(loss - expected, size), 0.0, loss - expected),
        modelled=reading.modelled + rates.expected(sums, weight, loss.shape[2]),
    )


def _per_weight(state: SampleState, reading: Reading) -> Reading:
    """With residuals per weight."""
    relevant = state.cells.relevant
    weight = state.cells.told[relevant, -1].sum() - state.excluded_known[:, -1]
    if state.table is None or not state.n:
        return reading
    item_weights, stands = state.table.known[state.item, -1], reading.stands
    total = (stands * item_weights).sum(axis=1)
    offset = np.einsum("rn,rnd->rd", stands, reading.residual) / np.where(total > 0, total, 1.0)[:, None]
    shift = item_weights[..., None] * offset[:, None]
    remainder = reading.residual - shift
    size = np.abs(reading.residual) + np.abs(shift)
    return replace(
        reading, residual=np.where(is_nothing(remainder, size), 0.0, remainder), offset=offset, weight=weight
    )


def fitted(state: SampleState, stands: Floats) -> Floats:
    """W of the label model, each label weighing by the items it stands for; stands (R, n).

    Where items have weights, their sum over the pool is known, and that over the labelled ones, each for what
    it stands for, misses it by chance: so does the sum of losses, which are w ℓ.  The ratio takes that off:

        δ = Σ ω e / Σ ω w,      e - w δ for e,      and δ Σ_pool w more of the model's part

    which is Hájek's estimate (1971) where there is no model, and exact once all is labelled.
    """
    model, cells = state.stack.kind.label_model, state.cells
    n_guesses = cells.guesses(state.stack)
    if cells.beside is not None and state.table is not None and state.n:
        return _with_beside(state, stands)
    guess_weights = cells.first
    d = 1 if model.shared else state.stack.size
    b = n_guesses if model.shared else len(guess_weights)
    repeats = len(stands)
    if cells.beside is not None:
        return np.repeat(guess_weights[None, :, None], repeats, axis=0)
    if state.table is None or not state.n:
        return model.fit(
            np.zeros((repeats, d, b, b)), np.zeros((repeats, d, b)), np.zeros((repeats, d)), 0, guess_weights
        )
    w = stands / stands.mean(axis=1, keepdims=True)
    return model.fit(
        np.einsum("rn,rndbk->rdbk", w, state.table.gram[state.item][..., :b, :b]),
        np.einsum("rn,rndb->rdb", w, state.table.cross[state.item][..., :b]),
        np.einsum("rn,rnd->rd", w, state.table.square[state.item]),
        state.n,
        guess_weights,
    )


def _with_beside(state: SampleState, stands: Floats) -> Floats:
    """W (R, B, D) with slopes on what is beside the guesses.

    Where every component is fitted on its own they are regressors as the guesses are.  Where guesses share
    their weights, what the mixture leaves is regressed on them, each from its mean over the pool, so what is
    expected of the pool as a whole is that of the mixture.
    """
    cells, table, model = state.cells, state.table, state.stack.kind.label_model
    if cells.beside is None or table is None:
        raise ValueError("nothing is beside the guesses")
    n_guesses, w = cells.guesses(state.stack), stands / stands.mean(axis=1, keepdims=True)
    active = n_guesses + np.flatnonzero(cells.beside)
    gram, cross, square = table.gram[state.item], table.cross[state.item], table.square[state.item]
    coefficients = np.zeros((len(w), len(cells.first), state.stack.size))
    if not model.shared:
        order = np.concatenate([np.arange(n_guesses - 1), active, [n_guesses - 1]])     # the constant last
        coefficients[:, order] = model.fit(
            np.einsum("rn,rndbk->rdbk", w, gram[..., order[:, None], order]),
            np.einsum("rn,rndb->rdb", w, cross[..., order]), np.einsum("rn,rnd->rd", w, square),
            state.n, cells.first[order],
        )
        return coefficients
    coefficients[:, :n_guesses] = model.fit(
        np.einsum("rn,rndbk->rdbk", w, gram), np.einsum("rn,rndb->rdb", w, cross),
        np.einsum("rn,rnd->rd", w, square), state.n, cells.first[:n_guesses],
    )
    remainder = residuals(state, coefficients[:, :n_guesses], True)
    x = table.guess[state.item][:, :, [*active, -1], 0]                       # (R, n, X + 1), the last 1
    b = x.shape[2]
    slopes = Regression().fit(
        np.broadcast_to(np.einsum("rn,rnb,rnk->rbk", w, x, x)[:, None], (len(w), remainder.shape[2], b, b)),
        np.einsum("rn,rnb,rnd->rdb", w, x, remainder), np.einsum("rn,rnd->rd", w, remainder**2), state.n,
        np.zeros(b),
    )[:, :-1]
    pool = cells.guess[cells.relevant].sum(axis=0)[None, :, 0] - state.excluded_guess[..., 0]
    mean = pool[:, active] / np.maximum(pool[:, -1:], 1.0)
    coefficients[:, active] = slopes
    coefficients[:, -1] = -np.einsum("rx,rxd->rd", mean, slopes)
    return coefficients


def residuals(state: SampleState, weights: Floats, modelled: bool) -> Floats:
    """e (R, n, D): the losses, less what the weighted guesses expect where they are modelled. R counts
    repeats, n labelled items and D components."""
    if state.table is None:
        return np.zeros((len(weights), 0, state.stack.size))
    e = state.table.loss[state.item]
    if not modelled:
        return e
    size = np.abs(e)
    for b in range(weights.shape[1]):
        explained = weights[:, None, b] * state.table.guess[state.item, b]
        e, size = e - explained, size + np.abs(explained)
    return np.where(is_nothing(e, size), 0.0, e)


def off_centre(reading: Reading, slopes: Floats) -> Floats:
    """The pulls (R, n, Q) of the residuals, each from the mean of its group; slopes (R, Q, D).

    0 where that is all that rounding leaves: labels that are all alike have no spread.
    """
    pull = np.einsum("rnd,rqd->rnq", reading.residual, slopes)
    size = np.einsum("rnd,rqd->rnq", np.abs(reading.residual), np.abs(slopes))
    centre = np.take_along_axis(
        reading.by_group(reading.share[..., None] * pull), reading.group[..., None], axis=1
    )
    return np.where(is_nothing(pull - centre, size + np.abs(centre)), 0.0, pull - centre)


PRIOR_TAU = 0.4     # relative error of a class before any label
PRIOR_WORTH = 4.0   # classes that the prior counts for
SHRINKING_STEPS = 4   # towards the spread that classes have of their own
MOST_MOVED_ERRORS = 3.0   # standard errors
OWN_VARIANCE_LABELS = 4.0   # labels of a class that its own variance must rest on to count for half


def shrunken(state: SampleState, reading: Reading, correction: Floats) -> Floats:
    """The corrections (R, D); those of blocks of shares are drawn towards what is probable.

    Corrections of shares drawn towards what is probable beforehand: small-area estimation by class.

    The design corrects what the label model expects of a component, m, by δ, with an error of variance v.  A
    total (all hits together) is left as the design has it: the interval pays for every step away from it.

    *Of one class*, let δ_k = β m_k + u_k + noise: β shared by all classes, u_k ~ (0, τ² m_k²) its own.  τ² is
    estimated from all classes together, and the best linear estimate is (Fay & Herriot 1979; Rao & Molina
    2015)

        δ̃_k = β m_k + λ_k (δ_k - β m_k),      λ_k = τ² m_k² / (τ² m_k² + v_k)

    What is missing to the total is given to the classes that were shrunken most (benchmarking).  As labels
    come, v falls to 0 and the corrections are the design's.

    No estimate is moved by more than MOST_MOVED_ERRORS of its standard errors (limited translation: Efron &
    Morris 1972), so what was thought impossible is believed once labels show it, and what is labelled in full
    is exact.

        v   the labels' own variance, drawn towards what shares of m would have: a class that no label showed
            has no spread among the labels, and is not known to be absent
    """
    if not state.stack.blocks or not state.n or state.table is None or state.stack.weights is not None:
        return correction     # with weights, what is probable of a share says little of its errors
    after = correction.copy()
    for block in state.stack.blocks:
        m = np.maximum(reading.modelled[:, block] / reading.items[:, None], 1e-9)
        delta, e = correction[:, block], reading.residual[..., block]
        shown = state.table.loss[..., block][state.item]
        cell = _by_cell(state, reading, block)
        shows_class = np.asarray(shown > 0, np.float64)
        total = delta.sum(axis=1)
        if m.shape[1] > 1:
            noise = _noise(state, reading, e, cell, shows_class)
            drawn = _near(delta, _each(delta, m, noise, total), noise)
            # what no item can be (a hit of a class never predicted) is known to be none
            after[:, block] = np.where(reading.modelled[:, block] > 0, drawn, delta)
        # a share is no less than what labels have shown of it
        lowest = (shown.sum(axis=1) - reading.modelled[:, block]) / reading.items[:, None]
        after[:, block] = np.maximum(after[:, block], lowest)
    return after


def _near(delta: Floats, drawn: Floats, v: Floats) -> Floats:
    """What is drawn, no further than MOST_MOVED_ERRORS standard errors from δ."""
    limit = MOST_MOVED_ERRORS * np.sqrt(v)
    return np.asarray(np.clip(drawn, delta - limit, delta + limit))


def _each(delta: Floats, m: Floats, v: Floats, total: Floats) -> Floats:
    """δ̃ (R, K), whose sum is the total (R,)."""
    scale, tau2 = m**2, np.full((len(m), 1), PRIOR_TAU**2)
    v = np.maximum(v, 1e-18)
    beta = (total / m.sum(axis=1))[:, None]
    for _ in range(SHRINKING_STEPS):
        w = 1 / (tau2 * scale + v)
        over: Floats = (delta - beta * m) ** 2 - v
        h: Floats = (w * scale) ** 2
        prior = PRIOR_WORTH * h.sum(axis=1, keepdims=True) / m.shape[1]
        top = (h * over / scale).sum(axis=1, keepdims=True) + prior * PRIOR_TAU**2
        tau2 = np.maximum(top / (h.sum(axis=1, keepdims=True) + prior), 1e-4)
    keep = tau2 * scale / (tau2 * scale + v)
    after = beta * m + keep * (delta - beta * m)
    missing = total[:, None] - after.sum(axis=1, keepdims=True)
    part = (1 - keep) * m
    return np.asarray(after + missing * part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300))


def _by_cell(state: SampleState, reading: Reading, block: slice) -> Floats:
    """(R, C, K) what the label model expects of an item of each cell."""
    weights, guess = reading.weights, state.cells.guess[..., block]
    sums = np.einsum("rb,cbk->rck", weights[..., 0], guess) if weights.shape[2] == 1 else \
        np.einsum("rbk,cbk->rck", weights[..., block], guess)
    return np.asarray(sums / state.cells.size[None, :, None])


def _noise(state: SampleState, reading: Reading, e: Floats, cell: Floats, shows_class: Floats) -> Floats:
    """v (R, K) of corrections whose residuals are e (R, n, K); shows_class (R, n, K): labels that show the
    class."""
    factor = reading.open * (reading.open / reading.effective + 1) / reading.items[:, None] ** 2
    per_item = factor / np.maximum(reading.open, 1e-9)             # (R, G)
    n_g = np.maximum(reading.by_group(np.ones((*reading.group.shape, 1)))[..., 0], 1.0)
    label_factor = np.take_along_axis(factor / n_g, reading.group, axis=1)
    measured = np.einsum("rn,rnk->rk", label_factor, e**2)
    open_factor = state.wanted * np.take_along_axis(per_item, reading.group_of, axis=1)
    expected = np.einsum("rc,rck->rk", open_factor, np.clip(cell * (1 - cell), 0, None))
    shown = shows_class.sum(axis=1)
    return np.asarray((shown * measured + OWN_VARIANCE_LABELS * expected) / (shown + OWN_VARIANCE_LABELS))
