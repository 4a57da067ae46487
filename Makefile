# Everything runs in .venv of this checkout; the first target that needs it makes it.
.DEFAULT_GOAL := help
.PHONY: house baseline bench-causes bench-conversation bench-intervals bench-rows bench-metrics bench-choices bench-classification bench-cluster bench-text bench-detectors bench-responses bench-expectations bench-learn bench-same-fault bench-masks help install demo story test check audit format messages coverage mutate golden bench crash soak bench-bots bench-judges bench-refusals bench-risk bench-sheets bench-changes bench-enough bench-many bench-money bench-validity bench-simulator lock pictures clean

BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.dev

help:
	@echo "make demo      rehearse the bundled bot with an angry customer, offline (in English: LANGUAGE=en)"
	@echo "make story     how a bot's three faults are found, fixed and proved (in Japanese: LANGUAGE=ja)"
	@echo "make drill     what an update of the articles did to the bundled bot (in Japanese: LANGUAGE=ja)"
	@echo "make test      the tests          make check   lint, types, import directions"
	@echo "make bench     the figures        make install the environment alone"
	@echo "make bench-validity   how the judges agree with people on public label sets"
	@echo "make bench-simulator  how the simulated customers compare with real ones"

install: $(READY)

# uv when it is there, pip when not. What runs the program comes first; tests and checks add the rest.
$(READY): requirements/install.lock scripts/make-venv
	@scripts/make-venv .venv requirements/install.lock
	@rm -f $(DEV)
	@touch $(READY)

$(DEV): requirements/dev.lock scripts/make-venv
	@scripts/make-venv .venv requirements/dev.lock
	@touch $(READY) $(DEV)

# In the language of the terminal, or the one that is given to make itself (LANGUAGE=ja, LANGUAGE=en): LANGUAGE of
# the environment is the system's list of languages.
SPOKEN := $(if $(filter command,$(origin LANGUAGE)),LC_ALL= LC_MESSAGES=$(LANGUAGE))

demo: $(READY)
	$(SPOKEN) $(BIN)/python run.py --persona angry --offline --limit 6

story: $(READY)
	@$(SPOKEN) $(BIN)/python -m benchmarks.story

# What an update of the articles does to the bundled bot, and what `diff` says of it; it lies in runs/drill.
.PHONY: drill bench-drill
drill: $(READY)
	@$(SPOKEN) $(BIN)/python -m benchmarks.drill

# In the order of tests/conftest.py: a file of long tests would otherwise come last, with one core idle. Three at
# once on two cores, because many tests wait for servers and browsers; the core without the lab is tried beside.
.PHONY: tests without-lab
test: $(DEV)
	@$(MAKE) --no-print-directory --jobs=2 tests without-lab

tests: $(DEV)
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder

without-lab: $(DEV)
	@said=$$(scripts/without-lab 2>&1) || { echo "$$said"; exit 1; }

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py
	$(BIN)/python -m scripts.house

# How large the house is, how its modules hang together, and where they go; it judges nothing.
house: $(DEV)
	$(BIN)/python -m scripts.house

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Known vulnerabilities of what is locked: asks a database, and fails where it could not ask about every package.
audit: $(DEV)
	$(BIN)/python scripts/audit.py

coverage: $(DEV)
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder --cov --cov-report=term --cov-fail-under=95

# Whether tests notice small changes of the program: half an hour on two cores, at least 90 % must be noticed.
mutate: $(DEV)
	$(BIN)/python -m scripts.mutate --seed $(or $(SEED),1)

# Every picture of README and docs, of real runs; takes Chromium, LibreOffice and pdftoppm.
pictures: $(DEV)
	$(BIN)/python -m scripts.pictures

# Rewrites the golden files from what the program does now; look at the difference before you commit.
golden: $(DEV)
	UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder

# Takes new sentences from the source into the catalogues, and compiles them; tells which have no translation.
messages: $(DEV)
	$(BIN)/python -m scripts.messages

bench: $(DEV)
	$(BIN)/python -m benchmarks

# Whether requests, grades and red turns of 100 recorded conversations are what they were.
baseline: $(DEV)
	$(BIN)/python -m benchmarks.baseline

bench-sheets: $(DEV)
	$(BIN)/python -m benchmarks.sheets

# Whether the causes of planted faults are named rightly, on desks of several trades.
bench-causes: $(DEV)
	$(BIN)/python -m benchmarks.causes

# What the judge of whole conversations sees of 40 planted faults, and of 40 sound conversations.
bench-conversation: $(DEV)
	$(BIN)/python -m benchmarks.conversation_validity

# What a run says of bots that refuse, invent, are rude, leave out a condition, or are right once only.
bench-bots: $(DEV)
	$(BIN)/python -m benchmarks.five_bots

# What each judge says of 40 answers with a planted fault or none.
bench-judges: $(DEV)
	$(BIN)/python -m benchmarks.judged_rows

bench-refusals: $(DEV)
	$(BIN)/python -m benchmarks.refusals

bench-risk: $(DEV)
	$(BIN)/python -m benchmarks.risk

# Precision and recall of what is detected without a model; BEFORE=tag prints an older version's as well.
bench-detectors: $(DEV)
	$(BIN)/python -m benchmarks.detectors $(if $(BEFORE),--before $(BEFORE))

# What the judge of turns says that answers do, on labelled rows and ordinary lines; JUDGE=MODEL asks a model.
bench-responses: $(DEV)
	$(BIN)/python -m benchmarks.responses $(if $(JUDGE),--judge-model $(JUDGE))

# Whether `learn` finds a desk's unwritten rules, by recorded replies of readers, and refuses where there are none.
bench-learn: $(DEV)
	$(BIN)/python -m benchmarks.learning

# What the judge says became of the sentences that are expected, on dialogues written for it; JUDGE=MODEL asks a model.
bench-expectations: $(DEV)
	$(BIN)/python -m benchmarks.expectations $(if $(JUDGE),--judge-model $(JUDGE))

# Whether the judge says rightly that two red answers have one fault, on pairs written for it; JUDGE=MODEL asks a model.
bench-same-fault: $(DEV)
	$(BIN)/python -m benchmarks.same_fault $(if $(JUDGE),--judge-model $(JUDGE))

# What --redact takes for personal data in 2,000 ordinary sentences of each language; ARGS=--show prints them.
bench-masks: $(DEV)
	$(BIN)/python -m benchmarks.masks $(ARGS)

bench-changes: $(DEV)
	$(BIN)/python -m benchmarks.changes

# How often the number of questions that `diff` asks for decides: half a minute.
bench-enough: $(DEV)
	$(BIN)/python -m benchmarks.enough

bench-validity: $(DEV)
	$(BIN)/python -m benchmarks.validity

# Classifiers without a model by F1, on a public label set.
bench-classification: $(DEV)
	$(BIN)/python -m benchmarks.classification

# Multiple choice by subject, on public question sets, always the longest choice.
bench-choices: $(DEV)
	$(BIN)/python -m benchmarks.choices

# Rows a second and memory of the text metrics, beside other packages, with the values compared.
bench-metrics: $(DEV)
	$(BIN)/python -m benchmarks.metrics

# How the time of every function over text grows with hostile texts, doubled again and again: ten minutes.
bench-text: $(DEV)
	$(BIN)/python -m benchmarks.text_growth

bench-simulator: $(DEV)
	$(BIN)/python -m benchmarks.customers
	$(BIN)/python -m benchmarks.likeness

# One process against two workers on this machine; wants both cores to itself.
bench-cluster: $(DEV)
	$(BIN)/python -m benchmarks.cluster

bench-money: $(DEV)
	$(BIN)/python -m benchmarks.money

# Whether `diff` names every question that an update of 200 articles concerns, and no other.
bench-drill: $(DEV)
	$(BIN)/python -m benchmarks.updates

# 100, 1,000 and 10,000 conversations; --counts takes others.
bench-many: $(DEV)
	$(BIN)/python -m benchmarks.many

# 1,000, 10,000 and 100,000 rows of a data set: rows a second, and the most memory (at most 300 MB).
bench-rows: $(DEV)
	$(BIN)/python -m benchmarks.rows

bench-gate: $(DEV)
	$(BIN)/python -m benchmarks.gate

# How often the 95 % interval of a score holds the true one, from 5 to 50 questions: two minutes.
bench-intervals: $(DEV)
	$(BIN)/python -m benchmarks.intervals

# Two hundred kills, broken endpoints, 1,000 conversations with a mix of failures: docs/reliability.md.
crash: $(DEV)
	$(BIN)/python -m benchmarks.crash

# Throughput and memory by the minute; MINUTES=5 for a short one.
soak: $(DEV)
	$(BIN)/python -m benchmarks.soak --minutes $(or $(MINUTES),30)

lock:
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --python-version 3.11 --quiet --group install pyproject.toml -o requirements/install.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --python-version 3.11 --quiet --group dev -c requirements/install.lock pyproject.toml -o requirements/dev.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
