"""The desk without people: annotators who know the answers, for demos, trials and tests.

The labels come from a file (Parquet, CSV or JSONL, local or s3://) with the items' ids and their labels:
class names (1/0 and true/false too, of a positive and a negative class), numbers, or tags joined by bars. An
item without a label in its row is skipped by everybody; an item without a row is an error, because nobody
could ever answer it. Of several questions each has a column of its name; a gap there is no answer to it.

    error_rate   chance that an annotator picks another class, or turns a tag over; fixed by (seed, item,
                 annotator), so a rerun errs on the same items, and two annotators err independently
    varies       errors are fixed by the round too: who is asked again in a later one errs independently
    noise        standard deviation of what an annotator adds to a number
    annotators   people with error rates of their own, by truth and answer where the spec says so; each item
                 goes to `annotators_per_item` of them, drawn by (seed, item), and to others of them when more
                 are asked for
    delay        seconds between posting and the answers

What is asked again is answered by other people (simulated-101, ...), who err independently; an item without a
label is skipped by them too.

What was posted outlives the process: posting keeps the items with their labels and the time
(`KeptBatches`), so `collect` needs no labels file. Answers hold no times: reruns give the same bytes.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, Strict, model_validator

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.answers import AnswerKind, TagAnswers
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.errors import BadInput
from assay.evalcore.reproducible import stream
from assay.tasks.desks.desk import Batch, Collected, Desk, Item, KeptBatches
from assay.tasks.desks.kind import DeskKind, Labelling, Resources
from assay.tasks.schema import Column, Location, Part, wrong

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedErrors:
    """By truth where that is said, of tags by whether the tag is there, else all of one size."""

    size: float = 0.0   # see AnswerKind.erring
    # truth -> wrong answer -> its chance
    by_truth: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    of_tag: tuple[float, float] | None = None   # chances to leave out a tag that is there, and to say another


def says(answers: AnswerKind, errors: SimulatedErrors, truth: str, rng: np.random.Generator) -> str:
    """One simulated answer to an item whose true label is `truth`. Wrong answers come with the chances that
    the errors give for this truth, of tags for each tag by itself, and else as in `AnswerKind.erring`."""
    if errors.of_tag is not None and isinstance(answers, TagAnswers):
        return answers.erring_by_tag(truth, *errors.of_tag, rng)
    if truth not in errors.by_truth:
        return answers.erring(truth, errors.size, rng)
    wrong = errors.by_truth[truth]
    place = bisect_right(list(accumulate(wrong.values())), rng.random())
    return [*wrong, truth][place]


# `desk: {kind: simulated}`.

class SimulatedAnnotator(Part):
    """How one simulated person errs: `false_positive` and `miss` of the class that is looked for, and of each
    tag; `error_rate`, the same for every class and any other, and of each tag; `confuses` for some classes in
    place of that; `noise` of numbers."""

    false_positive: float = Field(
        default=0.0, ge=0, lt=1, description="share of other items called positive, or given a tag"
    )
    miss: float = Field(
        default=0.0, ge=0, lt=1, description="share of positive items, or of tags, that are missed"
    )
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

    def errors(self, answers: AnswerKind) -> SimulatedErrors:
        """As the desk takes them. Who misses the class that is looked for says any other, each alike."""
        positive = answers.looked_for
        if (self.false_positive or self.miss) and positive is not None:
            other_choices = [name for name in answers.choices if name != positive]
            missed = dict.fromkeys(other_choices, self.miss / len(other_choices))
            return SimulatedErrors(by_truth={
                **{name: {positive: self.false_positive} for name in answers.numbering(answers.choices)},
                positive: missed,
            })
        if self.false_positive or self.miss:
            return SimulatedErrors(of_tag=(self.miss, self.false_positive))
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

    def unlike(self, answers: AnswerKind) -> list[tuple[str, str]]:
        other_key = "noise" if answers.errs_by == "error_rate" else "error_rate"
        remedy = f"does not fit these labels; give {answers.errs_by}"
        problems = [(other_key, remedy)] if getattr(self, other_key) else []
        if answers.questions and self.label != "label":
            problems.append(("label", "names one column, and the answers to several questions are in a "
                                      "column for each, called as the question; leave it out"))
        for i, person in enumerate(self.annotators or ()):
            if getattr(person, other_key):
                problems.append((f"annotators[{i}].{other_key}", remedy))
            if (person.false_positive or person.miss) and answers.looked_for is None and not answers.several:
                instead = "`confuses`, the chance of each wrong answer: {cat: {dog: 0.2}}" \
                    if answers.choices else answers.errs_by
                problems.append((f"annotators[{i}]", "has `false_positive` or `miss`, errors about one class "
                                                     f"that is looked for, as none here is; give {instead}"))
            confuses = person.confuses or {}
            strange = {*confuses, *(n for w in confuses.values() for n in w)} - {
                *(() if answers.several else answers.choices)
            }
            if strange:
                problems.append((f"annotators[{i}].confuses", f"names {min(strange)!r}, which is no class"))
        return problems

    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        answers, annotators = labelling.answers, self.annotators
        people = SimulatedPeople(
            per_item=self.annotators_per_item, alike=SimulatedErrors(size=self.error_rate or self.noise),
            each=None if annotators is None else [person.errors(answers) for person in annotators],
            delay=self.delay, varies=self.varies,
        )
        labels = LabelsFile(
            path=self.labels, id_column=self.id or labelling.id_column, label_column=self.label
        )
        return SimulatedDesk(labels, people, labelling, resources)

    def look(self, labelling: Labelling, resources: Resources) -> str:
        """What the desk is, in words, after the labels file was read and checked in full. Raises BadInput
        that names the file, the column and the first bad value."""
        self.open(labelling, resources).prepare()
        return f"simulated, with the labels of {self.labels}"


Says = Callable[[str, np.random.Generator], str]   # what a person says where this is true
_OTHERS = 100   # the people of the second asking are numbered from here; an item has at most 100 a time


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posted:
    """What one post put on the desk."""

    posted_at: float                   # seconds, by the desk's clock
    labels: Mapping[str, str | None]   # item -> its label; None: it cannot be decided


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsFile:
    """Where the true labels of a simulated desk are: a file, its column of item ids and its column of
    labels. Of several questions each has a column of its name instead."""

    path: str
    id_column: str
    label_column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPeople:
    """Who answers at a simulated desk, how well and when: people per item, the errors that all of them make
    alike or each makes differently, the delay in seconds, and whether errors are drawn anew in every
    round."""

    per_item: int
    alike: SimulatedErrors                     # everybody's errors, unless people have errors of their own
    each: Sequence[SimulatedErrors] | None     # those; None: there are as many people as are asked
    delay: float                               # seconds between posting and the answers
    varies: bool                               # errors are fixed by the round too


class SimulatedDesk:
    """Annotators simulated-1, simulated-2, ... who answer everything that was posted long enough ago."""

    def __init__(
        self, labels: LabelsFile, people: SimulatedPeople, labelling: Labelling, resources: Resources
    ) -> None:
        self._labels = labels.path
        self._answers = labelling.answers
        self._kept = KeptBatches(resources.store, "simulated", labelling.evaluation, _Posted)
        self._id, self._label = labels.id_column, labels.label_column
        self._annotators = people.per_item
        self._people: list[Says] | None = None if people.each is None else [
            partial(says, labelling.answers, errors) for errors in people.each
        ]
        self._everybody: Says = partial(says, labelling.answers, people.alike)
        self._delay, self._varies = people.delay, people.varies
        self._seed, self._clock = labelling.seed, resources.clock

    def prepare(self) -> None:
        """Read the labels file once and check it. BadInput names the file, the column and the first value."""
        for _ in self._rows():
            pass

    def missing(self, batch: Batch) -> list[Item]:
        """The items of the batch that no post of its round and asking has put on the desk, in the order of
        the batch. Read from the ledger's store each time; raises DamagedRecord for a post that cannot be
        read."""
        posted = {item_id for post in self._posts(batch) for item_id in post.labels}
        return [item for item in batch.items if item.item_id not in posted]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        """Look the items up in the labels file and keep them with their labels and the present time, so that
        `collect` needs no file. Raises BadInput for an item without a row, or with rows that disagree."""
        if not items:
            return
        item_ids = [item.item_id for item in items]
        post = _Posted(posted_at=self._clock(), labels=self._look_up(item_ids))
        self._kept.keep_post(batch, item_ids, post)

    def collect(self, batch: Batch) -> Collected:
        """Every answer that is due by now, `delay` seconds after its item was posted, and the ids of all
        items posted. Errors follow from seed, item and person, so that reruns give the same answers."""
        moment = self._clock()
        extra = self._kept.people_asked(batch.round, batch.asking)
        present: set[str] = set()
        answers: dict[str, Annotation] = {}
        for post in self._posts(batch):
            present.update(post.labels)
            if moment >= post.posted_at + self._delay:
                for item_id, label in post.labels.items():
                    annotators = max(self._annotators, extra.get(item_id, 0))
                    for annotator in self._who(batch, item_id, annotators):
                        answer = self._answer(batch, item_id, label, annotator)
                        answers[answer.annotation_id] = answer
        return Collected(annotations=list(answers.values()), present=frozenset(present))

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Record that each of these items is answered by `annotators` simulated people in all. The further
        answers come with a later `collect`; a smaller number afterwards changes nothing."""
        self._kept.request_more(batch, item_ids, annotators)

    def _posts(self, batch: Batch) -> list[_Posted]:
        return self._kept.posts(batch.round, batch.asking)

    def _who(self, batch: Batch, item_id: str, annotators: int) -> list[int]:
        """The numbers, from 1, of the people who answer this item; those of them there are."""
        if self._people is None:
            return [person + _OTHERS * (batch.asking - 1) for person in range(1, annotators + 1)]
        rng = stream(self._seed, "", self._day(batch), f"simulated desk: who: {item_id}")
        order: list[int] = (rng.permutation(len(self._people)) + 1).tolist()
        offset = self._annotators * (batch.asking - 1) % len(order)
        return (order[offset:] + order[:offset])[:annotators]

    def _answer(self, batch: Batch, item_id: str, label: str | None, annotator: int) -> Annotation:
        name = f"simulated-{annotator}"
        if label is not None:
            rng = stream(self._seed, "", self._day(batch), f"simulated desk: {name}: {item_id}")
            person = self._everybody if self._people is None else self._people[annotator - 1]
            label = person(label, rng)
        return Annotation(
            item_id=item_id,
            annotation_id=f"{batch.round:04d}/{item_id}/{name}",
            annotator=name,
            kind="skip" if label is None else "label",
            label=label,
            updated_at="",
            raw={},
            asking=batch.asking,
        )

    def _day(self, batch: Batch) -> int:
        """What errors are fixed by besides the item."""
        return batch.round if self._varies else 0

    def _look_up(self, item_ids: Sequence[str]) -> dict[str, str | None]:
        """Item -> its label, None where its row has no label. BadInput for an item without a row, or two."""
        import pyarrow as pa
        import pyarrow.compute as pc

        labels: dict[str, str | None] = {}
        ids = pa.array(sorted(set(item_ids)), pa.string())
        for table in self._rows():
            rows = table.filter(pc.is_in(table.column(0), value_set=ids))
            for item_id, label in zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True):
                if item_id in labels and labels[item_id] != label:
                    raise BadInput(
                        f"desk.labels: {self._labels}: item {item_id!r} is there twice with different "
                        "labels; keep one row"
                    )
                labels[item_id] = label
        gone = [item_id for item_id in item_ids if item_id not in labels]
        if gone:
            listed = ", ".join(repr(item_id) for item_id in gone[:3])
            raise BadInput(
                f"desk.labels: {self._labels}: column {self._id!r} lacks {len(gone)} of {len(item_ids)} "
                f"items that were asked (the first: {listed}); give every item of the pool a row"
            )
        return {item_id: labels[item_id] for item_id in item_ids}

    def _rows(self) -> "Iterator[pa.RecordBatch]":
        """The file's rows as (id, label or null), both text."""
        from assay.tasks.sources.known_labels import labelled_rows, rows_of_questions

        if isinstance(self._answers, QuestionAnswers):
            return rows_of_questions(self._labels, self._id, self._answers, key="desk.labels")
        return labelled_rows(self._labels, self._id, self._label, self._answers, key="desk.labels")
