"""A replay as text: each method's error and coverage by budget, then all methods' labels to a half-width."""

from collections.abc import Iterator, Sequence

from assay.evalcore.methods.choice import FALSE_ALARM
from assay.evalcore.plurals import plural
from assay.tasks.replay.result import MethodResult, OracleResult, ReplayResult, name_of

_HEADINGS = "    labels        mse      ± se      bias  coverage   width  no value"
_NOTE = (
    "Labels at which half the mean width has come down to ±, coverage at the first budget from there on,\n"
    "and the labels as a multiple of the oracle's."
)


def as_text(result: ReplayResult) -> str:
    """What `assay replay` prints."""
    repeats = plural(result.repeats, "evaluation")
    largest = result.methods[0].budgets[-1].labels
    audit = f", {result.audit:,} of {largest:,} labels spread evenly" if result.audit else ""
    lines = [f"{result.pool}: {plural(result.n, 'item')}, {repeats} of each method{audit}"]
    for entry in result.methods:
        lines += ["", *_by_budget(entry, result)]
    for what in result.truth:
        lines += ["", *_by_half_width(what, result)]
    return "\n".join([*lines, "", _NOTE, *_marked(result)])


def _by_budget(entry: MethodResult, result: ReplayResult) -> Iterator[str]:
    what = entry.of
    yield (
        f"{entry.method}, {what} (true value {result.truth[what]:.4f}), "
        f"{1000 * entry.seconds_per_round:.1f} ms a round"
    )
    wide = any(b.coverage_wide is not None for b in entry.budgets)
    far = any(b.divergence is not None for b in entry.budgets)
    yield _HEADINGS + ("  wide coverage  wide width" if wide else "") + ("  divergence" if far else "")
    for b in entry.budgets:
        yield (
            f"  {b.labels:>8,} {b.mse:>10.6f} {b.mse_se:>9.6f} {b.bias:>9.4f} {b.coverage:>9.3f} "
            f"{b.width:>7.3f} {b.undefined:>9.3f}"
            + (f" {b.coverage_wide:>14.3f} {b.width_wide:>11.3f}" if wide else "")
            + (f" {b.divergence:>11.3f}" if far else "")
        )


def _by_half_width(what: str, result: ReplayResult) -> Iterator[str]:
    """Every method's labels to each half-width, and the oracle's."""
    entries = [entry for entry in result.methods if entry.of == what]
    oracle = next((entry for entry in result.oracle if name_of(entry.measure, entry.system) == what), None)
    targets = [reached.half_width for reached in entries[0].labels_to]
    first = max(len(name) for name in ("oracle", *(entry.method for entry in entries)))
    yield f"{what}, labels to a half-width"
    yield " " * (first + 4) + "".join(f"{f'±{target:g}':>11}  coverage  x oracle" for target in targets)
    for entry in entries:
        yield _row(entry.method, first, [reached.columns() for reached in entry.labels_to])
    if oracle is not None:
        yield _row("oracle", first, [(f"{reached.labels:,}", "", "1.00") for reached in oracle.labels_to])
        yield f"  The oracle knows the true rates of the {_cells(oracle)}."


def _row(name: str, first: int, columns: Sequence[tuple[str, str, str]]) -> str:
    cells = "".join(f"{labels:>11}{coverage:>10}{times:>10}" for labels, coverage, times in columns)
    return f"  {name:<{first}}  {cells}"


def _cells(oracle: OracleResult) -> str:
    return f"{oracle.cells:,} cells of {oracle.cells_of}"


def _marked(result: ReplayResult) -> Iterator[str]:
    """What the asterisk means, where there is one."""
    least = {
        entry.method: entry.least_coverage
        for entry in result.methods
        if any(reached.covers is False for reached in entry.labels_to)
    }
    if least:
        held = ", ".join(f"{coverage:g} for {name}" for name, coverage in least.items())
        yield (
            f"* covers too rarely by a binomial test at {FALSE_ALARM:.0%} (held to {held}):\n"
            "not to be compared with intervals that cover."
        )
