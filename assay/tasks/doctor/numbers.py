"""The usable rows of a source, as arrays for the statistics; and which of two classes is the positive one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.errors import BadInput, did_you_mean
from assay.evalcore.forecast.prognosis import PoolColumns
from assay.evalcore.outcomes.class_names import (
    NEGATIVE_WORDS,
    ClassReader,
    class_value,
    guessed_positive,
    meaning_of,
    two_class_values,
)
from assay.evalcore.pool.strata import log_odds
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Array, Bools, Floats, Ints
from assay.tasks.doctor.one_per_class import class_in_name
from assay.tasks.doctor.roles import OpenChoice, Roles
from assay.tasks.doctor.scan import Scan

_SPELLED = {"1", "true", "0", "false"}      # what a spec takes for any two classes
_UNNAMED = ("positive", "negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNames:
    """How the file spells its two classes, (positive, negative), in predictions and in labels, and the
    question that stays open where the positive one was guessed."""

    predicted: tuple[str, str]           # (positive, negative)
    labelled: tuple[str, str]            # the same of labels; as predicted, where there are none
    question: OpenChoice | None            # where the positive class was guessed

    @property
    def misread(self) -> str | None:
        """The value of predictions or labels that a spec would read as the other class; None for none. Words
        such as `no` and `false` mean the negative class to a spec."""
        reader = ClassReader(self.words, two_class_values(*self.words))
        pairs = (self.predicted, self.labelled)
        return next((pair[0] for pair in pairs if reader.read(pair[0]) == self.words[1]), None)

    @property
    def words(self) -> tuple[str, str]:
        """(positive, negative) for a spec: names rather than 1 and 0, of labels rather than predictions. 1
        and 0 where no column has names."""
        for pair in (self.labelled, self.predicted):
            if pair != _UNNAMED and not set(map(class_value, pair)) <= _SPELLED:
                return pair
        return self.labelled if meaning_of(self.labelled[0]) == "negative" else _UNNAMED


def class_names(scan: Scan, roles: Roles) -> ClassNames:
    """Of predictions and labels of two classes. Raises BadInput for more of either."""
    for what, counts in (("predictions", scan.predictions), ("labels", scan.labels)):
        if len(counts) > 2:
            raise BadInput(f"{what} hold {len(counts)} classes")
    scale = scan.score if len(scan.score) else scan.probability
    words, name = (roles.positive, roles.negative), roles.probability or roles.score
    if len(scan.prediction_names) == 1 and {*scan.prediction_names} < {*scan.label_names}:
        names, codes = scan.label_names, scan.label      # which class is never predicted, the labels say
    else:
        names, codes = scan.prediction_names, scan.prediction
    rarer = (scan.label_names, scan.label) if {*names} <= {*scan.label_names} else (names, codes)
    signs = _Signs(means=_means(scale, codes, names), counts=_counts(*rarer), what="scores")
    of_label = ClassReader(scan.label_names).read(words[0] or "")
    if names and of_label is not None and ClassReader(names).read(of_label) is None:
        is_so = (scan.label == _place(scan.label_names, of_label)).astype(np.float64)
        signs = _Signs(means=_means(is_so, codes, names), counts=signs.counts, what=f"share of {of_label!r}",
                       decides=True)
    predicted, question = _ordered(names, words, signs, name)
    labelled = predicted
    if scan.label_names and (not names or not set(scan.label_names) <= set(predicted)):
        decided = len(scan.prediction_names) > 0
        if decided:
            scale = (scan.prediction == _place(scan.prediction_names, predicted[0])).astype(np.float64)
            words = (words[0] or (predicted[0] if meaning_of(predicted[0]) else None), words[1])
        signs = _Signs(
            means=_means(scale, scan.label, scan.label_names),
            counts=_counts(scan.label_names, scan.label), decides=decided,
            what="share of positive predictions" if decided else "scores",
        )
        labelled, of_labels = _ordered(scan.label_names, words, signs, name)
        question = question or of_labels
    classes = {*scan.prediction_names, *scan.label_names}
    if roles.positive is None and scan.label_names and len(classes) == 1 and meaning_of(*classes) is None:
        (alone,) = classes
        question = OpenChoice(
            option="--positive", taken=alone, choices=(alone,), decides=True,
            asks=f"which class is the positive one? Every prediction and every label is {alone!r}.",
            otherwise="--positive NAME, if the positive class is the one that is not there",
        )
    return ClassNames(predicted=predicted, labelled=labelled, question=question)


def refuse_unknown_positive(scan: Scan, roles: Roles) -> None:
    """Raises BadInput for a positive class that no row has, where every column shows both of its classes. The
    message lists the classes that there are."""
    columns = [names for names in (scan.prediction_names, scan.label_names) if len(names)]
    classes = sorted({name for names in columns for name in names})
    word = roles.positive
    if word is None or not columns or (ClassReader(classes).read(word) or _meant_by(word, None, classes)):
        return
    if all(len(names) > 1 for names in columns):
        raise BadInput(f"--positive: no row has the class {word!r}; "
                       f"{did_you_mean(word, classes)}the classes are "
                       f"{', '.join(map(repr, classes))}")


def _ordered(
    names: Sequence[str], words: tuple[str | None, str | None], signs: "_Signs", scale: str | None
) -> tuple[tuple[str, str], OpenChoice | None]:
    """(positive, negative): as told, by its own name, by the name of the scale, by the scale, the rarer one;
    and a question where names do not say which."""
    if not names:
        return _UNNAMED, None
    reader = ClassReader(names)
    positive = reader.read(words[0] or "")
    if positive is None and words[0] is not None:
        positive = _meant_by(words[0], words[1], names)
    if positive is None and (len(names) == 1 or reader.read(words[1] or "")):
        positive = words[0]
    if not signs.decides:
        positive = positive or guessed_positive(names) or class_in_name(scale or "", names)
    if positive is None and len(names) == 1 and class_value(names[0]).casefold() in NEGATIVE_WORDS:
        return (_OPPOSITES[class_value(names[0]).casefold()], names[0]), None
    if positive is not None:
        other_names = [name for name in names if name != positive]
        return (positive, other_names[0] if other_names else words[1] or f"not {positive}"), None
    first_class, *other_names = sorted(names, key=signs.key)
    pair = (first_class, other_names[0] if other_names else f"not {first_class}")
    question = OpenChoice(
        option="--positive", taken=first_class, choices=tuple(sorted(names)),
        asks=f"which class is the positive one? ({first_class!r} {signs.why})",
    )
    return pair, question if len(names) > 1 else None


def _meant_by(positive: str, negative: str | None, names: Sequence[str]) -> str | None:
    """The one of these names that means the positive class though it is not its name: 1 for yes, and for
    any class where a spec names both."""
    if negative is not None:
        reader = ClassReader((positive, negative), two_class_values(positive, negative))
        return next((name for name in names if reader.read(name) == positive), None)
    meaning = meaning_of(positive)
    return next((name for name in names if meaning is not None and meaning_of(name) == meaning), None)


_OPPOSITES = {"0": "1", "false": "true", "no": "yes", "n": "y", "negative": "positive", "neg": "pos"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signs:
    """What tells the positive class where names do not."""

    means: Mapping[str, float]      # of the scale, by class; none where there is no scale
    counts: Mapping[str, int]
    what: str
    decides: bool = False           # what the names go together with is known, and decides over the names

    def key(self, name: str) -> tuple[float, int, str]:
        """The least is the positive class: the one that scores higher, else the rarer one. Names break ties,
        so the choice is the same everywhere."""
        return -self.means.get(name, 0.0), self.counts.get(name, 0), name

    @property
    def why(self) -> str:
        """A verb and its object."""
        return f"has the higher {self.what}" if len({*self.means.values()}) > 1 else "is the rarer one"


def _counts(names: Sequence[str], codes: Ints) -> dict[str, int]:
    """How often each class is there."""
    counted = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
    return dict(zip(names, counted, strict=True))


def _means(scale: Floats, codes: Ints, names: Sequence[str]) -> dict[str, float]:
    """Mean of the scale by class; none where there is no scale."""
    if not len(scale) or not len(codes):
        return {}
    return {name: _mean(scale[codes == i]) for i, name in enumerate(names)}


def _mean(values: Floats) -> float:
    usable: Array = values[np.isfinite(values)]
    return float(usable.mean()) if len(usable) else 0.0


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UsableRows:
    """The N rows that can be used, as arrays (N,): score, probability of the positive class, prediction, and
    label where every row has one. Besides, what the file calls the classes and which threshold explains
    the predictions."""

    score: Floats
    probability: Floats          # as supplied, or expit(score)
    prediction: Array            # (N,) 0 or 1
    label: Array | None          # (N,) 0 or 1, where every usable row has one
    classes: ClassNames          # what the file calls them
    threshold: float | None      # the scale's value above which exactly these are predicted positive, if any

    def columns(self, *, supplied: bool) -> PoolColumns:
        """For a forecast; supplied: whether the probabilities are the file's own."""
        pool = self.labelled()
        return PoolColumns(
            score=self.score, probability=self.probability, prediction=self.prediction,
            confusion=None if pool is None else pool.confusion(), supplied=supplied,
        )

    def labelled(self) -> LabelledPool | None:
        """The rows as a pool of which the true labels are known; None where they are not known of every
        usable row."""
        if self.label is None:
            return None
        return LabelledPool(
            score=self.score, probability=self.probability, prediction=self.prediction, label=self.label
        )


def usable_rows(scan: Scan, roles: Roles) -> UsableRows:
    """The usable rows: a prediction alone is a score of two values.

    Raises BadInput where there is no scale, no decision, or nothing left.
    """
    alone = roles.score is None and roles.probability is None
    if alone and roles.prediction is None:
        raise BadInput("there is no score, no probability and no prediction")
    threshold: float | None = None
    classes = class_names(scan, roles)
    if roles.prediction is not None:
        code = {name: i for i, name in enumerate(scan.prediction_names)}
        prediction = (scan.prediction == code.get(classes.predicted[0], -2)).astype(np.int64)
    scale = prediction - 0.5 if alone else scan.score if roles.score is not None else scan.probability
    usable = np.isfinite(scale)
    if roles.probability is not None:
        usable &= np.isfinite(scan.probability)
    if roles.prediction is not None:
        usable &= scan.prediction >= 0
        threshold = _separating(scale[usable], prediction[usable])
    else:
        threshold = threshold_of(scan, roles)
        above = scale > threshold if roles.score is not None else scale >= threshold
        prediction = above.astype(np.int64)
    if not usable.any():
        raise BadInput("no row has everything that is needed")
    chance = scan.probability if roles.probability is not None else scipy.special.expit(scale)
    is_score = alone or roles.score is not None
    score = scale if is_score else log_odds(scale)
    label = None
    if roles.label is not None and not scan.missing_labels and scan.label_names:
        label = _as_codes(scan, classes.labelled)
    return UsableRows(
        score=score[usable], probability=chance[usable], prediction=prediction[usable],
        label=None if label is None else label[usable], classes=classes, threshold=threshold,
    )


def threshold_of(scan: Scan, roles: Roles) -> float:
    """Of a file without predictions: as told, else the even chance of a scale from 0 to 1 or to 100 (a
    percentage that goes beyond 50), else 0, as of a margin."""
    if roles.threshold is not None:
        return roles.threshold
    scale = scan.score if roles.score is not None else scan.probability
    values = scale[np.isfinite(scale)]
    if roles.score is None or not len(values):
        return 0.5
    high = float(values.max())
    if values.min() < 0 or high > 100 or 1 < high <= 50:
        return 0.0
    return 0.5 if high <= 1 else 50.0


def or_at_it(roles: Roles) -> str:
    """What a sentence on what lies above the threshold has to add: `or at it` of a probability, which is
    positive at the threshold already; nothing of a score, which is not."""
    return "" if roles.score is not None else " or at it"


def _separating(scale: Floats, prediction: Array) -> float | None:
    """A threshold that explains every prediction, halfway between the groups; None where none does."""
    positive: Bools = prediction == 1
    if positive.all() or not positive.any():
        return None
    low, high = float(scale[positive].min()), float(scale[~positive].max())
    return (low + high) / 2 if low > high else None


def _as_codes(scan: Scan, labelled: tuple[str, str]) -> Array:
    """(N,) labels as 0 and 1."""
    table = np.array([int(name == labelled[0]) for name in scan.label_names], np.int64)
    return np.where(scan.label >= 0, table[scan.label], 0)
