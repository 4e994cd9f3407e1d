"""Logs and tables of other tools, from Python: the same as `assay import`."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assay.evalcore.json_values import JsonObject
from assay.face.frames import as_frame, default_backend
from assay.flows.connectors import bring_in
from assay.tasks.connectors.records import Layout
from assay.tasks.spec.strict_yaml import parse_yaml


@dataclass(frozen=True, kw_only=True)
class Logs:
    """A pool that was made of another tool's logs, and the spec to start from."""

    path: str                       #: of the pool
    format: str                     #: what the logs were: inspect, lm-eval, ...
    rows: int
    columns: tuple[str, ...]
    systems: tuple[str, ...]        #: the models that are in it
    notes: tuple[str, ...]          #: what is not imported, and what was noticed
    spec_text: str                  #: YAML, with comments

    @property
    def spec(self) -> JsonObject:
        """The suggested spec of an import as a dictionary that `assay.begin` takes, read from its YAML."""
        return dict(parse_yaml(self.spec_text, "the suggested spec"))

    def to_frame(self) -> Any:
        """The rows: pandas, polars or pyarrow, the first that is installed."""
        table = pq.read_table(self.path)
        backend = default_backend()
        if backend == "pyarrow":
            return table
        frame = as_frame(table)
        return frame.to_pandas() if backend == "pandas" else frame.to_polars()

    def summary(self) -> str:
        """A few lines of text: the file of the pool with its rows and format, its columns, and a line for
        each note on what was not imported."""
        lines = [f"{self.path}: {self.rows:,} rows ({self.format})", f"columns: {', '.join(self.columns)}"]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


def import_logs(
    given: str | Path | Sequence[str | Path], *, to: str | Path, format: str | None = None,
    layout: Layout | None = None, earlier: str | Path | Sequence[str | Path] = (),
) -> Logs:
    """Make a pool of logs or tables of another tool.

    Args:
        given: a file, a folder or an address, or several of them, of one format.
        to: the pool to write, a name that ends in .parquet; it must not exist yet.
        format: what `given` is, where its content does not say: docs/how-to/import.md names all.
        layout: of logs with several models: `responses`, a row for each, or `questions`, a row for each
            question with the responses side by side; by question where the models can be compared so, unless
            said.
        earlier: logs of earlier systems that answered the same questions; their results become judges.

    Raises:
        BadInput: naming the file and what is wrong with it.

    Example:
        >>> import assay
        >>> try:
        ...     logs = assay.import_logs("no-such-logs/", to="pool.parquet")
        ...     evaluation = assay.begin(logs.spec)
        ... except assay.errors.BadInput as error:
        ...     print(error)
        no-such-logs/: there is no such file or folder
    """
    sources = [given] if isinstance(given, str | Path) else list(given)
    before = [earlier] if isinstance(earlier, str | Path) else list(earlier)
    logs = bring_in(sources, Path(to), format, layout, before)
    return Logs(
        path=str(logs.written.path), format=logs.format, rows=logs.written.rows,
        columns=logs.written.columns, systems=logs.written.systems, notes=logs.notes,
        spec_text=logs.spec or "",
    )
