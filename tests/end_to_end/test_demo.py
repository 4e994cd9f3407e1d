"""`assay demo`: a whole evaluation, offline, ending in a report."""

import json
import re

from assay.flows import demo
from assay.flows.cli.main import run_command_line


def test_the_demo_ends_in_a_report_and_in_an_answer_of_a_few_lines(tmp_path, capsys, monkeypatch):
    run, made = demo.run_demo, []

    def run_once(folder, **more):
        made.extend([] if made else [run(folder, **more)])
        return made[0]

    monkeypatch.setattr(demo, "run_demo", run_once)     # the same run is printed twice
    assert run_command_line(["demo", "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["state"] == "finished"
    assert 0 < found["labels"] <= 500
    assert set(found["truth"]) == {"f1", "precision", "recall"}
    # a match in a thousand pairs: as many labels drawn at random would say nearly nothing
    assert found["random_sampling"]["f1"]["labels_needed"] > 20 * found["labels"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{found['truth']['f1']:.3f}"[:4] in page
    assert not re.search(r"""(src|href)=["']?https?:""", page), "the page loads something"

    assert run_command_line(["demo", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) + len(printed.err.splitlines()) <= 15
    for part in ("F1 is about 0.", "95% interval", "wide interval", "The truth is 0.887",
                 "a random sample would", "Report: ", "report.html", "assay demo --verbose"):
        assert part in printed.out, part
