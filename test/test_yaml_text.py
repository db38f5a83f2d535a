"""Numbers in YAML are those of JSON and YAML 1.2, in whatever file a user writes them."""

from pathlib import Path

import pytest
import yaml

from kane_dynamics_ros.yaml_text import load_yaml

PACKAGE = Path(__file__).parents[1] / "kane_dynamics_ros"
# what no user writes: the package's own tables, and the metadata of bags, which have no such numbers
OWN_FILES = {"packaging/package.py", "runtime/node_parameters.py", "replay/bag.py"}


@pytest.mark.parametrize("text", ["1e-3", "-2E9", "+.5e0", "3.e2", "1e3", "0e0", "-1.5e-300"])
def test_a_number_with_an_exponent_is_a_number(text):
    assert load_yaml(f"[{text}]") == [float(text)]


@pytest.mark.parametrize("text", ["e3", "1e", "1e3m", "--1e3", "1 e3", "joint_1e3", "'1e3'"])
def test_other_text_stays_text(text):
    assert load_yaml(f"[{text}]") == [text.strip("'")]


@pytest.mark.parametrize("text", ["[" * 100_000, "2024-13-45", b"\xff\xfe\xff", "a: b: c"])
def test_what_is_no_yaml_is_refused_as_such(text):
    with pytest.raises(yaml.YAMLError):
        load_yaml(text)


def test_all_files_that_users_write_are_read_so():
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "yaml.safe_load(" in path.read_text()
    }
    assert found == OWN_FILES
