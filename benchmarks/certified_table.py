"""`assay/evalcore/methods/two_classes/certified.py`, the table by which `auto` chooses, from a certification."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.evalcore.methods.two_classes.choice import CANDIDATES, Certified
from benchmarks.half_widths import HALF_WIDTHS, Row

OUT = Path(__file__).parent.parent / "assay" / "evalcore" / "methods" / "two_classes" / "certified.py"

_HEAD = '''"""How methods did in replay, pool by pool: the table by which `auto` chooses.

Written by `python -m benchmarks.certify --write` from {repeats} repeats a pool, budgets {budgets}; not
to be edited by hand.  docs/measured/certification.md has the same runs in full.
"""

from assay.evalcore.methods.two_classes.choice import Certified

TABLE: tuple[Certified, ...] = (
'''


def rows(
    found: Mapping[tuple[str, str, str, int], Mapping[str, float]],
    best: Any,
    kinds: Mapping[str, str],
) -> list[Certified]:
    """One row per candidate, pool and measure.

    found: sums by (pool, method, measure, budget); best: of (pool, measure, budget), the name and the figures
    of the best published method; kinds: by pool.
    """
    result = []
    for method, pool, measure in sorted({(m, p, q) for p, m, q, _ in found if m in CANDIDATES}):
        logs, covers, widths, repeats = [], [], [], []
        for budget in sorted({b for p, m, q, b in found if (p, m, q) == (pool, method, measure)}):
            own = found[pool, method, measure, budget]
            n = own["n"]
            mse = own["squared"] / n
            # positives that hide are the wide interval's
            covers.append(own["wide" if kinds.get(pool) == "hidden" else "covers"] / n)
            repeats.append(int(n))
            _, other = best(pool, measure, budget)
            if mse > 0:
                widths.append(np.log(own["width"] / n / (3.92 * np.sqrt(mse))))
                if other and other["mse"] > 0:
                    logs.append(np.log(mse / other["mse"]))
        result.append(Certified(
            method=method, pool=pool, kind=kinds.get(pool, "other"), measure=measure, repeats=min(repeats),
            ratio=_mean(logs), coverage=round(min(covers), 4), width=_mean(widths),
        ))
    return result


def source(table: list[Certified], budgets: tuple[int, ...]) -> str:
    """The module as text."""
    repeats = sorted({row.repeats for row in table})
    told = " to ".join(f"{n:,}" for n in dict.fromkeys([repeats[0], repeats[-1]])) if repeats else "no"
    head = _HEAD.format(repeats=told, budgets=" to ".join(f"{b:,}" for b in (budgets[0], budgets[-1])))
    lines = [
        f'    Certified(method="{r.method}", pool="{r.pool}", kind="{r.kind}", measure="{r.measure}",\n'
        f"              repeats={r.repeats}, ratio={r.ratio}, coverage={r.coverage}, width={r.width}),"
        for r in table
    ]
    return head + "\n".join(lines) + ("\n" if lines else "") + ")\n"


def verdicts(table: list[Certified], reached: Sequence[Row]) -> str:
    """The rows held against the bar of `auto`, as a table, with labels to half-widths."""
    to = {(row.method, row.pool, row.measure): row.reached for row in reached}
    targets = "".join(f" labels to ±{h:.2f} | x oracle |" for h in HALF_WIDTHS)
    told = [
        f"| pool | kind | ratio | lowest coverage | width |{targets} below the bar |",
        "|" + "---|" * (6 + 2 * len(HALF_WIDTHS)),
    ]
    for r in table:
        ratio, width = (f"{x:.2f}" if x is not None else "-" for x in (r.ratio, r.width))
        below = "; ".join(r.failings()) or "nowhere"
        columns = [one.columns() for one in to[r.method, r.pool, r.measure]]
        labels = "".join(f" {number} | {times} |" for number, _, times in columns)
        told.append(f"| {r.pool} | {r.kind} | {ratio} | {r.coverage:.3f} | {width} |{labels} {below} |")
    return "\n".join(told) + "\n"


def _mean(logs: list[float]) -> float | None:
    return float(f"{np.exp(np.mean(logs)):.3g}") if logs else None
