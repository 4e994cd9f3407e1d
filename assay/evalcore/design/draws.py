"""Drawing the items of a round: on cells, all together or one after the other.

With replacement, draws go on until `size` distinct unlabelled items were drawn; a draw of an item that is
already labelled, or was drawn before in the same round, costs no label.  Draws of labelled items are not
simulated one by one: between two draws of unlabelled items their number is geometric, so their total is
negative binomial, however small the unlabelled share of the proposal has become.

    R         repeats
    C         cells
    T         draws of unlabelled items in the longest repeat; shorter rows are padded with cell -1
    ordinal   numbers the new items of a cell in the order they come up in the round, from 0; an ordinal that
              came up before is the same item again
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.design.round import CountedDesign, DesignOfRows, RoundLabels
from assay.evalcore.types import Bools, Floats, Ints

MAX_DRAWS_PER_ITEM = 50   # a round of b items makes at most 50 b draws on unlabelled items
LEAST_NEW_MASS = 1 / 500  # the share of a proposal that unlabelled items keep: 500 draws a label at the worst


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """The draws of one round, before anybody knows a label: for T draws of unlabelled items the cell and
    which new item of it came up, (R, T) each, and the number of draws of labelled items by cell and
    label."""

    cell: Ints       # (R, T) cell of each draw of an unlabelled item, -1 for padding
    ordinal: Ints    # (R, T) number of the item among the new ones of its cell, -1 for padding
    known: Ints      # (R, C, 2) number of draws on items labelled earlier
    # (R, n) the same of each labelled item, of methods that keep a row for each; None where they are counted
    of_labelled: Ints | None = None


def with_replacement(
    design: CountedDesign | DesignOfRows, labelled: Ints, size: Ints, rng: np.random.Generator,
    draws_per_item: int = MAX_DRAWS_PER_ITEM,
) -> Draws:
    """Draw until `size` (R,) distinct unlabelled items have come up, or `draws_per_item` · size draws.

    labelled (R, C, 2): items already labelled y, or ones (R, n), an item each.  The probabilities are those
    of `design`.
    """
    mass = design.left * design.unlabelled                      # (R, C)
    reach = np.cumsum(mass, axis=1)
    new_mass = reach[:, -1]
    n_repeats, n_cells = mass.shape
    new_by_cell = np.zeros((n_repeats, n_cells), np.int64)
    n_found, turns = np.zeros(n_repeats, np.int64), np.zeros(n_repeats, np.int64)
    limit = draws_per_item * size
    rows = np.arange(n_repeats)
    cells: list[Ints] = []
    ordinals: list[Ints] = []
    while True:
        active = (n_found < size) & (turns < limit) & (new_mass > 0)
        if not active.any():
            break
        cell = categorical(reach, rng)
        # uniform over the cell's unlabelled items; any that was not drawn yet becomes the next ordinal
        pick = (rng.random(n_repeats) * design.left[rows, cell]).astype(np.int64)
        ordinal = np.minimum(pick, new_by_cell[rows, cell])
        is_new = active & (ordinal == new_by_cell[rows, cell])
        new_by_cell[rows[is_new], cell[is_new]] += 1
        n_found += is_new
        turns += active
        cells.append(np.where(active, cell, -1))
        ordinals.append(np.where(active, ordinal, -1))
    labelled_draws = _known_draws(design, labelled, new_mass, turns, rng)
    of_labelled = None
    if labelled_draws.ndim == 2:
        labelled_draws, of_labelled = np.zeros((n_repeats, n_cells, 2), np.int64), labelled_draws
    shape = (n_repeats, 0)
    return Draws(
        cell=np.stack(cells, axis=1) if cells else np.empty(shape, np.int64),
        ordinal=np.stack(ordinals, axis=1) if ordinals else np.empty(shape, np.int64),
        known=labelled_draws, of_labelled=of_labelled,
    )


def categorical(reach: Floats, rng: np.random.Generator) -> Ints:
    """One category (R,) for each row of cumulative masses (R, C); never one of mass 0. R counts the rows and
    C the categories; one random number is drawn for each row, and masses need not add up to 1."""
    target = rng.random(len(reach)) * reach[:, -1]
    last_category = np.argmax(reach >= reach[:, -1:], axis=1)  # rounding must not land beyond the last mass
    return np.asarray(np.minimum((reach <= target[:, None]).sum(axis=1), last_category), dtype=np.int64)


def _known_draws(
    design: CountedDesign | DesignOfRows, labelled: Ints, new_mass: Floats, turns: Ints,
    rng: np.random.Generator,
) -> Ints:
    mass = (labelled * design.labelled).reshape(len(labelled), -1)
    total = mass.sum(axis=1)
    counts = np.zeros(mass.shape, np.int64)
    for r in np.flatnonzero((total > 0) & (turns > 0)):
        n = rng.negative_binomial(turns[r], new_mass[r] / (new_mass[r] + total[r]))
        counts[r] = rng.multinomial(n, mass[r] / total[r])
    return counts.reshape(labelled.shape)


def without_replacement(counts: Ints) -> Draws:
    """The draws that ask `counts` (R, C) unlabelled items of each cell, each once."""
    n_repeats, n_cells = counts.shape
    totals = counts.sum(axis=1)
    cell = np.full((n_repeats, int(totals.max(initial=0))), -1, np.int64)
    ordinal = cell.copy()
    for r in range(n_repeats):
        cell[r, : totals[r]] = np.repeat(np.arange(n_cells), counts[r])
        starts = np.cumsum(counts[r]) - counts[r]
        ordinal[r, : totals[r]] = np.arange(totals[r]) - np.repeat(starts, counts[r])
    return Draws(cell=cell, ordinal=ordinal, known=np.zeros((n_repeats, n_cells, 2), np.int64))


def one_by_one(cell: Ints, n_cells: int) -> Draws:
    """The draws (R = 1) that ask an item of each of these cells (T,) in turn, none of them twice. Items of a
    cell are numbered from 0 in the order of their draws."""
    ordinal = np.zeros(len(cell), np.int64)
    for c in np.unique(cell).tolist():
        same_cell = cell == c
        ordinal[same_cell] = np.arange(same_cell.sum())
    return Draws(cell=cell[None], ordinal=ordinal[None], known=np.zeros((1, n_cells, 2), np.int64))


def independent(design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
    """`size` (R,) draws with replacement from all items, each of which is asked anew.

    Ordinals number the draws of a cell, not its items: the same item may stand behind several.
    """
    return without_replacement(multinomial(design.left * design.unlabelled, size, rng))


def multinomial(mass: Floats, size: Ints, rng: np.random.Generator) -> Ints:
    """Of `size` (R,) independent draws, how many (R, C) fall on each cell; mass (R, C): of a cell. R counts
    repeats and C cells; masses need not add up to 1."""
    share = mass / mass.sum(axis=1, keepdims=True)
    counts = [rng.multinomial(n, p) for n, p in zip(size, share, strict=True)]
    return np.array(counts, np.int64)


def simulate_anew(draws: Draws, rate: Floats, rng: np.random.Generator) -> RoundLabels:
    """Answers to independent draws, positive at the mean rate (C,) of their cell; they label no item.

    rate: (R, C) where repeats differ.
    A draw takes an item of its cell by chance and its answer by the item's own rate, so it is positive at the
    mean rate, whatever was drawn before.
    """
    counts = np.zeros(draws.known.shape[:2], np.int64)
    for r, cell in enumerate(draws.cell):
        counts[r] = np.bincount(cell[cell >= 0], minlength=counts.shape[1])
    positive = rng.binomial(counts, rate)
    nothing = np.zeros(draws.known.shape, np.int64)
    answers = np.stack([counts - positive, positive], axis=-1)
    return RoundLabels(new=nothing, drawn_new=answers, drawn_known=nothing)


def first_draws(draws: Draws) -> Bools:
    """Whether (R, T) a draw is the first of its item in the round; False for padding. R counts repeats and T
    draws; padding is what a shorter round is filled up with."""
    n_repeats, width = draws.cell.shape
    rows = np.arange(n_repeats)
    new_by_cell = np.zeros(draws.known.shape[:2], np.int64)
    is_first = np.zeros((n_repeats, width), np.bool_)
    for t in range(width):
        cell = np.maximum(draws.cell[:, t], 0)
        is_first[:, t] = (draws.cell[:, t] >= 0) & (draws.ordinal[:, t] == new_by_cell[rows, cell])
        new_by_cell[rows, cell] += is_first[:, t]
    return is_first


def either(some_draws: Draws, other_draws: Draws) -> Draws:
    """The draws of both; in each repeat at most one of the two has any."""
    width = max(some_draws.cell.shape[1], other_draws.cell.shape[1])

    def merged(a: Ints, b: Ints) -> Ints:
        grow = [np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=-1) for x in (a, b)]
        return np.maximum(grow[0], grow[1])

    return Draws(
        cell=merged(some_draws.cell, other_draws.cell),
        ordinal=merged(some_draws.ordinal, other_draws.ordinal),
        known=some_draws.known + other_draws.known, of_labelled=some_draws.of_labelled,
    )


def simple_random(open_items: Ints, size: Ints, rng: np.random.Generator) -> Ints:
    """Items of each cell (R, C) in a simple random sample of `size` (R,) items out of `open_items` (R, C). R
    counts repeats and C cells; there must be at least `size` open items."""
    counts = np.zeros_like(open_items)
    still_to_draw, remaining = size.copy(), open_items.sum(axis=1)
    for c in range(open_items.shape[1]):  # one hypergeometric draw a cell, all repeats
        remaining = remaining - open_items[:, c]
        counts[:, c] = rng.hypergeometric(open_items[:, c], remaining, still_to_draw)
        still_to_draw = still_to_draw - counts[:, c]
    return counts


def simulate_labels(draws: Draws, open_items: Ints, rng: np.random.Generator) -> RoundLabels:
    """Label the draws of a replay.  open_items (R, C, 2): unlabelled items by their true label."""
    return simulate_each(draws, open_items, rng)[0]


def simulate_each(draws: Draws, open_items: Ints, rng: np.random.Generator) -> tuple[RoundLabels, Ints]:
    """The same, and the label (R, T) of each draw of an unlabelled item."""
    labels, _, label = _simulated(draws, open_items, np.array([0.0, 1.0]), rng)
    return replace(labels, answers=None), label


def simulate_answers(
    draws: Draws, open_items: Ints, share: Floats, rng: np.random.Generator
) -> tuple[RoundLabels, Ints]:
    """The answers to the draws of a replay, and the newly labelled items (R, C, K) by kind.

    A kind is a share of positive answers: share (K,), rising, says which; open_items (R, C, K) are the
    unlabelled items of each kind.  The majority of an item's answers is its label.  Items of a cell are
    exchangeable, so the kind of its next new item is drawn from the kinds of those not drawn yet.
    """
    labels, new, _ = _simulated(draws, open_items, share, rng)
    return labels, new


def _simulated(
    draws: Draws, open_items: Ints, share: Floats, rng: np.random.Generator
) -> tuple[RoundLabels, Ints, Ints]:
    """As `simulate_answers`, with the kind (R, T) of each draw."""
    n_repeats, n_cells, n_kinds = open_items.shape
    rows = np.arange(n_repeats)
    new = np.zeros((n_repeats, n_cells, n_kinds), np.int64)
    drawn = np.zeros_like(new)
    label = np.zeros(draws.cell.shape, np.int64)
    for t in range(draws.cell.shape[1]):
        cell, ordinal = draws.cell[:, t], draws.ordinal[:, t]
        c = np.maximum(cell, 0)
        new_of_cell = new[rows, c]                                     # (R, K)
        is_first = (cell >= 0) & (ordinal == new_of_cell.sum(axis=1))
        open_by_kind = open_items[rows, c] - new_of_cell
        above = np.cumsum(open_by_kind[:, ::-1], axis=1)  # items of this kind and of the kinds above
        passed = above <= (rng.random(n_repeats) * above[:, -1])[:, None]
        label[:, t] = np.maximum(n_kinds - 1 - passed.sum(axis=1), 0)
        repeated = np.flatnonzero((cell >= 0) & ~is_first)
        if len(repeated):                                          # the same item again: the label it had
            same = draws.cell[repeated, :t] == cell[repeated, None]
            same &= draws.ordinal[repeated, :t] == ordinal[repeated, None]
            label[repeated, t] = label[repeated, np.argmax(same, axis=1)]
        active = np.flatnonzero(cell >= 0)
        drawn[active, cell[active], label[active, t]] += 1
        new[is_first, cell[is_first], label[is_first, t]] += 1
    positive = share > 0.5
    by_label = [np.stack([x[..., ~positive].sum(axis=-1), x[..., positive].sum(axis=-1)], axis=-1)
                for x in (new, drawn)]
    answer_shares = new[..., None] * np.stack([1 - share, share], axis=-1)  # (R, C, K, 2)
    answers = np.stack(
        [answer_shares[:, :, ~positive].sum(axis=2), answer_shares[:, :, positive].sum(axis=2)], axis=2
    )
    counted = RoundLabels(
        new=by_label[0], drawn_new=by_label[1], drawn_known=draws.known, answers=answers
    )
    return counted, new, label


# inclusion probabilities above this have the weight of this one: no item is nearly certain
_LARGEST_INCLUSION = 0.95


CAUTIOUS = 0.5   # share of a batch


def with_cautious_share(design: CountedDesign, prediction: Ints) -> Floats:
    """Inclusion probabilities (R, C) of which a share CAUTIOUS is spread by a cautious Neyman allocation.

    A plan that trusts its label model leaves out what the model is sure of.  An estimate from the draws alone
    then varies much once the model is wrong, which is when a monitor needs it.  The cautious share takes the
    label model's rates for half as telling as they claim to be: π ∝ |g| √(p̃ (1 − p̃)), g the pull of a label
    on the first measure and p̃ half way from the rate of the cell to the mean rate of its prediction.

    design.unlabelled: as planned, 0 where an item is not to be drawn; prediction (C,).  Where no item has a
    pull they stay as they are.

    Drawing the items of a round one after the other, without replacement.

    Every draw takes an unlabelled item with probability proportional to its weight:

        q = w / W,   W the sum of the weights of the items that are left

    and the item is out.  So each draw has a known probability given the draws before it, which is what a
    monitor needs to bet on single draws (`evalcore.monitoring.betting`).  A batch that is drawn together has
    only inclusion probabilities.  Source: the weighted sampling of Shekhar, Xu, Lipton, Liang & Ramdas 2023,
    "Risk-limiting financial audits via weighted sampling without replacement".

    The estimate of such a round is the mean of n unbiased ones, one a draw: known labels + what the model
    says of the items left + (y − m)/q.  Draw s appears in the known labels of the n − s draws after it, so in
    all

        known labels and model before the round + Σ_s ω_s (y_s − m_s),   ω_s = (1/q_s + n − s)/n,  s = 1 … n

    (the weights of Farquhar, Gal & Rainforth 2021, "On statistical bias in active learning").  Which cells
    come up does not depend on labels, and the items of a cell are exchangeable, so ω may be averaged over the
    draws of a cell: the estimate stays unbiased, varies no more, and needs no order.

        R   repeats;  C   cells;  T   draws, in order; shorter rows end in cell −1
    """
    inclusion, open_items = design.unlabelled, design.left
    rate = design.model.copy()
    for f in (0, 1):
        at = prediction == f
        if at.any():
            items = np.maximum(open_items[:, at].sum(axis=1), 1)
            rate[:, at] = (
                rate[:, at] + ((open_items * design.model)[:, at].sum(axis=1) / items)[:, None]
            ) / 2
    scatter = np.sqrt(np.clip(rate * (1 - rate), 0.0, 0.25))
    pull = np.where(inclusion > 0, np.abs(design.gradient) * scatter, 0.0)
    size = (open_items * inclusion).sum(axis=1, keepdims=True)
    total = (open_items * pull).sum(axis=1, keepdims=True)
    cautious = np.divide(size * pull, total, out=inclusion.copy(), where=total > 0)
    return np.asarray(np.minimum((1 - CAUTIOUS) * inclusion + CAUTIOUS * cautious, 1.0))


def weights(inclusion: Floats) -> Floats:
    """Weights (R, C) under which items are included about as often as inclusion (R, C) says.

    −log(1 − π): an item that comes up at a constant rate is there with probability π after time 1.
    """
    return np.asarray(-np.log1p(-np.minimum(inclusion, _LARGEST_INCLUSION)))


def draw_one_at_a_time(open_items: Ints, weight: Floats, size: Ints, rng: np.random.Generator) -> Draws:
    """Draw `size` (R,) items, or as many as there are with a weight.

    open_items (R, C): unlabelled items; weight (R, C): of each.
    """
    n_repeats = len(open_items)
    rows = np.arange(n_repeats)
    drawn_by_cell = np.zeros_like(open_items)
    mass = open_items * weight
    n_draws = np.minimum(size, (open_items * (weight > 0)).sum(axis=1))
    cells = np.full((n_repeats, int(n_draws.max(initial=0))), -1, np.int64)
    ordinals = cells.copy()
    for t in range(cells.shape[1]):
        active = rows[t < n_draws]
        cell = categorical(np.cumsum(mass[active], axis=1), rng)
        cells[active, t], ordinals[active, t] = cell, drawn_by_cell[active, cell]
        drawn_by_cell[active, cell] += 1
        mass[active, cell] = (open_items[active, cell] - drawn_by_cell[active, cell]) * weight[active, cell]
    return Draws(cell=cells, ordinal=ordinals, known=np.zeros((*open_items.shape, 2), np.int64))


def expansion_weight(open_items: Ints, weight: Floats, cell: Ints) -> Floats:
    """ω (R, C): how many items a label of each cell stands for; 0 in cells that were not drawn.

    open_items, weight (R, C) before the round; cell (R, T).
    """
    rows = np.arange(len(open_items))
    number = (cell >= 0).sum(axis=1)
    total, drawn = np.zeros(open_items.shape), np.zeros(open_items.shape)
    total_weight = (open_items * weight).sum(axis=1)
    for t in range(cell.shape[1]):
        active = rows[cell[:, t] >= 0]
        c, n = cell[active, t], number[active]
        weight_of_cell = weight[active, c]
        total[active, c] += (np.maximum(total_weight[active] / weight_of_cell, 1.0) + n - (t + 1)) / n
        drawn[active, c] += 1
        total_weight[active] -= weight_of_cell
    return np.divide(total, drawn, out=np.zeros(open_items.shape), where=drawn > 0)



def waterfill(influence: Floats, items: Ints, labels: Ints) -> Floats:
    """π (R, C) of one item of each cell: min(1, λ h), with Σ_c items_c π_c = labels.

    influence h, items u (R, C), not negative; labels b (R,).  Items without influence get π = 0, so the
    expected number is below `labels` where the others are too few.  A cell without items gets the π that an
    item of its influence would have.

    Inclusion probabilities of draws without replacement: the best ones, and two ways to draw by them.

        waterfill            the probabilities of least variance
        systematic           draws at given probabilities, in batches of exactly the size asked for
        coins                a coin for every item; the size of the batch is random
        bernoulli_error      the error, and that of draws with replacement (Yilmaz et al. 2021, appendix C)

    Inclusion probabilities that minimise the variance of a Horvitz-Thompson total.

    Yilmaz et al. (2021), section 3.  Of u_c unlabelled items in cell c, each with root mean squared influence
    h_c, b labels are to be drawn without replacement; the error (eq. 28) is proportional to Σ u_c h_c² (1/π_c
    - 1). Its minimum under Σ u_c π_c = b and π_c ≤ 1 is found by water-filling:

        π_c = min(1, λ h_c)

    Items with the largest h are certain to be drawn ("saturated"), and the rest share what is left in
    proportion to h.  Algorithm 3 sorts by h and saturates j - 1 items for the smallest j that keeps all
    others at or below 1 (eq. 88).  Its printed line 13 is wrong in two places; the weights of the others are

        π_r = h_r (b - (j - 1)) / (H - S_{j-1})   for r ≥ j,   and π_N = 1 when j = N and H = S_{j-1}

    with H the sum of all h and S_{j-1} that of the saturated ones: only then is Σ π = b.
    """
    # descending; the scale is free, and dividing by the largest keeps tiny influences away from 0
    largest = influence.max(axis=1, keepdims=True)
    h = influence / np.where(largest > 0, largest, 1.0)
    order = np.argsort(-h, axis=1, kind="stable")
    sorted_h = np.take_along_axis(h, order, axis=1)
    count = np.where(sorted_h > 0, np.take_along_axis(items, order, axis=1), 0).astype(np.float64)
    mass = count * sorted_h
    before = np.cumsum(count, axis=1) - count                      # items of the cells that come earlier
    # summed from the small end, so that the remainder after the last saturated cell is free of cancellation
    influence_from_cell = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]  # influence from this cell on
    missing = labels[:, None] - before
    # eq. 88: the first cell whose items stay at or below 1 when all earlier ones are certain
    open_ = (sorted_h * missing <= influence_from_cell) & (missing >= 0)
    first_below = np.where(open_.any(axis=1), np.argmax(open_, axis=1), h.shape[1] - 1)
    rows = np.arange(len(h))
    labels_to_share, remainder = missing[rows, first_below], influence_from_cell[rows, first_below]
    level = np.divide(labels_to_share, remainder, out=np.zeros(len(h)), where=remainder > 0)
    level = np.where(labels >= count.sum(axis=1), np.inf, np.maximum(level, 0.0))
    with np.errstate(invalid="ignore"):
        return np.where(h > 0, np.minimum(1.0, h * level[:, None]), 0.0)


def rising_inclusion(inclusion: Floats, influence: Floats, open_items: Ints, size: Ints) -> Floats:
    """π (R, C) of a round of `size` (R,) more items, by which the chances b so far rise along μ h.

    inclusion b, influence h, open_items (R, C): unlabelled items.  An item that is certain was labelled,
    unless it was set aside: no more water for it.
    """
    chance_to_miss = np.maximum(1 - inclusion, 1e-12)
    return waterfill(np.where(inclusion < 1, influence / chance_to_miss, 0.0), open_items, size)


def predicted_error(influence: Floats, items: Ints, inclusion: Floats) -> Floats:
    """Σ u h² (1/π - 1) (R,): eq. 28, the expected squared error of the total under independent draws.

    influence h, items u, inclusion π: (R, C).  Infinite where an item with influence can never be drawn.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error_of_item = np.where(items * influence > 0, influence**2 * (1 / inclusion - 1), 0.0)
    return np.asarray((items * error_of_item).sum(axis=1))


def systematic(open_items: Ints, inclusion: Floats, rng: np.random.Generator) -> Ints:
    """Items drawn of each cell, (R, C): u π rounded up or down, Σ rounded to the nearest whole number.

    open_items (R, C) unlabelled items; inclusion (R, C) their π.  The mean of every count is exactly u π when
    Σ u π is whole.

    Drawing without replacement at given inclusion probabilities, in batches of exactly the size asked for.

    Independent (Poisson, Bernoulli) draws make batches of random size, which may overrun a budget.  A
    systematic draw over cells keeps every inclusion probability and fixes the size:

        count_c = ⌊cum_c + U⌋ - ⌊cum_{c-1} + U⌋,   cum the running sum of u_c π_c,  U uniform on [0, 1)

    Inside a cell the count falls on a simple random sample.  The cells come in random order: in a fixed order
    two neighbours of small probability could never both be drawn, and every other cell could be missed
    together.
    """
    expected = open_items * inclusion
    certain = np.floor(expected + 1e-9)
    order = np.argsort(rng.random(open_items.shape), axis=1)
    fraction = np.take_along_axis(np.maximum(expected - certain, 0.0), order, axis=1)
    reach = np.cumsum(fraction, axis=1)
    reach[:, -1] = np.round(reach[:, -1])                          # rounding must not win or lose an item
    steps = np.floor(np.minimum(reach, reach[:, -1:]) + rng.random(len(open_items))[:, None])
    extra = np.diff(steps, axis=1, prepend=0.0)
    counts = certain
    np.put_along_axis(counts, order, np.take_along_axis(counts, order, axis=1) + extra, axis=1)
    return np.minimum(counts.astype(np.int64), open_items)


def inclusion(open_items: Ints, heads: Floats) -> Floats:
    """π (R, C) of one item; open_items (R, C) unlabelled items, heads (R, C) b of each one's coin.

    Drawing without replacement with a coin for every item: Poisson sampling, which Yilmaz et al. (2021) call
    Bernoulli sampling (section 3).

    The size of a batch is random, with mean Σ b and variance Σ b (1 - b).  `systematic` has the
    same chances and exact sizes.

    A round must ask somebody, so where no coin shows heads all are thrown again.  An item's chance is then

        π = b / (1 - P₀),   P₀ = Π (1 - b) the chance of no head at all

    which is the chance that designs record and estimates use, so nothing is biased.  P₀ is below e^(-Σ b):
    4e-5 for a batch of 10 on average, and 1e-11 for one of 25.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.exp(np.where(open_items > 0, open_items * np.log1p(-heads), 0.0).sum(axis=1, keepdims=True))
        return np.where(heads > 0, np.minimum(heads / (1 - none), 1.0), 0.0)


def coins(open_items: Ints, heads: Floats, rng: np.random.Generator) -> Ints:
    """Items drawn of each cell (R, C), each of the `open_items` (R, C) by its own coin; heads (R, C): b.

    At least one item in each repeat, unless no item has a chance.
    """
    counts = np.asarray(rng.binomial(open_items, heads), dtype=np.int64)
    possible = ((open_items > 0) & (heads > 0)).any(axis=1)
    while True:
        empty_draws = np.flatnonzero(possible & (counts.sum(axis=1) == 0))
        if not len(empty_draws):
            return counts
        counts[empty_draws] = rng.binomial(open_items[empty_draws], heads[empty_draws])


def inclusion_in_draws(q: Floats, draws: int) -> Floats:
    """π (N,) of eq. 81: the chance that an item comes up in so many draws, 1 - (1 - q)^M.

    Draws with and without replacement compared: how many distinct items, and which has the smaller error.

    Yilmaz et al. (2021), appendix C.  M_IS draws with replacement from q touch fewer distinct items than
    M_IS, and only distinct items cost labels.  So they are compared with Bernoulli draws of as many items,
    M_BS.

        q (N,)   chance of each item per draw, Σ q = 1
        h (N,)   |f - F′ g|, how far each item moves the measure; known, as labels do not vary
    """
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(draws * np.log1p(-np.minimum(q, 1.0))))


def distinct_items(q: Floats, draws: int) -> float:
    """M_BS of eq. 82 and 83: the expected number of distinct items, N - Σ (1 - q)^M. q (N,) is each item's
    chance in a draw, M the number of draws."""
    return float(inclusion_in_draws(q, draws).sum())


def importance_error(h: Floats, draws: int) -> float:
    """E_IS μ_y² N² of eq. 79, with the best q: (Σ h)² / M."""
    return float(h.sum()) ** 2 / draws


def bernoulli_error(h: Floats, labels: float) -> float:
    """E_BS μ_y² N² of eq. 26 and 69, with the best b: Σ h² (1/b - 1).

    While no b is 1 this is eq. 80, (Σ h)² / M - Σ h²; beyond it the paper has no formula.
    """
    single_items = np.ones((1, len(h)), np.int64)
    b = waterfill(h[None], single_items, np.array([labels]))
    return float(predicted_error(h[None], single_items, b)[0])


def printed_bound(n_items: int, draws: int) -> float:
    """1 - M_IS/N, which eq. 87 prints as a bound of E_BS/E_IS.  It is none: see `leading_ratio`. N counts the
    items and M_IS the draws, with repetition, of importance sampling."""
    return 1 - draws / n_items


def bound(n_items: int, draws: int, labels: float) -> float:
    """(1/M_BS - 1/N) M_IS of eq. 85, a bound of E_BS/E_IS while no b is 1. N counts the items, M_BS the
    labels and M_IS the draws, of Bernoulli and importance sampling."""
    return (1 / labels - 1 / n_items) * draws


def leading_ratio(q: Floats, draws: int) -> float:
    """E_BS/E_IS of the best designs, for few draws: 1 - M_IS Σ q² / 2.

    Exactly, it is M_IS/M_BS - M_IS Σ q² while no b is 1.  Eq. 86 puts M_BS = M_IS there, which doubles the
    gain; by eq. 83, M_BS = M_IS - M_IS (M_IS - 1) Σ q² / 2 + ...
    """
    return 1 - draws * float((q**2).sum()) / 2
