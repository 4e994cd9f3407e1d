"""Stored bytes changed at random: a slice, of each kind of key a change. `make recovery` makes thousands."""

from assay.tasks.ledger import layout
from benchmarks.recovery import fuzz as study


def test_every_kind_of_key_is_changed_and_each_change_is_named_or_harmless(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.0)
    monkeypatch.setattr(study, "MOST_LEDGERS", 1)
    kinds = {kind.template for kind in layout.KINDS}
    # full=0: what digests name is not read by everybody, which takes minutes
    result = study.fuzz(tmp_path, mutations=len(kinds), seed=5, full=0)
    assert set(result.tried) == kinds
    assert result.wrong == []
    assert result.named > result.harmless
