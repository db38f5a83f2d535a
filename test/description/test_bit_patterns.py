"""Odd bit patterns in any number of a URDF: an error of ours, or the right answer; never NaN, never a "
"traceback."""

import math

import numpy as np
import pytest
from chain_torques import inverse_dynamics
from small_urdf import two_joints

from kane_dynamics_ros.description import DescriptionError, parse_robot, physics_hash, serial_chain

FULL = two_joints(
    first=(
        '<inertial><origin xyz="0.11 0.12 0.13" rpy="0.14 0.15 0.16"/><mass value="1.17"/>'
        '<inertia ixx="0.018" ixy="0.0019" ixz="0.002" iyy="0.021" iyz="0.0022" izz="0.023"/></inertial>'
    ),
    inside=(
        '<axis xyz="0.24 0.25 0.26"/><limit lower="-1.27" upper="1.28" velocity="1.29" effort="130"/>'
        '<dynamics damping="0.31" friction="0.32" armature="0.33"/>'
    ),
)
NUMBERS = [
    *("0.11", "0.12", "0.13", "0.14", "0.15", "0.16", "1.17", "0.018", "0.0019", "0.002", "0.021", "0.0022"),
    *("0.023", "0.24", "0.25", "0.26", "-1.27", "1.28", "1.29", "130", "0.31", "0.32", "0.33"),
]
PATTERNS = [
    *(
        "nan",
        "-nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "1e300",
        "-1e300",
        "1e999",
        "1e-300",
        "5e-324",
        "-5e-324",
    ),
    *(
        "2.2250738585072014e-308",
        "-0",
        "-0.0",
        "0",
        "1e12",
        "-1e12",
        "1e-99",
        "0x1p3",
        "1_0",
        "١",
        "1d3",
        "",
        "+.5",
    ),
]


def finite(chain):
    """Whether every number of a chain is finite."""
    numbers = [chain.R_BT, chain.p_BoTo_B]
    for joint in chain.joints:
        numbers += [joint.R_PJ, joint.p_PoJo_P, joint.axis, joint.inertia.com, joint.inertia.tensor]
        numbers += [joint.inertia.mass, joint.damping, joint.friction, joint.rotor_inertia]
        numbers += [limit for limit in vars(joint.limits).values() if limit is not None]
    return all(np.isfinite(np.array(number)).all() for number in numbers)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_any_pattern_in_any_number_is_refused_or_gives_finite_torques(pattern):
    for number in NUMBERS:
        assert FULL.count(f'{number}"') + FULL.count(f"{number} ") >= 1
        text = FULL.replace(f'"{number}"', f'"{pattern}"').replace(f"{number} ", f"{pattern} ")
        text = text.replace(f' {number}"', f' {pattern}"')
        assert text != FULL
        try:
            chain = serial_chain(parse_robot(text))
        except DescriptionError:
            continue
        assert finite(chain)
        assert np.isfinite(inverse_dynamics(chain, [0.1, 0.2], [0.3, 0.4], [0.5, 0.6])).all()


@pytest.mark.parametrize("pattern", ["nan", "inf", "-inf", "1e300", "1e999", "-1e12001"])
def test_number_that_is_not_finite_or_too_large_is_named(pattern):
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(FULL.replace('"1.17"', f'"{pattern}"'), "arm.urdf"))
    assert str(caught.value) == (
        f"arm.urdf:3: link 'one' <inertial> <mass>: value={pattern!r}; numbers must be finite and at "
        f"most 1e+12 in "
        "magnitude [KD302]"
    )


@pytest.mark.parametrize("pattern", ["0x1p3", "1_0", "١", "1d3", "1,5", "one", "1 2", "--1"])
def test_what_only_looks_like_a_number_is_named(pattern):
    with pytest.raises(DescriptionError, match=r"is not a number; write it as in 0\.5 or 5e-1"):
        serial_chain(parse_robot(FULL.replace('"1.17"', f'"{pattern}"'), "arm.urdf"))


def test_negative_zero_is_zero():
    text = two_joints()
    zeros = text.replace('"0"', '"-0"').replace(" 0 0", " -0 -0.0").replace('"0 0 ', '"-0 -0 ')
    assert zeros != text
    assert physics_hash(serial_chain(parse_robot(zeros))) == physics_hash(serial_chain(parse_robot(text)))


def test_denormals_are_read_as_zero_and_noted():
    robot = parse_robot(FULL.replace('"0.0019"', '"5e-324"'), "arm.urdf")
    found = [(f.line, f.message) for f in robot.findings if f.code == "KD307"]
    assert found == [(3, "ixy='5e-324' was read as 0")]


@pytest.mark.parametrize("bound", ["1e16", "inf", "1.7976931348623157e308"])
def test_bound_that_means_none_is_unknown(bound):
    text = (
        FULL.replace('"-1.27"', f'"-{bound}"').replace('"1.28"', f'"{bound}"').replace('"130"', f'"{bound}"')
    )
    limits = serial_chain(parse_robot(text)).joints[0].limits
    assert (limits.lower, limits.upper, limits.effort) == (None, None, None)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3, 1e6])
def test_tiny_and_huge_robots_scale_as_physics_says(scale):
    """Masses and moments of inertia times s: torques times s."""
    text = two_joints()
    scaled = text.replace('mass value="1"', f'mass value="{scale!r}"').replace(
        '"0.01"', f'"{0.01 * scale!r}"'
    )
    state = ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    expected = scale * inverse_dynamics(serial_chain(parse_robot(text)), *state)
    found = inverse_dynamics(serial_chain(parse_robot(scaled)), *state)
    np.testing.assert_allclose(found, expected, rtol=1e-14)  # a few roundings
    assert all(math.isfinite(value) for value in found)
