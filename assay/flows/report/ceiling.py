"""What two people reach against each other, in the measures of an evaluation."""

from assay.evalcore.annotators.adjudication import latest_answers, votes_without_tie_breaks
from assay.evalcore.annotators.ceiling import people_against_each_other
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.weighted.estimate import unreached
from assay.flows.people.annotating import Annotating
from assay.flows.record.opened import Opened
from assay.flows.weighted import PoolSample, measure_of
from assay.tasks.ledger.closed_round import read_labels


def read_ceiling(opened: Opened, sample: PoolSample | None) -> list[MeasureEstimate]:
    """The estimates of each measure with one person held against another, by the answers that rounds were
    closed with; nothing without weights, where not every item is answered by two, and where nobody is asked
    about a part of the pool, of which a person's answers are unknown too.

    Where second answers are asked for of surprising ones alone, they say nothing of the others; where an item
    with two answers came to no label, those with one say too little of how people differ.
    """
    people = opened.spec.desk.annotators_per_item
    if sample is None or people < 2 or unreached(opened.cut.cells.size, sample.sample):
        return []
    annotating = Annotating(opened)
    answers: dict[tuple[int, str], list[str]] = {}
    for closed in sample.folded.closed:
        number = closed.planned.number
        by_item = latest_answers(annotating.answers_of(number))
        for decided in read_labels(opened.ledger, number) or ():
            votes = votes_without_tie_breaks(by_item.get(decided.item_id, ()), people)
            if decided.label is None and len(votes) > 1:
                return []
            answers[number, decided.item_id] = votes
    kind = opened.spec.labels.answers
    codes = [
        [kind.code(text) for text in answers.get((number, row.item_id), ())]
        for number, row in zip(sample.sample.round.tolist(), sample.rows, strict=True)
    ]
    return people_against_each_other(
        sample.kind, _measures(opened, sample), sample.sample, codes, opened.confidence, sample.items.weight
    )


def _measures(opened: Opened, sample: PoolSample) -> list[OutcomeMeasure]:
    """Those of the spec that the kind of outcome has for one system."""
    measures = []
    for choice in opened.spec.measure:
        try:
            measures.append(measure_of(opened, sample.kind, choice.name, choice.settings))
        except BadInput:
            continue
    return measures
