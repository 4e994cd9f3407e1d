"""What a pool would cost, in words and as JSON."""

from dataclasses import asdict, replace
from typing import Any

from assay.evalcore.evaluation.stopping import RULE
from assay.evalcore.forecast.prognosis import Cost, HiddenPrice, Prognosis
from assay.evalcore.plurals import plural
from assay.tasks.doctor.printed import PrognosisPart
from assay.tasks.report.forecast import forecast_json, words_of_range
from assay.tasks.report.price import two_figures

_WORTH_SAYING = 0.05    # chance that a random sample says nothing, from which on it is told


def of_all_rows(ahead: Prognosis, times: float) -> Prognosis:
    """With the counts of items, found in a sample, as numbers of all rows; times: rows of the source for each
    of those read. Labels depend on shares alone."""
    hidden = ahead.hidden
    if hidden is None:
        return ahead
    positives, items = round(times * hidden.positives), round(times * hidden.items)
    return replace(ahead, hidden=replace(hidden, positives=positives, items=items))


def prognosis_json(ahead: Prognosis) -> PrognosisPart:
    """The keys it adds to an examination."""
    hidden: Any = None if ahead.hidden is None else asdict(ahead.hidden)
    methods: Any = [asdict(one) for one in ahead.methods]
    return {
        "method": {"name": ahead.method.method, "reason": ahead.method.reason},
        "forecast": [
            {"measure": ahead.measure, **forecast_json(cost.forecast), "random_labels": cost.random_labels}
            for cost in ahead.costs
        ],
        "random_sampling_undefined_at_100_labels": round(ahead.undefined_at_100, 4),
        "hidden_positives": hidden,
        "methods": methods,
    }


def prognosis_lines(ahead: Prognosis) -> list[str]:
    """For a terminal: a sentence or two a line, the price first and the method last."""
    told = [_price(ahead.measure, cost) for cost in ahead.costs]
    if told:
        told.append(f"{RULE[0].upper()}{RULE[1:]}: a smaller budget meets none.")
    if ahead.random_does_as_well:
        told.append(
            "A random sample needs no more labels than this method here: consider `method: passive`."
        )
    if ahead.undefined_at_100 > _WORTH_SAYING:
        told.append(
            f"Of random samples of 100 labels, {ahead.undefined_at_100:.0%} would give no {ahead.measure} at "
            "all: too few positives are in them."
        )
    if ahead.hidden is not None:
        told.append(_hidden(ahead.measure, ahead.hidden))
    return [*told, f"The method is {ahead.method.method}."]


def _price(measure: str, cost: Cost) -> str:
    """`f1 to ± 0.05 takes about 420 labels, with 80% chance 300 to 610; a random sample about 1,100.`"""
    found, goal = cost.forecast, f"{measure} to ± {cost.forecast.goal.half_width:g}"
    needed = cost.random_labels
    simple = "" if needed is None else f"; a random sample about {two_figures(needed):,}"
    if found.labels is None:
        said = f"{goal} probably takes more than {plural(found.horizon, 'label')}{simple}"
        return f"{said}. The chance to get there with {found.horizon:,} is {found.share:.0%}."
    sure = words_of_range(found.low, found.high, found.horizon)
    return f"{goal} takes about {plural(found.labels, 'label')}, with 80% chance {sure}{simple}."


def _hidden(measure: str, price: HiddenPrice) -> str:
    return (
        f"{price.positives:,} positives that score like any negative would move {measure} by "
        f"{price.moved:g}. To show that there are not so many takes about {two_figures(price.labels):,} "
        f"labels, of items drawn evenly from the {price.items:,} predicted negative."
    )
