"""How far the label of an item may move the measures, as the first weights of the guesses say."""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.base import Likely
from assay.evalcore.outcomes.items import CHUNK, Items
from assay.evalcore.types import Floats

FLOOR = 1e-3        # of the variance under outcomes all alike: no relevant item counts for less
AT_ONCE = 1 << 18   # numbers that are made at once: they stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expecting:
    """What is expected of a pool before any label."""

    first: Floats        # (B,) weights of the guesses
    slopes: Floats       # (Q, D) J
    likely: Likely | None = None   # outcomes by which losses of several systems are guessed together


def at_once(stack: Stack, guesses: int) -> int:
    """Of how many items the guesses and what they expect are made at once."""
    return min(CHUNK, 1 + AT_ONCE // (guesses * max(stack.kind.width, stack.size)))


def spread_of(stack: Stack, items: Items, guesses: Floats, found: Expecting) -> tuple[Floats, Floats]:
    """(n, Q) guessed variances, and those if all outcomes were alike likely; guesses (n, B, P)."""
    phi = np.einsum("b,nbp->np", found.first, guesses)
    even = np.full(phi.shape, 1 / max(phi.shape[1], 2))
    spread, flat = stack.spreads(items, [phi, even], found.slopes, found.likely)
    return np.maximum(spread, FLOOR * flat), flat
