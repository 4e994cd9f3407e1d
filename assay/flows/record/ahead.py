"""What is still to come of an evaluation: how many labels it is likely to take, and how many would decide.

A forecast plays dozens of simulated evaluations, which takes seconds.  So it is kept:
`index/forecasts/<evaluation>/<round>-<digest>` holds the forecast from where a round closed.  It is derived,
and no evidence: one that is missing, damaged, of other versions, or that was asked of another budget, is made
again.  `verify` never reads it.
"""

import json
import logging
from dataclasses import replace
from typing import TypedDict

from assay.evalcore.evaluation.stopping import labels_to_decide, widening
from assay.evalcore.forecast.labels_needed import Outlook, Played, outlook
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import Opened
from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.checkpoint_values import UNREADABLE
from assay.tasks.ledger.checkpoints import anchor_key, anchor_of, put_derived, read_head, reading_versions
from assay.tasks.ledger.monitors import window_of
from assay.tasks.ledger.record import Ledger, find_bytes
from assay.tasks.ledger.stores.store import StoreError
from assay.tasks.report.standing import Standing
from assay.tasks.settings import Settings

_log = logging.getLogger("assay.status")


def kept_outlook(opened: Opened, standing: Standing) -> Outlook | None:
    """The forecast that was made where the evaluation stands, if one is kept; nothing is simulated."""
    if standing.state == "finished":
        return None
    hit = _find(opened.ledger, standing.rounds, _asked(opened))
    return hit[0] if hit else None


def read_outlook(opened: Opened, standing: Standing, played: Played | None = None) -> Outlook | None:
    """The forecast from where it stands, read if it is kept, else made and kept; None once it is finished.

    played: told of simulated worlds.
    """
    if standing.state == "finished":
        return None
    request = _asked(opened)
    hit = _find(opened.ledger, standing.rounds, request)
    if hit:
        return hit[0]
    folded = retried(fold)(opened.ledger, opened.statistics)
    limit, start = opened.spec.limit, _from_here(opened, folded)
    rule = replace(opened.rule, budget=opened.rule.budget + start.reused)
    ahead = outlook(
        opened.question, start.state, rule, opened.spec.batch_size,
        None if limit is None else (limit.min, limit.max), played, request["worlds"],
    )
    ahead = ahead and replace(ahead, budget=opened.rule.budget, before=start.reused)
    try:
        _keep(opened.ledger, folded.state.round, request, ahead)
    except StoreError as error:   # a copy that may not be written to can be looked at all the same
        _log.debug("%s: the forecast is not kept: %s", opened.name, error)
    return ahead


class ForecastRequest(TypedDict):
    """What a forecast depends on beside the closed rounds and the spec: the budget, and how many worlds are
    played at most."""

    budget: int | None
    worlds: int | None


def _from_here(opened: Opened, folded: Fold) -> Fold:
    """The fold with what needs nobody's answer: labels that were there before, where they are in no round."""
    held = opened.begun.held
    if held is None or folded.state.round:
        return folded
    from assay.flows.record.held_round import with_held

    return with_held(opened, folded, held)


def _asked(opened: Opened) -> ForecastRequest:
    """What a forecast depends on beside the closed rounds and the spec."""
    return {"budget": opened.rule.budget, "worlds": Settings().forecast_worlds}


def _find(ledger: Ledger, closed: int, request: ForecastRequest) -> tuple[Outlook | None] | None:
    """What is kept of this many closed rounds, which may be that nothing can be said; None without any."""
    for key in ledger.keys(layout.index_of_forecasts(ledger.name)):
        match = layout.forecast.match(key)
        blob = find_bytes(ledger, key) if match is not None and match[1] == closed else None
        if blob is None:
            continue
        try:
            head, body = read_head(key, blob)
            anchor_of(ledger, anchor_key(ledger.name, closed), head)
            if head["asked"] == request:
                return (None if body == b"null" else record.decode(Outlook, body, key),)
        except (*UNREADABLE, record.DamagedRecord):
            continue
    return None


def _keep(ledger: Ledger, closed: int, request: ForecastRequest, ahead: Outlook | None) -> None:
    """Keep it in place of what was kept before."""
    rests_on = layout.digest(ledger.get(anchor_key(ledger.name, closed)))
    head = {"versions": reading_versions(), "anchor": rests_on, "asked": request}
    blob = json.dumps(head).encode() + b"\n" + (b"null" if ahead is None else record.encode(ahead))
    key = layout.forecast(ledger.name, closed, layout.digest(blob)[:32])
    listed = frozenset(ledger.keys(layout.index_of_forecasts(ledger.name)))
    put_derived(ledger, key, blob, ())   # one of this name may be there, and damaged
    for old_key in listed - {key}:
        ledger.store.discard(old_key)


def more_labels(opened: Opened, standing: Standing) -> int | None:
    """About how many more labels would decide an inconclusive verdict; None where that cannot be said. Each
    further look of a finished evaluation widens its interval, which is counted."""
    limit, look = opened.spec.limit, standing.known
    if standing.verdict != "inconclusive" or limit is None or look is None:
        return None
    estimate = look.estimates[0]
    return labels_to_decide(
        estimate.value, estimate.lower, estimate.upper,
        edges=[edge for edge in (limit.min, limit.max) if edge is not None],
        labels=look.labels, pool=opened.manifest.rows,
        widening=1.0 if standing.state != "finished" or opened.method.holds_at_every_look
        else widening(opened.spec.target.confidence, len(opened.extensions)),
    )


def extend_command(opened: Opened, standing: Standing, labels: int | None) -> str | None:
    """What a finished evaluation is given so many more labels with; None where that cannot be done. A line
    for a shell, which people can copy."""
    look = standing.known
    if labels is None or look is None or standing.state != "finished" or standing.stopped_by == "pool":
        return None
    count = look.labels - standing.known_before + look.undecided + look.unanswered
    if count + labels > opened.manifest.rows or window_of(opened.ledger.store, opened.name) is not None:
        return None
    return f"assay extend {opened.name} --labels {count + labels}"
