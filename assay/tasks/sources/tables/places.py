"""What gives the rows of an address that names no files."""

from assay.tasks.sources.tables.delta import DeltaRows
from assay.tasks.sources.tables.iceberg import IcebergRows
from assay.tasks.sources.tables.query import QueryRows
from assay.tasks.sources.tables.table import Table
from assay.tasks.table_address import DELTA, QueryAddress, parsed_address


def table_at(address: str) -> Table:
    """The table, or the result of a query, as it is now. Raises BadInput where there is none."""
    parsed = parsed_address(address)
    if isinstance(parsed, QueryAddress):
        return QueryRows.at(parsed)
    return DeltaRows.at(parsed) if parsed.kind == DELTA else IcebergRows.at(parsed)
