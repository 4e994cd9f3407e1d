"""The program `assay`: the command line, and what Ctrl-C does to it.

Ctrl-C ends every command with exit code 130 and one line, at any moment: also while libraries are imported,
which takes seconds.  So this module imports next to nothing.
"""

import gc
import os
import signal
import sys
from types import FrameType

from assay.tasks.operating_system import INTERRUPTED, SAFE, print_as_utf8

COLLECT_AFTER = 50_000   # containers; Python's own number is 700


def main() -> None:
    """Run the command line and exit with its code.

    Linear algebra gets one thread, unless the environment says otherwise: our matrices are small, and a
    second thread mostly waits for the first.  Garbage is looked for seldom: what an import makes lives to the
    end, and looking through it again and again took a sixth of the time of a short command.  Nor are plugins
    of pydantic looked for among all packages that are installed, which took a twelfth.
    """
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    print_as_utf8()
    sys.unraisablehook = _again_if_interrupted
    try:
        from assay.flows.cli.main import run_command_line

        code = run_command_line(sys.argv[1:])
    except KeyboardInterrupt:
        code = INTERRUPTED
        print(f"assay: {SAFE}", file=sys.stderr)   # noqa: T201
    signal.signal(signal.SIGINT, _at_once)   # while what is open is closed
    sys.exit(code)


def _again_if_interrupted(unraisable: "sys.UnraisableHookArgs") -> None:
    """An interrupt in code that nobody waits for, such as a finaliser, is raised again where it is heard."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    else:
        sys.__unraisablehook__(unraisable)


def _at_once(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
