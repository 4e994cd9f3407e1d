"""docs/measured/papers/low-shot.md: what the paper prints, and what comes out here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np

from assay.evalcore.types import Floats
from benchmarks.reproduce.low_shot.trials import BUDGETS

Errors = Mapping[str, tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How many trials there are of each method."""

    classes: int     # on each tag
    single: int      # on a pool of record pairs
    variances: int   # on each tag, where variances are looked at
    shared: int      # where labels serve other models or thresholds; they run item by item
    subsets: int     # random ones, of each pool of record pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything the page says; see `benchmarks.reproduce.low_shot.figures`."""

    classes: Sequence[str]
    trials: Trials
    tags: Errors                                             # figures 3 to 6
    pairs: Mapping[str, Errors]                              # the same on the pools of record
    open: Mapping[str, Errors]                               # settings that the paper leaves open
    variances: Mapping[str, Mapping[str, tuple[Floats, Floats, Floats]]]   # figures 7 and 12
    subsets: Mapping[str, Sequence[tuple[int, float, float, float]]]       # figure 8
    models: Mapping[tuple[str, str], Floats]                 # figure 9
    thresholds: Mapping[float, tuple[Floats, Floats]]        # figure 10


def page(found: Results) -> str:
    """The document."""
    return "\n".join([
        _HEAD,
        _claims(found),
        _ABOUT,
        _ERRORS.format(n=len(found.classes), trials=found.trials),
        fill(f"The tags: {', '.join(found.classes)}.", 104) + "\n",
        *_errors(found.tags),
        *(line for name, errors in found.pairs.items() for line in (f"### {name}\n", *_errors(errors))),
        _OPEN,
        *(line for name, errors in found.open.items() for line in (f"### {name}\n", *_errors(errors))),
        _VARIANCES.format(trials=found.trials),
        *_variances(found),
        _TOLD,
        _SUBSETS.format(trials=found.trials),
        *_subsets(found),
        _MODELS.format(trials=found.trials),
        *_models(found),
        _THRESHOLDS.format(trials=found.trials),
        *_thresholds(found),
        _REST,
    ])


def _claims(found: Results) -> str:
    acis, bias = found.tags["acis"]
    told, seen, _ = found.variances["tags"]["acis"]
    below = next((b for b, mse in zip(BUDGETS, acis, strict=True) if mse < 0.01), None)
    under = next((b for b, v in zip(BUDGETS, seen, strict=True) if v <= 0.01), None)
    top, gmm = found.tags["topk"][1], found.tags["gmm"][1]
    own = np.stack([found.models[t, t] for t in _targets(found)])
    other = np.stack([mse for (t, s), mse in found.models.items() if s in _targets(found) and s != t])
    rows = [
        ("MSE below 0.01 with fewer than 100 labels (fig. 3, ImageNet1M)", f"first at {below} labels"),
        ("mean error within 0.1 even at 10 labels (fig. 3)", _signed(bias)),
        ("variance 0.005 with 100 labels (abstract)", f"{_plain(seen)} at {_budgets()} labels"),
        ("a variance of 0.01 is met after 40 labels (fig. 7)", f"first at {under} labels"),
        ("the variance is told a little too low at very few labels, and right later (fig. 7)",
         "told / seen: " + _ratio(told, seen)),
        ("the worst case is far too high (fig. 12)",
         "told / seen: " + _ratio(found.variances["tags"]["acis:together=worst"][0], seen)),
        ("TOP-K overestimates (fig. 4)", _signed(top)),
        ("GMM underestimates (fig. 4)", _signed(gmm)),
        ("labels bought for another model at most double the MSE (fig. 9)",
         "mean over pairs, other / own: " + _ratio(other.mean(axis=0), own.mean(axis=0))),
    ]
    return "\n".join(["| printed | here |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows), ""])


def _errors(errors: Errors) -> Iterable[str]:
    yield "| method | " + " | ".join(f"{b}" for b in BUDGETS) + " | mean error at " + _budgets() + " |"
    yield "|---" * (len(BUDGETS) + 2) + "|"
    for name, (mse, bias) in errors.items():
        yield f"| `{name}` | " + " | ".join(f"{x:.1e}" for x in mse) + f" | {_signed(bias)} |"
    yield ""


def _variances(found: Results) -> Iterable[str]:
    head = " | ".join(str(b) for b in BUDGETS)
    for pool, rules in found.variances.items():
        seen = next(iter(rules.values()))[1]
        yield f"| {pool} | {head} |"
        yield "|---" * (len(BUDGETS) + 1) + "|"
        yield f"| seen over trials | {_cells(seen)} |"
        for name, (told, _, correlation) in rules.items():
            yield f"| told, {_RULES[name]} | {_cells(told)} |"
            if name == "acis" and np.isfinite(correlation).all():
                yield f"| correlation of told and seen over classes | {_cells(correlation, '.2f')} |"
        yield ""


def _subsets(found: Results) -> Iterable[str]:
    yield "| pool | items | F1 undefined | variance told | variance seen |"
    yield "|---|---|---|---|---|"
    for pool, rows in found.subsets.items():
        for size, undefined, told, seen in rows:
            yield f"| {pool} | {size:,} | {undefined:.2f} | {told:.1e} | {seen:.1e} |"
    yield ""


def _models(found: Results) -> Iterable[str]:
    yield "| F1 of | labels bought for | " + " | ".join(str(b) for b in BUDGETS) + " |"
    yield "|---" * (len(BUDGETS) + 2) + "|"
    for target in _targets(found):
        for (of, source), mse in found.models.items():
            if of == target:
                bought = source if source in _targets(found) else f"itself, by `{source}`"
                yield f"| {of} | {'itself' if source == target else bought} | {_cells(mse)} |"
    yield ""


def _targets(found: Results) -> list[str]:
    return list(dict.fromkeys(target for target, _ in found.models))


def _thresholds(found: Results) -> Iterable[str]:
    yield "| threshold | labels bought for | " + " | ".join(str(b) for b in BUDGETS) + " |"
    yield "|---" * (len(BUDGETS) + 2) + "|"
    for threshold, (shared, own) in found.thresholds.items():
        yield f"| {threshold} | threshold 0.3 | {_cells(shared)} |"
        yield f"| {threshold} | itself | {_cells(own)} |"
    yield ""


def _budgets() -> str:
    return " / ".join(str(b) for b in BUDGETS)


def _cells(values: Floats, form: str = ".1e") -> str:
    return " | ".join(f"{x:{form}}" for x in values)


def _plain(values: Floats) -> str:
    return " / ".join(f"{x:.3f}" for x in values)


def _signed(values: Floats) -> str:
    return " / ".join(f"{x:+.2f}" for x in values)


def _ratio(above: Floats, below: Floats) -> str:
    return " / ".join(f"{a / b:.2f}" if b > 0 else "–" for a, b in zip(above, below, strict=True))


_RULES = {
    "acis": "no covariance (Σ a² V)",
    "acis:together=averaged": "averaged (Σ a V)",
    "acis:together=worst": "worst case (Σ a √V)²",
}
_HEAD = """# Low-shot validation

*Low-Shot Validation: Active Importance Sampling for Estimating Classifier Performance on Rare
Categories* (Poms et al., ICCV 2021), by `python -m benchmarks.reproduce.low_shot`. The paper's classes are
those of ImageNet and iNaturalist, with models that are not public; here they are rare tags of 5,426
comments, one against the rest, two pools of record pairs, and digits. So the sentences of the paper can be
checked, and its curves cannot.
"""
_ABOUT = """\
Means over the tags; for figure 9 over the digits, whose models agree less than networks on ImageNet. On the
record pairs GMM underestimates as printed, and the variance told is near that seen at 30 to 150.
"""
_ERRORS = """## Figures 3 to 6: errors

Mean squared error of F1 at {n} tags of GoEmotions that fewer than one comment in twenty has,
{trials.classes} trials each, and on two pools of record pairs, {trials.single} trials each; two of
`topk`, `gmm` and `herding`. Undefined counts as 0. `acis:last=1` is the paper's ACIS-LAST, `isotonic` its
ISO, `passive` its RAND; `acis-pooled` is ours.
"""
_OPEN = """## What the paper leaves open

ε, the iterations over which β falls, how many estimates are averaged; and the weight of labelled items is
[corrected](errata.md). Each line changes one setting of `acis`: ε = 0.01, four iterations, all estimates,
the printed weight, isotonic regression, the 3 (i + 1) n_pos highest scores. Platt's curve is figure 11.
"""
_VARIANCES = """## Figures 7 and 12: the variance of a single trial, beside that of many

Means over {trials.variances} trials for each tag, and over {trials.single} for each pool of pairs. In the
paper the first rule follows the variance seen, and the worst case lies far above it.
"""
_TOLD = """\
On the tags the first rule is a third too low at 10 labels, about right at 70, and too high after: eq. 6
knows of no finite pool. From 70 labels on it does not tell which tags are uncertain.
"""
_SUBSETS = """## Figure 8: the variance of F1 on a fully labelled random subset

Printed: 0.003 for 50,000 random items of ImageNet1M. Equation 6 without weights, over those of
{trials.subsets:,} subsets where F1 and its variance are defined.
"""
_MODELS = """## Figure 9: labels bought for one model, used for another

Mean squared error of F1 over ten digits, each thinned to 20 items among some 1,350 others, and three
models trained on 300 digits, with {trials.shared} trials each. The paper: lowest for labels
bought for the model itself, at most double for others.
"""
_THRESHOLDS = """## Figure 10: labels bought at one threshold, used for others

The tags again, {trials.shared} trials each. The paper buys labels at 0.1 and uses them from 0.02 to
0.5; it finds slightly worse results at higher thresholds than its own.
"""
_REST = """## What is not here

The curves of figures 3 to 12 (predictions of SwAV, SimCLRv2 and BYOL); the features of `herding`, which
runs on score and prediction here. Misprints and choices: [errata](errata.md).
"""
