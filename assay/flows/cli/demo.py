"""`assay demo`: a whole evaluation of a pool whose truth is known."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.flows.cli.json_types import DemoJson, RandomSampleJson
from assay.flows.cli.output import FolderToWrite, file_link, is_verbose, json_option, print_json
from assay.flows.cli.standing import ProgressDisplay, print_standing
from assay.tasks.report import price, wording

if TYPE_CHECKING:
    from assay.flows.demo import Demo


@click.command()
@click.option("--label-studio", is_flag=True,
              help="Label through a real Label Studio, which is started and stopped on this machine.")
@click.option("--out", type=FolderToWrite(), default=Path("assay-demo"),
              show_default=True, metavar="FOLDER", help="Folder for pool, ledger and report.")
@click.option("--seed", type=click.IntRange(min=0), default=7, show_default=True,
              help="Fixes the pool and every random choice.")
@click.option("--verbose", is_flag=True, help="Print all that is known at the end, not the answer alone.")
@json_option
def demo(label_studio: bool, out: Path, seed: int, verbose: bool, as_json: bool) -> int:
    """Evaluate a record matcher on 220,000 candidate pairs of which few match; about a minute, offline.

    The truth is known. So the output compares the estimate with the truth, and with what random sampling
    would have given from the same number of labels.

    \b
    Example:
      assay demo
      assay demo --label-studio
    """
    from assay.flows.demo import run_demo

    with ProgressDisplay(500).running() as progress:
        found = run_demo(
            out, seed=seed, label_studio=label_studio, on_round=progress.round, say=progress.say,
            note=progress.note,
        )
    if as_json:
        print_json(_to_json(found))
    elif verbose or is_verbose():
        _print(found)
    else:
        for line in answer(found):
            click.echo(line)
    return found.standing.exit_code


def _to_json(found: "Demo") -> DemoJson:
    sampling: dict[str, RandomSampleJson] = {
        r.measure: {
            "labels": r.labels, "half_width": r.half_width, "chance_undefined": r.chance_undefined,
            "labels_needed": r.labels_needed,
        }
        for r in found.random_sampling
    }
    return {
        **found.standing.to_json(),
        "truth": found.truth,
        "random_sampling": sampling,
        "report": str(found.report.html),
        "ledger": found.ledger,
    }


def answer(found: "Demo") -> list[str]:
    """What was asked, in a few lines: the estimate, both intervals, the price, the truth, and the report."""
    standing, n = found.standing, found.opened.manifest.rows
    first, *others = [row for row in standing.estimates if row.segment is None]
    true = found.truth[first.measure]
    low, high = first.lower, first.upper
    held = "inside" if low is not None and high is not None and low <= true <= high else "outside"
    wide = price.wide_in_words(first, standing.positive)
    besides = "; ".join(
        f"{row.measure} {wording.value_and_interval(row.value, row.lower, row.upper)}, in truth "
        f"{found.truth[row.measure]:.3f}" for row in others
    )
    named = wording.measure_name(first.measure)
    return [
        f"{named} is about {wording.value_or_reason(first)} ({wording.percent(first.confidence)} interval "
        f"{wording.interval(first)}).",
        *([f"  {wide}."] if wide else []),
        f"  The truth is {true:.3f}, {held} the interval: all {n:,} pairs of this pool are labelled.",
        f"  It took {standing.labels:,} labels; a random sample would have needed "
        f"{price.random_labels_in_words(first)} for this interval.",
        f"  Besides: {besides}.",
        f"Report: {file_link(found.report.html)}",
        f"More: assay demo --verbose; assay status {found.opened.name} --store {found.ledger}",
    ]


def _print(found: "Demo") -> None:
    print_standing(found.standing)
    n = found.opened.manifest.rows
    click.echo(f"\nThe truth, known here because all {n:,} pairs are labelled ({found.positives} match):")
    for measure, value in found.truth.items():
        click.echo(f"  {measure:<18} {value:.4f}")
    first = found.random_sampling[0]
    click.echo(
        f"\nRandom sampling, {first.labels:,} labels: {first.measure} ± {_width(first.half_width)}, "
        f"and no value at all in {first.chance_undefined:.0%} of samples"
    )
    if first.labels_needed is not None:
        click.echo(f"  it would need about {first.labels_needed:,} labels for ± {first.target_half_width:g}")
    click.echo(f"\nReport: {file_link(found.report.html)}")
    click.echo(f"Ledger: {found.ledger}  (assay status {found.opened.name} --store {found.ledger})")


def _width(half_width: float) -> str:
    return f"{half_width:.2f}" if half_width < 0.5 else "more than half of the scale"
