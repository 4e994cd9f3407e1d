"""Pools of which everything that is asked is known before anybody labels."""

from collections.abc import Sequence

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.alike import where_alike
from assay.tasks.spec.evaluation import Spec


def refuse_known_answers(spec: Spec, predicted: Sequence[int]) -> None:
    """Refuse to buy labels where every item is predicted the same and that decides every measure.

    predicted   rows by predicted class: negative, positive

    A window of a monitor is let through: what it holds is what there was. Raises BadInput.
    """
    if spec.of_monitor or spec.labels.outcome is not None or spec.pool.systems or all(predicted):
        return
    known = [(measure, where_alike(measure, int(predicted[1] > 0))) for measure in spec.measures]
    if any(one.exists and one.value is None for _, one in known):
        return
    said = ", ".join(
        f"{measure.name} is {one.value:g} wherever it exists" if one.value is not None
        else f"{measure.name} does not exist" for measure, one in known
    )
    name = spec.labels.offered[0 if predicted[1] else 1]
    raise BadInput(
        f"pool: every item is predicted {name!r}, so no label is needed: {said}; check the predictions "
        "and the threshold, or ask for another measure, such as accuracy"
    )
