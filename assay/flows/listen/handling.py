"""The page on which somebody handles an incident: acknowledges it, assigns it, or has it snoozed.

    GET  /incidents/<token>   what stands, and a form; nothing changes, so previews of links do no harm
    POST /incidents/<token>   records what the form says in the ledger of the monitor

The token is signed and holds for two weeks (`tasks.alerts.links`). Whoever has it may do just that, and is
asked who they are; the page is never kept by a browser, and tells no other page where it was.
"""

import html
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, get_args
from urllib.parse import parse_qs

from assay.evalcore.errors import AssayError, BadInput
from assay.flows.listen.seldom import out_of_order
from assay.flows.monitor.incidents import Incident, Reply, respond, standing_incidents
from assay.flows.monitor.run import read_run
from assay.flows.record.opened import utc_now
from assay.tasks.alerts.links import LinkedIncident, read_token
from assay.tasks.ledger.responses import Action
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.history.words import response_in_words

if TYPE_CHECKING:
    from fastapi import Request

    BodyOf = Callable[[Request], Awaitable[bytes | None]]   # of a request; None where it is too long
    from fastapi import FastAPI

HEADERS = {
    "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
                               "frame-ancestors 'none'; base-uri 'none'",
}
_MOST_HOURS = 24 * 31   # a month, the longest for which nothing is told of an incident
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem}}
fieldset{{margin:1rem 0;border:1px solid #bbb}}input,button{{font:inherit;padding:.3rem .5rem}}</style>
</head><body><h1>{title}</h1>{body}</body></html>"""


def add_incident_pages(
    app: "FastAPI", store: Store, secret: bytes, body_of: "BodyOf",
    clock: Callable[[], datetime] = utc_now,
) -> None:
    """Add the page to the receiver's application; body_of: a request's body, None where it is too long. A
    link of an alert leads to it: the token in the link names the incident and what may be said of it."""
    from fastapi import Request, Response

    def page(status: int, title: str, body: str) -> Response:
        text = _PAGE.format(title=html.escape(title), body=body)
        return Response(text, status_code=status, media_type="text/html", headers=HEADERS)

    def incident_of_token(token: str) -> LinkedIncident | None:
        return read_token(secret, token, clock().timestamp())

    gone = "This link does not hold", "<p>It is older than two weeks, or not whole. Ask for a newer one.</p>"

    @app.get("/incidents/{token}")
    def show(token: str) -> Response:
        about = incident_of_token(token)
        if about is None:
            return page(404, *gone)
        try:
            return page(200, f"{about.monitor}: {about.incident}", _standing(store, about, clock()))
        except AssayError as error:
            return page(503, f"{about.monitor}: {about.incident}", f"<p>{out_of_order(error)}</p>")

    @app.post("/incidents/{token}")
    async def handle(token: str, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        about, body = incident_of_token(token), await body_of(request)
        if about is None or body is None:
            return page(404 if about is None else 413, *gone)
        try:
            reply = _reply(about, parse_qs(body.decode("utf-8", "replace")), clock())
            made = await run_in_threadpool(respond, store, about.monitor, reply, now=clock())
        except AssayError as error:
            wrong = isinstance(error, BadInput)
            text = html.escape(str(error)) if wrong else out_of_order(error)
            return page(400 if wrong else 503, f"{about.monitor}: not done",
                        f"<p>{text}</p><p><a href=''>Back</a></p>")
        return page(200, f"{about.monitor}: done", f"<p>{html.escape(response_in_words(made))}</p>"
                                                   "<p>It is kept in the monitor's ledger.</p>")


def _standing(store: Store, about: LinkedIncident, moment: datetime) -> str:
    run = read_run(store, about.monitor, moment)
    incident = next((entry for entry in standing_incidents(run) if entry.name == about.incident), None)
    if incident is None:
        return "<p>It does not stand any more: there is nothing to do.</p>"
    return f"<p>{html.escape(incident.subject)}</p>{_handled(incident)}" + _FORM


def _handled(incident: Incident) -> str:
    handling = incident.handling
    done = [step for step in (handling.acknowledged, handling.assigned, handling.snoozed) if step is not None]
    return "".join(f"<p>{html.escape(response_in_words(response))}</p>" for response in done)


_FORM = """<form method="post"><p><label>Who are you? <input name="by" required maxlength="200"></label></p>
<p><label>Why, if you like <input name="reason" maxlength="500" size="40"></label></p>
<fieldset><legend>Seen: not repeated, and not escalated</legend>
<button name="action" value="acknowledge">Acknowledge</button></fieldset>
<fieldset><legend>Whose it is</legend><input name="to" maxlength="200" aria-label="Whose it is">
<button name="action" value="assign">Assign</button></fieldset>
<fieldset><legend>Tell nothing of it for some hours</legend>
<input name="hours" type="number" min="1" max="744" value="4" aria-label="Hours">
<button name="action" value="snooze">Snooze</button></fieldset></form>"""


def _reply(about: LinkedIncident, form: dict[str, list[str]], moment: datetime) -> Reply:
    """What the form says. Raises BadInput."""
    fields = {name: values[0] for name, values in form.items() if values}
    action: Action = fields.get("action", "")   # type: ignore[assignment]
    if action not in get_args(Action):
        raise BadInput("say what to do: acknowledge, assign or snooze")
    until = None
    if action == "snooze":
        hours = fields.get("hours", "")
        if not hours.isdecimal() or len(hours) > 6 or not 1 <= int(hours) <= _MOST_HOURS:
            raise BadInput(f"give the hours as a whole number from 1 to {_MOST_HOURS}")
        until = moment.astimezone(UTC) + timedelta(hours=int(hours))
    return Reply(
        action=action, by=fields.get("by", ""), incident=about.incident,
        to=fields.get("to", "") if action == "assign" else "", until=until, reason=fields.get("reason", ""),
    )
