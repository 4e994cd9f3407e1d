"""The paper's figures as numbers: errors, variances, and what labels of one model say of another."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.estimators.importance import single_trial
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Floats
from benchmarks.reproduce.low_shot.data import F1, Named
from benchmarks.reproduce.low_shot.trials import shared_values, trials

COMPARED = (
    "acis", "acis:last=1", "acis-pooled", "sawade", "topk", "gmm", "herding", "isotonic", "platt", "passive"
)
TOGETHER = ("acis", "acis:together=averaged", "acis:together=worst")
OPEN = (
    "acis", "acis:reuse=draws", "acis:calibration=platt", "acis:epsilon=0.001", "acis:epsilon=0.1",
    "acis:prior-iterations=2", "acis:prior-iterations=8", "acis:top_k=false",
)
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
SUBSETS = (1_000, 5_000, 20_000, 50_000)


def errors(names: Sequence[str], classes: Sequence[Named], repeats: int) -> dict[str, tuple[Floats, Floats]]:
    """Figures 3 to 6 and 11: mean squared error and mean error (budgets,), over all classes and trials."""
    squared: dict[str, list[Floats]] = {name: [] for name in names}
    bias: dict[str, list[Floats]] = {name: [] for name in names}
    for one in classes:
        for name, found in trials(names, one, repeats).items():
            error = found.value - one.f1
            squared[name].append((error**2).mean(axis=0))
            bias[name].append(error.mean(axis=0))
    return {name: (np.mean(squared[name], axis=0), np.mean(bias[name], axis=0)) for name in names}


def variances(classes: Sequence[Named], repeats: int) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Figures 7 and 12, by rule: the variance told, that of the trials, their correlation (budgets,) each.

    Both variances are means over classes; the correlation is over classes, NaN for fewer than three.
    """
    told: dict[str, list[Floats]] = {name: [] for name in TOGETHER}
    seen: list[Floats] = []
    for one in classes:
        found = trials(TOGETHER, one, repeats)
        for name in TOGETHER:
            told[name].append(found[name].variance.mean(axis=0))
        seen.append(found["acis"].value.var(axis=0, ddof=1))
    empirical = np.stack(seen)
    return {
        name: (np.mean(rows, axis=0), empirical.mean(axis=0), _correlation(np.stack(rows), empirical))
        for name, rows in told.items()
    }


def _correlation(a: Floats, b: Floats) -> Floats:
    if len(a) < 3:
        return np.full(a.shape[1], np.nan)
    return np.array([np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(a.shape[1])])


def subsets(one: Named, repeats: int) -> list[tuple[int, float, float, float]]:
    """Figure 8: random subsets of a pool, labelled whole; size, undefined share, variance told and seen."""
    rng = np.random.default_rng(1)
    counts = one.pool.confusion().astype(np.int64)
    rows = []
    for size in SUBSETS:
        if size >= counts.sum():
            continue
        # with replacement, as from a population of which the pool is the distribution
        drawn = rng.multinomial(size, (counts / counts.sum()).ravel(), repeats)
        table = drawn.reshape(-1, 2, 2).astype(float)
        value, variance = single_trial(F1, table / size, table / size**2)
        told = np.isfinite(value) & np.isfinite(variance)
        seen = value[told].var(ddof=1)
        rows.append((size, float(1 - told.mean()), float(variance[told].mean()), float(seen)))
    return rows


def thresholds(classes: Sequence[Named], repeats: int) -> dict[float, tuple[Floats, Floats]]:
    """Figure 10: MSE (budgets,) of F1 at each threshold, by labels of the pool's own and by its own."""
    shared: dict[float, list[Floats]] = {t: [] for t in THRESHOLDS}
    own: dict[float, list[Floats]] = {t: [] for t in THRESHOLDS}
    for one in classes:
        at = {t: Named(name=f"{one.name} {t}", pool=_cut(one, t)) for t in THRESHOLDS}
        for trial in range(repeats):
            found = shared_values(
                one.pool, {str(t): other.pool.prediction for t, other in at.items()}, one.name, trial
            )
            for t, other in at.items():
                shared[t].append((found[str(t)] - _or_0(other)) ** 2)
        for t, other in at.items():
            mse = (trials(["acis"], other, repeats)["acis"].value - _or_0(other)) ** 2
            own[t].append(mse.mean(axis=0))
    return {t: (np.mean(shared[t], axis=0), np.mean(own[t], axis=0)) for t in THRESHOLDS}


def _cut(one: Named, threshold: float) -> LabelledPool:
    return replace(one.pool, prediction=(one.pool.score > threshold).astype(np.int64))


def _or_0(one: Named) -> float:
    return float(np.nan_to_num(one.f1))


def models(groups: Sequence[Sequence[Named]], repeats: int) -> Mapping[tuple[str, str], Floats]:
    """Figure 9: MSE (budgets,) of each model's F1, by the model that labels were bought for; topk as well."""
    found: dict[tuple[str, str], list[Floats]] = {}
    for digit, several in enumerate(groups):
        others = {one.name: one.pool.prediction for one in several}
        for source in several:
            for trial in range(repeats):
                values = shared_values(source.pool, others, f"{digit}/{source.name}", trial)
                for target in several:
                    error = (values[target.name] - target.f1) ** 2
                    found.setdefault((target.name, source.name), []).append(error)
        for target in several:
            for name in ("topk", "passive", "sawade"):
                error = (trials([name], target, repeats)[name].value - target.f1) ** 2
                found.setdefault((target.name, name), []).append(error.mean(axis=0))
    return {key: np.mean(rows, axis=0) for key, rows in found.items()}
