"""`python -m benchmarks.large_pools.begin SPEC` prints the seconds to begin; people are only played.

Processes that freeze shards import this module too, as they import the command line's: so it imports nothing.
"""

if __name__ == "__main__":
    import sys
    import time
    from pathlib import Path

    from assay.flows.evaluation.begin import begin_evaluation
    from assay.tasks.ledger import open_store
    from assay.tasks.spec.evaluation import load_spec
    from assay.tasks.testing import FakeDesk

    spec = load_spec(Path(sys.argv[1]))
    start = time.perf_counter()
    begin_evaluation(open_store(str(spec.store)), spec, FakeDesk())
    sys.stdout.write(f"{time.perf_counter() - start}\n")
