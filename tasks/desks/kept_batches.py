"""Where a desk without a server of its own keeps its batches: in the ledger's store, beside the evaluations.

    desks/<kind>/<evaluation>/<round>/posted-<digest of the items>.json    what one post put on the desk
    desks/<kind>/<evaluation>/<round>/more-<people>-<digest>.json          items for more people
    (<round>-again-2/... for items that are asked again)

None of it is part of the record: the answers that count are copied there when they are collected. Keys are
written once, so posting what is there changes nothing, and everything outlives the process.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.tasks.desks.digests import digest
from assay.tasks.desks.protocol import Batch
from assay.tasks.ledger import layout
from assay.tasks.ledger.stores.protocol import Store

_PLACE = re.compile(r"(?P<round>\d{4,})(?:-again-(?P<asking>\d+))?")


class KeptBatches:
    """The batches of one evaluation on one kind of desk."""

    def __init__(self, store: Store, kind: str, evaluation: str) -> None:
        self._store = store
        self._folder = f"{layout.DESKS_PREFIX}{kind}/{evaluation}/"

    def folder(self, round: int, asking: int) -> str:
        """The prefix of everything about one asking of a round, slash included."""
        again = f"-again-{asking}" if asking > 1 else ""
        return f"{self._folder}{round:04d}{again}/"

    def askings(self) -> list[tuple[int, int]]:
        """(round, asking) of everything that was ever posted, in order."""
        found = set()
        for key in self._store.keys(self._folder):
            place = _PLACE.fullmatch(key.removeprefix(self._folder).split("/")[0])
            if place:
                found.add((int(place["round"]), int(place["asking"] or 1)))
        return sorted(found)

    def keep_post(self, batch: Batch, item_ids: Sequence[str], record: Mapping[str, Any]) -> None:
        """Keep what one post put on the desk; the same items a second time change nothing."""
        prefix = self.folder(batch.round, batch.asking)
        key = f"{prefix}posted-{digest(*sorted(item_ids))[:16]}.json"
        self._store.put(key, json.dumps(record).encode())

    def posts(self, round: int, asking: int) -> list[dict[str, Any]]:
        """What the posts of one asking put on the desk."""
        prefix = self.folder(round, asking) + "posted-"
        return [json.loads(self._store.get(key)) for key in self._store.keys(prefix)]

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Keep that each of these items is to be answered by so many people in all."""
        items = sorted(set(item_ids))
        prefix = self.folder(batch.round, batch.asking)
        key = f"{prefix}more-{annotators:04d}-{digest(*items)[:16]}.json"
        self._store.put(key, json.dumps({"annotators": annotators, "items": items}).encode())

    def people_asked(self, round: int, asking: int) -> dict[str, int]:
        """Item -> people who are to answer it, for the items `request_more` was called for."""
        wanted: dict[str, int] = {}
        for key in self._store.keys(self.folder(round, asking) + "more-"):
            record = json.loads(self._store.get(key))
            for item_id in record["items"]:
                wanted[item_id] = max(wanted.get(item_id, 0), record["annotators"])
        return wanted
