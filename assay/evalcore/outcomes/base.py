"""What a kind of outcome is: its codes, what can be guessed of it, and how labels weigh the guesses.

    y     (n,)     codes of outcomes: see below
    φ(y)  (n, P)   the outcome as a vector: one-hot for classes, bits for tags, the number itself
    x              what the pool says of the items: `evalcore.outcomes.items.Items`

A *guess* is a value of φ made from x alone: probabilities at some temperature, what a judge says, the
predicted class.  No guess is trusted: labels choose how much weight each gets (`GuessModel`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Final, TypeAlias

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.items import ItemPool, Items, Places
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Floats

UNDECIDED: Final = -1e300    # people could not decide
UNANSWERED: Final = -2e300   # the item was asked and nobody answered
LARGEST_OUTCOME: Final = 1e30   # a number that is an outcome: squares of squared errors stay finite


def is_outcome(codes: Floats) -> Bools:
    """Whether each code (...) is an outcome, neither UNDECIDED nor UNANSWERED.

    Outcomes as numbers in memory, and the two codes that stand for no outcome.

        classes   the number of the class, 0 .. K - 1
        numbers   the number itself
        tags      a bit mask: bit k is set where tag k is

    Codes are float64 throughout, so that one column holds any kind; whole numbers up to 2^53 are exact.  No
    outcome is as low as the two constants, and a column of codes holds no NaN.
    """
    return np.asarray(codes > UNDECIDED)


class GuessModel(ABC):
    """How labels weigh guesses: a linear label model whose weights W are fitted to sums over labelled items.
    A subclass says whether a guess has one weight for all components of the loss, and by which rule it is
    fitted.

    Label models that weigh guesses: what is expected of an unlabelled item, learned from the labelled ones.

    A guess b says E_bi (d,) of the loss of item i, from the pool's columns alone.  A label model is linear,

        m_ij = Σ_b W_bj E_bij

    so the mean over any set of items follows from the set's sums of E, and a round costs nothing per item of
    the pool.  The labels choose W; before any label it is `first`.  They enter as sums over labelled items,
    weighted by the number of items each stands for (weights ω, with a mean of 1):

        gram (R, d', B, B)   Σ ω E_b E_b'      cross (R, d', B)   Σ ω E_b ℓ      square (R, d')   Σ ω ℓ²

        R   repeats;  B   guesses;  n   labelled items
        d'  1 where all components share their weights (the sums then run over the components of φ), else d
    """

    shared: ClassVar[bool]   # one weight per guess, the same for all components of the loss

    def spent(self, guesses: int) -> float:
        """How many labels the fit uses up: residuals are smaller than errors by about spent/n. 0 unless a
        subclass fits something."""
        return 0.0

    @abstractmethod
    def fit(self, gram: Floats, cross: Floats, square: Floats, n: int, first_weights: Floats) -> Floats:
        """W (R, B, d') from the sums over n labelled items; first_weights (B,): the weights before any label.
        R counts repeats, B guesses and d' what each of them is fitted for."""


class Mixture(GuessModel):
    """Weights of a mixture: not negative, and summing to 1.

    They minimise the weighted squared error of φ (the Brier score, for classes), plus a ridge towards `first`
    that is worth PRIOR labels, as long as `first` predicts the labels: with Δ the share by which a fit that
    hardly knows `first` has the smaller error, and z = n Δ, it is worth PRIOR (FITS/z)² where z > FITS.
    The minimum on the simplex is found by exponentiated gradient steps (Kivinen & Warmuth 1997).
    """

    shared = True
    PRIOR: ClassVar[float] = 40.0
    LOOSE: ClassVar[float] = 4.0    # labels that `first` is worth at least
    FITS: ClassVar[float] = 6.0     # about what n Δ comes to where `first` is right
    STEPS: ClassVar[int] = 60

    def fit(self, gram: Floats, cross: Floats, square: Floats, n: int, first_weights: Floats) -> Floats:
        """The weights of the mixture, (R, B, 1) for R repeats and B guesses, the same for every component of
        the loss. Without labels they are the first weights; where these fit badly their ridge is
        loosened, down to LOOSE labels."""
        g, c, total = gram[:, 0] / max(n, 1), cross[:, 0] / max(n, 1), square[:, 0] / max(n, 1)
        loose = self._near(g, c, n, first_weights, np.full(len(g), self.LOOSE))
        if not n:
            return loose[:, :, None]
        start = np.broadcast_to(first_weights / first_weights.sum(), loose.shape)
        errors = [
            np.einsum("rb,rbk,rk->r", w, g, w) - 2 * (w * c).sum(axis=1) + total for w in (start, loose)
        ]
        z = n * (errors[0] - errors[1]) / np.maximum(errors[1], 1e-12)
        worth = self.PRIOR * np.minimum(1.0, (self.FITS / np.maximum(z, self.FITS)) ** 2)
        return self._near(g, c, n, first_weights, np.maximum(worth, self.LOOSE))[:, :, None]

    def _near(self, g: Floats, c: Floats, n: int, first_weights: Floats, worth: Floats) -> Floats:
        """W (R, B) with a ridge towards `first_weights` that is worth so many labels (R,); g (R, B, B), c
        (R, B)."""
        b = len(first_weights)
        trust = (n / (n + worth))[:, None]
        scale = np.trace(g, axis1=1, axis2=2)[:, None] / b if n else np.ones((len(g), 1))
        c = trust * c + (1 - trust) * scale * first_weights
        g = trust[..., None] * g + ((1 - trust) * scale)[..., None] * np.eye(b)
        w = np.broadcast_to(np.maximum(first_weights, 0.02), c.shape)
        w = w / w.sum(axis=1, keepdims=True)
        rate = 3.0 / np.maximum(np.abs(g).max(axis=(1, 2)), 1e-12)[:, None]
        for _ in range(self.STEPS):
            slope = np.einsum("rbk,rk->rb", g, w) - c
            down = rate * ((w * slope).sum(axis=1, keepdims=True) - slope)
            w = w * np.exp(np.minimum(np.maximum(down, -4), 4))
            w = w / w.sum(axis=1, keepdims=True)
        return np.asarray(w)


class Regression(GuessModel):
    """Least squares for each component on its own, as far as the labels confirm it.

    The last guess is the constant 1.  The slopes of the p others are ridge regression's, on guesses scaled to
    a variance of 1, with a penalty worth RIDGE labels; then all are multiplied by the positive part of
    1 - p (1 - r²)/(n r²), with r² the share of the variance that they explain (Stein's rule, Copas 1983).  So
    a useless judge gets slopes near 0 and costs next to nothing ("power tuning").
    """

    shared = False
    RIDGE: ClassVar[float] = 8.0

    def fit(self, gram: Floats, cross: Floats, square: Floats, n: int, first_weights: Floats) -> Floats:
        """The weights of B guesses for each component of the loss, (R, B, d): the shrunken slopes of the
        guesses and, as the weight of the constant, the intercept. Without labels they are the first
        weights; with p + 3 labels or fewer, for p slopes, all slopes are 0."""
        weights = np.zeros(cross.shape)
        p = cross.shape[2] - 1
        if n == 0:
            weights[:] = first_weights
            return np.moveaxis(weights, 1, 2)
        total = np.maximum(gram[..., -1, -1], 1e-12)
        mean_e, mean_l = gram[..., :-1, -1] / total[..., None], cross[..., -1] / total
        slopes = np.zeros(mean_e.shape)
        if p and n > p + 3:
            sxx = gram[..., :-1, :-1] / total[..., None, None] - mean_e[..., :, None] * mean_e[..., None, :]
            sxy = cross[..., :-1] / total[..., None] - mean_e * mean_l[..., None]
            syy = np.maximum(square / total - mean_l**2, 0.0)
            second_moment = np.diagonal(gram, axis1=-2, axis2=-1)[..., :-1] / total[..., None]
            spread = np.diagonal(sxx, axis1=-2, axis2=-1)
            spread = np.where(is_nothing(spread, second_moment), 0.0, np.sqrt(np.maximum(spread, 0.0)))
            slopes = self._shrunken(sxx, sxy, syy, spread, n)
        weights[..., :-1] = slopes
        weights[..., -1] = mean_l - (slopes * mean_e).sum(axis=-1)
        return np.moveaxis(weights, 1, 2)

    def spent(self, guesses: int) -> float:
        """How many labels the fit uses up: one for each guess except the constant, which is one for every
        slope. `guesses` counts the constant as well."""
        return guesses - 1.0

    def _shrunken(self, sxx: Floats, sxy: Floats, syy: Floats, spread: Floats, n: int) -> Floats:
        """Slopes (R, d, p) of components whose second moments about the mean are these.

        spread (R, d, p): the deviation of each guess, 0 where it is constant.
        """
        p = sxy.shape[-1]
        varies = spread > 1e-9
        scale = np.where(varies, spread, 1.0)
        r = np.where(varies, sxy / scale, 0.0)
        corr = sxx / (scale[..., :, None] * scale[..., None, :]) * varies[..., :, None] * varies[..., None, :]
        corr = corr + np.eye(p) * (self.RIDGE / n + 1e-9) + np.eye(p) * (~varies[..., None])
        slopes = np.linalg.solve(corr, r[..., None])[..., 0]
        explained = (slopes * r).sum(axis=-1)
        share = np.clip(explained / np.maximum(syy, 1e-12), 0.0, 0.999)
        keep = np.clip(1 - p * (1 - share) / np.maximum(n * share, 1e-9), 0.0, 1.0)
        return np.asarray(slopes * keep[..., None] / scale)


# of some items of a pool and expected φ (n, P), a few outcomes (n, V) that each of them may have
Likely: TypeAlias = Callable[[Items, Floats], Floats]


MOST_ALIKE = 12   # classes of which each has an evaluation of its own, as if all undecided items were of it


@dataclass(frozen=True, slots=True)
class OutcomeKind(ABC):
    """A kind of outcome: classes, numbers, tags, or several questions at once. It says how an outcome is a
    code and a vector φ, what the pool's columns make one guess of it, and how labels weigh these guesses."""

    name: ClassVar[str]              # classes, number or tags, as in a command
    label_model: ClassVar[GuessModel]  # how labels weigh the guesses
    one_of_parts: ClassVar[bool] = False   # an outcome is one of `parts`, and φ the chance of each
    even_share: ClassVar[float] = 0.25     # of an allocation by guesses, spread evenly over the items

    @property
    @abstractmethod
    def width(self) -> int:
        """The length P of φ(y): the number of classes or tags, 1 for a number, and the sum over all
        questions for several."""

    @property
    @abstractmethod
    def parts(self) -> tuple[str, ...]:
        """The names of the K classes or tags; empty for numbers."""

    @property
    def grades(self) -> tuple[float, ...] | None:
        """The numeric values of the K classes, where they are grades."""
        return None

    @property
    def spread_is_learned(self) -> bool:
        """Whether labels tell where outcomes spread how far: of those with values."""
        return False

    @property
    def counted(self) -> str | None:
        """The class that a measure of one class means where none is named; None where all stand equal. A
        positive class is one. Unless a kind says otherwise there is none."""
        return None

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and largest value of an outcome; infinite where no bound is known. Grades and numbers
        have one, names of classes do not. Unless a kind says otherwise, both are infinite."""
        return (-inf, inf)

    @property
    def decided_alike(self) -> Mapping[str, float]:
        """Outcomes that all undecided items may have together, by name: what these could change is between.

        Every class, up to MOST_ALIKE; no tag and all tags; the ends of a range.  Empty where none are told.
        """
        return {}

    def between(self, low: float, high: float) -> "OutcomeKind":
        """With values between these on the sides where no bound is known; low < high. The kind itself where
        it has bounds, or no numbers."""
        return self

    def with_gaps_of(self, items: Items) -> "OutcomeKind":
        """With what judges would say of the items of a pool, these, of which they say nothing. The kind
        itself where that has a place of its own among the guesses."""
        return self

    @abstractmethod
    def encode(self, answers: list[str]) -> Floats:
        """Codes (n,) of outcomes as people write them. Raises BadInput for one that is none. The message
        names the answer and what may be answered."""

    @abstractmethod
    def decode(self, code: float) -> str:
        """The outcome of this code as people write it: a class name, a number, tags joined by bars, or one
        answer for each question."""

    @abstractmethod
    def phi(self, codes: Floats) -> Floats:
        """The outcomes as vectors φ, (n, P) for n codes: one-hot for classes, bits for tags, the number
        itself for numbers. Expected outcomes have the same form."""

    def at(self, phi: Floats, codes: Floats) -> Floats:
        """(n,) Σ_k φ_k(codes) phi_k: what expected φ (n, P) gives these outcomes (n,)."""
        return np.asarray((phi * self.phi(codes)).sum(axis=1))

    @abstractmethod
    def nearest(self, phi: Floats) -> Floats:
        """Codes (n,) of the outcomes that expected φ (n, P) is nearest to."""

    @abstractmethod
    def guesses(self, items: Items) -> Floats:
        """φ (n, B, P) as guessed by each of B guesses. B depends on which columns there are, not on n. n
        counts the items and P the length of φ."""

    @abstractmethod
    def first_weights(self, items: Items) -> Floats:
        """(B,) the weights of the guesses before any label; they need not sum to 1. B counts the guesses of
        `guesses`."""

    @abstractmethod
    def variance(self, pull: Floats, phi: Floats) -> Floats:
        """Variance (n,) of Σ_k pull_k φ_k(y) for outcomes distributed as expected φ (n, P); pull (n, P).
        Designs draw by its root. n counts items and P the components of φ."""

    @abstractmethod
    def expected(self, phi: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """(n,) the mean of a function of the outcome's value, for φ (n, P).

        function maps values (n, V) or (1, V) to (n, V).  Raises BadInput where outcomes have no value.
        """

    def likely(self, pool: ItemPool) -> Likely | None:
        """A few outcomes of each item of a pool, by which losses of several systems are guessed together.

        Codes, each as probable as the others; a function that can be pickled.  None for a single system, and
        for kinds of outcome whose losses are all linear in φ, or have values by class.
        """
        return None

    def places(self, pool: ItemPool) -> Places:
        """How the items of a pool are put into groups, and in order inside them: by spread alone. Kinds that
        predict group by what is predicted."""
        return Places()

    @abstractmethod
    def prediction_support(self, codes: Floats) -> Floats:
        """(n, w) what predictions (n,) are among; the maximum over a cell says what is predicted in it. n
        counts the items; w is a matter of the kind."""

    def max_linear_loss(self, support: Floats, hit: Floats, label: Floats, predicted: Floats) -> Floats:
        """(C,) the largest Σ_k of hit_k where k is predicted and true, label_k where it is true, and
        predicted_k where it is predicted; each (K,), support (C, w).  Raises BadInput where outcomes have no
        parts."""
        raise BadInput(f"{self.name}s have no classes")

    def predicted_range(self, support: Floats) -> tuple[Floats, Floats]:
        """(C,) the least and the largest value that is predicted in each cell; support (C, w).

        Raises BadInput where outcomes have no value.
        """
        raise BadInput(f"{self.name} have no numeric values")

    def check(self, items: Items) -> None:
        """Raises BadInput where the items' columns cannot be of this kind of outcome."""
        if items.probability is not None and items.probability.shape[1] != len(self.parts):
            raise BadInput(
                f"{items.probability.shape[1]} columns of probabilities for {len(self.parts)} {self.name}"
            )
