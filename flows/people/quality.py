"""How the people who label do, and what their errors do to the numbers: `rounds/<n>/annotators.json`.

Written with each closed round where there is something to say: several people answer each item, gold is mixed
in, or more than one person has answered. It rests on the answers that the labels of the closed rounds name,
so it can be computed again at any time and comes out the same. People appear under the desk's names of them,
which are numbers and digests; reports use names of their own.
"""

from assay.evalcore.annotators.people import AnsweredRound
from assay.evalcore.annotators.quality import AnnotatorQuality, annotator_quality
from assay.evalcore.annotators.rules import company
from assay.evalcore.annotators.surprise import stands_for
from assay.evalcore.randomness import stream
from assay.flows.people.annotating import Annotating
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.ledger import layout
from assay.tasks.ledger.rounds.answers import annotators_of
from assay.tasks.ledger.rounds.closed import ClosedRound


def annotators_record(opened: Opened, annotating: Annotating, folded: Fold) -> AnnotatorQuality | None:
    """What is to be written after the last closed round; None if there is nothing to say."""
    rounds = [_answered(closed, annotating) for closed in folded.closed]
    planned = [closed.planned for closed in folded.closed]
    answers = {r.number: r.answers for r in rounds}
    desk = opened.spec.desk
    alone = len(company(answers, annotating.truth(planned))) < 2
    if desk.annotators_per_item == 1 and desk.gold is None and alone:
        return None
    return annotator_quality(
        rounds,
        annotating.rule(planned[-1], planned[:-1]),
        opened.question.method,
        folded.state.inner,
        opened.spec.target.confidence,
        stream(opened.spec.seed, opened.name, folded.state.round, "annotators"),
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


def _answered(closed: ClosedRound, annotating: Annotating) -> AnsweredRound:
    planned, plan = closed.planned, closed.planned.plan
    asked = planned.asked()
    return AnsweredRound(
        number=planned.number,
        item_id=tuple(planned.item_id[t] for t in asked),
        prediction=planned.prediction[asked],
        label=closed.labels[asked],
        positive=plan.design.model[0, plan.cell[asked]],
        stands_for=stands_for(plan)[asked],
        again=planned.again,
        again_alone=planned.again_alone,
        answers=annotating.answers_of(planned.number),
    )
