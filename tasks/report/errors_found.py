"""The errors among the labelled items, in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.evalcore.weighted.sample import LabelledItem, WrongPredictions
from assay.tasks.report import wording

_LONGEST = 240    # characters of an item that are shown
_WHY: Mapping[str, str] = {
    "per draw": "drawn, with chance {} at each draw",
    "inclusion": "drawn, with chance {} to be in the round",
    "census": "everything that was left was asked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """One item."""

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
        rows=tuple(_line(one, texts.get(one.item_id, "")) for one in errors.items),
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


def _line(one: LabelledItem, text: str) -> ErrorLine:
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
    """Three figures."""
    return "–" if x is None else f"{x:.3g}".replace("-", "−")


def _weight(weight: float | None) -> str:
    if weight is None:
        return "–"
    return wording.grouped_digits(round(weight)) if weight >= 10 else wording.plain_number(round(weight, 1))
