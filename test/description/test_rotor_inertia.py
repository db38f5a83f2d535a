"""Rotor inertias: from the sources that are clear, reflected by the ratio squared, once."""

import pytest
from small_urdf import LIMIT, two_joints

from kane_dynamics_ros.description import DescriptionError, parse_robot, serial_chain


def transmission(actuator="", joint="", inside=""):
    return (
        f'<transmission name="t"><type>x</type><joint name="a">{joint}</joint>'
        f'<actuator name="m">{actuator}</actuator>{inside}</transmission>\n'
    )


def arm(*blocks, dynamics=""):
    text = two_joints(inside=f'<axis xyz="0 0 1"/>{LIMIT}{dynamics}')
    return text.replace("</robot>", "".join(blocks) + "</robot>")


def rotor(text):
    chain = serial_chain(parse_robot(text, "arm.urdf"))
    notes = [(f.code, f.message) for f in chain.findings if f.code in ("KD411", "KD412")]
    return chain.joints[0].rotor_inertia, notes


INERTIA_OF_MOTOR = "<rotorInertia>1e-4</rotorInertia>"
RATIO = "<mechanicalReduction>{}</mechanicalReduction>"
J_100 = INERTIA_OF_MOTOR + RATIO.format(100)
DRAKE = '<drake:rotor_inertia value="1e-4"/><drake:gear_ratio value="100"/>'
READ = [("KD411", "rotor inertia 1.0 reflected to the joint")]


@pytest.mark.parametrize(
    "text",
    [
        arm(transmission(J_100)),
        arm(transmission(J_100.replace("rotorInertia", "rotor_inertia"))),
        arm(transmission(INERTIA_OF_MOTOR, RATIO.format(100))),
        arm(transmission(INERTIA_OF_MOTOR, inside=RATIO.format(-100))),
        arm(transmission(DRAKE)),
        arm(transmission(DRAKE + RATIO.format(1))),
        arm(transmission(DRAKE, RATIO.format("1.0"))),
        arm(transmission(DRAKE + RATIO.format(100))),
        arm(f'<ros2_control name="r" type="system">{transmission(J_100)}</ros2_control>'),
        arm(dynamics='<dynamics armature="1.0"/>'),
    ],
)  # fmt: skip
def test_clear_rotor_inertia_is_reflected_once(text):
    """Field report 57: 1e-4 kg m^2 behind a ratio of 100 adds 1 kg m^2."""
    assert rotor(text) == (pytest.approx(1.0, rel=1e-15), READ)


def test_drakes_gear_ratio_is_1_where_it_is_absent():
    for reduction in ("", RATIO.format(1)):
        text = arm(transmission('<drake:rotor_inertia value="0.5"/>' + reduction))
        assert rotor(text) == (0.5, [("KD411", "rotor inertia 0.5 reflected to the joint")])


def test_drakes_gear_ratio_beside_another_reduction_is_not_clear():
    value, notes = rotor(arm(transmission(DRAKE, RATIO.format(50))))
    assert (value, [code for code, _ in notes]) == (0.0, ["KD412"])


def test_same_rotor_given_twice_counts_once():
    """Field report 57."""
    text = arm(transmission(J_100), f"<ros2_control>{transmission(J_100)}</ros2_control>")
    assert rotor(text) == (pytest.approx(1.0, rel=1e-15), READ)


def test_rotors_that_differ_by_the_last_digit_of_a_file_are_the_same():
    text = arm(
        transmission(J_100.replace("1e-4", "1.23456789e-4")), dynamics='<dynamics armature="1.234567885"/>'
    )
    assert rotor(text) == (1.234567885, [("KD411", "rotor inertia 1.234567885 reflected to the joint")])


def test_rotor_behind_a_reduction_of_0_is_not_clear():
    found = "1 joints, 1 actuators, reductions [0.0]; one of each is clear, other than 0"
    text = arm(transmission(INERTIA_OF_MOTOR + RATIO.format(0)))
    assert rotor(text) == (0.0, [("KD412", f"its rotor inertia is not used: {found}")])


def test_rotors_that_differ_are_not_added():
    text = arm(transmission(J_100), dynamics='<dynamics armature="2"/>')
    message = "several rotor inertias (2.0, 1.0): the first is used, they are not added"
    assert rotor(text) == (2.0, [("KD412", message)])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (arm(transmission(INERTIA_OF_MOTOR)), "1 joints, 1 actuators, reductions none"),
        (
            arm(transmission(J_100, "", '<joint name="b"/>')),
            "2 joints, 1 actuators, reductions [100.0]",
        ),
        (
            arm(transmission(J_100, RATIO.format(50))),
            "1 joints, 1 actuators, reductions [50.0, 100.0]",
        ),
    ],
)
def test_rotor_inertia_that_is_not_clear_is_not_used(text, found):
    message = f"its rotor inertia is not used: {found}; one of each is clear"
    assert rotor(text) == (0.0, [("KD412", message)])


def test_transmission_without_rotor_inertia_adds_nothing():
    assert rotor(arm(transmission(RATIO.format(100)))) == (0.0, [])


def test_negative_rotor_inertia_is_refused():
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(arm(transmission(J_100.replace("1e-4", "-1e-4"))), "arm.urdf"))
    assert str(caught.value) == (
        "arm.urdf:7: transmission 't' <rotorInertia>: rotorInertia is -0.0001; it must be 0 or more [KD308]"
    )


def test_massless_body_with_a_rotor_is_accepted():
    text = two_joints(second=" ").replace(
        "</robot>", transmission(J_100).replace('joint name="a"', 'joint name="b"') + "</robot>"
    )
    assert serial_chain(parse_robot(text)).joints[1].rotor_inertia == pytest.approx(1.0, rel=1e-15)
