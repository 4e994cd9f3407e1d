"""A drop of a monitor, in units of what is watched."""

import pytest
import yaml

from assay.evalcore.errors import BadInput
from assay.tasks.spec.monitor import load_monitor_spec


def monitored(path, labels, measure, by):
    path.write_text(yaml.safe_dump({
        "name": "watched", "pool": {"source": "p/dt={date}.csv", "id": "id", "prediction": "guess",
                                    **({"score": "s"} if "positive" in labels else {})},
        "labels": labels, "measure": measure, "target": {"half_width": 0.1}, "budget": {"labels": 50},
        "desk": {"kind": "simulated", "labels": "l/dt={date}.csv"},
        "monitor": {"first": "2026-11-20", "schedule": {"cron": "0 6 * * *"}, "monthly_labels": 500,
                    "drop": {"by": by}},
    }))
    return load_monitor_spec(path)


def test_a_mean_error_may_worsen_by_more_than_1_and_an_f1_may_not(tmp_path):
    spec = tmp_path / "watch.yaml"
    assert monitored(spec, {"number": {"min": 0, "max": 100}}, "mae", 5).monitor.drop.by == 5
    with pytest.raises(BadInput, match=r"drop\.by is 5, and such a measure cannot fall so far"):
        monitored(spec, {"positive": "a", "negative": "b"}, "f1", 5)
