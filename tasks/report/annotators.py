"""How the people who label do, in words: agreement, gold, errors, and the estimates without those errors.

People appear under names made for the report: a digest of the desk's name of them and of the evaluation's own
random word, so that the same person has one name in an evaluation and another one in the next.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow

_STATISTICS = {
    "fleiss-kappa": "Fleiss’ κ, all",
    "krippendorff-alpha": "Krippendorff’s α, all",
    "cohen-kappa": "Cohen’s κ",
}


def pseudonymous(record: Mapping[str, Any], salt: str) -> dict[str, Any]:
    """The record of `annotators.json` with everybody's name replaced."""
    def name(annotator: str) -> str:
        return "person-" + sha256(f"{len(salt)}:{salt}:{annotator}".encode()).hexdigest()[:8]

    people = [{**person, "annotator": name(person["annotator"])} for person in record["people"]]
    agreement = [{**a, "between": [name(who) for who in a["between"]]} for a in record["agreement"]]
    return {**record, "people": sorted(people, key=lambda p: p["annotator"]), "agreement": agreement}


def annotators_in_words(record: Mapping[str, Any], estimates: list[EstimateRow]) -> dict[str, Any]:
    """What the page's section needs."""
    correction = record["correction"]
    naive = {row.measure: row for row in estimates}
    newest = max((row.revision for row in estimates), default=0)
    return {
        "note": correction["reason"],
        "answers_of": _answers_of(record.get("revision", 0), newest) if record["people"] else "",
        "known_from": " and ".join(correction["known_from"]),
        "people": [_person(person) for person in record["people"]],
        "agreement": [_agreement(a) for a in record["agreement"]],
        "gold": record.get("gold"),
        "again": record.get("asked_again"),
        "rule": record.get("rule"),
        "differ": len(record.get("would_differ", ())),
        "estimates": [
            {"name": wording.measure_name(e["measure"]), "naive": _value(naive.get(e["measure"])),
             "naive_interval": wording.interval(naive[e["measure"]]) if e["measure"] in naive else "–",
             "value": e["undefined_reason"] if e["value"] is None else wording.number(e["value"]),
             "interval": "–" if e["lower"] is None else _ends(e)}
            for e in correction["estimates"]
        ] if correction["reason"] is None else [],
    }


def _answers_of(revision: int, newest: int) -> str:
    """Which answers the section goes by, where there is more than one set of them."""
    if not newest:
        return ""
    if revision:
        return f"By the answers of revision {revision}; answers to gold are those of the closing."
    return f"By the answers the rounds were closed with: there is no record for revision {newest}."


def _person(person: Mapping[str, Any]) -> dict[str, Any]:
    gold = person["gold"]
    met = gold["negatives"] + gold["positives"]
    wrong = gold["false_positives"] + gold["misses"]
    labels, errors = person["labels"], person["errors"]
    return {
        "name": person["annotator"],
        "answers": wording.count(person["answers"]),
        "skips": wording.count(person["skips"]),
        "agreed": f"{labels['agreed']} of {labels['items']}",
        "gold": f"{met - wrong} of {met}" if met else "–",
        "false_positive": _rate(errors and errors["false_positive"]),
        "miss": _rate(errors and errors["miss"]),
    }


def _rate(rate: Mapping[str, float] | None) -> str:
    return "unknown" if not rate else (
        f"{wording.percent(round(rate['mean'], 3))} "
        f"({wording.percent(round(rate['lower'], 3))} to {wording.percent(round(rate['upper'], 3))})"
    )


def _agreement(a: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": _STATISTICS[a["statistic"]] + (f": {' and '.join(a['between'])}" if a["between"] else ""),
        "items": wording.count(a["items"]),
        "agreed": "–" if a["agreed"] is None else wording.percent(round(a["agreed"], 3)),
        "value": wording.number(a["value"], 2) if a["value"] is not None
        else f"undefined: {a['undefined_reason']}",
        "interval": "–" if a["lower"] is None else _ends(a, 2),
    }


def _ends(found: Mapping[str, Any], digits: int = 3) -> str:
    return f"{wording.number(found['lower'], digits)} to {wording.number(found['upper'], digits)}"


def _value(row: EstimateRow | None) -> str:
    return "–" if row is None else wording.value(row)
