"""What evaluations, estimates and replays say: frozen values that print, become frames, draw themselves.

An estimate is the record of `assay.evalcore.evaluation.estimate`, and every form of it here has the numbers,
the rounding, the wide interval and the warnings that the page and the terminal have.
"""

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

from assay.evalcore.evaluation.best import BestSystem, SystemRanks
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.json_values import JsonObject
from assay.evalcore.printed import printed
from assay.face.frames import frame_of
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report import price, sentences, wording
from assay.tasks.report.best import best_in_words
from assay.tasks.report.ranks import rank_lines
from assay.tasks.report.standing import Standing, StandingJson

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mlflow.entities import Run

    from assay.tasks.replay.simulated import ReplayResult

_DOTS = 100     # an inch, of a picture in a notebook
_LINE = 95      # characters of a line below a figure
_COLUMNS = (      # of a frame of estimates
    "measure", "system", "versus", "class_name", "at", "segment", "value", "lower", "upper", "confidence",
    "interval", "about", "labels", "undefined_reason", "wide_lower", "wide_upper", "unlabelled_share",
    "random_labels", "revision", "warnings",
)
_POOLED = ("pooled_value", "pooled_lower", "pooled_upper")    # of a frame with segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(MeasureEstimate):
    """One measure, of one system, class and segment, with its interval.

    `value` is None where the measure is undefined, and `undefined_reason` then says why. `lower` and `upper`
    are the ends of the interval, at `confidence`.
    """

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width, (upper - lower)/2; None where there is no interval."""
        return None if self.lower is None or self.upper is None else (self.upper - self.lower) / 2

    @property
    def wide_lower(self) -> float | None:
        """The lower end of the wide interval: if positives hide where nobody looked."""
        return None if self.not_excluded is None else self.not_excluded.wide_lower

    @property
    def wide_upper(self) -> float | None:
        """The upper end of the wide interval, which allows for positives hidden where nobody looked; None
        where none is reported."""
        return None if self.not_excluded is None else self.not_excluded.wide_upper

    @property
    def unlabelled_share(self) -> float | None:
        """The share of the pool with scores near which nobody labelled any item."""
        return None if self.not_excluded is None else self.not_excluded.unlabelled_share

    @property
    def random_labels(self) -> int | None:
        """Labels that random sampling would have needed for this interval, where that is known."""
        return self.price.random_labels

    @property
    def pooled_value(self) -> float | None:
        """Of a segment: its value with what the other segments tell; `pooled` says more."""
        return None if self.pooled is None else self.pooled.value

    @property
    def pooled_lower(self) -> float | None:
        """The lower end of the interval of `pooled_value`."""
        return None if self.pooled is None else self.pooled.lower

    @property
    def pooled_upper(self) -> float | None:
        """The upper end of the interval of `pooled_value`."""
        return None if self.pooled is None else self.pooled.upper

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before it is used; the same as in the report."""
        return tuple(sentences.warnings([self]))

    def to_dict(self) -> JsonObject:
        """The object that `--json` prints of this estimate, of plain values."""
        values: JsonObject = printed(self)
        return values

    def __str__(self) -> str:
        return sentences.in_a_line(self)

    def __repr__(self) -> str:
        return f"<Estimate {self}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Estimates:
    """Some estimates, the first measure first.

    `print` gives `summary()`; `estimates["f1"]` is the estimate of a measure, `estimates["accuracy", "a"]`
    that of a system, `estimates["accuracy", "b", "a"]` the difference of b from a, `estimates["recall",
    "cat"]` that of a class.
    """

    estimates: tuple[Estimate, ...]
    backend: str                     #: the library of its frames
    notes: tuple[str, ...] = field(default=(), compare=False)   #: what stands beside the first estimate

    @property
    def value(self) -> float | None:
        """The value of the first measure, None where it is undefined or there is no estimate."""
        return self.estimates[0].value if self.estimates else None

    @property
    def lower(self) -> float | None:
        """The lower end of the first measure's interval; None where there is no interval or no estimate."""
        return self.estimates[0].lower if self.estimates else None

    @property
    def upper(self) -> float | None:
        """The upper end of the first measure's interval; None where there is no interval or no estimate."""
        return self.estimates[0].upper if self.estimates else None

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __getitem__(self, key: str | tuple[object, ...]) -> Estimate:
        """The estimate of a measure; with more than one, of a system, a class, a segment or a threshold.

        Raises:
            KeyError: which names those there are.
        """
        measure, *of = key if isinstance(key, tuple) else (key,)
        titled = [row for row in self.estimates if not of and row.title == measure]
        matches = [row for row in self.estimates if row.measure == measure]
        exact = titled or [row for row in matches if _key(row)[1:] == tuple(of)]
        if not exact and not of:
            whole_pool = [row for row in matches if row.segment is None]
            exact = whole_pool if len(whole_pool) == 1 else []
        if exact:
            return exact[0]
        if matches:
            keys = ", ".join(f"[{', '.join(map(repr, _key(row)))}]" for row in matches)
            raise KeyError(f"which {measure!r}? There are: {keys}")
        measures = ", ".join(dict.fromkeys(row.measure for row in self.estimates)) or "none so far"
        raise KeyError(f"no estimate of {measure!r}; there are: {measures}")

    @property
    def title(self) -> str:
        """One line that heads the estimates: how many there are, and that they come from labels and weights.
        """
        return f"{wording.plural(len(self.estimates), 'estimate', 'estimates')} from labels and weights"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what to know before the estimates are used, the same as in the report; empty where
        there is nothing to warn of."""
        return tuple(sentences.warnings(self.estimates))

    def summary(self) -> str:
        """A few lines of text: the title, a line for each estimate, then notes and warnings."""
        lines = [self.title, *(f"  {row}" for row in self.estimates), *(f"  {note}" for note in self.notes)]
        return "\n".join([*lines, *(f"  Warning: {warning}" for warning in self.warnings)])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title}>"

    def to_dict(self) -> Mapping[str, Any]:
        """Plain values for JSON: one object under `estimates` for each estimate, in order."""
        return {"estimates": [row.to_dict() for row in self.estimates]}

    def to_frame(self) -> Any:
        """A row for each estimate, in full precision, with its wide interval and its warnings."""
        questions = ("question",) if any(row.question for row in self.estimates) else ()
        pooled = _POOLED if any(one.pooled for one in self.estimates) else ()
        names = (*questions, *_COLUMNS, *pooled)
        columns = {name: [getattr(row, name) for row in self.estimates] for name in names}
        columns["warnings"] = ["; ".join(row.warnings) for row in self.estimates]
        return frame_of(columns, self.backend)

    def plot(self) -> "Figure":
        """The estimates with their intervals, wide ones thin, one below the other: a matplotlib figure."""
        bars = [
            Bar(label=row.title, value=row.value, lower=row.lower, upper=row.upper, wide=_wide(row))
            for row in self.estimates if row.value is not None
        ]
        below = [*self.notes, *self.warnings]
        return shown(bars_figure(self.title, bars, _confidence(self.estimates), below))

    def _repr_html_(self) -> str:
        wide = any(price.wide(row) for row in self.estimates)
        head = ["", "value", f"{_confidence(self.estimates)} interval", *(["wide interval"] if wide else [])]
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (
                row.title, wording.value_or_reason(row), wording.interval(row),
                *([price.wide(row) or "–"] if wide else []),
            )) + "</tr>"
            for row in self.estimates
        )
        below = [*self.notes, *(f"Warning: {warning}" for warning in self.warnings)]
        return (
            f"<p>{escape(self.title)}</p><table><thead><tr>"
            f"{''.join(f'<th>{name}</th>' for name in head)}</tr></thead><tbody>{rows}</tbody></table>"
            + "".join(f"<p>{escape(line)}</p>" for line in below)
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(Estimates):
    """Where an evaluation stands, finished or not: its estimates with verdict, labels bought, closed rounds
    and the reason why it stopped. A frozen value; ask the evaluation again for a newer one."""

    evaluation: str
    state: str                       #: waiting, open or finished
    stopped_by: str | None           #: half_width, variance, best_of, budget or pool; None while it goes on
    verdict: str | None              #: ok, breach or inconclusive; None without a limit
    labels: int                      #: bought so far
    rounds: int                      #: closed
    method: str
    json: StandingJson               #: all of it, as `--json` prints it
    best: BestSystem | None = None   #: the best of several systems, where that is the target
    ranks: SystemRanks | None = None   #: of systems that are compared, and which of them to ship
    store: Store = field(repr=False, compare=False)   #: where its record is

    @property
    def title(self) -> str:
        """One line that heads the result: name, state or reason for stopping, labels in rounds, and the
        verdict where there is a limit."""
        verdict = f"; it {sentences.AGAINST_LIMIT[self.verdict]}" if self.verdict else ""
        ended = f"finished ({self.stopped_by})" if self.stopped_by else self.state
        labels = wording.plural(self.labels, "label", "labels")
        rounds = wording.plural(self.rounds, "round", "rounds")
        return f"{self.evaluation}: {ended}, {labels} in {rounds}{verdict}"

    def to_mlflow(
        self, run: "Run | str | None" = None, *, uri: str | None = None, experiment: str | None = None
    ) -> str:
        """Tell MLflow: metrics with lower and upper ends by round, and the report.

        Told again, the same run is found and only what is new is added.

        Args:
            run: a run, or its ID; None: the active run, else the evaluation's own, made if there is none.
            uri: where MLflow is; None: where `mlflow` itself would write.
            experiment: of a run of its own, made if there is none; MLFLOW_EXPERIMENT_NAME, or `assay`.

        Returns:
            The ID of the run.

        Raises:
            BadInput: without the package.
        """
        from assay.flows.publish import told_from_python

        return told_from_python(self.store, self.evaluation, run, uri=uri, experiment=experiment)

    def to_dict(self) -> StandingJson:
        """The object that `assay status NAME --json` prints of this evaluation, of plain values, where
        `Estimates` gives its estimates alone."""
        return self.json


@dataclass(frozen=True, kw_only=True, repr=False)
class Replay:
    """How methods did on labelled predictions: error, coverage and width by number of labels."""

    result: "ReplayResult"
    backend: str

    def summary(self) -> str:
        """The table that `assay replay` prints, as text: each method's error and coverage at each number of
        labels."""
        from assay.tasks.replay.presentation import replay_as_text

        return replay_as_text(self.result)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        methods = ", ".join(dict.fromkeys(entry.method for entry in self.result.methods))
        return f"<Replay of {self.result.pool}: {methods}>"

    def to_dict(self) -> Mapping[str, Any]:
        """The object that `assay replay --json` prints, of plain values."""
        return self.result.to_json()

    def to_frame(self) -> Any:
        """A frame with one row for each method, measure and number of labels, and a column for each figure
        of the replay."""
        names = [column.name for column in fields(self.result.methods[0].budgets[0])]
        rows = [(entry, budget) for entry in self.result.methods for budget in entry.budgets]
        columns: dict[str, list[object]] = {
            "method": [entry.method for entry, _ in rows], "measure": [entry.of for entry, _ in rows],
        }
        columns |= {name: [getattr(budget, name) for _, budget in rows] for name in names}
        return frame_of(columns, self.backend)

    def plot(self) -> "Figure":
        """A matplotlib figure of how error and coverage of each method go with the number of labels."""
        from assay.tasks.replay.presentation import convergence_figure

        return shown(convergence_figure(self.result))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


def result_of(standing: Standing, backend: str, store: Store) -> Result:
    """A standing in the form that callers of the library see: the same estimates, with notes on the best
    system, on trust, on the open price, on what people changed and on what was spent. Frames come from the
    library `backend`."""
    rows = standing.estimates
    spent = wording.cost_in_words(standing.labels - standing.known_before, standing.ownership)
    return Result(
        evaluation=standing.evaluation, state=standing.state, stopped_by=standing.stopped_by,
        verdict=standing.verdict, labels=standing.labels, rounds=standing.rounds, method=standing.method,
        estimates=tuple(map(estimate_of, rows)), json=standing.to_json(), backend=backend, store=store,
        best=standing.best, ranks=standing.ranks,
        notes=(
            *rank_lines(standing.ranks),
            *([] if standing.best is None else
              [best_in_words(standing.best, finished=standing.state == "finished")]),
            *filter(None, [sentences.trusted(standing)]),
            *price.open_lines(rows, standing.positive or "positive", standing.rests_on),
            *sentences.people_in_words(rows, standing.revision, standing.revised_items, standing.moved),
            *([f"Spent: {spent}."] if spent else []),
        ),
    )


def estimate_of(row: MeasureEstimate) -> Estimate:
    """A row of a report as the public value: the same record."""
    return Estimate(**{column.name: getattr(row, column.name) for column in fields(MeasureEstimate)})


def _key(row: Estimate) -> tuple[object, ...]:
    """What it is looked up by."""
    of = (row.question, row.system, row.versus, row.class_name, row.segment, row.at)
    return (row.measure, *(part for part in of if part is not None))


def _wide(row: Estimate) -> tuple[float, float] | None:
    return None if row.wide_lower is None or row.wide_upper is None else (row.wide_lower, row.wide_upper)


def _confidence(estimates: Sequence[Estimate]) -> str:
    """`95%`; empty where there are several."""
    levels = {wording.percent(row.confidence) for row in estimates}
    return levels.pop() if len(levels) == 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One value with its interval, where it has one, and the wide interval beside it."""

    label: str
    value: float
    lower: float | None
    upper: float | None
    wide: tuple[float, float] | None = None


def bars_figure(title: str, bars: Sequence[Bar], confidence: str = "", notes: Sequence[str] = ()) -> "Figure":
    """Values with their intervals, the first at the top; notes below."""
    from matplotlib.figure import Figure as NewFigure

    below = "\n".join(fill(note, _LINE) for note in notes)
    lines = below.count("\n") + 1 if below else 0
    figure = NewFigure(figsize=(7, 1.1 + 0.4 * max(1, len(bars)) + 0.15 * lines), layout="constrained")
    axes = figure.add_subplot()
    for place, bar in enumerate(bars):
        if bar.wide is not None:
            axes.hlines(place, *bar.wide, color="0.5", linewidth=1)
        if bar.lower is not None and bar.upper is not None:
            axes.hlines(place, bar.lower, bar.upper, color="0.5", linewidth=4)
        axes.plot([bar.value], [place], "o", color="C0")
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_title(title)
    caption = f"thick: {confidence} interval".replace(":  ", ": ")
    if any(bar.wide is not None for bar in bars):
        caption += "; thin: if positives hide where nobody looked"
    axes.set_xlabel("\n".join([caption, below]) if below else caption, fontsize="small", loc="left")
    return figure


def shown(figure: "Figure") -> "Figure":
    """The figure; in a notebook, a cell that ends with it shows a picture."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        formatters = shell.display_formatter.formatters
        if type(figure) not in formatters["image/png"]:
            formatters["image/png"].for_type(type(figure), _as_png)
    return figure


def _as_png(figure: "Figure") -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_DOTS)
    return out.getvalue()
