"""Check the pins against known vulnerabilities, with pip-audit in an environment of its own.

    python deployments/release/audit.py [FILE ...]

Exit code 0: every pin was looked up, and nothing is known against it; 1: something is; 4: some pins could not
be looked up, from here or at all, and nothing is known against the others. Only names and versions are sent.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bill_of_materials import ROOT, pins_of

PINS = ("constraints", "light", "bootstrap", "label-studio")
TOOL = ROOT / "requirements" / "audit.txt"
TIMEOUT = 900.0     # seconds, for one file


class CannotAudit(Exception):
    """Nothing can be looked up from here; the message says why."""


@dataclass(frozen=True, slots=True)
class Audited:
    """What is known of one file of pins."""

    looked_up: int
    vulnerable: tuple[str, ...]      # a line each
    not_looked_up: tuple[str, ...]   # packages


def audited(said: str, pinned: Sequence[str]) -> Audited:
    """From the JSON of pip-audit. What it leaves out was not looked up either."""
    found = {one["name"].lower().replace("_", "-"): one for one in json.loads(said)["dependencies"]}
    skipped = sorted({
        name for name in (name.lower().replace("_", "-") for name in pinned)
        if name not in found or "skip_reason" in found[name]
    })
    lines = tuple(
        f"{one['name']} {one['version']}: {flaw['id']}, "
        + (f"mended in {', '.join(flaw['fix_versions'])}" if flaw.get("fix_versions") else "not mended yet")
        for one in found.values() for flaw in one.get("vulns", ())
    )
    return Audited(len({name.lower() for name in pinned}) - len(skipped), lines, tuple(skipped))


def looked_up(python: Path, file: Path) -> Audited:
    """Ask pip-audit. Raises CannotAudit where the service cannot be reached."""
    ran = subprocess.run(
        [python, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off",
         "--format", "json", "-r", file],
        capture_output=True, text=True, check=False, timeout=TIMEOUT,
    )
    try:
        return audited(ran.stdout, [pin.name for pin in pins_of(file.read_text(encoding="utf-8"), file.name)])
    except json.JSONDecodeError:
        last = (ran.stderr.strip() or "it said nothing").splitlines()[-1]
        raise CannotAudit(f"{file.name}: pip-audit got no answer: {last[:300]}") from None


def tool() -> Path:
    """A Python that has pip-audit, of the pinned versions. Raises CannotAudit."""
    uv = Path(sys.executable).with_name("uv")
    digest = sha256(TOOL.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = Path(os.environ.get("ASSAY_CACHE") or "~/.cache/assay").expanduser() / f"audit-{digest}"
    python = home / "bin" / "python"
    if not home.exists():
        install = [uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", TOOL]
        try:
            subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, home], check=True)
            subprocess.run(install, check=True)
        except subprocess.CalledProcessError:
            shutil.rmtree(home, ignore_errors=True)
            raise CannotAudit("pip-audit cannot be installed here") from None
    return python


def main(names: Sequence[str]) -> int:
    """Look up each file; what is known, in lines."""
    files = [Path(name) for name in names] or [ROOT / "requirements" / f"{name}.txt" for name in PINS]
    worst = 0
    try:
        python = tool()
        for file in files:
            found = looked_up(python, file)
            print(f"{file.name}: {found.looked_up} looked up, {len(found.vulnerable)} known vulnerabilities")
            for line in found.vulnerable:
                print(f"  {line}")
            if found.not_looked_up:
                shown = ", ".join(found.not_looked_up[:5]) + (", ..." if found.not_looked_up[5:] else "")
                print(f"  NOT looked up: {len(found.not_looked_up)} ({shown}): the index that is asked from "
                      "here does not know them, or tells no vulnerabilities; ask where pypi.org is reached")
                worst = worst or 4
            if found.vulnerable:
                worst = 1
    except CannotAudit as error:
        print(f"NOT audited: {error}")
        return worst or 4
    return worst


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
