"""What a sample of a source was, and what cannot be told from it."""

from collections.abc import Iterator

from assay.evalcore.plurals import plural
from assay.tasks.doctor.finding import Finding, warning
from assay.tasks.doctor.printed import SampleJson
from assay.tasks.doctor.sampling.portion import Portion

_REMEDY = "`assay begin` checks every row; --all reads all of them now"


def sample_json(portion: Portion) -> SampleJson | None:
    """None where every row is read."""
    if portion.complete:
        return None
    return {
        "rows_counted": portion.counted,
        "blocks": [
            {"file": portion.files[one.file].path, "first_row": one.first + 1, "rows": one.rows or 0}
            for one in portion.sample
        ],
    }


def sample_findings(portion: Portion, read: int) -> Iterator[Finding]:
    """What was looked at, and what may be wrong all the same; nothing where every row is read."""
    if portion.complete:
        return
    total = portion.total(read)
    where, rest = _in_text(portion) if not portion.counted else _in_parquet(portion)
    about = "" if portion.counted else "about "
    yield warning(
        "sample",
        f"{read:,} of {about}{total:,} rows were looked at, {where}. Not looked for in the others: ids that "
        f"occur more than once, bad values, further classes. Numbers of all rows are estimates{rest}",
        _REMEDY,
    )


def _in_parquet(portion: Portion) -> tuple[str, str]:
    blocks = plural(len(portion.sample), "block")
    files = plural(len({one.file for one in portion.sample}), "file")
    return f"{blocks} of {files}, spread evenly", ""


def _in_text(portion: Portion) -> tuple[str, str]:
    each, files = portion.sample[0].rows or 0, plural(len(portion.files), "file")
    return (
        f"the first {each:,} at most of {len(portion.sample):,} of {files}",
        ", and mislead where files are sorted by score, class or time",
    )
