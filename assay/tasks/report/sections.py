"""The sections of a report in their order: what each reads, when it is shown, and its template.

A section is made of the data by the file that draws it. One that has nothing to say is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.tasks.report import sentences, wording
from assay.tasks.report.annotators import AnnotatorsSection, annotators_in_words
from assay.tasks.report.best import BestSection, best_section
from assay.tasks.report.comparison import comparison_section
from assay.tasks.report.data import (
    ANNOTATORS,
    AUDIT,
    CEILING,
    ERROR_TEXTS,
    ERRORS,
    JUDGE_CHECKS,
    JUDGE_FIGURES,
    PAIRS,
    RANDOM_SAMPLING,
    RELIABILITY,
    SCORE_AXIS,
    STRENGTHS,
    TRUE_VALUES,
    ReportData,
    ReportFinding,
    rounds_and_reissue,
    whole_pool_rows,
)
from assay.tasks.report.estimate_figures import estimate_against_labels, joint_section, small_multiples
from assay.tasks.report.guesses import ErrorSection, errors_in_words, judge_checks_in_words, judges_in_words
from assay.tasks.report.lines import (
    EstimateLine,
    PriceLine,
    price_line,
    random_sampling_line,
    scale_of_bars,
    segment_tables,
    table_line,
    truth_lines,
)
from assay.tasks.report.outcomes import confusion_matrix, outcome_section, scales_alike
from assay.tasks.report.price import audit_in_words
from assay.tasks.report.ranks import ranks_section
from assay.tasks.report.rendering import Picture
from assay.tasks.report.score_figures import curves, labels_by_score, reliability_diagram
from assay.tasks.spec.strict_yaml import written_yaml

T = TypeVar("T")

_MOST_MULTIPLES = 12   # measures that are drawn besides the first


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of the page. Its template finds what it says under its name."""

    name: str
    says: Callable[[ReportData], object]   # nothing, or what is empty: it is not shown
    reads: tuple[ReportFinding[object], ...] = ()   # besides the standing: what a flow finds in the ledger
    apart: bool = True                     # an empty line stands before it in the source of the page

    @property
    def template(self) -> str:
        """The path of its template."""
        return f"sections/{self.name}.html.j2"


def leading_rows(data: ReportData) -> list[MeasureEstimate]:
    """The estimates of the whole pool, the leading one first: where the best of several systems is asked for,
    the value of the one that is ahead."""
    rows = whole_pool_rows(data) or list(data.estimates[:1])
    if data.best is None:
        return rows
    ahead = data.best.winner or data.best.systems[0].system, None, data.best.measure
    return sorted(rows, key=lambda row: (row.system, row.versus, row.measure) != ahead)


def zero_of_difference(row: MeasureEstimate) -> float | None:
    """What a difference is drawn against; None for what is no difference."""
    return None if row.versus is None else 0.0


def _best(data: ReportData) -> BestSection | None:
    return best_section(
        data.best, whole_pool_rows(data), STRENGTHS.value_in(data) or {}, finished=data.state == "finished",
        outcome=data.outcome,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuresSection:
    """All measures as a table and, but for the first, in small figures."""

    rows: Sequence[EstimateLine]
    several: bool            # systems, classes or questions, of which each row names its own
    one_scale: bool          # all are drawn on one scale
    scale_from: str
    scale_to: str
    multiples: Picture | None
    undrawn: int             # measures that are in the table alone


def _measures(data: ReportData) -> MeasuresSection | None:
    shown = [row for row in whole_pool_rows(data) if row.comparison is None]
    if len(shown) < 2:
        return None
    lowest, highest = scale_of_bars([row for row in data.estimates if row.comparison is None], data.outcome)
    others = leading_rows(data)[1:]
    drawn = others[:_MOST_MULTIPLES]
    return MeasuresSection(
        rows=[table_line(data, row, lowest, highest) for row in shown],
        several=any(row.system or row.class_name or row.question for row in data.estimates),
        one_scale=scales_alike(data), scale_from=wording.plain_number(lowest),
        scale_to=wording.plain_number(highest),
        multiples=small_multiples(data, drawn) if drawn else None, undrawn=len(others) - len(drawn),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PricesSection:
    """What labels bought beside each estimate, and what an audit would do where a wide interval stands."""

    rows: Sequence[PriceLine]
    audit: str | None


def _prices(data: ReportData) -> PricesSection | None:
    rows = [price_line(data, row) for row in whole_pool_rows(data) if row.price_tag]
    price = AUDIT.value_in(data)
    return PricesSection(rows=rows, audit=None if price is None else audit_in_words(price)) if rows else None


def _errors(data: ReportData) -> ErrorSection | None:
    errors, baseline = ERRORS.value_in(data), data.systems.baseline if data.systems else None
    return None if errors is None else errors_in_words(errors, baseline, ERROR_TEXTS.value_in(data) or {})


def _annotators(data: ReportData) -> AnnotatorsSection | None:
    quality = ANNOTATORS.value_in(data)
    return None if quality is None else annotators_in_words(
        quality, whole_pool_rows(data), CEILING.value_in(data) or ()
    )


def _rounds(data: ReportData) -> list[tuple[RoundEstimate, EstimateLine | None]]:
    lead, *_ = leading_rows(data)
    lowest, highest = scale_of_bars([row for row in data.estimates if row.comparison is None], data.outcome)
    return [
        (past, next((table_line(data, r, lowest, highest) for r in past.rows if r.same(lead)), None))
        for past in rounds_and_reissue(data)
    ]


def _read(finding: ReportFinding[T], says: Callable[[T], object]) -> Callable[[ReportData], object]:
    """What a section says that is made of one finding alone."""
    def finding_in_words(data: ReportData) -> object:
        value = finding.value_in(data)
        return None if value is None else says(value)

    return finding_in_words


SECTIONS = (
    Section(name="best", says=_best, reads=(STRENGTHS,), apart=False),
    Section(name="ranks", says=lambda data: ranks_section(data.ranks), apart=False),
    Section(name="comparison", says=comparison_section),
    Section(name="settled", says=lambda data: estimate_against_labels(data, leading_rows(data)[0]),
            reads=(TRUE_VALUES,)),
    Section(name="measures", says=_measures, reads=(TRUE_VALUES,)),
    Section(name="matrix", says=confusion_matrix),
    Section(name="outcome", says=outcome_section, reads=(PAIRS,)),
    Section(name="curves", says=curves),
    Section(name="joint", says=lambda data: joint_section(data.joint, data.outcome) if data.joint else None),
    Section(name="segments", says=segment_tables),
    Section(name="prices", says=_prices, reads=(AUDIT,), apart=False),
    Section(name="judges", says=_read(JUDGE_FIGURES, judges_in_words), reads=(JUDGE_FIGURES,)),
    Section(name="judge_checks", says=_read(JUDGE_CHECKS, judge_checks_in_words), reads=(JUDGE_CHECKS,)),
    Section(name="bins", reads=(SCORE_AXIS, RELIABILITY),
            says=lambda data: list(filter(None, (labels_by_score(data), reliability_diagram(data))))),
    Section(name="errors", says=_errors, reads=(ERRORS, ERROR_TEXTS)),
    Section(name="truth", says=truth_lines, reads=(TRUE_VALUES,)),
    Section(name="random_sampling", reads=(RANDOM_SAMPLING,), says=lambda data: [
        random_sampling_line(data, sample) for sample in RANDOM_SAMPLING.value_in(data) or ()
    ]),
    Section(name="annotators", says=_annotators, reads=(ANNOTATORS, CEILING), apart=False),
    Section(name="chosen", says=sentences.sampling, apart=False),
    Section(name="rounds", says=_rounds),
    Section(name="unsaid", says=lambda data: True),
    Section(name="provenance", says=lambda data: written_yaml(dict(data.spec), width=90)),
)
