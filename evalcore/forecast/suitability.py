"""Which methods can be used on a pool, and what there is to say against each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.evalcore.errors import AssayError
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.registry import METHODS
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.types import Array, Floats

_TRIED = 100_000        # items on which methods are tried: enough to see one refuse
_RARE = 0.02            # share of predicted positives below which the class looks rare


@dataclass(frozen=True, slots=True, kw_only=True)
class Suitability:
    """One method on one pool."""

    name: str
    verdict: Literal["chosen", "possible", "not advised", "refused"]
    why: str             # nothing where there is nothing to say against it


def suitabilities(
    score: Floats, probability: Floats, prediction: Array, measures: Sequence[Measure], chosen: str, *,
    supplied: bool,
) -> list[Suitability]:
    """Every method of the registry, tried on at most `_TRIED` items.

    score, probability, prediction (N,) of the pool's items; chosen: the name of the method in use, settings
    or not; supplied: whether the probabilities are the pool's own, and not made of its scores.
    """
    step = max(1, -(-len(score) // _TRIED))
    part = (score[::step], probability[::step], prediction[::step])
    rare = bool(prediction.mean() < _RARE)
    result = []
    for name, how in METHODS.items():
        against = _against(how.capabilities, supplied=supplied, rare=rare)
        try:
            partition, _ = build_partition(how, *part)
            how.start(partition.cells, measures, 1)
        except AssayError as error:
            found = Suitability(name=name, verdict="refused", why=str(error))
        else:
            found = Suitability(name=name, verdict="not advised" if against else "possible", why=against)
        if name == chosen.partition(":")[0]:
            found = Suitability(name=name, verdict="chosen", why="")
        result.append(found)
    return result


def _against(able: Capabilities, *, supplied: bool, rare: bool) -> str:
    """What there is to say against a method here, or nothing."""
    if able.trusts_probabilities and not supplied:
        return "takes probabilities at their word, and expit(score) is none"
    if able.top_of_ranking:
        return "searches the top of the ranking and misses positives below its cut"
    if able.spreads_evenly and rare:
        return "would label hardly a positive: the class looks rare"
    return ""
