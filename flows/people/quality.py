"""How the people who label do, and what their errors do to the numbers: `rounds/<n>/annotators.json`.

Written with each closed round where there is something to say: several people answer each item, gold is mixed
in, or more than one person has answered. It rests on the answers that the labels of the closed rounds name,
so it can be computed again at any time and comes out the same. People appear under the desk's names of them,
which are numbers and digests; reports use names of their own.
"""

from assay.evalcore.annotators.people import AnsweredRound
from assay.evalcore.annotators.quality import AnnotatorQuality, annotator_quality
from assay.evalcore.annotators.rules import company
from assay.evalcore.randomness import stream
from assay.flows.people.annotating import Annotating
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.ledger.rounds.closed import ClosedRound


def annotators_record(opened: Opened, annotating: Annotating, folded: Fold) -> AnnotatorQuality | None:
    """What is to be written after the last closed round; None if there is nothing to say."""
    rounds = [_answered(opened, closed, annotating) for closed in folded.closed]
    planned = [closed.planned for closed in folded.closed]
    answers = {r.number: r.answers for r in rounds}
    desk = opened.spec.desk
    alone = len(company(answers, annotating.truth(planned))) < 2
    if desk.annotators_per_item == 1 and desk.gold is None and alone:
        return None
    return annotator_quality(
        rounds,
        annotating.rule(planned[-1], planned[:-1]),
        opened.statistics.correctable(folded.state),
        opened.spec.target.confidence,
        stream(opened.spec.seed, opened.name, folded.state.round, "annotators"),
    )


def _answered(opened: Opened, closed: ClosedRound, annotating: Annotating) -> AnsweredRound:
    planned, statistics = closed.planned, opened.statistics
    asked = planned.asked()
    return AnsweredRound(
        number=planned.number,
        item_id=tuple(planned.item_id[t] for t in asked),
        prediction=planned.prediction[asked],
        label=closed.labels[asked],
        positive=statistics.chance_of_positive(planned)[asked],
        stands_for=statistics.stands_for(planned)[asked],
        again=planned.again,
        again_alone=planned.again_alone,
        answers=annotating.answers_of(planned.number),
    )
