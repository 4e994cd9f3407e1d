"""What is released: bills of materials from the pins, an audit that says what it could not look up."""

import hashlib
import importlib
import json
import re
import sys
import urllib.request

import pytest
from services.prefect_server import ROOT

PINS = sorted((ROOT / "requirements").glob("*.txt"))
HASH = "0" * 64


@pytest.fixture(scope="module")
def programs():
    """The modules of deployments/release, as they are for whoever runs them."""
    folder = str(ROOT / "deployments" / "release")
    sys.path.append(folder)
    yield {name: importlib.import_module(name) for name in ("bill_of_materials", "audit", "release")}
    sys.path.remove(folder)


def test_a_local_index_has_the_wheel_with_its_digest(programs, tmp_path):
    wheel = tmp_path / "assay_evaluation-1.0.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    with programs["release"].local_index(wheel) as index:
        page = urllib.request.urlopen(f"{index}/assay-evaluation/", timeout=10).read().decode()
        (name, digest) = re.search(r'href="(.+)#sha256=(.+?)"', page).groups()
        fetched = urllib.request.urlopen(f"{index}/assay-evaluation/{name}", timeout=10).read()
    assert hashlib.sha256(fetched).hexdigest() == digest == hashlib.sha256(b"wheel").hexdigest()


@pytest.mark.parametrize("file", PINS, ids=[file.stem for file in PINS])
def test_a_bill_has_every_pin_with_its_hashes_and_is_the_same_each_time(programs, file):
    bills, text = programs["bill_of_materials"], file.read_text()
    bill = json.loads(bills.written_bill(file))
    assert len(bill["components"]) == len(re.findall(r"^[^\s#]+==", text, re.MULTILINE))
    refs = [one["bom-ref"] for one in bill["components"]]
    assert len(set(refs)) == len(refs)
    ours = bill["metadata"]["component"]["bom-ref"]
    assert bill["dependencies"] == [{"ref": ours, "dependsOn": sorted(refs)}]
    hashes = [told["content"] for one in bill["components"]
              for reference in one["externalReferences"] for told in reference["hashes"]]
    assert len(hashes) == text.count("--hash=sha256:")
    assert bills.written_bill(file) == bills.written_bill(file)
    assert bill["metadata"]["properties"] == [{"name": "assay:pins", "value": f"requirements/{file.name}"}]


def test_names_markers_and_lines_that_pin_nothing(programs):
    bills = programs["bill_of_materials"]
    text = f"# a comment\nA_b.c[x]==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{HASH}\n"
    (pin,) = bills.pins_of(text, "some.txt")
    assert (pin.purl, pin.marker, pin.hashes) == ("pkg:pypi/a-b-c@1.0", "sys_platform == 'win32'", (HASH,))
    for wrong, says in (("numpy>=2\n", r"some.txt, line 1: no pin: numpy>=2"),
                        ("\nnumpy==2.2\n", r"some.txt, line 2: numpy has no hash")):
        with pytest.raises(bills.WrongPins, match=says):
            bills.pins_of(wrong, "some.txt")


SAID = json.dumps({"dependencies": [
    {"name": "good", "version": "1", "vulns": []},
    {"name": "bad", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}, {"id": "GHSA-2"}]},
    {"name": "unknown", "skip_reason": "not found"},
]})


def test_an_audit_tells_what_is_known_and_what_was_not_looked_up(programs):
    found = programs["audit"].audited(SAID, ["Good", "bad", "unknown", "left_out"])
    assert found.vulnerable == ("bad 2: PYSEC-1, mended in 2.1", "bad 2: GHSA-2, not mended yet")
    assert found.not_looked_up == ("left-out", "unknown")
    assert found.looked_up == 2


@pytest.mark.parametrize(
    ("known", "skipped", "code"), [((), (), 0), (("bad 1: X",), ("a",), 1), ((), ("a",), 4)]
)
def test_the_exit_code_of_an_audit(programs, monkeypatch, capsys, known, skipped, code):
    audit = programs["audit"]
    monkeypatch.setattr(audit, "tool", lambda: "python")
    monkeypatch.setattr(audit, "looked_up", lambda *_: audit.Audited(3, known, skipped))
    assert audit.main(["light.txt"]) == code
    assert ("NOT looked up: 1 (a)" in capsys.readouterr().out) == bool(skipped)


def test_an_audit_that_cannot_run_says_so(programs, monkeypatch, capsys):
    audit = programs["audit"]

    def away():
        raise audit.CannotAudit("pip-audit cannot be installed here")

    monkeypatch.setattr(audit, "tool", away)
    assert audit.main([]) == 4
    assert capsys.readouterr().out == "NOT audited: pip-audit cannot be installed here\n"


def test_a_release_removes_nothing_but_an_earlier_one_and_names_pythons_that_are_not_here(programs, tmp_path):
    release = programs["release"]
    assert release.interpreter("3.99") is None
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(release.NotReleased, match="holds something else than a release"):
        release._cleared(tmp_path)
    assert (tmp_path / "mine.txt").exists()
    (tmp_path / "SHA256SUMS").write_text("")
    release._cleared(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert all((ROOT / path).exists() for paths in release.SLICES.values() for path in paths)
    assert all((ROOT / "requirements" / pins).exists() for pins in release.INSTALLS.values())


def test_the_tests_of_the_light_install_import_no_more_than_it_has(programs):
    release = programs["release"]
    paths = [ROOT / path for path in release.LIGHT]
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) or [path])]
    imported = {
        name.partition(".")[0] for file in files
        for name in re.findall(r"^\s*(?:import|from) ([\w.]+)", file.read_text("utf-8"), re.MULTILINE)
    }
    assert len(files) > 5
    assert imported - set(sys.stdlib_module_names) <= {"assay", "doubles", "numpy", "scipy", "pytest"}
