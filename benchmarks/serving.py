"""What `assay serve` takes: the home page over a store as a large team has it, and 50 clients for a minute.

    PYTHONPATH=tests python -m benchmarks.serving FOLDER          (minutes; FOLDER takes 2 GB, and is kept)
    PYTHONPATH=tests python -m benchmarks.serving FOLDER make     only makes the store
    PYTHONPATH=tests python -m benchmarks.serving FOLDER home     the home page alone, printed

Writes docs/measured/serve.md.  Wants an idle machine: the page says how busy it was.
"""

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from doubles.served import fill, monitor_values, write_store

from benchmarks.pages import write_page

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


async def _load(service: Service, paths: list[str], taken: Taken) -> list[float]:
    address = f"http://127.0.0.1:{service.port}"
    until, memory = time.monotonic() + SECONDS, []
    clients = [asyncio.create_task(_client(address, paths, until, taken)) for _ in range(CLIENTS)]
    while time.monotonic() < until:
        await asyncio.sleep(SECONDS / 6)
        memory.append(service.memory())
    await asyncio.gather(*clients)
    return memory


def _paths(service: Service) -> list[str]:
    """What the clients look at: lists most of all, then monitors and reports."""
    import httpx

    told = httpx.get(
        f"http://127.0.0.1:{service.port}/?show=finished", headers={"Accept": "application/json"}, timeout=300
    ).json()
    reports = [f"/evaluations/ledger/{one['evaluation']}" for one in told["evaluations"][:2]]
    lists = ["/"] * 5 + ["/?show=breach", "/?q=monitor", "/labels", "/metrics", "/?page=4"]
    return lists + [f"/monitors/ledger/monitor-{n:02d}" for n in range(4)] + reports


def load(ledger: Path) -> dict[str, Any]:
    """So many clients, who read for a second on average before they ask again."""
    service, taken = Service(ledger), Taken()
    try:
        paths = _paths(service)
        for path in ("/", "/labels", "/metrics", paths[-1]):
            once(service, path)
        before, busy = service.memory(), service.processor()
        memory = asyncio.run(_load(service, paths, taken))
        busy = service.processor() - busy
    finally:
        service.stop()
    return {
        "requests": len(taken.seconds), "errors": taken.errors, "median": taken.at(0.5),
        "p95": taken.at(0.95), "p99": taken.at(0.99), "most": max(taken.seconds), "processor": busy,
        "memory": [before, *memory],
    }


OF_CALLS = (200, 20, 40)     # evaluations, monitors and their windows where calls are counted


def calls() -> dict[str, int]:
    """Requests that a real S3 server gets: the home page, and `status` of everything, on a smaller store."""
    from services.s3 import s3_server

    from assay.flows.monitor.history import read_monitor_history
    from assay.flows.record.finished import standings
    from assay.flows.serve.home import StoreView
    from assay.flows.serve.stores import read_only_store
    from assay.tasks.ledger.monitors import monitors
    from assay.tasks.ledger.stores.opening import open_store

    requests: list[int] = []

    def so_many(work: Callable[[], Any]) -> int:
        before = len(requests)
        work()
        return len(requests) - before

    with TemporaryDirectory(prefix="assay-serving-") as scratch, s3_server(Path(scratch) / "s3") as s3:
        os.environ.update(s3.environment)
        store: Any = open_store(s3.new_url("served"))
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda one: store.put(*one), fill(Path(scratch), *OF_CALLS).items()))
        store._connected().meta.events.register("before-send.s3", lambda **_: requests.append(1))
        seconds = iter(range(0, 10_000, 30))
        view = StoreView(read_only_store("team", store), clock=lambda: float(next(seconds)))
        return {
            "status": so_many(lambda: standings(store)),
            "of_monitors": so_many(lambda: [read_monitor_history(store, one) for one in monitors(store)]),
            "cold": so_many(view._look), "anew": so_many(view._look),
        }


def page(measured: dict[str, Any]) -> str:
    """docs/measured/serve.md"""
    home, load, calls = measured["home"], measured["load"], measured["calls"]
    one, both = calls["status"], calls["status"] + calls["of_monitors"]
    evaluations, monitors, windows = OF_CALLS
    began, later = measured["busy"]
    of_load = f"{load['requests']:,} | {load['errors']} | " + " | ".join(
        f"{load[name]:.3f}" for name in ("median", "p95", "p99", "most")
    )
    return f"""# Serving pages

What `assay serve` takes over a store as a large team has it, in a folder: {EVALUATIONS:,} evaluations (100 of
them open), {MONITORS} monitors of {WINDOWS} windows, and a
folder for the evaluation of every window, 51,000 in all.

Made with `PYTHONPATH=tests python -m benchmarks.serving FOLDER` on {measured["day"]}, on
{measured["processors"]} cores, with a load average of {began:.1f} when it began and
{later:.1f} before the clients came. Service and clients ran at a niceness of {measured["nice"]}.

| the home page | s on the clock | processor s | bar, s on the clock |
|---|---:|---:|---:|
| the first one of a process (cold) | {home["cold"]:.2f} | {home["cold_processor"]:.2f} | 3 |
| from the last look (warm), median of 20 | {home["warm"]:.3f} | | 0.3 |
| the slowest of these | {home["warm_most"]:.3f} | | 0.3 |
| searched, sorted, another page: the slowest | {home["searched"]:.3f} | | 0.3 |
| while a new look is under way | {home["stale"]:.3f} | | 0.3 |

Memory of the process afterwards: {home["memory"]:.0f} MB. A request waits for a look only if there was none
within a minute; otherwise it gets the last one, and `Age` says how old that is.

{CLIENTS} clients, who read for a second on average before they ask again, for {SECONDS:.0f} s: lists,
monitors, reports, figures for Prometheus.

| requests | errors | median, s | p95, s | p99, s | slowest, s | processor s |
|---:|---:|---:|---:|---:|---:|---:|
| {of_load} | {load["processor"]:.1f} |

Memory, before and every {SECONDS / 6:.0f} s: {", ".join(f"{x:.0f}" for x in load["memory"])} MB. What is kept
is bounded: 64 MB of pages, 16 MB of lists, one history.

Requests to a real S3 server, over {evaluations} evaluations (66 of them open) and {monitors} monitors of
{windows} windows:

| | requests |
|---|---:|
| `assay status` of the store | {one:,} |
| `assay status NAME` of its monitors | {calls["of_monitors"]:,} |
| the home page, cold | {calls["cold"]:,} |
| a look in which nothing changed | {calls["anew"]:,} |

The home page takes {calls["cold"] / one:.1f} times the requests of `status` alone, and
{calls["cold"] / both:.1f} times those of `status` of everything that it shows. The bar is twice.
"""


def main(folder: Path, part: str = "") -> None:
    """Measure, and write the page."""
    ledger = make(folder)
    if part == "make":
        return
    busy, of_home = [os.getloadavg()[0]], home(ledger)
    if part == "home":
        print(json.dumps(of_home, indent=2))
        return
    counted = calls()
    busy.append(os.getloadavg()[0])
    measured = {
        "home": of_home, "calls": counted, "load": load(ledger), "busy": busy,
        "processors": os.cpu_count(), "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "day": f"{datetime.now(UTC):%d %B %Y}".lstrip("0"),
    }
    (folder / "measured.json").write_text(json.dumps(measured, indent=2))
    write_page(PAGE, page(measured))
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
