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
        """The labels times the owner's price for a label; None where no price is known."""
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


_MOST_MONTHS = 12


def bought_by_month(found: Sequence[LabelsBought]) -> SpentTables:
    """The tables of what was bought; the newest twelve months have columns, the totals are of all."""
    months = tuple(sorted({one.month for one in found}, reverse=True)[:_MOST_MONTHS])

    def table(of: Callable[[LabelsBought], tuple[str, str]]) -> tuple[SpentRow, ...]:
        groups: dict[tuple[str, str], list[LabelsBought]] = {}
        for one in found:
            groups.setdefault(of(one), []).append(one)
        rows = [_together(name, link, several, months) for (name, link), several in groups.items()]
        return tuple(sorted(rows, key=lambda row: (-row.labels, row.of)))

    return SpentTables(
        rows=found, months=months, teams=table(lambda one: (one.ownership.team or NO_TEAM, "")),
        sources=table(lambda one: (one.name, f"/{one.kind}s/{one.store}/{one.name}")),
        total=_together("all", "", found, months),
    )


def labels_json(told: SpentTables) -> LabelsBoughtJson:
    """The labels that were bought as JSON: the total, and one entry for each row that the tables are made
    of."""
    return {"labels": told.total.labels, "bought": [
        {"store": one.store, "kind": one.kind, "name": one.name, "month": one.month or None,
         "labels": one.labels, "cost": one.cost, **ownership_json(one.ownership)}
        for one in told.rows
    ]}


def _together(of: str, link: str, several: Sequence[LabelsBought], months: Sequence[str]) -> SpentRow:
    return SpentRow(
        of=of, link=link, labels=sum(one.labels for one in several),
        months=tuple(sum(one.labels for one in several if one.month == month) for month in months),
        priced=sum(one.labels for one in several if one.cost is not None),
        cost=sum(one.cost or 0.0 for one in several),
    )
