"""What a round asks of people: the plan and its design, the attempts to put it on a desk, and the answers.

    plan.parquet    one row per draw: draw, item_id, cell, rank, probability, prediction, ask, label (known
                    from an earlier round), segments (one JSON object), shown (one JSON object where `ask`),
                    inherited (the code of a label that was there before), and where the pool has them
                    probabilities (of each class or tag), predictions (of each system compared, baseline
                    first), by_system (what each gives each class) judges (what each says) and beside,
                    score and cluster. Attached text: the
                    design, and which gold items and surprising answers people are asked about besides
    design.parquet  one row per cell (`Design.from_columns` reads it)
    posts/0001.json             an attempt to put the round's items on a desk
    posts/0001.arrived.json     that it arrived
    annotations/<digest>.json   one answer, as soon as it is seen: every version of every annotation
    pack.jsonl                  the answers that the labels of a closed round name, a line each, in the order
                                of their digests: the same bytes as under their own keys

The plan carries its design: any process can write the design that the plan was drawn from. So a crash between
the two keys, or two writers with different library versions, cannot pair a plan with another's probabilities.

`write_*` returns what is under the key afterwards: our own record, or that of the process which wrote first.
Callers use what was returned, never what they tried to write.
"""

import base64
import binascii
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.design.round import Design, RoundPlan
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.manifest import CONTENDER, RANK, STRATUM, WEIGHT
from assay.tasks.ledger.record import Ledger, find_bytes, get_record

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike


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
    inherited: Mapping[int, float] = field(default_factory=dict)   # draw -> code of a label that was there
    gold: tuple[str, ...] = ()                   # ids of the gold items mixed in
    again: Mapping[str, tuple[int, ...]] = field(default_factory=dict)   # item -> surprising answers
    again_alone: bool = False                    # asked again even while only one person is known
    probabilities: Floats | None = None          # (T, K) what the pool gives each class or tag
    predictions: Floats | None = None            # (T, S) codes, of each system, where systems are compared
    by_system: Floats | None = None              # (T, S·K) what each gives each class, where that is asked
    judges: Floats | None = None                 # (T, J) codes of what judges say
    beside: Floats | None = None                 # (T, X) covariates and the spread
    scores: Floats | None = None                 # (T,) where curves are asked for of a score
    clusters: Sequence[str] | None = None        # (T,) where items come in clusters
    weights: Floats | None = None                # (T,) what each counts for, where items have weights
    ranks: Floats | None = None                  # (T,) where documents stand in their queries
    strata: Floats | None = None                 # (T,) the stratum each was drawn from, where the pool says
    contenders: Floats | None = None             # (T,) codes of whose answers they are

    def asked(self) -> list[int]:
        """The draws whose label is new to this evaluation: what its labels.parquet holds."""
        return [int(t) for t in np.flatnonzero(self.plan.ask)]

    @property
    def items(self) -> Items:
        """What the pool says of the items of the T draws, as the statistics take it: arrays with a row for
        each draw, such as predictions (T, S) of S systems, (T, 0) without any. What the pool lacks is
        None."""
        predicted = self.prediction if self.predictions is None else self.predictions
        n = len(self.item_id)
        return Items(
            prediction=np.zeros((n, 0)) if predicted is None else
            np.asarray(predicted, np.float64).reshape(n, -1),
            probability=self.probabilities,
            judge=self.judges,
            covariate=self.beside,
            score=None if self.scores is None else self.scores[:, None],
            cluster=None if self.clusters is None else cluster_numbers(self.clusters)[:, None],
            by_system=self.by_system,
            weight=None if self.weights is None else self.weights[:, None],
            rank=None if self.ranks is None else self.ranks[:, None],
            stratum=None if self.strata is None else self.strata[:, None],
            contender=None if self.contenders is None else self.contenders[:, None],
        )

    def to_people(self) -> list[int]:
        """The draws that ask somebody something: the rest of the new ones keep the label they had. Places in
        the plan, from 0, in order."""
        return [t for t in self.asked() if t not in self.inherited]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Besides:
    """What people are asked besides the draws; the fields are those of PlannedRound."""

    gold: tuple[str, ...]
    again: Mapping[str, tuple[int, ...]]
    again_alone: bool


def cluster_numbers(names: Sequence[str]) -> Floats:
    """A number (n,) for each cluster, the same in every round: 48 bits of its name's hash. The number orders
    clusters by lot, without anything being kept for it."""
    number = {
        name: float(int.from_bytes(blake2b(name.encode(), digest_size=6).digest(), "big"))
        for name in set(names)
    }
    return np.array([number[name] for name in names], np.float64)


def write_plan(ledger: Ledger, planned: PlannedRound) -> PlannedRound:
    """The plan that is under the round's key afterwards: ours, or that of a process which wrote first. Its
    file holds a row for each draw, and the design that the plan was drawn from. Raises DamagedRecord."""
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
        "beside": _rows(planned.beside, draws),
        "score": [None] * len(plan.cell) if planned.scores is None else planned.scores.tolist(),
        "cluster": [None] * len(plan.cell) if planned.clusters is None else list(planned.clusters),
    }
    beside = {
        WEIGHT: planned.weights, RANK: planned.ranks, STRATUM: planned.strata, CONTENDER: planned.contenders,
    }
    extra_columns = {name: values.tolist() for name, values in beside.items() if values is not None}
    besides = _Besides(gold=planned.gold, again=planned.again, again_alone=planned.again_alone)
    attached = {
        _DESIGN: base64.b64encode(_encode_design(plan.design)).decode(),
        _BESIDES: record.encode(besides).decode(),
    }
    key = layout.plan(ledger.name, planned.number)
    return _decode(ledger.put(key, record.to_parquet(
        columns | extra_columns, _schema(tuple(extra_columns)), attached
    )), key, planned.number)


def read_plan(ledger: Ledger, number: int) -> PlannedRound | None:
    """The plan of a round, or None if there is none yet."""
    key = layout.plan(ledger.name, number)
    blob = find_bytes(ledger, key)
    return None if blob is None else _decode(blob, key, number)


def write_design(ledger: Ledger, planned: PlannedRound) -> None:
    """Put the design a plan carries. Everybody who has the plan writes the same bytes. It is no secret of one
    process: it follows from the plan."""
    ledger.put(layout.design(ledger.name, planned.number), _encode_design(planned.plan.design))


def read_design(ledger: Ledger, number: int) -> Design:
    """The design that a round's plan was drawn from, of the type that the round's method gave it. Raises
    KeyMissing where it was never written, and DamagedRecord."""
    key = layout.design(ledger.name, number)
    return _decode_design(ledger.get(key), key)


_IF_ANY = (WEIGHT, RANK, STRATUM, CONTENDER)   # columns that a plan has where the pool has them


@cache
def _schema(beside: tuple[str, ...]) -> "pa.Schema":
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
        pa.field("inherited", pa.float64()),
        pa.field("probabilities", pa.list_(pa.float32())),
        pa.field("predictions", pa.list_(pa.float64())),
        pa.field("by_system", pa.list_(pa.float32())),
        pa.field("judges", pa.list_(pa.float64())),
        pa.field("beside", pa.list_(pa.float64())),
        pa.field("score", pa.float64()),
        pa.field("cluster", pa.string()),
        *(pa.field(name, pa.float64(), nullable=False) for name in beside),
    ])


def _encode_design(design: Design) -> bytes:
    return record.to_parquet({name: np.asarray(values) for name, values in design.to_columns().items()})


def _decode_design(blob: bytes, key: str) -> Design:
    columns, _ = record.from_parquet(blob, key)
    try:
        design = Design.from_columns(columns)
        names = set(design.to_columns())
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise record.damaged(key, f"not a design ({type(error).__name__}: {error})") from None
    if names != set(columns):
        raise record.damaged(key, f"not columns of a design: {', '.join(sorted(set(columns) - names))}")
    return design


def _text(value: Mapping[str, str]) -> str:
    return record.to_json(dict(value)).decode().rstrip("\n")


def _decode(blob: bytes, key: str, number: int) -> PlannedRound:
    columns, attached = record.from_parquet(blob, key, _schema(_IF_ANY), optional=_IF_ANY)
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
        beside=_whole(columns["beside"], "beside", key),
        scores=None if None in columns["score"] else np.array(columns["score"], np.float64),
        clusters=None if None in columns["cluster"] else columns["cluster"],
        weights=np.array(columns[WEIGHT], np.float64) if WEIGHT in columns else None,
        ranks=np.array(columns[RANK], np.float64) if RANK in columns else None,
        strata=np.array(columns[STRATUM], np.float64) if STRATUM in columns else None,
        contenders=np.array(columns[CONTENDER], np.float64) if CONTENDER in columns else None,
    )


def _rows(values: Floats | None, draws: Sequence[int]) -> list[object]:
    """What the pool says of each draw, None where it has no such column."""
    return [None] * len(draws) if values is None else values.tolist()


def _whole(rows: "Sequence[ArrayLike | None]", what: str, key: str) -> Floats | None:
    """(T,) or (T, K) of rows that all have as many entries; None where no row has any."""
    values = [row for row in rows if row is not None]
    if not values:
        return None
    if len(values) < len(rows) or len({np.size(row) for row in values}) > 1:
        raise record.damaged(key, f"{what}: of some draws, or of different lengths")
    return np.array(values, np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One attempt to post items of a round, and whether all of them were once seen on the desk: the record
    of the attempt and the mark that it arrived, read together.

    The attempts to put a round's items on a desk.

    The process that creates the key makes the attempt; all others read. The keys hold times, and are not
    compared.
    """

    attempt: int               # 1 for the first
    at: datetime
    items: tuple[str, ...]
    arrived: bool              # all of them were once seen on the desk
    asking: int = 1            # 2: the items were asked again


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The record `posts/0001.json` of one attempt to post: its number, time, items and asking, and a random
    word by which the process that created it knows its own."""

    attempt: int
    at: datetime
    items: tuple[str, ...]
    asking: int
    creator: str               # a random word


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """The record `posts/0001.arrived.json`: that it is there says that everything arrived. It holds the
    address at which people find the items, for links; no two are ever compared."""

    place: str = ""            # the address at which people find it, for links; never compared


def read_posts(ledger: Ledger, round: int) -> list[Post]:
    """The attempts to post items of a round, in the order of their numbers, each with whether it arrived: by
    one listing and a read of each. Raises DamagedRecord."""
    keys = set(ledger.keys(layout.posts(ledger.name, round)))
    made = [get_record(ledger, key, Attempt) for key in keys if layout.post.match(key)]
    return [
        Post(
            attempt=attempt.attempt, at=attempt.at, items=attempt.items, asking=attempt.asking,
            arrived=layout.arrived(ledger.name, round, attempt.attempt) in keys,
        )
        for attempt in sorted(made, key=lambda attempt: attempt.attempt)
    ]


@effect("create-post")
def create_post(
    ledger: Ledger, round: int, attempt: int, items: Sequence[str], at: datetime, asking: int = 1
) -> bool:
    """Whether this process makes the attempt.

    A put that is repeated because its reply was lost finds its own bytes and is still the creator: they hold
    a random word.
    """
    ours = Attempt(attempt=attempt, at=at, items=tuple(items), asking=asking, creator=uuid4().hex)
    blob = record.encode(ours)
    return ledger.put(layout.post(ledger.name, round, attempt), blob) == blob


@effect("mark-arrived")
def mark_arrived(ledger: Ledger, round: int, attempt: int, place: str = "") -> None:
    """Write down that everything this attempt carried was seen on the desk, and where people find it. It is
    put once; a second call changes nothing."""
    ledger.put(layout.arrived(ledger.name, round, attempt), record.encode(Arrived(place=place)))


@retried
def desk_address(ledger: Ledger) -> str:
    """The address at which people found the items of the newest round that arrived; may be nothing. Reports
    and alerts lead people there."""
    # by number: of keys as texts round 10,000 comes before round 9,999
    arrivals = [(match, key) for key in ledger.keys(f"{ledger.name}/rounds/")
                if (match := layout.arrived.match(key)) is not None]
    return get_record(ledger, max(arrivals)[1], Arrived).place if arrivals else ""


def removed_on_purpose(posts: Sequence[Post]) -> set[str]:
    """Items that arrived twice: one that is gone now was removed twice, so somebody meant it. Item ids; such
    items are not posted again."""
    arrivals: set[str] = set()
    twice: set[str] = set()
    for post in posts:
        if post.arrived:
            twice |= arrivals.intersection(post.items)
            arrivals.update(post.items)
    return twice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundAnswers:
    """The answers of everybody in one closed round, about its items and about gold (items of known answer).

    The raw answers, each under its own digest.

    A closed round is read by its pack, with one call. Answers that came later are not in it: they are read
    one by one. Everybody who packs a round writes the same bytes, at any time after it was closed.
    """

    number: int
    answers: Sequence[Annotation]


@effect("store-answers")
def store_answers(ledger: Ledger, round: int, answers: Sequence[Annotation]) -> None:
    """Copy answers into the ledger, each under the digest of its bytes; those that are there already are
    left out. Every version of an annotation is kept. Tried again while the store is away."""
    keys = set(ledger.keys(layout.annotations(ledger.name, round)))
    for answer in answers:
        blob = record.encode(answer)
        key = layout.annotation(ledger.name, round, layout.digest(blob))
        if key not in keys:
            ledger.put(key, blob)


@retried
def stored_answers(
    ledger: Ledger, round: int, item_ids: Collection[str] | None = None
) -> list[Annotation]:
    """Everything the ledger holds about these items, or about all items of a round."""
    keys = list(ledger.keys(layout.annotations(ledger.name, round)))
    answers = [get_record(ledger, key, Annotation) for key in keys]
    return [answer for answer in answers if item_ids is None or answer.item_id in item_ids]


@retried
def write_pack(ledger: Ledger, round: int, digests: Iterable[str]) -> None:
    """Write the answers of these digests into the round's `pack.jsonl`, a line each in the order of the
    digests, unless the pack is there. Raises KeyMissing where an answer is not."""
    if not ledger.exists(layout.pack(ledger.name, round)):
        ledger.put(layout.pack(ledger.name, round), pack_of(ledger, round, digests))


def pack_of(ledger: Ledger, round: int, digests: Iterable[str]) -> bytes:
    """The bytes of the pack of these answers, read one by one."""
    return b"".join(ledger.get(layout.annotation(ledger.name, round, name)) for name in sorted(set(digests)))


@retried
def packed_answers(ledger: Ledger, round: int, digests: Iterable[str]) -> list[Annotation]:
    """`read_answers`, by the pack of the round as far as it holds them."""
    key = layout.pack(ledger.name, round)
    lines = (find_bytes(ledger, key) or b"").split(b"\n")
    packed = {layout.digest(line + b"\n"): line for line in lines}
    names = sorted(set(digests))
    return [
        record.decode(Annotation, packed[name], key) if name in packed
        else get_record(ledger, layout.annotation(ledger.name, round, name), Annotation)
        for name in names
    ]


@retried
def read_answers(ledger: Ledger, round: int, digests: Iterable[str]) -> list[Annotation]:
    """The answers of these names, in the order of the names. KeyMissing if one is gone. Raises DamagedRecord
    for one that cannot be read."""
    names = [layout.annotation(ledger.name, round, digest) for digest in sorted(set(digests))]
    return [get_record(ledger, key, Annotation) for key in names]


def annotators_of(ledger: Ledger, round: int, digests: Iterable[str]) -> tuple[str, ...]:
    """Who gave these answers of a round, as the desk's opaque ids, sorted."""
    return tuple(sorted({answer.annotator for answer in read_answers(ledger, round, digests)}))


def digests_by_item(answers: Iterable[Annotation]) -> dict[str, tuple[str, ...]]:
    """Item -> the digests of these answers about it, sorted: their names in the ledger. They are what a
    round's labels name as their ground."""
    by_item: dict[str, set[str]] = {}
    for answer in answers:
        by_item.setdefault(answer.item_id, set()).add(layout.digest(record.encode(answer)))
    return {item_id: tuple(sorted(digests)) for item_id, digests in by_item.items()}
