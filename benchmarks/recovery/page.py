"""docs/measured/recovery.md, written from the results of the recovery suite."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.recovery.places import PLACES

Result = Mapping[str, Any]

_HEAD = """# Recovery: tests with kills and faults

What happens to an evaluation if processes are killed or services fail? Everything below ran against a real
Label Studio, a real S3-compatible server (SeaweedFS) and a real Prefect server, started for the purpose.
This page is made by `python -m benchmarks.recovery page` from what was run; `make recovery-long` runs all of
it with 1,000 kills, `make recovery` a smaller part in some minutes, and `make test` a few cases.

In every row the final ledger was compared with that of an undisturbed run: every key, every column, every
value. Of times it is compared that each is there, and that none is earlier than the one before. Left out
are random words, and the digests of answers, because an answer holds the time at which it was given. Numbers
are compared to 1e-9: their last bit depends on how many threads a process adds up with. Every item asked was
checked to have one label, and the right one. `assay verify` was run on every ledger. A *copy* is a second
Label Studio task for an item.
"""

_KILLS = """## Processes killed

29 November 2026. Every process reports its effects to the test through a named pipe (`ASSAY_EFFECT_LOG`).
It is killed with SIGKILL at a moment drawn from a seed: during the n-th effect, during the effect that was
killed least often so far, or at any time. Then it is started again, until the evaluation, or the monitor,
has come to its end.

- `assay run` with Label Studio: a person labels meanwhile. A proxy in front of Label Studio disturbs about
  half of all imports: it loses the reply, or the request, or delays the import until it was posted again.
  Items are posted again after one second instead of ten minutes.
- `assay run` alone: the desk is simulated. Most processes of `assay run` are forked from one that has
  imported the libraries; every tenth is started from nothing.
- A monitor: four windows are open at once, people answer in files, and an inconclusive window gets a
  follow-up. People answer between the runs of the monitor, so the order of events is always the same.
- A crowd: the runs of the monitor and of two sweepers, three processes at once, all of them killed. People
  answer all the while.

In a crowd the order in which windows are answered and judged differs from trial to trial, and **this order is
an input**: it decides the evidence of a verdict and the labels of a follow-up. The table counts the
evaluations of which that is so. Of every one was checked: its ledger is, key by key, what one process alone
makes of its spec and the same answers, no month is overspent, and `verify` recomputes every verdict.

"""

_FAULTS = """## Services that fail

29 November 2026. Each trial is an evaluation of two rounds with one fault, each time at another request.
*Unnoticed*: the call was tried again and succeeded. *Waited*: the evaluation reported that items were not
on the desk yet, and posted them again when the time had come. *Said why*: `advance` ended with an error
that names the service and says what to do, and the next run went on from there.
"""

_MANY = """## Many evaluations in one store

29 November 2026. The time of one `sweep` over many open evaluations: when all of them wait for people and
nothing is due, and when each has rounds to close, plan and post. The seconds are from a machine with two
cores that was busy with other work. CPU seconds are those of the sweep itself, without the server.
"""


_EVERY = """## Every operation of a life

29 November 2026. A life is an evaluation of each kind of outcome, or of several questions; one that is
extended and revised; one with gold and two people who differ, closed early; or a monitor that catches up
after four days, with an amendment and a mute. *Killed*: it goes on from what was there after each of its
writes, as after a kill before the write, behind it, or at any read up to the next. *Fails*, *is away*:
each operation of store and desk, reads too, ends with that error once; *stays away*: and all after it,
until the step has ended. The step is run again by something that remembers nothing. Then the ledger must
be that of an undisturbed life, key by key and byte by byte, but for times and random words. *Tried* says
at how many of its operations.
"""

_TURNS = """## Two versions in turns

29 November 2026. Version 1.0.0, from its commit in a folder of its own, and this version take turns on one
ledger, each step in the process of one of them: an evaluation at a folder desk with an extension and a
revision, the same by `auto`, and a monitor of five windows with an amendment, a mute and alerts. *Twice*:
this version has two turns, 1.0.0 every third. There are no segments: 1.0.0 refuses a round with segments
that this version closed, by an error that names the key, and this version goes on. What 1.0.0 cannot do
there is judge a window after one that this version judged first: its run names the window and ends with an
error, nothing is lost, and the next run of this version judges it. *Computed otherwise*: estimates of
rounds that 1.0.0 closed in an evaluation which this version began. `verify` of this version names them,
because nothing says who computed them; in an evaluation that 1.0.0 began it makes a note. `verify` of
1.0.0 names the keys of the log, which it does not know, and what is computed otherwise now.
"""

_FUZZ = """## Stored bytes changed

29 November 2026. Changes at random, evenly over all kinds of keys: cut off, flipped, repeated, exchanged
with another key; a field replaced by something hostile, removed or added; columns of tables with other
values; 200,000 brackets; and forged below `index/`, under the digest that the change has. *Named*: `verify`
names it. *Harmless*: it does not, and standing and history say what they said before. *Else*: a traceback, a
hang of 20 seconds, or another result that nobody notices. Seven kinds were fuzzed for the first time:
receipts of a freeze gave tracebacks, hangs and another pool, forged checkpoints a traceback; mended.
"""

_AWAY = """## Prefect's API away for an hour

29 November 2026. A real server with the deployments of `deployments/prefect.yaml` (a sweep a minute) and
their automations, a worker that is started again whenever it ends, a run of `evaluate`, an evaluation that
sweeps advance, and a monitor every minute; people answer all the while. The server is killed, away for an
hour in which a window in breach comes in, and started again on its data. A worker ends after some minutes
without the API, and its runs with it. Before, 64 late sweeps began at once, and after seven minutes the
breach was **not yet told**. Now three begin, and the others are cancelled.
Prefect still calls the dead run of `evaluate` running; sweeps finished its evaluation.
"""

_SCHEDULES = """## A day without Prefect, a paused schedule, two versions

29 November 2026. A monitor every half hour. The server is killed, and all that it has scheduled moved back by
a day; three windows come in; it starts again. Then its schedule is paused, the same happens with two more
windows, and it is resumed. 3.8.8 and 3.9.1 are the oldest and the newest version that pyproject.toml allows.
Late runs beside one that works are cancelled: that one catches up with every window. A run that dies with
its server holds the one slot of its monitor until its lease ends; with leases in memory, Prefect's default,
for good, so `deployments/` keeps them in files.
"""


def every_table(results: Sequence[Result]) -> str:
    """Of each life and way to disturb it: operations, those tried, and ends that differ."""
    return _table(["life", "disturbed", "operations", "tried", "another end"], [
        (one["life"], one["how"], one["operations"], one["tried"], len(one["wrong"]))
        for one in sorted(results, key=lambda one: one["life"])
    ])


def turns_table(results: Sequence[Result]) -> str:
    """Of each ledger: which version began, and whether the end is that of this version alone."""
    heading = ["ledger", "store", "the first turn", "turns", "as this version alone", "computed otherwise",
               "else named by `verify`"]
    return _table(heading, [
        (one["what"], one["where"], one["first"], one["steps"], "yes" if one["as_alone"] else "no",
         one["computed_otherwise"], len(one["named"])) for one in results
    ])


def fuzz_table(results: Sequence[Result]) -> str:
    """All portions together."""
    kinds = {kind for one in results for kind in one["tried"]}
    tried = sum(sum(one["tried"].values()) for one in results)
    return _table(["changes", "kinds of keys", "named", "harmless", "else"], [(
        tried, len(kinds), sum(one["named"] for one in results), sum(one["harmless"] for one in results),
        sum(len(one["wrong"]) for one in results),
    )])


def away_table(results: Sequence[Result]) -> str:
    """The last outage: what became of worker, runs, labels and alerts."""
    last = results[-1]
    back = "; ".join(f"{what} {seconds:.0f} s" for what, seconds in last["back_after"].items())
    return _table(["", "measured"], [
        ("minutes away", f"{last['minutes']:.0f}"),
        ("the worker ended meanwhile, and was started again", last["worker_ended"]),
        ("the first time after", f"{last['worker_lived']:.0f} s"),
        ("the process of `evaluate` lived to the end of the outage", _yes(last["flow_process_lived"])),
        ("rounds that it closed meanwhile", last["rounds_meanwhile"]),
        ("once the server was back", back),
        ("not within 20 minutes", "; ".join(last["too_late"]) or "nothing"),
        ("runs, last", "; ".join(f"{what} {times}" for what, times in last["runs"].items())),
        ("people heard of the breach", f"{last['breach_told']} time(s)"),
        ("labels lost, items with two labels", f"{last['labels_lost']}, {last['labelled_twice']}"),
        ("differences named by `verify`", len(last["differences"])),
    ])


def schedules_table(results: Sequence[Result]) -> str:
    """Of each pair of versions: late runs, what became of them, and the windows."""
    heading = ["server", "worker and deployments", "runs a day late", "what became of them",
               "seconds until three windows were judged", "runs while paused", "anchor of the schedule",
               "windows judged, of 6", "judged twice", "named by `verify`"]
    return _table(heading, [
        (one["server"], one["client"], one["late"],
         ", ".join(f"{what} {times}" for what, times in one["states"].items()), one["seconds"],
         one["while_paused"], "kept" if one["anchor_kept"] else "moved",
         len({*one["verdicts"], *one["resumed"]}),
         len(one["verdicts"] + one["resumed"]) - len({*one["verdicts"], *one["resumed"]}), one["differences"])
        for one in results
    ])


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def page(results: Sequence[Result], earlier: str = "") -> str:
    """The whole page; a part of which there are no results stays what it is on the earlier page."""
    parts = [_HEAD]
    for part, text, table in (
        ("every", _EVERY, every_table), ("turns", _TURNS, turns_table), ("fuzz", _FUZZ, fuzz_table),
        ("away", _AWAY, away_table), ("schedules", _SCHEDULES, schedules_table),
        ("kills", _KILLS, kills_table), ("faults", _FAULTS, faults_table), ("many", _MANY, many_table),
    ):
        chosen = [one for one in results if one["part"] == part]
        heading = text.splitlines()[0]
        if chosen:
            parts += [text, table(chosen)]
        elif heading in earlier:
            parts.append(heading + earlier.partition(heading)[2].partition("\n## ")[0])
    return "\n".join(part.rstrip() + "\n" for part in parts)


_COUNTS = {   # of a result -> what the table calls it
    "labels": "labels in them",
    "runs": "processes started",
    "imports_disturbed": "imports disturbed by the proxy",
    "copies_made": "copies made",
    "copies_removed": "copies removed, untouched",
    "copies_merged": "copies that were labelled too, and merged",
    "copies_left": "copies left",
    "labels_lost": "labels lost",
    "labelled_twice": "items with more than one effective label",
    "overspent": "labels bought beyond the month's",
    "by_order": "evaluations that differ because verdicts came in another order",
    "differences": "other differences",
}


_FEW = 3     # named, of what there may be many of


def kills_table(results: Sequence[Result]) -> str:
    """What became of what was killed, by place and in all, and which effects died."""
    by_place = {name: [one for one in results if one["place"] == name] for name in PLACES}
    columns = {PLACES[name].what: ones for name, ones in by_place.items() if ones} | {"total": list(results)}
    rows: list[tuple[object, ...]] = [
        ("evaluations", *(sum(one.get("evaluations", 1) for one in ones) for ones in columns.values())),
        ("killed", *(len(_kills(ones)) for ones in columns.values())),
        ("of these, inside an effect", *(_share_inside(ones) for ones in columns.values())),
    ]
    rows += [
        (what, *(_counted(ones, name) for ones in columns.values())) for name, what in _COUNTS.items()
    ]
    dead = Counter(kill["inside"][-1] for kill in _kills(results) if kill["inside"])
    effects = "; ".join(f"{name} {times}" for name, times in dead.most_common(_FEW))
    return _table(("", *columns), rows) + f"\nKilled inside {len(dead)} effects: {effects} ...\n"


def _kills(results: Sequence[Result]) -> list[Any]:
    return [kill for one in results for kill in one["kills"]]


def _share_inside(results: Sequence[Result]) -> str:
    kills = _kills(results)
    return f"{sum(bool(kill['inside']) for kill in kills) / max(len(kills), 1):.0%}"


def _counted(results: Sequence[Result], name: str) -> object:
    """The sum; nothing where it is not counted in this place."""
    if name == "copies_removed":
        return sum(_removed(one) for one in results if "copies_made" in one)
    counts = [one[name] for one in results if name in one]
    return sum(len(one) if isinstance(one, list) else int(one) for one in counts) if counts else ""


def faults_table(results: Sequence[Result]) -> str:
    """One row for each kind of fault, and the messages people saw."""
    kinds: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        if one["injected"]:
            kinds.setdefault((one["kind"]["service"], one["kind"]["fault"]), []).append(one)
    rows = [
        (
            service, fault, ones[0]["kind"]["injected"], len(ones),
            ", ".join(f"{what} {n}" for what, n in Counter(map(_happened, ones)).most_common()),
            _total(ones, "labels_lost"), _total(ones, "labelled_twice"), _total(ones, "copies_made"),
            sum(_removed(one) for one in ones), sum(len(one["differences"]) for one in ones),
        )
        for (service, fault), ones in kinds.items()
    ]
    heading = (
        "service", "fault", "how it is injected", "tried", "what happened", "labels lost",
        "items with more than one label", "copies made", "copies removed", "differences",
    )
    said = {one["kind"]["fault"]: one["said"][0] for one in results if one["said"]}
    listed = "\n".join(f"- {fault}: *{_short(message)}*" for fault, message in list(said.items())[:_FEW])
    return _table(heading, rows) + (f"\nWhat was said, for example:\n\n{listed}\n" if listed else "")


def many_table(results: Sequence[Result]) -> str:
    """Seconds and requests of sweeps."""
    heading = (
        "store", "evaluations", "workers", "what is due", "seconds", "CPU seconds", "calls of the store",
        "calls for each",
    )
    rows = [
        (
            one["store"], one["evaluations"], one["workers"], one["due"], f"{one['seconds']:.1f}",
            f"{one['processor']:.1f}", f"{one['requests']:,}", f"{one['requests'] / one['evaluations']:.0f}",
        )
        for one in results
    ]
    return _table(heading, rows)


def _happened(one: Result) -> str:
    return "said why" if one["said"] else "waited" if one["waited"] else "unnoticed"


def _removed(one: Result) -> int:
    return int(one["copies_made"] - one.get("copies_merged", 0) - one["copies_left"])


def _total(results: Iterable[Result], name: str) -> int:
    return sum(int(one[name]) for one in results)


def _short(message: str) -> str:
    """One line, without the folders and buckets of the run that made it."""
    where = re.sub(r"\S*/ledger\S*?(?=[:;,]? |$)", "./ledger", " ".join(message.split()))
    return re.sub(r"s3://\S+?: ", "s3://bucket/ledger: ", where)[:400]


def _table(heading: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines) + "\n"
