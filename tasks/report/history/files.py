"""A history as files: `history.html` for people, `history.json` and `history.parquet` for machines."""

import json

from assay.tasks.report.history.page import history_html
from assay.tasks.report.history.record import History
from assay.tasks.report.history.table import history_parquet


def history_files(history: History) -> dict[str, bytes]:
    """File name -> bytes. The same history gives the same bytes."""
    told = json.dumps(history.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    return {
        "history.html": history_html(history),
        "history.json": (told + "\n").encode(),
        "history.parquet": history_parquet(history),
    }
