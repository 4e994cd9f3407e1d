"""Signals, follow-ups and sizes of windows on real streams: `python -m benchmarks.signals [--repeats 60]`.

Writes docs/measured/monitoring-signals.md.  Signals are measured in windows in which nothing happened, and
around a change; follow-ups and sizes in windows of employment by passive sampling.
"""

import argparse
from pathlib import Path

from benchmarks import window_sizes as sizes
from benchmarks.pages import write_page
from benchmarks.unusual_windows import FEWEST, RATE, signals_table

OUT = Path(__file__).parent.parent / "docs" / "measured" / "monitoring-signals.md"
PAGE = """\
# Signals, follow-ups and sizes of windows, measured

Made by `python -m benchmarks.signals`. [monitoring.md](../how-to/monitoring.md) says what the words mean.

## Signals

Windows in which quality did not change, and one stream in which it did. "Before" compared every window with
the first; "now" has the stated rate of {rate:.0%} and at least {fewest} windows to learn from. From window
{from_window} on.

{seen}

The traffic of the employment file moves from part to part; in random order nothing moves. The governors'
candidates are the same every day.

## Follow-ups and sizes

{items:,} people a window from employment, accuracy 0.827, a floor of {floor} (near, so that sizes reach the
budget), passive sampling, error rate {error_rate}, a budget of {budget}, `quiet_labels: {quiet}`, at most
{follow_ups} follow-ups, normal intervals. After {ordinary} ordinary windows a share of the labels is turned
round. {repeats} streams, {worse} windows after the change; not called by then counts as {never}.

{bought}

Follow-ups beyond the limit bring a large drop forward, a small one hardly. Sizes decide more ordinary
windows, with more labels.

## Means over the last windows

With the rule of the last row above, {means}
"""


def main() -> None:
    """Print the tables, and write them to docs/."""
    parser = argparse.ArgumentParser(description="Signals, follow-ups and sizes of windows on real streams.")
    parser.add_argument("--repeats", type=int, default=60)
    repeats = parser.parse_args().repeats
    seen = signals_table()
    bought, means = sizes.buying_table(repeats)
    write_page(OUT, PAGE.format(
        seen=seen, bought=bought, means=means, repeats=repeats,
        rate=RATE, fewest=FEWEST, from_window=FEWEST + 1,
        ordinary=sizes.ORDINARY, worse=sizes.WORSE, never=sizes.WORSE + 1, items=sizes.ITEMS,
        floor=sizes.FLOOR.value, error_rate=sizes.ERROR_RATE, budget=sizes.BUDGET, quiet=sizes.QUIET,
        follow_ups=sizes.FOLLOW_UPS,
    ))


if __name__ == "__main__":
    main()
