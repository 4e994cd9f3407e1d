"""Processors that this one can stand in for, by the environment of a process.

OPENBLAS_CORETYPE chooses the kernels of BLAS, NPY_DISABLE_CPU_FEATURES what NumPy may use, and GLIBC_TUNABLES
what the C library does: its logarithms and exponentials are other ones with fused multiplication.
`python -m golden.kernels FOLDER` runs every golden case under all of them, keeps the answers in the folder,
and writes docs/measured/processors.md.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

_AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_ICL AVX512_CLX AVX512_CNL"
_NO_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable"}
_HERE: Mapping[str, bool] = np._core._multiarray_umath.__cpu_features__


def _kernels() -> dict[str, dict[str, str]]:
    if platform.machine() not in ("x86_64", "AMD64"):
        return {}
    blas = ["Prescott", "Nehalem", "SandyBridge"]
    if _HERE.get("AVX2"):
        blas += ["Haswell", "Zen"]
    if _HERE.get("AVX512_SKX"):
        blas += ["SkylakeX"]
    found = {name: {"OPENBLAS_CORETYPE": name} for name in blas}
    found["without AVX-512"] = {"NPY_DISABLE_CPU_FEATURES": _AVX512}
    found["without AVX2"] = {"NPY_DISABLE_CPU_FEATURES": f"{_AVX512} AVX2 FMA3"}
    found["1 thread"] = {"OPENBLAS_NUM_THREADS": "1"}
    found["2 threads"] = {"OPENBLAS_NUM_THREADS": "2"}
    found["oldest"] = {
        "OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1", **_NO_FMA,
        "NPY_DISABLE_CPU_FEATURES": f"{_AVX512} AVX2 FMA3 F16C AVX SSE42",
    }
    return found


KERNELS = _kernels()    # by name; none where processors cannot be chosen so


def environment_of(kernel: str | None) -> dict[str, str]:
    """Of a process under a kernel; None: of this machine as it is."""
    tests = str(Path(__file__).parents[1])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([tests, str(Path(tests).parent), os.environ.get("PYTHONPATH", "")]),
        "PYTHONWARNINGS": "ignore",   # NumPy says that it was told of features this processor lacks
        **({} if kernel is None else KERNELS[kernel]),
    }


def main(folder: Path, page: Path) -> int:
    """Run all that has no answers in the folder yet; write the page, and print what differs."""
    from golden.answers import TOLERANCE, differences

    rows, here, bad = [], {}, 0
    for kernel in (None, *KERNELS):
        path = folder / f"{kernel}.json"
        if not path.exists():
            command = [sys.executable, "-m", "golden", str(path)]
            subprocess.run(command, env=environment_of(kernel), check=True, stdout=subprocess.DEVNULL)
        found = json.loads(path.read_text())["cases"]
        here = here or found
        wrong = [*differences(here, found, same_platform=False)]
        bad += bool(wrong)
        chosen = " ".join(f"{name}={value}" for name, value in KERNELS.get(kernel or "", {}).items())
        rows.append(f"| {kernel or 'as recorded here'} | {chosen} | {len(found)} | {len(wrong)} |")
        print(rows[-1], *wrong[:5], sep="\n  ", flush=True)
    page.write_text("\n".join([
        "# The same numbers on every processor", "",
        "Made by `make processors`. Every case of the golden file (whole evaluations, replays and monitors",
        "of every kind of outcome, with every method) was run under each, in processes of their own.",
        "Items, draws and whole numbers must be the same, floating-point numbers the same to "
        f"{TOLERANCE:g} of themselves.", "",
        "| processor | chosen by | cases | numbers that differ |", "|---|---|---|---|", *rows, "",
    ]), encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    sys.exit(main(Path(sys.argv[1]), Path(__file__).parents[2] / "docs" / "measured" / "processors.md"))
