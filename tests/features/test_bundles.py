"""Evidence bundles: one file that is verified on another machine, and whatever is changed in it is named."""

import base64
import hashlib
import io
import json
import re
import shutil
import tarfile
import textwrap
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest
from doubles.small_pool import spec_json, write_small_pool
from services.prefect_server import ROOT
from services.time_stamps import openssl, time_stamp_server

from assay.evalcore.errors import BadInput, Unreachable
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.bundle import verify_bundle
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.report.files import render_report
from assay.tasks.signatures import SIGNING_KEY, WrongSignature, key_fingerprint, stamped_at, time_stamp
from assay.tasks.spec.evaluation import Spec


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("rfc3161_client", reason="needs the extra signing")
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here, which the time stamp server of tests is made of")
    with time_stamp_server() as running:
        yield running


@pytest.fixture(scope="module")
def made(tmp_path_factory, server):
    """A folder with the bundle of an evaluation, signed and stamped, and keys; the store is gone."""
    folder = tmp_path_factory.mktemp("bundle")
    store = LocalStore(folder / "ledger")
    begin_evaluation(store, Spec.from_json(spec_json(*write_small_pool(folder))))
    while advance(store, "small").state != "finished":
        pass
    for name in ("key", "other"):
        openssl("genpkey", "-algorithm", "ed25519", "-out", folder / f"{name}.pem")
        (folder / f"{name}.pub").write_bytes(openssl("pkey", "-in", folder / f"{name}.pem", "-pubout"))
    done = run("report", "small", "--store", folder / "ledger", "--bundle", folder / "small.zip",
               "--sign-with", folder / "key.pem", "--time-server", server.url)
    assert done.exit_code == 0, done.output
    shutil.rmtree(folder / "ledger")
    return folder


@pytest.fixture(scope="module")
def rendered():
    """The reports of this module by their evaluations, each drawn once after the bundle was made."""
    return {}


@pytest.fixture(autouse=True)
def _drawn_once(rendered, monkeypatch):
    def once(data):
        if data.evaluation not in rendered:
            rendered[data.evaluation] = render_report(data)
        return rendered[data.evaluation]

    monkeypatch.setattr("assay.flows.report.bundle.render_report", once)


class Done(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self):
        return self.stdout + self.stderr


def run(*command):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command_line(list(map(str, command)))
    return Done(code, out.getvalue(), err.getvalue())


def changed(made, tmp_path, change):
    """A copy of the bundle whose files went through `change`, which is given name -> bytes."""
    with zipfile.ZipFile(made / "small.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(tmp_path / "changed.zip", "w") as archive:
        for name, blob in files.items():
            archive.writestr(name, blob)
    return tmp_path / "changed.zip"


def test_a_bundle_is_verified_without_the_store(made, server, tmp_path):
    given = ("--key", made / "key.pub", "--time-root", server.root)
    done = run("verify", "--bundle", made / "small.zip", *given)
    assert done.exit_code == 0, done.output
    assert "small: verified (finished)" in done.output
    assert "60 labels recomputed" in done.output
    fingerprint = key_fingerprint((made / "key.pub").read_bytes())
    assert f"signed by {fingerprint}, the key given with --key" in done.output
    assert "UTC, by the server of --time-root" in done.output
    unsigned = changed(made, tmp_path, without("bundle.json.sig", "bundle.json.tsr", "public-key.pem"))
    asked = run("verify", "small", "--bundle", unsigned, "--json")
    assert json.loads(asked.stdout)["verified"]
    assert json.loads(asked.stdout)["notes"][0] == "not signed"


def test_digests_signature_and_time_stamp_are_verified_without_assay(made, server, tmp_path):
    with zipfile.ZipFile(made / "small.zip") as archive:
        archive.extractall(tmp_path)
    assert (tmp_path / "public-key.pem").read_bytes() == (made / "key.pub").read_bytes()
    readme = (tmp_path / "README.md").read_text()
    script = readme.partition("<<'END'\n")[2].partition("    END")[0]
    exec(textwrap.dedent(script.replace('open(name', f'open("{tmp_path}/" + name').replace(
        '"bundle.json"', f'"{tmp_path}/bundle.json"')))
    (tmp_path / "signature").write_bytes(base64.b64decode((tmp_path / "bundle.json.sig").read_bytes()))
    assert b"Verified Successfully" in openssl(
        "pkeyutl", "-verify", "-pubin", "-inkey", made / "key.pub", "-rawin", "-in", tmp_path / "bundle.json",
        "-sigfile", tmp_path / "signature")
    openssl("ts", "-verify", "-data", tmp_path / "bundle.json", "-in", tmp_path / "bundle.json.tsr",
            "-CAfile", server.root)


def test_what_lies_in_a_bundle(made):
    with zipfile.ZipFile(made / "small.zip") as archive:
        names = archive.namelist()
        card, readme = archive.read("model-card.md").decode(), archive.read("README.md").decode()
        content = json.loads(archive.read("bundle.json"))
    assert {"report/report.html", "report/report.json", "evidence/evidence.json", "evidence/draws.csv",
            "ledger/small/spec.json", "ledger/small/seal.json"} <= set(names)
    assert [line for line in card.splitlines() if line.startswith("## ")] == [
        "## Data", "## Sampling", "## Uncertainty", "## Limits"]
    assert "400 items" in card
    assert "Measured by segment: north, south" in card.replace("region=", "")
    assert "assay verify --bundle small.zip" in readme
    assert content["verify"] == "assay verify --bundle small.zip"
    beside = {"bundle.json", "bundle.json.sig", "bundle.json.tsr", "public-key.pem"}
    assert set(content["files"]) == set(names) - beside


def in_file(name, before, after):
    def change(files):
        assert before in files[name]
        files[name] = files[name].replace(before, after)
    return change


def without(*names):
    return lambda files: [files.pop(name) for name in names]


def consistently(files):
    """Another number in the report, and in bundle.json the digest of that."""
    report = json.loads(files["report/report.json"])
    report["estimates"][0]["value"] += 0.05
    files["report/report.json"] = json.dumps(report).encode()
    content = json.loads(files["bundle.json"])
    content["files"]["report/report.json"] = hashlib.sha256(files["report/report.json"]).hexdigest()
    files["bundle.json"] = json.dumps(content).encode()


@pytest.mark.parametrize(("change", "named"), [
    (in_file("report/report.html", b"small", b"large"), {"report/report.html"}),
    (in_file("ledger/small/spec.json", b"match", b"catch"), {"ledger/small/spec.json"}),
    (without("ledger/small/rounds/0002/labels.parquet"), {"ledger/small/rounds/0002/labels.parquet"}),
    (without("model-card.md"), {"model-card.md"}),
    (lambda files: files.update({"report/more.html": b""}), {"report/more.html"}),
    (in_file("bundle.json", b'"small"', b'"small" '), {"bundle.json.sig", "bundle.json.tsr"}),
    (consistently, {"report/report.json", "bundle.json.sig", "bundle.json.tsr"}),
    (without("bundle.json.sig"), {"bundle.json.sig"}),
    (without("bundle.json.tsr"), {"bundle.json.tsr"}),
    (lambda files: files.update({"bundle.json.tsr": b"x", "bundle.json.sig": b"?"}),
     {"bundle.json.sig", "bundle.json.tsr"}),
])
def test_what_was_changed_is_named(made, server, tmp_path, change, named):
    path = changed(made, tmp_path, change)
    found = verify_bundle(path, (made / "key.pub").read_bytes(), server.root.read_bytes())
    assert not found.verified
    assert named <= {one.key for one in found.differences}
    assert {one.key for one in found.differences} - named <= {
        key for key in (one.key for one in found.differences) if key.startswith("ledger/")}


def test_a_bundle_signed_by_another_is_not_verified(made):
    found = verify_bundle(made / "small.zip", (made / "other.pub").read_bytes())
    assert [one.key for one in found.differences] == ["bundle.json.sig"]
    assert verify_bundle(made / "small.zip").verified
    (said, *_) = verify_bundle(made / "small.zip").notes
    assert "which anybody can put there" in said


def test_what_is_no_bundle_is_refused(made, tmp_path):
    for blob in (b"", b"text"):
        (tmp_path / "a.zip").write_bytes(blob)
        with pytest.raises(BadInput, match="cannot be read as a bundle"):
            verify_bundle(tmp_path / "a.zip")
    with pytest.raises(BadInput, match="is no bundle"):
        verify_bundle(changed(made, tmp_path, without("bundle.json")))
    with pytest.raises(BadInput, match="format 7"):
        verify_bundle(changed(made, tmp_path, in_file(
            "bundle.json", b'"format_number":1', b'"format_number":7')))
    with pytest.raises(BadInput, match="no key of a ledger"):
        verify_bundle(changed(made, tmp_path, lambda files: files.update({"ledger/../../outside": b""})))


@pytest.mark.parametrize(("command", "why"), [
    (["report", "a", "--sign-with", "key.pem"], "nothing to sign or stamp; add --bundle"),
    (["report", "a", "b", "--bundle", "x.zip"], "a bundle is of one evaluation"),
    (["report", "a", "--bundle", "x.zip", "--latex"], "--latex: has no effect beside --bundle"),
    (["verify"], "name the evaluation, or a bundle"),
    (["verify", "a", "--key", "x"], "are of a bundle; add --bundle"),
    (["verify", "--bundle", "x.zip", "--contains", "0" * 64], "leave out --store and --contains"),
    (["verify", "--bundle", "nowhere.zip"], "cannot be read as a bundle"),
])
def test_options_that_do_nothing_are_refused(command, why):
    done = run(*command)
    assert done.exit_code == 2
    assert why in " ".join(done.output.split())


def test_keys_from_a_file_or_from_the_environment(made, tmp_path, monkeypatch):
    from assay.tasks.signatures import read_signing_key

    monkeypatch.setenv(SIGNING_KEY, (made / "other.pem").read_text())
    assert read_signing_key(None).public == (made / "other.pub").read_bytes()
    assert read_signing_key(made / "key.pem").public == (made / "key.pub").read_bytes()
    openssl("genrsa", "-out", tmp_path / "rsa.pem", "2048")
    monkeypatch.setenv(SIGNING_KEY, "sesame")
    for path in (tmp_path / "rsa.pem", made / "key.pub", None):
        with pytest.raises(BadInput, match="no private key of Ed25519") as refused:
            read_signing_key(path)
        assert "sesame" not in str(refused.value)


def test_time_stamps_that_do_not_come(server):
    with pytest.raises(Unreachable, match="no time stamp came back"):
        time_stamp(server.url.replace("/stamp", "/other"), b"message")
    with pytest.raises(Unreachable, match="no time stamp came back"):
        time_stamp("http://127.0.0.1:1/", b"message")
    with pytest.raises(BadInput, match="begins with http"):
        time_stamp("file:///etc/passwd", b"message")
    stamp = time_stamp(server.url, b"message")
    with pytest.raises(WrongSignature, match="of other bytes"):
        stamped_at(stamp, b"another", None)
    with time_stamp_server() as other, pytest.raises(WrongSignature, match="does not hold"):
        stamped_at(stamp, b"message", other.root.read_bytes())


def test_a_bundle_of_a_revised_ledger_of_version_1_which_had_no_log(tmp_path):
    with tarfile.open(ROOT / "tests" / "promised" / "ledgers-1.tar.xz") as archive:
        wanted = [one for one in archive if one.name.startswith("ledger/revised/")]
        archive.extractall(tmp_path, wanted, filter="data")
    done = run("report", "revised", "--store", tmp_path / "ledger", "--bundle", tmp_path / "revised.zip")
    assert "nobody signed it" in done.stderr
    found = verify_bundle(tmp_path / "revised.zip")
    assert (found.verified, found.revisions) == (True, 1)


@pytest.mark.parametrize(("name", "content"), [
    ("report/report.html", b"<h1>F1 is 0.99</h1>"), ("model-card.md", b"F1 is 0.99"),
    ("report/report.json", b"[]"), ("report/report.json", b"[" * 5_000), ("evidence/draws.csv", b"a,b"),
])
def test_a_page_of_another_hand_is_named_though_its_digest_fits(made, tmp_path, name, content):
    """Whoever signs can put the digest of a forged page into bundle.json; the ledger says what it is."""
    def forged(files):
        files[name] = content
        listing = json.loads(files["bundle.json"])
        listing["files"][name] = hashlib.sha256(content).hexdigest()
        files["bundle.json"] = json.dumps(listing).encode()
        files.pop("bundle.json.sig")
        files.pop("bundle.json.tsr")
        files.pop("public-key.pem", None)

    found = verify_bundle(changed(made, tmp_path, forged))
    assert not found.verified
    assert name in {one.key for one in found.differences}


def with_pictures(change):
    """Every picture of the report drawn otherwise, and the digest of that page in bundle.json."""
    def forged(files):
        page = files["report/report.html"]
        assert _PICTURE.search(page)
        files["report/report.html"] = page = _PICTURE.sub(
            lambda svg: svg[1] + base64.b64encode(change(base64.b64decode(svg[2]))), page
        )
        listing = json.loads(files["bundle.json"])
        listing["files"]["report/report.html"] = hashlib.sha256(page).hexdigest()
        files["bundle.json"] = json.dumps(listing).encode()
        without("bundle.json.sig", "bundle.json.tsr", "public-key.pem")(files)
    return forged


_PICTURE = re.compile(rb"(data:image/svg\+xml;base64,)([A-Za-z0-9+/=]+)")


@pytest.mark.parametrize("change", [
    lambda svg: svg.replace(b"items labelled", b"items wanted"),
    lambda svg: re.sub(rb"(d=\"M [0-9.]+) ([0-9.]+)", rb"\1 7\2", svg, count=1),
    lambda _: b"<svg/>",
])
def test_a_forged_picture_is_named(made, tmp_path, change):
    found = verify_bundle(changed(made, tmp_path, with_pictures(change)))
    assert [(one.key, one.difference) for one in found.differences] == [
        ("report/report.html", "shows pictures that are not those of the ledger")
    ]


def test_a_forged_picture_is_named_where_another_matplotlib_is_said_to_have_drawn_it(made, tmp_path):
    def forged(files):
        listing = json.loads(files["bundle.json"])
        before = listing["drawn_by"]
        listing["drawn_by"] = "3.10.0"
        readme = files["README.md"].replace(before.encode(), b"3.10.0")
        listing["files"]["README.md"] = hashlib.sha256(readme).hexdigest()
        files |= {"README.md": readme, "bundle.json": json.dumps(listing).encode()}
        with_pictures(lambda svg: svg.replace(b"items labelled", b"items wanted"))(files)

    (named,) = verify_bundle(changed(made, tmp_path, forged)).differences
    assert named.key == "report/report.html"
    assert "pip install matplotlib==3.10.0, and verify again" in named.difference


def test_last_digits_ids_and_the_maker_of_a_picture_are_no_difference(made, tmp_path):
    def elsewhere(svg):
        svg = re.sub(rb"(d=\"M [0-9]+\.[0-9]+) ", rb"\g<1>1 ", svg)
        svg = svg.replace(b"</metadata>", b"<!-- another --></metadata>")
        return re.sub(rb"(id=\"|#)([mp][0-9a-f]{8})", rb"\1x\2", svg)

    assert verify_bundle(changed(made, tmp_path, with_pictures(elsewhere))).verified
