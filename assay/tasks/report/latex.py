"""For papers: a table of the estimates and a paragraph of methods in LaTeX, and the references in BibTeX.

Both are to be included: `\\input{report}` where the table belongs, `\\bibliography{report}` at the end. The
table needs the package booktabs. Whatever a person or a file called something is escaped.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.methods.literature import LITERATURE, OF_INTERVALS, CitedWork
from assay.evalcore.methods.registry import method_for
from assay.tasks.report import sentences, wording
from assay.tasks.report.data import MATRIX, ReportData

SOFTWARE = "assay"      # the key of this software
_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "\N{MINUS SIGN}": "$-$", "\N{EN DASH}": "--", "\N{SUPERSCRIPT TWO}": r"\textsuperscript{2}",
    "\N{GREEK SMALL LETTER KAPPA}": r"$\kappa$", "\N{GREEK SMALL LETTER BETA}": r"$\beta$",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``", "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\N{LEFT SINGLE QUOTATION MARK}": "`", "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{ZERO WIDTH SPACE}": "{}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}


def latex_files(data: ReportData) -> Mapping[str, bytes]:
    """The files for a paper by name, in bytes: `report.tex`, a table of estimates and a paragraph of
    methods, and `report.bib`, its references. The same data gives the same bytes."""
    keys = _cited(data)
    text = "\n".join([
        f"% Estimates of {_comment(data.evaluation)}, by assay report --latex. The preamble needs "
        "\\usepackage{booktabs};",
        "% the references are in report.bib.",
        *_table(data), "", *_methods(data, keys),
    ])
    return {"report.tex": (text + "\n").encode(), "report.bib": _bibtex(data, keys).encode()}


def escaped(text: str) -> str:
    """Text as LaTeX prints it: in one line, and never a command."""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return "".join(_SPECIAL.get(sign, sign) for sign in plain.replace("--", "-\N{ZERO WIDTH SPACE}-"))


def _comment(text: str) -> str:
    return " ".join(text.split())


def _table(data: ReportData) -> list[str]:
    rows = [row for row in data.estimates if row.measure != MATRIX and row.curve is None]
    places = any(row.segment for row in rows)
    columns = ["Measure", *(["Segment"] if places else []), "Estimate", "Interval", "Labels"]
    lines = [
        r"\begin{table}", r"\centering",
        f"\\caption{{{escaped(_caption(data, rows))}}}",
        f"\\label{{tab:{re.sub(r'[^A-Za-z0-9-]', '-', data.evaluation)}}}",
        f"\\begin{{tabular}}{{{'l' * (len(columns) - 3)}rcr}}", r"\toprule",
        " & ".join(columns) + r" \\", r"\midrule",
    ]
    for row in rows:
        cells = [sentences.named_row(row), *([row.segment or "all"] if places else []), *_numbers(row)]
        lines.append(" & ".join(map(escaped, cells)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    lines += [
        f"% {_comment(row.title)} is undefined: {_comment(row.undefined_reason or '')}"
        for row in rows if row.value is None
    ]
    return lines


def _numbers(row: MeasureEstimate) -> list[str]:
    value = wording.estimate_text(row.value, row.lower, row.upper)
    return [value, wording.interval(row), wording.grouped_digits(row.labels)]


def _caption(data: ReportData, rows: Sequence[MeasureEstimate]) -> str:
    confidences = sorted({wording.percent(row.confidence) for row in rows})
    so_far = "" if data.state == "finished" else " Interim figures: the evaluation has not finished."
    return (
        f"Estimates on a pool of {wording.plural(data.pool.n, 'item')}, with intervals of "
        f"{' and '.join(confidences)} confidence.{so_far}"
    )


def _methods(data: ReportData, keys: Sequence[str]) -> list[str]:
    """The paragraph: what was estimated of what, how items were chosen, what the intervals are."""
    used = method_for(data.method, data.outcome)
    of = "" if used.published else ", a method of this software made with"
    rows = [row for row in data.estimates if row.measure != MATRIX]
    names = list(dict.fromkeys(sentences.named_row(row) for row in rows))
    kinds = list(dict.fromkeys(sentences.interval_kind(row.interval) for row in rows))
    labels = f"{wording.plural(data.labels - data.known_before, 'label')} were collected"
    if data.known_before:
        labels += f", and {wording.grouped_digits(data.known_before)} were known before"
    lines = [
        r"\paragraph{Evaluation.}",
        f"We estimated {escaped(_listed(names))} on a fixed pool of {wording.plural(data.pool.n, 'item')} "
        f"(SHA-256 \\texttt{{{escaped(data.pool.digest[:16])}}}) with Assay "
        f"{escaped(data.versions.get('assay', ''))}{_cite([SOFTWARE])}.",
        f"Items were chosen by \\texttt{{{escaped(data.method)}}}{of}{_cite(used.sources)}, in "
        f"{wording.plural(data.rounds, 'round')} with the random seed {data.seed}; {labels}.",
        escaped(sentences.stopped(data)),
        f"Intervals have {escaped(wording.percent(rows[0].confidence))} confidence: "
        f"{escaped('; '.join(kinds))}{_cite(_of_intervals(data))}.",
    ]
    if data.revision:
        lines.append("Answers that changed afterwards are taken into account.")
    if data.extensions:
        lines += [escaped(line) for line in sentences.extended(data.extensions, data.confidence_asked)]
    if data.interval_note:
        lines.append(f"% What is known of such intervals: {_comment(data.interval_note)}")
    return lines


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _cite(keys: Iterable[str]) -> str:
    joined = ",".join(keys)
    return f"~\\cite{{{joined}}}" if joined else ""


def _cited(data: ReportData) -> list[str]:
    """This software, the sources of the method, and those of the intervals that have some of their own."""
    of_method = method_for(data.method, data.outcome).sources
    return list(dict.fromkeys([SOFTWARE, *of_method, *_of_intervals(data)]))


def _of_intervals(data: ReportData) -> list[str]:
    kinds = dict.fromkeys(row.interval for row in data.estimates)
    return [key for kind in kinds for key in OF_INTERVALS.get(kind, ())]


def _bibtex(data: ReportData, keys: Sequence[str]) -> str:
    entries = [_entry(key, LITERATURE[key]) for key in keys if key != SOFTWARE]
    version = data.versions.get("assay", "")
    software = [
        ("title", "{Assay}: label-efficient evaluation with intervals"),
        ("author", "{The Assay maintainers}"), ("version", escaped(version)),
        ("note", f"Computer software, version {escaped(version)}"),
    ]
    return "\n".join([_written("misc", SOFTWARE, software), *entries])


def _entry(key: str, work: CitedWork) -> str:
    inside = {"article": "journal", "book": "publisher", "misc": "howpublished"}.get(work.form, "booktitle")
    return _written(work.form, key, [
        ("title", f"{{{escaped(work.title)}}}"), ("author", " and ".join(map(escaped, work.authors))),
        ("key", "" if work.authors else escaped(work.title)), (inside, escaped(work.within)),
        ("year", str(work.year)), ("volume", work.volume), ("pages", work.pages), ("doi", work.doi),
        ("eprint", work.arxiv), ("archiveprefix", "arXiv" if work.arxiv else ""),
    ])


def _written(form: str, key: str, fields: Iterable[tuple[str, str]]) -> str:
    inside = "".join(f"  {name} = {{{value}}},\n" for name, value in fields if value)
    return f"@{form}{{{key},\n{inside}}}\n"
