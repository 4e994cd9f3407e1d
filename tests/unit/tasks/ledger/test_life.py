"""Why an evaluation ended."""

from dataclasses import replace

from assay.tasks.ledger.life import Ending, read_ending, write_ending
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore


def test_the_first_ending_stands():
    ledger = Ledger(MemoryStore(), "e")
    assert read_ending(ledger) is None
    ending = Ending(stopped_by="pool", verdict="ok", rounds=1, labels=19, undecided=1)
    assert write_ending(ledger, ending) == ending
    assert write_ending(ledger, replace(ending, stopped_by="budget")) == ending
    assert read_ending(ledger) == ending
