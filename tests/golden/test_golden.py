"""Nothing changed by accident: draws, estimates, intervals and evidence are those of the golden file.

On the platform that made the file they are equal to the last bit.  Elsewhere the last bits may differ, so
values are compared to one part in a million, and digests are not compared.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from golden.cases import cases
from golden.platform_tag import platform_tag
from threadpoolctl import threadpool_limits

_FILE: dict[str, Any] = json.loads(Path(__file__).with_name("golden.json").read_text())
_SAME_PLATFORM = _FILE["platform"] == platform_tag()
_DIGESTS = {"plan", "numbers", "verdict"}


@pytest.mark.parametrize("name", _FILE["cases"])
def test_nothing_changed(name, tmp_path):
    with threadpool_limits(limits=1):
        found = json.loads(json.dumps(cases(tmp_path)[name]()))

    assert _kept(found) == _kept(_FILE["cases"][name], _near)


def test_every_case_is_in_the_file(tmp_path):
    assert set(cases(tmp_path)) == set(_FILE["cases"])


def _kept(data: Any, number: Any = float) -> Any:
    """What is compared on this platform; `number` is put around every floating-point number elsewhere."""
    if _SAME_PLATFORM:
        return data
    if isinstance(data, dict):
        return {key: _kept(value, number) for key, value in data.items() if key not in _DIGESTS}
    if isinstance(data, list):
        return [_kept(value, number) for value in data]
    return number(data) if isinstance(data, float) else data


def _near(x: float) -> Any:
    return pytest.approx(x, rel=1e-6, abs=1e-9)
