"""The profile of a window's predictions, and its signals against the windows before."""

from collections.abc import Mapping, Sequence

from assay.evalcore.monitoring.calendar import Window
from assay.evalcore.monitoring.signals import Signal, Watched, signals
from assay.evalcore.monitoring.traffic.profile import Profile
from assay.evalcore.monitoring.traffic.seasons import seasons
from assay.flows.monitor.versions import Versions
from assay.tasks.ledger.monitors import Opening
from assay.tasks.pool.window_traffic import WindowTraffic


def profiled(
    versions: Versions, window: Window, traffic: WindowTraffic, openings: Mapping[str, Sequence[Opening]]
) -> tuple[Profile, list[Signal]]:
    """The profile of a window, and its signals against earlier windows of the same model."""
    spec, model = versions.of(window.name).spec, versions.model_of(window.name)
    known = {
        name: profile for name in sorted(openings)
        if versions.model_of(name) == model and (profile := _profile(openings[name])) is not None
    }
    profile = traffic.profile(next(iter(known.values()), None))
    before = [
        Watched(profile=known[name], seasons=seasons(spec.window(name)))
        for name in known if name < window.name
    ]
    new = Watched(profile=profile, seasons=seasons(window))
    watch = spec.monitor
    return profile, signals([*before, new], rate=watch.signal_rate, fewest=watch.signal_windows)


def _profile(openings: Sequence[Opening]) -> Profile | None:
    """Of a window's newest predictions."""
    return next((one.profile for one in reversed(openings) if one.profile is not None), None)
