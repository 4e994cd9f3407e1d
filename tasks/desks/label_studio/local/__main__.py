"""`python -m assay.tasks.desks.label_studio.local --install`"""

import argparse
import sys

from assay.evalcore.errors import AssayError
from assay.tasks.desks.label_studio.local.installation import install
from assay.tasks.desks.label_studio.local.process import VERSION


def main(arguments: list[str] | None = None) -> int:
    """`--install`: everything a later start needs, so that the start itself takes seconds."""
    program = "python -m assay.tasks.desks.label_studio.local"
    parser = argparse.ArgumentParser(prog=program, description=main.__doc__)
    parser.add_argument("--install", action="store_true", required=True, help="install and migrate, once")
    parser.parse_args(arguments)
    try:
        home = install()
    except AssayError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"Label Studio {VERSION} is ready in {home}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
