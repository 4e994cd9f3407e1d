"""What a monitor does after it did not look for 21 days: `python -m benchmarks.outage`.

A stream of 200 items a day whose accuracy falls from about 0.91 to about 0.5 on its twentieth day; 500
labels a month; people answer at once. The monitor looks daily for eight days, then not for 21, then daily
again. Printed is what `assay history` shows at the look after the outage, and three days later.
"""

import tempfile
from datetime import datetime
from pathlib import Path

import click
from doubles.stream import after, monitor_data, write_stream

from assay.flows.cli.monitor import _print_history
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.monitor import MonitorSpec

FALLS, BEFORE, OUTAGE, LATER = 19, 8, 21, 3   # days


def main() -> None:
    """Print the transcript."""
    with tempfile.TemporaryDirectory() as made:
        folder, store = Path(made), MemoryStore()
        write_stream(folder, BEFORE + OUTAGE + LATER, drop_from=FALLS, worse=0.45, items=200)
        data = monitor_data(folder, monthly_labels=500, follow_ups=2, quiet_labels=25, sizing="decide")
        register(store, MonitorSpec.from_data(data, origin="the benchmark"))
        for day in range(1, BEFORE + 1):
            tick(store, data["name"], moment=after(day))
        look(store, data["name"], after(BEFORE + OUTAGE))
        for day in range(1, LATER):
            tick(store, data["name"], moment=after(BEFORE + OUTAGE + day))
        look(store, data["name"], after(BEFORE + OUTAGE + LATER))


def look(store: MemoryStore, name: str, now: datetime) -> None:
    """One look at the monitor, told."""
    done = tick(store, name, moment=now)
    click.echo(f"{now:%Y-%m-%d}: {done.summary()}")
    _print_history(read_monitor_history(store, name, lambda: now))


if __name__ == "__main__":
    main()
