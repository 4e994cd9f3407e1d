"""What `assay serve` takes: the home page over a store as a large team has it, and 50 clients for a minute.

    PYTHONPATH=tests python -m benchmarks.serving FOLDER          (minutes; FOLDER takes 2 GB)

The table is docs/measured/serve.md.
"""

import asyncio
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from doubles.served import fill, monitor_values, write_store

EVALUATIONS, MONITORS, WINDOWS = 1_000, 100, 500
CLIENTS, SECONDS = 50, 60.0
PAGE = Path(__file__).parents[1] / "docs" / "measured" / "serve.md"


def make(folder: Path) -> Path:
    """The store, unless it is there: every window of a monitor has the folder of its evaluation too."""
    ledger = folder / "ledger"
    if (folder / "whole").exists():
        return ledger
    os.fsync = os.fstat   # type: ignore[assignment]
    write_store(fill(folder / "pool", EVALUATIONS, 0, open_ones=0.1), ledger)
    first = date(2026, 11, 25) - timedelta(days=WINDOWS - 1)
    for n in range(MONITORS):
        name = f"monitor-{n:02d}"
        values = monitor_values(name, WINDOWS, n)
        of_windows = {
            f"{name}-{first + timedelta(days=day)}/spec.json": b"{}\n" for day in range(WINDOWS)
        }
        write_store({**values, **of_windows}, ledger)
    (folder / "whole").touch()
    return ledger


@dataclass(slots=True)
class Taken:
    """What requests took."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0

    def at(self, share: float) -> float:
        """The time within which this share of them was answered."""
        return sorted(self.seconds)[min(int(share * len(self.seconds)), len(self.seconds) - 1)]


class Service:
    """`assay serve` in a process of its own."""

    def __init__(self, ledger: Path) -> None:
        started = [sys.executable, "-m", "assay.flows.cli.entry", "serve", str(ledger), "--port", "0"]
        self.process = subprocess.Popen(started, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.port = int(self.process.stderr.readline().rpartition(":")[2])

    def memory(self) -> float:
        """Megabytes that it holds now."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def processor(self) -> float:
        """Seconds of a processor that it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


def once(service: Service, path: str = "/") -> tuple[float, float]:
    """Seconds, and seconds of the service's processor, of one request."""
    import http.client

    began, busy = time.perf_counter(), service.processor()
    client = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    client.request("GET", path)
    reply = client.getresponse()
    reply.read()
    client.close()
    assert reply.status == 200, path
    return time.perf_counter() - began, service.processor() - busy


def home(ledger: Path) -> dict[str, float]:
    """The home page: the first one of a process, those after it, and one that looks at the store anew."""
    service = Service(ledger)
    try:
        cold, cold_processor = once(service)
        time.sleep(0.2)
        warm = [once(service)[0] for _ in range(20)]
        found = [once(service, path)[0] for path in ("/?q=model-05", "/?show=breach&sort=name", "/?page=9")]
        time.sleep(4)     # what was found serves for three seconds
        anew = once(service)[0]
        busy = service.processor()
        time.sleep(6)
        return {
            "cold": cold, "cold_processor": cold_processor, "warm": statistics.median(warm),
            "warm_most": max(warm), "searched": max(found), "stale": anew,
            "look_processor": service.processor() - busy, "memory": service.memory(),
        }
    finally:
        service.stop()


async def _client(address: str, paths: list[str], until: float, taken: Taken) -> None:
    import httpx

    chosen = random.Random(len(taken.seconds))
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        while time.monotonic() < until:
            began = time.perf_counter()
            try:
                reply = await client.get(chosen.choice(paths))
                taken.errors += reply.status_code != 200
            except httpx.HTTPError:
                taken.errors += 1
            taken.seconds.append(time.perf_counter() - began)
            await asyncio.sleep(chosen.expovariate(1.0))   # people read


async def _load(service: Service, evaluations: list[str], taken: Taken) -> list[float]:
    address = f"http://127.0.0.1:{service.port}"
    paths = ["/"] * 5 + ["/?show=breach", "/?q=monitor", "/labels", "/metrics", "/?page=4"]
    paths += [f"/monitors/ledger/monitor-{n:02d}" for n in range(4)]
    paths += evaluations
    until, memory = time.monotonic() + SECONDS, []
    clients = [asyncio.create_task(_client(address, paths, until, taken)) for _ in range(CLIENTS)]
    while time.monotonic() < until:
        await asyncio.sleep(SECONDS / 6)
        memory.append(service.memory())
    await asyncio.gather(*clients)
    return memory


def load(ledger: Path) -> dict[str, Any]:
    """So many clients, who read for a second on average before they ask again."""
    names = [min(path.name for path in ledger.glob(f"{kind}-model-*")) for kind in ("breached", "waiting")]
    evaluations = [f"/evaluations/ledger/{name}" for name in names]
    service, taken = Service(ledger), Taken()
    try:
        for path in ("/", "/labels", "/metrics", *evaluations):
            once(service, path)
        memory = asyncio.run(_load(service, evaluations, taken))
    finally:
        service.stop()
    return {
        "requests": len(taken.seconds), "errors": taken.errors, "median": taken.at(0.5),
        "p95": taken.at(0.95), "p99": taken.at(0.99), "memory": memory,
    }


def calls() -> dict[str, int]:
    """Calls of the store: the home page, and `status` of everything in it, on a smaller store."""
    from doubles.counted_store import CountedStore
    from doubles.served import a_store

    from assay.evalcore.errors import AssayError
    from assay.flows.monitor.history import read_monitor_history
    from assay.flows.record.finished import standings
    from assay.flows.serve.home import StoreView
    from assay.flows.serve.stores import read_only_store
    from assay.tasks.ledger.monitors import monitors

    with tempfile.TemporaryDirectory() as folder:
        counted: Any = CountedStore(a_store(fill(Path(folder), 200, 20, WINDOWS)))

    def so_many(work: Callable[[], Any]) -> int:
        before = counted.calls
        work()
        return int(counted.calls - before)

    def of_monitors() -> None:
        for name in monitors(counted):
            read_monitor_history(counted, name)

    found = {"status": so_many(lambda: standings(counted)), "of_monitors": so_many(of_monitors)}
    seconds = iter(range(0, 10_000, 30))
    view = StoreView(read_only_store("team", counted), clock=lambda: float(next(seconds)))
    try:
        found["cold"] = so_many(view._look)
        found["anew"] = so_many(view._look)
    except AssayError as error:
        raise SystemExit(str(error)) from error
    return found


def main(folder: Path) -> None:
    """Measure, and write the page."""
    ledger = make(folder)
    if sys.argv[2:] == ["make"]:
        return
    measured = {"home": home(ledger), "load": load(ledger), "calls": calls()}
    measured["machine"] = {"processors": os.cpu_count(), "load": os.getloadavg()[0]}
    (folder / "measured.json").write_text(json.dumps(measured, indent=2))
    print(json.dumps(measured, indent=2))
    assert resource.getrusage(resource.RUSAGE_SELF)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
