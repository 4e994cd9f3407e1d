"""What this version writes, version 1.0.0 reads: the two may take turns on one ledger."""

import json
from pathlib import Path

import pytest
from promised.records import fields_of_records

from assay.tasks.alerts.alert import KINDS, LATER_KINDS, Alert, as_raised, as_stored

# Estimates by segment hold what the others tell of each: of a round with segments that this version closed,
# version 1.0.0 says that it is from a later version, and this one goes on.
# Of an evaluation that goes on from held labels, which it knows nothing of, it says the same.
LATER = {"MeasureEstimate.pooled", "Manifest.held"}
FIRST = json.loads(Path(__file__).with_name("records-1.json").read_text(encoding="utf-8"))


def test_no_record_has_a_field_that_the_first_version_refuses():
    grown = {
        f"{record}.{field}" for record, fields in fields_of_records().items() if record in FIRST
        for field in fields.keys() - FIRST[record].keys()
    }
    assert grown == LATER, "version 1.0.0 refuses these: give what is new a key of its own"


def test_no_field_holds_a_word_that_the_first_version_refuses():
    grown = {
        f"{record}.{field}: {word}" for record, fields in fields_of_records().items() if record in FIRST
        for field in fields.keys() & FIRST[record].keys() if FIRST[record][field]
        for word in set(fields[field]) - set(FIRST[record][field])
    }
    # of alerts a ledger holds other words: the next test
    assert grown == {f"Alert.kind: {kind}" for kind in LATER_KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_an_alert_of_any_kind_is_stored_as_the_first_version_knows_it(kind):
    alert = Alert(key="a", severity="info", kind=kind, subject="s", body="b", group=kind)
    assert as_stored(alert).kind in FIRST["Alert"]["kind"]
    assert as_raised(as_stored(alert)) == alert
