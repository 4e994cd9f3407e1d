"""How the people who label do, and what their errors do to the numbers: `rounds/<n>/annotators.json`.

Written with each closed round where there is something to say: several people answer each item, gold is mixed
in, or more than one person has answered. It rests on the answers that the labels of the closed rounds name,
so it can be computed again at any time and comes out the same. People appear under the desk's names of them,
which are numbers and digests; reports use names of their own.
"""

from collections.abc import Mapping, Sequence

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.people import AnsweredRound, classes_of, numbered
from assay.evalcore.annotators.quality import AnnotatorQuality, annotator_quality
from assay.evalcore.annotators.rules import company
from assay.evalcore.randomness import stream
from assay.flows.people.annotating import Annotating
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.ledger import layout
from assay.tasks.ledger.rounds.answers import annotators_of
from assay.tasks.ledger.rounds.closed import ClosedRound


def annotators_record(opened: Opened, annotating: Annotating, folded: Fold) -> AnnotatorQuality | None:
    """What is to be written after the last closed round; None if there is nothing to say."""
    planned = [closed.planned for closed in folded.closed]
    answers = {one.number: annotating.answers_of(one.number) for one in planned}
    desk = opened.spec.desk
    alone = len(company(answers, annotating.truth(planned))) < 2
    if desk.annotators_per_item == 1 and desk.gold is None and alone:
        return None
    rule = annotating.rule(planned[-1], planned[:-1])
    labels = [_labels(opened, closed) for closed in folded.closed]
    said = {answer.label for several in answers.values() for answer in several if answer.label is not None}
    told = {label for several in labels for label in several if label is not None}
    numbers = rule.kind.numbering(said | told | {rule.kind.text(code) for code in rule.gold.values()})
    return annotator_quality(
        [
            _answered(opened, closed, own, answers[closed.planned.number], numbers)
            for closed, own in zip(folded.closed, labels, strict=True)
        ],
        rule,
        opened.statistics.correctable(folded.state),
        opened.spec.target.confidence,
        stream(opened.spec.seed, opened.name, folded.state.round, "annotators"),
        numbers,
    )


def one_person_still(opened: Opened, annotating: Annotating, folded: Fold) -> bool:
    """Whether nobody but one person has answered yet, so that there is nothing to say. Reads one round.

    True only where one person answers each item and no gold is mixed in. The round before has no record of
    its people exactly if one person had answered until then; an answer of theirs and those of the last round
    are all that has to be read. False means that the answers of all rounds are needed.
    """
    desk, last = opened.spec.desk, folded.state.round
    if desk.annotators_per_item > 1 or desk.gold is not None:
        return False
    if last > 1 and opened.ledger.exists(layout.annotators(opened.name, last - 1)):
        return False
    people = {answer.annotator for answer in annotating.answers_of(last)}
    for closed in reversed(folded.closed[:-1]):
        earlier = [digest for one in closed.decided for digest in one.annotations]
        if earlier:
            people.update(annotators_of(opened.ledger, closed.planned.number, earlier[:1]))
            break
    return len(people) < 2


def _labels(opened: Opened, closed: ClosedRound) -> list[str | None]:
    """What each item that a round asked about came to, as people write it."""
    codes, kind = closed.labels[closed.planned.asked()], opened.spec.labels.answers
    is_label = opened.statistics.codes.is_label(codes).tolist()
    return [kind.text(code) if there else None for code, there in zip(codes.tolist(), is_label, strict=True)]


def _answered(
    opened: Opened, closed: ClosedRound, labels: Sequence[str | None], answers: Sequence[Annotation],
    numbers: Mapping[str, int],
) -> AnsweredRound:
    planned, statistics = closed.planned, opened.statistics
    asked, by_class = planned.asked(), opened.spec.labels.answers.error_rates
    predicted = planned.prediction if by_class else None
    return AnsweredRound(
        number=planned.number,
        item_id=tuple(planned.item_id[t] for t in asked),
        prediction=classes_of(None if predicted is None else predicted[asked], len(asked)),
        label=numbered(labels, numbers),
        positive=statistics.chance_of_positive(planned)[asked],
        stands_for=statistics.stands_for(planned)[asked],
        again=planned.again,
        again_alone=planned.again_alone,
        answers=answers,
    )
