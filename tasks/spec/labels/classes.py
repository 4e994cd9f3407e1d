"""Labels that are one class: a positive and a negative one, a list, or grades."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, Strict, model_validator

from assay.evalcore.annotators.agreement import Level
from assay.evalcore.annotators.answers.classes import ClassAnswers
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.tasks.schema import Finite, wrong
from assay.tasks.sources.spellings import two_class_spellings
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.labels.names import ClassName, as_seen, look_different, several

MOST_CLASSES = 1000


class ClassLabels(LabelsForm):
    """One class of several."""

    level: ClassVar[Level] = "nominal"    # at which agreement between people is measured

    @property
    def said(self) -> str:
        """How many classes."""
        return f"one of {len(self.names)} classes"

    @property
    def answers(self) -> ClassAnswers:
        """The classes."""
        return ClassAnswers(
            codes=self.codes, level=self.level, offered=self.offered, spellings=self.spellings
        )


class TwoClasses(ClassLabels):
    """The two classes, as people see them and as a prediction column may spell them."""

    task: ClassVar[str] = "binary"

    positive: ClassName = Field(description="name of the positive class")
    negative: ClassName = Field(description="name of the negative class")

    @model_validator(mode="after")
    def _two_classes(self) -> "TwoClasses":
        if self.positive == self.negative:
            raise wrong(f"calls both classes {self.positive!r}; give them different names")
        if as_seen(self.positive) == as_seen(self.negative):
            raise wrong(
                f"calls the classes {self.positive!a} and {self.negative!a}, which look the same; give them "
                "different names"
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The negative class has code 0, the positive one code 1."""
        return self.negative, self.positive

    @property
    def offered(self) -> tuple[str, ...]:
        """The positive class first."""
        return self.positive, self.negative

    @property
    def spellings(self) -> Mapping[str, str]:
        """The names, and 1/0 and true/false."""
        return two_class_spellings(self.positive, self.negative)

    @property
    def positive_name(self) -> str | None:
        """The positive class."""
        return self.positive

    @property
    def outcome(self) -> OutcomeKind | None:
        """None."""
        return None


class ComparedClasses(TwoClasses):
    """Two classes of which several systems predict one: their measures are those of the positive class."""

    task: ClassVar[str] = "multiclass"

    @property
    def positive_name(self) -> str | None:
        """None: the statistics are those of any classes."""
        return None

    @property
    def outcome(self) -> OutcomeKind | None:
        """Two classes of which measures count one."""
        return Classes(names=self.names, positive=self.positive)


class ScoredClasses(ComparedClasses):
    """Two classes whose measures are curves of a score, or whose items come in clusters."""

    task: ClassVar[str] = "scored"


class ClassList(ClassLabels):
    """Classes of equal standing."""

    task: ClassVar[str] = "multiclass"

    classes: Annotated[
        tuple[ClassName, ...], Strict(False), several(2, MOST_CLASSES), AfterValidator(look_different)
    ] = Field(description="the names of all classes, 2 to 1,000")

    @property
    def names(self) -> tuple[str, ...]:
        """As they are listed."""
        return self.classes

    @property
    def outcome(self) -> OutcomeKind | None:
        """Classes."""
        return Classes(names=self.names)


class Grades(ClassLabels):
    """Classes in order, each a number."""

    task: ClassVar[str] = "multiclass"
    level: ClassVar[Level] = "ordinal"
    shares: ClassVar[bool] = False

    grades: Annotated[tuple[Finite, ...], Strict(False), several(2, MOST_CLASSES)] = Field(
        description="the grades from the lowest to the highest"
    )

    @model_validator(mode="after")
    def _rising(self) -> "Grades":
        if list(self.grades) != sorted(self.grades):
            raise wrong("must list the grades from the lowest to the highest")
        if len(set(self.names)) < len(self.names):
            raise wrong("has grades that look the same with six digits; write fewer digits")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers in their shortest form."""
        return tuple(f"{grade:g}" for grade in self.grades)

    @property
    def spellings(self) -> Mapping[str, str]:
        """The numbers in the forms that files have them in: 3, 3.0."""
        return {repr(float(grade)): name for grade, name in zip(self.grades, self.names, strict=True)} | {
            name: name for name in self.names
        }

    @property
    def outcome(self) -> OutcomeKind | None:
        """Classes with values."""
        return Classes(names=self.names, values=self.grades)
