"""The `labels` part of a spec: what people answer, and how files spell it.

    {positive: spam, negative: ham}       two classes, one of which the measures count
    {classes: [cat, dog, bird]}           classes of equal standing, 2 to 1,000
    {grades: [1, 2, 3, 4, 5]}             classes in order, with numeric values
    {number: {min: 0, max: 100}}          a number; the bounds are optional
    {tags: [politics, sport]}             any of up to 53 tags
    {prefer: [old, new], tie: true}       which of two answers is better
    [{name: ..., grades: [...]}, ...]     several questions about one item

A file is one form or one family of forms; what differs is declared there and nowhere else.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Discriminator, Tag

from assay.evalcore.errors import likely
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.labels.classes import (
    ClassList,
    ComparedClasses,
    Grades,
    OneOfSeveral,
    PreferenceLabels,
    ScoredClasses,
    TwoClasses,
)
from assay.tasks.spec.labels.number import NumberLabels
from assay.tasks.spec.labels.questions import QuestionList
from assay.tasks.spec.labels.tags import TagLabels

LABEL_FORMS: Mapping[str, type[LabelsForm]] = {
    "two classes": TwoClasses, "list of classes": ClassList, "list of grades": Grades, "number": NumberLabels,
    "list of tags": TagLabels, "two answers": PreferenceLabels, "two classes compared": ComparedClasses,
    "two classes with a score": ScoredClasses, "one class of several": OneOfSeveral,
    "several questions": QuestionList,
}
"""The forms by the tags that errors are located with."""


class WrittenLabels(dict[str, object]):
    """The labels of a spec as they are written, and the form that the rest of the spec gives them."""

    def __init__(self, data: Mapping[str, object], form: str) -> None:
        super().__init__(data)
        self.form = form


def two_classes_as(data: Mapping[str, object], form: str) -> Mapping[str, object]:
    """Labels of two classes in a form whose statistics are those of any classes; others as they are. Compared
    systems and clusters need that form."""
    return WrittenLabels(data, form) if _form(data) == "two classes" else data


def _form(data: object) -> str:
    """The form whose keys the mapping has, or nearly has."""
    if isinstance(data, LabelsForm):
        return next(tag for tag, form in LABEL_FORMS.items() if type(data) is form)
    if isinstance(data, WrittenLabels):
        return data.form
    return _form_of_keys(data) if isinstance(data, dict) else "two classes"


def _form_of_keys(data: Mapping[str, object]) -> str:
    for tag, form in LABEL_FORMS.items():
        if any(key in form.model_fields for key in data):
            return tag
    for tag, form in LABEL_FORMS.items():
        if any(likely(str(key), form.model_fields) for key in data):
            return tag
    return "two classes"


def task_of(data: object) -> str:
    """What `pool.task` is with these labels, such as `binary` or `number`. The argument is the section
    `labels` as it is written, before it is checked."""
    return LABEL_FORMS[_form(data)].task


Labels = Annotated[
    Annotated[TwoClasses, Tag("two classes")]
    | Annotated[ClassList, Tag("list of classes")]
    | Annotated[Grades, Tag("list of grades")]
    | Annotated[NumberLabels, Tag("number")]
    | Annotated[TagLabels, Tag("list of tags")]
    | Annotated[PreferenceLabels, Tag("two answers")]
    | Annotated[ComparedClasses, Tag("two classes compared")]
    | Annotated[ScoredClasses, Tag("two classes with a score")]
    | Annotated[OneOfSeveral, Tag("one class of several")]
    | Annotated[QuestionList, Tag("several questions")],
    Discriminator(_form),
]
"""The `labels:` of a spec."""
