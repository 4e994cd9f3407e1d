"""Pictures that the labelling page cannot show: found in the pool, before anyone is asked.

    http://, https://            shown: the browser of whoever labels fetches them
    data:image/png;base64,...    shown, if the whole column holds such values
    paths, s3://, gs://, ...     refused: no browser can fetch them. Label Studio could serve them only from
                                 storage that its administrator connects to the project, with keys of its own
    <img src="data:..."> in      refused: Label Studio takes such sources out of HTML
    a column of HTML

A column for which `show_as` says nothing is refused only where every value is a path or an address of that
kind: it may hold file names that people are to judge. `show_as: text` shows anything, as text.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.types import Bools
from assay.tasks.desks.label_studio.page.fields import ADDRESS, EMBEDDED, kind_by_name

_ENDS = "png|jpe?g|gif|webp|bmp|svg|avif|tiff?"
_WEB = rf"(?i)^\s*{ADDRESS}\s*$"
_DATA = rf"(?i)^\s*{EMBEDDED}\s*$"
_FAR = rf"(?i)^\s*(?:(?:s3|gs|az|abfs|azure-blob|file)://.+|(?:[a-z]:\\)?[^:<>|?*\n]+\.(?:{_ENDS}))\s*$"
_IN_HTML = r"(?i)<img\b[^>]*\bsrc\s*=\s*[\"']?\s*data:"

_REMEDY = (
    "write http:// or https:// addresses that people's browsers can open (`python -m http.server` serves a "
    "folder; of an object in S3 a presigned address), or small pictures as data:image/png;base64,..., or say "
    "`show_as: {%s: text}` if people judge the name"
)


class PictureCheck:
    """Finds values of display columns that a labelling page cannot show as pictures, batch by batch of the
    pool. It remembers of each column whether its first picture was in the value itself, since a column
    must be written in one way."""

    def __init__(self, show_as: Mapping[str, str]) -> None:
        """show_as: as in the spec."""
        self._show_as = show_as
        self._embedded: dict[str, bool] = {}   # column -> whether its first picture was in the value itself

    def wrong(self, column: str, values: pa.StringArray) -> tuple[Bools, str, str] | None:
        """(which rows, what is wrong with their values, what to do); None where all can be shown."""
        kind = kind_by_name(column, self._show_as)
        if kind == "html":
            bad = _matches(values, _IN_HTML)
            return (bad, "hold pictures as data: in HTML, which Label Studio takes out",
                    "give the pictures http(s) addresses, or a column of their own") if bad.any() else None
        if self._show_as.get(column) == "text":
            return None
        filled = np.asarray(pc.not_equal(pc.utf8_trim_whitespace(values), ""))
        embedded = _matches(values, _DATA)
        bad = filled & ~embedded & ~_matches(values, _WEB)
        if column not in self._show_as:
            remote = _matches(values, _FAR)
            bad = remote if remote.any() and (remote == filled).all() else np.zeros(len(remote), np.bool_)
        if bad.any():
            return bad, "are no pictures that people's browsers can open", _REMEDY % column
        return self._mixed(column, filled, embedded) if kind == "image" else None

    def _mixed(self, column: str, filled: Bools, embedded: Bools) -> tuple[Bools, str, str] | None:
        if not filled.any():
            return None
        as_data = self._embedded.setdefault(column, bool(embedded[filled][0]))
        odd_rows = filled & (embedded != as_data)
        what = "are not data: as the first one is" if as_data else "are data:, and the first one is not"
        return (odd_rows, what, "write the whole column in one way") if odd_rows.any() else None


def _matches(values: pa.StringArray, pattern: str) -> Bools:
    return np.asarray(pc.match_substring_regex(values, pattern), np.bool_)
