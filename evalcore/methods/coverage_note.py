"""One sentence for what an interval was measured to cover, the same for every method.

The runs are replays of F1 at a nominal 95% on two rare pools of record; a run without an estimate is a miss.
"""


def covered(matching: tuple[int, ...], deduplication: tuple[int, ...], runs: int = 300) -> str:
    """Percent of runs whose interval held the truth, at 50, 100, 300 and 1,000 labels on each pool."""
    return (
        f"At a nominal 95% it covered the true F1 in {_list(matching)} of {runs:,} runs at 50, 100, 300 and "
        "1,000 labels on a product-matching pool with 50 positives among 53,753 items, and in "
        f"{_list(deduplication)} on a deduplication pool with 45 among 149,747."
    )


def _list(percent: tuple[int, ...]) -> str:
    *most, last = (f"{p}%" for p in percent)
    return f"{', '.join(most)} and {last}"
