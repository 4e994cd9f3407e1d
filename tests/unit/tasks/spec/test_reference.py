"""The page of all keys, and the schema."""

import yaml

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
