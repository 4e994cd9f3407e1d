"""The `labels` part of a spec: what people answer, and how files spell it.

    {positive: spam, negative: ham}       two classes, one of which the measures count
    {classes: [cat, dog, bird]}           classes of equal standing, 2 to 1,000
    {grades: [1, 2, 3, 4, 5]}             classes in order, with numeric values

Everything else in Assay speaks of a class by its code: its place in `names`. What differs by form is declared
here and nowhere else.
"""

from abc import abstractmethod
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Strict, Tag, model_validator

from assay.evalcore.annotators.agreement import Level
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.tasks.schema import Finite, Part, wrong
from assay.tasks.sources.spellings import two_class_spellings
from assay.tasks.spec.labels.names import ClassName, as_seen

MOST_CLASSES = 1000
_LATER = {
    "tags": "several tags of one item",
    "number": "numbers",
    "prefer": "preferences between two answers",
}


class LabelsForm(Part):
    """What people answer."""

    task: ClassVar[str]                   # what `pool.task` says of it
    level: ClassVar[Level] = "nominal"    # at which agreement between people is measured

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The classes in the order of their codes."""

    @property
    def offered(self) -> tuple[str, ...]:
        """The classes in the order in which people see them."""
        return self.names

    @property
    def codes(self) -> dict[str, int]:
        """Class name -> code."""
        return {name: code for code, name in enumerate(self.names)}

    @property
    def spellings(self) -> Mapping[str, str]:
        """What a column of predictions or of known labels may hold -> the class it means."""
        return {name: name for name in self.names}

    @property
    def positive_name(self) -> str | None:
        """The class that measures count; None where all stand equal."""
        return None

    @property
    def outcome(self) -> OutcomeKind | None:
        """What the statistics call it; None for a positive and a negative class, which have their own."""
        return Classes(names=self.names)


class TwoClasses(LabelsForm):
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


class Compared(dict[str, Any]):
    """The labels of a spec as they are written, with systems that are compared."""


def _several(names: tuple[Any, ...]) -> tuple[Any, ...]:
    """From two to MOST_CLASSES, all different."""
    if not 2 <= len(names) <= MOST_CLASSES:
        raise wrong(f"lists {len(names):,}; give between 2 and {MOST_CLASSES:,}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise wrong(f"lists {twice!r} twice; keep one")
    return names


def _look_different(names: tuple[str, ...]) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(as_seen(name), name)
        if other != name:
            raise wrong(f"calls classes {other!a} and {name!a}, which look the same; give them different "
                        "names")
    return names


class ClassList(LabelsForm):
    """Classes of equal standing."""

    task: ClassVar[str] = "multiclass"

    classes: Annotated[
        tuple[ClassName, ...], Strict(False), AfterValidator(_several), AfterValidator(_look_different)
    ] = Field(description="the names of all classes, 2 to 1,000")

    @property
    def names(self) -> tuple[str, ...]:
        """As they are listed."""
        return self.classes


class Grades(LabelsForm):
    """Classes in order, each a number."""

    task: ClassVar[str] = "multiclass"
    level: ClassVar[Level] = "ordinal"

    grades: Annotated[tuple[Finite, ...], Strict(False), AfterValidator(_several)] = Field(
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


LABEL_FORMS: Mapping[str, type[LabelsForm]] = {
    "two classes": TwoClasses, "list of classes": ClassList, "list of grades": Grades,
    "two classes compared": ComparedClasses,
}
"""The forms by the tags that errors are located with."""


_COMPARED = {"two classes": "two classes compared"}   # the form of labels whose systems are compared


def _form(data: Any) -> str:
    """The form whose keys the mapping has, or nearly has."""
    if isinstance(data, LabelsForm):
        return next(tag for tag, form in LABEL_FORMS.items() if type(data) is form)
    for tag, form in LABEL_FORMS.items():
        if isinstance(data, dict) and any(
            get_close_matches(str(key), form.model_fields, n=1, cutoff=0.7) for key in data
        ):
            return _COMPARED.get(tag, tag) if isinstance(data, Compared) else tag
    return "two classes"


def task_of(data: Any) -> str:
    """What `pool.task` is with these labels, as they are written."""
    return LABEL_FORMS[_form(data)].task


def _not_yet(data: Any) -> Any:
    for key, what in _LATER.items():
        if isinstance(data, dict) and key in data:
            raise wrong(f"asks for {what} ({key}:), which evaluations do not take yet; give "
                        "{positive: ..., negative: ...}, {classes: [...]} or {grades: [...]}")
    return data


Labels = Annotated[
    Annotated[TwoClasses, Tag("two classes")]
    | Annotated[ClassList, Tag("list of classes")]
    | Annotated[Grades, Tag("list of grades")]
    | Annotated[ComparedClasses, Tag("two classes compared")],
    Discriminator(_form),
    BeforeValidator(_not_yet),
]
"""The `labels:` of a spec."""
