"""What a replay brings: the estimates of every repeat at each budget."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Estimates of one measure at each budget: arrays (R, budgets), NaN where undefined."""

    measure: Measure
    value: Floats
    lower: Floats
    upper: Floats
    labels: Ints         # distinct labelled items
    system: int = 0      # whose measure it is: 0 for the pool's own predictions, else a further system
    wide_lower: Floats | None = None   # the wide interval, of methods that report one
    wide_upper: Floats | None = None
    divergence: Floats | None = None   # of the proposal from the best one, where asked; NaN without a q


def join(parts: Sequence[Trace]) -> Trace:
    """The traces of several blocks of repeats as one."""
    return Trace(
        measure=parts[0].measure,
        value=np.concatenate([p.value for p in parts]),
        lower=np.concatenate([p.lower for p in parts]),
        upper=np.concatenate([p.upper for p in parts]),
        labels=np.concatenate([p.labels for p in parts]),
        system=parts[0].system,
        wide_lower=_joined([p.wide_lower for p in parts]),
        wide_upper=_joined([p.wide_upper for p in parts]),
        divergence=_joined([p.divergence for p in parts]),
    )


def _joined(parts: Sequence[Floats | None]) -> Floats | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None
