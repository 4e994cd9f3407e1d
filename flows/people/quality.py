"""How the people who label do, and what their errors do to the numbers: `rounds/<n>/annotators.json`.

Written with each closed round where there is something to say: several people answer each item, gold is mixed
in, or more than one person has answered. It rests on the answers that the labels of the closed rounds name,
so whoever computes it, whenever, writes the same. People appear under the desk's names of them, which are
numbers and digests; reports use names of their own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from assay.evalcore.annotators.adjudication import latest_answers
from assay.evalcore.annotators.agreement import agreements
from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.correction import KIND, corrected, unknown
from assay.evalcore.annotators.error_rates import ErrorRates, error_rates
from assay.evalcore.annotators.label_errors import label_errors, shares_asked_again
from assay.evalcore.annotators.rules import company, disagreements, fit_rounds, truth_of
from assay.evalcore.annotators.surprise import stands_for
from assay.evalcore.annotators.votes import Place, Votes, votes_of
from assay.evalcore.randomness import stream
from assay.evalcore.types import Floats
from assay.flows.people.annotating import Annotating
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened

UNTESTED = (
    "nothing is known about annotators' errors: no gold was answered, and no item by several people; "
    "the interval takes every label for the truth"
)


def annotators_record(opened: Opened, annotating: Annotating, folded: Fold) -> dict[str, Any] | None:
    """What is to be written after the last closed round, as plain JSON values; None if there is nothing."""
    rounds = [closed.planned for closed in folded.closed]
    answers = {r.number: annotating.answers_of(r.number) for r in rounds}
    truth = annotating.truth(rounds)
    k = opened.spec.desk.annotators_per_item
    if k == 1 and opened.spec.desk.gold is None and len(company(answers, truth)) < 2:
        return None
    rng = stream(opened.spec.seed, opened.name, folded.state.round, "annotators")
    votes = votes_of(answers, opened.classes)
    labels = {
        (closed.planned.number, closed.planned.item_id[t]): int(closed.labels[t])
        for closed in folded.closed for t in closed.planned.asked() if closed.labels[t] >= 0
    }
    prediction = {
        (r.number, r.item_id[t]): int(r.prediction[t]) for r in rounds for t in r.asked()
    }
    group = np.array([prediction.get(place, 0) for place in votes.items], np.int64)
    rates = error_rates(votes, truth_of(votes, truth), group, rng)
    rule = annotating.rule(rounds[-1], rounds[:-1])
    confidence = opened.spec.target.confidence
    record: dict[str, Any] = {
        "round": folded.state.round,
        "rule": opened.spec.rule,
        "annotators_per_item": k,
        "people": _people(answers, votes, labels, truth, rates, confidence),
        "agreement": [asdict(a) for a in agreements(votes, confidence, rng)]
        if len(votes.annotators) > 1 else [],
        "gold": _gold(votes, truth),
        "asked_again": _asked_again(folded, answers),
    }
    if opened.spec.rule == "dawid-skene":
        fitted_votes, fitted = fit_rounds(rule, answers)
        places = disagreements(fitted_votes, fitted, labels)
        record["would_differ"] = [{"round": number, "item_id": item} for number, item in places]
    record["correction"] = _correction(opened, annotating, folded, votes, labels, rates, answers, rng)
    return record


def _people(
    answers: Mapping[int, Sequence[Annotation]], votes: Votes, labels: Mapping[Place, int],
    truth: Mapping[Place, int], rates: ErrorRates | None, confidence: float,
) -> list[dict[str, Any]]:
    kinds: dict[str, Counter[str]] = {}
    for of_round in answers.values():
        for several in latest_answers(of_round).values():
            for answer in several:
                kinds.setdefault(answer.annotator, Counter())[answer.kind] += 1
    people = []
    number = {name: j for j, name in enumerate(votes.annotators)}
    for name in sorted(kinds):
        own = np.flatnonzero(votes.annotator == number.get(name, -1))
        mine = [(votes.items[votes.item[v]], int(votes.label[v])) for v in own]
        judged = [labels[place] == y for place, y in mine if place in labels]
        gold = Counter((truth[place], y) for place, y in mine if place in truth)
        people.append({
            "annotator": name,
            "answers": kinds[name]["label"],
            "skips": kinds[name]["skip"],
            "invalid": kinds[name]["invalid"],
            "labels": {"items": len(judged), "agreed": sum(judged)},
            "gold": {
                "negatives": gold[0, 0] + gold[0, 1], "false_positives": gold[0, 1],
                "positives": gold[1, 0] + gold[1, 1], "misses": gold[1, 0],
            },
            "errors": None if rates is None or name not in rates.known else _interval(
                rates.of(name), confidence
            ),
        })
    return people


def _interval(draws: Floats, confidence: float) -> dict[str, dict[str, float]]:
    """Posterior mean and central interval of both error rates, from draws (S, 2)."""
    tail = (1 - confidence) / 2
    return {
        what: {
            "mean": float(draws[:, truth].mean()),
            "lower": float(np.quantile(draws[:, truth], tail)),
            "upper": float(np.quantile(draws[:, truth], 1 - tail)),
        }
        for truth, what in ((0, "false_positive"), (1, "miss"))
    }


def _gold(votes: Votes, truth: Mapping[Place, int]) -> dict[str, int]:
    """Gold items mixed in, answers to them, and how many of these are right."""
    met = [
        truth[votes.items[i]] == y
        for i, y in zip(votes.item.tolist(), votes.label.tolist(), strict=True) if votes.items[i] in truth
    ]
    return {"items": len(truth), "answers": len(met), "right": sum(met)}


def _asked_again(folded: Fold, answers: Mapping[int, Sequence[Annotation]]) -> dict[str, int]:
    """Surprising answers that went to a second person, and those the others did not confirm.

    `answers` beyond one per item are people's time; the budget counts items.
    """
    again = overruled = extra = 0
    for closed in folded.closed:
        latest = latest_answers(answers[closed.planned.number])
        for t in closed.planned.asked():
            item = closed.planned.item_id[t]
            several = [a for a in latest.get(item, ()) if a.kind == "label"]
            if item in closed.planned.again and len(several) > 1:
                again += 1
                extra += len(several) - 1
                overruled += int(closed.labels[t]) not in closed.planned.again[item]
    return {"items": again, "answers": extra, "overruled": overruled}


def _correction(
    opened: Opened, annotating: Annotating, folded: Fold, votes: Votes, labels: Mapping[Place, int],
    rates: ErrorRates | None, answers: Mapping[int, Sequence[Annotation]], rng: np.random.Generator,
) -> dict[str, Any]:
    """The measures with annotators' errors taken out, beside nothing known where nothing is."""
    confidence = opened.spec.target.confidence
    state = folded.state.inner
    if rates is None:
        return {"interval": KIND, "known_from": [], "reason": UNTESTED, "label_errors": None,
                "estimates": [asdict(c) for c in unknown(state.measures, UNTESTED)]}
    errors = _label_errors(opened, annotating, folded, votes, labels, rates, answers)
    found = corrected(opened.question.method, state, errors, confidence, rng)
    sources = [name for name, used in (("gold", rates.gold), ("repeated answers", rates.repeated)) if used]
    return {
        "interval": KIND,
        "known_from": sources,
        "reason": None,
        "label_errors": {
            f"predicted_{('negative', 'positive')[f]}": _interval(errors[:, f], confidence) for f in (0, 1)
        },
        "estimates": [asdict(c) for c in found],
    }


def _label_errors(
    opened: Opened, annotating: Annotating, folded: Fold, votes: Votes, labels: Mapping[Place, int],
    rates: ErrorRates, answers: Mapping[int, Sequence[Annotation]],
) -> Floats:
    """Draws of ε for the labels there are, by the rule they were made by."""
    counted = np.array([votes.items[i] in labels for i in votes.item.tolist()], np.bool_)
    share = np.bincount(votes.annotator[counted], minlength=len(votes.annotators)).astype(np.float64)
    k = opened.spec.desk.annotators_per_item
    rounds = [closed.planned for closed in folded.closed]
    if opened.spec.rule == "dawid-skene":
        asked = votes.where(counted)
        members: dict[int, list[int]] = {}
        for i, j in zip(asked.item.tolist(), asked.annotator.tolist(), strict=True):
            members.setdefault(i, []).append(j)
        teams = Counter(tuple(sorted(team)) for team in members.values())
        _, fitted = fit_rounds(annotating.rule(rounds[-1], rounds[:-1]), answers)
        return label_errors(rates.draws, share, annotators=k, teams=teams, fitted=fitted)
    if k > 1:
        return label_errors(rates.draws, share, annotators=k)
    gold = annotating.truth(rounds)
    parts = []
    for r in rounds:
        asked_now = r.asked()
        known = company({n: a for n, a in answers.items() if n <= r.number}, gold)
        in_force = r.again_alone or len(known) > 1
        again = np.array([
            [in_force and y in r.again.get(r.item_id[t], ()) for y in (0, 1)] for t in asked_now
        ], np.int64).reshape(-1, 2)
        p = r.plan.design.model[0, r.plan.cell[asked_now]]
        parts.append((r.prediction[asked_now], p, stands_for(r.plan)[asked_now], again))
    if not sum(len(part[0]) for part in parts):
        return label_errors(rates.draws, share, annotators=k)
    prediction, positive, weight, again = (np.concatenate([part[i] for part in parts]) for i in range(4))
    return label_errors(
        rates.draws, share, annotators=k,
        again=shares_asked_again(prediction, np.clip(positive, 0.0, 1.0), weight, again.astype(np.bool_)),
    )
