"""Which arithmetic this machine does: libraries and processor features that may round differently."""

import platform
from importlib.metadata import version

import numpy as np


def platform_tag() -> dict[str, str]:
    """Versions of the numerical libraries and the vector instructions that NumPy found."""
    features: dict[str, bool] = np._core._multiarray_umath.__cpu_features__
    return {
        "machine": platform.machine(),
        "numpy": np.__version__,
        "scipy": version("scipy"),
        "scikit-learn": version("scikit-learn"),
        "features": " ".join(sorted(name for name, found in features.items() if found)),
    }
