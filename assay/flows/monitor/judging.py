"""The next verdict of a monitor: the evidence of a window's finished evaluation, judged with the last
windows by `evalcore.monitoring.judging`; and how many labels the next window gets.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.stopping import labels_to_decide, widening
from assay.evalcore.monitoring.earlier_windows import RecentMean, recent_draws, recent_mean
from assay.evalcore.monitoring.evidence import WindowSample
from assay.evalcore.monitoring.judging import (
    NewestVerdicts,
    Rules,
    WatchedRules,
    judge_places,
    judge_questions,
    judged_without_tests_alone,
)
from assay.evalcore.monitoring.sizing import Sizing, fixed_limits, labels_to_alarm, labels_to_ok, size_of
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.flows.monitor.versions import Versions, rules_by_question
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.record.standing import reissued_at
from assay.flows.revisions import revised_fold
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.closed_round import ClosedRound, last_revision
from assay.tasks.ledger.monitors import SupportingEvaluation, WindowVerdict, is_question, last_certain, latest
from assay.tasks.ledger.record import Ledger
from assay.tasks.spec.monitor import MonitorSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowEvidence:
    """What the finished evaluation of one window says: a sample for each question, the size of the window,
    the items nobody was asked about, and what the record of a verdict has to name."""

    rests_on: SupportingEvaluation         # for the record of the verdict
    samples: Mapping[str | None, WindowSample]    # by question; under None where one is asked
    pool: int              # items in the window
    left: int              # of them, that nobody was asked about
    interval: str          # the kind of interval of its estimates
    wider: float           # times that intervals are wider once it is extended
    # they rest on a label model that took labels of an earlier evaluation, or are over clusters, of which
    # other windows may hold items too
    dependent: bool


@retried
def is_finished(ledger: Ledger, follow_ups: int) -> bool:
    """Whether an evaluation has ended after so many extensions, and its ending is sealed."""
    return ledger.exists(layout.final_seal_after(ledger.name, follow_ups))


@retried
def revision_of(ledger: Ledger) -> int:
    """How often the labels of an evaluation were corrected since its rounds were closed."""
    revision = last_revision(ledger)
    return revision.number if revision else 0


@retried
def read_window_evidence(ledger: Ledger, follow_ups: int) -> WindowEvidence:
    """Read what an evaluation said when it had finished after so many extensions, by its newest revision.
    Raises DamagedRecord where the ledger says nothing of so many."""
    opened = open_evaluation(ledger.store, ledger.name)
    later = opened.extensions[follow_ups:]
    opened = opened.extended(opened.extensions[:follow_ups])
    folded = fold(ledger, opened.statistics, rounds=later[0].rounds if later else inf)
    look = folded.looks[-1]
    reissued, revision = reissued_at(ledger, look), last_revision(ledger)
    if reissued is None or revision is None:
        return _evidence(opened, folded, folded.closed, look, revision=0)
    closed_rounds = revised_fold(opened, folded, revision).closed
    return _evidence(opened, folded, closed_rounds, reissued.known, revision=reissued.number)


def _evidence(
    opened: Opened, folded: Fold, closed: Sequence[ClosedRound], look: RoundEstimate, revision: int
) -> WindowEvidence:
    """closed: the rounds, with the labels of now."""
    estimates = (*look.estimates, *look.segments)
    before = opened.statistics.known_before(round_.answered() for round_ in closed)
    rounds = [round_.labelled(opened.segments, known) for round_, known in zip(closed, before, strict=True)]
    samples = opened.statistics.window_samples(
        rounds, estimates, opened.segments, settled=look.exhausted, planned=opened.spec.budget.labels
    )
    by_own_draws = opened.spec.labels.by_cell and opened.method.capabilities.draws_alone
    looks, extensions = opened.question.method.holds_at_every_look, len(opened.extensions)
    return WindowEvidence(
        rests_on=SupportingEvaluation(
            evaluation=opened.name, revision=revision, follow_ups=extensions, labels=look.labels,
            bought=look.labels - folded.reused,
        ),
        samples=samples,
        pool=opened.manifest.rows,
        left=0 if look.exhausted else opened.manifest.rows - folded.asked - folded.reused,
        interval=look.estimates[0].interval,
        wider=1.0 if looks else widening(opened.spec.target.confidence, extensions),
        dependent=any(
            (opened.manifest.inherited is not None and sample.dependent and not by_own_draws)
            or sample.of_population
            for sample in samples.values()
        ),
    )


def judge(
    versions: Versions, window: str, evidence: WindowEvidence, before: Sequence[WindowVerdict],
    recorded: WindowVerdict | None = None,
) -> WindowVerdict:
    """The verdict on this window by the version of its time, given all verdicts before it.

    recorded: the verdict that is verified by this one; None where it is new.
    """
    version = versions.version_of(window)
    newest = latest(before)
    earlier = newest.get(window)
    standing = versions.comparable(window, newest)
    in_breach: set[str | None] = set()
    for question in {measure.question for measure in version.spec.watched}:
        # a breach of other limits is not confirmed by one window that lies beyond the new ones
        alike = [verdict for verdict in before if versions.same_evidence(window, verdict.window, question)]
        places = {
            place.segment for verdict in alike for place in (verdict.overall, *verdict.segments)
            if place.question == question
        }
        in_breach |= {place for place in places if _breach_stands(alike, place)}
    without_tests = judged_without_tests_alone(
        place for verdict in (*before, *filter(None, [recorded]))
        for place in (verdict.overall, *verdict.segments)
    )
    rules = rules_by_question(version.spec, "none" if without_tests else versions.alone)
    overall, segments = _judged(version.spec, rules, window, evidence, standing, in_breach)
    sample = evidence.samples[overall.question]
    return WindowVerdict(
        number=len(before) + 1,
        window=window,
        version=version.number,
        reissue=0 if earlier is None else earlier.reissue + 1,
        measure=overall.measure or sample.full_name,
        interval=evidence.interval,
        pool=evidence.pool,
        rests_on=evidence.rests_on,
        overall=overall,
        segments=segments,
        labels_to_decide=max((
            labels for place in (overall, *segments) if place is overall or is_question(place)
            if (labels := _labels_to_decide(place, evidence)) is not None
        ), default=None),
        dependent=evidence.dependent,
        parts=sample.parts(),
        recent=recent_means(versions, window, (overall, *segments), evidence.dependent, newest),
    )


def _judged(
    spec: MonitorSpec, rules: Mapping[str | None, Rules], window: str, evidence: WindowEvidence,
    standing: NewestVerdicts, in_breach: Collection[str | None],
) -> tuple[PlaceVerdict, tuple[PlaceVerdict, ...]]:
    if None in rules:
        return judge_places(rules[None], window, evidence.samples[None], standing, in_breach)
    questions = [
        WatchedRules(question=measure.question, measure=measure.name, rules=rules[measure.question])
        for measure in spec.watched if measure.question is not None
    ]
    return judge_questions(questions, window, evidence.samples, standing, in_breach)


def _labels_to_decide(place: PlaceVerdict, evidence: WindowEvidence) -> int | None:
    """About how many more labels would take the interval off a limit, or call a breach beyond it.

    Intervals after an extension are wider, and that is reckoned with.
    """
    if place.verdict != "inconclusive" or evidence.left < 1:
        return None
    m = place.measured
    edges = [limit.value for limit in fixed_limits(place.limits)]
    labels = labels_to_decide(
        m.value, m.lower, m.upper, edges=edges, labels=m.labels, pool=evidence.pool, widening=evidence.wider
    )
    labels = labels_to_alarm(place, evidence.pool) if labels is None else labels
    labels = labels_to_ok(place, evidence.pool) if labels is None else labels
    return None if labels is None else min(labels, evidence.left)


def _breach_stands(before: Sequence[WindowVerdict], segment: str | None) -> bool:
    certain = last_certain(before, segment)
    return certain is not None and certain.verdict == "breach"


def recent_means(
    versions: Versions, window: str, places: Sequence[PlaceVerdict], dependent: bool,
    newest: Mapping[str, WindowVerdict],
) -> tuple[RecentMean, ...]:
    """The mean of every place over the last windows, this one included.

    places      what is said of this window
    dependent   whether this window's estimates rest on labels of an earlier one
    newest      the newest verdict on each window so far
    """
    before = [newest[name] for name in _last(versions, newest, window, -1)]
    # the first of them may depend on windows that are not among them
    joined = dependent or any(verdict.dependent for verdict in before[1:])
    means = []
    for place in places:
        by_window = {
            verdict.window: earlier for verdict in before
            for earlier in (verdict.overall, *verdict.segments) if earlier.segment == place.segment
        } | {window: place}
        estimates = {name: p.measured for name, p in by_window.items()}
        if not (joined and before):
            means.append(recent_mean(place.segment, estimates, "independent"))
            continue
        by_draws = recent_draws(place.segment, {
            name: (p.measured, p.drawn) for name, p in by_window.items() if p.measured.value is not None
        })
        means.append(by_draws or recent_mean(place.segment, estimates, "dependent"))
    return tuple(mean for mean in means if mean is not None)


def size_for(versions: Versions, window: str, verdicts: Sequence[WindowVerdict]) -> Sizing | None:
    """What the labels of a quiet window are decided from: `verdicts`, of windows before it.

    None where the spec fixes them, and where those windows say nothing.
    """
    spec = versions.version_of(window).spec
    if spec.monitor.sizing == "fixed":
        return None
    newest = latest(verdicts)
    before = {name: newest[name] for name in _last(versions, newest, window)}
    sizes = [
        size_of(
            {name: place for name, verdict in before.items() if (place := verdict.of_question(question))},
            promise=rules.promise(rules.error_rate),
            verdicts=len(verdicts), smallest=spec.quiet_labels, largest=spec.budget.labels,
        )
        for question, rules in rules_by_question(spec).items()
    ]
    # a reading answers all questions: as many as the one takes that needs most
    return max((size for size in sizes if size is not None), key=lambda size: size.labels, default=None)


def _last(
    versions: Versions, newest: Mapping[str, WindowVerdict], window: str, further: int = 0
) -> list[str]:
    """The last windows of the same model before this one that have a verdict, in order of time.

    further: how many more than the spec's `recent`
    """
    count, model = versions.version_of(window).spec.monitor.recent + further, versions.model_of(window)
    same = sorted(name for name in newest if name < window and versions.model_of(name) == model)
    return same[-count:] if count else []
