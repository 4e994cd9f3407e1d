"""What a round is going to ask: `rounds/0001/plan.parquet` and `design.parquet`.

    plan.parquet    one row per draw: draw, item_id, cell, rank, probability, prediction, ask, label (known
                    from an earlier round), segments (one JSON object), shown (one JSON object where `ask`),
                    inherited (the label an earlier evaluation bought), and where the pool has them
                    probabilities (of each class or tag), predictions (of each system compared, baseline
                    first), by_system (what each gives each class) and judges (codes of what each says),
                    score and cluster. Attached text: the
                    design, and which gold items and surprising answers people are asked about besides
    design.parquet  one row per cell (`Design.from_columns` reads it)

The plan carries its design: any process can write the design that the plan was drawn from. So a crash between
the two keys, or two writers with different library versions, cannot pair a plan with another's probabilities.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.evalcore.design.round import Design, RoundPlan
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger, find_bytes

if TYPE_CHECKING:
    import pyarrow as pa

_DESIGN, _BESIDES = "assay.design", "assay.besides"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedRound:
    """A plan with the ids and shown fields of its items. T draws."""

    number: int
    plan: RoundPlan
    item_id: Sequence[str]                       # (T,)
    prediction: Floats | None = None             # (T,) codes; None where the pool has no prediction
    known: Sequence[int | None]                  # (T,) label from an earlier round
    segments: Sequence[Mapping[str, str]]        # (T,)
    shown: Sequence[Mapping[str, str] | None]    # (T,) what people see; None unless asked
    inherited: Mapping[int, int] = field(default_factory=dict)   # draw -> label an earlier evaluation bought
    gold: tuple[str, ...] = ()                   # ids of the gold items mixed in
    again: Mapping[str, tuple[int, ...]] = field(default_factory=dict)   # item -> surprising answers
    again_alone: bool = False                    # asked again even while only one person is known
    probabilities: Floats | None = None          # (T, K) what the pool gives each class or tag
    predictions: Floats | None = None            # (T, S) codes, of each system, where systems are compared
    by_system: Floats | None = None              # (T, S·K) what each gives each class, where that is asked
    judges: Floats | None = None                 # (T, J) codes of what judges say
    scores: Floats | None = None                 # (T,) where curves are asked for of a score
    clusters: Sequence[str] | None = None        # (T,) where items come in clusters

    def asked(self) -> list[int]:
        """The draws whose label is new to this evaluation: what its labels.parquet holds."""
        return [int(t) for t in np.flatnonzero(self.plan.ask)]

    @property
    def items(self) -> Items:
        """What the pool says of the items of the draws."""
        predicted = self.prediction if self.predictions is None else self.predictions
        n = len(self.item_id)
        return Items(
            prediction=np.zeros((n, 0)) if predicted is None else
            np.asarray(predicted, np.float64).reshape(n, -1),
            probability=self.probabilities,
            judge=self.judges,
            score=None if self.scores is None else self.scores[:, None],
            cluster=None if self.clusters is None else cluster_numbers(self.clusters)[:, None],
            by_system=self.by_system,
        )

    def to_people(self) -> list[int]:
        """The draws that ask somebody something: the rest of the new ones keep the label they had."""
        return [t for t in self.asked() if t not in self.inherited]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Besides:
    """What people are asked besides the draws; the fields are those of PlannedRound."""

    gold: tuple[str, ...]
    again: Mapping[str, tuple[int, ...]]
    again_alone: bool


def cluster_numbers(names: Sequence[str]) -> Floats:
    """A number (n,) for each cluster, the same in every round: 48 bits of its name's hash."""
    number = {
        name: float(int.from_bytes(blake2b(name.encode(), digest_size=6).digest(), "big"))
        for name in set(names)
    }
    return np.array([number[name] for name in names], np.float64)


def write_plan(ledger: Ledger, planned: PlannedRound) -> PlannedRound:
    """Put a plan; returns the one under the key."""
    plan = planned.plan
    draws = range(len(plan.cell))
    columns = {
        "draw": draws,
        "item_id": planned.item_id,
        "cell": plan.cell,
        "rank": plan.rank,
        "probability": plan.probability,
        "prediction": _rows(planned.prediction, draws),
        "ask": plan.ask,
        "label": planned.known,
        "segments": [_text(segments) for segments in planned.segments],
        "shown": [None if shown is None else _text(shown) for shown in planned.shown],
        "inherited": [planned.inherited.get(t) for t in draws],
        "probabilities": _rows(planned.probabilities, draws),
        "predictions": _rows(planned.predictions, draws),
        "by_system": _rows(planned.by_system, draws),
        "judges": _rows(planned.judges, draws),
        "score": [None] * len(plan.cell) if planned.scores is None else planned.scores.tolist(),
        "cluster": [None] * len(plan.cell) if planned.clusters is None else list(planned.clusters),
    }
    besides = _Besides(gold=planned.gold, again=planned.again, again_alone=planned.again_alone)
    attached = {
        _DESIGN: base64.b64encode(_encode_design(plan.design)).decode(),
        _BESIDES: record.encode(besides).decode(),
    }
    key = layout.plan(ledger.name, planned.number)
    return _decode(ledger.put(key, record.to_parquet(columns, _schema(), attached)), key, planned.number)


def read_plan(ledger: Ledger, number: int) -> PlannedRound | None:
    """The plan of a round, or None if there is none yet."""
    key = layout.plan(ledger.name, number)
    blob = find_bytes(ledger, key)
    return None if blob is None else _decode(blob, key, number)


def write_design(ledger: Ledger, planned: PlannedRound) -> None:
    """Put the design a plan carries. Everybody who has the plan writes the same bytes."""
    ledger.put(layout.design(ledger.name, planned.number), _encode_design(planned.plan.design))


def read_design(ledger: Ledger, number: int) -> Any:
    """The design of a round."""
    key = layout.design(ledger.name, number)
    return _decode_design(ledger.get(key), key)


@cache
def _schema() -> "pa.Schema":
    import pyarrow as pa

    return pa.schema([
        pa.field("draw", pa.int64(), nullable=False),
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("cell", pa.int64(), nullable=False),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("probability", pa.float64(), nullable=False),
        pa.field("prediction", pa.float64()),
        pa.field("ask", pa.bool_(), nullable=False),
        pa.field("label", pa.int16()),
        pa.field("segments", pa.string(), nullable=False),
        pa.field("shown", pa.string()),
        pa.field("inherited", pa.int16()),
        pa.field("probabilities", pa.list_(pa.float32())),
        pa.field("predictions", pa.list_(pa.float64())),
        pa.field("by_system", pa.list_(pa.float32())),
        pa.field("judges", pa.list_(pa.float64())),
        pa.field("score", pa.float64()),
        pa.field("cluster", pa.string()),
    ])


def _encode_design(design: Any) -> bytes:
    return record.to_parquet({name: np.asarray(values) for name, values in design.to_columns().items()})


def _decode_design(blob: bytes, key: str) -> Any:
    columns, _ = record.from_parquet(blob, key)
    try:
        design = Design.from_columns(columns)
        known = set(design.to_columns())
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise record.damaged(key, f"not a design ({type(error).__name__}: {error})") from None
    if known != set(columns):
        raise record.damaged(key, f"not columns of a design: {', '.join(sorted(set(columns) - known))}")
    return design


def _text(value: Mapping[str, str]) -> str:
    return record.to_json(dict(value)).decode().rstrip("\n")


def _decode(blob: bytes, key: str, number: int) -> PlannedRound:
    columns, attached = record.from_parquet(blob, key, _schema())
    try:
        design_blob = base64.b64decode(record.attached_text(attached, _DESIGN, key), validate=True)
    except binascii.Error as error:
        raise record.damaged(key, f"{_DESIGN}: {error}") from None
    design = _decode_design(design_blob, key)
    besides = record.decode(_Besides, record.attached_text(attached, _BESIDES, key), key)
    plan = RoundPlan(
        design=design,
        cell=np.array(columns["cell"], np.int64),
        rank=np.array(columns["rank"], np.int64),
        ask=np.array(columns["ask"], np.bool_),
        probability=np.array(columns["probability"], np.float64),
        census=bool(design.census[0]),
    )
    return PlannedRound(
        number=number,
        plan=plan,
        item_id=columns["item_id"],
        prediction=_whole(columns["prediction"], "prediction", key),
        known=columns["label"],
        segments=[record.decode(dict[str, str], text.encode(), key) for text in columns["segments"]],
        shown=[
            None if text is None else record.decode(dict[str, str], text.encode(), key)
            for text in columns["shown"]
        ],
        inherited={t: y for t, y in enumerate(columns["inherited"]) if y is not None},
        gold=besides.gold,
        again=besides.again,
        again_alone=besides.again_alone,
        probabilities=_whole(columns["probabilities"], "probabilities", key),
        predictions=_whole(columns["predictions"], "predictions", key),
        by_system=_whole(columns["by_system"], "by_system", key),
        judges=_whole(columns["judges"], "judges", key),
        scores=None if None in columns["score"] else np.array(columns["score"], np.float64),
        clusters=None if None in columns["cluster"] else columns["cluster"],
    )


def _rows(values: Floats | None, draws: Sequence[int]) -> list[Any]:
    """What the pool says of each draw, None where it has no such column."""
    return [None] * len(draws) if values is None else values.tolist()


def _whole(rows: Sequence[Any], what: str, key: str) -> Floats | None:
    """(T,) or (T, K) of rows that all have as many entries; None where no row has any."""
    given = [row for row in rows if row is not None]
    if not given:
        return None
    if len(given) < len(rows) or len({np.size(row) for row in given}) > 1:
        raise record.damaged(key, f"{what}: of some draws, or of different lengths")
    return np.array(given, np.float64)
