"""`desk: {kind: simulated}`."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, Strict, model_validator

from assay.evalcore.annotators.answers import AnswerKind
from assay.tasks.desks.kind import DeskKind, Labelling, Resources
from assay.tasks.desks.protocol import Desk
from assay.tasks.desks.simulated.errors import SimulatedErrors
from assay.tasks.schema import Column, Location, Part, wrong


class SimulatedAnnotator(Part):
    """How one simulated person errs: `false_positive` and `miss` of two classes; `error_rate`, the same for
    every class and any other, and of each tag; `confuses` for some classes in place of that; `noise` of
    numbers."""

    false_positive: float = Field(default=0.0, ge=0, lt=1, description="negatives called positive")
    miss: float = Field(default=0.0, ge=0, lt=1, description="positives called negative")
    error_rate: float = Field(default=0.0, ge=0, lt=1, description="share of wrong answers")
    noise: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="standard deviation of errors of numbers"
    )
    confuses: dict[str, dict[str, float]] | None = Field(
        default=None, description="class -> wrong answer -> its chance: {cat: {dog: 0.2}}"
    )

    @model_validator(mode="after")
    def _chances(self) -> "SimulatedAnnotator":
        for truth, wrongly in (self.confuses or {}).items():
            if min(wrongly.values(), default=0.0) < 0 or sum(wrongly.values()) >= 1 or truth in wrongly:
                raise wrong(f"confuses {truth!r} with chances that are no chances of wrong answers: each at "
                            "least 0, together below 1, and none for the class itself")
        if (self.error_rate or self.confuses) and (self.false_positive or self.miss):
            raise wrong("has `false_positive` or `miss` besides `error_rate` or `confuses`; keep one kind")
        return self

    def errors(self, classes: Sequence[str]) -> SimulatedErrors:
        """As the desk takes them; classes: as people see them, of two the positive one first."""
        if self.false_positive or self.miss:
            positive, negative = classes
            return SimulatedErrors(by_truth={
                positive: {negative: self.miss}, negative: {positive: self.false_positive}
            })
        return SimulatedErrors(size=self.error_rate or self.noise, by_truth=self.confuses or {})


class SimulatedKind(DeskKind):
    """A simulated annotator that knows the labels, for demos and trials."""

    example: ClassVar[str] = (
        "{kind: simulated, labels: labels.csv, error_rate: 0.0}   # a file with the id column and `label`"
    )
    needs_display: ClassVar[bool] = False
    blinds: ClassVar[bool] = False
    by_window: ClassVar[tuple[str, ...]] = ("labels",)

    kind: Literal["simulated"]
    labels: Location = Field(description="a file with the id column and the label column")
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(default="label", description="its label column")
    error_rate: float = Field(default=0.0, ge=0, lt=1, description="share of wrong answers")
    noise: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="standard deviation of errors of numbers"
    )
    annotators: Annotated[tuple[SimulatedAnnotator, ...], Strict(False)] | None = Field(
        default=None, description="people who share the items: [{false_positive: 0.01, miss: 0.1}, ...]"
    )
    varies: bool = Field(
        default=False, description="an item that is asked again in a later round is answered anew"
    )
    delay: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="seconds until an answer is in")

    @model_validator(mode="after")
    def _enough_people(self) -> "SimulatedKind":
        if self.annotators is not None:
            if self.error_rate or self.noise:
                raise wrong("has `error_rate` or `noise` and `annotators`; keep the errors of each annotator "
                            "only")
            if len(self.annotators) < self.annotators_per_item:
                raise wrong(f"has {len(self.annotators)} `annotators` for {self.annotators_per_item} "
                            "`annotators_per_item`; add some")
        return self

    def joined(self) -> list[tuple[str, str]]:
        return [*super().joined(), *([("labels", self.labels)] if self.id is None else [])]

    def two_classes_only(self) -> list[tuple[str, str]]:
        told = any(one.false_positive or one.miss for one in self.annotators or ())
        return [("annotators", "with false_positive and miss")] if told else []

    def unlike(self, answers: AnswerKind) -> list[tuple[str, str]]:
        other = "noise" if answers.errs_by == "error_rate" else "error_rate"
        remedy = f"does not fit these labels; give {answers.errs_by}"
        found = [(other, remedy)] if getattr(self, other) else []
        for i, one in enumerate(self.annotators or ()):
            if getattr(one, other):
                found.append((f"annotators[{i}].{other}", remedy))
            strange = {*(one.confuses or {}), *(n for w in (one.confuses or {}).values() for n in w)} - {
                *(() if answers.several else answers.choices)
            }
            if strange:
                found.append((f"annotators[{i}].confuses", f"names {min(strange)!r}, which is no class"))
        return found

    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        from assay.tasks.desks.simulated.desk import LabelsFile, SimulatedDesk, SimulatedPeople

        classes, annotators = labelling.answers.choices, self.annotators
        people = SimulatedPeople(
            per_item=self.annotators_per_item, alike=SimulatedErrors(size=self.error_rate or self.noise),
            each=None if annotators is None else [one.errors(classes) for one in annotators],
            delay=self.delay, varies=self.varies,
        )
        labels = LabelsFile(
            path=self.labels, id_column=self.id or labelling.id_column, label_column=self.label
        )
        return SimulatedDesk(labels, people, labelling, resources)

    def look(self, labelling: Labelling, resources: Resources) -> str:
        """The labels are read in full."""
        self.open(labelling, resources).prepare()
        return f"simulated, with the labels of {self.labels}"
