"""What to simulate: methods, measures, budgets and repeats."""

import re
from dataclasses import dataclass
from math import inf

from assay.evalcore.errors import BadArgument
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.registry import method, methods_that

_WRITTEN = re.compile(r"(?P<name>[\w -]+)(?:\((?P<beta>[0-9.]+)\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMeasure:
    """A measure by the words of a spec."""

    name: str
    beta: float | None = None

    @staticmethod
    def written(text: str) -> "NamedMeasure":
        """From `f1`, or `fbeta(2)`. Raises BadArgument."""
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise BadArgument("measures", f"{text!r} is not the name of a measure; write f1, or fbeta(2)")
        beta = found["beta"]
        try:
            return NamedMeasure(name=found["name"], beta=None if beta is None else float(beta))
        except ValueError:
            raise BadArgument("measures", f"{text!r}: {beta!r} is not a number; write fbeta(2)") from None

    def find(self) -> Measure:
        """The measure itself. Raises UnknownName or BadInput."""
        return measure(self.name, self.beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What to simulate on a labelled pool."""

    methods: tuple[str, ...]
    measures: tuple[NamedMeasure, ...]   # the first drives the sampling, or all: capability `serves_all`
    budgets: tuple[int, ...]             # rising numbers of distinct labelled items
    repeats: int                         # evaluations of each method
    seed: int = 1
    batch_size: int = 25
    confidence: float = 0.95
    systems: tuple[str, ...] = ()        # names of the pool's further systems, for methods that judge several
    audit: int = 0                       # labels of the largest budget that are spread evenly
    people: int = 1                      # annotators who answer about each item, where they differ
    half_widths: tuple[float, ...] = (0.10, 0.05)   # of intervals, to which the labels are told
    divergence: bool = False             # tell how far the proposals are from the best one

    def check(self) -> None:
        """Raises BadArgument for what makes no sense on any pool, and UnknownName for an unknown method.

        Budgets, the batch size and the number of people are checked where they are used.
        """
        check_request(self.methods, self.measures, self.repeats, self.confidence)
        _check_names("half_widths", self.half_widths)
        if not all(0 < h < inf for h in self.half_widths):
            raise BadArgument("half_widths", f"must be positive numbers, got {list(self.half_widths)}")
        self._check_audit()
        one_system = [name for name in self.methods if not method(name).capabilities.judges_systems]
        if self.systems and one_system:
            able = " or ".join(map(repr, methods_that("judges_systems")))
            raise BadArgument("systems", f"need the method {able} alone; {one_system[0]!r} judges one system")

    def find_method(self, name: str) -> Method:
        """A method of the request, with its audit. Raises UnknownName."""
        chosen = method(name)
        return chosen.audited(self.audit / self.budgets[-1]) if self.audit else chosen

    def _check_audit(self) -> None:
        if not self.audit:
            return
        if not self.budgets or not 0 < self.audit <= self.budgets[-1]:
            raise BadArgument("audit", f"is a part of the largest budget, got {self.audit}")
        unable = [name for name in self.methods if not method(name).capabilities.audits]
        if unable:
            able = " or ".join(methods_that("audits"))
            raise BadArgument("audit", f"is for the method {able}; {unable[0]!r} has none")


def check_request(
    methods: tuple[object, ...], measures: tuple[object, ...], repeats: int, confidence: float
) -> None:
    """Raises BadArgument for what makes no sense on any pool."""
    if repeats < 1:
        raise BadArgument("repeats", f"must be at least 1, got {repeats}")
    if not 0 < confidence < 1:
        raise BadArgument("confidence", f"must lie between 0 and 1, got {confidence:g}")
    _check_names("methods", methods)
    _check_names("measures", measures)


def _check_names(argument: str, given: tuple[object, ...]) -> None:
    if not given:
        raise BadArgument(argument, "name at least one")
    if len(set(given)) < len(given):
        raise BadArgument(argument, "the same one is named twice")
