"""Signals that cost no label: is this window's traffic unusual, and do its probabilities expect worse?

    rows           the number of items, by its logarithm
    repeats        the share of items that say what another item of the window says too
    psi, ks        the distribution of the scores (`stability`, `largest_gap`)
    predictions    the share predicted positive
    classes        with several classes, the shares of the predicted classes (total variation)
    new_classes, lost_classes, collapse
                   which classes are predicted at all (`evalcore.monitoring.predicted_classes`)
    expected       the measure as the probabilities have it
    feature NAME   the distribution of a feature (ks)
    segment NAME   the shares of a segment column's values (total variation)
    missing NAME   the share of items without a value in a column
    schema         columns of the source that came, went or changed their kind of value since the last window

Every window is compared with the ordinary windows before it: those in which the signal was not raised, or
was accepted since.  So a lasting change stays raised, and one outlier does not widen what counts as ordinary.
A signal is *raised* when three things hold: the
difference is beyond what ordinary windows show (`level_bound`, `distance_bound`), beyond what chance
explains in windows of this size, and large enough to matter.  All signals of an ordinary window together are
raised at most at `rate`, which they share.  With fewer than `fewest` earlier windows there is
nothing to learn from, and none is raised.  Only `schema` and `collapse` need no learning.

No signal is a verdict: drift of inputs is neither necessary nor sufficient for worse predictions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import exp, log, sqrt

import numpy as np
import scipy

from assay.evalcore.monitoring.predicted_classes import changed_classes, collapsed_to
from assay.evalcore.monitoring.profile import REPEATS, Profile
from assay.evalcore.monitoring.tracking import OwnDraws
from assay.evalcore.monitoring.verdicts import WatchedLimit
from assay.evalcore.types import Floats, Ints

LEAST_WINDOWS = 3   # earlier windows without which no spread can be estimated
MATTERS: Mapping[str, float] = {            # from where on a difference counts, by the first word of a name
    "rows": log(1.25), "repeats": 0.01,
    "psi": 0.1, "ks": 0.05, "predictions": 0.02, "expected": 0.01, "classes": 0.05, "feature": 0.05,
    "segment": 0.05, "missing": 0.01,
}
# what changes by leaps, such as a file that was cut, needs a small share of the rate; all others need 1
_LEAPS: Mapping[str, float] = {"rows": 0.25, "repeats": 0.25, "new_classes": 0.25, "lost_classes": 0.25}
NO_COLLAPSE = 1e-3    # chance that all items are of one class by chance, beyond which no collapse is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One number about a window against the windows before it, with what it stays below by chance, and
    whether it is raised. It costs no label, and is no verdict."""

    name: str
    value: float | None             # the difference; None: cannot be told, as said in `why`
    by_chance: float | None         # what ordinary windows stay below; None: too few windows to know
    raised: bool
    why: str = ""
    level: float | None = None      # of a share or a measure: what it is in this window,
    usual: float | None = None      # and what it was on average in the windows compared with


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A window as signals look at it: its profile, the seasons that it belongs to, and the signals for which
    it must not count as ordinary."""

    profile: Profile
    seasons: tuple[str, ...] = ()
    apart: frozenset[str] = frozenset()    # signals for which it says nothing about what is ordinary


@dataclass(frozen=True, slots=True, kw_only=True)
class _Distance:
    """How far a window is from others; what chance explains is `chance(rate)` times `unit`."""

    name: str
    of: Callable[[Profile, Sequence[Profile]], float]
    unit: Callable[[float], float]       # of 1/n + 1/m, the sizes that are compared
    chance: Callable[[float], float]     # exceeded at this rate by chance, in units


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """A number of a window, and its standard deviation over samples of the window's population."""

    name: str
    of: Callable[[Profile], float | None]
    spread: Callable[[Profile, Sequence[Profile]], float]   # of the difference between a window and others


def signals(
    windows: Sequence[Watched], *, rate: float, fewest: int, classes: Sequence[str] = ()
) -> list[Signal]:
    """All signals of the last window, against those before it in order of time.

    rate      chance that any signal of an ordinary window is raised
    fewest    ordinary windows without which none is raised (at least LEAST_WINDOWS are needed)
    classes   what the negative and the positive class are called, of two classes
    """
    new = windows[-1]
    comparable = [w for w in windows[:-1] if _edges(w.profile) == _edges(new.profile)]
    if not comparable:
        return []
    everything = [w.profile for w in (*comparable, new)]
    distances, levels = _distances(everything), _levels(everything)
    counted = ["new_classes", "lost_classes"] if new.profile.classes else []
    names = [
        *(signal_kind.name for signal_kind in distances),
        *(signal_kind.name for signal_kind in levels),
        *counted,
    ]
    total_rate = rate / sum(map(_weight, names))
    fewest_windows = max(fewest, LEAST_WINDOWS)

    def against(name: str) -> _Against:
        return _Against.windows(ordinary_windows(comparable, new, name), new, fewest_windows)

    return [
        *(
            _of_distance(signal_kind, against(signal_kind.name), total_rate * _weight(signal_kind.name))
            for signal_kind in distances
        ),
        *(
            _of_level(signal_kind, against(signal_kind.name), total_rate * _weight(signal_kind.name))
            for signal_kind in levels
        ),
        *(_of_classes(name, against(name), total_rate * _weight(name)) for name in counted),
        *_collapse(against("collapse").sequence, classes),
        *_schema(against("schema").sequence),
    ]


def ordinary_windows(before: Sequence[Watched], new: Watched, name: str) -> list[Watched]:
    """The windows that say what is ordinary for a signal of the new window.

    A window in which it was raised says nothing, with one exception: what ended by itself and comes again
    with the season, as weekends do, is ordinary for that season once SAME_SEASON of its windows are there.
    """
    standing = len(before)
    while standing and name in before[standing - 1].apart:
        standing -= 1
    season = new.seasons[:1]
    alike = [w for w in before[:standing] if season and w.seasons[:1] == season]
    same_season = alike if len(alike) >= SAME_SEASON else []
    return [
        w for w in before[:standing] if name not in w.apart or any(w is seasonal for seasonal in same_season)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Against:
    """A window and the ordinary ones before it, for one signal."""

    sequence: Sequence[Profile]          # the new one is the last
    among: Sequence[Sequence[int]]       # which earlier ones each is compared with
    few: str                             # why nothing can be told yet, or nothing

    @classmethod
    def windows(cls, ordinary: Sequence[Watched], new: Watched, fewest_windows: int) -> "_Against":
        few = (
            ""
            if len(ordinary) >= fewest_windows
            else f"{len(ordinary)} of {fewest_windows} windows to compare with"
        )
        return cls(
            sequence=[w.profile for w in (*ordinary, new)],
            among=earlier_windows([w.seasons for w in (*ordinary, new)]), few=few,
        )


def is_quiet(window_signals: Sequence[Signal]) -> bool:
    """Whether no signal of a window is raised."""
    return not any(signal.raised for signal in window_signals)


def _edges(profile: Profile) -> tuple[float, ...] | None:
    return None if profile.scores is None else profile.scores.edges


def _distances(sequence: Sequence[Profile]) -> list[_Distance]:
    new = sequence[-1]
    shared_features = [name for name, binned in new.features.items()
            if all(p.features.get(name, binned).edges == binned.edges and name in p.features
                   for p in sequence)]
    of_scores = [
        _Distance(name="psi", of=partial(_binned, stability, None), unit=float,
                  chance=lambda rate: float(scipy.special.chdtri(PSI_GROUPS - 1, rate))),
        _Distance(name="ks", of=partial(_binned, largest_gap, None), unit=_root, chance=_smirnov),
    ]
    of_classes = _Distance(name="classes", of=_other_classes, unit=_root,
                           chance=partial(_pearson, max(len(p.classes) for p in sequence)))
    return [
        *(of_scores if new.scores is not None else []),
        *([of_classes] if all(p.classes for p in sequence) else []),
        *(_Distance(name=f"feature {name}", of=partial(_binned, largest_gap, name), unit=_root,
                    chance=_smirnov) for name in shared_features),
        *(_Distance(name=f"segment {name}", of=partial(_moved, name), unit=_root,
                    chance=partial(_pearson, max(len(p.segments[name]) for p in sequence)))
          for name in new.segments if all(name in p.segments for p in sequence)),
    ]


def _levels(sequence: Sequence[Profile]) -> list[_Level]:
    new = sequence[-1]
    predictions = _Level(name="predictions", of=_predicted, spread=partial(_binomial, _predicted))
    rows = _Level(name="rows", of=lambda p: log(p.rows), spread=_of_rows)
    repeats = _Level(name="repeats", of=lambda p: p.repeats, spread=partial(_binomial, _repeats))
    expected = _Level(name="expected", of=lambda p: p.expected, spread=_of_expected)
    two_classes = new.predicted is not None
    return [
        rows,
        *([repeats] if all(p.repeats is not None for p in sequence) else []),
        *([predictions] if two_classes else []),
        *([expected] if two_classes or any(p.expected is not None for p in sequence) else []),
        *(_Level(name=f"missing {name}", of=partial(_missing, name),
                 spread=partial(_binomial, partial(_missing, name)))
          for name in new.missing if name != REPEATS and all(name in p.missing for p in sequence)),
    ]


def _of_distance(distance: _Distance, against: _Against, rate: float) -> Signal:
    sequence, among, few = against.sequence, against.among, against.few
    in_units, unit, value = [], 1.0, 0.0
    for k, earlier in enumerate(among):
        before = [sequence[j] for j in earlier]
        if before:
            value = distance.of(sequence[k], before)
            unit = distance.unit(1 / sequence[k].rows + 1 / sum(p.rows for p in before))
            in_units.append(value / unit)
    if few or len(in_units) < LEAST_WINDOWS:
        return Signal(name=distance.name, value=value, by_chance=None, raised=False, why=few)
    bound = unit * max(distance_bound(in_units[:-1], rate), distance.chance(rate))
    return Signal(
        name=distance.name, value=value, by_chance=bound, raised=value > max(bound, _matters(distance.name))
    )


def _of_level(level_kind: _Level, against: _Against, rate: float) -> Signal:
    signal = _level_signal(level_kind, against, rate)
    return _as_count(signal) if level_kind.name == "rows" else signal


def _as_count(signal: Signal) -> Signal:
    """The signal of a logarithm, told as numbers and as a relative change."""
    if signal.level is None or signal.usual is None:
        return signal
    sign = 1 if signal.level >= signal.usual else -1

    def change(distance: float | None) -> float | None:
        return None if distance is None else abs(exp(sign * distance) - 1)

    return replace(
        signal, value=change(signal.value), by_chance=change(signal.by_chance), level=exp(signal.level),
        usual=exp(signal.usual),
    )


def _level_signal(level_kind: _Level, against: _Against, rate: float) -> Signal:
    sequence, among, few = against.sequence, against.among, against.few
    level = level_kind.of(sequence[-1])
    past: list[float] = []
    usual, compared = None, 1
    for k, earlier in enumerate(among):
        of_k = level_kind.of(sequence[k])
        defined_levels = [x for j in earlier if (x := level_kind.of(sequence[j])) is not None]
        if not defined_levels:
            continue
        usual, compared = float(np.mean(defined_levels)), len(defined_levels)
        if of_k is not None and k < len(among) - 1:
            past.append((of_k - usual) / np.sqrt(1 + 1 / compared))
    if level is None:
        return Signal(name=level_kind.name, value=None, by_chance=None, raised=usual is not None and not few,
                      usual=usual, why="it is undefined for what the probabilities expect")
    value = None if usual is None else abs(level - usual)
    if value is None or few or len(past) < LEAST_WINDOWS - 1:
        reason = few or "too few of the windows before have a value"
        return Signal(
            name=level_kind.name, value=value, by_chance=None, raised=False, why=reason, level=level,
            usual=usual,
        )
    spread = level_kind.spread(sequence[-1], [sequence[j] for j in among[-1]])
    bound = max(level_bound(past, compared, rate), normal_bound(spread, rate))
    return Signal(name=level_kind.name, value=value, by_chance=bound, level=level, usual=usual,
                  raised=value > max(bound, _matters(level_kind.name)))


def _of_classes(name: str, against: _Against, rate: float) -> Signal:
    """Classes that are predicted now and never were before, or that no longer are."""
    *before, classes_now = [p.predicted_classes for p in against.sequence]
    if against.few:
        return Signal(name=name, value=None, by_chance=None, raised=False, why=against.few)
    changed = changed_classes(classes_now, before, rate)
    names = changed.new if name == "new_classes" else changed.lost
    return Signal(
        name=name, value=float(len(names)), by_chance=0.0, raised=bool(names), why=", ".join(names)
    )


def _collapse(sequence: Sequence[Profile], classes: Sequence[str]) -> list[Signal]:
    """Every item is predicted to be of one class, where the windows before had several."""
    *before, classes_now = [p.predicted_classes for p in sequence]
    if not classes_now or not any(before):
        return []
    collapsed = collapsed_to(classes_now, before, NO_COLLAPSE)
    if collapsed is None:
        return [Signal(name="collapse", value=0.0, by_chance=0.0, raised=False)]
    called = dict(zip(("negative", "positive"), classes, strict=False))
    predicted = called.get(collapsed.name, collapsed.name)
    message = f"every item is predicted {predicted!r}, before {collapsed.usual:.1%} of them"
    return [Signal(name="collapse", value=1.0, by_chance=0.0, raised=True, why=message, level=1.0,
                   usual=collapsed.usual)]


def _schema(sequence: Sequence[Profile]) -> list[Signal]:
    """A column that holds no value at all says nothing of its kind."""
    if len(sequence) < 2:
        return []
    before, columns_now = sequence[-2].columns, sequence[-1].columns
    came, went = sorted(columns_now.keys() - before.keys()), sorted(before.keys() - columns_now.keys())
    turned = [name for name in sorted(columns_now.keys() & before.keys())
              if columns_now[name] != before[name] and "nothing" not in (columns_now[name], before[name])]
    messages = [
        *(f"{name} is new" for name in came),
        *(f"{name} is gone" for name in went),
        *(f"{name} holds {columns_now[name]} values, before {before[name]}" for name in turned),
    ]
    changes = float(len(messages))
    return [Signal(name="schema", value=changes, by_chance=0.0, raised=changes > 0, why="; ".join(messages))]


def _weight(name: str) -> float:
    return _LEAPS.get(name, 1.0)


def _matters(name: str) -> float:
    return MATTERS[name.split(" ", 1)[0]]


def _binned(
    distance: Callable[..., float], feature: str | None, new_window: Profile, before: Sequence[Profile]
) -> float:
    def counts(p: Profile) -> Sequence[int]:
        binned = p.scores if feature is None else p.features[feature]
        return () if binned is None else binned.counts

    together = np.sum([counts(p) for p in before], axis=0)
    return distance(np.asarray(counts(new_window)), together)


def _moved(name: str, new_window: Profile, before: Sequence[Profile]) -> float:
    return moved_share(new_window.segments[name], [p.segments[name] for p in before])


def _other_classes(new_window: Profile, before: Sequence[Profile]) -> float:
    return moved_share(new_window.classes, [p.classes for p in before])


def _predicted(profile: Profile) -> float:
    return 0.0 if profile.predicted is None else profile.predicted


def _missing(name: str, profile: Profile) -> float:
    return profile.missing[name]


def _repeats(profile: Profile) -> float:
    return 0.0 if profile.repeats is None else profile.repeats


def _of_rows(new_window: Profile, before: Sequence[Profile]) -> float:
    """Of the logarithm of a count that comes by chance (Poisson)."""
    return sqrt(1 / new_window.rows + 1 / sum(p.rows for p in before))


def _root(sizes: float) -> float:
    return float(np.sqrt(sizes))


def _smirnov(rate: float) -> float:
    """Smirnov's limit law of the two-sample distance."""
    return float(np.sqrt(-np.log(rate / 2) / 2))


def _pearson(values: int, rate: float) -> float:
    """By Cauchy and Schwarz from Pearson's statistic, which is χ² with one degree less than values."""
    return float(np.sqrt(scipy.special.chdtri(max(values - 1, 1), rate)) / 2)


def _binomial(share_of: Callable[[Profile], float], new_window: Profile, before: Sequence[Profile]) -> float:
    n, m = new_window.rows, sum(p.rows for p in before)
    pooled = (n * share_of(new_window) + sum(p.rows * share_of(p) for p in before)) / (n + m)
    return float(np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)))


def _of_expected(new_window: Profile, before: Sequence[Profile]) -> float:
    return float(np.hypot(
        new_window.expected_spread, np.sqrt(sum(p.expected_spread**2 for p in before)) / len(before)
    ))


PSI_GROUPS = 10   # groups of bins, of about equal shares


def stability(counts_now: Ints, before: Ints) -> float:
    """PSI of items (B,) against items (B,) in the same bins.  Half an item stands for an empty group.

    How far apart two distributions are, from items counted in the same bins.

    psi     Σ (p_b − q_b) ln(p_b/q_b) over ten groups of bins with about equal shares of the windows before.
            Of two samples of one population of sizes n and m it behaves like (1/n + 1/m) χ²₉ (Yurdakul 2018)
    ks      the largest distance between the two distribution functions, at the edges of the bins; of two
            samples of one population of the order of √(1/n + 1/m)
    shares  half of Σ |p_b − q_b|: the share of items that would have to move (total variation)
    """
    share = before / before.sum()
    middle = np.cumsum(share) - share / 2
    group = np.minimum((middle * PSI_GROUPS).astype(np.int64), PSI_GROUPS - 1)
    ours, shares_before = (
        _shares(np.bincount(group, weights=x, minlength=PSI_GROUPS).astype(np.float64))
        for x in (counts_now, before)
    )
    used = np.bincount(group, minlength=PSI_GROUPS) > 0
    return float(((ours - shares_before) * np.log(ours / shares_before))[used].sum())


def largest_gap(counts_now: Ints, before: Ints) -> float:
    """The Kolmogorov-Smirnov distance of items (B,) from items (B,) in the same bins."""
    return float(np.abs(np.cumsum(counts_now / counts_now.sum()) - np.cumsum(before / before.sum())).max())


def moved_share(counts_now: Mapping[str, int], before: Sequence[Mapping[str, int]]) -> float:
    """The total variation distance of the values of one window from those of several together. Between 0 and
    1, half the sum of the absolute differences of shares."""
    names = sorted({*counts_now, *(name for counts in before for name in counts)})
    ours = np.array([counts_now.get(name, 0) for name in names], np.float64)
    counts_before = np.array([sum(counts.get(name, 0) for counts in before) for name in names], np.float64)
    return float(np.abs(ours / ours.sum() - counts_before / counts_before.sum()).sum() / 2)


def _shares(counts: Floats) -> Floats:
    return np.asarray(np.maximum(counts, 0.5) / counts.sum())


MEMORY = 8         # a window is compared with so many windows before it
MOST_COMPARISONS = 60   # past comparisons that count
SAME_SEASON = 4    # windows of the same season, from which on only they are compared
_LEAST_DISTANCE = 0.05   # a distance counts as at least this share of what chance explains


def earlier_windows(seasons: Sequence[Sequence[str]]) -> list[list[int]]:
    """For each window, which earlier ones it is compared with, the newest first; none for windows so long
    ago that their comparisons no longer count.

    seasons   of every window in order of time, from the finest to the coarsest; the last window is the new
              one, and decides how fine the seasons are

    How unusual a window is, by how unusual the windows before it were.

    Every earlier window is compared with the windows before it, as the new one is.  These past comparisons
    say what ordinary windows do, sampling, drift and all, so no law of the traffic is assumed:

      level      a number x of each window.  u_k = (x_k − mean of the windows before k) / √(1 + 1/n_k), n_k
                 their number.  For independent normal windows these are recursive residuals (Brown, Durbin
                 & Evans 1975): independent with one variance.  So |u| is held against Student's t times their
                 root mean square
      distance   a number that is never negative, such as PSI, in multiples of what chance alone explains.
                 Its
                 logarithm is held against the mean and the standard deviation of the past ones
                 (a prediction interval; one-sided)

    Both are exact for independent normal windows, at any number of them, and approximate otherwise.  A window
    that belongs to a season (a day of the week, an hour of the day) is compared with windows of the same
    season once SAME_SEASON of them are there.

        K   past comparisons
    """
    new = seasons[-1]
    finest = next(
        (i for i, name in enumerate(new) if sum(s[i] == name for s in seasons[:-1]) >= SAME_SEASON), len(new)
    )
    season_of_window = ["" if finest == len(new) else s[finest] for s in seasons]
    too_old = max(len(seasons) - 1 - MOST_COMPARISONS, 0)
    return [[] for _ in range(too_old)] + [
        list(islice((j for j in range(k - 1, -1, -1) if season_of_window[j] == season_of_window[k]), MEMORY))
        for k in range(too_old, len(seasons))
    ]


def level_bound(past: Sequence[float], compared: int, rate: float) -> float:
    """How far from the mean of `compared` windows an ordinary window stays, but for a share `rate`.

    past (K,) of the earlier windows: their distance from their mean, divided by √(1 + 1/n).  K ≥ 1.
    """
    recent = np.asarray(past[-MOST_COMPARISONS:])
    spread = float(np.sqrt((recent**2).mean() * (1 + 1 / compared)))
    return float(scipy.special.stdtrit(len(recent), 1 - rate / 2)) * spread


def normal_bound(spread: float, rate: float) -> float:
    """How far from its mean a normal number of this standard deviation stays, but for a share `rate`. A
    signal is raised beyond it, so `rate` is its false alarms."""
    return float(scipy.special.ndtri(1 - rate / 2)) * spread


def distance_bound(past: Sequence[float], rate: float) -> float:
    """What the distance of an ordinary window stays below, but for a share `rate` of them.

    past (K,) distances of earlier windows, each in multiples of what chance explains, as is the result.
    K ≥ 2.
    """
    logs = np.log(np.maximum(past[-MOST_COMPARISONS:], _LEAST_DISTANCE))
    scale = float(logs.std(ddof=1) * np.sqrt(1 + 1 / len(logs)))
    return float(np.exp(logs.mean() + float(scipy.special.stdtrit(len(logs) - 1, 1 - rate)) * scale))


FEWEST_BEFORE = 3    # windows, without which nothing is said of the record
_SURE = 1.645        # standard deviations beyond a limit, one in 20 by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The measure of a window as its probabilities have it, beside their record.

    What the model itself expects of a window, and how right that was in the windows before.

    The probabilities of a window's predictions say what the measure would be if they were true (`profile`).
    That costs no label, and is worth what its record says: in every window before, what was expected beside
    what the draws say alone, whose error is known and uncorrelated with that of other windows.

        lean    how far too high it was on average; a window's expectation is corrected by it
        off     the standard deviation of what is left beyond the draws' own error, that of `lean` included

    Where the record is good a window whose corrected expectation lies beyond its limit gets more labels.  It
    is no evidence, and never a verdict: a change that the probabilities do not follow cannot be seen in them.
    """

    value: float
    windows: int              # before it, that the record is of
    lean: float | None        # None where they are too few, as are the next two
    off: float | None
    corrected: float | None   # the value less what it leans


def expectation(value: float, before: Sequence[tuple[float, OwnDraws]]) -> Expectation:
    """Of this window's expected value, and (expected, drawn) of each window before."""
    if len(before) < FEWEST_BEFORE:
        return Expectation(value=value, windows=len(before), lean=None, off=None, corrected=None)
    apart = np.array([expected - drawn.value for expected, drawn in before])
    chance = float(np.mean([drawn.error**2 for _, drawn in before]))
    lean, spread = float(apart.mean()), float(apart.var(ddof=1))
    off = sqrt(max(spread - chance, 0.0) + max(spread, chance) / len(apart))
    return Expectation(value=value, windows=len(before), lean=lean, off=off, corrected=value - lean)


def beyond_limit(expectation: Expectation, limits: Sequence[WatchedLimit]) -> list[Signal]:
    """The signal that a window is expected beyond its limit, raised where the record bears it out. One signal
    at most, of the limit that is passed furthest."""
    if expectation.corrected is None or expectation.off is None or not limits:
        return []
    beyond = max(
        limit.value - expectation.corrected if limit.side == "below" else expectation.corrected - limit.value
        for limit in limits
    )
    by_chance = _SURE * expectation.off
    if beyond <= by_chance:
        return []
    return [Signal(
        name="beyond_limit", value=beyond, by_chance=by_chance, raised=True, level=expectation.corrected,
        usual=expectation.corrected + beyond if limits[0].side == "below" else expectation.corrected - beyond,
    )]
