"""Every study can be imported: those that run for hours are not run by the tests, and break unseen."""

import pkgutil
from importlib import import_module

import benchmarks


def test_each_is_imported():
    for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."):
        if "__main__" not in module.name:
            import_module(module.name)
