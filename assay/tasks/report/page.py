"""The report for people: one self-contained HTML page, no scripts, nothing fetched, fit to print.

Everything that came from outside (names, ids, classes, notes, the spec) is escaped by the template; only the
stylesheet is inserted as markup. Figures are images within the page. A content security policy in the page
forbids scripts and requests besides, should an escape ever be missed.
"""


from assay.evalcore.printed import printed
from assay.tasks.report import price, sentences, wording
from assay.tasks.report.data import ReportData
from assay.tasks.report.lines import scale_of_bars, table_line
from assay.tasks.report.rendering import render
from assay.tasks.report.sections import SECTIONS, leading_rows, zero_of_difference


def report_html(data: ReportData) -> bytes:
    """The report as one self-contained HTML page in UTF-8; the same data gives the same bytes. Pictures and
    style stand inside it, and it loads nothing."""
    return render("page.html.j2", **report_values(data))


def report_values(data: ReportData) -> dict[str, object]:
    """What the template of the page's body is filled in with: the head of the page, and under its name what
    each section says. Name in the template -> value."""
    lead = leading_rows(data)[0]
    says = {section.name: section.says(data) for section in SECTIONS}
    return {
        "data": data,
        "waiting_for": printed(data.waiting_for),
        "contents": [],      # (id, title) of the parts, in order, as the template comes to them
        "w": wording,
        "sentences": sentences,
        "headline": sentences.headline(data),
        "verdict": sentences.verdict_and_ground(data),
        "first": table_line(
            data, lead, *scale_of_bars([lead], data.outcome), reference=zero_of_difference(lead)
        ),
        "wide": price.wide_in_words(lead, data.positive),
        "sections": SECTIONS,
        "says": says,
        **says,
    }
