# Everything one does with this repository. `make help` lists the targets; plain `make` does what CI does.

SHELL := /bin/bash
.DEFAULT_GOAL := test
MAKEFLAGS += --no-print-directory
export PATH := $(HOME)/.cargo/bin:$(PATH)
# Else each worker of the tests compiles all of them again.
unexport PYTHONDONTWRITEBYTECODE

# The first Python of 3.11 or newer; override with `make PYTHON=...`.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
OUT := build/demo
PROVIDERS_OUT := build/providers-demo
WHEELS := build/wheels
DISCOVERY_OUT := build/discovery
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

# The Cargo profile of the installed engine; quick builds in a third of the time and is nearly as fast.
PROFILE ?= release
# Seconds for each fuzz target, in CI too.
FUZZ_SECONDS ?= 10
RUN_TESTS = $(BIN)/pytest --durations=25
# What providers-demo is given, e.g. PROVIDERS_DEMO="--scale 0.1 --rtt 0.04".
PROVIDERS_DEMO ?=
# What swarm-demo is given, e.g. SWARM_DEMO="--repeat 1 --seeds 0,2,4".
SWARM_DEMO ?=
# The stand-in for Azure Blob storage; newer ones may do as well.
AZURITE ?= azurite@3.35.0
# What pages are judged by in a browser.
AXE ?= axe-core@4.10.3
# What net is given, e.g. NET="--keep build/net".
NET ?=
ELASTICMQ_JARS := build/elasticmq/elasticmq-server_3-1.7.1.jar
# What mutants are made of.
MUTANTS ?= sender/wire/handshake.py receiver/admission.py
# Records of the smallest capture of each family of growth.
SIZE ?= 1000
# For whom `make wheels` builds.
MACHINES ?= x86_64 aarch64
# What the bench is given, e.g. BENCH="--quick" or BENCH="--packets 1000000".
BENCH ?=

# What macros declare as modules, cargo fmt does not find by itself.
MODULES_OF_MACROS := $(wildcard analyze/engine/core/src/tcp/verdict/factors/*.rs)

PYTHON_SOURCES := $(wildcard analyze vmtrace lab bench tools tests)
RUST_SOURCES := $(shell find analyze/engine -name '*.rs' -not -path '*/fuzz/*' -o -name Cargo.toml -not -path '*/fuzz/*') \
    Cargo.toml Cargo.lock

export PYTHON PROFILE

.PHONY: corpus help queue-bench elasticmq setup demo test install lint format types test-rust test-python test-python-side-by-side test-python-alone tests-compiled test-long quick fuzz fuzz-build bench instructions budget growth net net-freeze discovery accuracy docs docs-write golden \
    providers-demo planted swarm-demo all-installed picture wheel wheels deb audit sbom lock mutants check-tools system-demo system-test clean

help: ## list the targets
	@echo 'make          what CI does: the same as make test'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- what a newcomer runs ---

demo: $(STAMPS)/system-demo $(STAMPS)/install ## set up, run a campaign (with root over an emulated path), report on it
	@mkdir -p $(OUT)
	@echo '== vmtrace analyze samples --report $(OUT)/samples.html'
	@$(BIN)/vmtrace analyze samples --report $(OUT)/samples.html
	@echo
	@echo 'What each sample is about: samples/README.md; their report: $(CURDIR)/$(OUT)/samples.html'
	@echo
	@echo '== vmtrace demo --out $(OUT)'
	@$(BIN)/vmtrace demo --out $(OUT)

providers-demo: $(STAMPS)/system-test all-installed ## storage services (stand-ins) compared over an emulated path (root)
	@$(BIN)/python -m vmtrace.lab.services.demo --out $(PROVIDERS_OUT)/$$(date +%Y%m%d-%H%M%S) $(PROVIDERS_DEMO)
	@$(BIN)/python -m vmtrace.lab.services.campaigns_demo --out $(PROVIDERS_OUT)/$$(date +%Y%m%d-%H%M%S)-campaigns

planted: $(STAMPS)/system-test all-installed ## planted causes of surge, sweep, availability and starvation, 20 seeds each (root; an hour)
	@for kind in surge sweep availability; do $(BIN)/python -m vmtrace.lab.services.planted --kind $$kind || exit 1; done
	@$(BIN)/python -m vmtrace.lab.campaign.starved

swarm-demo: $(STAMPS)/system-test all-installed ## BitTorrent with an object store and eight seeds of known rates (root)
	@$(BIN)/python -m vmtrace.lab.swarm.demo --out build/swarm-demo/$$(date +%Y%m%d-%H%M%S) $(SWARM_DEMO)

# Compilers and checkers two at a time: each has stretches on one processor alone. Tests keep time, and come after them.
test: $(STAMPS)/system-test all-installed ## set up, then all checks and tests
	@status=0; $(MAKE) --keep-going -j2 -Otarget lint types test-rust budget fuzz-build tests-compiled || status=1; \
	    $(MAKE) --keep-going test-python fuzz || status=1; exit $$status
	@echo '== all checks and tests passed'

setup: $(STAMPS)/system-test all-installed ## install all that developing needs: system packages, .venv, build
	@echo 'ready: source $(BIN)/activate'

# --- the parts ---

install: $(STAMPS)/install ## build and install vmtrace into .venv (editable)

lint: $(STAMPS)/install-dev ## rustfmt, clippy, ruff
	@echo '== lint'
	@tools/cargo-part fmt fmt --all --check -- $(MODULES_OF_MACROS)
	@tools/cargo-part clippy clippy --workspace --all-targets --locked --quiet -- -D warnings
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: $(STAMPS)/install-dev ## write the code as rustfmt and ruff want it
	@cargo fmt --all -- $(MODULES_OF_MACROS)
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

types: $(STAMPS)/install-dev ## mypy (strict), and the engine's stub against the engine
	@echo '== types'
	@$(BIN)/mypy
	@$(BIN)/python -P -m mypy.stubtest vmtrace.analyze._engine --mypy-config-file pyproject.toml

test-rust: $(STAMPS)/check-tools ## the tests of the engine
	@echo '== cargo test'
	@PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED-1} cargo test --workspace --locked --quiet --no-fail-fast

test-python: $(STAMPS)/install-dev ## the tests of everything else (PYTEST="-k name" for some)
	@echo '== pytest'
	@$(if $(PYTEST),,$(MAKE) --keep-going test-python-side-by-side test-python-alone)
	@$(if $(PYTEST),$(RUN_TESTS) $(PYTEST))

# Tests without namespaces, and the `untimed` ones with, need no exact times, and wait for two thirds of theirs: four at once on two
# processors, a file on one worker, since its tests share servers. Files that wait the most come first (tests/conftest.py).
test-python-side-by-side: $(STAMPS)/install-dev
	@$(RUN_TESTS) -n 4 --dist loadfile --no-loadscope-reorder -m "(not root or untimed) and not alone and not long"

# The others make hosts, record packets and compare times: one after the other on an idle machine. Only files that have
# some are collected.
test-python-alone: $(STAMPS)/install-dev
	@$(RUN_TESTS) -m "(root and not untimed or alone) and not long" \
	    $$(grep -rlE 'mark\.(root|alone)' tests --include='test_*.py')

# Once, so that workers find them compiled.
tests-compiled: $(STAMPS)/install-dev
	@$(BIN)/pytest --collect-only --quiet --quiet

quick: $(STAMPS)/install-dev ## lint, types, Rust tests, and short Python tests without namespaces, servers, browsers
	@$(MAKE) --keep-going lint types test-rust
	@$(BIN)/pytest -q -n 2 --dist loadfile -m "not root and not alone and not slow and not server and not long" $(PYTEST)

test-long: $(STAMPS)/system-test all-installed ## tests of minutes each, and properties with ten times as many examples (root)
	@VMTRACE_PROPERTY_TIMES=10 cargo test --workspace --locked --quiet --no-fail-fast
	@VMTRACE_LAB_CACHE= $(BIN)/pytest -m long $(PYTEST)
	@VMTRACE_EXAMPLES=500 $(BIN)/pytest -q -n 2 --dist loadfile -m "hypothesis and not root and not alone" $(PYTEST)

fuzz-build: $(STAMPS)/install-dev
	@echo '== build of the fuzz targets'
	@tools/fuzz --build

fuzz: $(STAMPS)/install-dev ## every fuzz target for FUZZ_SECONDS (10) each; CONTRIBUTING.md for long runs
	@echo '== fuzz, $(FUZZ_SECONDS) s for each target'
	@tools/fuzz --seconds $(FUZZ_SECONDS)

bench: $(STAMPS)/install-dev ## speed beside peers on the same files; writes docs/performance.md (BENCH="--quick")
	@tools/system-packages bench
	@cargo build --release --locked --examples --package vmtrace-core
	@$(BIN)/python -m bench.run $(BENCH)
	@$(BIN)/python -m bench.transfers $(filter --quick,$(BENCH))
	@$(BIN)/python -m bench.capture $(filter --quick,$(BENCH))
	@$(BIN)/python -m bench.campaign $(filter --quick,$(BENCH))
	@$(BIN)/python -m bench.storage $(filter --quick,$(BENCH))
	@$(BIN)/python -m bench.storage_probes $(filter --quick,$(BENCH))
	@$(BIN)/python -m bench.cost $(filter --quick,$(BENCH))
	@$(BIN)/python -m bench.storage_campaign $(filter --quick,$(BENCH))

corpus: $(STAMPS)/install-dev ## corpora on workers: equality in full, kills at random, and what it costs
	@cargo build --release --locked --quiet --example bench_generate --package vmtrace-core
	@$(BIN)/pytest -q -m 'long or not long' tests/corpus
	@$(BIN)/python -m tests.corpus.grid
	@$(BIN)/python -m bench.corpus

net: $(STAMPS)/install-dev ## the engine's output against the frozen hashes (NET="--keep DIR")
	@cargo build --release --locked --quiet --example bench_generate --package vmtrace-core
	@$(BIN)/python -m tools.engine_net $(NET)

net-freeze: $(STAMPS)/install-dev ## freeze the engine's output as it is now: tools/engine_net.txt
	@cargo build --release --locked --quiet --example bench_generate --package vmtrace-core
	@$(BIN)/python -m tools.engine_net --freeze

instructions: $(STAMPS)/install-dev ## the engine's instructions per packet, by callgrind
	@tools/system-packages bench
	@cargo build --release --locked --examples --package vmtrace-core
	@PROFILE=release $(BIN)/python -m tools.engine_instructions
	@$(BIN)/python -m tools.engine_ratios --profile release

budget: $(STAMPS)/system-test $(STAMPS)/install-dev ## the same in the profile `quick`, against bench/budget.tsv; fails above it
	@echo '== budget'
	@cargo build --profile quick --locked --quiet --example analyze --example bench_generate --package vmtrace-core
	@PROFILE=quick $(BIN)/python -m tools.engine_instructions --check
	@$(BIN)/python -m tools.engine_ratios --profile quick --only appended
	@$(BIN)/python -m tools.engine_growth --profile quick

growth: $(STAMPS)/system-test $(STAMPS)/install-dev ## how instructions grow with a capture, family by family (SIZE=1000)
	@cargo build --profile quick --locked --quiet --example analyze --example bench_generate --package vmtrace-core
	@$(BIN)/python -m tools.engine_growth --profile quick --size $(SIZE)

discovery: $(STAMPS)/system-test $(STAMPS)/install-dev ## the discovery of a lab world with known truth (needs root)
	@$(BIN)/python -P -m vmtrace.lab.world --out $(DISCOVERY_OUT)
	@$(BIN)/python -P -m vmtrace.lab.world.load --out $(DISCOVERY_OUT)/load

queue-bench: $(STAMPS)/install-dev elasticmq ## queue latency at 200 messages/s for 10 minutes, against known truth
	@$(BIN)/python -m bench.queue

elasticmq: ## get the SQS stand-in ElasticMQ (needs Java and Maven)
	@if [ ! -e $(ELASTICMQ_JARS) ]; then \
	    command -v mvn >/dev/null || { echo 'ElasticMQ needs Maven: apt-get install maven default-jre-headless'; exit 1; }; \
	    mvn --quiet --batch-mode --file lab/services/elasticmq.pom.xml dependency:copy-dependencies \
	        -DoutputDirectory=$(CURDIR)/build/elasticmq; \
	fi

accuracy: $(STAMPS)/system-test $(STAMPS)/install-dev ## accuracy beside tshark and tcptrace (needs root for namespaces)
	@status=0; $(BIN)/python -P -m vmtrace.lab.accuracy || status=$$?; \
	    $(BIN)/python -m tools.reliability_diagram build/accuracy/confidence.json docs/confidence.svg && exit $$status

golden: $(STAMPS)/install-dev ## write the texts anew that tests compare as a whole (tests/golden); read the diff
	@VMTRACE_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q -p no:cacheprovider $$(grep -rl "golden_texts.check(" tests --include="test_*.py")

docs-write: $(STAMPS)/install-dev ## write the tables of fields into docs/json.md
	@$(BIN)/python -m tools.field_tables

docs: $(STAMPS)/install-dev ## check that the documents say what the program does
	@$(BIN)/pytest -q tests/house

picture: $(STAMPS)/install-dev ## docs/report.png, the README's picture of a report (needs Chromium)
	@mkdir -p build
	@$(BIN)/vmtrace analyze samples/lossy-sender.pcap samples/tls13.pcap --report build/picture.html --quiet
	@chromium --headless --no-sandbox --hide-scrollbars --window-size=1100,1118 \
	    --screenshot=docs/report.png file://$(CURDIR)/build/picture.html 2>build/picture.log

wheel: $(STAMPS)/install-dev ## an abi3 wheel in build/wheels, for machines without Rust; auditwheel says how old they may be
	@$(BIN)/maturin build --quiet --profile $(PROFILE) --locked --out $(WHEELS)
	@$(BIN)/auditwheel show $(WHEELS)/vmtrace-*.whl

wheels: $(STAMPS)/zig ## the same for x86_64 and aarch64 and systems from 2014 on (manylinux2014): zig links them
	@for machine in $(MACHINES); do \
	    PATH=$(CURDIR)/build/zig/bin:$$PATH $(BIN)/maturin build --quiet --zig --compatibility manylinux2014 \
	        --target $$machine-unknown-linux-gnu --profile $(PROFILE) --locked --out $(WHEELS) && \
	    $(BIN)/auditwheel show $(WHEELS)/vmtrace-*manylinux2014_$$machine.*.whl || exit 1; \
	done

audit: $(STAMPS)/install-dev ## licences, duplicates, sources and hashes of all that we depend on, without a network
	@$(BIN)/python -m tools.audit
	@if command -v cargo-deny >/dev/null; then cargo deny --offline check licenses bans sources; fi

sbom: $(STAMPS)/install-dev ## what we depend on as CycloneDX documents, in build/sbom
	@$(BIN)/python -m tools.audit --sbom build/sbom

lock: ## tools/locked.txt anew: the newest versions that fit, with hashes (needs uv and a registry)
	@{ sed -n '/^#/p;/^#/!q' tools/locked.txt; uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --extra dev \
	    --no-header --no-annotate --no-emit-index-url pyproject.toml; } > build/locked.txt
	@mv build/locked.txt tools/locked.txt

mutants: $(STAMPS)/install-dev ## changes files in one place each and runs their tests (MUTANTS="sender/wire/keys.py")
	@$(BIN)/python -m tools.mutants --most 25 $(MUTANTS)

deb: wheel ## a Debian package in build/wheels, for this machine's Python
	@packaging/debian/build "$$(ls $(WHEELS)/vmtrace-*.whl | tail -n 1)" $(WHEELS)

clean: ## remove what was built, but not .venv
	@rm -rf build $(TARGET_DIR)

# --- set-up; a stamp in build/stamps says that a step is done ---

check-tools: $(STAMPS)/check-tools

$(STAMPS)/check-tools: tools/check-tools Cargo.toml
	@mkdir -p $(@D)
	@tools/check-tools
	@touch $@

$(STAMPS)/system-demo: tools/system-packages $(STAMPS)/check-tools
	@tools/system-packages demo
	@touch $@

$(STAMPS)/system-test: tools/system-packages $(STAMPS)/check-tools
	@tools/system-packages test
	@touch $@

$(VENV)/bin/python:
	@echo "Python environment: $(VENV), with $(PYTHON)"
	@tools/system-packages demo
	@$(PYTHON) -m venv $(VENV)

$(STAMPS)/install: pyproject.toml $(RUST_SOURCES) | $(STAMPS)/check-tools $(VENV)/bin/python
	@echo 'Building vmtrace and installing it with its dependencies into $(VENV): pip install -e .[reports,stores]'
	@$(BIN)/pip install --quiet --disable-pip-version-check --config-settings build-args=--profile=$(PROFILE) -e '.[reports,stores]'
	@touch $@

$(STAMPS)/install-dev: pyproject.toml tools/locked.txt $(RUST_SOURCES) | $(STAMPS)/check-tools $(VENV)/bin/python
	@echo "Building vmtrace and installing it with what tests and checks need into $(VENV), by tools/locked.txt"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement tools/locked.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --config-settings build-args=--profile=$(PROFILE) --no-deps -e .
	@touch $(STAMPS)/install $@

# Zig brings the C libraries of other machines and years; an environment of its own, for it is ten times as large as vmtrace.
$(STAMPS)/zig: tools/zig.txt $(STAMPS)/install-dev
	@rustup target add $(MACHINES:%=%-unknown-linux-gnu)
	@$(PYTHON) -m venv build/zig
	@build/zig/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement tools/zig.txt
	@touch $@

# At once: the one waits for processors, the other for the network.
all-installed: | $(STAMPS)/check-tools
	@$(MAKE) -j2 $(STAMPS)/install-dev $(STAMPS)/azurite $(STAMPS)/axe

# Packages of npm, each in a folder of its own in build: they are of this checkout alone. Without npm the others still work.
$(STAMPS)/azurite: PACKAGE = $(AZURITE)
$(STAMPS)/axe: PACKAGE = $(AXE)
$(STAMPS)/azurite $(STAMPS)/axe: | $(STAMPS)/system-test
	@mkdir -p $(@D) build/$(@F)
	@if ! command -v npm >/dev/null; then \
	    echo '$(PACKAGE) is not installed: there is no npm'; \
	elif npm install --silent --no-audit --no-fund --ignore-scripts --omit=dev --prefix build/$(@F) $(PACKAGE); then \
	    touch $@; \
	else \
	    echo '$(PACKAGE) is not installed: npm failed'; \
	fi
