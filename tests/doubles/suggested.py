"""What comes out where a file is examined and its suggested spec is driven to the last label."""

from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.flows.doctor import examine_file
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.doctor.roles import Told
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.strict_yaml import parse_yaml


def estimates_by_suggestion(path: Path, told: Told) -> list[MeasureEstimate]:
    """The estimates once every item has its label, which are the truth. Raises BadInput as `run` does."""
    found = examine_file(str(path), told, forecast=False)
    if not found.usable:
        raise BadInput("; ".join(
            f"{one.about}: {one.says}" for one in found.findings if one.level == "problem"
        ))
    if found.spec is None or not found.labelled:
        raise BadInput("; ".join(one.says for one in found.findings))
    asked = parse_yaml(found.spec, "the suggested spec")
    asked |= {"method": "passive", "target": {}, "budget": {"labels": found.rows}, "batch_size": found.rows}
    store = MemoryStore()
    name = begin_evaluation(store, Spec.from_json(asked, "the suggested spec")).name
    standing = advance(store, name)
    assert standing.labels == found.rows
    return list(standing.estimates)


def value_by_suggestion(path: Path, told: Told, measure: str = "f1") -> float | None:
    """The value of one of the measures."""
    return next(one.value for one in estimates_by_suggestion(path, told) if one.measure == measure)
