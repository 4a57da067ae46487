# Everything runs in .venv of this checkout; the first target that needs it makes it.
.DEFAULT_GOAL := help
.PHONY: baseline bench-causes bench-conversation bench-intervals bench-rows bench-metrics bench-choices bench-classification bench-cluster bench-text bench-detectors bench-masks help install demo story test check audit format messages coverage mutate golden bench crash soak bench-blame bench-bots bench-judges bench-refusals bench-risk bench-sheets bench-changes bench-many bench-money bench-validity bench-simulator lock clean

BIN := .venv/bin
READY := .venv/.ready

help:
	@echo "make demo      rehearse the bundled bot with an angry customer, offline"
	@echo "make story     how a bot's three faults are found, fixed and proved (LANGUAGE=en)"
	@echo "make test      the tests          make check   lint, types, import directions"
	@echo "make bench     the figures        make install the environment alone"
	@echo "make bench-validity   how the judges agree with people on public label sets"
	@echo "make bench-simulator  how the simulated customers compare with real ones"

install: $(READY)

# uv when it is there, pip when not; both read the same lock file.
$(READY): requirements.lock scripts/make-venv
	@scripts/make-venv .venv
	@touch $(READY)

demo: $(READY)
	$(BIN)/python run.py --persona angry --offline

# Only what is given to make itself: LANGUAGE of the environment is the system's list of languages.
story: $(READY)
	@$(BIN)/python -m benchmarks.story --language $(if $(filter command,$(origin LANGUAGE)),$(LANGUAGE),ja)

test: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Known vulnerabilities of what is locked: asks a database, and fails where it could not ask about every package.
audit: $(READY)
	$(BIN)/python scripts/audit.py

coverage: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --cov --cov-report=term --cov-fail-under=95

# Whether tests notice small changes of the program: half an hour on two cores, at least 90 % must be noticed.
mutate: $(READY)
	$(BIN)/python -m scripts.mutate --seed $(or $(SEED),1)

# Rewrites the golden files from what the program does now; look at the difference before you commit.
golden: $(READY)
	UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile

# Takes new sentences from the source into the catalogues, and compiles them; tells which have no translation.
messages: $(READY)
	$(BIN)/python -m scripts.messages

bench: $(READY)
	$(BIN)/python -m benchmarks

# Whether requests, grades and red turns of 100 recorded conversations are what they were.
baseline: $(READY)
	$(BIN)/python -m benchmarks.baseline

bench-sheets: $(READY)
	$(BIN)/python -m benchmarks.sheets

bench-blame: $(READY)
	$(BIN)/python -m benchmarks.blame

# Causes of turns whose fault readers planted, on desks of several trades; and how many sound turns are red.
bench-causes: $(READY)
	$(BIN)/python -m benchmarks.causes

# What the judge of whole conversations sees of 40 planted faults, and of 40 sound conversations.
bench-conversation: $(READY)
	$(BIN)/python -m benchmarks.conversation_validity

# What a run says of a bot that refuses everything, one that invents, and a repaired one.
bench-bots: $(READY)
	$(BIN)/python -m benchmarks.three_bots

# What each judge says of 40 answers with a planted fault or none.
bench-judges: $(READY)
	$(BIN)/python -m benchmarks.judged_rows

bench-refusals: $(READY)
	$(BIN)/python -m benchmarks.refusals

bench-risk: $(READY)
	$(BIN)/python -m benchmarks.risk

# Precision and recall of what is detected without a model; BEFORE=tag prints an older version's as well.
bench-detectors: $(READY)
	$(BIN)/python -m benchmarks.detectors $(if $(BEFORE),--before $(BEFORE))

# What --redact takes for personal data in 2,000 ordinary sentences of each language; ARGS=--show prints them.
bench-masks: $(READY)
	$(BIN)/python -m benchmarks.masks $(ARGS)

bench-changes: $(READY)
	$(BIN)/python -m benchmarks.changes

bench-validity: $(READY)
	$(BIN)/python -m benchmarks.validity

# Classifiers without a model by F1, on a public label set.
bench-classification: $(READY)
	$(BIN)/python -m benchmarks.classification

# Multiple choice by subject, on public question sets, always the longest choice.
bench-choices: $(READY)
	$(BIN)/python -m benchmarks.choices

# Rows a second and memory of the text metrics, beside other packages, with the values compared.
bench-metrics: $(READY)
	$(BIN)/python -m benchmarks.metrics

# How the time of every function over text grows with hostile texts, doubled again and again: ten minutes.
bench-text: $(READY)
	$(BIN)/python -m benchmarks.text_growth

bench-simulator: $(READY)
	$(BIN)/python -m benchmarks.customers

# One process against two workers on this machine; wants both cores to itself.
bench-cluster: $(READY)
	$(BIN)/python -m benchmarks.cluster

bench-money: $(READY)
	$(BIN)/python -m benchmarks.money

# 100, 1,000 and 10,000 conversations; --counts takes others.
bench-many: $(READY)
	$(BIN)/python -m benchmarks.many

# 1,000, 10,000 and 100,000 rows of a data set: rows a second, and the most memory (at most 300 MB).
bench-rows: $(READY)
	$(BIN)/python -m benchmarks.rows

bench-gate: $(READY)
	$(BIN)/python -m benchmarks.gate

# How often the 95 % interval of a score holds the true one, from 5 to 50 questions: two minutes.
bench-intervals: $(READY)
	$(BIN)/python -m benchmarks.intervals

# Two hundred kills, broken endpoints, 1,000 conversations with a mix of failures: docs/reliability.md.
crash: $(READY)
	$(BIN)/python -m benchmarks.crash

# MINUTES=5 for a short one; the picture goes to docs/pictures/soak.svg.
soak: $(READY)
	$(BIN)/python -m benchmarks.soak --minutes $(or $(MINUTES),30)

lock:
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --python-version 3.11 --group dev pyproject.toml -o requirements.lock --quiet

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
