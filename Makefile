# Every target sets up its own private environment from nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help up test deep check fix bench parts parts-check real kills cluster endure lock clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 13

$(READY): requirements.txt pyproject.toml tools/setup
	@$(PYTHON) tools/setup $(VENV)

up: $(READY) ## watch the product work (ARGS="--for 20" ends by itself; ARGS=--help lists the rest)
	@$(BIN)/holdfast up $(ARGS)

# Needs only PyPI; the tidy tests belong to `make check`.
# Two workers for two cores, and a third for what waits (tests/lanes.py).
HERE := -n 3 --dist worksteal --ignore=tests/real --ignore=tests/tidy

test: $(READY) ## before each commit: the tests that need only PyPI, and the table of what they prove
	@$(BIN)/python -m tools.parts install ministack
	@$(BIN)/python -m pytest $(HERE) -m "not deep" --proof --costs $(ARGS)

deep: $(READY) ## before a release: these and the long searches, which together must meet every quota
	@$(BIN)/python -m tools.parts install ministack
	@$(BIN)/python -m pytest $(HERE) --quotas $(ARGS)

check: $(READY) ## format, lint, types, import contracts, tidiness
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest -q tests/tidy

fix: $(READY) ## format, and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(READY) ## the benchmarks, as ratios measured side by side (ARGS="--against COMMIT" compares the function)
	@$(BIN)/python -m tools.parts install postgresql mariadb
	@$(BIN)/python -m bench $(ARGS)

parts: $(READY) ## install the real outside systems that tests/real needs (ONLY=name,name for some)
	@$(BIN)/python -m tools.parts install $(ONLY)

parts-check: $(READY) ## whether these systems are what they claim; `make real` asks only when one has changed
	@$(BIN)/python -m tools.check_parts --always

real: $(READY) ## the product against the real systems; an absent one is a failure, with its fix
	@$(BIN)/python -m tools.check_parts
	@HOLDFAST_REAL=1 $(BIN)/python -m pytest tests/real/product -m alone --junitxml=build/alone.xml $(ARGS) \
		|| [ $$? -eq 5 ]
	@HOLDFAST_REAL=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests/real/product -m waiting \
		--junitxml=build/waiting.xml $(ARGS) || [ $$? -eq 5 ]
	@HOLDFAST_REAL=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/real/product \
		-m "not alone and not waiting" --junitxml=build/real.xml $(ARGS)

kills: $(READY) ## the autoscaler on the real systems, killed fifty times in each of its shells (minutes)
	@HOLDFAST_REAL=1 HOLDFAST_KILLS=50 $(BIN)/python -m pytest tests/real/product/autoscaler $(ARGS)

.PHONY: rules
rules: $(READY) ## 2,000 drawn pods, each placed by the real scheduler and by our rules (minutes)
	@$(BIN)/python -m tools.parts install kubernetes kwok
	@HOLDFAST_REAL=1 HOLDFAST_CLUSTERS=200 $(BIN)/python -m pytest tests/real/product/kubernetes/test_pod_rules.py $(ARGS)

.PHONY: races
races: $(READY) ## sixteen promotions at once, 200 rounds on each database (minutes)
	@$(BIN)/python -m tools.parts install postgresql mariadb
	@HOLDFAST_REAL=1 HOLDFAST_RACES=200 $(BIN)/python -m pytest tests/real/product/databases/test_races.py $(ARGS)

.PHONY: handovers
handovers: $(READY) ## a hundred handovers and twenty silent deaths, timed (minutes, on a quiet machine)
	@HOLDFAST_HANDOVERS=100 $(BIN)/python -m bench --only handover $(ARGS)

.PHONY: failovers
failovers: $(READY) ## hundreds of failovers of real agents on each database, through troubles of all kinds (minutes)
	@$(BIN)/python -m tools.parts install postgresql mariadb
	@HOLDFAST_REAL=1 HOLDFAST_FAILOVERS=400 $(BIN)/python -m pytest tests/real/product/failover_fleet $(ARGS)

cluster: $(READY) ## a real control plane with KWOK, and EC2, to play with until Ctrl-C
	@$(BIN)/python -m tools.parts install kubernetes kwok kubectl ec2
	@$(BIN)/python -m tools.parts.play $(ARGS)

.PHONY: failover
failover: $(READY) ## a failover server and three machines around a small service, to play with until Ctrl-C
	@$(BIN)/python -m tools.play_failover $(ARGS)

.PHONY: stream
stream: $(READY) ## a stream of 30 shards that can be resharded, and a DynamoDB, to play with until Ctrl-C
	@$(BIN)/python -m tools.parts install kinesis-local ministack
	@$(BIN)/python -m tools.parts.stream $(ARGS)

.PHONY: lambda
lambda: $(READY) ## build the function's zip, which deploy/aws-sam/template.yaml deploys
	@$(BIN)/python -m tools.package_lambda $(ARGS)

endure: $(READY) ## load, spot notices and kill -9 on the real parts, for as long as wanted (ARGS="--hours 8")
	@$(BIN)/python -m tools.parts install kubernetes kwok ec2 ministack prometheus lambda
	@$(BIN)/python -m tools.endure $(ARGS)

.PHONY: endure-leases
endure-leases: $(READY) ## 100 starts of 64 workers at once, then kills, stops and reshards (ARGS="--minutes 60")
	@$(BIN)/python -m tools.parts install kinesis-local ministack extenddb
	@HOLDFAST_REAL=1 HOLDFAST_ROUNDS=100 $(BIN)/python -m pytest -q -s tests/real/product/leases/test_at_once.py
	@$(BIN)/python -m tools.endure.leases $(ARGS)

lock: $(READY) ## write the hashed requirements file anew (needs uv)
	@tools/lock

clean: ## remove everything that was built here
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
