"""The predictions of a window against those of the windows before."""

from collections.abc import Mapping, Sequence

from assay.evalcore.monitoring.calendar import Window
from assay.evalcore.monitoring.signals import Signal, Watched, signals
from assay.evalcore.monitoring.traffic.profile import Profile
from assay.evalcore.monitoring.traffic.seasons import seasons
from assay.flows.monitor.versions import Versions
from assay.tasks.ledger.monitors import Opening


def known_profiles(
    versions: Versions, window: Window, openings: Mapping[str, Sequence[Opening]]
) -> dict[str, Profile]:
    """The profile of each window of the same model, by name; the first says where the edges of bins lie."""
    model = versions.model_of(window.name)
    return {
        name: profile for name in sorted(openings)
        if versions.model_of(name) == model and (profile := _profile(openings[name])) is not None
    }


def signals_of_traffic(
    versions: Versions, window: Window, profile: Profile, known: Mapping[str, Profile]
) -> list[Signal]:
    """The signals of a window against earlier ones of the same model; known: by `known_profiles`."""
    spec = versions.of(window.name).spec
    before = [
        Watched(profile=known[name], seasons=seasons(spec.window(name)))
        for name in known if name < window.name
    ]
    new = Watched(profile=profile, seasons=seasons(window))
    watch = spec.monitor
    return signals([*before, new], rate=watch.signal_rate, fewest=watch.signal_windows)


def _profile(openings: Sequence[Opening]) -> Profile | None:
    """Of a window's newest predictions."""
    return next((one.profile for one in reversed(openings) if one.profile is not None), None)
