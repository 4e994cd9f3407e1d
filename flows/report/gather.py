"""A report's data, gathered from the ledger; with it what an audit would cost."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime

from assay.evalcore.annotators.quality import AnnotatorQuality, nothing_known
from assay.evalcore.errors import AssayError, BadInput, plural
from assay.evalcore.estimators.random_sampling import RandomSampling
from assay.evalcore.forecast.audit import AuditPrice, audit_price
from assay.flows.record.ahead import extend_command, more_labels
from assay.flows.record.fold import fold
from assay.flows.record.opened import Opened
from assay.flows.record.standing import read_history
from assay.flows.report.labelled import (
    errors_found,
    labelled_items,
    predicted_and_labelled,
    probabilities_held,
    score_axis,
    texts_of_errors,
)
from assay.flows.revisions.revise import revised_fold
from assay.flows.weighted.estimate import read_judges
from assay.flows.weighted.sample import PoolSample, read_sample
from assay.tasks.effects import retried
from assay.tasks.ledger.closed_round import read_annotators
from assay.tasks.ledger.life import read_begun, read_closed, read_identity
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.revisions import last_revision, read_revised_annotators
from assay.tasks.report import PoolSummary, ReportData
from assay.tasks.report.annotators import pseudonymous
from assay.tasks.report.data import ComparedSystems
from assay.tasks.report.standing import Standing


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
    recorded = _from_ledger(opened, standing)
    return replace(recorded, truth=truth, random_sampling=random_sampling)


def _from_ledger(opened: Opened, standing: Standing) -> ReportData:
    """What the ledger knows."""
    opened = opened.as_of(standing.rounds)   # intervals are those of the estimates, of the last closed round
    spec, limit = opened.spec, opened.spec.limit
    weighted, more = _weighted(opened), more_labels(opened, standing)
    labelled = labelled_items(opened, weighted)
    errors = errors_found(opened, labelled)
    return ReportData(
        **{one.name: getattr(standing, one.name) for one in fields(standing)},
        pool=_pool(opened.manifest),
        spec=spec.to_json(),
        sampling_note=opened.question.method.sampling_note,
        serves_all=opened.statistics.serves_all,
        seed=spec.seed,
        versions=opened.versions,
        history=read_history(opened.ledger),
        limit_min=limit.min if limit else None,
        limit_max=limit.max if limit else None,
        labels_to_decide=more,
        extend_command=extend_command(opened, standing, more),
        notes=_notes(opened),
        target_half_width=spec.target.half_width,
        target_variance=spec.target.variance,
        outcome=spec.labels.outcome,
        pairs=predicted_and_labelled(opened, labelled),
        errors=errors,
        error_texts=texts_of_errors(opened, errors),
        score_axis=score_axis(opened, labelled),
        reliability=probabilities_held(opened, weighted),
        negative=spec.labels.offered[1] if spec.labels.positive_name else "",
        annotators=_annotators(opened, standing.rounds, standing.revision),
        judges=read_judges(opened, standing, weighted),
        systems=_systems(opened),
        audit_price=read_audit_price(opened, standing.revision),
        began=_text(read_begun(opened.ledger)),
        finished=_text(read_closed(opened.ledger, standing.rounds))
        if standing.state == "finished" else None,
    )


def _notes(opened: Opened) -> list[str]:
    start = opened.spec.warm_start
    if start is None or not start.file:
        return []
    many = plural(opened.evidence, "label")
    return [
        f"The choice of items started from {many} given elsewhere ({start.file}). Nobody knows how their "
        "items were chosen, so they are in no estimate."
    ]


def _weighted(opened: Opened) -> PoolSample | None:
    """The labelled items with their weights; None where they have none. A report says what it can:
    `assay estimate` says why there are no weights."""
    try:
        return read_sample(opened)
    except AssayError:
        return None


def _pool(manifest: Manifest) -> PoolSummary:
    return PoolSummary(
        n=manifest.rows,
        digest=manifest.digest,
        sources=[source.path for source in manifest.sources],
        predicted_positive=manifest.predicted_positives,
    )


def _systems(opened: Opened) -> ComparedSystems | None:
    names = list(opened.spec.pool.compared)
    if not names:
        return None
    kind = opened.spec.labels.outcome
    return ComparedSystems(
        baseline=names[0], others=names[1:], differing=opened.manifest.differing or {},
        positive=None if kind is None else kind.counted, all_pairs=opened.spec.pool.pairs is not None,
    )


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


# The price of an audit.

def read_audit_price(opened: Opened, revision: int) -> AuditPrice | None:
    """What more labels spread evenly would do to the wide interval; None where none is announced.

    revision: whose labels count; 0: those the rounds were closed with.
    """
    folded = retried(fold)(opened.ledger, opened.statistics)
    newest = retried(last_revision)(opened.ledger) if revision else None
    if newest is not None:
        folded = revised_fold(opened, folded, newest)
    return audit_price(opened.question, folded.state)
