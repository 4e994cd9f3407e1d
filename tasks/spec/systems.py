"""The systems of a pool: models, versions or thresholds whose predictions of the same items are compared.

    systems: {v1: {prediction: p1}, v2: {prediction: p2, probability: s2}}     one column each
    systems: {t50: {score: s, threshold: 0.5}, t70: {score: s, threshold: 0.7}}
    thresholds: [0.5, 0.7]                                                     the same, beside pool.score

A pool compares its systems where it has no prediction of its own.  With one, they are further systems for the
method `recycle` to judge.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from assay.tasks.schema import Column, Finite, Part

MOST_COMPARED = 20
_OWN = ("score", "probability", "threshold", "features")


class System(Part):
    """One system whose predictions are in the pool."""

    prediction: Column | None = Field(default=None, description="a column of class names, 0/1 or booleans")
    score: Column | None = Field(default=None, description="a column; any real number, higher is positive")
    probability: Column | dict[str, Column] | None = Field(
        default=None, description="a column; of several classes {prefix: p_}, {class: column} or a confidence"
    )
    threshold: Finite | None = Field(default=None, description="score or probability that calls it positive")

    @property
    def columns(self) -> list[str]:
        """The columns of the source that are named; a prefix names none."""
        probability = list(self.probability.values()) if isinstance(self.probability, dict) else [
            self.probability
        ]
        return [name for name in (self.prediction, self.score, *probability) if name is not None]

    @property
    def problem(self) -> str | None:
        """What is wrong with it in a comparison; None where nothing is."""
        if (self.prediction is None) == (self.threshold is None):
            have = "both" if self.prediction is not None else "neither"
            return f"needs exactly one of `prediction` and `threshold`, got {have}"
        if self.score is not None and self.probability is not None:
            return "has `score` and `probability`; keep the one that it is decided by"
        if self.threshold is None:
            return None
        if self.score is None and not isinstance(self.probability, str):
            return "has a `threshold` and no column to apply it to; give `score`, or `probability`: a column"
        if self.score is None and not 0 < self.threshold < 1:
            return f"has `threshold` {self.threshold:g} of a probability; it must lie in (0, 1)"
        return None


def compares(pool: Any) -> bool:
    """Whether a `pool`, as it is written, compares systems."""
    return (
        isinstance(pool, dict)
        and (pool.get("systems") is not None or pool.get("thresholds") is not None)
        and pool.get("prediction") is None and pool.get("threshold") is None
    )


def written_out(pool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A `pool` whose thresholds are systems and whose baseline is named: the first, unless said.

    What is written in another way than it should be is left as it is.
    """
    thresholds = _numbers(pool.get("thresholds"))
    beside = [key for key in ("score", "probability") if pool.get(key)]
    if pool.get("systems") is None and thresholds and len(beside) == 1 and compares(pool):
        [key] = beside
        written = {threshold_name(t): {key: pool[key], "threshold": t} for t in thresholds}
        given = {name: value for name, value in pool.items() if name not in ("thresholds", key)}
        if isinstance(given.get("baseline"), int | float):
            given["baseline"] = threshold_name(given["baseline"])
        pool = given | {"systems": written}
    systems = pool.get("systems")
    if compares(pool) and isinstance(systems, dict) and systems and pool.get("baseline") is None:
        pool = {**pool, "baseline": next(iter(systems))}
    return pool


def threshold_name(threshold: float) -> str:
    """What the system of a threshold is called."""
    return f"threshold {threshold:g}"


def problems_of(
    systems: Mapping[str, System], baseline: str | None, own: Mapping[str, Any], display: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of systems that are compared; own: the keys of their pool."""
    if not 2 <= len(systems) <= MOST_COMPARED:
        yield "systems", f"has {len(systems)}; a comparison takes from 2 to {MOST_COMPARED}"
    if baseline not in systems:
        yield "baseline", f"is {baseline!r}; name one of the systems ({', '.join(systems)})"
    for key in _OWN:
        if own.get(key) is not None:
            yield key, "belongs to a system where systems are compared: {name: {prediction: ..., score: ...}}"
    for name, system in systems.items():
        if system.problem:
            yield f"systems.{name}", system.problem
        for column in system.columns:
            if column in display:
                yield "display", f"names {column!r}, which system {name!r} says; people must not see it"


def _numbers(values: Any) -> list[float]:
    """The different numbers of a list; none where it holds something else."""
    listed = values if isinstance(values, list | tuple) else []
    if any(isinstance(t, bool) or not isinstance(t, int | float) for t in listed):
        return []
    return [float(t) for t in listed]
