"""What a pool would cost, in words and as JSON."""

from dataclasses import asdict, replace
from typing import Any

from assay.evalcore.forecast.prognosis import HiddenPrice, Prognosis
from assay.tasks.doctor.printed import PrognosisPart
from assay.tasks.report.forecast import forecast_in_words, forecast_json
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
    """For a terminal."""
    told = [f"method {ahead.method.method}: {ahead.method.reason}"]
    for cost in ahead.costs:
        needed = cost.random_labels
        simple = "" if needed is None else f"; random sampling about {two_figures(needed):,}"
        told.append(f"{ahead.measure} {forecast_in_words(cost.forecast)}{simple}")
    if ahead.random_does_as_well:
        told.append(
            "random sampling is forecast to need no more labels than this method here: consider "
            "`method: passive`"
        )
    if ahead.undefined_at_100 > _WORTH_SAYING:
        told.append(
            f"100 labels of a random sample would hold no value of {ahead.measure} in "
            f"{ahead.undefined_at_100:.0%} of samples"
        )
    if ahead.hidden is not None:
        told.append(_hidden(ahead.measure, ahead.hidden))
    return told


def _hidden(measure: str, price: HiddenPrice) -> str:
    return (
        f"{price.positives:,} positives that score like any negative would move {measure} by "
        f"{price.moved:g}; excluding so many takes about {two_figures(price.labels):,} labels, drawn evenly "
        f"from the {price.items:,} items predicted negative"
    )
