"""What is compared of an answer, and how closely: the same in the golden files and between processors.

Items, their order and every whole number are the same everywhere.  A floating-point number is the same to
TOLERANCE, relative to itself; arrays of them (designs, what an estimate carries besides) to TOLERANCE of
their sum.  On the platform that recorded the file all of it is the same to the last bit.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

import numpy as np

from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.monitoring.verdicts import lies_beyond
from assay.flows.monitor.history import read_monitor_history
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_estimate
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store

TOLERANCE = 1e-8
_BYTES = "bytes"        # digests that only the same platform repeats


def of_evaluation(store: Store, name: str) -> dict[str, Any]:
    """The draws, designs and estimates of every round in a ledger."""
    rounds = []
    while (planned := read_plan(Ledger(store, name), len(rounds) + 1)) is not None:
        plan = planned.plan
        estimate = read_estimate(Ledger(store, name), len(rounds) + 1)
        rounds.append({
            "items": _digest("\n".join(planned.item_id).encode()),
            "draws": _digest(*(np.asarray(x, np.int64).tobytes() for x in (plan.cell, plan.rank, plan.ask))),
            "design": {
                column: array_of(values)
                for column, values in sorted(plan.design.to_columns().items()) if len(values)
            },
            "probability": array_of(plan.probability),
            "estimates": [_row(e) for e in _all_of(estimate)] if estimate else [],
        })
    return {"rounds": rounds}


def of_history(store: Store, name: str) -> dict[str, Any]:
    """Every window of a monitor: its evaluations and its verdict."""
    return {
        "windows": [
            {
                "window": row.window,
                "state": row.state,
                "bought": row.bought,
                "evaluations": [of_evaluation(store, o.evaluation) for o in row.openings if o.evaluation],
                "verdict": _verdict(row.verdict) if row.verdict else None,
                "evidence": list(row.verdict.overall.evidence) if row.verdict else None,
            }
            for row in read_monitor_history(store, name).rows
        ]
    }


def array_of(values: Any) -> dict[str, Any]:
    """Two sums that any change of a number changes, and the digest of the bytes."""
    numbers = np.ravel(np.asarray(values, np.float64))
    known = np.where(np.isfinite(numbers), numbers, 0.0)
    place = np.arange(1, len(numbers) + 1)
    return {
        "length": len(numbers),
        "unknown": int((~np.isfinite(numbers)).sum()),
        "sums": [float((2 * np.abs(known) + known * np.cos(turn * place)).sum()) for turn in (1.0, 2.5)],
        _BYTES: _digest(numbers.tobytes()),
    }


def differences(stored: Any, found: Any, *, same_platform: bool, where: str = "") -> Iterator[str]:
    """Where two answers differ by more than they may."""
    if isinstance(stored, Mapping) and isinstance(found, Mapping):
        for key in sorted({*stored, *found}, key=str):
            if key == _BYTES and not same_platform:
                continue
            yield from differences(
                stored.get(key), found.get(key), same_platform=same_platform, where=f"{where}.{key}"
            )
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for i, (a, b) in enumerate(zip(stored, found, strict=True)):
            yield from differences(a, b, same_platform=same_platform, where=f"{where}[{i}]")
    elif isinstance(stored, float) and isinstance(found, float) and not same_platform:
        if not abs(stored - found) <= TOLERANCE * max(abs(stored), abs(found)) + 1e-14:
            yield f"{where}: {stored!r}, found {found!r}"
    elif stored != found:
        yield f"{where}: {stored!r}, found {found!r}"


_NUMBERS = ("value", "lower", "upper", "confidence", "labels", "variance", "diagnostics", "price_tag",
            "nonresponse", "at", "band", "comparison")


def _all_of(estimate: RoundEstimate) -> Iterator[Any]:
    yield from estimate.estimates
    yield from estimate.segments
    yield from estimate.systems


def _row(estimate: Any) -> dict[str, Any]:
    names = ("measure", "at", "curve", "system", "versus", "segment", "value", "lower", "upper", "labels")
    told = {name: getattr(estimate, name) for name in names} | {"of_class": estimate.class_name}
    parts = asdict(estimate)
    tag = parts["price_tag"]
    if tag and tag["not_excluded"] is None:     # recorded as nothing
        tag["not_excluded"] = {"unlabelled_share": 0.0, "unseen_items": 0}
    numbers = list(_numbers([parts[name] for name in _NUMBERS]))
    return {name: x for name, x in told.items() if x is not None} | {"numbers": array_of(numbers)}


def _verdict(verdict: WindowVerdict) -> dict[str, Any]:
    """The numbers of its own window: the mean over the last windows follows from such numbers.

    Without those of the spec's version and of follow-ups.  Labels to decide are those that take an interval
    off a limit; of one that lies beyond, there were none.
    """
    left_out = {"recent", "version", "parts"}
    if any(lies_beyond(verdict.overall.measured, limit) for limit in verdict.overall.limits):
        left_out.add("labels_to_decide")
    told = {name: value for name, value in asdict(verdict).items() if name not in left_out}
    for place in (told["overall"], *told["segments"]):
        del place["drawn"], place["tracked"]   # they follow from the rounds
    del told["rests_on"]["follow_ups"]   # the windows count them
    return array_of(list(_numbers(told)))


def _numbers(data: Any) -> Iterator[float]:
    if isinstance(data, Mapping):
        for value in data.values():
            yield from _numbers(value)
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for value in data:
            yield from _numbers(value)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield float(data)


def _digest(*parts: bytes) -> str:
    seen = sha256()
    for part in parts:
        seen.update(part)
    return seen.hexdigest()[:16]


def plain(answer: Any) -> Any:
    """As it is read back from the file."""
    return json.loads(json.dumps(answer))
