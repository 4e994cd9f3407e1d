"""A replay as people see it: the tables as text, and the convergence figure.

The text has each method's error and coverage by budget, then all methods' labels to a half-width.
"""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from assay.evalcore.errors import AssayError, BadArgument, plural
from assay.evalcore.methods.two_classes.choice import FALSE_ALARM
from assay.tasks.replay.simulated import MethodResult, OracleResult, ReplayResult, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEADINGS = "    labels        mse      ± se      bias  coverage   width  no value"
_NOTE = (
    "Labels at which half the mean width has come down to ±, coverage at the first budget from there on,\n"
    "and the labels as a multiple of the oracle's."
)


def replay_as_text(result: ReplayResult) -> str:
    """The text that `assay replay` prints: error and coverage of each method by budget, then the labels of
    all methods to each half-width. Where the best of several systems is asked for, how well it was named
    instead."""
    repeats = plural(result.repeats, "evaluation")
    largest = result.methods[0].budgets[-1].labels
    audit = f", {result.audit:,} of {largest:,} labels spread evenly" if result.audit else ""
    lines = [f"{result.pool}: {plural(result.n, 'item')}, {repeats} of each method{audit}"]
    lines += ["", *_best_of(result)] if result.best else []
    for entry in result.methods if not result.best else ():
        lines += ["", *_by_budget(entry, result)]
    if result.best:
        return "\n".join(lines)
    for what in result.truth:
        lines += ["", *_by_half_width(what, result)]
    return "\n".join([*lines, "", _NOTE, *_marked(result)])


def _best_of(result: ReplayResult) -> Iterator[str]:
    """When each method named the best system."""
    width = max(len(row.method) for row in result.best)
    margin = result.best[0].margin
    yield f"The best system{f' within {margin:g}' if margin else ''}, a look at each budget"
    yield f"  {'':<{width}}  named   wrong  labels: mean  median   named most"
    for row in result.best:
        winner = max(row.winners, key=lambda name: row.winners[name]) if row.winners else "none"
        yield (
            f"  {row.method:<{width}}  {row.named[-1]:>5.3f}   {row.wrong:>5.3f}  {row.labels_mean:>12,.0f} "
            f"{row.labels_median:>7,.0f}   {winner}"
        )


def _by_budget(entry: MethodResult, result: ReplayResult) -> Iterator[str]:
    what = entry.of
    yield (
        f"{entry.method}, {what} (true value {result.truth[what]:.4f}), "
        f"{1000 * entry.seconds_per_round:.1f} ms a round"
    )
    wide = any(b.coverage_wide is not None for b in entry.budgets)
    diverges = any(b.divergence is not None for b in entry.budgets)
    yield _HEADINGS + ("  wide coverage  wide width" if wide else "") + ("  divergence" if diverges else "")
    for b in entry.budgets:
        yield (
            f"  {b.labels:>8,} {b.mse:>10.6f} {b.mse_se:>9.6f} {b.bias:>9.4f} {b.coverage:>9.3f} "
            f"{b.width:>7.3f} {b.undefined:>9.3f}"
            + (f" {b.coverage_wide:>14.3f} {b.width_wide:>11.3f}" if wide else "")
            + (f" {b.divergence:>11.3f}" if diverges else "")
        )


def _by_half_width(what: str, result: ReplayResult) -> Iterator[str]:
    """Every method's labels to each half-width, and the oracle's."""
    entries = [entry for entry in result.methods if entry.of == what]
    oracle = next((entry for entry in result.oracle if name_of(entry.measure, entry.system) == what), None)
    targets = [reached.half_width for reached in entries[0].labels_to]
    width = max(len(name) for name in ("oracle", *(entry.method for entry in entries)))
    yield f"{what}, labels to a half-width"
    yield " " * (width + 4) + "".join(f"{f'±{target:g}':>11}  coverage  x oracle" for target in targets)
    for entry in entries:
        yield _row(entry.method, width, [reached.columns() for reached in entry.labels_to])
    if oracle is not None:
        yield _row("oracle", width, [(f"{reached.labels:,}", "", "1.00") for reached in oracle.labels_to])
        yield f"  The oracle knows the true rates of the {_cells(oracle)}."


def _row(name: str, width: int, columns: Sequence[tuple[str, str, str]]) -> str:
    cells = "".join(f"{labels:>11}{coverage:>10}{times:>10}" for labels, coverage, times in columns)
    return f"  {name:<{width}}  {cells}"


def _cells(oracle: OracleResult) -> str:
    return f"{oracle.cells:,} cells of {oracle.cells_of}"


def _marked(result: ReplayResult) -> Iterator[str]:
    """What the asterisk means, where there is one."""
    coverages = {
        entry.method: entry.least_coverage
        for entry in result.methods
        if any(reached.covers is False for reached in entry.labels_to)
    }
    if coverages:
        held = ", ".join(f"{coverage:g} for {name}" for name, coverage in coverages.items())
        yield (
            f"* covers too rarely by a binomial test at {FALSE_ALARM:.0%} (held to {held}):\n"
            "not to be compared with intervals that cover."
        )


_SUFFIXES = (".svg", ".png")
_INK, _SOFT, _GRID = "#1f2933", "#52606d", "#e4e7eb"
# Okabe & Ito: told apart by the colour-blind; the markers tell apart what is printed in black
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
_RC: dict[str, object] = {
    "svg.hashsalt": "assay",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",      # ships with matplotlib: the layout is the same on every machine
    "font.size": 9,
    "text.parse_math": False,
    "text.color": _INK,
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.8,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "path.simplify": False,
}


def check_plot_path(path: str | Path) -> Path:
    """The path, if a figure can be written there. Raises BadArgument for another suffix or no such folder.

    The convergence figure of a replay: mean squared error and coverage against labels, a line per method.

    Above, the error on logarithmic axes, with bars of one standard error; an error of exactly 0 has no
    logarithm and is left out of its line. Below, the share of intervals that covered the truth, with the
    nominal confidence. One column per measure. The same result gives the same bytes.
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise BadArgument("plot", f"{path}: the name must end in {' or '.join(_SUFFIXES)}")
    if not path.parent.is_dir():
        raise BadArgument("plot", f"{path}: there is no folder {path.parent}; make it first")
    return path


def write_convergence_plot(result: ReplayResult, path: str | Path) -> Path:
    """Draw the figure and write it as SVG or PNG, by the suffix of `path`.

    Raises BadArgument for another suffix or a missing folder, AssayError when it cannot be written.
    """
    path = check_plot_path(path)
    drawn = _draw(result, "svg" if path.suffix.lower() == ".svg" else "png")
    try:
        path.write_bytes(drawn)
    except OSError as error:
        raise AssayError(f"{path}: the figure cannot be written: {error.strerror or error}") from None
    return path


def convergence_figure(result: ReplayResult) -> "Figure":
    """Error and coverage against labels, a column of axes for each measure."""
    from matplotlib import RcParams, rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as NewFigure

    measures = list(result.truth)
    names = list(dict.fromkeys(entry.method for entry in result.methods))
    with rc_context(RcParams(_RC)):
        figure = NewFigure(figsize=(5.2 * len(measures) + 1.4, 6.4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(2, len(measures), sharex=True, squeeze=False, height_ratios=(3, 2))
        for j, name in enumerate(measures):
            for entry in result.methods:
                if entry.of == name:
                    _error_line(axes[0, j], entry, names.index(entry.method))
                    _coverage_line(axes[1, j], entry, names.index(entry.method))
            _dress(axes[0, j], axes[1, j], result, name)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def _draw(result: ReplayResult, format: str) -> bytes:
    from matplotlib import RcParams, rc_context

    figure = convergence_figure(result)
    with rc_context(RcParams(_RC)):
        sink = io.BytesIO()
        metadata = {"Date": None, "Creator": None} if format == "svg" else {"Software": None}
        figure.savefig(sink, format=format, dpi=150, metadata=metadata)
    return sink.getvalue()


class LineStyle(TypedDict):
    """How the line of a method is drawn."""

    color: str
    marker: str
    markersize: float
    linewidth: float


def _style(index: int) -> LineStyle:
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "marker": _MARKERS[index % len(_MARKERS)],
        "markersize": 4,
        "linewidth": 1.4,
    }


def _error_line(ax: "Axes", entry: MethodResult, index: int) -> None:
    points = [(s.labels_mean, s.mse, s.mse_se) for s in entry.budgets]
    drawn = [(x, y, e) for x, y, e in points if y > 0] or [(points[0][0], float("nan"), 0.0)]
    x, y, error = zip(*drawn, strict=True)
    # a bar that would reach below 0 ends a decade under its point instead of at minus infinity
    down = [min(e, 0.9 * v) for v, e in zip(y, error, strict=True)]
    ax.errorbar(x, y, yerr=[down, error], label=entry.method, capsize=2, elinewidth=0.8, **_style(index))


def _coverage_line(ax: "Axes", entry: MethodResult, index: int) -> None:
    ax.plot([s.labels_mean for s in entry.budgets], [s.coverage for s in entry.budgets], **_style(index))


def _plain(value: float, _position: int) -> str:
    return f"{value:g}" if 1e-4 <= value < 1e6 else f"{value:.0e}".replace("e-0", "e-")


def _dress(above: "Axes", below: "Axes", result: ReplayResult, measure: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    above.set_title(
        f"{measure} = {result.truth[measure]:.4f}, {plural(result.n, 'item')}, "
        f"{plural(result.repeats, 'repeat')}",
        fontsize=9.5, loc="left",
    )
    above.set_xscale("log")
    above.set_yscale("log")
    above.set_ylabel("mean squared error")
    below.axhline(result.confidence, color=_SOFT, linewidth=1, dashes=(4, 3))
    below.set_ylim(-0.03, 1.03)
    below.set_ylabel(f"coverage (nominal {result.confidence:g})")
    below.set_xlabel("items labelled")
    below.xaxis.set_major_locator(FixedLocator([s.labels for s in result.methods[0].budgets]))
    below.xaxis.set_minor_locator(NullLocator())
    below.xaxis.set_major_formatter(FuncFormatter(_plain))
    above.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=12))
    above.yaxis.set_minor_locator(NullLocator())
    above.yaxis.set_major_formatter(FuncFormatter(_plain))
    for ax in (above, below):
        ax.grid(color=_GRID, linewidth=0.7)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(length=3)
