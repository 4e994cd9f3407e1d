"""What a replay brings: the estimates of every repeat at each budget."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.types import Floats, Ints

_WIDE = ("wide_lower", "wide_upper")  # diagnostics that are intervals too


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Estimates of one number at each budget: arrays (R, budgets), NaN where undefined."""

    value: Floats
    lower: Floats
    upper: Floats
    labels: Ints         # distinct labelled items
    wide_lower: Floats | None = None   # the wide interval, of methods that report one
    wide_upper: Floats | None = None
    divergence: Floats | None = None   # of the proposal from the best one, where asked; NaN without a q


def traces_of(
    looks: Sequence[Sequence[EstimateArrays]], labels: Ints, distance: Floats | None
) -> list[Trace]:
    """The trace of each number; looks: its estimates at each budget; labels, distance (R, budgets)."""
    return [
        Trace(
            value=np.stack([e.value for e in at], axis=1),
            lower=np.stack([e.lower for e in at], axis=1),
            upper=np.stack([e.upper for e in at], axis=1),
            labels=labels,
            divergence=distance,
            **{
                end: np.stack([e.diagnostics[end] for e in at], axis=1)
                for end in _WIDE if end in at[0].diagnostics
            },
        )
        for at in zip(*looks, strict=True)
    ]


def join(parts: Sequence[Trace]) -> Trace:
    """The traces of several blocks of repeats as one."""
    columns = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Trace)}
    joined: dict[str, Any] = {
        name: None if any(one is None for one in several) else np.concatenate(several)
        for name, several in columns.items()
    }
    return Trace(**joined)
