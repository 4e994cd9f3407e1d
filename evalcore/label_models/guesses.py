"""Label models that weigh guesses: what is expected of an unlabelled item, learned from the labelled ones.

A guess b says E_bi (d,) of the loss of item i, from the pool's columns alone.  A label model is linear,

    m_ij = Σ_b W_bj E_bij

so the mean over any set of items follows from the set's sums of E, and a round costs nothing per item of the
pool.  The labels choose W; before any label it is `first`.  They enter as sums over labelled items, weighted
by the number of items each stands for (weights ω, with a mean of 1):

    gram (R, d', B, B)   Σ ω E_b E_b'      cross (R, d', B)   Σ ω E_b ℓ      square (R, d')   Σ ω ℓ²

    R   repeats;  B   guesses;  n   labelled items
    d'  1 where all components share their weights (the sums then run over the components of φ), else d
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from assay.evalcore.rounding import is_nothing
from assay.evalcore.types import Floats


class LabelModel(ABC):
    """How labels weigh guesses."""

    shared: ClassVar[bool]   # one weight per guess, the same for all components of the loss

    def spent(self, guesses: int) -> float:
        """How many labels the fit uses up: residuals are smaller than errors by about spent/n."""
        return 0.0

    @abstractmethod
    def fit(self, gram: Floats, cross: Floats, square: Floats, n: int, first: Floats) -> Floats:
        """W (R, B, d') from the sums over n labelled items; first (B,): the weights before any label."""


class Mixture(LabelModel):
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

    def fit(self, gram: Floats, cross: Floats, square: Floats, n: int, first: Floats) -> Floats:
        """W (R, B, 1)."""
        g, c, total = gram[:, 0] / max(n, 1), cross[:, 0] / max(n, 1), square[:, 0] / max(n, 1)
        loose = self._near(g, c, n, first, np.full(len(g), self.LOOSE))
        if not n:
            return loose[:, :, None]
        start = np.broadcast_to(first / first.sum(), loose.shape)
        errors = [
            np.einsum("rb,rbk,rk->r", w, g, w) - 2 * (w * c).sum(axis=1) + total for w in (start, loose)
        ]
        z = n * (errors[0] - errors[1]) / np.maximum(errors[1], 1e-12)
        worth = self.PRIOR * np.minimum(1.0, (self.FITS / np.maximum(z, self.FITS)) ** 2)
        return self._near(g, c, n, first, np.maximum(worth, self.LOOSE))[:, :, None]

    def _near(self, g: Floats, c: Floats, n: int, first: Floats, worth: Floats) -> Floats:
        """W (R, B) with a ridge towards `first` that is worth so many labels (R,); g (R, B, B), c (R, B)."""
        b = len(first)
        trust = (n / (n + worth))[:, None]
        scale = np.trace(g, axis1=1, axis2=2)[:, None] / b if n else np.ones((len(g), 1))
        c = trust * c + (1 - trust) * scale * first
        g = trust[..., None] * g + ((1 - trust) * scale)[..., None] * np.eye(b)
        w = np.broadcast_to(np.maximum(first, 0.02), c.shape)
        w = w / w.sum(axis=1, keepdims=True)
        rate = 3.0 / np.maximum(np.abs(g).max(axis=(1, 2)), 1e-12)[:, None]
        for _ in range(self.STEPS):
            slope = np.einsum("rbk,rk->rb", g, w) - c
            w = w * np.exp(np.clip(-rate * (slope - (w * slope).sum(axis=1, keepdims=True)), -4, 4))
            w = w / w.sum(axis=1, keepdims=True)
        return np.asarray(w)


class Regression(LabelModel):
    """Least squares for each component on its own, as far as the labels confirm it.

    The last guess is the constant 1.  The slopes of the p others are ridge regression's, on guesses scaled to
    a variance of 1, with a penalty worth RIDGE labels; then all are multiplied by the positive part of
    1 - p (1 - r²)/(n r²), with r² the share of the variance that they explain (Stein's rule, Copas 1983).  So
    a useless judge gets slopes near 0 and costs next to nothing ("power tuning").
    """

    shared = False
    RIDGE: ClassVar[float] = 8.0

    def fit(self, gram: Floats, cross: Floats, square: Floats, n: int, first: Floats) -> Floats:
        """W (R, B, d)."""
        weights = np.zeros(cross.shape)
        p = cross.shape[2] - 1
        if n == 0:
            weights[:] = first
            return np.moveaxis(weights, 1, 2)
        total = np.maximum(gram[..., -1, -1], 1e-12)
        mean_e, mean_l = gram[..., :-1, -1] / total[..., None], cross[..., -1] / total
        slopes = np.zeros(mean_e.shape)
        if p and n > p + 3:
            sxx = gram[..., :-1, :-1] / total[..., None, None] - mean_e[..., :, None] * mean_e[..., None, :]
            sxy = cross[..., :-1] / total[..., None] - mean_e * mean_l[..., None]
            syy = np.maximum(square / total - mean_l**2, 0.0)
            own = np.diagonal(gram, axis1=-2, axis2=-1)[..., :-1] / total[..., None]
            spread = np.diagonal(sxx, axis1=-2, axis2=-1)
            spread = np.where(is_nothing(spread, own), 0.0, np.sqrt(np.maximum(spread, 0.0)))
            slopes = self._shrunken(sxx, sxy, syy, spread, n)
        weights[..., :-1] = slopes
        weights[..., -1] = mean_l - (slopes * mean_e).sum(axis=-1)
        return np.moveaxis(weights, 1, 2)

    def spent(self, guesses: int) -> float:
        """One a slope."""
        return guesses - 1.0

    def _shrunken(self, sxx: Floats, sxy: Floats, syy: Floats, spread: Floats, n: int) -> Floats:
        """Slopes (R, d, p) of components whose second moments about the mean are these.

        spread (R, d, p): the deviation of each guess, 0 where it is constant.
        """
        p = sxy.shape[-1]
        known = spread > 1e-9
        scale = np.where(known, spread, 1.0)
        r = np.where(known, sxy / scale, 0.0)
        corr = sxx / (scale[..., :, None] * scale[..., None, :]) * known[..., :, None] * known[..., None, :]
        corr = corr + np.eye(p) * (self.RIDGE / n + 1e-9) + np.eye(p) * (~known[..., None])
        slopes = np.linalg.solve(corr, r[..., None])[..., 0]
        explained = (slopes * r).sum(axis=-1)
        share = np.clip(explained / np.maximum(syy, 1e-12), 0.0, 0.999)
        keep = np.clip(1 - p * (1 - share) / np.maximum(n * share, 1e-9), 0.0, 1.0)
        return np.asarray(slopes * keep[..., None] / scale)
