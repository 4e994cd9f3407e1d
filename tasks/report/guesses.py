"""What the labels say of the pool's own guesses, in words: of its judges, and of predictions that were
wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.evalcore.evaluation.stopping import MIN_LABELS
from assay.evalcore.weighted.judges import JudgeFigure, Judges
from assay.evalcore.weighted.sample import LabelledItem, WrongPredictions
from assay.tasks.report import wording
from assay.tasks.report.price import two_figures

FIGURES = {
    "agreement": "agrees with the label",
    "true_positive_rate": "true positive rate",
    "false_positive_rate": "false positive rate",
    "kappa": "kappa: agreement beyond chance",
    "weighted_kappa": "kappa with quadratic weights: agreement beyond chance",
    "correlation": "correlation with the label",
    "offset": "judge minus label, on average",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLine:
    """One figure of a judge."""

    judge: str
    figure: str
    value: str
    interval: str
    undefined: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSection:
    """What the template needs."""

    rows: tuple[JudgeLine, ...]
    lines: tuple[str, ...]


def judges_in_words(judges: Judges) -> JudgeSection:
    """The table, and whether the judges saved anything."""
    rows = [_line(judge.name, figure) for judge in judges.judges for figure in judge.figures]
    return JudgeSection(rows=tuple(rows), lines=(*_explained(judges), _saved(judges)))


def _line(judge: str, figure: JudgeFigure) -> JudgeLine:
    known = (figure.value, figure.lower, figure.upper)
    return JudgeLine(
        judge=judge, figure=FIGURES[figure.figure], value=wording.estimate_text(*known),
        interval="exact" if figure.interval == "exact" else wording.ends_in_words(*known),
        undefined=figure.undefined_reason,
    )


def _explained(judges: Judges) -> list[str]:
    name = wording.measure_name(judges.measure)
    return [
        f"With items drawn at random, “{judge.name}” alone would spare up to "
        f"{wording.percent(round(judge.explains, 2))} of the labels that {name} takes. An evaluation also "
        "asks where the judge is least sure, and may save more."
        for judge in judges.judges if judge.explains is not None
    ]


def _saved(judges: Judges) -> str:
    name = wording.measure_name(judges.measure)
    if judges.random_labels is None or judges.saved is None or judges.saved_at_most is None:
        return f"Whether it saved labels is not known: {judges.reason}."
    needed = wording.plural(two_figures(judges.random_labels), "label")
    bought = wording.plural(judges.labels, "label")
    if judges.saved <= 0:
        return (f"It saved nothing: {bought} were bought, and a random sample would have known {name} as "
                f"well from about {needed}.")
    saved = (f"With the judge, and items chosen by it, {bought} did the work of about {needed} of a random "
             f"sample: {wording.percent(round(judges.saved, 2))} were saved.")
    if judges.labels <= MIN_LABELS:
        return (f"{saved} A judge that never errs would have saved no more, as no evaluation meets its "
                f"target with fewer than {MIN_LABELS} labels; it would have made the interval narrower.")
    return (
        f"{saved} A judge that never errs could save at most "
        f"{wording.percent(round(judges.saved_at_most, 2))}, as no evaluation meets its target with fewer "
        f"than {MIN_LABELS} labels."
    )


# The errors among the labelled items.

_LONGEST = 240    # characters of an item that are shown
_WHY: Mapping[str, str] = {
    "per draw": "drawn, with chance {} at each draw",
    "inclusion": "drawn, with chance {} to be in the round",
    "census": "everything that was left was asked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """A labelled item that was predicted wrongly, as the page prints it."""

    item: str
    text: str           # what people saw of it; empty where that is not known
    predicted: str
    label: str
    score: str
    probability: str
    round: str
    why: str
    weight: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSection:
    """What the template needs; texts, scores, probabilities, weights: whether there are such columns."""

    caption: str
    rows: tuple[ErrorLine, ...]
    texts: bool
    scores: bool
    probabilities: bool
    weights: bool


def errors_in_words(
    errors: WrongPredictions, baseline: str | None, texts: Mapping[str, str] | None = None
) -> ErrorSection:
    """The table, and how many errors there are.

    baseline   of the systems compared, whose errors these are
    texts      item -> what people saw of it
    """
    texts = texts or {}
    return ErrorSection(
        caption=_caption(errors, baseline),
        rows=tuple(_error_line(one, texts.get(one.item_id, "")) for one in errors.items),
        texts=any(one.item_id in texts for one in errors.items),
        scores=any(one.score is not None for one in errors.items),
        probabilities=any(one.probability is not None for one in errors.items),
        weights=any(one.weight is not None for one in errors.items),
    )


def _caption(errors: WrongPredictions, baseline: str | None) -> str:
    whose = "predicted" if baseline is None else f"“{baseline}” predicts"
    labelled = wording.plural(errors.labelled, "labelled item")
    if not errors.count:
        return f"None: {labelled}, all with the label that {whose if baseline else 'was predicted'}."
    said = [f"{wording.grouped_digits(errors.count)} of {labelled} "
            f"{'is' if errors.count == 1 else 'are'} labelled otherwise than {whose}"]
    if errors.weight is not None:
        said.append("by their weights they stand for about "
                    f"{wording.grouped_digits(round(errors.weight))} items of the pool")
    listed = len(errors.items)
    order = "the largest errors first" if errors.by_size else (
        "those first that stand for most items" if errors.weight is not None
        else "those first that were least likely to be asked"
    )
    shown = f"The first {listed} are listed" if listed < errors.count else "All are listed"
    return (f"{'; '.join(said)}. {shown}, {order}. Items were not drawn evenly, so the list is no picture of "
            "the pool's errors; the estimates weigh each item by what it stands for.")


def _error_line(one: LabelledItem, text: str) -> ErrorLine:
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 4].rpartition(" ")[0] + " ..."
    return ErrorLine(
        item=one.item_id, text=text, predicted=one.predicted_text, label=one.label_text,
        score=_number(one.score), probability=_number(one.probability),
        round=wording.grouped_digits(one.round), why=_why(one), weight=_weight(one.weight),
    )


def _why(one: LabelledItem) -> str:
    if not one.asked:
        return "its label was known beforehand"
    return _WHY[one.chance_kind].format(_number(one.chance))


def _number(x: float | None) -> str:
    """The number with three significant figures."""
    return "–" if x is None else f"{x:.3g}".replace("-", "−")


def _weight(weight: float | None) -> str:
    if weight is None:
        return "–"
    return wording.grouped_digits(round(weight)) if weight >= 10 else wording.plain_number(round(weight, 1))
