"""Pools nobody chose: size, prevalence, score distribution, threshold and probabilities are drawn by lot.

A method tuned on twenty pools knows twenty pools.  Here pool i is a function of the seed i alone, drawn from
a distribution wide enough to hold most of what a classifier does in the field, and a good deal of what it
should not do:

    N            log-uniform, 300 to 1,000,000 (most below 200,000)
    prevalence   log-uniform, 1 in 10,000 to 1 in 2, and at least four positives
    scores       two normals, two Student distributions, two betas, positives in two lumps, or log odds with
                 labels drawn from them; a fifth is rounded, some of those to a handful of values
    threshold    as many predicted positive as there are positives, half or double that, the best F1, or off
                 by a factor of 5 to 20
    broken       a band of positives below the threshold, inverted or shuffled scores, everything predicted
                 positive or nothing
    hidden       10% to 40% of the positives scored like negatives
    probability  right (isotonic fit to the labels), right up to slope and intercept, or expit of the score
    supplied     score and probability, the score alone, or the probability alone
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Array, Floats

SHAPES = ("normal", "student", "beta", "two lumps", "log odds")
FAULTS = ("band", "inverted", "shuffled", "all positive", "all negative", "threshold off")
EDGE = 1e-9              # supplied probabilities are at least so far from 0 and 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What was drawn."""

    kind: str            # working, balanced, calibrated, weak, hidden, or the fault
    says: str
    pool: LabelledPool


def draw(index: int) -> Ticket:
    """Pool number `index`, the same on every machine."""
    rng = stream(7, f"lottery/{index}")
    n = int(np.exp(rng.uniform(np.log(300), np.log(1_000_000 if rng.random() < 0.1 else 200_000))))
    prevalence = float(np.exp(rng.uniform(np.log(1e-4), np.log(0.5))))
    shape = SHAPES[rng.integers(len(SHAPES))]
    luck = rng.random()
    fault = FAULTS[rng.integers(len(FAULTS))] if luck < 0.25 else ""
    hidden = rng.uniform(0.1, 0.4) if 0.25 <= luck < 0.4 else 0.0
    score, label = _scores(shape, rng, n, max(prevalence, 4 / n))
    if hidden:
        _hide(score, label, hidden, rng)
    tied = ""
    if rng.random() < 0.2:
        score, tied = _tied(score, rng)
    score, prediction, cut = _decide(score, label, fault, rng)
    probability, how = _probability(score, label, rng)
    supplied = ("both", "score", "probability")[rng.integers(3)]
    if supplied == "score":
        probability, how = expit(score), "expit of the score"
    elif supplied == "probability":
        score = logit(np.clip(probability, EDGE, 1 - EDGE))
    kind = fault or ("hidden" if hidden else _kind(score, label, how))
    says = (
        f"N {n:,}, {int(label.sum())} positive, {int(prediction.sum())} predicted, {shape}{tied}, {cut}"
        f"{f', {hidden:.0%} hidden' if hidden else ''}, {supplied}, {how}"
    )
    return Ticket(kind=kind, says=says, pool=LabelledPool(
        score=score, probability=np.clip(probability, EDGE, 1 - EDGE), prediction=prediction, label=label
    ))


def _kind(score: Floats, label: Array, how: str) -> str:
    if label.mean() >= 0.1:
        return "balanced"
    rank = np.argsort(np.argsort(score))[label == 1]
    p = label.sum()
    area = (rank.sum() - p * (p - 1) / 2) / (p * (len(label) - p))
    if area < 0.9:
        return "weak"
    return "calibrated" if how == "right" else "working"


def _scores(shape: str, rng: np.random.Generator, n: int, prevalence: float) -> tuple[Floats, Array]:
    # positives further out where they are rarer, or nothing but noise would be predicted positive
    apart = rng.uniform(0.5, 1.6) * (1.2 + 0.35 * np.log(1 / prevalence))
    spread = rng.uniform(0.6, 2.0)
    if shape == "log odds":
        width, df = rng.uniform(1.5, 3.5), rng.uniform(4, 12)
        noise = rng.standard_t(df, n)
        low, high = -60.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if expit(middle + width * noise).mean() > prevalence else (middle, high)
        x = middle + width * noise
        label = rng.random(n) < expit(x)
        label[np.argsort(x)[-2:]] = True
        return x, label.astype(np.int64)
    label = np.zeros(n, np.int64)
    label[: max(round(prevalence * n), 4)] = 1
    positive = label == 1
    match shape:
        case "normal":
            score = np.where(positive, rng.normal(apart, spread, n), rng.normal(0, 1, n))
        case "student":
            df = rng.uniform(3, 10)
            score = rng.standard_t(df, n) * np.where(positive, spread, 1.0) + apart * positive
        case "beta":
            a, b = rng.uniform(1.2, 6), rng.uniform(0.4, 2)
            tail = max(1.5, rng.uniform(0.8, 2) * apart * 3)
            score = np.where(positive, rng.beta(a, b, n), rng.beta(rng.uniform(0.3, 1.5), tail, n))
        case _:
            easy = rng.random(n) < rng.uniform(0.4, 0.9)
            score = np.where(easy, rng.normal(1.3 * apart, 0.7 * spread, n), rng.normal(0.5 * apart, 0.7, n))
            score = np.where(positive, score, rng.normal(0, 1, n))
    return score, label


def _hide(score: Floats, label: Array, share: float, rng: np.random.Generator) -> None:
    positives, rest = np.flatnonzero(label), np.flatnonzero(label == 0)
    several = rng.choice(positives, max(1, round(share * len(positives))), replace=False)
    score[several] = score[rng.choice(rest, len(several))]


def _tied(score: Floats, rng: np.random.Generator) -> tuple[Floats, str]:
    levels = int(rng.choice([5, 20, 100]))
    step = (np.quantile(score, 0.9999) - score.min()) / levels
    return np.round(score / step) * step, f" in about {levels} values"


def _decide(
    score: Floats, label: Array, fault: str, rng: np.random.Generator
) -> tuple[Floats, Array, str]:
    """Scores after the fault, moved so that the threshold is 0, and the predictions."""
    n, p = len(label), int(label.sum())
    match fault:
        case "inverted":
            score = -score
        case "shuffled":
            score = rng.permutation(score)
        case "band":
            below = np.sort(score)[:: -1][min(n - 1, 3 * p)]
            width = max(0.1 * (below - np.quantile(score, 0.02)), 0.0)   # below that quantile where many tie
            at = below - width * rng.uniform(1, 4)
            several = rng.choice(np.flatnonzero(label), max(1, p // 3), replace=False)
            score = score.copy()
            score[several] = rng.uniform(at, at + width, len(several))
    factor = float(rng.choice([0.5, 1.0, 1.0, 2.0]))
    says = f"threshold at {factor:g} times the positives"
    if fault == "threshold off":
        factor = float(np.exp(rng.uniform(np.log(5), np.log(20))) ** rng.choice([-1, 1]))
        says = f"threshold at {factor:.2f} times the positives"
    elif not fault and rng.random() < 0.3:
        order = np.argsort(-score)
        f1 = 2 * np.cumsum(label[order]) / (np.arange(1, n + 1) + p)
        factor, says = (int(np.argmax(f1)) + 1) / p, "threshold of the best F1"
    count = int(np.clip(round(factor * p), 1, n - 1))
    ordered = np.sort(score)
    score = score - (ordered[n - count] + ordered[n - count - 1]) / 2
    prediction = (score > 0).astype(np.int64)
    if fault in ("all positive", "all negative"):
        prediction[:], says = int(fault == "all positive"), fault
    return score, prediction, says


def _probability(score: Floats, label: Array, rng: np.random.Generator) -> tuple[Floats, str]:
    luck = rng.random()
    if luck > 0.7:
        return expit(score), "expit of the score"
    order = np.argsort(score)
    right = np.empty(len(score))
    # smoothed a little: a fit to labels that is 0 below the lowest positive would know too much
    right[order] = isotonic_regression(label[order].astype(np.float64)).x
    centre, spread = score.mean(), max(score.std(), 1e-12)
    right = np.clip(right, label.mean() * 0.02 * expit((score - centre) / spread), 1 - 1e-4)
    # ties of the fit are told apart by the score
    odds = logit(np.clip(right, EDGE, 1 - EDGE)) + 0.05 * (score - centre) / spread
    if luck < 0.3:
        return expit(odds), "right"
    slope, shift = float(np.exp(rng.uniform(np.log(0.4), np.log(2.5)))), rng.normal(0, 1.2)
    return expit(slope * odds + shift), f"right but for slope {slope:.1f} and {shift:+.1f}"
