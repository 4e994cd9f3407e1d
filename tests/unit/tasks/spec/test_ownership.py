"""Owner, team and price: in the spec, in what status prints, on pages and in alerts."""

import pytest
from doubles.report_data import report_data
from doubles.small_pool import spec_json

from assay.evalcore.errors import BadInput
from assay.tasks.alerts.alert import Alert, owned_alert
from assay.tasks.ledger.life import NOBODYS, Ownership, ownership_json
from assay.tasks.report import wording
from assay.tasks.report.page import report_html
from assay.tasks.spec.evaluation import Spec

ADA = Ownership(owner="ada@example.com", team="search", price_per_label=0.25)


def spec(**said):
    return Spec.from_json(spec_json("p.csv", "l.csv", **said), origin="a test")


def test_a_spec_says_whose_it_is_and_old_specs_stay_what_they_were():
    said = {"owner": " ada@example.com ", "team": "search", "price_per_label": 0.25}
    assert spec(**said).ownership == ADA
    assert not {"owner", "team", "price_per_label"} & spec().to_json().keys()
    assert spec().ownership == NOBODYS


@pytest.mark.parametrize(("key", "value"), [
    ("owner", ""), ("team", "two\nlines"), ("owner", "x" * 101), ("price_per_label", -1),
    ("price_per_label", float("inf")),
])
def test_what_is_no_name_or_price_is_refused_by_its_key(key, value):
    with pytest.raises(BadInput, match=key):
        spec(**{key: value})


def test_json_has_each_only_where_it_is_given():
    assert ownership_json(NOBODYS) == {}
    told = report_data(ownership=ADA).contract()
    assert (told["owner"], told["team"], told["price_per_label"]) == ("ada@example.com", "search", 0.25)
    assert "owner" not in report_data().contract()


def test_the_page_and_an_alert_say_whose_it_is_and_what_labels_cost():
    page = report_html(report_data(ownership=ADA)).decode()
    assert "ada@example.com, team search" in page
    assert "18.75 at 0.25 a label" in page
    assert wording.cost_in_words(10, NOBODYS) == ""
    alert = Alert(key="x", kind="breach", severity="critical", subject="s", body="b")
    assert owned_alert(alert, ADA).body == "b\nOwner: ada@example.com, team search."
    assert owned_alert(alert, NOBODYS) == alert
