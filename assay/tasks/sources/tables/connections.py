"""Databases that are asked over ADBC: their drivers, and connections whose address nobody sees.

The address of a database stands in an environment variable or in a block of Prefect, and is known only while
a connection is opened. Whatever a driver says then is shown without any word that the address holds: a driver
may repeat a part of a password, such as what stands behind an `@` in it.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput, needs
from assay.tasks.sources.files.file import BATCH_ROWS

ROWS_LOOKED_AT = 1024   # rows that tell how all lie, or of which types


class Database(Protocol):
    """An open connection to a database."""

    @property
    def quote(self) -> str:
        """What stands around the name of a column."""
        ...

    def in_order(self, column: str, is_text: bool, rows: str) -> str:
        """What stands behind ORDER BY, so that texts are sorted by their code points; `rows` are what is
        sorted."""
        ...

    def reader(self, query: str) -> pa.RecordBatchReader:
        """The rows of a query as they come."""
        ...

    def close(self) -> None:
        """End it, and the query that is running."""
        ...


class _OverAdbc:
    """A database whose driver is one of Apache Arrow's."""

    quote = '"'

    def __init__(self, connection: Any, options: dict[str, str] | None = None) -> None:
        self._connection, self._options = connection, options or {}
        self._cursors: list[Any] = []

    def in_order(self, column: str, is_text: bool, rows: str) -> str:
        return column

    def reader(self, query: str) -> pa.RecordBatchReader:
        cursor = self._connection.cursor()
        self._cursors.append(cursor)
        if self._options:
            cursor.adbc_statement.set_options(**self._options)
        cursor.execute(query)
        return cursor.fetch_record_batch()

    def close(self) -> None:
        for cursor in self._cursors:
            cursor.close()
        self._connection.close()


class _PostgreSQL(_OverAdbc):
    def in_order(self, column: str, is_text: bool, rows: str) -> str:
        return f'{column}::text COLLATE "C"' if is_text else column


class _SQLite(_OverAdbc):
    def in_order(self, column: str, is_text: bool, rows: str) -> str:
        """As everywhere, and `+` before the column, which keeps SQLite from an index on it, where the first
        rows do not lie in this order: by the index it would read a page for every row."""
        query = f"SELECT *, {column} FROM {rows} LIMIT {ROWS_LOOKED_AT}"  # noqa: S608 - the query is the user's own
        first = self.reader(query).read_all().columns[-1].combine_chunks().drop_null()
        lie_so = pc.all(pc.less_equal(first[:-1], first[1:])).as_py() if len(first) > 1 else True
        return f"{'' if lie_so else '+'}{column} COLLATE BINARY"


class _BigQuery(_OverAdbc):
    quote = "`"


class _DuckDB:
    """DuckDB by its own interface, which hands out Arrow."""

    quote = '"'

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def in_order(self, column: str, is_text: bool, rows: str) -> str:
        return column

    def reader(self, query: str) -> pa.RecordBatchReader:
        if len(self._connection.extract_statements(query)) != 1:
            raise BadInput("pool.source: the query is of several statements; write one select")
        return self._connection.sql(query).to_arrow_reader(BATCH_ROWS)

    def close(self) -> None:
        self._connection.close()


def _postgresql(address: str, _: str) -> Database:
    with needs("sql", "sources in PostgreSQL"):
        driver = import_module("adbc_driver_postgresql.dbapi")
    return _PostgreSQL(driver.connect(address))


def _sqlite(_: str, rest: str) -> Database:
    with needs("sql", "sources in SQLite"):
        driver = import_module("adbc_driver_sqlite.dbapi")
    connection = driver.connect(f"file:{quote(_file_of(rest))}?mode=ro", autocommit=True)
    return _SQLite(connection, {"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})


def _duckdb(_: str, rest: str) -> Database:
    with needs("duckdb", "sources in DuckDB"):
        driver = import_module("duckdb")
    connection = driver.connect(_file_of(rest) or ":memory:", read_only=bool(_file_of(rest)))
    connection.execute("SET TimeZone = 'UTC'")      # else times are texts in the zone of this machine
    return _DuckDB(connection)


def _snowflake(_: str, rest: str) -> Database:
    with needs("snowflake", "sources in Snowflake"):
        driver = import_module("adbc_driver_snowflake.dbapi")
    return _OverAdbc(driver.connect(rest.removeprefix("//")))


def _bigquery(address: str, _: str) -> Database:
    with needs("bigquery", "sources in BigQuery"):
        driver = import_module("adbc_driver_bigquery.dbapi")
    parts = urlsplit(address)
    options = {f"adbc.bigquery.sql.{name}": value for name, value in parse_qsl(parts.query)}
    if parts.netloc:
        options["adbc.bigquery.sql.project_id"] = parts.netloc
    return _BigQuery(driver.connect(db_kwargs=options))


def _file_of(rest: str) -> str:
    """The path behind the scheme, as SQLAlchemy has it: what follows three slashes, so that a path from the
    root has four of them; "" where there is none."""
    path = unquote(rest.partition("?")[0])
    return path[2:].removeprefix("/") if path.startswith("//") else path


_SCHEMES: dict[str, Callable[[str, str], Database]] = {
    "postgresql": _postgresql, "postgres": _postgresql, "sqlite": _sqlite, "duckdb": _duckdb,
    "snowflake": _snowflake, "bigquery": _bigquery,
}
_EXAMPLES = (
    "postgresql://user:password@host/database, sqlite:////folder/file.db, duckdb:////folder/file.duckdb, "
    "snowflake://user:password@account/database or bigquery://project"
)


@contextmanager
def database_connection(name: str) -> Iterator[Database]:
    """The database whose address the variable or block of this name holds.

    Raises BadInput, which holds no word of the address, where there is none, where it cannot be reached, or
    where what is done with the connection fails by the database's fault; MissingExtra where its driver is not
    installed.
    """
    address = _address(name)
    scheme, colon, rest = address.partition(":")
    if not colon or scheme not in _SCHEMES:
        raise BadInput(
            f"{_called(name)} holds no address of a database that can be asked; it is like {_EXAMPLES}"
        )
    try:
        database = _SCHEMES[scheme](address, rest)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(
            f"the database in {_called(name)} cannot be reached: {without_words_of(address, str(error))}; "
            "correct the address there, and see whether the database runs and lets this user in"
        ) from None
    try:
        yield database
    except BadInput:
        raise
    except Exception as error:
        if not _is_of_a_driver(error):
            raise
        raise BadInput(
            f"the database in {_called(name)} refuses the query: "
            f"{without_words_of(_password_in(address), str(error))}; try the query in the database's own "
            "shell, and cast a column whose values are of several types"
        ) from None
    finally:
        with suppress(Exception):       # what a driver says of a query that was cut short is of no use
            database.close()


def without_words_of(secret: str, text: str) -> str:
    """A text on one line, in which every word of a secret is `***`."""
    words = {word for form in (secret, unquote(secret)) for word in re.findall(r"\w+", form)}
    return re.sub(r"\w+", lambda word: "***" if word[0] in words else word[0], " ".join(text.split()))


def _password_in(address: str) -> str:
    """What may be a password in an address: whatever is between the first colon of its user and the last `@`,
    and the values behind a question mark."""
    user = re.search(r"//[^:/]*:(.*)@", address, re.DOTALL)
    return " ".join([user[1] if user else "", *re.findall(r"=([^&]*)", address)])


def _is_of_a_driver(error: Exception) -> bool:
    module = type(error).__module__.partition(".")[0].lstrip("_")
    return isinstance(error, pa.ArrowException | OSError) or module in ("adbc_driver_manager", "duckdb")


def _address(name: str) -> str:
    if "/" in name:
        return _of_block(name)
    address = os.environ.get(name, "").strip()
    if not address:
        raise BadInput(
            f"pool.source: there is no {_called(name)}; put the address of the database into it, like "
            f"{_EXAMPLES}"
        )
    return address


def _of_block(name: str) -> str:
    with needs("service", "blocks of Prefect"):
        block = import_module("prefect.blocks.core").Block
    try:
        address = block.load(name).get()
    except Exception as error:
        raise BadInput(
            f"pool.source: {_called(name)} cannot be read ({type(error).__name__}); make a block of the kind "
            "Secret of this name, and see whether Prefect's API can be reached from here"
        ) from None
    if not isinstance(address, str):
        raise BadInput(f"pool.source: {_called(name)} holds no text; put the address of the database into it")
    return address.strip()


def _called(name: str) -> str:
    return f"block {name} of Prefect" if "/" in name else f"environment variable {name}"
