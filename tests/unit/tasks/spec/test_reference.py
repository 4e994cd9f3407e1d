"""The page of all keys, and the schema."""

from pathlib import Path

import yaml

from assay.tasks.spec.reference import reference_page, spec_schema
from assay.tasks.spec.template import spec_template

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "spec.md"


def test_the_page_is_made_from_the_models():
    again = "python -m assay.tasks.spec.reference > docs/reference/spec.md"
    assert PAGE.read_text(encoding="utf-8") == reference_page(), f"stale; run: {again}"


def test_the_page_has_the_keys_of_every_part():
    page = reference_page()
    for key in ("half_width", "monthly_labels", "annotators_per_item", "complete_after_days", "class"):
        assert f"| `{key}` |" in page


def test_the_schema_knows_the_keys_of_the_commented_spec():
    assert set(yaml.safe_load(spec_template())) <= set(spec_schema()["properties"])
    assert "monitor" in spec_schema(monitor=True)["properties"]
    assert spec_schema()["additionalProperties"] is False
