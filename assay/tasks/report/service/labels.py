"""The labels that were bought, by month: of teams, of monitors and of evaluations, with what they cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from assay.tasks.ledger.life import Ownership, OwnershipJson, ownership_json

NO_TEAM = "no team named"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsBought:
    """The labels that one evaluation or monitor bought in one month, with whose it is."""

    store: str
    kind: str
    name: str
    ownership: Ownership
    month: str        # 2026-11; empty where it is not recorded
    labels: int

    @property
    def cost(self) -> float | None:
        """The labels times the owner's price for a label; None where no price is known. It is in the currency
        that the owner's spec means."""
        price = self.ownership.price_per_label
        return None if price is None else price * self.labels


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentRow:
    """The labels that several evaluations or monitors bought together: by month, in all, how many of them
    have a price, and what these cost."""

    of: str
    months: tuple[int, ...]        # by month, in the order of the table
    labels: int
    priced: int                    # of them, with a price
    cost: float                    # of those
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentTables:
    """The tables of the page of bought labels: by team and by monitor or evaluation, with a column for each
    of the newest twelve months, and totals over all months."""

    rows: Sequence[LabelsBought]
    months: tuple[str, ...]        # the newest first
    teams: tuple[SpentRow, ...]
    sources: tuple[SpentRow, ...]   # monitors and evaluations
    total: SpentRow


class BoughtJson(OwnershipJson):
    """The labels that one evaluation or monitor bought in one month, whose it is, and their cost, null
    without a price for a label."""

    store: str
    kind: str                      # evaluation or monitor
    name: str
    month: str | None              # null where it is not recorded
    labels: int
    cost: float | None             # null without a price per label


class LabelsBoughtJson(TypedDict):
    """Every label that was bought in the stores that are served: the total, and one entry for each
    evaluation or monitor and month."""

    labels: int
    bought: list[BoughtJson]


_MOST_MONTHS = 12   # the newest months that a table shows


def bought_by_month(buys: Sequence[LabelsBought]) -> SpentTables:
    """The tables of what was bought; the newest twelve months have columns, the totals are of all. There is a
    table by team and one by monitor or evaluation."""
    months = tuple(sorted({buy.month for buy in buys}, reverse=True)[:_MOST_MONTHS])

    def table(of: Callable[[LabelsBought], tuple[str, str]]) -> tuple[SpentRow, ...]:
        groups: dict[tuple[str, str], list[LabelsBought]] = {}
        for buy in buys:
            groups.setdefault(of(buy), []).append(buy)
        rows = [_together(name, link, group, months) for (name, link), group in groups.items()]
        return tuple(sorted(rows, key=lambda row: (-row.labels, row.of)))

    return SpentTables(
        rows=buys, months=months, teams=table(lambda buy: (buy.ownership.team or NO_TEAM, "")),
        sources=table(lambda buy: (buy.name, f"/{buy.kind}s/{buy.store}/{buy.name}")),
        total=_together("all", "", buys, months),
    )


def labels_json(tables: SpentTables) -> LabelsBoughtJson:
    """The labels that were bought as JSON: the total, and one entry for each row that the tables are made of.
    The cost of a row is null where its spec names no price."""
    return {"labels": tables.total.labels, "bought": [
        {"store": buy.store, "kind": buy.kind, "name": buy.name, "month": buy.month or None,
         "labels": buy.labels, "cost": buy.cost, **ownership_json(buy.ownership)}
        for buy in tables.rows
    ]}


def _together(of: str, link: str, buys: Sequence[LabelsBought], months: Sequence[str]) -> SpentRow:
    return SpentRow(
        of=of, link=link, labels=sum(buy.labels for buy in buys),
        months=tuple(sum(buy.labels for buy in buys if buy.month == month) for month in months),
        priced=sum(buy.labels for buy in buys if buy.cost is not None),
        cost=sum(buy.cost or 0.0 for buy in buys),
    )
