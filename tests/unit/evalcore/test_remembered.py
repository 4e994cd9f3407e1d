"""What is asked again is not made again, and what differs in a number is."""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.reproducible import remembered
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    size: Floats
    name: str | None = None


def test_the_last_results_are_kept_by_what_the_arguments_hold() -> None:
    made: list[Shape] = []

    @remembered(2)
    def total(shape: Shape, factors: list[float]) -> float:
        made.append(shape)
        return float(shape.size.sum()) * sum(factors)

    def again() -> Shape:
        return Shape(np.arange(3.0))

    assert total(again(), [1.0, 2.0]) == total(again(), [1.0, 2.0]) == 9.0
    assert len(made) == 1
    shapes = [Shape(np.arange(3.0)[:, None]), Shape(np.array([0.0, 1.0, 2.5]))]
    others = [replace(again(), name="other"), *shapes]
    for number, other in enumerate(others, 2):
        total(other, [1.0, 2.0])
        assert len(made) == number
    total(again(), [1.0, 2.0])      # two were asked since
    assert len(made) == 5
