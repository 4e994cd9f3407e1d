"""What the paper says of its plots, and whether it is found here."""

from collections.abc import Mapping, Sequence

from benchmarks.reproduce.needle.runs import BUDGETS, CURVE_BUDGETS, Convergence, Drawn, agreement

BIASED = ("IS", "OASIS", "Ours-1", "Ours-8")
EVEN = ("Passive", "Stratified")


def _claim(says: str, holds: bool, found: str) -> str:
    return f"- {says} **{'Found' if holds else 'Not found'}**: {found}"


def _best(found: Convergence, labels: int) -> str:
    return min(found.by_method, key=lambda name: found.error(name, labels))


def of_f1(f1: Mapping[str, Convergence]) -> list[str]:
    abt, restaurant = f1["abt-buy"], f1["restaurant"]
    best = [_best(abt, labels) for labels in BUDGETS]
    times = min(abt.error(even, 2000) for even in EVEN) / max(abt.error(name, 2000) for name in BIASED)
    close = [agreement(abt, labels) for labels in BUDGETS]
    return [
        _claim("On abt-buy, the adaptive tree has the smallest error at every budget.",
               all(name in ("Ours-1", "Ours-8") for name in best),
               f"the smallest errors are of {_named(best)}."),
        _claim("On abt-buy, the errors of Passive and Stratified are at least ten times those of the biased "
               "methods (here at 2,000).", times >= 10,
               f"the better of the two has {times:.1f} times the error of the worst of the four."),
        _claim("On restaurant, Ours-8 is best (here at 2,000).", _best(restaurant, 2000) == "Ours-8",
               f"the smallest error is of {_best(restaurant, 2000)}."),
        _claim("On abt-buy, errors fall faster where the proposal is nearer to the best one.", min(close) > 0,
               "over the methods, the rank correlation of divergence and error is "
               + ", ".join(f"{x:.2f}" for x in close) + " at these budgets."),
        _claim("Ours-8 is mostly better than Ours-1.",
               all(c.error("Ours-8", 2000) < c.error("Ours-1", 2000) for c in f1.values()),
               "at 2,000 labels its error is " + " and ".join(
                   f"{c.error('Ours-8', 2000) / c.error('Ours-1', 2000):.2f} times that of Ours-1 ({name})"
                   for name, c in f1.items()) + "."),
        "",
    ]


def of_accuracy(found: Mapping[str, Convergence]) -> list[str]:
    times = {
        name: c.error("Passive", 1000) / c.error("Ours-8", 1000) for name, c in found.items()
    }
    return [
        _claim("On abt-buy and restaurant, among others, biased sampling gains a factor of ten or more (here "
               "at 1,000).", min(times.values()) >= 10,
               "the error of Passive is " + " and ".join(f"{x:.0f} times ({n})" for n, x in times.items())
               + " that of Ours-8."),
        "",
    ]


def of_curves(drawn: Drawn, f1: Convergence) -> list[str]:
    errors = {name: float(looks[-1].error.mean()) for name, looks in drawn.items()}
    at = CURVE_BUDGETS.index(1000)
    gain = float(drawn["IS"][at].error.mean() / drawn["Ours-8"][at].error.mean())
    even = min(errors[name] for name in EVEN)
    times = {name: even / error for name, error in errors.items() if name not in EVEN}
    return [
        _claim("The biased methods gain one to two orders of magnitude on Passive and Stratified (here at "
               "5,000).", min(times.values()) >= 10,
               "the better of the two has " + ", ".join(f"{x:.0f}" for x in times.values())
               + f" times the error of {', '.join(times)}"
               + (", more than the paper says." if max(times.values()) > 100 else ".")),
        _claim("IS and the adaptive methods are closer together than for F1 (here at 1,000).",
               gain < f1.error("IS", 1000) / f1.error("Ours-8", 1000),
               f"the error of IS is {gain:.1f} times that of Ours-8, and "
               f"{f1.error('IS', 1000) / f1.error('Ours-8', 1000):.1f} times for F1."),
        "",
    ]


def _named(best: Sequence[str]) -> str:
    return ", ".join(f"{name} at {labels:,}" for name, labels in zip(best, BUDGETS, strict=True))
