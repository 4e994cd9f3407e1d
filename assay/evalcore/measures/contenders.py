"""Items that are one system's answer, or a comparison of the answers of two: a measure of each system.

Where every row of a pool is an answer of one system, a measure of the system is that of its rows alone, and
where a row compares two, the system's win rate against the field is that of the rows that it is in, seen from
its side.  Both are ratios of two means over the pool,

    R_k = mean of 1[the row is of k] ℓ(x, y)        over        the known share of rows that are of k,

so every method, interval, desk and replay takes them as it takes the measures of systems that predict.

    K      systems
    code   (n, 1) of `Items.contender`: a, or a + SIDE (b + 1) where a stands first and b second
"""

from dataclasses import dataclass, field, replace

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import Loss, OutcomeMeasure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items, Places
from assay.evalcore.types import Bools, Floats, Ints

SIDE = 64   # more than there may be systems


def code_of(first_system: Ints, second_system: Ints | None = None) -> Floats:
    """(n,) codes of rows of these systems, each by its number."""
    beside = 0 if second_system is None else SIDE * (second_system.astype(np.int64) + 1)
    return np.asarray(first_system.astype(np.int64) + beside, np.float64)


def sides_of(items: Items) -> tuple[Ints, Ints]:
    """(n,) each the number of the first system, and of the second; -1 where there is none.

    Raises BadInput for items that do not say whose they are.
    """
    if items.contender is None:
        raise BadInput("these items do not say which system each is of")
    code = items.contender[:, 0].astype(np.int64)
    return code % SIDE, code // SIDE - 1


def present_in(items: Items, systems: int) -> Bools:
    """Whether each row is of each system, (n, K) for n rows and K systems: a row that compares two systems
    is of both. Raises BadInput for rows that do not say whose they are."""
    first_system, second_system = sides_of(items)
    every = np.arange(systems)
    return np.asarray((first_system[:, None] == every) | (second_system[:, None] == every))


@dataclass(frozen=True, slots=True, eq=False)
class ByContender(Places):
    """By the systems that a row is of, and by spread."""

    def group(self, items: Items) -> Ints:
        """The number of the group of each row, (n,): one for each system, and one for each pair of systems.
        A pair has the same number whichever of the two stands first."""
        first_system, second_system = sides_of(items)
        low, high = np.minimum(first_system, second_system), np.maximum(first_system, second_system)
        return np.where(second_system < 0, first_system, low * SIDE + high)


@dataclass(frozen=True, slots=True)
class OfContender(Loss):
    """A loss of the rows of one system, seen from its side; 0 of all others.  Whose they are is known."""

    number: int = field(kw_only=True)
    inner: Loss = field(kw_only=True)

    along_score = False

    @property
    def size(self) -> int:
        """The length d of the loss vector, as of the inner loss."""
        return self.inner.size

    def _sides(self, items: Items) -> tuple[Floats, Floats]:
        """(n, 1) each, whether the system stands first, and whether it stands second."""
        first_system, second_system = sides_of(items)
        return (np.asarray(first_system == self.number, np.float64)[:, None],
                np.asarray(second_system == self.number, np.float64)[:, None])

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """Losses of n rows, (n, d): the inner loss where the system stands first, the inner loss of the
        mirrored outcome where it stands second, and 0 for rows of other systems."""
        stands_first, stands_second = self._sides(items)
        loss = stands_first * self.inner.item_losses(items, phi)
        if stands_second.any():
            loss = loss + stands_second * self.inner.item_losses(items, _mirrored(phi))
        return np.asarray(loss)

    def pull(self, items: Items, slope: Floats) -> Floats | None:
        """(n, P) of the loss itself, seen from the system's side."""
        inner_pull = self.inner.pull(items, slope)
        if inner_pull is None:
            return None
        stands_first, stands_second = self._sides(items)
        return np.asarray(
            stands_first * inner_pull + stands_second * _mirrored(inner_pull)
            if stands_second.any()
            else stands_first * inner_pull
        )

    def spread(self, items: Items, phi: Floats, slope: Floats) -> Floats:
        """A guess at the variance of slope·ℓ for each of n rows, (n,): that of the inner loss for rows of
        this system, and 0 for the rows of others."""
        stands_first, stands_second = self._sides(items)
        return np.asarray((stands_first + stands_second)[:, 0] * self.inner.spread(items, phi, slope))

    def known(self, items: Items) -> Floats:
        """(n, d_k + 1) the known part of the loss, then whether the row is of the system. Rows of other
        systems have zeros, so that means are over the system's rows."""
        stands_first, stands_second = self._sides(items)
        of_system = stands_first + stands_second
        return np.concatenate([of_system * self.inner.known(items), of_system], axis=1)

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """Of an item of a cell with the system's rows: `Stack.largest_pull` knows which these are. (C,) for C
        cells, the largest that slope·ℓ can be."""
        return np.asarray(self.inner.most(support, slope, known_slope[:-1]))

    def needs(self, items: Items) -> None:
        """Raises BadInput where the rows lack a column that the inner loss needs, or do not say which system
        they are of. Nothing comes back where all is there."""
        sides_of(items)
        self.inner.needs(items)


def _mirrored(phi: Floats) -> Floats:
    """φ (n, 2 or 3) of a comparison, the two answers changed over."""
    order = [1, 0, *range(2, phi.shape[1])]
    return phi[:, order]


def of_contender(measure: OutcomeMeasure, number: int) -> OutcomeMeasure:
    """The measure of one system's rows.  Raises BadInput where there is none."""
    if len(measure.losses) != 1 or measure.slack is not None or measure.difference_from_known is not None:
        raise BadInput(f"there is no {measure.full_name} of one system's rows: it is no function of one mean "
                       "loss of each row; ask for mean, accuracy or win_rate")
    [inner] = measure.losses
    d = inner.size

    def own(risk: Floats) -> tuple[Floats, Floats]:
        share = risk[..., -1:]
        has_rows = share > 0
        return np.where(has_rows, risk[..., :-1] / np.where(has_rows, share, 1.0), np.nan), share

    def value(risk: Floats) -> Floats:
        return measure.value(own(risk)[0])

    def gradient(risk: Floats) -> Floats:
        inside, share = own(risk)
        return np.asarray(measure.gradient(inside)[..., :d] / np.where(share > 0, share, np.nan)[..., None])

    return replace(
        measure, losses=(OfContender(inner.kind, 0, number=number, inner=inner),), value=value,
        gradient=gradient,
        system=number, prefers=measure.prefers or measure.system is None, margin=None, smooth=False,
        alone=None,
    )


_STRENGTH_STEPS = 500   # towards the strengths of the contenders


def bradley_terry(items: Items, kind: OutcomeKind, label: Floats, weight: Floats) -> list[float]:
    """The log strength of each system, with a mean of 0, from comparisons of these labels (n,); weight (n,):
    rows that each stands for; none of labels that are no preferences.

    How strong each system is, in one number: a summary beside the win rates, never instead of them.

    Bradley & Terry (1952): the chance that i beats j is a_i/(a_i + a_j).  Ties count half to both.  The
    strengths maximise the likelihood of weighted comparisons, by the steps of Hunter (2004); every system
    has, besides, a win and a loss of half a comparison against a system of average strength, so that one that
    never won has a strength too.  Real comparisons need not follow such a model: where A beats B, B beats C
    and C beats A, no strengths say so, and the win rates do.
    """
    if kind.grades is None or items.contender is None:
        return []
    worth = np.array(kind.grades)[label.astype(np.int64)]
    systems = int(np.max(sides_of(items))) + 1
    first_system, second_system = sides_of(items)
    weight = weight * len(weight) / weight.sum()
    met: Floats = np.zeros((systems, systems))
    np.add.at(met, (first_system, second_system), weight)
    met = met + met.T
    won = np.bincount(first_system, weight * worth, systems) + np.bincount(
        second_system, weight * (1 - worth), systems
    )
    strength: Floats = np.ones(systems)
    for _ in range(_STRENGTH_STEPS):
        against = (met / (strength[:, None] + strength)).sum(axis=1) + 1 / (strength + 1)
        strength = (won + 0.5) / against
        strength = strength / np.exp(np.log(strength).mean())
    log_strength: list[float] = np.log(strength).tolist()
    return log_strength
