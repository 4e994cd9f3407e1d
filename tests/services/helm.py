"""Helm, to render the chart: the command if it is installed, else its engine as a library.

The library has an environment of its own, made once for each version of its pins under ASSAY_CACHE.
"""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from services.prefect_server import ROOT

CHART = ROOT / "deployments" / "helm" / "assay"
_PINS = ROOT / "requirements" / "helm.txt"
_RENDER = """
import json, sys
import helm_python
with helm_python.Chart.load(sys.argv[1]) as chart:
    print(json.dumps(chart.render(json.loads(sys.argv[2]), name="assay", namespace="assay")))
"""
_LINT = "import sys, helm_python; print(helm_python.lint(sys.argv[1])['errors'])"


class NotRendered(Exception):
    """Helm refused; what it said."""


def rendered(values):
    """The objects that the chart makes of these values. Raises NotRendered; skips without any Helm."""
    command = shutil.which("helm")
    if command:
        template = [command, "template", "assay", CHART, "--namespace", "assay", "-f", "-"]
        said = _said(template, json.dumps(values))
        return [one for one in yaml.safe_load_all(said) if one]
    said = json.loads(_said([_engine(), "-c", _RENDER, CHART, json.dumps(values)]))
    return [one for name, text in sorted(said.items()) if name.endswith(".yaml")
            for one in yaml.safe_load_all(text) if one]


def lint():
    """Helm's own complaints about the chart. Skips where no Helm can be had."""
    command = shutil.which("helm")
    linting = [command, "lint", CHART, "--quiet"] if command else [_engine(), "-c", _LINT, CHART]
    return _said(linting).strip(" \n[]")


def _said(command, given=None):
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=120)
    if ran.returncode:
        raise NotRendered(ran.stderr)
    return ran.stdout


def _engine():
    """A Python that has the library."""
    uv = Path(sys.executable).with_name("uv")
    digest = sha256(_PINS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = Path(os.environ.get("ASSAY_CACHE") or "~/.cache/assay").expanduser() / f"helm-{digest}"
    if not home.exists():
        made = home.with_name(f"{home.name}.{uuid4().hex}")   # renamed when it is whole: several may be at it
        install = [uv, "pip", "install", "--quiet", "--python", made / "bin" / "python", "--require-hashes"]
        try:
            subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, made], check=True)
            subprocess.run([*install, "-r", _PINS], check=True)
        except subprocess.CalledProcessError:
            shutil.rmtree(made, ignore_errors=True)
            pytest.skip("no helm on this machine, and its engine cannot be installed here")
        with suppress(OSError):        # another was quicker
            made.rename(home)
        shutil.rmtree(made, ignore_errors=True)
    return home / "bin" / "python"
