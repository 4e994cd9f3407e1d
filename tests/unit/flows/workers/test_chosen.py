"""Who freezes a large pool: whom the setting asks for, and what is said where they are not there."""

import sys
import threading
from types import SimpleNamespace

import pytest

from assay.evalcore.errors import BadInput, Unreachable
from assay.flows.workers.chosen import chosen_workers
from assay.flows.workers.clusters import Dask, Ray
from assay.tasks.pool.shards import one_after_the_other
from assay.tasks.settings import Runner


def test_serial_is_this_process():
    with chosen_workers("serial") as map_over:
        assert map_over is one_after_the_other


@pytest.mark.parametrize(
    "asked",
    ["threads", "threads:4", "processes:2", "dask", "dask:tcp://host:8786", "ray", "ray:ray://host:10001",
     "prefect:threads:2", "prefect:dask:tcp://host:8786"],
)
def test_others_are_started_by_nobody_until_they_are_needed(asked):
    with chosen_workers(asked) as map_over:
        assert callable(map_over)


@pytest.mark.parametrize(("kind", "library"), [(Dask, "distributed"), (Ray, "ray")])
def test_a_missing_extra_is_named(monkeypatch, kind, library):
    monkeypatch.setitem(sys.modules, library, None)
    workers = kind(Runner(kind.word))
    with pytest.raises(BadInput, match=rf"pip install 'assay-evaluation\[{kind.word}\]'"), workers.started():
        pass


def test_a_dask_scheduler_that_is_not_there_is_named(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("assay.flows.workers.clusters._PATIENCE", 0.2)
    with (
        pytest.raises(Unreachable, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
        Dask(Runner("dask", address="tcp://127.0.0.1:9")).started(),
    ):
        pass


@pytest.fixture
def dask_without_workers(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("assay.flows.workers.clusters._LOOK", 0.2)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster


def test_a_dask_cluster_whose_workers_are_all_dead_is_an_error_that_says_so(
    dask_without_workers, monkeypatch, caplog
):
    monkeypatch.setattr("assay.flows.workers.clusters._NO_WORKERS", 0.3)
    with (
        chosen_workers(f"dask:{dask_without_workers.scheduler_address}") as map_over,
        pytest.raises(Unreachable, match=r"has had no worker for 0\.3 seconds; start some"),
    ):
        list(map_over(abs, [-1, -2]))
    assert "has no worker; work waits until one comes" in caplog.text


def test_a_dask_cluster_is_waited_for_until_a_worker_comes(dask_without_workers, caplog):
    scale = threading.Timer(1.0, dask_without_workers.scale, [1])
    scale.start()
    with chosen_workers(f"dask:{dask_without_workers.scheduler_address}") as map_over:
        assert list(map_over(abs, [-1, -2])) == [1, 2]
    scale.join()
    assert "has no worker" in caplog.text


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "host:port"])
def test_a_ray_cluster_that_is_not_there_is_named(monkeypatch, address):
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))
    asked = Runner("ray", address=address)
    with pytest.raises(Unreachable, match=f"no Ray cluster answers at '{address}'"), Ray(asked).started():
        pass


@pytest.mark.parametrize("word", ["threads", "ray"])
def test_prefect_without_its_api_is_refused(monkeypatch, word):
    from prefect.settings import PREFECT_API_URL, temporary_settings

    expected = f"prefect:{word} needs the API .* leave Prefect out: {word}"
    with (
        temporary_settings(restore_defaults={PREFECT_API_URL}),
        chosen_workers(f"prefect:{word}") as map_over,
        pytest.raises(BadInput, match=expected),
    ):
        list(map_over(abs, [-1, -2]))


@pytest.mark.parametrize(("address", "patience"), [(None, "1 day"), ("tcp://host:8786", "15s")])
def test_a_cluster_of_our_own_goes_on_waiting_for_workers_that_start_again(monkeypatch, address, patience):
    distributed = pytest.importorskip("distributed")
    from dask import config

    asked = []

    class Connected:
        """Whoever connects, and leaves at once."""

        def __init__(self, *where, **how):
            asked.append(config.get("distributed.deploy.lost-worker-timeout"))
            self.status = "closed"

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

    monkeypatch.setattr(distributed, "Client", Connected)
    with Dask(Runner("dask", address=address)).started() as started:
        assert distributed.scheduler.NoWorkerError in started.lost
    assert asked == [patience]
    assert config.get("distributed.deploy.lost-worker-timeout") == "15s"
