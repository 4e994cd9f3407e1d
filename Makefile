# `make demo` and `make test` set up everything they need: Python 3.11+, git and make are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Label Studio lives in an environment of its own (790 MB, pins that clash with ours), outside the checkout.
ASSAY_CACHE ?= $(HOME)/.cache/assay
export ASSAY_CACHE
export DO_NOT_TRACK = 1
# Modules are compiled once, not by every process: importing Prefect takes 6 s so, and 11 s without.
export PYTHONDONTWRITEBYTECODE =
# Our matrices are small: a second thread of linear algebra mostly waits for the first, and takes a processor for it.
export OPENBLAS_NUM_THREADS ?= 1

# The version of promptfoo whose output is in tests/logs.
PROMPTFOO ?= 0.121.20

# Checks at a time, and processes of tests: one more, for some always wait for a server.
JOBS ?= 2
TESTERS ?= $(shell expr $(JOBS) + 1)

# Data and generated credentials of `make up`.
ASSAY_LOCAL ?= .local

.PHONY: setup demo test test-slow studies release audit lint ruff mypy imports bench monitoring reproduce certify recovery recovery-long ledger-cost large-pools processors docs links connectors desks label-studio up down lock clean

setup: $(VENV)/.installed

$(VENV)/.installed: requirements/constraints.txt requirements/bootstrap.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements/bootstrap.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/constraints.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

demo: setup
	$(BIN)/assay demo

label-studio: setup
	$(BIN)/python -m assay.tasks.desks.label_studio.local --install

# Prefect (server and worker), Label Studio, S3, the receiver of webhooks and the pages, on this machine only.
up: label-studio
	$(BIN)/python deployments/local.py prepare $(ASSAY_LOCAL)
	@echo $$$$ > $(ASSAY_LOCAL)/pid; exec env ASSAY_PYTHON=$(abspath $(BIN))/python \
	$(BIN)/honcho -f deployments/Procfile -d $(CURDIR) -e $(abspath $(ASSAY_LOCAL))/env start

down:
	@pid=$$(cat $(ASSAY_LOCAL)/pid 2>/dev/null) && grep -q honcho /proc/$$pid/cmdline 2>/dev/null \
	&& kill $$pid && echo "stopped" || echo "nothing is up in $(ASSAY_LOCAL)"

lint: setup
	$(MAKE) --no-print-directory --output-sync -j $(JOBS) ruff mypy imports

ruff: setup
	$(BIN)/ruff check .

mypy: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

# Types take a minute and one processor: they are checked beside all else, and told after it. So does Label Studio's
# database, where it is made for the first time.
test: setup
	@$(BIN)/mypy > $(VENV)/mypy.txt 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory --output-sync -j 4 ruff imports label-studio || { kill $$types; exit 1; }; \
	$(BIN)/pytest -n $(TESTERS) --dist loadfile; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/mypy.txt; test $$tests -eq 0 -a $$types -eq 0

# What takes minutes: the whole local stack, once, each of Prefect's task runners, and the studies.
test-slow: label-studio studies
	ASSAY_SLOW=1 $(BIN)/pytest tests/end_to_end/test_local_stack.py tests/end_to_end/test_shards_in_prefect.py

# Simulations of what docs/measured has, of which the gate runs the short ones.
studies: setup
	$(BIN)/pytest -n $(JOBS) -m study

# Sdist, wheel, bills of materials and digests in dist/, tried light and full on each Python 3.11 to 3.13 that is here.
release: setup
	$(BIN)/python deployments/release/release.py

# The pins against known vulnerabilities; says so where it cannot look them up. Asks the index about each package.
audit: setup
	$(BIN)/python deployments/release/audit.py

# The documentation site, in .cache/site. A warning is an error; notebooks are run.
docs: setup
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs .cache/site

# Links of the pages, addresses on the web included: the only target that asks the web.
links: setup
	$(BIN)/python docs/links.py --external

# Logs of Inspect, lm-evaluation-harness, promptfoo, datasets, and of the tools of TRACED, made anew by the packages
# themselves, and the tests of `assay import` on them. The gate reads those in tests/logs, made in the same way. Minutes;
# needs node and npm.
CONNECTORS := $(ASSAY_CACHE)/connectors
MADE_BY    := $(CURDIR)/tests/logs/made_by
TRACED     := otel phoenix langfuse langsmith deepeval ragas
connectors: setup
	for tool in inspect lm-eval $(TRACED); do \
	  $(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(CONNECTORS)/$$tool && \
	  $(BIN)/uv pip install --quiet --python $(CONNECTORS)/$$tool/bin/python --require-hashes -r requirements/$$tool.txt \
	  || exit 1; done
	npm install --silent --no-audit --no-fund --prefix $(CONNECTORS)/promptfoo promptfoo@$(PROMPTFOO)
	rm -rf $(CONNECTORS)/logs && mkdir -p $(CONNECTORS)/logs/promptfoo
	cd $(CONNECTORS) && inspect/bin/python $(MADE_BY)/for_inspect.py logs/inspect
	cd $(CONNECTORS) && lm-eval/bin/python $(MADE_BY)/for_lm_eval.py logs/lm-eval
	cd $(CONNECTORS) && lm-eval/bin/python $(MADE_BY)/for_datasets.py logs/datasets
	cd $(CONNECTORS) && export PROMPTFOO_CONFIG_DIR=$(CONNECTORS)/promptfoo PROMPTFOO_DISABLE_TELEMETRY=1 \
	  PROMPTFOO_DISABLE_UPDATE=1 PROMPTFOO_FAILED_TEST_EXIT_CODE=0; for made in one.json several.jsonl; do \
	  promptfoo/node_modules/.bin/promptfoo eval --no-cache --no-table --no-progress-bar --no-write --no-share \
	  -c $(MADE_BY)/for_promptfoo/$${made%.*}.yaml -o logs/promptfoo/$$made || exit 1; done
	cd $(CONNECTORS) && for tool in $(TRACED); do \
	  $$tool/bin/python $(MADE_BY)/for_$$tool.py logs/$$tool || exit 1; done
	ASSAY_LOGS=$(CONNECTORS)/logs $(BIN)/pytest tests/unit/tasks/connectors tests/end_to_end/test_import.py

# The desk in Phoenix against a server of it, in the environment that `make connectors` makes for it.
desks: setup
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(CONNECTORS)/phoenix
	$(BIN)/uv pip install --quiet --python $(CONNECTORS)/phoenix/bin/python --require-hashes -r requirements/phoenix.txt
	ASSAY_PHOENIX=$(CONNECTORS)/phoenix/bin/phoenix $(BIN)/pytest tests/contract/test_desk_contract.py -k phoenix

bench: setup
	$(BIN)/python -m benchmarks

# False alarms and delays of a monitor, and what a warm start saves. Tables go to docs/measured/.
monitoring: setup
	$(BIN)/python -m benchmarks.monitoring
	$(BIN)/python -m benchmarks.warm_start

# The papers' tables and figures beside ours. Minutes. Pages go to docs/measured/papers/.
reproduce: setup
	$(BIN)/python -m benchmarks.reproduce.recycled_samples
	$(BIN)/python -m benchmarks.reproduce.bernoulli_sampling
	$(BIN)/python -m benchmarks.reproduce.active_f_measure
	$(BIN)/python -m benchmarks.reproduce.needle
	$(BIN)/python -m benchmarks.reproduce.low_shot
	PYTHONPATH=tests:. $(BIN)/python -m benchmarks.reproduce.numbers
	$(BIN)/python -m benchmarks.reproduce.items

# Hours on two cores; both keep what is finished in .cache/ and go on from there. Tables go to docs/measured/.
certify: setup studies
	$(BIN)/python -m benchmarks.methods --repeats 1000 --cache .cache/methods.jsonl
	$(BIN)/python -m benchmarks.certify --repeats 1000 --cache .cache/certification.jsonl
	$(BIN)/python -m benchmarks.certify --repeats 1000 --until 300 --cache .cache/certification.jsonl \
	--measures f1,precision,recall,accuracy,balanced_accuracy,mcc,specificity,fbeta
	$(BIN)/python -m benchmarks.certify --write --cache .cache/certification.jsonl

# Servers are killed, replies are lost, disks are full: some twenty minutes, or hours and docs/measured/recovery.md. What
# is finished is kept in .cache/recovery-short.jsonl and .cache/recovery.jsonl, and they go on from there; remove these
# to begin anew.
recovery recovery-long: export PYTHONPATH = tests

recovery: label-studio
	$(BIN)/python -m benchmarks.recovery kills --kills 30 --results .cache/recovery-short.jsonl
	$(BIN)/python -m benchmarks.recovery faults --times 1 --results .cache/recovery-short.jsonl
	$(BIN)/python -m benchmarks.recovery every --results .cache/recovery-short.jsonl
	$(BIN)/python -m benchmarks.recovery turns --results .cache/recovery-short.jsonl
	$(BIN)/python -m benchmarks.recovery fuzz --mutations 500 --results .cache/recovery-short.jsonl

recovery-long: label-studio
	$(BIN)/python -m benchmarks.recovery kills --kills 1000
	$(BIN)/python -m benchmarks.recovery faults --times 3
	$(BIN)/python -m benchmarks.recovery every
	$(BIN)/python -m benchmarks.recovery turns
	$(BIN)/python -m benchmarks.recovery fuzz
	$(BIN)/python -m benchmarks.recovery away
	$(BIN)/python -m benchmarks.recovery schedules
	$(BIN)/python -m benchmarks.recovery many
	$(BIN)/python -m benchmarks.recovery page

# Every golden case under every kernel of BLAS and set of instructions that can be chosen here. Minutes.
processors: setup
	rm -rf .cache/processors
	PYTHONPATH=tests $(BIN)/python -m golden.kernels .cache/processors

# What a round and a list of many evaluations cost the store: docs/measured/ledger-cost.md.
ledger-cost: setup
	PYTHONPATH=tests $(BIN)/python -m benchmarks.ledger_cost

# Freezes pools of up to 10^8 rows by one process, by two, on Dask and on Ray, on disk and S3: about half an hour,
# and 10 GB of disk in .cache/large-pools, where what is measured is kept. Dask and Ray are extras.
large-pools: setup
	PYTHONPATH=tests:. $(BIN)/python -m benchmarks.large_pools

# Recompile the pins. Registry addresses stay out of the files. `make lock UPGRADE=` adds what pyproject.toml asks for
# anew, and leaves the versions as they are.
UPGRADE ?= --upgrade
COMPILE := uv pip compile -q --generate-hashes --no-header --no-annotate --python-version 3.11 $(UPGRADE)
EVERY   := $(addprefix --extra ,service demo mlflow prometheus otel dask sql duckdb delta iceberg signing)   # but for what needs a cloud, or Ray
lock: setup
	$(BIN)/$(COMPILE) --universal requirements/bootstrap.in -o requirements/bootstrap.txt
	$(BIN)/$(COMPILE) --universal --group dev $(EVERY) pyproject.toml -o requirements/constraints.txt
	$(BIN)/$(COMPILE) --universal -c requirements/constraints.txt pyproject.toml -o requirements/light.txt
	$(BIN)/$(COMPILE) requirements/label-studio.in -o requirements/label-studio.txt
	$(BIN)/$(COMPILE) --universal requirements/helm.in -o requirements/helm.txt
	$(BIN)/$(COMPILE) --universal requirements/audit.in -o requirements/audit.txt

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
