"""docs/recovery.md, written from the results of the recovery suite."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]

_HEAD = """# Recovery: tests with kills and faults

What happens to an evaluation if processes are killed or services fail? Everything below ran against a real
Label Studio, a real S3-compatible server (SeaweedFS) and a real Prefect server, started for the purpose.
This page is made by `python -m benchmarks.recovery page` from the results of `make recovery-long`. `make
recovery` runs a smaller part in some minutes, and `make test` a few cases.

In every row the final ledger was compared with that of an undisturbed run: every key, every column, every
value, floats to 1e-9. Left out are times, random words, and the digests of answers, because an answer holds
the time at which it was given. Every item asked was checked to have one label, and the right one. `assay
verify` was run on every ledger. A *copy* is a second Label Studio task for an item.
"""

_KILLS = """## `assay run`, killed

`assay run` is a process of its own. It reports its effects to the test through a named pipe
(`ASSAY_EFFECT_LOG`). It is killed with SIGKILL at a moment drawn from a seed: during the n-th effect,
during the effect that was killed least often so far, or at any time. Then it is started again, until the
evaluation is done. Meanwhile a person labels in Label Studio. A proxy in front of Label Studio disturbs
about half of all imports: it loses the reply, or the request, or delays the import until it was posted
again. Items are posted again after one second instead of ten minutes. Most processes are forked from one
that has imported the libraries; every tenth is started from nothing.
"""

_FAULTS = """## Services that fail

Each trial is an evaluation of two rounds with one fault, each time at another request. *Unnoticed*: the
call was tried again and succeeded. *Waited*: the evaluation reported that items were not on the desk yet,
and posted them again when the time had come. *Said why*: `advance` ended with an error that names the
service and says what to do, and the next run went on from there.
"""

_MANY = """## Many evaluations in one store

The time of one `sweep` over many open evaluations: when all of them wait for people and nothing is due, and
when each has rounds to close, plan and post. The seconds are from a machine with two cores that was busy
with other work. CPU seconds are those of the sweep itself, without the server.
"""


def page(results: Sequence[Result]) -> str:
    """The whole page."""
    parts = [_HEAD]
    for part, text, table in (
        ("kills", _KILLS, kills_table), ("faults", _FAULTS, faults_table), ("many", _MANY, many_table),
    ):
        chosen = [one for one in results if one["part"] == part]
        if chosen:
            parts += [text, table(chosen)]
    return "\n".join(parts)


def kills_table(results: Sequence[Result]) -> str:
    """What became of the evaluations that were killed, and which effects died."""
    kills = [kill for one in results for kill in one["kills"]]
    inside = [kill for kill in kills if kill["inside"]]
    rows = [
        ("evaluations", len(results)),
        ("labels in them", _total(results, "labels")),
        ("processes started", _total(results, "runs")),
        ("killed", len(kills)),
        ("of these, inside an effect", f"{len(inside)} ({len(inside) / max(len(kills), 1):.0%})"),
        ("imports disturbed by the proxy", _total(results, "imports_disturbed")),
        ("copies made", _total(results, "copies_made")),
        ("copies removed, untouched", sum(_removed(one) for one in results)),
        ("copies that were labelled too, and merged", _total(results, "copies_merged")),
        ("copies left", _total(results, "copies_left")),
        ("labels lost", _total(results, "labels_lost")),
        ("items with more than one effective label", _total(results, "labelled_twice")),
        ("differences from the undisturbed run", sum(len(one["differences"]) for one in results)),
    ]
    dead = Counter(kill["inside"][-1] for kill in inside)
    effects = "; ".join(f"{name} {times}" for name, times in dead.most_common())
    return _table(("", "total"), rows) + f"\nKilled inside: {effects}.\n"


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
    listed = "\n".join(f"- {fault}: *{_short(message)}*" for fault, message in said.items())
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
