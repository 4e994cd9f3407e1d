"""Every study can be imported: those that run for hours are not run by the tests, and break unseen."""

import pkgutil
from importlib import import_module

import pytest

import benchmarks

STUDIES = [
    m.name for m in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.") if "__main__" not in m.name
]


@pytest.mark.parametrize("name", STUDIES)
def test_it_is_imported(name):
    import_module(name)
