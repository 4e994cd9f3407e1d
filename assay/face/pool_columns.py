"""The columns of a pool in which labels are known, of all rows or of some, under the names that the readers
know."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.face.frames import ROW, FrameSource, as_source, no_column
from assay.face.question import KnownOutcome, listed, systems_of
from assay.tasks.arrow import mask_of
from assay.tasks.replay.labelled_pool import columns_as_called, labelled_source, one_array, read_labelled_pool
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool, with_columns_that_speak
from assay.tasks.sources.reader import column_names, common_columns
from assay.tasks.sources.values import named_numbers

_PREFIX = "assay-probability-of-"     # of columns of probabilities that have names of their own
_FEATURE = "feature "

PoolT = TypeVar("PoolT")    # what is read of a file: a pool of two classes, or of any outcome


class RolesOfColumns:
    """The columns of a labelled pool, under the names that the readers know."""

    def __init__(
        self, source: FrameSource, holder: str, what: KnownOutcome, columns: Mapping[str, Any], *,
        no_outcome: bool,
    ) -> None:
        """no_outcome: the argument `outcome` was left out."""
        self._named, self._what, self._given, self._left_out = holder, what, columns, no_outcome
        self._table = source.table if source.table is not None else read_table(source.path, columns)
        self._systems = systems_of(columns["systems"] or {})
        self._columns: dict[str, pa.ChunkedArray] = {}
        for role in ("label", "prediction", "score", "probability", "cluster", "weight", "rank"):
            if role in ("weight", "rank") and columns[role] is None:
                continue     # a column that happens to be called so says nothing
            name = columns[role] if isinstance(columns[role], str) else role
            has_column = name in self._table.column_names
            if has_column:
                self._columns[role] = self._table.column(name)
            elif isinstance(columns[role], str) and not (role == "probability" and self._starts(name)):
                raise no_column(f"{role}: {holder}", name, self._table.column_names)

    @property
    def positive(self) -> str | None:
        """The name of the positive class, or None where none is named."""
        return self._what.positive

    @property
    def two_classes(self) -> bool:
        """Whether one system predicts a positive and a negative class, and says how sure it is."""
        two = (self._left_out or self._what.positive is not None) and self._given["contenders"] is None
        return two and not self._systems and not {"score", "probability"}.isdisjoint(self._columns)

    def set_predictions(self, threshold: float | None) -> None:
        """Of the score, or of the probability. Raises BadInput where they are not of two classes."""
        if threshold is None:
            return
        scale = "score" if "score" in self._columns else "probability"
        if scale not in self._columns or not self.two_classes:
            raise BadInput("threshold: needs two classes, and a column under `score` or `probability`")
        if self._given["prediction"] is not None:
            raise BadInput("threshold: makes predictions, and `prediction` names some; leave one out")
        kind = self._what.kind
        names = ("1", "0") if self.positive is None or kind is None else kind.parts[::-1]
        numbers, _ = named_numbers(
            self._named, str(self._called.get(scale, scale)), self._columns[scale].combine_chunks())
        above = numbers > threshold if scale == "score" else numbers >= threshold
        self._columns["prediction"] = pa.chunked_array([pc.if_else(mask_of(above), *names)])

    def of_two_classes(self, curves: bool) -> LabelledPool | OutcomePool:
        """The pool of two classes; as one of any outcome where curves are asked for, or clusters or weights
        say something."""
        if self._given["judge"] is not None:
            raise BadInput("judge: guesses labels but of two classes; give it as `score` or `probability`")
        for name in ("covariates", "spread"):
            if self._given[name] is not None:
                raise BadInput(f"{name}: is for guesses, and two classes are modelled along a score; leave "
                               "it out")
        if "prediction" not in self._columns:
            raise BadInput("prediction: name the column of predictions, or give a threshold of the score")
        if self._given["rank"] is not None:
            raise BadInput("rank: is of labels that `outcome` lists: grades, or relevant and not relevant")
        beside = {role: None if self._given[role] is None else role for role in ("cluster", "weight")}

        columns = self._columns | self._features()
        for role in ("prediction", "label") if self.positive is not None else ():
            columns[role] = self._what.column(self._called.get(role, role), columns[role].combine_chunks())

        def read_pool(path: str) -> LabelledPool | OutcomePool:
            pool = read_labelled_pool(
                path, positive=self.positive, features=[name for name in columns if name.startswith(_FEATURE)]
            )
            return with_columns_that_speak(path, pool, **beside, curves=curves)

        made: LabelledPool | OutcomePool = self._read_as(columns, read_pool)
        return made

    def _features(self) -> dict[str, pa.ChunkedArray]:
        features = listed(self._given["features"] or ())
        return {f"{_FEATURE}{at}": self._named_column("features", n) for at, n in enumerate(features)}

    def of_any_kind(self, *, partly_labelled: bool = False) -> OutcomePool:
        """The pool of any other kind; partly_labelled: rows may have no label, and have the code NaN then."""
        systems = [self._column_of(name, system) for name, system in self._systems.items()]
        predicted = systems if self._systems else \
            [self._columns["prediction"]] if "prediction" in self._columns else []
        judges = [self._named_column("judge", name) for name in listed(self._given["judge"] or ())]
        spoken = {"label": self._columns["label"]}
        spoken |= {f"prediction {at}": array for at, array in enumerate(predicted)}
        spoken |= {f"judge {at}": array for at, array in enumerate(judges)}
        # between two grades a judge says what is none of them
        plain = [f"judge {at}" for at in range(len(judges))] if self._what.reader == "grades" else []
        columns = {
            name: one.combine_chunks() if name in plain else self._what.column(
                self._called.get(name, name), one.combine_chunks())
            for name, one in spoken.items()
        }
        probability = self._probability(columns)
        beside = listed(self._given["covariates"] or ())
        columns |= {f"covariate {at}": self._named_column("covariates", n) for at, n in enumerate(beside)}
        if self._given["spread"] is not None:
            columns["spread"] = self._named_column("spread", self._given["spread"])
        if "cluster" in self._columns and self._given["cluster"] is not None:
            columns["cluster"] = self._columns["cluster"]
        columns |= {role: self._columns[role] for role in ("weight", "rank") if role in self._columns}
        rows = listed(self._given["contenders"] or ())
        columns |= {f"contender {at}": self._named_column("contenders", n) for at, n in enumerate(rows)}
        columns |= self._features()
        outcome_columns = OutcomeColumns(
            outcome=self._what.reader, probability=probability, kind=self._what.kind,
            predictions=tuple(name for name in columns if name.startswith("prediction ")),
            judges=tuple(name for name in columns if name.startswith("judge ")),
            covariates=tuple(name for name in columns if name.startswith("covariate ")),
            spread="spread" if "spread" in columns else None,
            cluster="cluster" if "cluster" in columns else None,
            weight="weight" if "weight" in columns else None,
            rank="rank" if "rank" in columns else None,
            contenders=tuple(name for name in columns if name.startswith("contender ")),
            features=tuple(name for name in columns if name.startswith(_FEATURE)),
            partly_labelled=partly_labelled,
        )
        pool: OutcomePool = self._read_as(columns, lambda path: read_outcome_pool(path, outcome_columns))
        return pool

    def _probability(self, columns: dict[str, pa.ChunkedArray]) -> str | None:
        """Add the columns of probabilities; their name, or what their names start with."""
        argument = self._given["probability"]
        if isinstance(argument, Mapping) and set(argument) != {"prefix"}:
            for part, name in argument.items():
                columns[_PREFIX + part] = self._named_column("probability", name)
            return _PREFIX
        prefix = argument["prefix"] if isinstance(argument, Mapping) else argument
        if prefix is None or prefix in self._table.column_names:
            values = self._columns.get("probability") if prefix is not None or not self._systems else None
            if values is not None:
                columns["probability"] = values
            return None if values is None else "probability"
        starting = self._starts(prefix)
        if all(name.startswith(f"{prefix}.") for name in starting):      # the fields of a structure
            prefix += "."
        for name in starting:
            columns[_PREFIX + name.removeprefix(prefix)] = self._table.column(name)
        return _PREFIX

    def _column_of(self, name: str, system: object) -> pa.ChunkedArray:
        if not isinstance(system, Mapping) or set(system) != {"prediction"}:
            raise BadInput(f"systems: {name!r} needs a column of predictions: systems={{{name!r}: column}}")
        return self._named_column("systems", system["prediction"])

    def _named_column(self, argument: str, name: str) -> pa.ChunkedArray:
        if name not in self._table.column_names:
            raise no_column(f"{argument}: {self._named}", name, self._table.column_names)
        return self._table.column(name)

    def _starts(self, prefix: str) -> list[str]:
        return [name for name in self._table.column_names if name.startswith(prefix)]

    def _read_as(self, columns: Mapping[str, pa.ChunkedArray], read: Callable[[str], PoolT]) -> PoolT:
        """What is read of a file of these columns; errors speak of what was given."""
        numbers = pa.array(map(str, range(len(self._table))), pa.string())
        rows = self._table.column(ROW) if ROW in self._table.column_names else numbers
        made = as_source(pa.table({ROW: rows, **columns}), ROW, keep=False)
        try:
            with columns_as_called(self._called):
                return read(made.path)
        except BadInput as error:
            raise BadInput(str(error).replace(made.path, self._named)) from None

    @cached_property
    def _called(self) -> dict[str, str]:
        """The columns as they were given, by the names that they have in the file that is made of them."""
        given, prefix = self._given, self._given["probability"]
        several = {"prediction": [system["prediction"] for system in self._systems.values() if isinstance(
            system, Mapping)] or listed(given["prediction"] or "prediction"), "judge": given["judge"],
            "covariate": given["covariates"], "contender": given["contenders"]}
        called = {role: column for role, column in given.items() if isinstance(column, str)}
        called |= {f"{kind} {at}": str(name) for kind, names in several.items()
                   for at, name in enumerate(listed(names or ()))}
        called |= {f"{_FEATURE}{at}": str(name) for at, name in enumerate(listed(given["features"] or ()))}
        if isinstance(prefix, Mapping) and set(prefix) != {"prefix"}:
            return called | {_PREFIX + part: str(name) for part, name in prefix.items()}
        start = str(prefix["prefix"] if isinstance(prefix, Mapping) else prefix)
        return called | {_PREFIX + name.removeprefix(start): name for name in self._starts(start)}


def read_table(path: str, columns: Mapping[str, object]) -> pa.Table:
    """The columns that all files of a source have, and those that are named, as one table."""
    source = labelled_source(path)
    named = {*columns, *(name for name in columns.values() if isinstance(name, str))}
    names = [name for name in column_names(source) if name in {*common_columns(source), *named}]
    if not names:
        raise BadInput(f"{path}: its files have no column in common; is the line of column names in each?")
    batches = [batch.columns for batch in source.batches(names)]
    return pa.table({
        name: one_array([batch.column(at) for batch in batches]) for at, name in enumerate(names)
    })
