"""What is asked in a spec: the measures."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict, model_validator

from assay.evalcore.errors import BadInput, UnknownName, nearest
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure, names
from assay.evalcore.outcome_measures.base import OutcomeMeasure, Setting
from assay.evalcore.outcome_measures.registry import MEASURES_BY_KIND, of_scores, outcome_measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.preferences import preferences
from assay.evalcore.outcomes.score_grid import Grid
from assay.evalcore.outcomes.tags import Tags
from assay.tasks.schema import Finite, Part, wrong

_ANY: tuple[OutcomeKind, ...] = (   # some outcome of every kind
    Classes(names=tuple("abcdefghijkl"), values=tuple(map(float, range(12)))), Numbers(0, 1),
    Tags(("a", "b")), preferences("a", "b", "tie"), Classes(names=("a", "b"), positive="b"),
)


def _numbers(value: Any) -> Any:
    return [value] if isinstance(value, int | float) else value


class MeasureChoice(Part):
    """One measure, by name, with its settings; which it takes depends on the labels."""

    name: str = Field(description="a measure, such as f1 or macro_f1")
    beta: Finite | None = Field(default=None, description="weight of recall against precision, for fbeta")
    class_: str | None = Field(default=None, alias="class", description="of this class or tag alone")
    k: int | None = Field(default=None, ge=1, description="how many of the most probable classes, for top_k")
    tolerance: Finite | None = Field(default=None, ge=0, description="how far off still counts, for within")
    weights: Literal["linear", "quadratic"] | None = Field(
        default=None, description="of cohen_kappa with grades: linear or quadratic"
    )

    at: Annotated[
        tuple[Finite, ...], Strict(False),
        BeforeValidator(_numbers, json_schema_input_type=float | list[float]),
    ] | None = Field(
        default=None, description="thresholds of the score, for pr_curve and roc_curve"
    )

    @model_validator(mode="after")
    def _exists(self) -> "MeasureChoice":
        """Of two classes, or of several; which of the two it has to be is checked with the labels."""
        try:
            self.check_name(self.name)
        except UnknownName as error:
            raise wrong(str(error)) from None
        try:
            self.of_two_classes()
        except BadInput as error:
            reasons = [self._why_not(kind) for kind in _ANY]
            if None not in reasons:
                raise wrong(str(reasons[-1] if of_scores(self.name) else error)) from None
        return self

    @staticmethod
    def check_name(name: str) -> None:
        """Raise UnknownName where there is no such measure of any kind of outcome."""
        known = sorted({*names(), *(one for _, one in MEASURES_BY_KIND)})
        if name not in known:
            raise UnknownName(f"unknown measure {name!r}; {nearest(name, known, 'measures')}")

    def _why_not(self, kind: OutcomeKind) -> str | None:
        """Why there is no such measure of this kind of outcome; None where there is."""
        try:
            self.model_copy(update={"class_": None, "k": None}).of(kind, 1)
        except BadInput as error:
            return str(error)
        return None

    @property
    def settings(self) -> dict[str, Setting]:
        """What is set besides the name."""
        given = {
            "beta": self.beta, "class": self.class_, "k": self.k, "tolerance": self.tolerance,
            "weights": self.weights, "at": self.at,
        }
        return {name: value for name, value in given.items() if value is not None}

    def of_two_classes(self) -> Measure:
        """The measure of a positive and a negative class. Raises BadInput where there is none."""
        for name in ("class", "k", "weights", "tolerance"):
            if name in self.settings:
                raise BadInput(f"measure {self.name!r} takes `{name}` only with labels: {{classes: [...]}}")
        if self.at is not None:
            raise BadInput(f"measure {self.name!r} takes no `at`; pr_curve and roc_curve do")
        return measure(self.name, self.beta)

    def of(
        self, kind: OutcomeKind, pool_size: int, system: int = 0, grids: Mapping[int, Grid] | None = None
    ) -> OutcomeMeasure:
        """The measure of this kind of outcome, of one of its systems; grids: of the pool's scores.

        Raises BadInput where there is none.
        """
        return outcome_measure(
            self.name, kind, pool_size, system=system, options=self.settings, grids=grids
        )


def _as_list(value: Any) -> Any:
    listed = value if isinstance(value, list | tuple) else [value]
    return [{"name": one} if isinstance(one, str) else one for one in listed]


def _each_once(choices: tuple[MeasureChoice, ...]) -> tuple[MeasureChoice, ...]:
    if not choices:
        raise wrong("is an empty list; name at least one measure, such as f1")
    names = [", ".join([choice.name, *map(str, choice.settings.values())]) for choice in choices]
    for name in names:
        if names.count(name) > 1:
            raise wrong(f"lists {name!r} twice; keep one")
    return choices


MeasureChoices = Annotated[
    tuple[MeasureChoice, ...], Strict(False),
    BeforeValidator(_as_list, json_schema_input_type=str | MeasureChoice | list[str | MeasureChoice]),
    AfterValidator(_each_once),
]
"""One measure or a list; a name alone stands for {name: ...}."""


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise wrong("is an empty list; name at least one measure, or leave it out")
    for name in names:
        if names.count(name) > 1:
            raise wrong(f"lists {name!r} twice; keep one")
    return names


Drive = Annotated[
    tuple[str, ...], Strict(False),
    BeforeValidator(lambda v: [v] if isinstance(v, str) else v, json_schema_input_type=str | list[str]),
    AfterValidator(_distinct),
]
"""Names of measures that are listed."""


def asks_for_curves(measure: Any) -> bool:
    """Whether one of the measures, as they are written, is made of scores."""
    listed = measure if isinstance(measure, list | tuple) else [measure]
    names = [one.get("name") if isinstance(one, dict) else one for one in listed]
    return any(isinstance(name, str) and of_scores(name) for name in names)
