"""Addresses of results of SQL and of tables: what a spec says with a mapping, in one line of text.

    {sql: select …, connection: WAREHOUSE}             sql://WAREHOUSE?select …
    {delta: s3://models/predictions, version: 12}      delta://s3://models/predictions?version=12
    {iceberg: analytics.predictions, catalog: prod}    iceberg://analytics.predictions?catalog=prod

An address is what the ledger records, messages say and a command line takes. It names the environment
variable (or Prefect's block, as `secret/warehouse`) that holds the connection, and never the connection
itself. Behind a colon after that name stands the column by which rows are sorted, once it is known:
`sql://WAREHOUSE:item_id?select …`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from assay.evalcore.errors import BadInput, did_you_mean

SQL, DELTA, ICEBERG = "sql://", "delta://", "iceberg://"
_CONNECTION = r"[A-Za-z_][A-Za-z0-9_]*|[a-z0-9-]+/[a-z0-9-]+"
_SQL = re.compile(rf"{SQL}(?P<connection>{_CONNECTION})(?::(?P<order>[^?/@:]*))?\?(?P<query>.+)", re.DOTALL)
_TABLE = re.compile(r"(?P<kind>delta|iceberg)://(?P<place>[^?]+)(?:\?(?P<options>.*))?")
_OPTIONS: Mapping[str, Mapping[str, type[int] | type[str]]] = {
    DELTA: {"version": int}, ICEBERG: {"snapshot": int, "catalog": str},
}
_KEYS = {"sql": ("connection",), "delta": ("version",), "iceberg": ("snapshot", "catalog")}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAddress:
    """A query, where it is asked, and by which column its rows are sorted."""

    query: str
    connection: str
    order: str | None = None

    def __str__(self) -> str:
        """As the ledger records it."""
        order = "" if self.order is None else f":{quote(self.order, safe='')}"
        return f"{SQL}{self.connection}{order}?{self.query}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAddress:
    """A table of Delta Lake or Iceberg, and which state of it."""

    kind: str                    # DELTA or ICEBERG
    place: str                   # a folder, an address, or a name in a catalog
    state: int | None = None     # the version of Delta, the snapshot of Iceberg; None: the newest
    catalog: str | None = None   # of Iceberg alone

    def __str__(self) -> str:
        """As the ledger records it."""
        options = [] if self.catalog is None else [f"catalog={self.catalog}"]
        if self.state is not None:
            options.append(f"{'version' if self.kind == DELTA else 'snapshot'}={self.state}")
        return f"{self.kind}{self.place}{'?' if options else ''}{'&'.join(options)}"


def is_table(address: str) -> bool:
    """Whether an address names a result of SQL or a table, rather than files."""
    return address.startswith((SQL, DELTA, ICEBERG))


def parsed_address(address: str) -> QueryAddress | TableAddress:
    """What an address says. Raises BadInput where it says nothing that can be read."""
    if address.startswith(SQL):
        match = _SQL.fullmatch(address)
        if match is None:
            raise BadInput(
                f"pool.source: {address!r} is no query; write {SQL}NAME?select …, where NAME is an "
                "environment variable that holds the connection"
            )
        order = match["order"]
        return QueryAddress(
            query=_one_statement(match["query"]), connection=match["connection"],
            order=None if order is None else unquote(order),
        )
    match = _TABLE.fullmatch(address)
    if match is None:
        raise BadInput(
            f"pool.source: {address!r} names no table; write {DELTA}FOLDER?version=12 or {ICEBERG}FOLDER"
        )
    kind = f"{match['kind']}://"
    numbers: dict[str, int] = {}
    texts: dict[str, str] = {}
    for option in filter(None, (match["options"] or "").split("&")):
        name, _, value = option.partition("=")
        if name not in _OPTIONS[kind]:
            raise BadInput(
                f"pool.source: {address}: there is no option {name!r}; {did_you_mean(name, _OPTIONS[kind])}"
                f"there are {', '.join(_OPTIONS[kind])}"
            )
        if _OPTIONS[kind][name] is int and not (value.isdecimal() and len(value) < 20):
            raise BadInput(f"pool.source: {address}: {name} is {value!r}; give a whole number")
        if _OPTIONS[kind][name] is int:
            numbers[name] = int(value)
        else:
            texts[name] = value
    state = numbers.get("version", numbers.get("snapshot"))
    return TableAddress(kind=kind, place=match["place"], state=state, catalog=texts.get("catalog"))


def address_of_mapping(given: Mapping[str, object]) -> str:
    """What a spec's mapping says as an address. Raises BadInput naming the key that is wrong."""
    kinds = [key for key in _KEYS if key in given]
    if len(kinds) != 1:
        raise BadInput(
            "a mapping has one of the keys sql, delta and iceberg, as in {sql: select …, connection: NAME}"
        )
    (kind,) = kinds
    numbers: dict[str, int] = {}
    texts: dict[str, str] = {}
    for key, value in given.items():
        if key != kind and key not in _KEYS[kind]:
            raise BadInput(f"there is no key {key!r} beside {kind!r}; {did_you_mean(str(key), _KEYS[kind])}"
                           f"there are {', '.join(_KEYS[kind])}")
        is_number = key in ("version", "snapshot")
        match value:
            case bool():
                is_right = False
            case int():
                numbers[key], is_right = value, is_number and 0 <= value < 1 << 63
            case str():
                texts[key], is_right = value, value != "" and not is_number
            case _:
                is_right = False
        if not is_right:
            raise BadInput(f"{key} is {value!r}; give {'a whole number' if is_number else 'a text'}")
    if kind == "sql":
        connection = texts.get("connection")
        if connection is None or re.fullmatch(_CONNECTION, connection) is None:
            raise BadInput(
                "connection has to be the name of the environment variable that holds the address of the "
                "database, such as WAREHOUSE, or that of a block of Prefect, such as secret/warehouse; the "
                "address itself is a secret and never in a spec"
            )
        return str(QueryAddress(query=_one_statement(texts["sql"]), connection=connection))
    if "?" in texts[kind]:
        raise BadInput(f"{kind} is {texts[kind]!r}; a folder, an address or a name holds no question mark")
    return str(TableAddress(
        kind=f"{kind}://", place=texts[kind], state=numbers.get("version", numbers.get("snapshot")),
        catalog=texts.get("catalog"),
    ))


def secret_in_query(address: str) -> bool:
    """Whether a query holds an address with a password, or gives a key that opens a store."""
    name, _, query = address.removeprefix(SQL).partition("?")
    if re.search(r"//|@|\b(password|pwd)\s*=", name, re.IGNORECASE):
        return True      # the address itself, where the name of its variable belongs
    given = re.sub(r"'(?:[^']|'')*'", "''", query)      # texts that it compares with are no keys
    return bool(
        re.search(r"://[^\s/'\"@]+:[^\s/'\"@]+@", query)
        or _OPENING.search(query) or _SIGNED.search(query)
        or re.search(r"\b(password|secret|account_key|sas_token)\s*=?\s*''", given, re.IGNORECASE)
    )


# in texts too: what connections of databases are made of, and addresses that are signed
_OPENING = re.compile(
    r"\b(password|pwd|accountkey|sharedaccesssignature)\s*=\s*[^\s'%_]", re.IGNORECASE
)
_SIGNED = re.compile(
    r"://[^\s'\"]*[?&;][^\s'\"=&]*(sig|signature|token|credential|secret|key)[^\s'\"=&]*=[^\s'\"&]",
    re.IGNORECASE,
)


def _one_statement(query: str) -> str:
    trimmed = query.strip()
    while trimmed.endswith(";"):
        trimmed = trimmed[:-1].rstrip()
    if not trimmed:
        raise BadInput("pool.source: the query is empty; write the select that gives one row for each item")
    return trimmed
