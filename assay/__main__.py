"""`python -m assay`: the command line, where another program on the path is called `assay`."""

from assay.flows.cli.entry import main

if __name__ == "__main__":
    main()
