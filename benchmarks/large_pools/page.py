"""The tables of docs/measured/large-pools.md, between the words that are written by hand."""

from collections.abc import Sequence

from benchmarks.large_pools.freezing import LABELS, Freeze
from benchmarks.large_pools.rounds import Rounds

# List prices of one large cloud, rounded, to turn units into money: yours will differ.
DOLLARS_PUT, DOLLARS_GB_MONTH, DOLLARS_CORE_HOUR = 5e-6, 0.023, 0.04
PART_ROWS = 65_536
PLANNED = (10**9, 10**10)
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"


def tables(
    freezes: Sequence[Freeze], rounds: Sequence[tuple[int, bool, Rounds]], bytes_a_row: float, machine: str
) -> str:
    """All tables, in Markdown."""
    return "\n\n".join([
        f"Made by `make large-pools` on {machine}. {_how_to_read()}",
        _freezing(freezes), _same(freezes),
        "### Rounds after the freeze", _rounds(rounds),
        "### Paper plan to 10⁹ and 10¹⁰ rows", _plan(freezes, bytes_a_row),
    ]) + "\n"


def _how_to_read() -> str:
    return (
        "Each freeze is a new process that begins an evaluation by a Dirichlet tree; the start of workers "
        "counts. 10⁶ rows are one shard, which no worker gets. *Scan*: the same columns by Arrow from the "
        "same place, in one process, just before. Memory: the largest process at its peak."
    )


def _freezing(freezes: Sequence[Freeze]) -> str:
    lines = [
        "| rows | columns | workers | source and ledger | seconds | rows a second | scan, s | "
        "times the scan | memory, GB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines.extend(
        f"| {one.rows:,} | {_columns(one.shown)} | {one.runner} | {one.where} | {one.seconds:.1f} | "
        f"{one.rows / one.seconds:,.0f} | {one.scan:.1f} | {one.seconds / one.scan:.1f} | {one.memory:.2f} |"
        for one in freezes
    )
    return "\n".join(lines)


def _same(freezes: Sequence[Freeze]) -> str:
    pools = {(one.rows, one.shown) for one in freezes}
    differ = [
        f"{rows:,}" for rows, shown in sorted(pools)
        if len({one.digests for one in freezes if (one.rows, one.shown) == (rows, shown)}) > 1
    ]
    if differ:
        return f"**Digests of pool or partition differ between workers at: {', '.join(differ)} rows.**"
    return "The digests of pool and partition are the same in all rows of a pool."


def _rounds(rounds: Sequence[tuple[int, bool, Rounds]]) -> str:
    lines = [
        f"{LABELS} labels a round, on disk, in a new process: collect and close, estimate, plan and post the "
        "next. Medians; calls and bytes of the ledger.", "",
        "| rows | columns | open, plan and post round 1, s | a round, s | of the processor, s | calls | "
        "KiB read | nothing due, s | round against the smallest pool |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    smallest: dict[bool, float] = {}
    for rows, shown, one in rounds:
        times = one.seconds / smallest.setdefault(shown, one.seconds)
        lines.append(
            f"| {rows:,} | {_columns(shown)} | {one.first:.2f} | {one.seconds:.2f} | {one.cpu:.2f} | "
            f"{one.calls:,} | {one.kib:,.0f} | {one.idle:.2f} | {times:.2f} |"
        )
    return "\n".join(lines)


def _columns(shown: bool) -> str:
    return "id, score, two texts" if shown else "id, score"


def _plan(freezes: Sequence[Freeze], bytes_a_row: float) -> str:
    alone = max(
        (one for one in freezes if (one.runner, one.where, one.shown) == ("serial", "disk", False)),
        key=lambda one: one.rows,
    )
    a_core = alone.rows / alone.seconds
    lines = [
        f"From the largest freeze by one process above: {a_core:,.0f} rows a second and core, and "
        f"{bytes_a_row:.1f} bytes a row in the ledger. Seconds fall with the cores as long as the store "
        "keeps up, which was measured with two. Prices: "
        f"{DOLLARS_PUT * 1000:.3f} dollars for 1,000 writes, {DOLLARS_GB_MONTH} a GB and month, "
        f"{DOLLARS_CORE_HOUR} a core and hour.", "",
        "| rows | ledger, GB | parts written | hours of one core | minutes of 64 cores | cores, dollars | "
        "writes, dollars | ledger, dollars a month |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for rows in PLANNED:
        hours, gb, parts = rows / a_core / 3600, rows * bytes_a_row / 1e9, -(-rows // PART_ROWS)
        lines.append(
            f"| {rows:,} | {gb:,.0f} | {parts:,} | {hours:.1f} | {hours * 60 / 64:.1f} | "
            f"{hours * DOLLARS_CORE_HOUR:.2f} | {parts * DOLLARS_PUT:.2f} | {gb * DOLLARS_GB_MONTH:.2f} |"
        )
    return "\n".join(lines)
