"""A report's data, gathered from the ledger: what all sections share, and by `SECTION_READERS` what each
reads besides (`tasks.report.sections`). Each room of the ledger is walked once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime

from assay.evalcore.annotators.quality import AnnotatorQuality, nothing_known
from assay.evalcore.errors import AssayError, BadInput, plural
from assay.evalcore.estimators.random_sampling import RandomSampling
from assay.evalcore.evaluation.questions import asks_several
from assay.evalcore.forecast.audit import AuditPrice, audit_price
from assay.evalcore.measures.contenders import bradley_terry
from assay.flows.judges import read_judge_checks, read_judges
from assay.flows.record.ahead import extend_command, more_labels
from assay.flows.record.fold import fold
from assay.flows.record.opened import Opened
from assay.flows.record.standing import read_history
from assay.flows.report.ceiling import read_ceiling
from assay.flows.report.labelled import (
    errors_found,
    labelled_items,
    predicted_and_labelled,
    probabilities_held,
    score_axis,
    texts_of_errors,
)
from assay.flows.revisions import revised_fold
from assay.flows.weighted import PoolSample, read_sample
from assay.tasks.effects import retried
from assay.tasks.ledger.closed_round import last_revision, read_annotators, read_revised_annotators
from assay.tasks.ledger.life import read_begun, read_closed, read_identity
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.monitors import window_of
from assay.tasks.ledger.record import understood
from assay.tasks.report.annotators import pseudonymous
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
    AskedTargets,
    ComparedSystems,
    PoolSummary,
    ReportData,
    ReportFinding,
)
from assay.tasks.report.standing import Standing
from assay.tasks.report.wording import cost_in_words
from assay.tasks.spec.goals import LabelsSoFar


class NothingToReport(BadInput):
    """No round has closed yet, so there is no number to report."""


@retried
def report_data(
    opened: Opened,
    standing: Standing,
    *,
    truth: Mapping[str, float] | None = None,
    random_sampling: Sequence[RandomSampling] = (),
) -> ReportData:
    """Everything the report of an evaluation says.

    truth             exact values by measure, where they are known (the demo)
    random_sampling   what random sampling would have given, by measure

    Raises NothingToReport before the first round has closed.
    """
    if standing.known is None:
        raise NothingToReport(
            f"evaluation {opened.name!r} has no estimate yet: its first round is still open; "
            f"run `assay advance {opened.name}` when people have answered"
        )
    with understood(opened.name):
        return _from_ledger(opened, standing, {TRUE_VALUES: truth, RANDOM_SAMPLING: random_sampling})


class ReportReading:
    """What is read once of the ledger for all sections of a report."""

    def __init__(self, opened: Opened, standing: Standing) -> None:
        self.opened, self.standing = opened, standing
        self.folded = retried(fold)(opened.ledger, opened.statistics)
        self.sample = self._sample()
        # of several questions an item may be right about one and wrong about another
        self.many_questions = asks_several(opened.question)
        self.labelled = [] if self.many_questions else labelled_items(opened, self.sample)
        self.errors = None if self.many_questions else errors_found(opened, self.labelled)

    def _sample(self) -> PoolSample | None:
        """The labelled items with their weights; None where they have none. A report says what it can:
        `assay estimate` says why there are no weights."""
        try:
            return read_sample(self.opened, folded=self.folded)
        except AssayError:
            return None


SECTION_READERS: Mapping[ReportFinding[object], Callable[[ReportReading], object]] = {
    ANNOTATORS: lambda read: _annotators(read.opened, read.standing.rounds, read.standing.revision),
    CEILING: lambda read: [] if read.many_questions else read_ceiling(read.opened, read.sample),
    AUDIT: lambda read: _audit_price(read),
    JUDGE_FIGURES: lambda read: read_judges(read.opened, read.standing, read.sample),
    JUDGE_CHECKS: lambda read: read_judge_checks(read.opened, read.sample),
    ERRORS: lambda read: read.errors,
    ERROR_TEXTS: lambda read: texts_of_errors(read.opened, read.errors),
    SCORE_AXIS: lambda read: score_axis(read.opened, read.labelled),
    RELIABILITY: lambda read: probabilities_held(read.opened, read.sample),
    PAIRS: lambda read: predicted_and_labelled(read.opened, read.labelled),
    STRENGTHS: lambda read: _strengths(read.opened, read.sample),
}
"""Who finds what sections read; what is known outside the ledger alone has no reader."""


def _from_ledger(
    opened: Opened, standing: Standing, known: Mapping[ReportFinding[object], object]
) -> ReportData:
    """The report as far as the ledger tells, and what is known besides."""
    opened = opened.as_of(standing.rounds)   # intervals are those of the estimates, of the last closed round
    spec, labels, reading = opened.spec, more_labels(opened, standing), ReportReading(opened, standing)
    findings = {**{finding: read(reading) for finding, read in SECTION_READERS.items()}, **known}
    variance = spec.target.variance
    return ReportData(
        **{field.name: getattr(standing, field.name) for field in fields(standing)},
        pool=_pool(opened.manifest),
        spec=spec.to_json(),
        sampling_note=opened.method.sampling_note,
        serves_all=opened.statistics.serves_all,
        seed=spec.seed,
        versions=opened.versions,
        history=read_history(opened.ledger),
        labels_to_decide=labels,
        extend_command=extend_command(opened, standing, labels),
        notes=_notes(opened, standing),
        window_of=window_of(opened.ledger.store, opened.name),
        targets=AskedTargets(
            half_width=spec.first_half_width, variance=variance if isinstance(variance, float) else None,
            named=spec.target.named, of_variances=isinstance(variance, dict),
        ),
        outcome=spec.labels.outcome,
        negative=spec.labels.offered[1] if spec.labels.positive_name else "",
        systems=_systems(opened),
        began=_text(read_begun(opened.ledger)),
        finished=_text(read_closed(opened.ledger, standing.rounds))
        if standing.state == "finished" else None,
        findings={finding.name: value for finding, value in findings.items() if value is not None},
    )


def _of_held(opened: Opened, choice: LabelsSoFar, known_before: int) -> str:
    """What is said of labels that were there before: how they were drawn, and which of them are in no
    estimate."""
    drawn = (
        f"a simple random sample of each stratum of {choice.strata!r}" if choice.strata is not None else
        "a simple random sample of the pool" if choice.weight is None else
        f"drawn with the chances in {choice.weight!r}"
    )
    text = (
        f"{plural(opened.n_held, 'label')} of the pool {'was' if opened.n_held == 1 else 'were'} there "
        f"before ({choice.source or opened.spec.pool.source}): {drawn}, as the spec says. They are the "
        "first round, and no budget counts them."
    )
    idle = opened.n_held - known_before
    if known_before and idle:
        text += f" {plural(idle, 'label is', 'labels are')} of items that no measure looks at."
    aside = "" if opened.begun.held is None else opened.begun.held.aside.in_words
    return f"{text} Left out: {aside}." if aside else text


def _notes(opened: Opened, standing: Standing) -> list[str]:
    start, held = opened.spec.warm_start, opened.spec.labels_so_far
    bought = standing.labels - standing.known_before
    notes = [f"Spent: {spent}."] if (spent := cost_in_words(bought, opened.spec.ownership)) else []
    if held is not None:
        notes.append(_of_held(opened, held, standing.known_before))
    if start is None or not start.file:
        return notes
    many = plural(opened.evidence, "label")
    return [
        *notes,
        f"The choice of items started from {many} given elsewhere ({start.file}). Nobody knows how their "
        "items were chosen, so they are in no estimate."
    ]


def _pool(manifest: Manifest) -> PoolSummary:
    return PoolSummary(
        n=manifest.rows,
        digest=manifest.digest,
        sources=[source.path for source in manifest.sources],
        predicted_positive=manifest.predicted_positives,
    )


def _systems(opened: Opened) -> ComparedSystems | None:
    names = list(opened.spec.pool.system_names)
    if not names:
        return None
    kind = opened.spec.labels.outcome
    return ComparedSystems(
        baseline=names[0], others=names[1:], differing=opened.manifest.differing or {},
        positive=None if kind is None else kind.counted,
        all_pairs=opened.spec.pool.pairs is not None or opened.spec.target.best_of is not None,
    )


def _strengths(opened: Opened, sample: PoolSample | None) -> dict[str, float]:
    """The log strengths of Bradley and Terry; none where no rows compare two systems."""
    rows = opened.spec.pool.contenders
    if rows is None or len(rows.columns) < 2 or sample is None:
        return {}
    strength = bradley_terry(sample.items, sample.kind, sample.sample.label, sample.sample.weight)
    return dict(zip(rows.names, strength, strict=False))


def _annotators(opened: Opened, number: int, revision: int) -> AnnotatorQuality:
    """How the people did up to a round, or by the newest revision, under names of the report's own."""
    ledger = opened.ledger
    record = read_revised_annotators(ledger, revision) if revision else None
    record = record or read_annotators(ledger, number)
    if record is None:
        return nothing_known(number, opened.spec.rule, opened.spec.desk.annotators_per_item)
    return pseudonymous(record, read_identity(ledger))


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _audit_price(read: ReportReading) -> AuditPrice | None:
    """What more labels spread evenly would do to the wide interval, by the labels that the standing counts;
    None where none is announced."""
    newest = retried(last_revision)(read.opened.ledger) if read.standing.revision else None
    folded = read.folded if newest is None else revised_fold(read.opened, read.folded, newest)
    return audit_price(read.opened.question, folded.state)
