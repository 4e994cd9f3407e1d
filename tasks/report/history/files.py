"""A history as files: `history.html` for people, `history.json` and `history.parquet` for machines.

Every window that was judged has a page of its own, `windows/<window>.html`. `windows.json` says which verdict
each page tells of, so only pages that are missing or tell of an older verdict are written again.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from assay.tasks.report.history.page import history_html, page_of
from assay.tasks.report.history.record import MonitorHistory
from assay.tasks.report.history.table import history_parquet
from assay.tasks.report.history.window import window_html

WINDOWS = "windows.json"


def history_files(history: MonitorHistory) -> dict[str, bytes]:
    """File name -> bytes. The same history gives the same bytes."""
    return {
        "history.html": history_html(history),
        "history.parquet": history_parquet(history),
        "history.json": _json(history),
    }


def is_told(history: MonitorHistory, folder: Path) -> bool:
    """Whether the files in this folder tell of just this history."""
    try:
        return (folder / "history.json").read_bytes() == _json(history)
    except OSError:
        return False


def window_files(history: MonitorHistory, there: Mapping[str, int]) -> dict[str, bytes]:
    """File name -> bytes, of the windows whose pages are not up to date; `windows.json` comes last.

    there   window -> the number of the verdict that its page tells of
    """
    files = {
        page_of(row.window): window_html(history, row)
        for row in history.rows if row.verdict is not None and there.get(row.window) != row.verdict.number
    }
    return {**files, WINDOWS: (json.dumps(verdict_numbers(history), indent=2) + "\n").encode()}


def verdict_numbers(history: MonitorHistory) -> dict[str, int]:
    """Window -> the number of the verdict on it, of those that have one."""
    return {row.window: row.verdict.number for row in history.rows if row.verdict is not None}


def pages_there(folder: Path) -> dict[str, int]:
    """Window -> the number of the verdict that its page in this folder tells of."""
    try:
        read = json.loads((folder / WINDOWS).read_bytes())
        return {
            str(window): int(number) for window, number in read.items() if (folder / page_of(window)).exists()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _json(history: MonitorHistory) -> bytes:
    return (json.dumps(history.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
