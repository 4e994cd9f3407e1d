"""What each paper has, a row an item: where it is here, and how we know that it is the same.

Every page of `docs/measured/papers` begins with the rows of its paper.  A row names an algorithm, equation,
figure or table; where it is in Python, on the command line and in a live evaluation, for two classes and for
more; and a number of ours beside that of an independent implementation in the tests, or the printed one
(`benchmarks.reproduce.numbers`).
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks.pages import read_page, write_page

PAPERS = Path("docs/measured/papers")
NUMBERS = PAPERS / "tables" / "numbers.csv"
Pair: TypeAlias = tuple[str, str]   # our number, and the other one
BEGIN, END = "<!-- items -->", "<!-- end of items -->"
_ANY = "K = 2 and K > 2"
_TWO = "K = 2"
_BOTH = "Python, command line, replay and live"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperItem:
    """One algorithm, equation, figure or table."""

    what: str
    where: str  # a setting of a method, a function, an option
    reaches: str  # live or replays, and how many classes
    agrees: str  # our number, and what it was compared with
    by: str = ""  # the test, or the section of the page


_PRINTED_INTERVALS = "`tests/features/test_intervals_as_printed.py`"
_PRINTED_BEYOND = "`tests/features/test_intervals_as_printed_beyond_two_classes.py`"
ITEMS: dict[str, tuple[PaperItem, ...]] = {
    "adaptive-importance-sampling.md": (
        PaperItem(
            what="Definition 1, Tables 1 and 2",
            where="`measure:`, `assay.evalcore.measures`",
            reaches=f"{_BOTH}, {_ANY}",
            agrees="values of scikit-learn; `r2` is corrected. Brier score and log loss of two classes too",
            by="`test_generalized_measures.py`, `test_probability_measures_of_two_classes.py`",
        ),
        PaperItem(
            what="Example 1, a PR curve of L thresholds",
            where="`{name: pr_curve, at: [...]}`, L ≤ 1,024",
            reaches=_BOTH,
            agrees="points of scikit-learn",
            by="`test_curves.py`",
        ),
        PaperItem(
            what="Definition 2, passive",
            where="`passive-with-replacement`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="ends to 1e-9, from the ledger's files",
            by=_PRINTED_INTERVALS,
        ),
        PaperItem(
            what="Remark 4, static importance sampling",
            where="`static-is`",
            reaches=f"{_BOTH}, {_ANY}",
            agrees="ends to 1e-9, from the ledger's files (K = 2)",
            by=_PRINTED_INTERVALS,
        ),
        PaperItem(
            what="Algorithm 1, equation 1",
            where="`dirichlet-tree:printed=true`, `dirichlet-flat:printed=true`",
            reaches=f"{_BOTH}, {_ANY}",
            agrees="item by item to 1e-12 (K = 3), to 1e-9 (K = 2)",
            by=f"`test_printed_tree.py`, {_PRINTED_INTERVALS}, {_PRINTED_BEYOND}",
        ),
        PaperItem(
            what="Propositions 1 and 2",
            where="the same; `assay.evalcore.design.proposal`",
            reaches=f"{_BOTH}, {_ANY}",
            agrees="q of every item to 1e-7",
            by="`test_printed_tree.py`",
        ),
        PaperItem(
            what="Theorem 2",
            where="`dirichlet-tree` (each draw's own q)",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="interval to 1e-9",
            by=_PRINTED_INTERVALS,
        ),
        PaperItem(
            what="Section 3.3.1, δ", where="`reuse=0.1`", reaches=f"{_BOTH}, {_ANY}",
            agrees="q of an item; weights ≤ 1/δ", by="`test_dirichlet_variants.py`",
        ),
        PaperItem(
            what="Section 3.3.2, Σ̂ and the F region",
            where="`printed=true`, or `variance=printed`, `region-quantile=F`",
            reaches=f"{_BOTH}, {_ANY}",
            agrees="ends to 1e-9, from the ledger's files",
            by=f"{_PRINTED_INTERVALS}, `test_as_printed.py`",
        ),
        PaperItem(
            what="Section 4, equations 8 to 13, and the prior of section 5.2",
            where="`printed=true`",
            reaches=f"{_BOTH}, {_ANY}",
            agrees="chances of every leaf to 1e-6 (K = 2, 3 and 10), live too",
            by="`test_label_model_as_printed.py`, `tests/features/test_dirichlet_tree_of_classes.py`",
        ),
        PaperItem(
            what="Appendix D, Proposition 4",
            where="corrected: [errata](errata.md)",
            reaches=_ANY,
            agrees="least tr Σ by SLSQP; 0.405 of the example of errata",
            by="`test_several_measures.py`",
        ),
        PaperItem(
            what="Appendix H, Proposition 5",
            where="`dirichlet-tree-stochastic:printed=true:requery=true`; live `requery=rounds`",
            reaches=f"{_BOTH}, {_ANY}",
            agrees="posterior of equation 14 by hand; ends to 1e-9, from the ledger's files",
            by=f"`test_requery.py`, {_PRINTED_INTERVALS}, {_PRINTED_BEYOND}",
        ),
        PaperItem(
            what="Table 3",
            where="`assay replay`",
            reaches="replay",
            agrees="two of seven pools; the printed number",
            by="below",
        ),
        PaperItem(
            what="Figures 2, 3, 5 to 7",
            where="`assay replay --divergence`",
            reaches=f"replay, {_ANY}",
            agrees="two of seven pools; order and size as printed; KL by hand for K = 2 and 3",
            by="below",
        ),
        PaperItem(
            what="Figures 4 and 8",
            where="`benchmarks.reproduce.needle.curves`; any curve by `assay.replay`",
            reaches="replay",
            agrees="abt-buy, 1,024 thresholds, 5,000 labels, the paper's grid; slopes by differences to 1e-6",
            by="`test_needle.py`",
        ),
    ),
    "bernoulli-sampling.md": (
        PaperItem(
            what="Algorithm 1, equations 12 to 17",
            where="`optimal-is`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="value and beta interval to 1e-9, from the ledger's files",
            by=_PRINTED_INTERVALS,
        ),
        PaperItem(
            what="Algorithms 2 and 3",
            where="`bernoulli`, with coins `bernoulli:draws=independent`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="b item by item; Σ h²/b of 10, 4, 3, 2, 1 at Σ b = 3 by SLSQP; line 13 is "
            "[corrected](errata.md)",
            by="`test_waterfill.py`",
        ),
        PaperItem(
            what="Equations 18 and 28, the beta interval",
            where="`bernoulli`; `unseen=true` widens it, and says so",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="ends to 1e-9, from the ledger's files",
            by=_PRINTED_INTERVALS,
        ),
        PaperItem(
            what="Footnote 3, ε",
            where="`epsilon=1e-10`",
            reaches=f"{_BOTH}, {_ANY}",
            agrees="variance item by item; ends to 1e-9, from the ledger's files",
            by=f"`test_bernoulli_as_printed.py`, {_PRINTED_INTERVALS}",
        ),
        PaperItem(
            what="Appendix C, equations 79 to 87",
            where="`assay.evalcore.design.draws`",
            reaches="Python",
            agrees="table 7 below",
            by="`test_sample_equivalence.py`",
        ),
        PaperItem(
            what="Appendix D, micro and macro F1 of tags",
            where="`bernoulli:form=printed`, `form=corrected`",
            reaches=f"{_BOTH}, tags",
            agrees="h² and V̂ item by item; ends to 1e-8, from the ledger's files",
            by=f"`test_bernoulli_of_tags.py`, {_PRINTED_BEYOND}",
        ),
        PaperItem(
            what="Appendix E, equation 128",
            where="`bernoulli-online:combination=equal`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="value item by item",
            by="`test_bernoulli_as_printed.py`",
        ),
        PaperItem(
            what="Figures 1 to 11",
            where="`python -m benchmarks.reproduce.bernoulli_sampling`",
            reaches="replay",
            agrees="other data, as the paper's cannot be had: tables 1 to 6",
            by="below",
        ),
    ),
    "active-f-measure.md": (
        PaperItem(
            what="Equations 4, 11 to 16, Algorithm 1",
            where="`sawade`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="q and estimate item by item",
            by="`test_sawade_as_printed.py`",
        ),
        PaperItem(
            what="Section 2.3, the interval",
            where="`sawade:variance=printed`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="ends to 1e-9, from the ledger's files",
            by=_PRINTED_INTERVALS,
        ),
        PaperItem(
            what="Lemma 2 with E[w]²",
            where="`sawade`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="ends to 1e-9, from the ledger's files",
            by=_PRINTED_INTERVALS,
        ),
        PaperItem(
            what="One class of several",
            where="`method: sawade` with `{name: f1, class: ...}`",
            reaches=f"{_BOTH}, K > 2, one class against the rest",
            agrees="the same as with two classes",
            by="`test_one_class_of_several.py`",
        ),
        PaperItem(
            what="Figures",
            where="`python -m benchmarks.reproduce.active_f_measure`",
            reaches="replay",
            agrees="other data: see below",
            by="below",
        ),
    ),
    "low-shot.md": (
        PaperItem(
            what="Algorithm 1",
            where="`acis`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="iterations by hand",
            by="`test_acis.py`",
        ),
        PaperItem(
            what="Equations 2 to 6",
            where="`acis`; `reuse=draws`, `together=averaged` and others",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="by hand; ends to 1e-9, from the ledger's files",
            by=f"`test_acis.py`, {_PRINTED_INTERVALS}",
        ),
        PaperItem(
            what="Appendix C, Platt's curve",
            where="`acis:calibration=platt`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="by hand",
            by="`test_low_shot.py`",
        ),
        PaperItem(
            what="The baselines: top-k, GMM, herding, isotonic, Platt",
            where="`topk`, `gmm`, `herding`, `isotonic`, `platt`",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="estimates by hand; the paper has no intervals for them, and none is reported",
            by="`test_plug_in.py`, `test_low_shot.py`",
        ),
        PaperItem(
            what="A question of 40 labels",
            where="`target: {half_width: ..., least_labels: 40, looks: 1}`",
            reaches=_BOTH,
            agrees="its price: [stopping](../stopping.md)",
            by="`test_targets_of_several_measures.py`",
        ),
        PaperItem(
            what="Figures",
            where="`python -m benchmarks.reproduce.low_shot`",
            reaches="replay",
            agrees="public data: see below",
            by="below",
        ),
    ),
    "recycled-samples.md": (
        PaperItem(
            what="Algorithms 1 and 2",
            where="`assay recycle`, `assay.recycle`, `assay.evalcore.recycled`",
            reaches="command line and Python, any number of systems",
            agrees="sequences by hand",
            by="`test_recycled_as_printed.py`, `test_recycle.py`",
        ),
        PaperItem(
            what="Equation 1, the share recycled",
            where="`saved` of the same",
            reaches="command line and Python",
            agrees="the draws that come from the parent's sample",
            by="`test_recycle.py`",
        ),
        PaperItem(
            what="Lemmas 1 and 2",
            where="`variance_factor` of the same",
            reaches="command line and Python",
            agrees="lemma 1 is [corrected](errata.md)",
            by="`test_recycled_findings.py`",
        ),
        PaperItem(
            what="Section 6, recall",
            where="`recycle`, the method",
            reaches=f"{_BOTH}, {_TWO}",
            agrees="by hand",
            by="`test_recycled_systems.py`",
        ),
        PaperItem(
            what="Table 1",
            where="`python -m benchmarks.reproduce.recycled_samples`",
            reaches="Python",
            agrees="beside the printed numbers below",
            by="below",
        ),
    ),
}


def item_table(page: str) -> Iterator[str]:
    """The rows of a page of `docs/measured/papers`, between two marks."""
    yield BEGIN
    yield ""
    yield "## What is where"
    yield ""
    yield "| item | where it is | reaches | ours | beside it | how we know | test |"
    yield "|---|---|---|---|---|---|---|"
    numbers = stored_numbers()
    for item in ITEMS[page]:
        ours, other = numbers.get((page.removesuffix(".md"), item.what), ("", ""))
        cells = item.what, item.where, item.reaches, ours, other, item.agrees, item.by
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield END


def stored_numbers() -> Mapping[tuple[str, str], Pair]:
    """Our number and the other one, by page and item, as `benchmarks.reproduce.numbers` wrote them."""
    with NUMBERS.open(newline="", encoding="utf-8") as opened:
        return {(row["page"], row["item"]): (row["ours"], row["other"]) for row in csv.DictReader(opened)}


def with_items(page: str, text: str) -> str:
    """The page with its rows before its first section, in the place of those that it had."""
    if BEGIN in text:
        text = text[: text.index(BEGIN)] + text[text.index(END) + len(END) :].lstrip("\n")
    at = text.index("\n## ") + 1
    return text[:at] + "\n".join(item_table(page)) + "\n\n" + text[at:]


def main() -> None:
    """Write the rows into the pages, which are otherwise as they were made."""
    for page in ITEMS:
        path = PAPERS / page
        write_page(path, with_items(page, read_page(path)))


if __name__ == "__main__":
    main()
