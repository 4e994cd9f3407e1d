"""Measures that users define in Python: a loss, and a function of its mean over the pool.

    from assay.evalcore.measures.user_defined import user_measure

    def cost(items, outcome):                       # 5 for a missed fraud, 1 for a false alarm
        said = items.prediction[:, 0]
        return 5.0 * ((outcome == 1) & (said == 0)) + 1.0 * ((outcome == 0) & (said == 1))

    measure = user_measure("cost", kind, loss=cost, value=lambda risk: risk[0], bounds=(0, 5))

It goes wherever an `OutcomeMeasure` goes: into a `Stack`, for an evaluation or a replay.  A spec names the
function that makes it by where it is (`assay.tasks.spec.user_measures`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import Loss, OutcomeMeasure, numerical_gradient
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

UserLoss: TypeAlias = Callable[[Items, Floats], ArrayLike]   # (n,) or (n, d) of items and their outcomes (n,)
UserValue: TypeAlias = Callable[[Floats], ArrayLike]         # a number, or q of them, of R (d,)


@dataclass(frozen=True, slots=True)
class OfUser(Loss):
    """A loss that a user wrote.

    What it is expected to be follows from the outcome's kind: of classes, the mean over the classes; of
    numbers and tags, the loss of the guessed outcome.  A guess that is wrong costs labels and nothing else.
    """

    function: UserLoss = lambda items, outcome: outcome
    length: int = 1

    @property
    def size(self) -> int:
        """The length d of the loss vector, as the user declared it."""
        return self.length

    def table(self, items: Items) -> Floats:
        """(n, K, d) the loss of each item if its outcome were each class. n counts items, K classes and d the
        numbers that the function gives."""
        return np.stack([
            self._of(items, np.full(len(items), float(k))) for k in range(self.kind.width)
        ], axis=1)

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """The loss of each item, (n, d): of classes the mean of the user's loss over the classes, weighted
        by φ; of other outcomes the user's loss of the outcome nearest to φ. Raises BadInput where the
        user's function gives another shape, or NaN."""
        if self.kind.one_of_parts:
            return np.asarray(np.einsum("nk,nkd->nd", phi, self.table(items)))
        return self._of(items, self.kind.nearest(phi))

    def pull(self, items: Items, slope: Floats) -> Floats | None:
        """Coefficients of φ, (n, K) for n items and K classes: the slope times the user's loss with each
        class as the outcome. None for numbers and tags, where the loss need not be linear in φ."""
        return self.table(items) @ slope if self.kind.one_of_parts else None

    def spread(self, items: Items, phi: Floats, slope: Floats) -> Floats:
        """A guess at the variance of slope·ℓ for each of n items, (n,): the sum of the squared slopes, the
        same for all items, because nothing is known of a user's loss."""
        return np.full(len(phi), max(float((slope**2).sum()), 1e-12))

    def needs(self, items: Items) -> None:
        """Never raises: the user's function itself complains of columns that it lacks, when it is called.
        Nothing of a function says beforehand what it reads."""

    def _of(self, items: Items, outcome: Floats) -> Floats:
        losses = np.asarray(self.function(items, outcome), np.float64).reshape(len(items), -1)
        if losses.shape[1] != self.length or not np.isfinite(losses).all():
            raise BadInput(
                f"the loss must give {self.length} finite numbers for each of {len(items)} items; it gave an "
                f"array of shape {losses.shape}" + ("" if np.isfinite(losses).all() else " with NaN in it")
            )
        return losses


def user_measure(
    name: str,
    kind: OutcomeKind,
    *,
    loss: UserLoss,
    value: UserValue = lambda risk: risk,
    size: int = 1,
    bounds: tuple[float, float] = (-inf, inf),
    gradient: UserValue | None = None,
    parts: Sequence[str | None] = (None,),
    scale: float | None = None,
    system: int | None = None,
) -> OutcomeMeasure:
    """A measure by its loss ℓ(x, y) and a function g of R, the mean of ℓ over the pool.

    loss      of items (n) and their outcomes (n,): the number of the class, the number, or the mask of tags;
              returns (n,) or (n, d), finite
    value     g of R (d,): a number, or q numbers; NaN where it is undefined (0/0)
    size      d
    bounds    the smallest and largest value that g can have; an interval never reaches beyond
    gradient  of R (d,): (d,), or (q, d); numerical unless given
    parts     the names of the q numbers
    scale     the unit of its errors, beside other measures that drive the sampling; the length of the range
              unless said, or 1

    Losses and functions have to be pure: they are called often.  Raises BadInput for a size or bounds that
    make no sense, and when it is used, for a loss or a gradient of another shape.
    """
    if size < 1 or not bounds[0] < bounds[1]:
        raise BadInput(f"{name}: size is at least 1 and bounds rise, got {size} and {bounds}")
    q = len(parts)

    def g(risk: Floats) -> Floats:
        return _each(value, risk, (q,), f"{name}: value")

    def slopes(risk: Floats) -> Floats:
        return _each(gradient, risk, (q, size), f"{name}: gradient") if gradient else numerical(risk)

    numerical = numerical_gradient(g, size)
    span = bounds[1] - bounds[0]
    unit = scale if scale is not None else span if isfinite(span) else 1.0
    return OutcomeMeasure(
        name=name, title=name, meaning="defined by its user", undefined_when="its value is not a number",
        bounds=bounds, losses=(OfUser(kind, system or 0, loss, size),), value=g, gradient=slopes,
        parts=tuple(parts), system=system, scale=unit, range_of=unit,
    )


def _each(function: UserValue, risk: Floats, shape: tuple[int, ...], what: str) -> Floats:
    """The function of each R (d,) of risk (..., d), as arrays (..., *shape)."""
    rows = risk.reshape(-1, risk.shape[-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        results = [np.asarray(function(row), np.float64) for row in rows]
    wrong = next((result.shape for result in results if result.size != np.prod(shape)), None)
    if wrong is not None:
        expected_shape = " x ".join(map(str, shape))
        raise BadInput(f"{what} must give {expected_shape} numbers, got an array of shape {wrong}")
    return np.stack([result.reshape(shape) for result in results]).reshape(*risk.shape[:-1], *shape)
