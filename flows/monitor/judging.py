"""The next verdict of a monitor: what the ledger holds, judged by `evalcore.monitoring.judging`."""

from collections.abc import Sequence

from assay.evalcore.evaluation.stopping import labels_to_decide
from assay.evalcore.monitoring.judging import judge_places
from assay.evalcore.monitoring.limits import DropRule, Rules
from assay.flows.monitor.evidence import PartEvidence
from assay.tasks.ledger.monitors import WindowVerdict, last_certain, latest
from assay.tasks.spec.monitor import MonitorSpec


def judge(
    spec: MonitorSpec, window: str, parts: Sequence[PartEvidence], before: Sequence[WindowVerdict]
) -> WindowVerdict:
    """The verdict on this window, given all verdicts before it."""
    newest = latest(before)
    earlier = newest.get(window)
    standing = {
        name: {place.segment: place for place in (one.overall, *one.segments)}
        for name, one in newest.items()
    }
    first = parts[0]
    samples = [part.sample for part in parts]
    places = [None, *first.sample.places]
    in_breach = {place for place in places if _breach_stands(before, place)}
    overall, segments = judge_places(rules_of(spec), window, samples, standing, in_breach)
    limits = [limit for limit in overall.limits if limit.name != "previous"] or list(overall.limits)
    more = None
    if overall.verdict == "inconclusive":
        measured = overall.measured
        more = labels_to_decide(
            measured.value, measured.lower, measured.upper,
            edges=[limit.value for limit in limits], labels=measured.labels, pool=first.pool,
        )
    return WindowVerdict(
        number=len(before) + 1,
        window=window,
        revision=0 if earlier is None else earlier.revision + 1,
        measure=first.sample.measure.name,
        interval=first.interval,
        pool=first.pool,
        parts=tuple(part.part for part in parts),
        overall=overall,
        segments=segments,
        labels_to_decide=more,
    )


def rules_of(spec: MonitorSpec) -> Rules:
    """What the spec holds its windows against."""
    watch, threshold = spec.monitor, spec.threshold
    drop = watch.drop
    return Rules(
        floor=None if threshold is None else threshold.min,
        ceiling=None if threshold is None else threshold.max,
        drop=None if drop is None else DropRule(by=drop.by, than=drop.than, windows=drop.windows),
        reference=spec.reference.name,
        error_rate=watch.error_rate,
        test=watch.test,
        correction=watch.correction,
    )


def _breach_stands(before: Sequence[WindowVerdict], segment: str | None) -> bool:
    certain = last_certain(before, segment)
    return certain is not None and certain.verdict == "breach"
