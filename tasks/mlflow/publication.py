"""What MLflow is told of one evaluation or monitor: a run with tags, parameters, metrics and files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.tasks.mlflow.names import PREFIX


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
