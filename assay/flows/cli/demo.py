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
        result = run_demo(
            out, seed=seed, label_studio=label_studio, on_round=progress.round, say=progress.say,
            note=progress.note,
        )
    if as_json:
        print_json(_to_json(result))
    elif verbose or is_verbose():
        _print(result)
    else:
        for line in answer(result):
            click.echo(line)
    return result.standing.exit_code


def _to_json(result: "Demo") -> DemoJson:
    sampling: dict[str, RandomSampleJson] = {
        r.measure: {
            "labels": r.labels, "half_width": r.half_width, "chance_undefined": r.chance_undefined,
            "labels_needed": r.labels_needed,
        }
        for r in result.random_sampling
    }
    return {
        **result.standing.to_json(),
        "truth": result.truth,
        "random_sampling": sampling,
        "report": str(result.report.html),
        "ledger": result.ledger,
    }


def answer(result: "Demo") -> list[str]:
    """What was asked, in a few lines: the estimate, both intervals, the price, the truth, and the report.
    Each is a line for the terminal, without a line break at its end."""
    standing, n = result.standing, result.opened.manifest.rows
    lead, *other_rows = [row for row in standing.estimates if row.segment is None]
    true = result.truth[lead.measure]
    low, high = lead.lower, lead.upper
    held = "inside" if low is not None and high is not None and low <= true <= high else "outside"
    wide = price.wide_in_words(lead, standing.positive)
    besides = "; ".join(
        f"{row.measure} {wording.value_and_interval(row.value, row.lower, row.upper)}, in truth "
        f"{result.truth[row.measure]:.3f}" for row in other_rows
    )
    measure = wording.measure_name(lead.measure)
    return [
        f"{measure} is about {wording.value_or_reason(lead)} ({wording.percent(lead.confidence)} interval "
        f"{wording.interval(lead)}).",
        *([f"  {wide}."] if wide else []),
        f"  The truth is {true:.3f}, {held} the interval: all {n:,} pairs of this pool are labelled.",
        f"  It took {standing.labels:,} labels; a random sample would have needed "
        f"{price.random_labels_in_words(lead)} for this interval.",
        f"  Besides: {besides}.",
        f"Report: {file_link(result.report.html)}",
        f"More: assay demo --verbose; assay status {result.opened.name} --store {result.ledger}",
    ]


def _print(result: "Demo") -> None:
    print_standing(result.standing)
    n = result.opened.manifest.rows
    click.echo(f"\nThe truth, known here because all {n:,} pairs are labelled ({result.positives} match):")
    for measure, value in result.truth.items():
        click.echo(f"  {measure:<18} {value:.4f}")
    draws = result.random_sampling[0]
    click.echo(
        f"\nRandom sampling, {draws.labels:,} labels: {draws.measure} ± {_width(draws.half_width)}, "
        f"and no value at all in {draws.chance_undefined:.0%} of samples"
    )
    if draws.labels_needed is not None:
        click.echo(f"  it would need about {draws.labels_needed:,} labels for ± {draws.target_half_width:g}")
    click.echo(f"\nReport: {file_link(result.report.html)}")
    click.echo(f"Ledger: {result.ledger}  (assay status {result.opened.name} --store {result.ledger})")


def _width(half_width: float) -> str:
    return f"{half_width:.2f}" if half_width < 0.5 else "more than half of the scale"
