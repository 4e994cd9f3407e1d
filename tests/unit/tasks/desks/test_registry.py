"""What every kind of desk declares: enough for the rest of Assay to ask for no kind by its name."""

from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import window_named
from assay.tasks import desks
from assay.tasks.desks.registry import DESK_KINDS
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec
from assay.tasks.spec.template import spec_template

every_kind = pytest.mark.parametrize("name", list(DESK_KINDS))


def test_every_file_or_folder_of_a_kind_is_listed_under_its_own_name():
    here = Path(desks.__file__).parent
    folders = {path.parent.name for path in here.glob("*/kind.py")}
    no_kinds = {"__init__", "blind", "desk", "kind", "registry", "replies", "rest"}
    files = {path.stem for path in here.glob("*.py")} - no_kinds
    assert folders | files == {name.replace("-", "_") for name in DESK_KINDS}


@every_kind
def test_the_example_is_a_desk_and_stands_in_the_commented_spec(name):
    kind = DESK_KINDS[name]
    desk = yaml.safe_load(kind.example)
    spec = Spec.from_json(spec_json(Path("p.csv"), Path("l.csv"), desk=desk))
    assert type(spec.desk) is kind
    assert f"desk: {kind.example}\n" in spec_template()


@every_kind
def test_a_spec_is_told_when_people_would_see_nothing_and_only_then(name):
    data = spec_json(Path("p.csv"), Path("l.csv"), desk=yaml.safe_load(DESK_KINDS[name].example))
    data["pool"] = {**data["pool"], "display": []}
    if DESK_KINDS[name].needs_display:
        with pytest.raises(BadInput, match=rf"a {name} desk would show people nothing"):
            Spec.from_json(data)
    else:
        Spec.from_json(data)


@every_kind
def test_every_window_of_a_monitor_has_its_own_desk_where_the_kind_says_so(name):
    kind = DESK_KINDS[name]
    desk = yaml.safe_load(kind.example) | dict.fromkeys(kind.by_window, "at/{date}")
    data = spec_json(Path("p-{date}.csv"), Path("l.csv"), desk=desk, threshold={"min": 0.5})
    data["monitor"] = {"first": "2026-11-20", "schedule": {"every_minutes": 60}, "monthly_labels": 100}
    spec = MonitorSpec.from_data(data, "the test's spec")
    window = spec.evaluation(window_named("2026-11-21", spec.kind), "w", 10, None, 0.0)
    assert [getattr(window.desk, key) for key in kind.by_window] == ["at/2026-11-21"] * len(kind.by_window)
