"""The stores that a service shows, by alias, and who may see which.

A store is known by its alias alone: neither its address nor a path of this machine is on any page. A token
opens every store, or only those that it is given for; somebody who may not see a store is told that there is
none.
"""

import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.opening import address
from assay.tasks.ledger.stores.store import ReadOnly, Store

TOKEN_VARIABLE_OF_PAGES = "ASSAY_SERVE_TOKEN"   # noqa: S105 - the name of a variable
SHORTEST_TOKEN = 16   # characters
_ALIAS = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedStore:
    """One store under the alias by which the service knows it; it can only be read."""

    alias: str
    store: Store


def served_stores(plain: Sequence[str], options: Sequence[str]) -> dict[str, ServedStore]:
    """The stores to serve, by alias: of plain addresses, whose alias is derived, and of `alias=address`.
    Raises BadInput where two would have the same alias, or none is named."""
    stores: dict[str, ServedStore] = {}
    pairs = [(_alias_of(url), url) for url in plain] + [_named(option) for option in options]
    for alias, url in pairs:
        if alias in stores:
            raise BadInput(
                f"two stores would be called {alias!r}; give each a name of its own: --store ALIAS=STORE"
            )
        stores[alias] = read_only_store(alias, open_store(url))
    if not stores:
        raise BadInput("no store is named; give the address of one, or --store ALIAS=STORE")
    return stores


def read_only_store(alias: str, store: Store) -> ServedStore:
    """A store under an alias, wrapped so that nothing can be written to it."""
    return ServedStore(alias=alias, store=ReadOnly(store))


def _named(option: str) -> tuple[str, str]:
    alias, equals, url = option.partition("=")
    if not equals or not url:
        raise BadInput(f"--store {option!r}: write ALIAS=STORE, such as search=s3://bucket/search")
    if not _ALIAS.fullmatch(alias):
        raise BadInput(
            f"--store {option!r}: an alias is 1 to 40 of a-z, 0-9 and '-', beginning with a letter or digit"
        )
    return alias, url


def _alias_of(url: str) -> str:
    """The last part of an address, as far as it can be an alias."""
    part = url.rstrip("/").rpartition("/")[2]
    made = re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:40].strip("-")
    return made or "ledger"


_PATH = re.compile(r"(?<![\w:/.…])(?:file://)?(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'\",;:()]+[/\\])+[^\s/\\'\",;:()]*")


def without_paths(text: str, stores: Iterable[ServedStore]) -> str:
    """A message without addresses of stores and paths of this machine."""
    for served in stores:
        for url in sorted({served.store.url, _root(served.store)} - {""}, key=len, reverse=True):
            text = text.replace(url, f"the store {served.alias}")
    return _PATH.sub(lambda match: "…/" + PurePath(match[0].replace("\\", "/")).name, text)


def _root(store: Store) -> str:
    try:
        return address(store)
    except BadInput:
        return ""


_PLACE = re.compile(r"(?!https?:)[A-Za-z][A-Za-z0-9+.-]*://|file:|[/\\~]|[A-Za-z]:[/\\]")
_TEXTS = ("labels", "question", "guidelines", "measures", "measure", "name", "columns", "owner", "team")


def spec_without_paths(spec: object, key: str = "") -> Any:
    """A spec in which files are named by the last part of their path or address; web pages as they are. So a
    page shows no folder of the machine, and no bucket."""
    match spec:
        case Mapping():
            return {
                name: value if name in _TEXTS and key != "desk" else spec_without_paths(value, name)
                for name, value in spec.items()
            }
        case list() | tuple():
            return [spec_without_paths(part, key) for part in spec]
        case str() if _PLACE.match(spec):
            return "…/" + spec.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        case _:
            return spec


@dataclass(frozen=True, slots=True)
class _Grant:
    digest: bytes
    aliases: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may look. Without tokens and without a header everybody, who can only be on this machine."""

    stores: frozenset[str]                 # aliases
    grants: tuple[_Grant, ...] = ()
    header: str | None = None              # of a proxy that has asked who it is

    @property
    def open_to_all(self) -> bool:
        """Whether nobody is asked who they are: neither a token nor a header of a proxy is configured. Then
        the service may listen on the loopback alone."""
        return not self.grants and self.header is None

    def seen_by(self, token: str | None, user: str | None) -> frozenset[str] | None:
        """The aliases that somebody may see; None who may see nothing.

        Where both a token and a header are asked for, both are needed: then nobody gets around the proxy.
        Every token is compared, in constant time, whichever is the right one.
        """
        if self.header is not None and not (user or "").strip():
            return None
        if not self.grants:
            return self.stores
        digest = sha256((token or "").encode("utf-8", "surrogateescape")).digest()
        aliases: frozenset[str] = frozenset()
        for grant in self.grants:
            if hmac.compare_digest(grant.digest, digest):
                aliases |= grant.aliases
        return aliases or None


def access_to(stores: Mapping[str, ServedStore], tokens: str, header: str | None) -> Access:
    """Who may look, by a text with a token a line, each for all stores or behind the aliases it is for.

    Raises BadInput, which repeats no token.
    """
    grants = []
    for number, line in enumerate(tokens.splitlines(), start=1):
        words = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].split()
        if not words:
            continue
        if len(words) > 2:
            raise BadInput(f"tokens, line {number}: write TOKEN, or ALIAS TOKEN, or ALIAS,ALIAS TOKEN")
        aliases = frozenset(words[0].split(",")) if len(words) == 2 else frozenset(stores)
        if unknown := sorted(aliases - stores.keys()):
            raise BadInput(
                f"tokens, line {number}: no store is called {unknown[0][:40]!r}; "
                f"there are {', '.join(stores)}"
            )
        token = words[-1]
        if len(token) < SHORTEST_TOKEN or not (token.isascii() and token.isprintable()):
            raise BadInput(
                f"tokens, line {number}: a token has at least {SHORTEST_TOKEN} printable ASCII characters; "
                "for example the output of `openssl rand -hex 24`"
            )
        grants.append(_Grant(sha256(token.encode()).digest(), aliases))
    if header is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", header):
        raise BadInput(f"--trust-header {header[:60]!r} is no name of a header, such as X-Forwarded-User")
    return Access(stores=frozenset(stores), grants=tuple(grants), header=header)
