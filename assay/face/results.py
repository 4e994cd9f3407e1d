"""What evaluations and replays say: frozen values that print, convert to frames, and draw themselves."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any

from assay.face.frames import frame_of
from assay.flows.record.standing import Standing
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.replay.printed import ReplayJson
from assay.tasks.replay.result import ReplayResult
from assay.tasks.replay.table import as_text
from assay.tasks.report import EstimateRow, wording
from assay.tasks.report.printed import StandingJson
from assay.tasks.report.sentences import AGAINST_LIMIT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One measure, of one system, class and segment, with its interval.

    `value` is None where the measure is undefined, and `undefined_reason` then says why.
    """

    measure: str
    value: float | None
    lower: float | None
    upper: float | None
    confidence: float
    interval: str                    # its kind
    labels: int
    undefined_reason: str | None
    of: str                          # what is measured: `f1`, `recall of cat`, `accuracy of new minus old`
    class_name: str | None           # the class, of a measure with a value for each
    system: str | None               # None for the pool's own predictions
    versus: str | None               # the system it is compared with, of a difference
    segment: str | None
    at: float | None                 # the threshold, of a point of a curve

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width."""
        return None if self.lower is None or self.upper is None else (self.upper - self.lower) / 2

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.of}: undefined, {self.undefined_reason}"
        return f"{self.of}: {wording.in_words(self.value, self.lower, self.upper)}"


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Some estimates, the first measure first."""

    estimates: tuple[Estimate, ...]
    backend: str                     # the library of its frames

    @property
    def value(self) -> float | None:
        """The first measure's."""
        return self.estimates[0].value if self.estimates else None

    @property
    def lower(self) -> float | None:
        """The lower end of the first measure's interval."""
        return self.estimates[0].lower if self.estimates else None

    @property
    def upper(self) -> float | None:
        """The upper end of the first measure's interval."""
        return self.estimates[0].upper if self.estimates else None

    def __getitem__(self, measure: str) -> Estimate:
        """The first estimate of this measure. Raises KeyError."""
        for one in self.estimates:
            if one.measure == measure:
                return one
        known = ", ".join(dict.fromkeys(one.measure for one in self.estimates)) or "none so far"
        raise KeyError(f"no estimate of {measure!r}; there are: {known}")

    @property
    def title(self) -> str:
        """What they are of, in one line."""
        return f"{wording.plural(len(self.estimates), 'estimate', 'estimates')} from labels and weights"

    def summary(self) -> str:
        """In a few lines of text."""
        return "\n".join([self.title, *(f"  {one}" for one in self.estimates)])

    def to_dict(self) -> Mapping[str, Any]:
        """An object of plain values."""
        return {"estimates": [asdict(one) for one in self.estimates]}

    def to_frame(self) -> Any:
        """A row for each estimate."""
        names = [one.name for one in fields(Estimate)]
        columns = {name: [getattr(one, name) for one in self.estimates] for name in names}
        return frame_of(columns, self.backend)

    def plot(self) -> "Figure":
        """The estimates with their intervals, one below the other: a matplotlib figure."""
        from assay.face.figures import Bar, bars_figure, shown

        return shown(bars_figure(self.title, [
            Bar(label=one.of, value=one.value, lower=one.lower, upper=one.upper)
            for one in self.estimates if one.value is not None
        ]))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(one.of)}</td><td>{_text(one.value)}</td>"
            f"<td>{_text(one.lower)}</td><td>{_text(one.upper)}</td></tr>"
            for one in self.estimates
        )
        head = escape(self.title)
        return (
            f"<p>{head}</p><table><thead><tr><th>measure</th><th>value</th><th>lower</th><th>upper</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )


@dataclass(frozen=True, kw_only=True)
class Result(Estimates):
    """Where an evaluation stands, finished or not."""

    evaluation: str
    state: str                       # waiting, open or finished
    stopped_by: str | None           # half_width, variance, budget or pool; None while it is not finished
    verdict: str | None              # ok, breach or inconclusive; None without a limit
    labels: int                      # bought so far
    rounds: int                      # closed
    method: str
    json: StandingJson               # all of it, as `--json` prints it
    store: Store = field(repr=False, compare=False)   # where its record is

    @property
    def title(self) -> str:
        """How far it is, in one line."""
        said = f"; it {AGAINST_LIMIT[self.verdict]}" if self.verdict else ""
        ended = f"finished ({self.stopped_by})" if self.stopped_by else self.state
        bought = wording.plural(self.labels, "label", "labels")
        rounds = wording.plural(self.rounds, "round", "rounds")
        return f"{self.evaluation}: {ended}, {bought} in {rounds}{said}"

    def to_mlflow(self, run: Any = None, *, uri: str | None = None, experiment: str | None = None) -> str:
        """Tell MLflow: metrics with lower and upper ends by round, and the report; the ID of the run.

        run          a run, or its ID; None: the active run, else the evaluation's own, made if there is none
        uri          where MLflow is; None: where `mlflow` itself would write
        experiment   of a run of its own, made if there is none; MLFLOW_EXPERIMENT_NAME, or `assay`

        Told again, the same run is found and only what is new is added. Raises BadInput without the package.
        """
        from assay.flows.publish.mlflow import told_from_python

        return told_from_python(self.store, self.evaluation, run, uri=uri, experiment=experiment)

    def to_dict(self) -> StandingJson:
        """The object that `--json` prints."""
        return self.json


@dataclass(frozen=True, kw_only=True)
class Replay:
    """How methods did on labelled predictions: error, coverage and width by number of labels."""

    result: ReplayResult
    backend: str

    def summary(self) -> str:
        """The table that `assay replay` prints."""
        return as_text(self.result)

    def to_dict(self) -> ReplayJson:
        """The object that `assay replay --json` prints."""
        return self.result.to_json()

    def to_frame(self) -> Any:
        """A row for each method, measure and number of labels."""
        names = [one.name for one in fields(self.result.methods[0].budgets[0])]
        rows = [(entry, budget) for entry in self.result.methods for budget in entry.budgets]
        columns: dict[str, list[Any]] = {
            "method": [entry.method for entry, _ in rows], "measure": [entry.of for entry, _ in rows],
        }
        columns |= {name: [getattr(budget, name) for _, budget in rows] for name in names}
        return frame_of(columns, self.backend)

    def plot(self) -> "Figure":
        """Error and coverage against labels: a matplotlib figure."""
        from assay.face.figures import shown
        from assay.tasks.replay.convergence_plot import convergence_figure

        return shown(convergence_figure(self.result))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


def result_of(standing: Standing, backend: str, store: Store) -> Result:
    """A standing as the public value."""
    return Result(
        evaluation=standing.evaluation, state=standing.state, stopped_by=standing.stopped_by,
        verdict=standing.verdict, labels=standing.labels, rounds=standing.rounds, method=standing.method,
        estimates=tuple(map(estimate_of, standing.rows())), json=standing.to_json(), backend=backend,
        store=store,
    )


def estimate_of(row: EstimateRow) -> Estimate:
    """A row of a report as the public value."""
    names = [one.name for one in fields(Estimate) if one.name != "of"]
    said = f"{row.what} in {row.segment}" if row.segment else row.what
    return Estimate(of=said, **{name: getattr(row, name) for name in names})


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
