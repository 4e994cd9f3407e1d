"""The software bill of materials: what a file of pins installs, as CycloneDX JSON.

    python deployments/release/bill_of_materials.py requirements/constraints.txt > assay.cdx.json

Everything comes from the pins: names, versions, markers, and the SHA-256 of every file that may be installed.
The same pins give the same bytes; no clock is read, and nothing is asked for.
"""

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;]+)(?:\s*;\s*(.+))?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """One package of a file of pins."""

    name: str
    version: str
    marker: str                      # where it is installed; empty: everywhere
    hashes: tuple[str, ...]          # SHA-256 of its files

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{re.sub(r'[-_.]+', '-', self.name).lower()}@{self.version}"


class WrongPins(Exception):
    """A file of pins that is not one; the message says which line."""


def pins_of(text: str, origin: str) -> list[Pin]:
    """The pins in the text of a requirements file. Raises WrongPins for a line without a pin or a hash."""
    found = []
    for number, line in _logical(text):
        said = _PIN.fullmatch(_HASH.sub("", line).strip())
        hashes = tuple(sorted(_HASH.findall(line)))
        if said is None:
            raise WrongPins(f"{origin}, line {number}: no pin: {line[:60]}")
        if not hashes:
            raise WrongPins(f"{origin}, line {number}: {said[1]} has no hash; `make lock` writes them")
        found.append(Pin(said[1], said[2], (said[3] or "").strip(), hashes))
    return sorted(found, key=lambda pin: (pin.purl, pin.marker))


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """(number of its first line, text) of each requirement; comments and blanks are left out."""
    held, began = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.split(" #")[0].strip()
        if not plain or plain.startswith("#"):
            continue
        began = began if held else number
        held += plain.removesuffix("\\") + " "
        if not plain.endswith("\\"):
            yield began, held.strip()
            held = ""
    if held:
        yield began, held.strip()


def bill_of_materials(pins: Sequence[Pin], version: str, origin: str) -> dict[str, Any]:
    """The bill, as CycloneDX 1.6."""
    ours = f"pkg:pypi/assay-evaluation@{version}"
    components = [_component(pin) for pin in pins]
    digest = hashlib.sha256(json.dumps([ours, components]).encode()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": ours, "name": "assay-evaluation", "version": version,
                "purl": ours, "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
            "properties": [{"name": "assay:pins", "value": origin}],
        },
        "components": components,
        "dependencies": [{"ref": ours, "dependsOn": sorted({one["bom-ref"] for one in components})}],
    }


def _component(pin: Pin) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": "library", "bom-ref": pin.purl + (f"#{pin.marker}" if pin.marker else ""), "name": pin.name,
        "version": pin.version, "purl": pin.purl,
        # one of these files is installed, which depends on the machine
        "externalReferences": [{
            "type": "distribution", "url": f"https://pypi.org/project/{pin.name}/{pin.version}/",
            "hashes": [{"alg": "SHA-256", "content": one} for one in pin.hashes],
        }],
    }
    if pin.marker:
        told["properties"] = [{"name": "assay:marker", "value": pin.marker}]
    return told


def version_here() -> str:
    """The version of this checkout."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def written_bill(path: Path) -> str:
    """The bill of a file of pins, as text. Raises WrongPins."""
    name = path.resolve().relative_to(ROOT).as_posix() if path.resolve().is_relative_to(ROOT) else path.name
    bill = bill_of_materials(pins_of(path.read_text(encoding="utf-8"), name), version_here(), name)
    return json.dumps(bill, indent=1) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("name one file of pins, such as requirements/constraints.txt")
    try:
        sys.stdout.write(written_bill(Path(sys.argv[1])))
    except (WrongPins, OSError) as error:
        raise SystemExit(str(error)) from None
