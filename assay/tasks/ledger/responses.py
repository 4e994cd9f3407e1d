"""What people did about an incident of a monitor: `monitors/<name>/responses/0001.json`.

An incident is what alerts of one monitor and group are about: a breach of the pool, one of a segment, windows
that are missing, signals. It begins with its first alert, and a recovery ends it. Responses are numbered over
the life of the monitor; its log has each of them, and nothing is deleted.

    acknowledge   somebody has seen it: it is not repeated or escalated. Signals that are raised count as
                  ordinary from then on
    assign        whose it is
    snooze        nothing is told of it until a moment
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from assay.tasks.ledger import layout
from assay.tasks.ledger.log import put_logged_record
from assay.tasks.ledger.record import Ledger, read_records

Action = Literal["acknowledge", "assign", "snooze"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentResponse:
    """What one person did about an incident of a monitor, who, when and why: acknowledged it, assigned it to
    somebody, or snoozed it. Numbered over the life of the monitor."""

    number: int               # over the responses of the monitor, from 1
    incident: str             # as `incident_name` has it
    action: Action
    by: str                   # as they call themselves
    to: str = ""              # of assign: whose it is from now on
    until: datetime | None = None   # of snooze
    windows: tuple[str, ...] = ()   # of signals: the windows that count as ordinary
    signals: tuple[str, ...] = ()   # of signals: which
    reason: str = ""
    at: datetime              # when


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """How people stand to one incident: the responses that acknowledge, assign and snooze it, each None
    where there is none. The moment up to which it was snoozed may have passed."""

    acknowledged: IncidentResponse | None = None
    assigned: IncidentResponse | None = None
    snoozed: IncidentResponse | None = None    # until a moment that may have passed

    def snoozed_at(self, moment: datetime) -> bool:
        """Whether nobody is told of the incident at a moment, because it is snoozed until a later one. The
        end of a snooze is no longer part of it."""
        until = None if self.snoozed is None else self.snoozed.until
        return until is not None and moment < until


def incident_name(group: str) -> str:
    """What people call the incident of a group of alerts: `breach`, of the whole pool, for the empty one.
    Alerts and commands name it so."""
    return group or "breach"


def create_response(ledger: Ledger, response: IncidentResponse) -> IncidentResponse:
    """The response under its number afterwards: ours, or that of the process which was first. The monitor's
    log has it too."""
    return put_logged_record(ledger, layout.response(ledger.name, response.number), response)


def read_responses(ledger: Ledger) -> list[IncidentResponse]:
    """All responses to incidents of a monitor, in the order of their numbers. Raises DamagedRecord. Each says
    who did what about which incident, and when."""
    return read_records(ledger, layout.responses(ledger.name), layout.response, IncidentResponse)


def handling_of(responses: Sequence[IncidentResponse], incident: str, since: datetime | None) -> Handling:
    """How people stand to an incident; since: when it began, None for the beginning of time. The newest
    response of each kind counts."""
    by_action: dict[str, IncidentResponse] = {}
    for response in responses:
        if response.incident == incident and (since is None or response.at >= since):
            by_action[response.action] = response
    return Handling(
        acknowledged=by_action.get("acknowledge"), assigned=by_action.get("assign"),
        snoozed=by_action.get("snooze"),
    )
