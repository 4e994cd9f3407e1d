"""The sentences of a report: the finding, the verdict, why it stopped, and what changed answers did."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.evalcore.evaluation.estimate import Ends, MeasureEstimate, Undecided
from assay.evalcore.evaluation.nonresponse import ResponseRate
from assay.evalcore.evaluation.stopping import TRACE
from assay.evalcore.json_values import entries_of, value_under
from assay.evalcore.measures.registry import named
from assay.evalcore.methods.method import MIN_LABELS
from assay.evalcore.types import POSTERIOR_AND_DESIGN
from assay.tasks.report import comparison, price, wording
from assay.tasks.report.best import best_in_words
from assay.tasks.report.standing import ExtensionRow, Moved

if TYPE_CHECKING:
    from assay.tasks.report.data import ReportData
    from assay.tasks.report.standing import Standing

_INTERVALS = {
    "score test": "every value that a stratified score test does not reject",
    "ais-normal": "normal approximation, importance-weighted draws",
    "student": "Student's t, importance-weighted draws",
    "student-as-printed": "Student's t without the square of the mean weight, as the paper prints it",
    "ais-normal-as-printed": "normal approximation, importance-weighted draws, with the last "
                                "proposal in the variance as Marchant and Rubinstein (2021) print it",
    "delta-normal": "normal approximation, simple random sample",
    "effective-number": "difference estimate, exact binomial at the effective number of labels",
    "too few labels": "the whole range, for want of labels",
    POSTERIOR_AND_DESIGN: "from a model of the labels and from the sample",
    "model and design": "from guesses and from the sample",
    "exact": "exact: every label that matters is known",
}


def measure_meaning(name: str, data: "ReportData", question: str | None = None) -> str:
    """The measure in half a sentence, with the classes' own names; question: the one it is of. It stands
    behind the name of the measure at the head of the report."""
    if data.outcome is not None:
        return wording.meaning_of_outcome(name, data.outcome, question)
    meaning = named(name).meaning
    return meaning.replace("{positive}", data.positive).replace("{negative}", data.negative)


def named_row(row: MeasureEstimate) -> str:
    """`F1`; `F1 of v2 minus v1` for the difference of two systems."""
    name = wording.measure_name(row.measure)
    return (f"{name} of {row.of}" if row.of else name) + row.place


def interval_kind(kind: str) -> str:
    """The kind of interval in words, with its name in the ledger."""
    return f"{_INTERVALS[kind]} ({kind})" if kind in _INTERVALS else kind


def demanded(data: "ReportData") -> str | None:
    """The limit of the evaluation in words, such as `at least 0.8`; None where no limit was set. Both sides
    are named where there are two: `at least 0.8 and at most 0.9`."""
    return wording.allowed(data.limit_min, data.limit_max)


def target(data: "ReportData") -> str | None:
    """The target in words: a half-width, a variance, the best of several systems, or several targets
    together; None where none was set. A clause for the table at the head of the report."""
    if data.targets.named:
        return _several_targets(data)
    if data.targets.half_width is not None:
        return f"half-width of at most {wording.plain_number(data.targets.half_width)}"
    if data.targets.variance is not None:
        return f"variance of at most {wording.plain_number(data.targets.variance)}"
    if data.best is not None:
        within = f", within {wording.plain_number(data.best.margin)}" if data.best.margin else ""
        return f"the best system{within}"
    return None


def _several_targets(data: "ReportData") -> str:
    """`half-widths of at most 0.05 (F1) and 0.1 (recall)`, or of variances."""
    if TRACE in data.targets.named:
        total = wording.plain_number(data.targets.named[TRACE])
        return f"variances of all measures that add up to at most {total}"
    bounds = [
        f"{wording.plain_number(bound)} ({wording.measure_name(name)})"
        for name, bound in data.targets.named.items()
    ]
    *other_bounds, last_bound = bounds
    what = "variances" if data.targets.of_variances else "half-widths"
    return f"{what} of at most {', '.join(other_bounds)}{' and ' if other_bounds else ''}{last_bound}"


def labels(total: int, budget: int, known_before: int, *, with_word: bool = False) -> str:
    """`150 of a budget of 500`; `200 bought of a budget of 200, and 10 known before`. Numbers are grouped by
    thousands.

    with_word say "labels" after the number
    """
    new_labels = total - known_before
    many = wording.plural(new_labels, "label", "labels") if with_word else wording.grouped_digits(new_labels)
    if not known_before:
        return f"{many} of a budget of {wording.grouped_digits(budget)}"
    known_labels = wording.grouped_digits(known_before)
    return f"{many} bought of a budget of {wording.grouped_digits(budget)}, and {known_labels} known before"


def stopped(data: "ReportData") -> str:
    """A sentence on why the evaluation stopped (target, budget or pool), or that it has not and its figures
    will change. It is the same sentence in the report and on the terminal."""
    match data.stopped_by:
        case "half_width" | "variance":
            return f"The target was met at two looks in a row: {target(data) or data.stopped_by}."
        case "best_of":
            return "The best system was known."
        case "budget" if data.best is not None:
            return f"The budget of {wording.plural(data.budget, 'label')} was spent without a winner."
        case "budget":
            spent = f"The budget of {wording.plural(data.budget, 'label', 'labels')} was spent"
            unmet = None if any(row.beyond_target for row in data.extensions) else target(data)
            return spent + (f" before the target was met at two looks in a row ({unmet})." if unmet else ".")
        case "pool":
            return "Nothing was left whose label could change the measure."
        case None:
            return "It has not stopped: these are interim figures, and they will change."
    return str(data.stopped_by)


def extended(extensions: Sequence[ExtensionRow], level: float) -> list[str]:
    """Each extension in a sentence, then what it does to the intervals; level: the confidence of the spec.
    Each says when, to which budget, by whom and why."""
    lines = []
    for row in extensions:
        who = f", by {row.by}" if row.by else ""
        note = f" ({row.reason})" if row.reason else ""
        # one that met its target may have spent less than its budget, and be extended to less than that
        total = wording.plural(row.labels, "label")
        lines.append(
            f"After round {row.rounds} had met the target, it was extended to {total} in all{who}{note}; the "
            "target no longer stops it." if row.beyond_target else
            f"After round {row.rounds} had given a result, it was extended from a budget of "
            f"{wording.grouped_digits(row.labels_before)} to {total}{who}{note}."
        )
    if extensions and extensions[-1].corrected:
        newest = extensions[-1]
        lines.append(
            f"Intervals after round {newest.rounds} are computed at {wording.percent(newest.confidence)}, so "
            f"that all that are shown after extensions hold together at {wording.percent(level)}. Those of "
            "rounds before an extension are as they were."
        )
    elif extensions:
        lines.append("Its intervals hold however often people look and go on, so none is wider for that.")
    return lines


def trusted(standing: "Standing") -> str:
    """What the interval takes without being shown, in a sentence, with the interval that does not take it
    where there is one; empty where nothing is taken."""
    leading = standing.estimates[:1]
    if standing.rests_on == "nothing" or all(row.interval in ("exact", "none") for row in leading):
        return ""
    ends = price.wide(leading[0])
    if ends is None:
        return wording.TRUSTS_THE_SCORE
    beside = "this interval holds too" if ends == wording.interval(leading[0]) else ends
    return f"{wording.TRUSTS_THE_SCORE[:-1]}; if they do, {beside}."


def verdict_and_ground(data: "ReportData") -> tuple[str, str] | None:
    """The verdict in a word, and what it rests on; None without limit or comparison. The second text names
    the interval, the limit and what the interval rests on."""
    allowed, row = demanded(data), data.estimates[0]
    if allowed is None and data.best is not None:
        winner = data.best.winner or "No winner"
        return winner, best_in_words(data.best, finished=data.state == "finished")
    if allowed is None:
        return comparison.verdict_of_all(data)
    name = named_row(row)
    match data.verdict:
        case "ok":
            ground = f"The whole interval for {name} meets the limit: {allowed}."
            return "OK", f"{ground} {trusted(data)}".rstrip()
        case "breach":
            return "Breach", f"The whole interval for {name} lies outside the limit: {allowed}."
        case "inconclusive":
            if row.value is None:
                ground = f"{name} is undefined, so nothing can be said about the limit: {allowed}."
            else:
                ground = f"The interval for {name} reaches across the limit ({allowed})."
            if data.labels_to_decide:
                more_labels = wording.plural(data.labels_to_decide, "more label", "more labels")
                ending = f": {data.extend_command}" if data.extend_command else "."
                ground += f" About {more_labels} would decide{ending}"
            return "Inconclusive", ground
    return "Not yet decided", f"The limit is judged when the evaluation finishes: {allowed}."


def sampling(data: "ReportData") -> str:
    """A sentence on how the labelled items were chosen: the method's own note, or else its name. It stands
    beside the number of labels in the report."""
    return data.sampling_note or f"Items were chosen by the method “{data.method}”."


AGAINST_LIMIT = {
    "ok": "meets its limit", "breach": "breaks its limit", "inconclusive": "may or may not meet its limit",
}


def headline(data: "ReportData") -> str:
    """The finding in one sentence: verdict, value, interval, what it rests on. Where systems are compared,
    a sentence for each that is not the baseline."""
    row = data.estimates[0]
    if data.best is not None:
        based = f"From {wording.plural(data.labels, 'label')} on a pool of " \
                f"{wording.grouped_digits(data.pool.n)} items."
        return f"{best_in_words(data.best, finished=data.state == 'finished')} {based}"
    if row.comparison is not None:
        return comparison.finding(data)
    name, allowed = named_row(row), demanded(data)
    based = (f"from {wording.plural(row.labels, 'label', 'labels')} on a pool of "
             f"{wording.grouped_digits(data.pool.n)} predictions")
    if row.value is None:
        return f"{name} is undefined ({row.undefined_reason}), {based}."
    so_far = "" if data.state == "finished" else ", so far"
    if data.verdict is not None and allowed is not None:
        opening = f"{name} {AGAINST_LIMIT[data.verdict]}, {allowed}{so_far}: it is"
    else:
        opening = f"{name} is{so_far}{',' if so_far else ''}"
    also = wording.also_in_words(row)
    also = f" {also[0].upper()}{also[1:]}." if also else ""
    if row.interval == "exact":
        manner = "exactly" if row.undecided is None else wording.exact_in_words(row)
        return f"{opening} {wording.value_or_reason(row)} {manner}, {based}.{also}"
    if row.lower is None or row.upper is None:
        return f"{opening} estimated at {wording.value_or_reason(row)}, with no interval, {based}."
    about = " for the population" if row.about == "population" else ""
    return (
        f"{opening} estimated at {wording.value_or_reason(row)}, with a {wording.percent(row.confidence)} "
        f"interval of {wording.interval(row)}{about}, {based}.{also} {trusted(data)}"
    ).rstrip()


def in_a_line(row: MeasureEstimate) -> str:
    """`f1: 0.891, 95% interval 0.842 to 0.932; wide interval 0.6 to 0.94`."""
    name = row.title
    if row.lower is None or row.upper is None or row.interval == "exact":
        exact = f", {wording.exact_in_words(row)}" if row.interval == "exact" else ""
        return f"{name}: {wording.value_or_reason(row)}{exact}{_and_also(row)}"
    beside = price.wide(row)
    about = "for the population " if row.about == "population" else ""
    return (
        f"{name}: {wording.value_or_reason(row)}, {wording.percent(row.confidence)} interval {about}"
        + wording.interval(row) + _and_also(row) + (f"; wide interval {beside}" if beside else "")
    )


def _and_also(row: MeasureEstimate) -> str:
    also, pooled = wording.also_in_words(row), wording.pooled_in_words(row)
    return (f"; {also}" if also else "") + (f"; with the other segments {pooled}" if pooled else "")


def likely_worst_segment(rows: Sequence[MeasureEstimate]) -> str:
    """Which of these segments of one column and measure is the worst, and with what chance; empty where
    nothing is said of that. The chance is that of the pooled posterior, given all segments' labels."""
    pooled = [(row.pooled.chance_worst, row) for row in rows if row.pooled is not None]
    if not pooled or rows[0].versus is not None:
        return ""
    chance, row = max(pooled, key=lambda pair: pair[0])
    in_words = "over 99%" if chance > 0.99 else wording.percent(round(chance, 2))
    return f"Most likely the worst: {row.segment}, with a chance of {in_words}."


def warnings(rows: Sequence[MeasureEstimate]) -> list[str]:
    """Sentences on what to know before these estimates are used: too few labels, values beyond what was
    seen, or one label that makes more than half of a variance. Empty where nothing is to be said."""
    heavy = [
        f"{wording.measure_name(row.measure)} ({wording.percent(round(row.warning.share_of_one_label, 2))})"
        for row in rows if row.warning is not None
    ]
    few = [row for row in rows if _rests_on_few(row)]
    lines = [_few_labels(few)] if few else []
    endless = [row for row in rows if row.unseen_share is not None]
    lines += [_beyond_what_was_seen(endless)] if endless else []
    if not heavy:
        return lines
    return [
        *lines,
        f"One label alone makes more than half of the variance of {', '.join(heavy)}: its error is far "
        "larger than the others', and items that nobody labelled may hold more such errors. Look at that "
        "label first; it may be a slip. If it is right, buy more labels, give the labels a min and a max if "
        "they have any, or ask for mae or within, which large errors move less."
    ]


def _beyond_what_was_seen(rows: Sequence[MeasureEstimate]) -> str:
    """What a tail could add that no label shows."""
    names = ", ".join(dict.fromkeys(wording.measure_name(row.measure) for row in rows))
    share = wording.percent(round(max(row.unseen_share or 0.0 for row in rows), 4))
    return (
        f"No interval of {names} counts errors larger than any that was labelled. Up to {share} of the items "
        "may hold one that no label shows: a mean of errors grows by that share of what they are off by, a "
        "mean of squares by that share of its square."
    )


def _rests_on_few(row: MeasureEstimate) -> bool:
    return row.labels < MIN_LABELS and row.segment is None and row.lower is not None and row.interval not in (
        "exact", "none", "too few labels",
    )


def _few_labels(rows: Sequence[MeasureEstimate]) -> str:
    """That intervals of fewer than `MIN_LABELS` labels may cover less often than their level, and what to do;
    how often they did is in docs/measured/named-failures.md."""
    labels = wording.plural(min(row.labels for row in rows), "label", "labels")
    level = wording.percent(rows[0].confidence)
    return (
        f"With {labels}, intervals are less sure than the {level} they are named for. "
        f"Buy {MIN_LABELS} or more before you rely on one."
    )


def people_in_words(
    rows: Sequence[MeasureEstimate], revision: int, items: int, moved: Sequence[Moved]
) -> list[str]:
    """Sentences on how changed answers (the revision), undecided items and unanswered ones changed the
    estimates; empty where none did. Each sentence names how many items it is about."""
    lines = []
    if revision:
        changes = "; ".join(_moved(move) for move in moved)
        singular, many = "label differs from when its round was", "labels differ from when their rounds were"
        differ = wording.plural(items, singular, many)
        lines.append(f"Revision {revision}: {differ} closed{': ' if changes else ''}{changes}.")
    pool_rows = [row for row in rows if row.segment is None]
    bounds = [(row, row.undecided) for row in pool_rows if row.undecided]
    if bounds:
        cannot = wording.plural(bounds[0][1].items, "item has", "items have")
        alike = "negative, or all positive" if bounds[0][1].all_negative else "decided alike"
        lines.append(
            f"{cannot} no label: whoever was asked gave none, and the estimates leave such items out. If all "
            f"of them were {alike}: "
            f"{'; '.join(_if_decided(row, cases) for row, cases in bounds)}."
        )
    by_question = {row.question: row.nonresponse for row in pool_rows if row.question and row.nonresponse}
    lines += [_question_unanswered(str(name), gaps) for name, gaps in by_question.items() if gaps]
    gaps = next((row.nonresponse for row in pool_rows if row.nonresponse and not row.question), None)
    if gaps:
        lines.append(
            f"{wording.plural(gaps.rounds, 'round was', 'rounds were')} closed early: "
            f"{wording.plural(gaps.unanswered, 'item', 'items')} unanswered, a response rate of "
            f"{wording.percent(round(gaps.response_rate, 3))}. Answered items stand for the unanswered ones "
            f"of their cell, assuming {gaps.assumption} "
            f"({wording.plural(gaps.cells, 'cell', 'cells')} weighted, "
            f"{gaps.collapsed} collapsed with neighbours)."
        )
    return lines


def _question_unanswered(question: str, gaps: ResponseRate) -> str:
    """That people left a question of some items out."""
    return (
        f"{question}: not answered of {wording.plural(gaps.unanswered, 'item', 'items')} that were asked, a "
        f"response rate of {wording.percent(round(gaps.response_rate, 3))}. Items with an answer stand for "
        f"those without one, assuming {gaps.assumption}."
    )


def _moved(move: Moved) -> str:
    before, after = (wording.in_short(*ends) for ends in (
        (move.value_before, move.lower_before, move.upper_before), (move.value, move.lower, move.upper)
    ))
    of = f" of {move.of}" if move.of else ""
    return f"{wording.measure_name(move.measure)}{of} from {before} to {after}"


def _if_decided(row: MeasureEstimate, cases: Undecided) -> str:
    name = wording.measure_name(row.measure)
    if cases.all_negative and cases.all_positive:
        return f"{name} {_in_short(cases.all_negative)}, or {_in_short(cases.all_positive)}"
    of_class = f" of {row.class_name}" if row.class_name else ""
    values = [(ends.value, way) for way, ends in cases.if_all.items() if ends.value is not None]
    if not values:
        return f"{name}{of_class} has no value"
    (_, low), (_, high) = min(values), max(values)
    texts = [f"{_in_short(cases.if_all[way])} (all {way})" for way in dict.fromkeys((low, high))]
    return f"{name}{of_class} {' to '.join(texts)}"


def _in_short(ends: Ends) -> str:
    return wording.in_short(ends.value, ends.lower, ends.upper)


def served_in_words(data: "ReportData") -> str:
    """A sentence on which measures or questions the choice of items served: those under `drive` in the spec,
    all of them, or the first. Other measures are estimated from the same labels, at the price that these set.
    """
    drive = list(map(str, entries_of(data.spec.get("drive") or [])))
    if drive and value_under(data.spec, "labels", "questions") is not None:
        return f"The choice of items served the questions {', '.join(drive)}."
    if drive:
        return f"The choice of items served {', '.join(map(wording.measure_name, drive))}."
    if data.serves_all:
        return "The choice of items served all of them."
    return "The first drove the choice of items."
