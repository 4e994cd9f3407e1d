"""Prefect fails: its server is killed while a flow run is inside an effect, and comes back.

A sweep of one evaluation runs as a process of its own against a real server, and follows its effects into a
named pipe. At the n-th effect the server is killed; the process goes on or fails, as Prefect's client will
have it. The server starts again on the same data, and sweeps run until the evaluation is finished.
"""

import csv
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from doubles.small_pool import small_spec
from services.prefect_server import ROOT, PrefectServer, prefect_server

from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.effects import VARIABLE
from assay.tasks.ledger import open_store
from assay.tasks.ledger.life import read_ending
from assay.tasks.ledger.record import Ledger
from benchmarks.recovery.effects_pipe import Follower
from benchmarks.recovery.trials import FaultKind, Trial, judge

NAME = "faulted"
PATIENCE = 60.0     # seconds a sweep may take to end by itself after its server went away
SWEEP = "from assay.flows.drivers.deployed import sweep; sweep(store={store!r})"


class PrefectStage:
    """A folder for servers and ledgers, and what an undisturbed evaluation looks like."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.spec = small_spec(folder, n=60, name=NAME, budget={"labels": 4}, batch_size=2)
        with (folder / "labels.csv").open(newline="") as opened:
            self.truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
        from assay.flows.evaluation.advance import advance
        from assay.tasks.ledger.stores.store import MemoryStore

        store = MemoryStore()
        begin_evaluation(store, self.spec)
        advance(store, NAME)
        self.expected = judge(
            Trial(kind=FaultKind(service="", fault="", injected="")), store, NAME, self.truth, None
        )
        self._count = 0

    def trial(self, draw: random.Random) -> Trial:
        """The server dies at an effect of a sweep, and comes back."""
        trial = Trial(kind=FaultKind(
            service="Prefect", fault="its server goes away during `advance`, and comes back",
            injected="SIGKILL while a sweep was inside an effect drawn at random; started again on its data",
        ))
        self._count += 1
        where = f"{self.folder}/ledger-{self._count}"
        store = open_store(where)
        begin_evaluation(store, self.spec)
        at = draw.randint(2, 24)
        with prefect_server(self.folder) as server:
            code, said = self._sweep(server, where, kill_at=at, trial=trial)
        for _ in range(4):
            if code == -signal.SIGKILL:
                trial.said.append("the flow run still waited for its server after a minute, and was killed")
            elif code != 0:
                trial.said.append(f"the flow run failed: {said.strip().splitlines()[-1]}")
            if read_ending(Ledger(store, NAME)) is not None:
                break
            trial.waited = True
            with prefect_server(self.folder) as server:
                code, said = self._sweep(server, where, kill_at=None, trial=trial)
        judge(trial, store, NAME, self.truth, self.expected)
        return trial

    def _sweep(self, server: PrefectServer, store: str, kill_at: int | None, trial: Trial) -> tuple[int, str]:
        pipe = self.folder / f"effects-{time.monotonic_ns()}"
        follower = Follower(pipe)
        environment = {**server.environment, VARIABLE: str(pipe), "PREFECT_CLIENT_MAX_RETRIES": "1"}
        output = pipe.with_name(f"{pipe.name}.log")
        with output.open("wb") as opened:
            process = subprocess.Popen(
                [sys.executable, "-c", SWEEP.format(store=store)], env=environment, cwd=ROOT,
                stdout=opened, stderr=opened, stdin=subprocess.DEVNULL,
            )
        begun, give_up = 0, float("inf")
        try:
            # Prefect's client may go on for minutes to report what nobody hears: then it is killed too
            while process.poll() is None and time.monotonic() < give_up:
                for line in follower.read(0.02):
                    begun += line.startswith("+")
                    if kill_at is not None and begun >= kill_at and not trial.injected:
                        os.killpg(server.process, signal.SIGKILL)
                        trial.injected = True
                        give_up = time.monotonic() + PATIENCE
        finally:
            process.kill()
            process.wait()
            follower.close()
        return process.returncode, output.read_text(errors="replace")
