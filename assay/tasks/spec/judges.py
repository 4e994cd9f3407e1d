"""How judges are looked at, in a spec: which features may move them away from people, and whether an old
calibration still holds.

    judges:
      features: [position, format, length(answer)]
      audit: {evaluation: answers-october, margin: 0.2}
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol

from pydantic import Field, model_validator

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.layout import check_name
from assay.tasks.schema import Column, Columns, Part, wrong
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.pool import Pool

_LENGTH = re.compile(r"length\((?P<column>.+)\)")


def measured_length(feature: str) -> str | None:
    """The column of `length(column)`, whose characters are counted; None for a column of the pool. The pool
    has no such column: it is made from the text."""
    match = _LENGTH.fullmatch(feature)
    return None if match is None else match["column"]


class AuditOfJudge(Part):
    """An audit of what the labels of an earlier evaluation said of the judges."""

    evaluation: Column = Field(description="the earlier evaluation, in the same store, with the same judges")
    margin: float = Field(
        gt=0, allow_inf_nan=False,
        description="how far off it may be on average: in the unit of the value, or a share of the items",
    )

    @model_validator(mode="after")
    def _a_name(self) -> "AuditOfJudge":
        try:
            check_name(self.evaluation)
        except BadInput as error:
            raise wrong(str(error)) from None
        return self


class JudgesLookedAt(Part):
    """What the report says of judges beside how often they agree with people."""

    features: Columns | None = Field(
        default=None, min_length=1, max_length=20,
        description="columns that may move a judge away from people, or length(a shown column)",
    )
    audit: AuditOfJudge | None = Field(
        default=None, description="whether an old calibration still holds: {evaluation: NAME, margin: 0.1}"
    )

    @model_validator(mode="after")
    def _says_something(self) -> "JudgesLookedAt":
        if self.features is None and self.audit is None:
            raise wrong("says nothing; give `features` or `audit`, or leave it out")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The features of judges that are columns of the pool's source; those written as `length(column)` are
        left out. Empty without features. The freeze keeps them beside the predictions."""
        return tuple(name for name in self.features or () if measured_length(name) is None)


class SpecWithJudges(Protocol):
    """What the checks of judges read of a spec: its name, its pool, its labels, and the section `judges`.
    The specs of evaluations and of monitors both have them."""

    of_monitor: ClassVar[bool]

    @property
    def name(self) -> str: ...
    @property
    def pool(self) -> Pool: ...
    @property
    def labels(self) -> LabelsForm: ...
    @property
    def judges(self) -> JudgesLookedAt | None: ...
    @property
    def questions_asked(self) -> Mapping[str, object]: ...


def contradictions_of_judges(spec: SpecWithJudges) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of judges that cannot be looked at."""
    judges, pool = spec.judges, spec.pool
    if judges is None:
        return
    if spec.of_monitor:
        yield "judges", ("are looked at in one evaluation; a monitor says by itself whether its judges "
                         "changed (assay history): leave it out")
    elif spec.questions_asked:
        yield "judges", ("are looked at where one question is asked; with several leave it out, or ask that "
                         "question alone")
    elif not has_judges(pool):
        yield "judges", ("looks at judges, and the pool has none: name one under `pool.judge` (the column of "
                         "`pool.prediction` may be it), or `pool.probability`, or leave it out")
    if judges.audit is not None and judges.audit.evaluation == spec.name:
        yield "judges.audit.evaluation", ("is this evaluation itself; labels cannot audit what they have "
                                          "made: name an earlier one")
    yield from _of_lengths(judges.features or (), pool.display)


def has_judges(pool: Pool) -> bool:
    """Whether something but the prediction guesses the labels; of compared systems judges alone do."""
    return bool(pool.judge) or (not pool.compares and (
        pool.probability is not None or pool.score is not None
    ))


def _of_lengths(features: Sequence[str], display: Sequence[str]) -> Iterator[tuple[str, str]]:
    for i, name in enumerate(features):
        column = measured_length(name)
        if column is not None and column not in display:
            yield f"judges.features[{i}]", (
                f"counts the characters of {column!r}, which is not in `pool.display`; a length is that of a "
                "column people see: add it there, or name a column that holds the length"
            )
