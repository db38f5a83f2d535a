"""Reading parameter values: what is accepted as what, and the whole message where it is not."""

from typing import Any

import pytest

pytest.importorskip("rcl_interfaces", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.nodes.parameter_table import Entry, ParameterValueError


@pytest.mark.parametrize(
    ("default", "found", "expected"),
    [
        (1.5, 2, 2.0),
        (3, 4.0, 4),
        ([0.0, 0.0], [0, -9.81], [0.0, -9.81]),
        ([0.0], (1, 2), [1.0, 2.0]),
        ([""], [""], []),
        ([""], ["a", "b"], ["a", "b"]),
        (True, False, False),
        ("x", "y", "y"),
    ],
)
def test_values_become_the_entrys_type(default: Any, found: Any, expected: Any) -> None:
    value = Entry("p", default, "a text").read(found)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("entry", "found", "message"),
    [
        (
            Entry("rate", 1.0, "", "Hz", 0.1, 10.0),
            0,
            "parameter rate: found 0; allowed: a number, at least 0.1, at most 10",
        ),
        (Entry("rate", 1.0, ""), "fast", "parameter rate: found 'fast'; allowed: a number"),
        (Entry("rate", 1.0, ""), True, "parameter rate: found True; allowed: a number"),
        (Entry("rate", 1.0, ""), float("nan"), "parameter rate: found nan; allowed: a number"),
        (
            Entry("seed", 0, "", "", 0, 10),
            1.5,
            "parameter seed: found 1.5; allowed: an integer, at least 0, at most 10",
        ),
        (Entry("com", [0.0], ""), ["x"], "parameter com: found ['x']; allowed: numbers"),
        (Entry("com", [0.0], ""), 1.0, "parameter com: found 1.0; allowed: numbers"),
        (Entry("names", [""], ""), "a", "parameter names: found 'a'; allowed: strings"),
        (Entry("mode", "a", "", choices=("a", "b")), "c", "parameter mode: found 'c'; allowed: a, b"),
        (Entry("on", True, ""), 1, "parameter on: found 1; allowed: true or false"),
    ],
)
def test_a_wrong_value_names_the_parameter_the_value_and_what_is_allowed(
    entry: Entry, found: Any, message: str
) -> None:
    with pytest.raises(ParameterValueError) as caught:
        entry.read(found)
    assert str(caught.value) == message


def test_the_descriptor_carries_text_unit_and_range() -> None:
    described = Entry("rate", 1.0, "how often", "Hz", 0.1, 10.0).descriptor()
    assert described.description == "how often [Hz]"
    assert described.additional_constraints == "a number, at least 0.1, at most 10"
    assert described.dynamic_typing
    assert described.read_only
    span = described.floating_point_range[0]
    assert (span.from_value, span.to_value) == (0.1, 10.0)
