"""What the labels say of the pool's own guesses, in words: of its judges, and of predictions that were
wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.evalcore.methods.method import MIN_LABELS
from assay.evalcore.weighted.judge_audit import AuditedLine, JudgeAudit
from assay.evalcore.weighted.judge_effects import FeatureEffect
from assay.evalcore.weighted.judges import JudgeFigure, Judges
from assay.evalcore.weighted.sample import LabelledItem, WrongPredictions
from assay.tasks.report import wording
from assay.tasks.report.data import JudgeChecks
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
    """One figure of a judge as texts for the page: its name, value and interval, or the reason why it is
    undefined."""

    judge: str
    figure: str
    value: str
    interval: str
    undefined: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSection:
    """What the template prints about the pool's judges: a table of their figures, and sentences that explain
    it."""

    rows: tuple[JudgeLine, ...]
    lines: tuple[str, ...]


def judges_in_words(judges: Judges) -> JudgeSection:
    """A table of every figure of every judge, with sentences that explain the figures and say whether the
    judges saved labels. One row of the table a judge and figure."""
    rows = [_line(judge.name, figure) for judge in judges.judges for figure in judge.figures]
    return JudgeSection(rows=tuple(rows), lines=(*_explained(judges), _saved(judges)))


def _line(judge: str, figure: JudgeFigure) -> JudgeLine:
    ends = (figure.value, figure.lower, figure.upper)
    return JudgeLine(
        judge=judge, figure=FIGURES[figure.figure], value=wording.estimate_text(*ends),
        interval="exact" if figure.interval == "exact" else wording.ends_in_words(*ends),
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
    labels = wording.plural(judges.labels, "label")
    if judges.saved <= 0:
        return (f"It saved nothing: {labels} were bought, and a random sample would have known {name} as "
                f"well from about {needed}.")
    saved = (f"With the judge, and items chosen by it, {labels} did the work of about {needed} of a random "
             f"sample: {wording.percent(round(judges.saved, 2))} were saved.")
    if judges.labels <= MIN_LABELS:
        return (f"{saved} A judge that never errs would have saved no more, as no evaluation meets its "
                f"target with fewer than {MIN_LABELS} labels; it would have made the interval narrower.")
    return (
        f"{saved} A judge that never errs could save at most "
        f"{wording.percent(round(judges.saved_at_most, 2))}, as no evaluation meets its target with fewer "
        f"than {MIN_LABELS} labels."
    )


_OF_EFFECTS = {"shift": "judge minus label", "distance": "how far apart they are"}
_VERDICTS = {
    "pass": "pass: it still holds within the margin",
    "fail": "fail: it is off by more than the margin",
    "inconclusive": "inconclusive",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectLine:
    """How one judge moves with one feature of the items, as texts: the effect with its interval, and whether
    it is beyond chance."""

    judge: str
    feature: str        # with its level, or its step
    figure: str
    value: str
    interval: str
    beyond_chance: bool
    undefined: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """By how much a calibration is off, in one line of it."""

    judge: str
    part: str
    value: str
    interval: str
    verdict: str
    undefined: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChecksSection:
    """What the template prints about checks of judges: effects of features with what they come to, audits of
    calibration line by line with their verdicts, and notes."""

    rows: tuple[EffectLine, ...]
    confidence: str          # of all intervals of these rows together
    lines: tuple[str, ...]
    audited: tuple[AuditLine, ...]
    verdicts: tuple[str, ...]
    notes: tuple[str, ...]


def judge_checks_in_words(checks: JudgeChecks) -> JudgeChecksSection:
    """Both tables of the checks of judges, the effects of features and the audits of calibration, with
    sentences on what each comes to. Either table is empty where nobody asked for its check."""
    effects = checks.effects
    return JudgeChecksSection(
        rows=() if effects is None else tuple(map(_effect_line, effects.effects)),
        confidence="" if effects is None else wording.percent(effects.confidence),
        lines=() if effects is None else (_found_of(effects.effects), *_sentences(effects.notes)),
        audited=tuple(_audit_line(audit, line) for audit in checks.audits for line in audit.lines),
        verdicts=tuple(map(audit_of_judge_in_words, checks.audits)), notes=tuple(checks.notes),
    )


def _sentences(notes: tuple[str, ...]) -> list[str]:
    return [f"{note[0].upper()}{note[1:]}." for note in notes]


def _effect_line(effect: FeatureEffect) -> EffectLine:
    ends = (effect.value, effect.lower, effect.upper)
    return EffectLine(
        judge=effect.judge, feature=feature_in_words(effect), figure=_OF_EFFECTS[effect.figure],
        value=_signed(*ends), undefined=effect.undefined_reason, beyond_chance=effect.beyond_chance,
        interval="exact" if effect.interval == "exact" else wording.ends_in_words(*ends),
    )


def feature_in_words(effect: FeatureEffect) -> str:
    """A feature with what is compared: `length(answer), by 412 more` for a number, `format: list, against all
    others` for one level of a text. The text that a row of the table begins with."""
    if effect.level is not None:
        return f"{effect.feature}: {effect.level or '(empty)'}, against all others"
    return effect.feature if effect.step is None else f"{effect.feature}, by {effect.step:.3g} more"


def _signed(value: float | None, lower: float | None, upper: float | None) -> str:
    text = wording.estimate_text(value, lower, upper)
    return f"+{text}" if value is not None and value > 0 else text


def _found_of(effects: tuple[FeatureEffect, ...]) -> str:
    known_effects = [effect for effect in effects if effect.value is not None]
    findings = dict.fromkeys(
        f"{effect.judge} by {effect.feature}" for effect in known_effects if effect.beyond_chance
    )
    if not known_effects:
        return "The labels carry too little to say what moves a judge."
    if not findings:
        return "No interval leaves out 0: these labels show nothing that moves a judge."
    return f"Beyond chance: {'; '.join(findings)}."


def _audit_line(audit: JudgeAudit, line: AuditedLine) -> AuditLine:
    ends = (line.value, line.lower, line.upper)
    return AuditLine(
        judge=audit.judge, part="the value" if line.part is None else f"share of {line.part}",
        value=_signed(*ends), verdict=line.verdict, undefined=line.undefined_reason,
        interval="exact" if line.interval == "exact" else wording.ends_in_words(*ends),
    )


def audit_of_judge_in_words(audit: JudgeAudit) -> str:
    """The verdict on a judge's calibration, and how many labels would decide."""
    extra = audit.more_labels
    hint = f"; about {wording.plural(two_figures(extra), 'more label')} would decide" if extra else ""
    return (
        f"{audit.judge}, calibrated by {wording.plural(audit.calibration_labels, 'label')} of "
        f"{audit.calibrated_by}, margin {audit.margin:g}, {wording.plural(audit.labels, 'new label')}: "
        f"{_VERDICTS[audit.verdict]}{hint}."
    )


_LONGEST_ITEM = 240   # characters of an item that are shown
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
        rows=tuple(_error_line(item, texts.get(item.item_id, "")) for item in errors.items),
        texts=any(item.item_id in texts for item in errors.items),
        scores=any(item.score is not None for item in errors.items),
        probabilities=any(item.probability is not None for item in errors.items),
        weights=any(item.weight is not None for item in errors.items),
    )


def _caption(errors: WrongPredictions, baseline: str | None) -> str:
    whose = "predicted" if baseline is None else f"“{baseline}” predicts"
    labelled = wording.plural(errors.labelled, "labelled item")
    if not errors.count:
        return f"None: {labelled}, all with the label that {whose if baseline else 'was predicted'}."
    bits = [f"{wording.grouped_digits(errors.count)} of {labelled} "
            f"{'is' if errors.count == 1 else 'are'} labelled otherwise than {whose}"]
    if errors.weight is not None:
        bits.append("by their weights they stand for about "
                    f"{wording.grouped_digits(round(errors.weight))} items of the pool")
    listed = len(errors.items)
    order = "the largest errors first" if errors.by_size else (
        "those first that stand for most items" if errors.weight is not None
        else "those first that were least likely to be asked"
    )
    shown = f"The first {listed} are listed" if listed < errors.count else "All are listed"
    return (f"{'; '.join(bits)}. {shown}, {order}. Items were not drawn evenly, so the list is no picture of "
            "the pool's errors; the estimates weigh each item by what it stands for.")


def _error_line(item: LabelledItem, text: str) -> ErrorLine:
    if len(text) > _LONGEST_ITEM:
        text = text[: _LONGEST_ITEM - 4].rpartition(" ")[0] + " ..."
    return ErrorLine(
        item=item.item_id, text=text, predicted=item.predicted_text, label=item.label_text,
        score=_number(item.score), probability=_number(item.probability),
        round=wording.grouped_digits(item.round), why=_why(item), weight=_weight(item.weight),
    )


def _why(item: LabelledItem) -> str:
    if not item.asked:
        return "its label was known beforehand"
    return _WHY[item.chance_kind].format(_number(item.chance))


def _number(x: float | None) -> str:
    """The number with three significant figures."""
    return "–" if x is None else f"{x:.3g}".replace("-", "−")


def _weight(weight: float | None) -> str:
    if weight is None:
        return "–"
    return wording.grouped_digits(round(weight)) if weight >= 10 else wording.plain_number(round(weight, 1))
