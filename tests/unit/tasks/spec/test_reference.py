"""The page of all keys, and the schema."""

from functools import cache

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError

from assay.tasks.spec.reference import reference_page, spec_schema
from assay.tasks.spec.template import spec_template


def test_the_page_has_the_keys_of_every_part():
    page = reference_page()
    for key in ("half_width", "monthly_labels", "annotators_per_item", "complete_after_days", "class"):
        assert f"| `{key}` |" in page


def test_the_schema_knows_the_keys_of_the_commented_spec():
    assert set(yaml.safe_load(spec_template())) <= set(spec_schema()["properties"])
    assert "monitor" in spec_schema(monitor=True)["properties"]
    assert spec_schema()["additionalProperties"] is False


QUESTIONS = [
    {"name": "coherence", "grades": [1, 2, 3], "judge": "j", "measure": "mean"},
    {"name": "faithful", "positive": "yes", "negative": "no", "prediction": "p",
     "measure": ["accuracy", {"name": "f1"}]},
]
SPEC = {
    "name": "n", "pool": {"source": "p.csv", "id": "id", "display": ["text"]}, "budget": {"labels": 50},
    "desk": {"kind": "folder", "path": "desk"},
}


@cache
def _validator():
    """Of the schema, which is itself checked once: that takes longer than all specs here."""
    schema = spec_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("said", [
    {"labels": QUESTIONS},
    {"labels": {"questions": QUESTIONS}},
    {"labels": [{"name": "a", "tags": ["x", "y"]}, {"name": "b", "number": {"min": 0, "max": 1}}],
     "measure": [{"name": "mean", "question": "b"}, {"name": "subset_accuracy", "question": "a"}]},
    {"labels": {"grades": [1, 2]}, "measure": "mean"},
])
def test_labels_may_be_a_list_of_questions(said):
    _validator().validate(SPEC | said)


@pytest.mark.parametrize("said", [
    {"labels": {"grades": [1, 2]}},
    {"labels": QUESTIONS[:1]},
    {"labels": [{**QUESTIONS[0], "colour": "red"}, QUESTIONS[1]]},
    {"labels": [{"name": "nothing"}, QUESTIONS[1]]},
    {"labels": [{"grades": [1, 2]}, QUESTIONS[1]]},
])
def test_what_no_list_of_questions_may_be_fits_no_schema(said):
    with pytest.raises(ValidationError):
        _validator().validate(SPEC | said)
