"""Which arithmetic this machine does: libraries and processor features that may round differently."""

import platform
from importlib.metadata import version

import numpy as np
from threadpoolctl import threadpool_info


def platform_tag() -> dict[str, str]:
    """Versions of the numerical libraries, the kernels of BLAS, and the instructions that NumPy found."""
    features: dict[str, bool] = np._core._multiarray_umath.__cpu_features__
    return {
        "machine": platform.machine(),
        "numpy": np.__version__,
        "scipy": version("scipy"),
        "scikit-learn": version("scikit-learn"),
        "blas": " ".join(sorted({one["architecture"] for one in threadpool_info() if "architecture" in one})),
        "features": " ".join(sorted(name for name, found in features.items() if found)),
    }
