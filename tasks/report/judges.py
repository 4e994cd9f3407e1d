"""What the labels say of the judges, in words."""

from dataclasses import dataclass

from assay.evalcore.evaluation.stopping import MIN_LABELS
from assay.evalcore.weighted.judges import JudgeFigure, Judges
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
