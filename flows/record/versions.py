"""Versions of what may decide a last digit: recorded when an evaluation begins, and shown as evidence."""

import platform
from importlib.metadata import version

_DECIDE_NUMBERS = ("assay", "numpy", "scipy", "pyarrow")


def versions() -> dict[str, str]:
    """Of everything whose version may decide a last digit."""
    return {"python": platform.python_version()} | {name: version(name) for name in _DECIDE_NUMBERS}
