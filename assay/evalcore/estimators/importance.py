"""Importance-weighted estimation from draws with replacement: adaptive or not, and of one weighted sample.

Marchant & Rubinstein (2021), section 3.  Draw j fell on an item (f_j, y_j) with probability q_j under the
proposal in force, and its importance weight is w_j = 1 / (N q_j).  a_j is what the draw counts in the
combination of rounds: 1, or what the combination rule gives each draw of its round.  The code calls it `say`.

    importance-weighted   R̂ = Σ a w ℓ / Σ a           self-normalised   R̂ = Σ a w ℓ / Σ a w
    Ĝ = g(R̂)
    Var(Ĝ) ≈ Σ a² (w J ℓ - J R̂)² / (Σ a)²             or   Σ a² w² (J ℓ - J R̂)² / (Σ a w)²,   J at R̂

For a ratio g(R) = R₀/R₁ the two estimates are the same, and J R̂ = 0 makes the variances the same as well.
The variance uses the q each draw was really made with.  Marchant & Rubinstein's formula puts the last q_N
in the place of one of the two, for the q_∞ that the proposals approach (section 3.3.2, with N draws):

    Var(Ĝ) ≈ ( Σ w (J ℓ)² / (M q_N) / N - (J R̂)² ) / N,   M the items of the pool

As long as the proposal still moves, that is not the variance of the draws made; it is there as `last`, for
whoever wants the interval as printed.
ℓ depends on (f, y) only, so sums by (f, y) are all that has to be kept.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators import intervals
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Floats, Ints

IntervalKind: TypeAlias = Literal["normal", "student", "beta"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightSums:
    """Sufficient statistics of the draws so far, by prediction and label: sums of the importance weights w
    and of their squares, each with the factor a that a draw counts in the combination of rounds."""

    weight: Floats     # (R, 2, 2) Σ a w
    squared: Floats    # (R, 2, 2) Σ a² w²
    crossed: Floats    # (R, 2, 2) Σ a² w
    say: Floats        # (R,) Σ a
    say_squared: Floats  # (R,) Σ a²
    draws: Ints        # (R,) draws that gave a label

    @staticmethod
    def none(repeats: int) -> "WeightSums":
        """The sums before the first draw, all zero."""
        zeros, nought = np.zeros((repeats, 2, 2)), np.zeros(repeats)
        return WeightSums(
            weight=zeros,
            squared=zeros,
            crossed=zeros,
            say=nought,
            say_squared=nought,
            draws=np.zeros(repeats, np.int64),
        )

    def add(
        self, cells: Cells, design: CountedDesign, labels: RoundLabels, say: Floats | None = None
    ) -> "WeightSums":
        """The sums with the draws of one more round, weighted by the probabilities of its design.

        say (R,): a of each draw of this round, 1 if not given.  A census is no sample: its items were certain
        to be asked, so it adds nothing here.
        """
        sampled = ~design.census[:, None, None]
        with np.errstate(divide="ignore"):
            w_new = np.where(design.unlabelled > 0, 1 / (cells.n_items * design.unlabelled), 0.0)[..., None]
            w_known = np.where(design.labelled > 0, 1 / (cells.n_items * design.labelled), 0.0)
        drawn_new, drawn_known = labels.drawn_new * sampled, labels.drawn_known * sampled
        # weighed by the label the plan saw, counted under the label of now
        known_draws = labels.known_by_seen() * sampled[..., None]
        known_weight, known_squared = (
            np.einsum("rcs,rcsy->rcy", w_known**power, known_draws) for power in (1, 2)
        )
        weight_sum = _by_prediction(cells, drawn_new * w_new + known_weight)
        square_sum = _by_prediction(cells, drawn_new * w_new**2 + known_squared)
        n = draws_of(design, labels)
        a = np.ones(len(n)) if say is None else say
        say_of_round = a[:, None, None]
        return WeightSums(
            weight=self.weight + say_of_round * weight_sum,
            squared=self.squared + say_of_round**2 * square_sum,
            crossed=self.crossed + say_of_round**2 * weight_sum,
            say=self.say + a * n,
            say_squared=self.say_squared + a**2 * n,
            # in whole draws: a draw with several answers is counted in parts
            draws=self.draws + np.rint((drawn_new + drawn_known).sum(axis=(1, 2))).astype(np.int64),
        )


def draws_of(design: CountedDesign, labels: RoundLabels) -> Ints:
    """The number of draws (R,) of a round; 0 for a census, which leaves nothing to chance.

    Draws of items that people could not decide count, with a loss of 0: without them the mean loss would be
    too large.
    """
    n = (labels.drawn_new + labels.drawn_known).sum(axis=(1, 2)) + labels.undecided
    return np.asarray(np.where(design.census, 0, n))


def _by_prediction(cells: Cells, by_cell: Floats) -> Floats:
    return np.stack([by_cell[:, cells.prediction == f].sum(axis=1) for f in (0, 1)], axis=1)


def weight_of_draws(cells: Cells, design: CountedDesign, labels: RoundLabels) -> Floats:
    """Σ w (R, C, 2) of the round's draws by cell and label of now; a census is no sample. R counts repeats
    and C cells; w is 1/(N q), the chance of the item under the pool over that of the draw."""
    with np.errstate(divide="ignore"):
        new = np.where(design.unlabelled > 0, 1 / (cells.n_items * design.unlabelled), 0.0)[..., None]
        known_weight = np.where(design.labelled > 0, 1 / (cells.n_items * design.labelled), 0.0)
    weighted = labels.drawn_new * new + np.einsum("rcs,rcsy->rcy", known_weight, labels.known_by_seen())
    return np.asarray(weighted * ~design.census[:, None, None])


def by_last_proposal(cells: Cells, weight: Floats, last_design: CountedDesign) -> Floats:
    """Σ w / (M q_N) (R, 2, 2) by prediction and label, from the Σ w (R, C, 2) of all draws; last_design: q_N.

    Infinite where q_N is 0 for an item that was drawn.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        weight_by_last = np.where(weight > 0, weight / (cells.n_items * last_design.labelled), 0.0)
    return _by_prediction(cells, weight_by_last)


def risk_of_draws(measure: Measure, sums: WeightSums, *, self_normalised: bool = False) -> Floats:
    """R̂ (R, d); before the first draw NaN if self-normalised, else 0."""
    total = sums.weight.sum(axis=(1, 2)) if self_normalised else sums.say
    with np.errstate(divide="ignore", invalid="ignore"):
        risk = np.einsum("rfy,fyd->rd", sums.weight, measure.loss) / total[:, None]
    return np.where(sums.draws[:, None] > 0, risk, np.nan if self_normalised else 0.0)


def estimate_of_draws(
    measure: Measure,
    sums: WeightSums,
    confidence: float,
    *,
    self_normalised: bool = False,
    interval: IntervalKind = "normal",
    weight_by_last: Floats | None = None,
    epsilon: float = 0.0,
) -> EstimateArrays:
    """The estimate of a measure with an interval of the kind asked for, cut to the measure's range.

    weight_by_last (R, 2, 2): what `by_last_proposal` gives, for the variance as printed by Marchant &
    Rubinstein, of the importance-weighted estimate with draws that count alike; None for that of the draws
    made.

    Fewer than two draws, or draws that are all alike, do not tell the variance: then the interval is the
    measure's whole range.  epsilon: ε, added to every h² of eq. 15 of Yilmaz et al. (2021), their footnote 3:
    the variance rises by ε Σ w² / (Σ w g)², and is known of draws that are all alike too.

    `diagnostics`: the number of draws, and the effective sample size (Σw)² / Σw².
    """
    risk = risk_of_draws(measure, sums, self_normalised=self_normalised)
    value = np.where(sums.draws > 0, measure.value(risk), np.nan)
    influence = measure.influence(risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        if weight_by_last is None:
            mean_square, centre, total = influence_moments(measure, sums, risk, influence, self_normalised)
        else:
            mean_square, centre, total = _moments_by_last(measure, sums, risk, influence, weight_by_last)
        variance = np.maximum(mean_square - centre, 0.0) / total**2
        # a variance of 0 is not exactly 0 after rounding, least of all where the terms of J·ℓ cancel (a
        # recall of which no miss was drawn): it is compared with the size of the terms before they cancel
        terms = np.einsum("rd,fyd->rfy", np.abs(measure.gradient(risk)), np.abs(measure.loss))
        scale = (sums.squared * terms**2).sum(axis=(1, 2)) / total**2
        if epsilon:
            below = (sums.weight * denominator(measure)).sum(axis=(1, 2))
            variance = variance + epsilon * sums.squared.sum(axis=(1, 2)) / below**2
        has_variance = (
            (sums.draws >= 2) & ((variance > 1e-12 * scale) | (epsilon > 0)) & np.isfinite(variance)
        )
        effective = sums.weight.sum(axis=(1, 2)) ** 2 / sums.squared.sum(axis=(1, 2))
    value = np.clip(value, *measure.bounds)
    match interval:
        case "normal":
            ends = intervals.normal(value, variance, has_variance, confidence, measure.bounds)
        case "student":
            ends = intervals.student(value, variance, has_variance, confidence, measure.bounds, sums.draws)
        case "beta":
            ends = intervals.beta_fit(value, variance, has_variance, confidence, measure.bounds)
    return EstimateArrays(
        value=value,
        lower=ends.lower,
        upper=ends.upper,
        variance=np.where(has_variance, variance, 0.0),
        diagnostics={"draws": sums.draws, "effective_draws": np.nan_to_num(effective)},
    )


def _moments_by_last(
    measure: Measure, sums: WeightSums, risk: Floats, influence: Floats, weight_by_last: Floats
) -> tuple[Floats, Floats, Floats]:
    """The parts of the variance as printed, as `influence_moments` has them; 0 · ∞ counts as 0."""
    pull = (measure.gradient(risk) * risk).sum(axis=-1)
    terms = np.where(influence != 0, weight_by_last * influence**2, 0.0)
    return terms.sum(axis=(1, 2)), sums.say * pull**2, sums.say


def influence_moments(
    measure: Measure, sums: WeightSums, risk: Floats, influence: Floats, self_normalised: bool
) -> tuple[Floats, Floats, Floats]:
    """The parts of Var(Ĝ) = (second - centre) / total², each (R,).

    second = Σ a² w² φ²; centre: what subtracting J·R̂ from every term takes off it; total: Σ a or Σ a w.
    φ = J ℓ for the importance-weighted estimate and J (ℓ - R̂) for the self-normalised one, whose centre is 0.
    risk (R, d): R̂; influence (R, 2, 2): J ℓ by [prediction, label].
    """
    pull = (measure.gradient(risk) * risk).sum(axis=-1)                        # J·R̂ (R,)
    if self_normalised:
        centred = influence - pull[:, None, None]
        mean_square = (sums.squared * centred**2).sum(axis=(1, 2))
        return mean_square, np.zeros_like(mean_square), sums.weight.sum(axis=(1, 2))
    mean_square = (sums.squared * influence**2).sum(axis=(1, 2))
    centre = 2 * pull * (sums.crossed * influence).sum(axis=(1, 2)) - pull**2 * sums.say_squared
    return mean_square, centre, sums.say


def denominator(measure: Measure) -> Floats:
    """v (2, 2), indexed [prediction, label]: the measure is a ratio of means with v below, or v is 1.

    The estimate of Poms et al. (2021) from one weighted sample, and the variance that the sample itself
    tells.

      w_j   p(x_j) / q(x_j), the importance weight of draw j;  v   the item's part of the measure's
            denominator:
            α ŷ + (1 - α) y of F_α, and 1 of a measure that is no ratio of means
      Ĝ     Σ w v ℓ / Σ w v                                                                       (eq. 2)
      Var   C⁻¹ Σ (w v)² (ℓ - Ĝ)² / (Σ w v)²,    C = 1 - Σ (w v)² / (Σ w v)²                     (eq. 6)

    Equation 6 prints n times this variance, that of √n Ĝ.  C is Bessel's correction: (n - 1)/n where all w v
    are equal.  All sums go over items by prediction and label, so sums of w and w² by [ŷ, y] are all that is
    needed. Measures other than F_α use g(R̂), R̂ = Σ w ℓ / Σ w, and the influence J·(ℓ - R̂) in place of v (ℓ
    - Ĝ); for F_α that is the same number.
    """
    at_0, at_1 = measure.margin(0.0), measure.margin(1.0)
    if at_0 is None or at_1 is None:
        return np.ones((2, 2))
    return np.asarray(at_0[0] - at_1[0] + at_0[1] - at_1[1])


def single_trial(measure: Measure, weight: Floats, squared: Floats) -> tuple[Floats, Floats]:
    """Ĝ (R,) and its variance (R,), from the sums of w and of w² (R, 2, 2) by [prediction, label].

    Both are NaN where the sample leaves the measure undefined, the variance also where a single draw carries
    all weight.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = measure.of_confusion(weight)
        total = weight.sum(axis=(1, 2))
        risk = np.einsum("rfy,fyd->rd", weight, measure.loss) / total[:, None]
        centre = (measure.gradient(risk) * risk).sum(axis=-1)
        influence = measure.influence(risk) - centre[:, None, None]
        v = denominator(measure)
        correction = 1 - (squared * v**2).sum(axis=(1, 2)) / (weight * v).sum(axis=(1, 2)) ** 2
        variance = (squared * influence**2).sum(axis=(1, 2)) / total**2 / correction
    return value, np.where(correction > 1e-12, variance, np.nan)


CombinationRule: TypeAlias = Literal["plain", "square-root", "inverse-variance", "equal"]


def round_weight(
    rule: CombinationRule, round: int, size: Ints | Floats, predicted_variance: Floats
) -> Floats:
    """The weight (R,) of a round in the combination of all rounds; 0 for a round without draws.

    round: its number, from 1; size (R,): its draws, or as many as were expected where chance decides;
    predicted_variance (R,): of the round's estimate, from what was known before its labels.

    How the rounds of an adaptive method weigh against each other.

    Round t gives an estimate that is unbiased given everything before it, so any weights fixed before its
    labels are seen keep the combination unbiased.  With n_t draws in round t and V_t the variance that the
    design predicts for its estimate:

        plain              weight n_t: every draw counts alike
        square-root        weight √t: near the best for variances falling like any power of t (Owen & Zhou
                           2019)
        inverse-variance   weight 1 / V_t: best where the label model is right, and poor where it is wrong
        equal              weight 1: Yilmaz et al. (2021), eq. 128
    """
    match rule:
        case "plain":
            return size.astype(np.float64)
        case "square-root":
            return np.where(size > 0, np.sqrt(round), 0.0)
        case "inverse-variance":
            # a model that is sure of everything predicts a variance of 0; its round gets no infinite weight
            floor = np.maximum(predicted_variance, 1e-12)
            return np.where(size > 0, 1 / floor, 0.0)
        case "equal":
            return np.where(size > 0, 1.0, 0.0)
