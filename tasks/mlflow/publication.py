"""What MLflow is told of one evaluation or monitor: a run with tags, parameters, metrics and files.

Names are made fit for MLflow, and stay apart.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from assay.evalcore.evaluation.estimate import MeasureEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPoint:
    """A metric at one step."""

    name: str
    value: float
    step: int
    milliseconds: int        # Unix time


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """All of it. The same ledger gives the same points in the same order, and later ones come after them."""

    identity: str                     # tells the runs of different evaluations apart
    name: str                         # of the run
    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    points: Sequence[MetricPoint]
    files: Mapping[str, bytes]        # path in the run -> text
    began: datetime | None
    finished: datetime | None         # None while it goes on


def points_of(
    name: str, numbers: Mapping[str, float | int | None], step: int, moment: datetime, order: int = 0
) -> Iterator[MetricPoint]:
    """`name`, `name.lower` ... at one step; what is undefined is left out.

    numbers   what follows the name -> its value; "" for the value itself
    order     of what was told at the same moment: MLflow shows the last
    """
    milliseconds = round(moment.timestamp() * 1000) + order
    for part, value in numbers.items():
        if value is not None:
            full = f"{name}.{part}" if part else name
            yield MetricPoint(name=full, value=float(value), step=step, milliseconds=milliseconds)


def prefixed(values: Mapping[str, object]) -> dict[str, str]:
    """Parameters by MLflow's name; what is None is left out."""
    return {PREFIX + name: str(value) for name, value in values.items() if value is not None}


def listed_names(names: Iterable[str]) -> str:
    """Names in one parameter; MLflow takes 6,000 characters."""
    return ", ".join(names)[:6000]


# Names that MLflow accepts.
#
# MLflow's names hold letters, digits, and `_`, `-`, `.`, ` ` and `/`, at most 250 characters. Names of
# classes, systems and segments may hold anything: what is not allowed becomes `_`, and a digest of the whole
# name keeps such names apart. A dot is ours: it separates the parts.

PREFIX = "assay/"            # of metrics and parameters: a run may hold those of a training too
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_ -]")
_LONGEST, _DIGEST = 40, 8    # of one part


def metric_name(row: MeasureEstimate) -> str:
    """`assay/f1`, `assay/recall.class.cat`, `assay/f1.system.new.minus.old`, `assay/f1.segment.…`."""
    parts = [allowed_name(row.measure)]
    if row.curve is not None and row.curve != row.measure:
        parts += ["of", allowed_name(row.curve)]
    if row.system is not None:
        parts += ["system", allowed_name(row.system)]
    if row.versus is not None:
        parts += ["minus", allowed_name(row.versus)]
    if row.question is not None:
        parts += ["question", allowed_name(row.question)]
    if row.class_name is not None:
        parts += ["class", allowed_name(row.class_name)]
    if row.at is not None:
        parts += ["at", f"{row.at:g}"]
    if row.segment is not None:
        parts += ["segment", allowed_name(row.segment)]
    return PREFIX + ".".join(parts)


def allowed_name(text: str) -> str:
    """The text as a part of a name; another text never gives the same."""
    short = _NOT_ALLOWED.sub("_", text)[:_LONGEST]
    return short if short == text else f"{short}-{sha256(text.encode()).hexdigest()[:_DIGEST]}"
