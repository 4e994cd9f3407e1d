"""What `assay report --latex` writes: a table, a paragraph with citations from the registry, and BibTeX."""

import re
from importlib.metadata import version

import pytest
import yaml
from doubles.report_data import estimate, report_data
from services.prefect_server import ROOT

from assay.evalcore.methods.literature import LITERATURE, OF_INTERVALS
from assay.evalcore.methods.registry import METHODS, OUTCOME_METHODS
from assay.tasks.report.latex import SOFTWARE, escaped, latex_files


def written(**changes):
    files = latex_files(report_data(**changes))
    assert files.keys() == {"report.tex", "report.bib"}
    return files["report.tex"].decode(), files["report.bib"].decode()


def cited(tex):
    return {key for keys in re.findall(r"\\cite\{([^}]*)\}", tex) for key in keys.split(",")}


def test_the_table_has_values_and_intervals_rounded_as_everywhere():
    tex, _ = written(estimates=[
        estimate("f1", 0.8, 0.0312, 75), estimate("recall", None, 0, 75),
        estimate("f1", 0.0, 0.05, 75, system="v2", versus="v1", lower=-0.0512, upper=0.0512),
    ])
    table = tex[tex.index(r"\midrule"):tex.index(r"\bottomrule")].splitlines()[1:]
    assert table == [
        r"F1 & 0.800 & 0.768 to 0.832 & 75 \\", r"Recall & undefined & 0 to 1.000 & 75 \\",
        r"F1 of v2 minus v1 & 0 & $-$0.052 to 0.052 & 75 \\",
    ]
    assert "% recall is undefined: among the labels so far" in tex
    assert r"\caption{Estimates on a pool of 10,000 items, with intervals of 95\% confidence.}" in tex


def test_segments_have_a_column_and_an_open_evaluation_says_so():
    tex, _ = written(state="waiting", stopped_by=None, estimates=[
        estimate("f1", 0.8, 0.1, 75), estimate("f1", 0.7, 0.2, 30, segment="city=A & B"),
    ])
    assert r"F1 & city=A \& B & 0.700" in tex
    assert "Interim figures" in tex
    assert "these are interim figures" in tex


def test_the_paragraph_says_how_and_every_citation_is_in_the_bibliography():
    tex, bib = written()
    assert r"chosen by \texttt{dirichlet-tree}~\cite{marchant2021}, in 3 rounds with the random seed 7" in tex
    assert "75 labels were collected" in tex
    assert r"with Assay 1.0.0~\cite{assay}" in tex
    assert cited(tex) == set(re.findall(r"@\w+\{(\w+),", bib)) == {SOFTWARE, "marchant2021"}
    assert "author = {Marchant, Neil G. and Rubinstein, Benjamin I. P.}" in bib


def test_a_method_of_our_own_is_said_to_be_one_and_guaranteed_intervals_have_their_source():
    tex, bib = written(method="recalibrated")
    assert r"a method of this software made with~\cite{farquhar2021,shekhar2023}" in tex
    tex, bib = written(method="stratified:guaranteed=true",
                       estimates=[estimate("accuracy", 0.8, 0.1, 75, interval="guaranteed")])
    assert cited(tex) == set(re.findall(r"@\w+\{(\w+),", bib)) == {SOFTWARE, "cochran1977", "waudbysmith2020"}


@pytest.mark.parametrize("hostile", [
    r"\input{/etc/passwd}", "50% & $x_1$ #2 {a}~^", "a\nb\\\\c", "\u202eevil \N{MINUS SIGN}1", "<a|b>\"--",
])
def test_names_are_text_and_never_commands(hostile):
    tex, _ = written(estimates=[estimate("f1", 0.8, 0.1, 75, class_name=hostile)])
    (row,) = re.findall(r"F1 of .* & 0\.800 .*", tex)
    assert row.count(" & ") == 3
    name = row.partition(" & 0.800")[0].replace(r"\&", "")
    assert "&" not in name
    allowed = r"\\(text(backslash|ascii(tilde|circum)|less|greater|bar)\{\}|[&%$#_{}])|\$-\$|\{\}"
    assert not re.search(r"[\\{}$%#_^~]", re.sub(allowed, "", name)), name
    assert escaped(hostile).isprintable()


def test_every_method_declares_sources_and_every_source_is_used():
    methods = [*METHODS.values(), *OUTCOME_METHODS.values()]
    assert all(one.sources for one in methods), [one.name for one in methods if not one.sources]
    used = {key for one in methods for key in one.sources}
    assert used | {key for keys in OF_INTERVALS.values() for key in keys} == LITERATURE.keys()
    own = {"recalibrated", "guesses", "score-test", "model-assisted"}
    assert {one.name for one in methods if not one.published} == own


def test_the_citation_file_is_of_this_version():
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert said["version"] == version("assay-evaluation")
    assert {"cff-version", "message", "title", "authors", "license"} <= said.keys()
    _, bib = written(versions={"assay": said["version"]})
    assert said["authors"][0]["name"] in bib
    assert said["title"].removeprefix("Assay") in bib


def test_revisions_and_labels_known_before_are_told():
    tex, _ = written(revision=2, known_before=15)
    assert "60 labels were collected, and 15 were known before" in tex
    assert "Answers that changed afterwards are taken into account." in tex
