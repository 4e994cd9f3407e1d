"""Several evaluations on one page: measures are never mixed on one scale, and overlap is no test."""

import io
import json

import pyarrow.parquet as pq
import pytest
from doubles.report_data import estimate, report_data

from assay.evalcore.outcomes.numbers import Numbers
from assay.tasks.report.data import PoolSummary
from assay.tasks.report.files import parquet_of
from assay.tasks.report.several import (
    at_a_glance,
    by_measure,
    comparing,
    folder_of,
    several_html,
    several_json,
)

OTHER = PoolSummary(n=500, digest="77aa" * 16, sources=("others.parquet",))
FIRST = report_data(evaluation="october", finished="2026-10-30T10:00:00+00:00", verdict="breach")
SECOND = report_data(
    evaluation="november", pool=OTHER,
    estimates=[estimate("f1", 0.6, 0.1, 40), estimate("mcc", 0.5, 0.1, 40)],
    verdict="ok", limit_min=0.4,
)
THIRD = report_data(evaluation="parcels", positive="late", negative="in time", state="waiting", verdict=None)
ERRORS = report_data(
    evaluation="prices", outcome=Numbers(), estimates=[estimate("mae", 4.5, 0.5, 80)], verdict=None,
    limit_min=None,
)


def test_measures_share_a_scale_and_other_measures_or_classes_never():
    tables = {table.name: table for table in by_measure([FIRST, SECOND, THIRD, ERRORS])}
    assert list(tables) == ["F1, of “match”", "F1, of “late”", "Mean absolute error"]
    shared = tables["F1, of “match”"]
    assert [(name, line.value, line.interval) for name, line in shared.rows] == [
        ("october", "0.800", "0.700 to 0.900"), ("november", "0.600", "0.500 to 0.700"),
    ]
    value, lower = ([getattr(line.bar, end) for _, line in shared.rows] for end in ("value", "lower"))
    assert value[0] > value[1]
    assert lower[0] == pytest.approx((value[0] + value[1]) / 2)     # 0.7 lies between 0.6 and 0.8
    assert (tables["Mean absolute error"].scale_to, shared.scale_to) == ("5", "1")
    # recall and mcc are measured once each: they are in the reports of their own


def test_the_table_has_value_interval_verdict_labels_and_date_of_each():
    lines = {line.name: line for line in at_a_glance([FIRST, SECOND, THIRD])}
    first = lines["october"]
    assert (first.measure, first.value, first.interval, first.verdict) == (
        "F1", "0.800", "0.700 to 0.900", "breach"
    )
    assert (first.labels, first.pool, first.date) == (
        "75", "10,000", "2026-10-30"
    )
    assert (lines["parcels"].verdict, lines["parcels"].date) == ("not finished", "–")


def test_it_says_what_may_not_be_read_from_intervals_side_by_side():
    said = " ".join(comparing([FIRST, SECOND, THIRD]))
    assert "two intervals overlap does not show that the values are the same" in said
    assert "“october” and “parcels” judge the same predictions." in said
    assert "Where the pools differ" in said
    assert "assay compare" in said
    assert "Where the pools differ" not in " ".join(comparing([FIRST, THIRD]))


def test_the_page_leads_to_a_part_of_each_and_to_its_report():
    page = several_html([FIRST, SECOND], linked=True).decode()
    assert "Limit broken: october. Limit met: november. 2 of 2 are finished." in page
    assert '<a href="#evaluation-2">november</a>' in page
    assert '<h2 id="evaluation-2" class="id">november</h2>' in page
    assert 'href="november/report.html"' in page
    hostile = "<script>alert(1)</script>"
    page = several_html([report_data(evaluation=hostile)]).decode()
    assert hostile not in page
    assert "report.html" not in page


def test_the_json_holds_the_contract_of_each_and_the_table_the_rounds_of_all():
    told = json.loads(json.dumps(several_json([FIRST, SECOND])))["evaluations"]
    assert [(one["evaluation"], one["verdict"], one["pool"]["items"]) for one in told] == [
        ("october", "breach", 10_000), ("november", "ok", 500),
    ]
    rows = pq.read_table(io.BytesIO(parquet_of([FIRST, SECOND]))).to_pylist()
    assert {row["evaluation"] for row in rows} == {"october", "november"}


def test_the_folder_is_named_after_all_of_them_and_never_too_long():
    assert folder_of(["a", "b"]) == "assay-report-a-b"
    many = [f"evaluation-{i}" for i in range(50)]
    assert folder_of(many).startswith("assay-report-evaluation-0-and-49-more-")
    assert folder_of(many) != folder_of([*many[:-1], "another"])
    assert len(folder_of(["x" * 200, "y"])) < 150
