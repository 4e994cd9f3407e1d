"""The report for people: one self-contained HTML page, no scripts, nothing fetched, fit to print.

Everything that came from outside (names, ids, classes, notes, the spec) is escaped by the template; only the
stylesheet is inserted as markup. Figures are images within the page. A content security policy in the page
forbids scripts and requests besides, should an escape ever be missed.
"""

from collections.abc import Iterable
from typing import Any

from assay.tasks.report import price, sentences, wording
from assay.tasks.report.annotators import annotators_in_words
from assay.tasks.report.data import EstimateRow, ReportData
from assay.tasks.report.figures.convergence import convergence_figure, small_multiples, whole_pool_rows
from assay.tasks.report.joint import joint_rows
from assay.tasks.report.machine import rounds_and_reissue

_BAR = (150, 14)     # of the little interval drawings, in CSS pixels


def report_html(data: ReportData) -> bytes:
    """The page, as UTF-8."""
    import yaml
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("assay.tasks.report", "templates")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = loader.get_source(environment, "style.css")[0]
    first, *others = whole_pool_rows(data) or list(data.estimates[:1])
    lowest = _lowest(data.estimates)
    page = environment.get_template("page.html.j2").render(
        data=data,
        w=wording,
        sentences=sentences,
        style=Markup(style),  # noqa: S704  our own file
        headline=sentences.headline(data),
        verdict=sentences.verdict(data),
        first=_row(data, first, _lowest([first])),
        figure=convergence_figure(data, first),
        joint=joint_rows(data.joint) if data.joint else None,
        multiples=small_multiples(data, others) if others else None,
        measures=[_row(data, row, lowest) for row in whole_pool_rows(data)],
        segments=[_row(data, row, lowest) for row in data.estimates if row.segment is not None],
        scale_from=wording.plain(lowest),
        several=any(row.system or row.class_name for row in data.estimates),
        rounds=[
            (past, next((_row(data, r, lowest) for r in past.estimates if r.same(first)), None))
            for past in rounds_and_reissue(data)
        ],
        prices=[_price(data, row) for row in whole_pool_rows(data) if row.price_tag],
        annotators=None if data.annotators is None else annotators_in_words(
            data.annotators, whole_pool_rows(data)
        ),
        truth=_against_truth(data),
        random_sampling=[_against_random_sampling(data, row) for row in data.random_sampling],
        spec=yaml.safe_dump(dict(data.spec), sort_keys=False, allow_unicode=True, width=90),
    )
    return page.encode("utf-8", "replace")


def _lowest(rows: Iterable[EstimateRow]) -> float:
    """Where a drawn scale begins: at 0, or at −1 when anything on it is negative."""
    return -1.0 if any(x < 0 for row in rows for x in (row.value, row.lower) if x is not None) else 0.0


def _row(data: ReportData, row: EstimateRow, lowest: float) -> dict[str, Any]:
    """One line of a table: the estimate in words, and its place on a scale from `lowest` to 1."""

    def at(x: float | None) -> float | None:
        return None if x is None else round(2 + (x - lowest) / (1 - lowest) * (_BAR[0] - 4), 2)

    headline = row.same(data.estimates[0])
    return {
        "name": wording.measure_name(row.measure),
        "meaning": sentences.measure_meaning(row.measure, data),
        "of": ", ".join(part for part in (row.system, row.class_name) if part),
        "segment": row.segment,
        "undefined": row.undefined_reason,
        "value": wording.value(row),
        "interval": wording.interval(row),
        "half_width": wording.half_width(row),
        "kind": sentences.interval_kind(row.interval),
        "kind_name": row.interval,
        "confidence": wording.percent(row.confidence),
        "labels": row.labels,
        "revision": row.revision,
        "bar": {
            "width": _BAR[0],
            "height": _BAR[1],
            "value": at(row.value),
            "lower": at(row.lower),
            "upper": at(row.upper),
            "thresholds": [
                at(edge) for edge in (data.threshold_min, data.threshold_max) if edge is not None and headline
            ],
            "truth": at((data.truth or {}).get(row.measure)) if row.segment is None else None,
            "from": wording.plain(lowest),
        },
    }


def _price(data: ReportData, row: EstimateRow) -> dict[str, Any]:
    return {
        "name": wording.measure_name(row.measure),
        "random": price.random_labels(row),
        "model": price.rests_on_model(row),
        "unseen": price.unseen(row, data.positive),
        "wide": price.wide(row),
        "check": price.model_check(row),
    }


def _against_truth(data: ReportData) -> list[dict[str, Any]]:
    lines = []
    for row in whole_pool_rows(data):
        true = (data.truth or {}).get(row.measure)
        if true is None or row.system or row.class_name:
            continue
        digits = wording.digits_for(row)
        inside = (
            None if row.lower is None or row.upper is None else bool(row.lower <= true <= row.upper)
        )
        lines.append(
            {
                "name": wording.measure_name(row.measure),
                "value": "undefined" if row.value is None else wording.value(row),
                "interval": wording.interval(row),
                "truth": wording.number(true, digits),
                "error": "–" if row.value is None else wording.number(row.value - true, digits),
                "inside": {None: "no interval", True: "yes", False: "no"}[inside],
            }
        )
    return lines


def _against_random_sampling(data: ReportData, sample: Any) -> dict[str, Any]:
    needed = sample.labels_needed
    mine = next((row for row in whole_pool_rows(data) if row.measure == sample.measure), None)
    return {
        "name": wording.measure_name(sample.measure),
        "labels": sample.labels,
        "mine": "–" if mine is None else wording.half_width(mine),
        "half_width": f"{sample.half_width:.2g}",
        "positives": f"{sample.expected_positives:.2g}",
        "undefined": wording.percent(round(sample.chance_undefined, 3)),
        "target": None if sample.target_half_width is None else f"{sample.target_half_width:.2g}",
        "needed": None if needed is None else wording.count(price.two_figures(needed)),
    }
