"""Public monitors beside ours, on the same weeks of real predictions: docs/measured/monitor-rivals.md.

    python -m benchmarks.monitor_rivals

NannyML estimates performance without labels (CBPE); Evidently compares distributions (its preset for drift).
Each goes into an environment of its own in a temporary folder.  Their reference is the first half of a
stream's quiet windows, with all labels; ours has LABELS labels in every window and no reference.

    error     root mean squared error of the estimates: in the quiet windows after the reference, and in those
              after the change
    alarms    quiet windows with an alarm; windows after the change with one.  Of ours: runs that call a
              breach, and how many windows that takes
    change    the stream's own, or labels turned round at random in the last quiet windows until the measure
              is lower by FALL: scores look as before

Our floor is the lowest true value of the quiet windows, so that each of our alarms in them is a false one.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.monitored_windows import lowered, simulate
from benchmarks.monitoring import first_alarm
from benchmarks.pages import read_page, write_page
from benchmarks.real_streams import LABELS, PROMISE, Stream, streams

OUT = Path(__file__).parent.parent / "docs" / "measured" / "monitor-rivals.md"
FALL = 0.1
METHODS = {"passive": 400, "recalibrated": 12}   # runs
PACKAGES = {"NannyML, CBPE": ("nannyml",), "Evidently, DataDriftPreset": ("evidently", "pandas<3")}

# run by the other environments
_OTHERS = {
    "NannyML, CBPE": '''
import nannyml
c = nannyml.CBPE(y_pred_proba="probability", y_pred="prediction", y_true="label", metrics=[what],
                 chunk_size=int(np.diff(edges).max()), problem_type="classification_binary")
c.fit(frame[: edges[reference]])
found = []
for a, b in zip(edges[reference:], edges[reference + 1:]):
    row = c.estimate(frame[a:b]).filter(period="analysis").to_df()[what].iloc[0]
    found.append([float(row["value"]), bool(row["alert"])])
''',
    "Evidently, DataDriftPreset": '''
from evidently import Report
from evidently.presets import DataDriftPreset
columns = ["probability", "prediction"]
frame["prediction"] = frame["prediction"].astype(str)
found = []
for a, b in zip(edges[reference:], edges[reference + 1:]):
    told = Report([DataDriftPreset()]).run(frame[columns][a:b], frame[columns][: edges[reference]]).dict()
    share = next(m["value"]["share"] for m in told["metrics"] if "Drifted" in m["metric_name"])
    found.append([None, share >= 0.5])
''',
}
_BEFORE = '''
import json, sys, warnings
import numpy as np, pandas as pd
warnings.filterwarnings("ignore")
data = np.load(sys.argv[1])
frame = pd.DataFrame({k: data[k] for k in ("probability", "prediction", "label")})
edges, reference, what = data["edges"], int(data["reference"]), str(data["what"])
'''


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weeks:
    """A stream in order, of which some windows are the reference, and those from `change` on are worse."""

    title: str
    what: str
    windows: Sequence[LabelledPool]
    reference: int
    change: int

    @property
    def truths(self) -> Floats:
        """(W,) the true values."""
        return np.array([measure(self.what).of_confusion(one.confusion()) for one in self.windows])


def turned(pool: LabelledPool, what: Measure, goal: float) -> LabelledPool:
    """The pool, with labels turned round at random until the measure is at most `goal`."""
    order = stream(7, "labels turned round").permutation(len(pool.label))
    return lowered(pool, what, goal, "label", order)


def weeks_of(one: Stream) -> Iterator[Weeks]:
    """The stream with its own change, where it has one, and with a change that no score shows."""
    reference, what = one.steady // 2, measure(one.measure)
    if one.change is not None:
        yield Weeks(
            title=f"{one.title}, own change", what=one.measure, reference=reference, change=one.steady,
            windows=one.windows[: one.change[1] + 1],
        )
    change = (reference + one.steady) // 2
    worse = [
        turned(window, what, float(what.of_confusion(window.confusion())) - FALL)
        for window in one.windows[change : one.steady]
    ]
    yield Weeks(title=f"{one.title}, labels turned", what=one.measure,
                windows=[*one.windows[:change], *worse], reference=reference, change=change)


def theirs(weeks: Weeks, name: str, python: Path, folder: Path) -> str:
    """The row of a public monitor."""
    data = folder / "stream.npz"
    whole = {
        key: np.concatenate([getattr(one, key) for one in weeks.windows])
        for key in ("probability", "prediction", "label")
    }
    edges = np.cumsum([0, *(len(one.label) for one in weeks.windows)])
    np.savez(data, edges=edges, reference=weeks.reference, what=weeks.what, **whole)
    ran = subprocess.run(
        [python, "-c", f"{_BEFORE}{_OTHERS[name]}\nprint(json.dumps(found))", data],
        capture_output=True, text=True, check=False,
    )
    row = f"| {weeks.title} | {weeks.what} | {name} |"
    if ran.returncode:
        return f"{row} could not be run: {ran.stderr[-150:].strip()} | | | |"
    found: list[tuple[float | None, bool]] = json.loads(ran.stdout.splitlines()[-1])
    quiet = weeks.change - weeks.reference
    alarms = [alarm for _, alarm in found]
    errors = [
        "" if value is None else value - truth
        for (value, _), truth in zip(found, weeks.truths[weeks.reference :], strict=True)
    ]

    def error(some: Sequence[Any]) -> str:
        return "–" if "" in some else f"{np.sqrt(np.mean(np.square(some))):.3f}"

    return (
        f"{row} {error(errors[:quiet])} | {error(errors[quiet:])} | "
        f"{sum(alarms[:quiet])} of {quiet} | {sum(alarms[quiet:])} of {len(alarms) - quiet} |"
    )


def ours(weeks: Weeks, name: str) -> str:
    """The row of one method."""
    what, truths = measure(weeks.what), weeks.truths
    floor = float(truths[: weeks.change].min())
    found = [
        simulate(name, what, weeks.windows[w], floor, METHODS[name], LABELS, weeks.windows[w - 1])
        for w in range(weeks.reference, len(weeks.windows))
    ]
    quiet = weeks.change - weeks.reference
    error = np.stack([one.value - truth for one, truth in zip(found, truths[weeks.reference :], strict=True)])
    # windows of one name share their draws: each run takes one of every window's repeats at random
    rng = stream(3, f"{weeks.title}/{weeks.what}/{name}")
    factors = np.stack([rng.permutation(one.factors) for one in found], axis=1)
    alarm, then = first_alarm(PROMISE, factors), first_alarm(PROMISE, factors, quiet)
    told = np.isfinite(then)
    took = f", after {then[told].mean():.1f}" if told.any() else ""

    def rmse(some: Floats) -> str:
        return f"{np.sqrt(np.nanmean(some**2)):.3f}"

    return (
        f"| {weeks.title} | {weeks.what} | Assay, `{name}` | {rmse(error[:quiet])} | {rmse(error[quiet:])} | "
        f"{(alarm <= quiet).mean():.0%} of runs | {told.mean():.0%} of runs{took} of "
        f"{len(found) - quiet} |"
    )


def page(pythons: Mapping[str, Path], folder: Path) -> Iterator[str]:
    """The lines of the page."""
    yield "# Public monitors beside ours\n"
    yield (
        "Made by `python -m benchmarks.monitor_rivals`, whose top says what the columns are: real streams in "
        "the order of their files, the first half of their quiet windows as reference. The others use no "
        f"labels after the reference and all labels of it; ours buys {LABELS} in each window. Runs of ours: "
        f"{', '.join(f'{count} of `{name}`' for name, count in METHODS.items())}.\n"
    )
    yield "| stream | measure | monitor | error, quiet | error, after | alarms, quiet | alarms, after |"
    yield "|" + "---|" * 7
    for one in streams():
        for weeks in weeks_of(one):
            for name, python in pythons.items():
                yield theirs(weeks, name, python, folder)
            for name in METHODS:
                yield ours(weeks, name)


def main() -> None:
    """Make the environments, and write the page above what was written by hand."""
    with tempfile.TemporaryDirectory() as made:
        pythons = {}
        for n, (name, packages) in enumerate(PACKAGES.items()):
            python = Path(made) / str(n) / "bin" / "python"
            subprocess.run([sys.executable, "-m", "venv", Path(made) / str(n)], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
            pythons[name] = python
        lines = []
        for text in page(pythons, Path(made)):
            print(text, flush=True)
            lines.append(text)
    kept = read_page(OUT).partition("\n## ")[1:] if OUT.exists() else ()
    write_page(OUT, "\n".join(lines) + "\n" + "".join(kept))


if __name__ == "__main__":
    main()
