"""A pool frozen by real workers, some of them killed: the ledger is the same to the byte."""

from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.dying import DyingWork
from doubles.specs import a_spec

from assay.evalcore.errors import Unreachable
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.flows.workers.chosen import Processes, Threads
from assay.flows.workers.clusters import Dask
from assay.flows.workers.mapped import OnWorkers
from assay.tasks.ledger import open_store
from assay.tasks.pool import freeze, shards
from assay.tasks.pool import freeze_shards as shard_work
from assay.tasks.pool import frozen as frozen_shards
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.frozen import PART_ROWS
from assay.tasks.settings import Runner

ROWS = PART_ROWS + 5
TWO_THREADS, TWO_PROCESSES = Runner("threads", workers=2), Runner("processes", workers=2)


@pytest.fixture(scope="module", autouse=True)
def shards_of_one_part():
    """What is read, and what is cut: so workers do both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "SHARD_ROWS", PART_ROWS)
        patch.setattr(shards, "SMALL_BYTES", 0)
        patch.setattr(frozen_shards, "SHARD_PARTS", 1)
        yield


@pytest.fixture(scope="module")
def table():
    score = np.random.default_rng(0).normal(size=ROWS)
    return pa.table({"item_id": [str(i) for i in range(ROWS)], "score": score, "prediction": score > 0})


@pytest.fixture(scope="module")
def spec(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    pq.write_table(table, folder / "p.parquet", row_group_size=50_000)
    return a_spec(folder)


def ledger(store) -> dict[str, bytes]:
    return {key: store.get(key) for key in store.keys("") if "/pool/" in key or "/partitions/" in key}


@pytest.fixture(scope="module")
def expected(spec, tmp_path_factory):
    store = open_store(str(tmp_path_factory.mktemp("serial")))
    freeze_pool(spec, store)
    return ledger(store)


@pytest.mark.parametrize("workers", [Threads(TWO_THREADS), Processes(TWO_PROCESSES), Dask(Runner("dask"))])
def test_the_ledger_is_the_same_though_a_worker_is_killed(spec, expected, tmp_path, workers):
    store = open_store(str(tmp_path / "ledger"))
    if isinstance(workers, Dask):
        pytest.importorskip("distributed")

    def map_over(work, over):
        dies = workers.other_processes and hasattr(work, "spec")
        return mapped(DyingWork(work, str(tmp_path), at=1) if dies else work, over)

    told: list[int] = []
    with closing(OnWorkers(workers)) as mapped:
        assert freeze_pool(spec, store, told.append, map_over=map_over).rows == ROWS
    assert ledger(store) == expected
    assert told[-1] == ROWS
    assert (tmp_path / "death-0").exists() == workers.other_processes


def test_the_spec_says_who_freezes_and_another_goes_on_where_a_freeze_ended(
    spec, expected, tmp_path, monkeypatch
):
    used: list[Threads] = []
    monkeypatch.setenv("ASSAY_FREEZE_RUNNER", "serial")
    started = Threads.started
    monkeypatch.setattr(Threads, "started", lambda self: used.append(self) or started(self))
    store = open_store(str(tmp_path / "ledger"))
    (tmp_path / "labels.csv").write_text("item_id,label\n" + "".join(f"{i},match\n" for i in range(ROWS)))
    data = spec.to_json()
    data["desk"]["labels"] = str(tmp_path / "labels.csv")

    def frozen_by(runner):
        return begin_evaluation(store, type(spec).from_json(data | {"freeze_runner": runner}))

    with monkeypatch.context() as ended:
        ended.setattr(freeze, "cut_pool", interrupted)
        with pytest.raises(KeyboardInterrupt):
            frozen_by("threads:2")
    with monkeypatch.context() as read_before:
        read_before.setattr(shard_work, "_Pass", interrupted)
        frozen_by("threads:3")
    assert len(used) == 2
    frozen_by("processes:2")      # it has begun: nobody starts
    monkeypatch.setenv("ASSAY_FREEZE_RUNNER", "threads:4")
    assert verify(store, "trial").verified
    assert len(used) == 3
    with monkeypatch.context() as away:
        away.setattr(Threads, "started", lambda self: cannot_start())
        with pytest.raises(Unreachable):   # nothing is said against the ledger
            verify(store, "trial")
    parts = [key for key in expected if "/pool/part-" in key]
    assert {key: store.get(key) for key in parts} == {key: expected[key] for key in parts}


def cannot_start():
    raise Unreachable("no cluster answers")


def interrupted(*given):
    """Ctrl-C."""
    raise KeyboardInterrupt


def test_from_s3_to_s3_nothing_passes_through_the_disk(table, spec, expected, s3, tmp_path, monkeypatch):
    import boto3

    monkeypatch.chdir(tmp_path)
    folder = s3.new_url("source")
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=50_000)
    key = f"{folder}/p.parquet".removeprefix(f"s3://{s3.bucket}/")
    boto3.client("s3").put_object(Bucket=s3.bucket, Key=key, Body=sink.getvalue().to_pybytes())
    store = open_store(f"{folder}-ledger")
    with closing(OnWorkers(Processes(TWO_PROCESSES))) as map_over:
        freeze_pool(a_spec(folder), store, map_over=map_over)
    frozen = ledger(store)
    same = [key for key in expected if not key.endswith((".json",)) or "/partitions/" in key]
    assert {key: frozen[key] for key in same} == {key: expected[key] for key in same}
    assert not list(tmp_path.iterdir())
