"""What can be installed: the extras, the pins, and what is said where one is missing."""

import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from assay.evalcore.errors import DISTRIBUTION, BadInput, MissingExtra, needs

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(name: str) -> set[str]:
    """The packages of a file in requirements/, with their versions and conditions."""
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return {line.rstrip(" \\") for line in lines if re.match(r"[a-z0-9]", line)}


def test_a_missing_package_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(BadInput) as caught, needs("s3", "stores in S3"):
        import boto3  # noqa: F401
    assert str(caught.value) == "stores in S3 need the package boto3: pip install 'assay-evaluation[s3]'"
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), MissingExtra)


def test_a_package_that_is_there_and_broken_says_so_itself():
    with pytest.raises(ImportError, match="libfoo"), needs("s3", "stores in S3"):
        raise ImportError("libfoo.so is too old")


def test_every_extra_that_is_named_can_be_installed():
    code = list((ROOT / "assay").rglob("*.py"))
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("deployments/*.md")]
    named = set()
    for path in code:
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"\b(?:needs|missing_extra)\(\s*\"([^\"]+)\"", text))
    for path in [*code, *pages]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip install '?assay(?!-evaluation)\b", text), path
        for several in re.findall(r"(?:assay-evaluation|pip install '\.)\[([a-z0-9,-]+)\]", text):
            named |= set(several.split(","))
    assert named <= PROJECT["optional-dependencies"].keys()
    assert {"service", "s3", "label-studio", "demo", "scikit-learn"} <= named


def test_the_light_pins_are_among_those_of_everything_and_no_file_has_an_address():
    assert pins("light.txt") <= pins("constraints.txt")
    assert PROJECT["name"] == DISTRIBUTION
    needed = {re.split(r"[><=\[]", one)[0] for one in PROJECT["dependencies"]}
    assert needed <= {pin.partition("==")[0] for pin in pins("light.txt")}
    assert not {"prefect", "boto3", "httpx", "label-studio-sdk"} & {
        pin.partition("==")[0] for pin in pins("light.txt")}
    for path in (ROOT / "requirements").iterdir():
        assert "://" not in path.read_text(encoding="utf-8"), path


def test_importing_the_face_imports_no_package_of_an_extra():
    code = (
        "import sys, assay\n"
        "for name in assay.__all__: getattr(assay, name)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = set(ran.stdout.split())
    assert "numpy" in found
    assert not found & {
        "prefect", "boto3", "botocore", "label_studio_sdk", "httpx", "fsspec", "sklearn", "recordlinkage",
        "mlflow", "fastapi", "requests",
    }
