"""Which items to draw: those that move the measure, by a label model or by the supplied probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.draws import LEAST_NEW_MASS, MAX_DRAWS_PER_ITEM
from assay.evalcore.design.round import CountedDesign
from assay.evalcore.measures.two_classes import Measure, served
from assay.evalcore.pool.strata import Cells, OrderedScores, csf_edges, relevant_cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledCells:
    """The cells of a pool, what is labelled of them, and the measures that are asked for.

    The proposal that minimises the asymptotic variance of the importance-weighted estimate.

    Marchant & Rubinstein (2021), Proposition 2.  With φ(x, y) = ‖J(R) ℓ(x, y)‖ the influence of an item on
    the measures, the q of least total variance (the trace of the covariance of their estimates) is

        deterministic oracle    q(x) ∝ Σ_y p(y|x) max(φ(x, y), ε_t 1[ℓ(x, y) ≠ 0])
        stochastic oracle       q(x) ∝ √ Σ_y p(y|x) max(φ(x, y)², ε_t 1[ℓ(x, y) ≠ 0])

    J at the risk the label model expects.  The norm is Euclidean: φ² is the sum of the squared influences on
    all measures that drive the sampling, each in units of its target.  The measures of two classes share one
    target: their squares are added as they are, and their order makes no difference.  The label of a labelled
    item is known, so its p is a point mass.  The threshold ε_t keeps the support right: an item with a loss
    is never ruled out.
    """

    measures: Sequence[Measure]
    cells: Cells
    labelled: Ints       # (R, C, 2) items by label
    left: Ints           # (R, C) unlabelled items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RelativeProposal:
    """The relative probability of every item, which need not sum to one, and what it rests on."""

    unknown: Floats        # (R, C) of each unlabelled item
    known: Floats          # (R, C, 2) of each item labelled y
    positive_rate: Floats  # (R, C) of the unlabelled items, by the label model
    gradient: Floats       # (R, C) the influence of a label 1 instead of 0 on what drives the sampling


# shares spread evenly that are tried in turn, until the draws find enough new items
EVEN_MIXES = (0.0, 0.01, 0.1, 0.5, 1.0)


def expected_risk(
    measure: Measure, cells: Cells, labelled: Ints, open_items: Ints, positive_rate: Floats
) -> Floats:
    """The risk R (R, d) that a label model expects.

    labelled (R, C, 2): items by cell and label; open_items (R, C): unlabelled items, positive at
    positive_rate (R, C).
    """
    counts = labelled + open_items[:, :, None] * np.stack([1 - positive_rate, positive_rate], axis=-1)
    return np.asarray(np.einsum("rcy,cyd->rd", counts, measure.loss[cells.prediction]) / cells.n_items)


def pull(measure: Measure, risk: Floats) -> Floats:
    """J(R)·ℓ (R, 2, 2) at risk R (R, d); 1 for every item with a loss where the measure is undefined at R.
    The first axis counts R repeats, and the last two are prediction and label."""
    influence = measure.influence(risk)
    return np.where(np.isfinite(influence), influence, measure.touched())


def total_pull(
    measures: Sequence[Measure], cells: Cells, labelled: Ints, open_items: Ints, positive_rate: Floats
) -> tuple[Floats, Floats]:
    """φ (R, C, 2) of an item of each cell by label, and what a label 1 instead of 0 changes, g (R, C).

    Of the measures that drive the sampling (`served`), at the risk of `expected_risk`, whose arguments these
    are.  Of several measures both are roots of sums of squares; of one measure g has its sign.
    """
    rows = [
        pull(m, expected_risk(m, cells, labelled, open_items, positive_rate))[:, cells.prediction]
        for m in served(measures)
    ]
    slopes = [row[..., 1] - row[..., 0] for row in rows]
    if len(rows) == 1:
        return np.abs(rows[0]), slopes[0]
    return _root_of_squares(rows), _root_of_squares(slopes)


def _root_of_squares(rows: Sequence[Floats]) -> Floats:
    return np.asarray(np.sqrt(sum(row**2 for row in rows)))


def touched_cells(measures: Sequence[Measure], cells: Cells) -> Floats:
    """1[ℓ ≠ 0] (C, 2) of an item of each cell by label, ℓ the losses of all measures that drive. C counts
    cells; it is 1 where the loss of at least one of them is not 0."""
    touched = np.max([m.touched() for m in served(measures)], axis=0)
    return np.asarray(touched[cells.prediction])


def variance_minimising(
    so_far: LabelledCells,
    positive_rate: Floats,
    *,
    size: Ints,
    epsilon: Floats,
    deterministic: bool = True,
    mixing: float = 0.0,
    reuse: float = 0.0,
) -> CountedDesign:
    """The design of a round drawn with replacement, for the measures that drive the sampling.

    positive_rate (R, C): of the unlabelled items, by the label model; size (R,): new items wanted; epsilon
    (R,): ε_t; mixing: the share of the proposal spread evenly over the items whose label changes any of the
    measures, so that one label set serves them all; reuse: δ, the share spread evenly over the whole pool, so
    that it serves measures asked for later.

    Two rules bound the number of draws of a round, and act only when little is left to label: unlabelled
    items keep at least LEAST_NEW_MASS of the proposal, and as much of their mass is spread evenly as it takes
    to reach `size` of them in MAX_DRAWS_PER_ITEM · size draws.  Neither biases, since draws are weighted by
    the q in force.
    """
    measures, cells = so_far.measures, so_far.cells
    phi, slope = total_pull(measures, cells, so_far.labelled, so_far.left, positive_rate)
    threshold = epsilon[:, None, None] * touched_cells(measures, cells)
    p = np.stack([1 - positive_rate, positive_rate], axis=-1)
    if deterministic:
        unknown, labelled_share = expected_reach(p, phi, threshold)
    else:
        unknown, labelled_share = map(np.sqrt, expected_reach(p, phi**2, threshold))
    proposal = RelativeProposal(
        unknown=unknown, known=labelled_share, positive_rate=positive_rate, gradient=slope
    )
    return replacement_design(so_far, proposal, size, mixing=mixing, reuse=reuse)


def expected_reach(p: Floats, pull: Floats, threshold: Floats) -> tuple[Floats, Floats]:
    """What Proposition 2 takes of an item of each cell: Σ_y p(y|x) max(pull, threshold), (R, C), and the
    maximum for each of its K labels, (R, C, K).  All of them (R, C, K); pull: φ, or φ² of which roots are
    drawn."""
    reached = np.maximum(pull, threshold)
    return np.asarray((p * reached).sum(axis=-1)), reached


def replacement_design(
    so_far: LabelledCells, proposal: RelativeProposal, size: Ints, *, mixing: float = 0.0, reuse: float = 0.0
) -> CountedDesign:
    """The design of a round drawn with replacement, from the relative probability of every item.

    size, mixing, reuse, and the rules that bound a round, are those of `variance_minimising`; reuse is mixed
    in after mixing.
    """
    cells, labelled, open_items = so_far.cells, so_far.labelled, so_far.left
    unknown, labelled_share = proposal.unknown, proposal.known
    total = (open_items * unknown).sum(axis=1) + (labelled * labelled_share).sum(axis=(1, 2))
    total = np.where(total > 0, total, 1.0)
    unknown, labelled_share = unknown / total[:, None], labelled_share / total[:, None, None]

    relevant = relevant_cells(so_far.measures, cells)
    eligible = open_items * relevant
    if mixing > 0:
        even = 1 / max((cells.size * relevant).sum(), 1)
        unknown = (1 - mixing) * unknown + mixing * even * relevant
        labelled_share = (1 - mixing) * labelled_share + mixing * even * relevant[None, :, None]
    if reuse > 0:
        unknown = (1 - reuse) * unknown + reuse / cells.n_items
        labelled_share = (1 - reuse) * labelled_share + reuse / cells.n_items
    unknown, labelled_share = keep_rounds_finite(
        unknown, labelled_share, open_items, labelled, eligible, size
    )
    return CountedDesign(
        replacement=True,
        size=np.broadcast_to(cells.size, open_items.shape),
        left=open_items,
        unlabelled=unknown,
        labelled=labelled_share,
        model=proposal.positive_rate,
        gradient=proposal.gradient,
        census=eligible.sum(axis=1) <= size,
    )


def predicted_draw_variance(measure: Measure, cells: Cells, labelled: Ints, design: CountedDesign) -> Floats:
    """Variance (R,) of J·(w ℓ) over one draw of this design, as the label model predicts it.

    labelled (R, C, 2): items labelled before the round.  Theorem 2 of Marchant & Rubinstein (2021) with the
    model's p(y|x) in place of the truth.
    """
    risk = expected_risk(measure, cells, labelled, design.left, design.model)
    phi = pull(measure, risk)[:, cells.prediction]                              # (R, C, 2)
    centre = np.nan_to_num((measure.gradient(risk) * risk).sum(axis=-1))
    p = np.stack([1 - design.model, design.model], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        unknown = np.where(design.unlabelled > 0, (p * phi**2).sum(axis=-1) / design.unlabelled, 0.0)
        known_square = np.where(design.labelled > 0, phi**2 / design.labelled, 0.0)
    mean_square = (design.left * unknown).sum(axis=1) + (labelled * known_square).sum(axis=(1, 2))
    return np.asarray(np.maximum(mean_square / cells.n_items**2 - centre**2, 0.0))


def keep_rounds_finite(
    unknown: Floats, labelled_share: Floats, open_items: Ints, labelled: Ints, eligible: Ints, size: Ints
) -> tuple[Floats, Floats]:
    """The q (R, C) of an unlabelled item and that of labelled ones, by the rules of `variance_minimising`.

    labelled_share, labelled: (R, C, K) by cell and label, or (R, n, 1) item by item; open_items, eligible (R,
    C): unlabelled items, and those of them whose label can change a measure; size (R,): new items to be
    found.
    """
    n_wanted = eligible.sum(axis=1)
    even = np.where(eligible > 0, 1 / np.maximum(n_wanted, 1)[:, None], 0.0)      # (R, C) each item
    new_mass = (open_items * unknown).sum(axis=1)
    share = np.divide(unknown, new_mass[:, None], out=even.copy(), where=new_mass[:, None] > 0)
    draws = (MAX_DRAWS_PER_ITEM // 2) * size[:, None]
    chosen = share
    enough = np.zeros(len(share), np.bool_)
    for mix in EVEN_MIXES:
        mixed = (1 - mix) * share + mix * even
        with np.errstate(divide="ignore"):
            reached = -np.expm1(draws * np.log1p(-np.minimum(mixed, 1.0)))      # 1 - (1 - q)^draws
        enough_now = (open_items * reached).sum(axis=1) >= np.minimum(size, n_wanted) * 0.999
        chosen = np.where(enough[:, None], chosen, mixed)
        enough |= enough_now
        if enough.all():
            break
    mass = np.where(n_wanted > 0, np.maximum(new_mass, LEAST_NEW_MASS), 0.0)
    known_mass = (labelled * labelled_share).sum(axis=(1, 2))
    scale = np.divide(1 - mass, known_mass, out=np.zeros_like(mass), where=known_mass > 0)
    mass = np.where(known_mass > 0, mass, 1.0)                # nothing labelled pulls: every draw is new
    return chosen * mass[:, None], labelled_share * scale[:, None, None]


FINE_STRATA = 512   # p hardly varies inside one


def fine_edges(scores: OrderedScores) -> tuple[Floats, int]:
    """Edges and number of FINE_STRATA strata of equal √frequency, for methods that need p item by item.

    Designs from the supplied probabilities alone.

    Methods without a label model take the mean supplied probability p_c of each cell for the truth, and never
    change it.  Their cells are fine, so that p hardly varies inside one.

        p (C,)   p(y = 1 | cell),  softened: λ p + (1 - λ)/2  (Yilmaz et al. 2021, section 2: against
                 probabilities that are over-confident)
        R (d,)   the risk expected under p;  φ(f, y) = J(R)·(ℓ(f, y) - R)
        h (C,)   √ Σ_y p(y|c) φ²     the root mean squared influence of an item of the cell
    """
    return csf_edges(scores, FINE_STRATA, n_bins=4 * FINE_STRATA), FINE_STRATA


def softened(cells: Cells, trust: float) -> Floats:
    """λ p + (1 - λ)/2 of each cell, (C,); `trust` is λ.

    Kept off 0 and 1 by 1e-9: a supplied probability of exactly 0 would rule a label out for good.
    """
    return np.asarray(np.clip(trust * cells.mean_probability + (1 - trust) / 2, 1e-9, 1 - 1e-9))


def prior_risk(measure: Measure, cells: Cells, positive_rate: Floats) -> Floats:
    """R (d,) if the items of each cell were positive at positive_rate (C,)."""
    by_label = cells.size[:, None] * np.stack([1 - positive_rate, positive_rate], axis=-1)
    return np.asarray(np.einsum("cy,cyd->d", by_label, measure.loss[cells.prediction]) / cells.n_items)


def centred_pull(measure: Measure, risk: Floats) -> Floats:
    """φ (..., 2, 2) = J(R)·(ℓ - R) at risk R (..., d), by [prediction, label].

    Where the measure is undefined at R, φ is 1 for every item with a loss.  For ratios g(R) = R₀/R₁, J·R is 0
    and φ is J·ℓ.  For any measure φ is the influence of an item on the self-normalised estimate:
    (f - R g)/G of Yilmaz et al. (2021), w (ℓ - G) of Sawade et al. (2010), up to a constant.
    """
    influence = measure.influence(risk)
    centre = (measure.gradient(risk) * risk).sum(axis=-1)
    phi = influence - centre[..., None, None]
    return np.where(np.isfinite(phi), phi, measure.touched())


def root_mean_square(pull: Floats, cells: Cells, positive_rate: Floats) -> Floats:
    """h (..., C) of pull φ (..., 2, 2), the labels of a cell being positive at positive_rate (..., C). φ is
    indexed by prediction and label, C counts cells, and leading axes are kept."""
    squared = pull[..., cells.prediction, :] ** 2
    p = np.stack([1 - positive_rate, positive_rate], axis=-1)
    return np.asarray(np.sqrt((p * squared).sum(axis=-1)))
