"""Nothing changed by accident: draws, estimates, intervals and evidence are those of the golden file.

On the platform that recorded the file they are equal to the last bit.  On every other one they are the same
items and the same whole numbers, and the same floating-point numbers to one part in 10^8.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from golden.answers import differences, plain
from golden.cases import cases
from golden.platform_tag import platform_tag
from threadpoolctl import threadpool_limits

_FILE: dict[str, Any] = json.loads(Path(__file__).with_name("golden.json").read_text())


@pytest.mark.parametrize("name", _FILE["cases"])
def test_nothing_changed(name, tmp_path):
    with threadpool_limits(limits=1):
        found = plain(cases(tmp_path)[name]())
    same = _FILE["platform"] == platform_tag()
    assert [*differences(_FILE["cases"][name], found, same_platform=same)][:5] == []


def test_every_case_is_in_the_file(tmp_path):
    assert set(cases(tmp_path)) == set(_FILE["cases"])
