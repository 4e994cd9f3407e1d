"""`desk: {kind: simulated}`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field, Strict, model_validator

from assay.tasks.desks.kind import DeskKind, Labelling, Resources
from assay.tasks.desks.protocol import Desk
from assay.tasks.schema import Column, Location, Part, wrong


class SimulatedAnnotator(Part):
    """How one simulated person errs: `false_positive` and `miss` of two classes; `error_rate`, the same for
    every class and any other; `confuses` for some classes in place of that."""

    false_positive: float = Field(default=0.0, ge=0, lt=1, description="negatives called positive")
    miss: float = Field(default=0.0, ge=0, lt=1, description="positives called negative")
    error_rate: float = Field(default=0.0, ge=0, lt=1, description="share of wrong answers")
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

    def errors(self, truth: str, classes: Sequence[str]) -> Mapping[str, float]:
        """Wrong answer -> its chance; classes: as people see them, of two the positive one first."""
        others = [name for name in classes if name != truth]
        if self.confuses and truth in self.confuses:
            return self.confuses[truth]
        if self.false_positive or self.miss:
            return dict.fromkeys(others, self.miss if truth == classes[0] else self.false_positive)
        return dict.fromkeys(others, self.error_rate / max(len(others), 1))


class SimulatedKind(DeskKind):
    """A simulated annotator that knows the labels, for demos and trials."""

    example: ClassVar[str] = (
        "{kind: simulated, labels: labels.csv, error_rate: 0.0}   # a file with the id column and `label`"
    )
    needs_display: ClassVar[bool] = False
    by_window: ClassVar[tuple[str, ...]] = ("labels",)

    kind: Literal["simulated"]
    labels: Location = Field(description="a file with the id column and the label column")
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(default="label", description="its label column: class names, 0/1 or booleans")
    error_rate: float = Field(default=0.0, ge=0, lt=1, description="share of wrong answers")
    annotators: Annotated[tuple[SimulatedAnnotator, ...], Strict(False)] | None = Field(
        default=None, description="people who share the items: [{false_positive: 0.01, miss: 0.1}, ...]"
    )
    delay: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="seconds until an answer is in")

    @model_validator(mode="after")
    def _enough_people(self) -> "SimulatedKind":
        if self.annotators is not None:
            if self.error_rate:
                raise wrong("has `error_rate` and `annotators`; keep the errors of each annotator only")
            if len(self.annotators) < self.annotators_per_item:
                raise wrong(f"has {len(self.annotators)} `annotators` for {self.annotators_per_item} "
                            "`annotators_per_item`; add some")
        return self

    def two_classes_only(self) -> list[tuple[str, str]]:
        """See DeskKind.two_classes_only."""
        told = any(one.false_positive or one.miss for one in self.annotators or ())
        return [("annotators", "with false_positive and miss")] if told else []

    def open(self, labelling: Labelling, resources: Resources) -> Desk:
        """See DeskKind.open."""
        from assay.tasks.desks.simulated.desk import SimulatedDesk

        return SimulatedDesk(
            self.labels, evaluation=labelling.evaluation, classes=labelling.classes, store=resources.store,
            id_column=self.id or labelling.id_column, label_column=self.label,
            annotators_per_item=self.annotators_per_item, error_rate=self.error_rate, delay=self.delay,
            annotators=None if self.annotators is None else [
                partial(one.errors, classes=labelling.classes) for one in self.annotators
            ],
            spellings=labelling.spellings,
            seed=labelling.seed, clock=resources.clock,
        )

    def look(self, labelling: Labelling, resources: Resources) -> str:
        """See DeskKind.look. The labels are read in full."""
        self.open(labelling, resources).prepare()
        return f"simulated, with the labels of {self.labels}"
