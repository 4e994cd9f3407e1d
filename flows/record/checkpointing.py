"""What an evaluation knows after its closed rounds, from a checkpoint and into one.

A checkpoint spares the reading of closed rounds; it decides nothing. What it lacks is read from the ledger:
what people saw, what items were closed with, and answers where one person answered alone.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from assay.evalcore.history import in_brief, with_last
from assay.flows.record.fold import Fold
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints.checkpoint import (
    Checkpoint,
    CheckpointLost,
    Entries,
    run_of,
    write_checkpoint,
)
from assay.tasks.ledger.checkpoints.values import UNREADABLE, NotKept, read_value, written_value
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.answers import RoundAnswers
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.estimate import RoundEstimate

_log = logging.getLogger("assay.advance")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What is known without reading closed rounds."""

    fold: Fold
    answered: Sequence[RoundAnswers]     # everybody's, in the first ones
    people: Sequence[Sequence[str]]      # who answered in each of the first ones


def known_from(ledger: Ledger, checkpoint: Checkpoint, begun: Fold) -> Known:
    """What a checkpoint says; begun: before the first round. Raises CheckpointLost."""
    try:
        state, as_if, labelled, last_asked, reused, looks, last, closed, answered, people = read_value(
            checkpoint.value, partial(retried(run_of), ledger), _base(begun)
        )
        folded = Fold(
            state=state, as_if=as_if, labelled=labelled, last_asked=last_asked, reused=reused, closed=closed,
            looks=with_last(looks, last),
        )
        if not folded.state.round == len(folded.looks) == len(closed) == checkpoint.round:
            raise ValueError("its parts are of different rounds")
    except UNREADABLE as error:
        raise CheckpointLost(f"{type(error).__name__}: {error}") from None
    return Known(fold=folded, answered=answered, people=people)


@retried
def keep_checkpoint(
    ledger: Ledger, manifest: Manifest, begun: Fold, known: Known, read_so_far: Mapping[str, bytes],
    entries: Entries,
) -> None:
    """Write a checkpoint after the closed rounds, unless the newest one says all of it.

    begun         before the first round, as `known` went on from it
    read_so_far   what this call read and put: key -> bytes
    entries       what the index held when the call began
    """
    number, newest = known.fold.state.round, entries.newest
    records = {key: read_so_far[key] for key in _read_by_all(ledger.name, manifest, number, read_so_far)}
    if newest is not None and newest.round == number and newest.records.keys() >= records.keys():
        return
    try:
        value, runs = written_value(_value(known), number, _base(begun))
    except NotKept as error:
        _log.debug("%s: no checkpoint: %s", ledger.name, error)
        return
    write_checkpoint(ledger, Checkpoint(round=number, records=records, value=value), runs, entries.keys)


def _value(known: Known) -> tuple[Any, ...]:
    folded = known.fold
    return (
        folded.state, folded.as_if, folded.labelled, folded.last_asked, folded.reused,
        in_brief(folded.looks, _look_in_brief), folded.looks[-1] if folded.looks else None,
        in_brief(folded.closed, ClosedRound.in_brief), in_brief(known.answered, _answers_in_brief),
        tuple(map(tuple, known.people)),
    )


def _base(begun: Fold) -> tuple[Any, ...]:
    """What the parts of `_value` are written against."""
    return (begun.state, (begun.state,) * begun.ways, *[None] * 8)


def _look_in_brief(known: RoundEstimate) -> RoundEstimate:
    """What stopping and alerts need of an earlier round."""
    return replace(known, segments=(), systems=(), joint=None)


def _answers_in_brief(one: RoundAnswers) -> RoundAnswers:
    """Without the desk's own records."""
    return replace(one, answers=tuple(replace(answer, raw={}) for answer in one.answers))


def _read_by_all(
    name: str, manifest: Manifest, number: int, there: Mapping[str, bytes]
) -> Iterator[str]:
    """The keys that every call reads, of those that are there."""
    always = (
        layout.spec(name), layout.manifest(name), layout.identity(name), *manifest.partition_keys[:1],
        manifest.inherited_key, manifest.outcomes_key, manifest.gold_key, layout.plan(name, number + 1),
    )
    yield from (key for key in always if key is not None and key in there)
    yield from sorted(key for key in there if key.startswith(layout.posts(name, number + 1)))
    yield from sorted(key for key in there if layout.extension.match(key))
