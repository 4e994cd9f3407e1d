"""What a round leaves in the ledger, as typed values: plan, labels, estimates; and the outcome.

    plan.parquet    one row per draw: draw, item_id, cell, rank, probability, prediction, ask, label, segments
                    (one JSON object per row), shown (one JSON object where `ask`); `label` is the known label
                    of an item that was labelled in an earlier round. Attached text: which gold items are
                    mixed in, and which answers are surprising and asked again
    design.parquet  one row per cell (evalcore.design.round)
    labels.parquet  one row per item asked: item_id, cell, rank, label (null: people could not decide), reason
                    (why there is no label, or "reused": it is the one an earlier evaluation bought, as the
                    plan's column `inherited` has it), annotations (digests of the answers behind it), askings
                    (2 where it was asked again). Attached text: the answers to the round's gold items
    estimate.json   the estimates, with what the stopping rule looks at

`write_*` returns what is under the key afterwards: our own record, or the one of whoever was first. Callers
go on with what was returned and never with what they tried to write.

The plan carries its design: whoever finds a plan can write the very design it was drawn from, so a crash
between the two keys, or two writers with different library versions, cannot pair a plan with another's
probabilities.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from assay.evalcore.design.round import Design
from assay.evalcore.evaluation.estimates import Estimate
from assay.evalcore.evaluation.nonresponse import UNANSWERED
from assay.evalcore.evaluation.state import UNDECIDED, RoundPlan
from assay.evalcore.evaluation.stopping import Look
from assay.evalcore.evaluation.unfound import withheld
from assay.evalcore.types import Floats, Ints
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import KeyMissing, Store

_DESIGN, _PEOPLE, _GOLD = "assay.design", "assay.people", "assay.gold"
_NO_LABEL = -3  # in memory only: a draw whose label is not known from an earlier round

# skipped, deleted, withdrawn: people could not decide, removed it, took their answer back; unanswered: the
# round was closed before anybody answered
NoLabel = Literal["skipped", "deleted", "withdrawn", "unanswered"]
Reason = Literal["skipped", "deleted", "withdrawn", "unanswered", "reused"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedRound:
    """A plan with its items' names and faces. T draws."""

    number: int
    plan: RoundPlan
    item_id: Sequence[str]                       # (T,)
    prediction: Ints                             # (T,) 0 or 1
    known: Sequence[int | None]                  # (T,) label from an earlier round
    segments: Sequence[Mapping[str, str]]        # (T,)
    shown: Sequence[Mapping[str, str] | None]    # (T,) what people see; None unless asked
    inherited: Mapping[int, int] = field(default_factory=dict)   # draw -> label an earlier evaluation bought
    gold: tuple[str, ...] = ()                   # ids of the gold items mixed in
    again: Mapping[str, tuple[int, ...]] = field(default_factory=dict)   # item -> surprising answers
    again_alone: bool = False                    # asked again even while only one person is known

    def asked(self) -> list[int]:
        """The draws whose label is new to this evaluation: what its labels.parquet holds."""
        return [int(t) for t in np.flatnonzero(self.plan.ask)]

    def to_people(self) -> list[int]:
        """The draws that ask somebody something: the rest of the new ones keep the label they had."""
        return [t for t in self.asked() if t not in self.inherited]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What became of one item asked."""

    item_id: str
    cell: int
    rank: int
    label: int | None                  # 0, 1, or None
    reason: Reason | None              # why there is no label; or that nobody had to be asked for it
    annotations: tuple[str, ...]       # digests of the answers in rounds/<n>/annotations/
    askings: int | None = None         # times it was asked; None in ledgers of before this was recorded
    share: float | None = None         # of its answers that name the positive class; None as for askings

    @property
    def code(self) -> int:
        """0, 1, UNDECIDED or UNANSWERED."""
        if self.label is not None:
            return self.label
        return UNANSWERED if self.reason == "unanswered" else UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEstimate:
    """The estimates after a round, one for each measure, and what else stopping depends on."""

    round: int
    asked: int           # items newly asked in this round
    labels: int          # distinct items labelled so far
    positives: int       # of them in the positive class
    undecided: int       # distinct items that people could not decide so far
    exhausted: bool      # nothing is left whose label could change a measure
    estimates: tuple[Estimate, ...]
    segments: tuple[Estimate, ...] = ()  # the same by segment, where the spec names any
    joint: Mapping[str, Any] | None = None  # of several measures: evalcore.estimators.joint_region
    systems: tuple[Estimate, ...] = ()   # the same of the pool's further systems, where the spec names any
    unanswered: int = 0  # items so far whose round was closed before they were answered
    sensitivity: tuple[Mapping[str, Any], ...] = ()  # by measure: if all undecided items were of one class

    def look(self) -> Look:
        """As the stopping rule sees it: by the first measure."""
        return Look(
            labels=self.labels,
            estimate=self.estimates[0],
            both_outcomes=0 < self.positives < self.labels,
            exhausted=self.exhausted,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Why an evaluation stopped."""

    stopped_by: Literal["half_width", "variance", "budget", "pool"]
    verdict: Literal["ok", "breach", "inconclusive"] | None
    rounds: int
    labels: int
    undecided: int


def labels_of_draws(planned: PlannedRound, decided: Sequence[Decided]) -> Ints:
    """(T,) the label of every draw, known or new; UNDECIDED or UNANSWERED where there is none.

    Raises DamagedRecord if an asked item has no entry in `decided`.
    """
    new = {(d.cell, d.rank): d.code for d in decided}
    plan = planned.plan
    labels = np.empty(len(plan.cell), np.int64)
    for t, (cell, rank, known) in enumerate(
        zip(plan.cell.tolist(), plan.rank.tolist(), planned.known, strict=True)
    ):
        label = new.get((cell, rank), _NO_LABEL) if known is None else known
        if label == _NO_LABEL:
            raise codec.DamagedRecord(
                f"round {planned.number}: labels.parquet has no row for item {planned.item_id[t]!r}, "
                "which plan.parquet asks; restore both from a copy of the ledger"
            )
        labels[t] = label
    return labels


def shares_of_draws(planned: PlannedRound, decided: Sequence[Decided]) -> Floats | None:
    """(T,) the share of positive answers about every item asked; NaN, or None, where none is recorded."""
    share = {(d.cell, d.rank): d.share for d in decided if d.share is not None}
    if not share:
        return None
    plan = planned.plan
    places = zip(plan.cell.tolist(), plan.rank.tolist(), strict=True)
    return np.array([share.get(place, np.nan) for place in places], np.float64)


def write_plan(ledger: Ledger, planned: PlannedRound) -> PlannedRound:
    """Put the plan, then the design of whichever plan won."""
    import pyarrow as pa

    plan = planned.plan
    design = _encode_design(plan.design)
    columns = {
        "draw": pa.array(range(len(plan.cell)), pa.int64()),
        "item_id": pa.array(list(planned.item_id), pa.string()),
        "cell": pa.array(plan.cell, pa.int64()),
        "rank": pa.array(plan.rank, pa.int64()),
        "probability": pa.array(plan.probability, pa.float64()),
        "prediction": pa.array(planned.prediction, pa.int8()),
        "ask": pa.array(plan.ask, pa.bool_()),
        "label": pa.array(list(planned.known), pa.int8()),
        "segments": pa.array([_text(s) for s in planned.segments], pa.string()),
        "shown": pa.array([None if s is None else _text(s) for s in planned.shown], pa.string()),
    }
    if planned.inherited:
        columns["inherited"] = pa.array(
            [planned.inherited.get(t) for t in range(len(plan.cell))], pa.int8()
        )
    attached = {_DESIGN: base64.b64encode(design).decode()}
    if planned.gold or planned.again:
        again = {item_id: list(labels) for item_id, labels in planned.again.items()}
        people = {"gold": list(planned.gold), "again": again, "again_alone": planned.again_alone}
        attached[_PEOPLE] = codec.to_json(people).decode()
    blob = codec.to_parquet(columns, attached)
    key = layout.plan(ledger.name, planned.number)
    winner = ledger.put(key, blob)
    return _decode_plan(winner, key, planned.number)


def read_plan(ledger: Ledger, number: int) -> PlannedRound | None:
    """The plan of a round, or None if there is none yet."""
    key = layout.plan(ledger.name, number)
    blob = _get(ledger.store, key)
    return None if blob is None else _decode_plan(blob, key, number)


def write_design(ledger: Ledger, planned: PlannedRound) -> None:
    """Put the design a plan carries. Everybody who has the plan writes the same bytes."""
    ledger.put(layout.design(ledger.name, planned.number), _encode_design(planned.plan.design))


def read_design(ledger: Ledger, number: int) -> Design:
    """The design of a round."""
    key = layout.design(ledger.name, number)
    columns, _ = codec.from_parquet(ledger.get(key), key)
    return Design.from_columns(columns)


def write_labels(
    ledger: Ledger, number: int, decided: Sequence[Decided],
    gold: Mapping[str, Sequence[str]] | None = None,
) -> list[Decided]:
    """Close a round; the labels it was closed with. gold: gold item -> digests of the answers about it."""
    import pyarrow as pa

    columns = {
        "item_id": pa.array([d.item_id for d in decided], pa.string()),
        "cell": pa.array([d.cell for d in decided], pa.int64()),
        "rank": pa.array([d.rank for d in decided], pa.int64()),
        "label": pa.array([d.label for d in decided], pa.int8()),
        "reason": pa.array([d.reason for d in decided], pa.string()),
        "annotations": pa.array([list(d.annotations) for d in decided], pa.list_(pa.string())),
        "askings": pa.array([d.askings for d in decided], pa.int8()),
        "share": pa.array([d.share for d in decided], pa.float64()),
    }
    key = layout.labels(ledger.name, number)
    named = {item_id: list(digests) for item_id, digests in (gold or {}).items()}
    attached = {_GOLD: codec.to_json(named).decode()} if named else None
    return _decode_labels(ledger.put(key, codec.to_parquet(columns, attached)), key)


def read_labels(ledger: Ledger, number: int) -> list[Decided] | None:
    """What a round was closed with, or None while it is open."""
    key = layout.labels(ledger.name, number)
    blob = _get(ledger.store, key)
    return None if blob is None else _decode_labels(blob, key)


def read_gold_answers(ledger: Ledger, number: int) -> dict[str, tuple[str, ...]]:
    """Gold item -> digests of the answers about it, as a round was closed with; nothing while it is open."""
    key = layout.labels(ledger.name, number)
    blob = _get(ledger.store, key)
    text = None if blob is None else codec.from_parquet(blob, key)[1].get(_GOLD)
    named = {} if text is None else codec.from_json(text.encode(), key)
    return {item_id: tuple(digests) for item_id, digests in named.items()}


def write_estimate(ledger: Ledger, estimate: RoundEstimate) -> RoundEstimate:
    """Put the estimates of a closed round; the ones that stand."""
    key = layout.estimate(ledger.name, estimate.round)
    return decode_estimate(ledger.put(key, codec.to_json(asdict(estimate))), key)


def read_estimate(ledger: Ledger, number: int) -> RoundEstimate | None:
    """The estimates after a round, or None."""
    key = layout.estimate(ledger.name, number)
    blob = _get(ledger.store, key)
    return None if blob is None else decode_estimate(blob, key)


def write_outcome(ledger: Ledger, outcome: Outcome) -> Outcome:
    """Put why the evaluation stopped; the outcome that stands."""
    key = layout.outcome(ledger.name)
    return Outcome(**codec.from_json(ledger.put(key, codec.to_json(asdict(outcome))), key))


def read_outcome(ledger: Ledger) -> Outcome | None:
    """Why the evaluation stopped, or None if it has not."""
    key = layout.outcome(ledger.name)
    blob = _get(ledger.store, key)
    return None if blob is None else Outcome(**codec.from_json(blob, key))


def _get(store: Store, key: str) -> bytes | None:
    try:
        return store.get(key)
    except KeyMissing:
        return None


def _text(value: Mapping[str, str]) -> str:
    return codec.to_json(dict(value)).decode().rstrip("\n")


def _encode_design(design: Design) -> bytes:
    return codec.to_parquet({name: np.asarray(values) for name, values in design.to_columns().items()})


def _decode_plan(blob: bytes, key: str, number: int) -> PlannedRound:
    columns, metadata = codec.from_parquet(blob, key)
    if _DESIGN not in metadata:
        raise codec.DamagedRecord(f"{key}: carries no design; restore this key from a copy of the ledger")
    design_columns, _ = codec.from_parquet(base64.b64decode(metadata[_DESIGN]), key)
    design = Design.from_columns(design_columns)
    people = codec.from_json(metadata[_PEOPLE].encode(), key) if _PEOPLE in metadata else {}
    plan = RoundPlan(
        cell=np.array(columns["cell"], np.int64),
        rank=np.array(columns["rank"], np.int64),
        ask=np.array(columns["ask"], np.bool_),
        probability=np.array(columns["probability"], np.float64),
        census=bool(design.census[0]),
        design=design,
    )
    return PlannedRound(
        number=number,
        plan=plan,
        item_id=columns["item_id"],
        prediction=np.array(columns["prediction"], np.int64),
        known=columns["label"],
        segments=[codec.from_json(s.encode(), key) for s in columns["segments"]],
        shown=[None if s is None else codec.from_json(s.encode(), key) for s in columns["shown"]],
        inherited={t: y for t, y in enumerate(columns.get("inherited", ())) if y is not None},
        gold=tuple(people.get("gold", ())),
        again={item_id: tuple(labels) for item_id, labels in people.get("again", {}).items()},
        again_alone=bool(people.get("again_alone", False)),
    )


def _decode_labels(blob: bytes, key: str) -> list[Decided]:
    columns, _ = codec.from_parquet(blob, key)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [Decided(**{**row, "annotations": tuple(row["annotations"])}) for row in rows]


def decode_estimate(blob: bytes, key: str) -> RoundEstimate:
    """The estimates in the bytes of an estimate.json."""
    data: dict[str, Any] = codec.from_json(blob, key)
    decoded = {
        name: tuple(withheld(Estimate(**e), data["positives"]) for e in data.get(name, ()))
        for name in ("estimates", "segments", "systems")
    }
    sensitivity = tuple(data.get("sensitivity", ()))
    return RoundEstimate(**{**data, **decoded, "sensitivity": sensitivity})
