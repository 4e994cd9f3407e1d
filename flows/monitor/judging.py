"""The next verdict of a monitor: what the ledger holds, judged by `evalcore.monitoring.judging`."""

from collections.abc import Sequence

from assay.evalcore.evaluation.stopping import labels_to_decide
from assay.evalcore.monitoring.judging import judge_places
from assay.evalcore.monitoring.sizing import fixed_limits, labels_to_alarm
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.flows.monitor.evidence import PartEvidence
from assay.flows.monitor.recent import recent_means
from assay.flows.monitor.versions import Versions, rules_of
from assay.tasks.ledger.monitors import WindowVerdict, last_certain, latest


def judge(
    versions: Versions, window: str, parts: Sequence[PartEvidence], before: Sequence[WindowVerdict]
) -> WindowVerdict:
    """The verdict on this window by the version of its time, given all verdicts before it."""
    version = versions.of(window)
    newest = latest(before)
    earlier = newest.get(window)
    standing = versions.comparable(window, newest)
    # a breach of other limits is not confirmed by one window that lies beyond the new ones
    alike = [verdict for verdict in before if versions.same_evidence(window, verdict.window)]
    first = parts[0]
    samples = [part.sample for part in parts]
    places = [None, *first.sample.places]
    in_breach = {place for place in places if _breach_stands(alike, place)}
    overall, segments = judge_places(rules_of(version.spec), window, samples, standing, in_breach)
    return WindowVerdict(
        number=len(before) + 1,
        window=window,
        version=version.number,
        reissue=0 if earlier is None else earlier.reissue + 1,
        measure=first.sample.full_name,
        interval=first.interval,
        pool=first.pool,
        parts=tuple(part.part for part in parts),
        overall=overall,
        segments=segments,
        labels_to_decide=_labels_to_decide(overall, first.pool),
        dependent=first.dependent,
        recent=recent_means(versions, window, (overall, *segments), first.dependent, newest),
    )


def _labels_to_decide(place: PlaceVerdict, pool: int) -> int | None:
    """About how many more labels would take the interval off a limit, or call a breach beyond it."""
    if place.verdict != "inconclusive":
        return None
    m = place.measured
    edges = [limit.value for limit in fixed_limits(place.limits)]
    more = labels_to_decide(m.value, m.lower, m.upper, edges=edges, labels=m.labels, pool=pool)
    return labels_to_alarm(place, pool) if more is None else more


def _breach_stands(before: Sequence[WindowVerdict], segment: str | None) -> bool:
    certain = last_certain(before, segment)
    return certain is not None and certain.verdict == "breach"
