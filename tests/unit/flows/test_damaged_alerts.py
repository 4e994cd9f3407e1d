"""The alerts of a spec that was tampered with are an error of the ledger, which names its owner."""

import json

import pytest
from doubles.world import World

from assay.flows.alerts import alert_choices
from assay.tasks.ledger import layout
from assay.tasks.ledger.record import DamagedRecord, Ledger


@pytest.mark.parametrize("alerts", [{"cooldown_hours": None}, {"tell": 5}, [], "x", {"zz": 1}])
def test_alerts_that_make_no_sense_are_the_ledgers_error(tmp_path, alerts):
    world = World(tmp_path, n=40, budget={"labels": 6}, batch_size=3, limit={"min": 0.9}, alerts={})
    world.run()
    key = layout.spec("small")
    recorded = json.loads(world.store.get(key))
    recorded["spec"]["alerts"] = alerts
    world.store._values[key] = json.dumps(recorded).encode()
    with pytest.raises(DamagedRecord, match="small"):
        alert_choices(Ledger(world.store, "small"))
