"""How the people who label do, in words: agreement, gold, errors, and the estimates without those errors.

People appear under names made for the report, so that nobody can look them up at the desk.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from assay.evalcore.annotators.agreement import Agreement, Spread
from assay.evalcore.annotators.error_rates import Corrected
from assay.evalcore.annotators.quality import AnnotatorQuality, AskedAgain, Person, RateInterval
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.report import wording

_STATISTICS = {
    "fleiss-kappa": "Fleiss’ κ, all",
    "krippendorff-alpha": "Krippendorff’s α, all",
    "cohen-kappa": "Cohen’s κ",
}
_BY_TRUTH, _WHATEVER_THE_TRUTH = ("False positives", "Misses"), ("Wrong answers",)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLine:
    """One person who labelled, under the name made for the report, as texts for the page: answers, skips,
    agreement with the labels, gold answered right, and error rates in the order of the section's
    headings."""

    name: str
    answers: str
    skips: str
    agreed: str              # with the label
    gold: str                # answered right
    errors: tuple[str, ...]  # under the section's headings


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementLine:
    """One statistic of agreement as texts for the page: its name, the items it rests on, the share of
    answers that agreed, its value, and its interval."""

    name: str
    items: str
    agreed: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedLine:
    """A measure without annotators' errors, beside the estimate that takes every label for the truth."""

    name: str
    naive: str
    naive_interval: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingLine:
    """A measure of the system, and of one person held against another."""

    name: str
    system: str
    people: str
    interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorsSection:
    """Everything the template prints in the section about people who label: a line for each person,
    statistics of agreement, estimates without their errors, and what one person reaches against another.
    `note` says why there is no correction."""

    note: str | None
    answers_of: str
    error_headings: tuple[str, ...]
    known_from: str
    people: tuple[PersonLine, ...]
    agreement: tuple[AgreementLine, ...]
    again: AskedAgain
    spread: str | None       # how far apart the numbers lie that people gave one item
    differ: int              # labels of closed rounds that would come out otherwise today
    estimates: tuple[CorrectedLine, ...]
    ceiling: tuple[CeilingLine, ...]


def annotators_in_words(
    quality: AnnotatorQuality, estimates: Sequence[MeasureEstimate], ceiling: Sequence[MeasureEstimate] = ()
) -> AnnotatorsSection:
    """The section in words; estimates: the naive ones; ceiling: of one person held against another. Texts for
    a table of people with their error rates, and sentences on what correction would change."""
    correction = quality.correction
    newest = max((row.revision for row in estimates), default=0)
    naive = {row.measure: row for row in estimates}
    return AnnotatorsSection(
        note=correction.reason,
        answers_of=_answers_of(quality.revision, newest) if quality.people else "",
        error_headings=_BY_TRUTH if _two_classes(quality) else _WHATEVER_THE_TRUTH,
        known_from=" and ".join(correction.known_from),
        people=tuple(_person(person, by_truth=_two_classes(quality)) for person in quality.people),
        agreement=tuple(_agreement(a) for a in quality.agreement),
        again=quality.asked_again,
        spread=None if quality.spread is None else _spread(quality.spread),
        differ=len(quality.would_differ),
        estimates=tuple(_corrected(e, naive.get(e.measure)) for e in correction.estimates)
        if correction.reason is None else (),
        ceiling=_ceiling_lines(ceiling, estimates),
    )


def _ceiling_lines(
    ceiling: Sequence[MeasureEstimate], estimates: Sequence[MeasureEstimate]
) -> tuple[CeilingLine, ...]:
    """Beside the system's own estimate of the same class, where there is one system."""
    several = len({row.system for row in estimates}) > 1
    own = {} if several else {(row.measure, row.class_name): row for row in estimates}
    return tuple(
        _ceiling(row, own.get((row.measure, row.class_name)) or own.get((row.measure, None)))
        for row in ceiling
    )


def _ceiling(row: MeasureEstimate, system: MeasureEstimate | None) -> CeilingLine:
    named = system is None or system.class_name is not None
    of_class = f" of {row.class_name}" if row.class_name and named else ""
    return CeilingLine(
        name=wording.measure_name(row.measure) + of_class,
        system="–" if system is None else wording.value_or_reason(system),
        people=wording.value_or_reason(row),
        interval=wording.interval(row),
    )


def _spread(spread: Spread) -> str:
    return (
        f"{wording.plural(spread.items, 'item was', 'items were')} answered by several people. An answer "
        f"typically lies {spread.typical:.3g} from the mean of its item, and the two answers furthest apart "
        f"differ by {spread.largest:.3g}."
    )


def _answers_of(revision: int, newest: int) -> str:
    """Which answers the section goes by, where there is more than one set of them."""
    if not newest:
        return ""
    if revision:
        return f"By the answers of revision {revision}; answers to gold are those of the closing."
    return f"By the answers the rounds were closed with: there is no record for revision {newest}."


def _two_classes(quality: AnnotatorQuality) -> bool:
    return all(len(person.gold.answers) == 2 for person in quality.people)


def _person(person: Person, *, by_truth: bool) -> PersonLine:
    gold, labels, errors = person.gold, person.labels, person.errors
    met, wrong = sum(gold.answers), sum(gold.wrong)
    rates = (person.wrong,) if not by_truth else (
        errors.false_positive if errors else None, errors.miss if errors else None
    )
    return PersonLine(
        name=person.annotator,
        answers=wording.grouped_digits(person.answers),
        skips=wording.grouped_digits(person.skips),
        agreed=f"{labels.agreed} of {labels.items}",
        gold=f"{met - wrong} of {met}" if met else "–",
        errors=tuple(_rate(rate) for rate in rates),
    )


def _rate(rate: RateInterval | None) -> str:
    return "unknown" if rate is None else (
        f"{wording.percent(round(rate.mean, 3))} "
        f"({wording.percent(round(rate.lower, 3))} to {wording.percent(round(rate.upper, 3))})"
    )


def _agreement(a: Agreement) -> AgreementLine:
    return AgreementLine(
        name=_STATISTICS[a.statistic] + (f": {' and '.join(a.between)}" if a.between else "") + (
            f": {a.tag}" if a.tag else ""
        ),
        items=wording.grouped_digits(a.items),
        agreed="–" if a.agreed is None else wording.percent(round(a.agreed, 3)),
        value=f"undefined: {a.undefined_reason}" if a.value is None else wording.number(a.value, 2),
        interval=_ends(a, 2),
    )


def _corrected(corrected: Corrected, naive: MeasureEstimate | None) -> CorrectedLine:
    return CorrectedLine(
        name=wording.measure_name(corrected.measure),
        naive="–" if naive is None else wording.value_or_reason(naive),
        naive_interval="–" if naive is None else wording.interval(naive),
        value=corrected.undefined_reason
        or wording.estimate_text(corrected.value, corrected.lower, corrected.upper),
        interval=_ends(corrected),
    )


def _ends(figure: Agreement | Corrected, places: int | None = None) -> str:
    has_ends = figure.lower is not None
    return wording.ends_in_words(figure.value, figure.lower, figure.upper, places=places) if has_ends else "–"


def pseudonymous(quality: AnnotatorQuality, salt: str) -> AnnotatorQuality:
    """The same with everybody's name replaced, and in the order of the new names.

    Names made for the report. A name is a digest of the desk's name of the person and of the evaluation's own
    random word, so the same person has one name in an evaluation and another one in the next.
    """
    people = [replace(person, annotator=name_in_report(person.annotator, salt)) for person in quality.people]
    return replace(
        quality,
        people=tuple(sorted(people, key=lambda person: person.annotator)),
        agreement=tuple(
            replace(a, between=tuple(name_in_report(who, salt) for who in a.between))
            for a in quality.agreement
        ),
    )


def name_in_report(annotator: str, salt: str) -> str:
    """The name of one person; salt: the evaluation's own random word."""
    return "person-" + sha256(f"{len(salt)}:{salt}:{annotator}".encode()).hexdigest()[:8]
