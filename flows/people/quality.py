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
from assay.evalcore.annotators.surprise import stands_for
from assay.evalcore.outcomes.codes import is_outcome
from assay.evalcore.randomness import stream
from assay.flows.people.annotating import Annotating
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.ledger.rounds.closed import ClosedRound


def annotators_record(opened: Opened, annotating: Annotating, folded: Fold) -> AnnotatorQuality | None:
    """What is to be written after the last closed round; None if there is nothing to say."""
    answers = {one.number: one.answers for one in annotating.answered(folded)}
    desk = opened.spec.desk
    rule = annotating.rule(folded.closed[-1].planned, folded)
    alone = len(company(answers, rule.gold)) < 2
    if desk.annotators_per_item == 1 and desk.gold is None and alone:
        return None
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
        opened.confidence,
        stream(opened.spec.seed, opened.name, folded.state.round, "annotators"),
        numbers,
    )


def one_person_still(opened: Opened, annotating: Annotating, folded: Fold) -> bool:
    """Whether nobody but one person has answered yet, so that there is nothing to say.

    True only where one person answers each item and no gold is mixed in.
    """
    desk = opened.spec.desk
    if desk.annotators_per_item > 1 or desk.gold is not None:
        return False
    return len(annotating.company(folded, folded.state.round + 1)) < 2


def _labels(opened: Opened, closed: ClosedRound) -> list[str | None]:
    """What each item that a round asked about came to, as people write it."""
    codes, kind = closed.labels[closed.planned.asked()], opened.spec.labels.answers
    is_label = is_outcome(codes).tolist()
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
        positive=statistics.chance_of_positive(planned.plan)[asked],
        stands_for=stands_for(planned.plan)[asked],
        again=planned.again,
        again_alone=planned.again_alone,
        answers=answers,
    )
