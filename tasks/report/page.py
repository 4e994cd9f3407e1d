"""The report for people: one self-contained HTML page, no scripts, nothing fetched, fit to print.

Everything that came from outside (names, ids, classes, notes, the spec) is escaped by the template; only the
stylesheet is inserted as markup. Figures are images within the page. A content security policy in the page
forbids scripts and requests besides, should an escape ever be missed.
"""

from functools import partial

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.printed import printed
from assay.tasks.report import price, sentences, wording
from assay.tasks.report.annotators import annotators_in_words
from assay.tasks.report.comparison import comparison_section
from assay.tasks.report.confusion_matrix import confusion_matrix
from assay.tasks.report.convergence import estimate_against_labels, small_multiples, whole_pool_rows
from assay.tasks.report.data import ReportData
from assay.tasks.report.errors_found import errors_in_words
from assay.tasks.report.forecast import audit_in_words
from assay.tasks.report.joint import joint_section
from assay.tasks.report.judges import judges_in_words
from assay.tasks.report.machine import rounds_and_reissue
from assay.tasks.report.outcomes import outcome_section, scales_alike
from assay.tasks.report.rendering import render
from assay.tasks.report.score_figures import curves, labels_by_score, reliability_diagram
from assay.tasks.report.table_lines import (
    price_line,
    random_sampling_line,
    scale_of_bars,
    segment_tables,
    table_line,
    truth_lines,
)

_MOST_MULTIPLES = 12   # measures that are drawn besides the first


def _zero(row: MeasureEstimate) -> float | None:
    """What a difference is drawn against."""
    return None if row.versus is None else 0.0


def report_html(data: ReportData) -> bytes:
    """The page, as UTF-8."""
    import yaml

    first, *others = whole_pool_rows(data) or list(data.estimates[:1])
    beside = [row for row in data.estimates if row.comparison is None]
    lowest, highest = scale_of_bars(beside, data.outcome)
    line = partial(table_line, data, lowest=lowest, highest=highest)
    drawn = others[:_MOST_MULTIPLES]
    return render(
        "page.html.j2",
        data=data,
        waiting_for=printed(data.waiting_for),
        contents=[],      # (id, title) of the parts, in order, as the template comes to them
        w=wording,
        sentences=sentences,
        headline=sentences.headline(data),
        verdict=sentences.verdict_and_ground(data),
        first=table_line(data, first, *scale_of_bars([first], data.outcome), reference=_zero(first)),
        wide=price.wide_in_words(first, data.positive),
        figure=estimate_against_labels(data, first),
        comparison=comparison_section(data),
        joint=joint_section(data.joint) if data.joint else None,
        multiples=small_multiples(data, drawn) if drawn else None,
        undrawn=len(others) - len(drawn),
        matrix=confusion_matrix(data),
        outcome=outcome_section(data),
        one_scale=scales_alike(data),
        curves=curves(data),
        measures=[line(row) for row in whole_pool_rows(data) if row.comparison is None],
        segments=segment_tables(data),
        scale_from=wording.plain_number(lowest),
        scale_to=wording.plain_number(highest),
        several=any(row.system or row.class_name for row in data.estimates),
        rounds=[
            (past, next((line(r) for r in past.rows if r.same(first)), None))
            for past in rounds_and_reissue(data)
        ],
        judges=None if data.judges is None else judges_in_words(data.judges),
        errors=None if data.errors is None else errors_in_words(
            data.errors, data.systems.baseline if data.systems else None, data.error_texts
        ),
        by_score=labels_by_score(data),
        reliability=reliability_diagram(data),
        audit=None if data.audit_price is None else audit_in_words(data.audit_price),
        prices=[price_line(data, row) for row in whole_pool_rows(data) if row.price_tag],
        annotators=None if data.annotators is None else annotators_in_words(
            data.annotators, whole_pool_rows(data)
        ),
        truth=truth_lines(data),
        random_sampling=[random_sampling_line(data, row) for row in data.random_sampling],
        spec=yaml.safe_dump(dict(data.spec), sort_keys=False, allow_unicode=True, width=90),
    )
