# From a fresh checkout with python3 and make alone: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROS_VENV := .venv-ros
BUILD_FILES := pyproject.toml setup.cfg setup.py package.xml

.PHONY: help venv demo test fuzz lint benchmark docs sdist colcon test-jazzy clean
FUZZ ?= 500
FUZZ_SEED ?= 0
TEST_PROCESSES ?= auto
IN_PROCESSES = --numprocesses $(TEST_PROCESSES) --maxprocesses 8 --dist worksteal

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

venv: $(VENV)/installed  ## the environment in .venv: the package (editable), ROS 2 Kilted, the test tools

$(VENV)/installed: $(VENV)/runs
	$(BIN)/python -m pip install --quiet --editable '.[ros,test,docs]'
	touch $@

$(VENV)/runs: $(BUILD_FILES)
	@echo "installing into $(VENV), which takes some minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[ros,bags,view]'
	touch $@

demo: $(VENV)/runs  ## both nodes over DDS, three controllers on one trajectory: table, plots and a bag
	$(BIN)/kane_dynamics demo --output demo_output

test: venv  ## every test, in a process for each core; TEST_PROCESSES=0 for a single one
	$(BIN)/python -m pytest $(IN_PROCESSES)

fuzz: venv  ## mutated URDFs, bags, trajectories and models: FUZZ=20000 for many, FUZZ_SEED=1 for others
	$(BIN)/python test/description/fuzz_urdf.py --count $(FUZZ) --seed $(FUZZ_SEED)
	KANE_DYNAMICS_FUZZ_CASES=$(FUZZ) KANE_DYNAMICS_FUZZ_SEED=$(FUZZ_SEED) \
		$(BIN)/python -m pytest test/cli test/replay -k "random_faults"

lint: venv  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmark: venv  ## speed against other libraries, side by side
	$(BIN)/python -m benchmark

sdist: venv  ## the source distribution, in dist/, with tests, docs and examples
	$(BIN)/python setup.py --quiet sdist

docs: venv  ## the documentation site, in site/
	$(BIN)/mkdocs build --strict

# A machine as ROS 2 Jazzy's: colcon, whose Python support needs a setuptools that still has `setup.py install`.
$(ROS_VENV)/installed: $(BUILD_FILES)
	$(PYTHON) -m venv $(ROS_VENV)
	$(ROS_VENV)/bin/python -m pip install --quiet --editable '.[ros-jazzy,generate,bags,view]' \
		colcon-common-extensions 'setuptools<80' hypothesis pytest pytest-timeout pytest-xdist
	touch $@

colcon: $(ROS_VENV)/installed  ## build as ROS does, and run executables from the install space
	$(ROS_VENV)/bin/colcon build
	. install/setup.sh && cd "$$AMENT_PREFIX_PATH/lib/kane_dynamics_ros" && ./kane_dynamics --version && \
		ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST timeout --preserve-status --signal INT 15 ./simulated_hardware_node

test-jazzy: $(ROS_VENV)/installed  ## the node tests against ROS 2 Jazzy (the rest runs against Kilted)
	$(ROS_VENV)/bin/python -m pytest $(IN_PROCESSES) -o cache_dir=.pytest_cache/jazzy test/nodes

clean:  ## remove everything that make made
	rm -rf $(VENV) $(ROS_VENV) build dist install log site demo_output *.egg-info .pytest_cache .mypy_cache .ruff_cache
