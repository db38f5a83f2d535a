# From a fresh checkout with python3 and make alone: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := ros,test,docs
BUILD_FILES := pyproject.toml setup.cfg setup.py package.xml

.PHONY: help venv demo test lint benchmark docs colcon test-jazzy clean

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

venv: $(VENV)/installed  ## the environment in .venv: the package (editable), ROS 2, the test tools

$(VENV)/installed: $(BUILD_FILES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
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

# colcon's Python support needs a setuptools that still has `setup.py install`.
.venv-colcon/installed: $(BUILD_FILES)
	$(PYTHON) -m venv .venv-colcon
	.venv-colcon/bin/python -m pip install --quiet colcon-common-extensions 'setuptools<80' .
	.venv-colcon/bin/python -m pip uninstall --quiet --yes kane_dynamics_ros
	touch $@

colcon: .venv-colcon/installed  ## build as ROS does, and run an executable from the install space
	.venv-colcon/bin/colcon build
	. install/setup.sh && "$$AMENT_PREFIX_PATH/lib/kane_dynamics_ros/kane_dynamics" --version

.venv-jazzy/installed: $(BUILD_FILES)
	$(PYTHON) -m venv .venv-jazzy
	.venv-jazzy/bin/python -m pip install --quiet pytest pytest-timeout --editable '.[ros-jazzy]'
	touch $@

test-jazzy: .venv-jazzy/installed  ## the node tests against ROS 2 Jazzy (the rest runs against Kilted)
	.venv-jazzy/bin/python -m pytest test/nodes

clean:  ## remove everything that make made
	rm -rf $(VENV) .venv-colcon .venv-jazzy build install log site demo_output *.egg-info .pytest_cache .mypy_cache .ruff_cache
