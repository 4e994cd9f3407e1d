"""What this version writes, version 1.0.0 reads: the two may take turns on one ledger."""

import json
from pathlib import Path

import pytest
from promised.records import fields_of_records

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.alerts.alert import KINDS, LATER_KINDS, Alert, as_raised, as_stored
from assay.tasks.ledger.record import decode, encode

# Estimates by segment hold what the others tell of each, and a manifest names labels that were held. Version
# 1.0.0 refuses a round with segments that this version closed, and an evaluation with held labels, and reads
# those without: a field that came later is kept only where there is any.
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


def test_a_field_that_came_later_is_kept_only_where_there_is_any():
    ends = {"lower": 0.4, "upper": 0.6, "confidence": 0.95, "interval": "any"}
    row = MeasureEstimate(measure="f1", value=0.5, labels=9, **ends)
    assert row.pooled is None
    assert json.loads(encode(row)).keys() == FIRST["MeasureEstimate"].keys()
    assert decode(MeasureEstimate, encode(row), "a key") == row


@pytest.mark.parametrize("kind", KINDS)
def test_an_alert_of_any_kind_is_stored_as_the_first_version_knows_it(kind):
    alert = Alert(key="a", severity="info", kind=kind, subject="s", body="b", group=kind)
    assert as_stored(alert).kind in FIRST["Alert"]["kind"]
    assert as_raised(as_stored(alert)) == alert
