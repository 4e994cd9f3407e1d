"""`freeze_runner` and ASSAY_FREEZE_RUNNER: what they may be, and what is said of anything else."""

import re

import pytest
from doubles.specs import spec_data
from doubles.stream import a_monitor, monitor_data

from assay.evalcore.errors import BadInput
from assay.face.question import _named
from assay.flows.workers.chosen import KINDS
from assay.tasks.settings import Runner, Settings, read_runner
from assay.tasks.spec.amended import changed_keys
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("serial", Runner("serial")),
        (" threads ", Runner("threads")),
        ("processes:4", Runner("processes", workers=4)),
        ("dask:tcp://host:8786", Runner("dask", address="tcp://host:8786")),
        ("ray:ray://host:10001", Runner("ray", address="ray://host:10001")),
        ("prefect:ray", Runner("ray", in_prefect=True)),
        ("prefect:threads:2", Runner("threads", in_prefect=True, workers=2)),
    ],
)
def test_what_a_setting_means(asked, meant):
    assert read_runner(asked) == meant
    assert meant.word == "serial" or meant.word in KINDS
    assert Spec.from_json(spec_data() | {"freeze_runner": asked}).freeze_runner == asked


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        *((bad, "it may be serial, threads:N, processes:N, dask or dask:ADDRESS, ray or ray:ADDRESS, or ")
          for bad in ("", "spark", "serial:2", "threads:", "Dask", "prefect", "prefect:", "prefect:spark",
                      "prefect:serial")),
        *((bad, "the number of workers is a whole number from 1 to 1024")
          for bad in ("threads:0", "processes:many", "processes:-1", "prefect:threads:1025")),
        ("dask:tcp://me:secret@host:8786", "clusters take secrets from the environment"),
    ],
)
def test_anything_else_is_refused_where_it_is_written(monkeypatch, asked, said):
    with pytest.raises(BadInput, match=rf"^freeze_runner \(or ASSAY_FREEZE_RUNNER\) cannot be .*{said}"):
        read_runner(asked)
    with pytest.raises(BadInput, match=rf"\$\.freeze_runner cannot be '{re.escape(asked)}': .*{said}"):
        Spec.from_json(spec_data() | {"freeze_runner": asked})
    monkeypatch.setenv("ASSAY_FREEZE_RUNNER", asked)
    with pytest.raises(BadInput, match=f"ASSAY_FREEZE_RUNNER cannot be '{re.escape(asked)}': .*{said}"):
        Settings()


def test_a_number_of_thousands_of_digits_is_refused_as_others_are():
    with pytest.raises(BadInput, match="the number of workers is a whole number from 1 to 1024"):
        read_runner(f"threads:{'1' * 5_000}")


def test_a_monitor_records_it_and_its_windows_are_frozen_so(tmp_path):
    data = monitor_data(tmp_path)
    spec = MonitorSpec.from_data(data | {"freeze_runner": "dask:tcp://host:8786"}, "x")
    assert changed_keys(a_monitor(tmp_path), spec) == ("freeze_runner",)
    one = spec.evaluation(spec.first, "stream-1", 50, None, 0.0)
    assert one.freeze_runner == "dask:tcp://host:8786"
    assert "freeze_runner" not in one.to_json()


def test_an_evaluation_without_a_name_is_named_the_same_with_any():
    question = {"pool": {"source": "p.csv"}, "measure": ["f1"]}
    assert _named(question | {"freeze_runner": "threads:2"}) == _named(question)
