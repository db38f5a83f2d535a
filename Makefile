# From a fresh checkout with python3 and make alone: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROS_VENV := .venv-ros
BUILD_FILES := pyproject.toml setup.cfg setup.py package.xml

.PHONY: help venv demo test lint benchmark docs colcon test-jazzy clean

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

venv: $(VENV)/installed  ## the environment in .venv: the package (editable), ROS 2 Kilted, the test tools

$(VENV)/installed: $(BUILD_FILES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[ros,test,docs]'
	touch $@

demo: venv  ## both nodes over DDS, three controllers on one trajectory: table, plots and a bag
	$(BIN)/kane_dynamics demo --output demo_output

test: venv  ## every test
	$(BIN)/python -m pytest

lint: venv  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmark: venv  ## speed against other libraries, side by side
	$(BIN)/python -m benchmark

docs: venv  ## the documentation site, in site/
	$(BIN)/mkdocs build --strict

# A machine as ROS 2 Jazzy's: colcon, whose Python support needs a setuptools that still has `setup.py install`.
$(ROS_VENV)/installed: $(BUILD_FILES)
	$(PYTHON) -m venv $(ROS_VENV)
	$(ROS_VENV)/bin/python -m pip install --quiet --editable '.[ros-jazzy]' \
		colcon-common-extensions 'setuptools<80' hypothesis pytest pytest-timeout
	touch $@

colcon: $(ROS_VENV)/installed  ## build as ROS does, and run executables from the install space
	$(ROS_VENV)/bin/colcon build
	. install/setup.sh && cd "$$AMENT_PREFIX_PATH/lib/kane_dynamics_ros" && ./kane_dynamics --version && \
		ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST timeout --preserve-status --signal INT 15 ./simulated_hardware_node

test-jazzy: $(ROS_VENV)/installed  ## the node tests against ROS 2 Jazzy (the rest runs against Kilted)
	$(ROS_VENV)/bin/python -m pytest test/nodes

clean:  ## remove everything that make made
	rm -rf $(VENV) $(ROS_VENV) build install log site demo_output *.egg-info .pytest_cache .mypy_cache .ruff_cache
