"""What the evidence pack of an evaluation says, gathered from its ledger."""

from collections.abc import Sequence
from dataclasses import asdict

from assay.evalcore.json_values import JsonObject
from assay.evalcore.printed import printed
from assay.flows.record.opened import Opened
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import PlannedRound, read_plan, read_posts, stored_answers
from assay.tasks.ledger.closed_round import (
    Decided,
    Revision,
    read_labels,
    read_revised_estimate,
    read_revisions,
    with_revision,
)
from assay.tasks.ledger.life import read_ending, versions
from assay.tasks.ledger.log import newest_digest
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.evidence import DrawRow, EvidencePack, ExposureRow, RevisedRow


@retried
def gather_evidence(opened: Opened) -> EvidencePack:
    """The evidence pack of an evaluation: every draw with its label, everything that was shown to people,
    every answer ever stored, and all revisions, read from the ledger's rounds. People's names are
    replaced by numbers."""
    people = _People()
    draws: list[DrawRow] = []
    exposures: list[ExposureRow] = []
    number = 1
    while (planned := read_plan(opened.ledger, number)) is not None:
        decided = read_labels(opened.ledger, number)
        draws += _draws(opened, planned, decided)
        exposures += _exposures(opened, planned, people)
        number += 1
    revisions = read_revisions(opened.ledger)
    facts = _facts(opened, number - 1, len(revisions))
    return EvidencePack(
        evaluation=opened.name,
        facts={**facts, "revisions": [_revision(opened.ledger, revision) for revision in revisions]},
        draws=draws,
        exposures=exposures,
        revised=_revised(opened, revisions, people),
    )


class _People:
    """Numbers in the order people are first met: the desk's names of them stay in the ledger."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def name(self, annotator: str) -> str:
        return f"person-{self._numbers.setdefault(annotator, len(self._numbers) + 1)}"


def _draws(opened: Opened, planned: PlannedRound, decided: list[Decided] | None) -> list[DrawRow]:
    plan = planned.plan
    settled = {decision.item_id: decision for decision in decided or ()}
    kind = plan.probability_kind
    rows, predicted = [], planned.prediction
    for t, item_id in enumerate(planned.item_id):
        decision, ask = settled.get(item_id), bool(plan.ask[t])
        label = planned.known[t] if decision is None else decision.label
        rows.append(
            DrawRow(
                round=planned.number, draw=t, item_id=item_id,
                stratum=opened.statistics.stratum(int(plan.cell[t])),
                cell=int(plan.cell[t]), rank=int(plan.rank[t]),
                prediction=None if predicted is None else _said(opened, float(predicted[t])),
                probability=float(plan.probability[t]), probability_kind=kind, asked=ask,
                label=_said(opened, label),
                reason=decision.reason if decision else None,
                answers=len(decision.annotations) if decision and ask else 0,
            )
        )
    return rows


def _said(opened: Opened, code: float | None) -> float | str | None:
    """A prediction or a label: 1 or 0 of a positive and a negative class, a number, else in words."""
    if code is None:
        return None
    labels = opened.spec.labels
    return int(code) if labels.positive_name is not None else labels.answers.value(code)


def _exposures(
    opened: Opened, planned: PlannedRound, people: _People
) -> list[ExposureRow]:
    """What was planned to be shown counts as shown; every answer ever seen counts, used or not."""
    answered: dict[tuple[str, int], set[str]] = {}
    for answer in stored_answers(opened.ledger, planned.number):
        answered.setdefault((answer.item_id, answer.asking), set()).add(answer.annotator)
    first_items = [*(planned.item_id[t] for t in planned.to_people()), *planned.gold]
    posts = read_posts(opened.ledger, planned.number)
    repeats = dict.fromkeys(item_id for post in posts if post.asking > 1 for item_id in post.items)
    fields = list(opened.spec.pool.display)
    return [
        ExposureRow(
            round=planned.number, item_id=item_id, fields=fields, asking=asking,
            people=[people.name(annotator) for annotator in sorted(answered.get((item_id, asking), ()))],
        )
        for asking, item_ids in ((1, first_items), (2, repeats)) for item_id in item_ids
    ]


def _revised(
    opened: Opened, revisions: Sequence[Revision], people: _People
) -> list[RevisedRow]:
    """Every label a revision changed, beside what it was before."""
    rounds = max((revision.rounds for revision in revisions), default=0)
    closed = [read_labels(opened.ledger, number) or [] for number in range(1, rounds + 1)]
    rows = []
    for before, revision in zip([None, *revisions], revisions, strict=False):
        was = {
            (number, decision.item_id): decision
            for number, decided in enumerate(with_revision(closed, before), start=1) for decision in decided
        }
        for item in revision.changed:
            then, decision = was[item.round, item.decided.item_id], item.decided
            rows.append(RevisedRow(
                revision=revision.number, round=item.round, item_id=decision.item_id,
                label_before=_said(opened, then.label), reason_before=then.reason,
                label=_said(opened, decision.label), reason=decision.reason,
                people=[people.name(annotator) for annotator in item.by],
            ))
    return rows


def _revision(ledger: Ledger, revision: Revision) -> JsonObject:
    """A revision in numbers and digests."""
    look = read_revised_estimate(ledger, revision.number)
    written = (
        layout.revision_labels, layout.revision_estimate, layout.revision_annotators, layout.revision_seal
    )
    keys = [key(ledger.name, revision.number) for key in written]
    digests = {key: _digest(ledger, key) for key in keys}
    return {
        "revision": revision.number,
        "rounds": revision.rounds,
        "after_the_end": revision.finished,
        "labels_changed": len(revision.changed),
        "estimates": [
            {"measure": e.measure, "value": e.value, "lower": e.lower, "upper": e.upper}
            for e in (look.estimates if look else ())
        ],
        "digests": {key: digest for key, digest in digests.items() if digest},
    }


def _facts(opened: Opened, rounds: int, revisions: int) -> JsonObject:
    name, manifest = opened.name, opened.manifest
    ending = read_ending(opened.ledger, len(opened.extensions))
    seals = {str(n): _digest(opened.ledger, layout.seal(name, n)) for n in range(1, rounds + 1)}
    closed = [digest for digest in seals.values() if digest]
    final = _digest(opened.ledger, layout.final_seal_after(name, len(opened.extensions)))
    revised = _digest(opened.ledger, layout.revision_seal(name, revisions)) if revisions else None
    return {
        "evaluation": name,
        "spec": opened.spec.to_json(),
        "method": opened.method.name,
        "interval_note": opened.interval_note,
        "seed": opened.spec.seed,
        "streams": "every random stream is derived from seed, evaluation, round, purpose and revision",
        "pool": {
            "items": manifest.rows,
            "digest": manifest.digest,
            "parts": {
                key.rpartition("/")[2]: part.digest
                for key, part in zip(manifest.part_keys, manifest.parts, strict=True)
            },
            "sources": [asdict(source) for source in manifest.sources],
            "partition": manifest.partition.digest,
        },
        "ending": None if ending is None else {
            "stopped_by": ending.stopped_by, "verdict": ending.verdict, "rounds": ending.rounds,
            "labels": ending.labels, "undecided": ending.undecided,
        },
        "extensions": [printed(extension) for extension in opened.extensions],
        "digests": {key: _digest(opened.ledger, key)
                    for key in (layout.spec(name), layout.manifest(name))},
        "seals": {
            "rounds": seals, "ending": final,
            # version 1.0.0 had no log, and seals alone
            "last": newest_digest(opened.ledger) or revised or final or (closed[-1] if closed else None),
        },
        "versions": {"began": dict(opened.versions), "this_pack": versions()},
    }


def _digest(ledger: Ledger, key: str) -> str | None:
    return layout.digest(ledger.get(key)) if ledger.exists(key) else None
