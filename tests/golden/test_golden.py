"""Nothing changed by accident: draws, estimates, intervals and evidence are those of the golden files.

On the platform that recorded a case it is equal to the last bit.  On every other one they are the same
items and the same whole numbers, and the same floating-point numbers to one part in 10^8.
"""

import pytest
from golden.answers import differences, plain
from golden.cases import cases
from golden.platform_tag import platform_tag
from golden.recordings import recordings
from threadpoolctl import threadpool_limits

_RECORDED = recordings()


@pytest.mark.parametrize("name", _RECORDED)
def test_nothing_changed(name, tmp_path):
    with threadpool_limits(limits=1):
        found = plain(cases(tmp_path)[name]())
    kept = _RECORDED[name]
    same = kept.platform == platform_tag()
    assert [*differences(kept.answer, found, same_platform=same)][:5] == []


def test_every_case_is_recorded(tmp_path):
    assert set(cases(tmp_path)) == set(_RECORDED)
