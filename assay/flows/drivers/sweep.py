"""The sweep: advance every open evaluation. It is scheduled and short, and may overlap with itself and with
anything else.

One evaluation that fails does not keep the others from advancing; it is named in the summary, and tried again
by the next sweep. The order is drawn anew every time, so none waits for ever behind others, also where every
sweep is cut off before its end.

A sweep that looks again reads the closed rounds of open evaluations too, and of those that finished lately:
answers that changed become revisions. Once a night is enough.
"""

import contextvars
import logging
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from assay.evalcore.errors import AssayError, plural
from assay.evalcore.json_values import JsonObject
from assay.flows.alerts import Unforeseen, raise_failure, raise_unreachable
from assay.flows.evaluation.advance import advance
from assay.flows.monitor.tick import judge_window_of, record_failure_of
from assay.flows.record.finished import finished_since
from assay.flows.record.opened import utc_now
from assay.tasks.desks.desk import DeskUnreachable
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import open_evaluations
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.standing import Standing

_log = logging.getLogger("assay.sweep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What one sweep did with the open evaluations, by name: the standing of those that finished or wait for
    people, the message of those that failed, and those in the index that were never frozen."""

    finished: dict[str, Standing] = field(default_factory=dict)
    waiting: dict[str, Standing] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)   # name -> the message
    not_begun: list[str] = field(default_factory=list)     # in the index, but never frozen

    def summary(self) -> str:
        """One line that counts the evaluations which finished, wait, failed or never began, without the
        counts that are zero; "nothing is open" where all are."""
        counts = {
            "finished": len(self.finished), "waiting": len(self.waiting), "failed": len(self.failed),
            "not begun": len(self.not_begun),
        }
        return ", ".join(f"{n} {what}" for what, n in counts.items() if n) or "nothing is open"

    def rows(self) -> list[JsonObject]:
        """A table with one row for each evaluation, in order of name, the failed ones last: its state,
        closed rounds and labels, and for a failed one the message under `why`."""
        rows: list[JsonObject] = [
            {"evaluation": name, "state": it.state, "rounds": it.rounds, "labels": it.labels, "why": ""}
            for name, it in sorted((self.finished | self.waiting).items())
        ]
        rows += [
            {"evaluation": name, "state": "failed", "rounds": None, "labels": None, "why": reason}
            for name, reason in sorted(self.failed.items())
        ]
        return rows


def sweep_store(
    store: Store, *, workers: int = 4, only: Iterable[str] | None = None, look_again: bool = False,
    look_back: timedelta = timedelta(0), clock: Callable[[], datetime] = utc_now,
) -> Sweep:
    """Advance every evaluation in the index of open ones, `workers` at a time.

    only         sweep these instead
    look_again   read the answers of closed rounds once more
    look_back    and those of evaluations whose last round closed no longer ago than this
    """
    names = list(only) if only is not None else _open(store)
    # a sweep that is cut off begins elsewhere the next time, and two at once rarely work on the same one
    random.shuffle(names)
    if names and only is None:
        retried(store.check)()   # which removes what crashed writers left behind
    if look_again and look_back and only is None:
        names += [name for name in finished_since(store, clock() - look_back) if name not in names]
    result = Sweep()
    away: dict[str, list[str]] = {}      # what a desk that cannot be reached says -> evaluations
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="sweep") as pool:
        # each with the context of the caller, so that effects in it are tasks of the caller's flow run
        futures = {
            name: pool.submit(contextvars.copy_context().run, _advance_one, store, name, look_again)
            for name in names
        }
        for name, future in futures.items():
            standing = future.result()
            if isinstance(standing, DeskUnreachable):
                result.failed[name] = str(standing)
                away.setdefault(str(standing), []).append(name)
            elif standing is None:
                result.not_begun.append(name)
            elif isinstance(standing, str):
                result.failed[name] = standing
            elif standing.state == "finished":
                result.finished[name] = standing
            else:
                result.waiting[name] = standing
    for message, evaluations in away.items():
        _tell_of_desk(store, sorted(evaluations), message, clock())
    _log.info("swept %s: %s", plural(len(names), "evaluation"), result.summary())
    return result


def _tell_of_desk(store: Store, evaluations: Sequence[str], message: str, moment: datetime) -> None:
    """Raise one alert a day for a desk that cannot be reached, however many evaluations wait for it."""
    try:
        raise_unreachable(store, evaluations, message, moment)
    except Exception as error:   # one that nobody can be told of keeps no other from advancing
        _log.error("%s: no alert could be raised: %s", evaluations[0], error)


def _advance_one(store: Store, name: str, look_again: bool) -> "Standing | str | DeskUnreachable | None":
    """Where it stands, or why it failed, or None if it has not begun (`begin` is running, or crashed)."""
    try:
        if not store.exists(layout.manifest(name)):
            return None
        standing = advance(store, name, look_again=look_again)
        if standing.state == "finished":
            judge_window_of(store, name)
        return standing
    except DeskUnreachable as error:
        _log.error("%s: %s", name, error)
        return error
    except AssayError as error:
        _log.error("%s: %s", name, error)
        _tell_of(store, name, error)
        return str(error)
    except Exception as error:
        _log.exception("%s: unexpected error", name)
        _tell_of(store, name, Unforeseen.from_error(error))
        return f"{type(error).__name__}: {error}"


def _tell_of(store: Store, name: str, error: AssayError) -> None:
    try:
        if not record_failure_of(store, name, error, utc_now()):
            raise_failure(store, name, error, utc_now())
    except Exception as another:   # one that nobody can be told of keeps no other from advancing
        _log.error("%s: no alert could be raised: %s", name, another)


@retried
def _open(store: Store) -> list[str]:
    return open_evaluations(store)
