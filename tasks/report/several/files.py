"""Several evaluations as files: one page, one JSON object, one table; and the report of each in a folder."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

from assay.tasks.report import render_report
from assay.tasks.report.data import ReportData
from assay.tasks.report.machine import contract, parquet_of
from assay.tasks.report.printed import SeveralJson
from assay.tasks.report.several.page import several_html

_LONGEST = 100   # characters of a folder's name


def several_files(several: Sequence[ReportData]) -> Mapping[str, bytes]:
    """File name -> bytes: `reports.*` of all, and `NAME/report.*` of each."""
    of_each = {
        f"{data.evaluation}/{name}": blob for data in several for name, blob in render_report(data).items()
    }
    return {
        **of_each,
        "reports.json": (json.dumps(several_json(several), indent=2, allow_nan=False) + "\n").encode(),
        "reports.parquet": parquet_of(several),
        "reports.html": several_html(several, linked=True),
    }


def several_json(several: Sequence[ReportData]) -> SeveralJson:
    """{"evaluations": [...]}: of each what `assay report NAME --json` prints, its pool and its dates."""
    return {"evaluations": [
        {
            **contract(data),
            "pool": {"items": data.pool.n, "digest": data.pool.digest},
            "began": data.began, "finished": data.finished,
        }
        for data in several
    ]}


def folder_of(names: Sequence[str]) -> str:
    """The folder of these evaluations, always the same: their names, in full where they are short."""
    joined = "-".join(names)
    if len(joined) > _LONGEST:
        joined = f"{names[0][:_LONGEST]}-and-{len(names) - 1}-more-{sha256(joined.encode()).hexdigest()[:8]}"
    return f"assay-report-{joined}"
