"""The report of an evaluation: `report.html` for people, `report.json` and `report.parquet` for machines.

    data = ReportData(...)              # gathered by a flow from the ledger
    files = render_report(data)         # bytes, nothing written
    paths = write_report(data, folder)  # the three files, each replaced whole
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.evalcore.errors import AssayError
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.report.data import BadReport, PoolSummary, ReportData
from assay.tasks.report.machine import report_json, report_parquet

__all__ = [
    "BadReport",
    "MeasureEstimate",
    "PoolSummary",
    "ReportData",
    "ReportFiles",
    "render_report",
    "write_files",
    "write_report",
]


class ReportNotWritten(AssayError):
    """The folder of the report cannot be written to; the message names it and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """Where the three files of a report are."""

    html: Path
    json: Path
    parquet: Path


def render_report(data: ReportData) -> dict[str, bytes]:
    """File name -> bytes. The same data gives the same bytes."""
    from assay.tasks.report.page import report_html

    return {
        "report.html": report_html(data),
        "report.json": report_json(data),
        "report.parquet": report_parquet(data),
    }


def write_report(data: ReportData, folder: Path) -> ReportFiles:
    """Write the three files into `folder` (made if missing); an older report there is replaced.

    Raises ReportNotWritten when the folder cannot be made or written to.
    """
    write_files(render_report(data), folder)
    return ReportFiles(
        html=folder / "report.html", json=folder / "report.json", parquet=folder / "report.parquet"
    )


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write these files into `folder` (made if missing), in order, each replaced whole.

    Raises ReportNotWritten.
    """
    for name, blob in files.items():
        partial = folder / f"{name}.partial"
        try:
            partial.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(blob)
            os.replace(partial, folder / name)
        except OSError as error:
            with suppress(OSError):   # half a file helps nobody, and takes the space that was lacking
                partial.unlink(missing_ok=True)
            raise ReportNotWritten(
                f"cannot write {name} to {folder}: {error.strerror}; choose another folder, or give this one "
                "space and the right to write"
            ) from error
