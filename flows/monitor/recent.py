"""The last windows together: their mean, and how many labels the next window gets."""

from collections.abc import Mapping, Sequence

from assay.evalcore.monitoring.recent import RecentMean, recent_mean
from assay.evalcore.monitoring.sizing import Sizing, size_of
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.flows.monitor.versions import Versions, rules_of
from assay.tasks.ledger.monitors import WindowVerdict, latest


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
    found = (
        recent_mean(
            place.segment,
            {**{verdict.window: earlier.measured for verdict in before
                for earlier in (verdict.overall, *verdict.segments) if earlier.segment == place.segment},
             window: place.measured},
            "dependent" if joined and before else "independent",
        )
        for place in places
    )
    return tuple(mean for mean in found if mean is not None)


def size_for(versions: Versions, window: str, verdicts: Sequence[WindowVerdict]) -> Sizing | None:
    """What the labels of a quiet window are decided from: `verdicts`, of windows before it.

    None where the spec fixes them, and where those windows say nothing.
    """
    spec = versions.of(window).spec
    if spec.monitor.sizing == "fixed":
        return None
    newest = latest(verdicts)
    return size_of(
        {name: newest[name].overall for name in _last(versions, newest, window)},
        promise=rules_of(spec).promise(spec.monitor.error_rate),
        verdicts=len(verdicts), smallest=spec.quiet_labels, largest=spec.budget.labels,
    )


def _last(
    versions: Versions, newest: Mapping[str, WindowVerdict], window: str, further: int = 0
) -> list[str]:
    """The last windows of the same model before this one that have a verdict, in order of time.

    further: how many more than the spec's `recent`
    """
    count, model = versions.of(window).spec.monitor.recent + further, versions.model_of(window)
    same = sorted(name for name in newest if name < window and versions.model_of(name) == model)
    return same[-count:] if count else []
