"""What is warned of in a URDF, one tiny case for each kind, with the whole message."""

import math

import pytest
from small_urdf import INERTIA, LIMIT, fixed, joint, link, robot, two_joints

from kane_dynamics_ros.description import DescriptionError, parse_robot, serial_chain


def warnings(text, tip=None):
    findings = serial_chain(parse_robot(text, "arm.urdf"), tip).findings
    return [(f.code, f.line, f.message) for f in findings if f.severity != "info"]


def limited(lower="-1", upper="1", velocity="1", effort="100"):
    limit = f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'
    return two_joints(inside=f'<axis xyz="0 0 1"/>{limit}')


def inertial(xyz="0.1 0 0", mass="1", moment="0.01"):
    return INERTIA.replace("0.1 0 0", xyz).replace('"1"', f'"{mass}"').replace("0.01", moment)


BROKEN_BRANCH = link("x") + joint("c", "one", "x", inside=f'{LIMIT}<mimic joint="ghost"/>')
CASES = {
    "nothing to warn of": (two_joints(), []),
    "degrees for a limit": (
        limited(lower="-90", upper="90"),
        [
            ("KD506", 5, "its lower limit is -90.0 rad: degrees written for radians?"),
            ("KD506", 5, "its upper limit is 90.0 rad: degrees written for radians?"),
        ],
    ),
    "degrees per second": (
        limited(velocity="180"),
        [("KD506", 5, "its velocity limit is 180.0 rad/s: degrees per second written for rad/s?")],
    ),
    "degrees in rpy": (
        two_joints().replace('rpy="0 0 0"', 'rpy="0 90 0"', 1),
        [("KD507", 5, "rpy is 0.0 90.0 0.0 rad: degrees written for radians?")],
    ),
    "millimetres between joints": (
        two_joints().replace('xyz="0.3 0 0"', 'xyz="300 0 0"', 1),
        [("KD508", 5, "its origin is 300 m from the parent's: millimetres written for metres?")],
    ),
    "centre of mass far outside": (
        two_joints(first=inertial(xyz="0 0 30")),
        [("KD409", 3, "its centre of mass is 30 m from its origin, but the link reaches 0.3 m")],
    ),
    "grams": (
        two_joints(first=inertial(mass="1560", moment="150")),
        [("KD410", 3, "its mass is 1560 kg: grams written for kilograms?")],
    ),
    "moving link without inertia": (
        two_joints(first=" "),
        [("KD405", 3, "it moves, but has no inertia: taken as massless")],
    ),
    "misspelt attribute": (
        two_joints(inside=LIMIT.replace("effort", "efort") + '<axis xyz="0 0 1"/>'),
        [
            ("KD210", 5, "unknown attribute 'efort' of <limit> was not read"),
            (
                "KD502",
                5,
                "effort limit absent, 0 or negative, taken as unknown (nothing is clamped), for 'a'",
            ),
        ],
    ),
    "misplaced element": (
        two_joints(first=INERTIA + '<mass value="2"/>'),
        [("KD209", 3, "unknown element <mass> in <link> was not read")],
    ),
    "broken mimic on a branch": (
        two_joints().replace("</robot>", BROKEN_BRANCH + "</robot>"),
        [
            (
                "KD216",
                8,
                "its <mimic> cannot be followed: there is no joint 'ghost'; refused where it moves in a "
                "chain",
            ),
            ("KD604", 8, "a follower off the chain: everything from it on is lumped as rigid at 0.0 rad"),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_suspect_description_is_warned_of_with_code_line_and_reason(name):
    text, expected = CASES[name]
    assert warnings(text, tip="two") == expected


def test_effort_limit_below_the_gravity_torque_is_warned_of():
    """Field report 102: an arm of 1 kg at 0.4 m and one of 1 kg at 0.1 m about a level axis: 9.81 * 0.5 "
    "N m."""
    text = two_joints(inside='<limit lower="0" upper="0.1" velocity="1" effort="4"/><axis xyz="0 1 0"/>')
    assert warnings(text) == [("KD505", 5, "its effort limit is 4 N m, but gravity alone asks for 4.905 N m")]
    strong = text.replace('effort="4"', 'effort="5"')
    assert warnings(strong) == []


def test_shapes_show_how_large_a_link_is():
    """A disc of 1 m radius may have a radius of gyration of 0.7 m, a link without a shape may not."""
    heavy = inertial(moment="0.5")
    disc = '<visual><geometry><cylinder radius="1" length="0.1"/></geometry></visual>'
    assert [code for code, *_ in warnings(two_joints(first=heavy))] == ["KD407"]
    assert warnings(two_joints(first=heavy + disc)) == []


# Gross errors of unit: of arms that are right otherwise.

SOLID = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'


HEAVY = inertial(mass="200", moment="2")
FRICTION = '<dynamics damping="1" friction="5"/>'


def slide(upper):
    inside = f'<axis xyz="0 0 1"/><limit lower="0" upper="{upper}" velocity="1" effort="100"/>'
    return two_joints().replace(
        "</robot>", link("x") + joint("s", "two", "x", "prismatic", inside) + "</robot>"
    )


def lifting(effort="20", dynamics=""):
    """Two links of 1 kg whose joints lift them: gravity asks for 4.9 and 1 N m."""
    inside = f'<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="{effort}"/>{dynamics}'
    return two_joints(inside=inside).replace('<axis xyz="0 0 1"/>', '<axis xyz="0 1 0"/>')


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        (two_joints(), two_joints(second=inertial(moment="1e-6")), "KD414"),
        (two_joints(), two_joints(second=inertial(moment="1e-10")), "KD414"),
        (two_joints(second=inertial() + SOLID), two_joints(second=HEAVY + SOLID), "KD414"),
        (slide("0.5"), slide("500"), "KD508"),
        (lifting(dynamics=FRICTION), lifting(dynamics=FRICTION.replace("5", "500")), "KD509"),
        (lifting(), lifting(dynamics='<dynamics damping="1000"/>'), "KD509"),
        (lifting(), lifting(effort="20000"), "KD510"),
    ],
)  # fmt: skip
def test_a_gross_error_of_unit_is_warned_of(right, wrong, code):
    tip = "x" if code == "KD508" else "two"
    assert code not in [found for found, *_ in warnings(right, tip)]
    assert code in [found for found, *_ in warnings(wrong, tip)]


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_a_solid_sphere_of_tungsten_is_dense_enough(scale):
    """19,300 kg/m^3 of any size pass; 28,000 do not."""

    def sphere(density):
        radius = 0.05 * scale
        mass = density * 4 / 3 * math.pi * radius**3
        return inertial(mass=repr(mass), moment=repr(0.4 * mass * radius**2))

    found = [
        [code for code, *_ in warnings(two_joints(second=sphere(rho)), "two")] for rho in (19_300, 28_000)
    ]
    assert ["KD414" in codes for codes in found] == [False, True]


def test_a_link_with_a_mesh_is_not_judged_by_its_other_shapes():
    """As a foot whose contacts are four small spheres."""
    mesh = '<visual><geometry><mesh filename="foot.stl"/></geometry></visual>'
    heavy = HEAVY + SOLID
    assert "KD414" in [code for code, *_ in warnings(two_joints(second=heavy))]
    assert "KD414" not in [code for code, *_ in warnings(two_joints(second=heavy + mesh))]


@pytest.mark.parametrize("mass", ["-1", "nan", "1,5"])
def test_a_mass_that_is_refused_is_not_called_massless_too(mass):
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(two_joints(first=inertial(mass=mass))))
    assert caught.value.code in ("KD401", "KD302", "KD301")
    assert "KD405" not in [finding.code for finding in caught.value.noted]


def test_elements_that_are_not_read_are_counted():
    blocks = '<gazebo reference="one"><mu1>1</mu1></gazebo>\n' * 3
    text = two_joints(inside=f'<axis xyz="0 0 1"/>{LIMIT}<safety_controller k_velocity="1"/>')
    text = text.replace("</robot>", f'{blocks}<drake:proximity/><link2 a="1"/></robot>')
    found = {f.message for f in parse_robot(text).findings if f.code in ("KD209", "KD212")}
    assert found == {
        "<gazebo> has no part in the motion and is not read (3 times)",
        "<safety_controller> has no part in the motion and is not read",
        "<drake:proximity> is foreign to URDF and not read",
        "unknown element <link2> in <robot> was not read",
    }


def test_branch_stands_at_the_limit_nearest_to_zero():
    inside = '<axis xyz="1 0 0"/><limit lower="0.2" upper="0.5" velocity="1" effort="1"/>'
    text = two_joints().replace(
        "</robot>", link("slide") + joint("s", "two", "slide", "prismatic", inside) + "</robot>"
    )
    chain = serial_chain(parse_robot(text), "two")
    # Centres of mass of 1 kg each: of `two` at 0.1, of `slide` at 0.3 + 0.2 + 0.1.
    assert chain.joints[1].inertia.com == pytest.approx((0.35, 0, 0), abs=1e-15)
    assert [f.message for f in chain.findings if f.code == "KD604"] == [
        "off the chain: everything from it on is lumped as rigid at 0.2 m"
    ]


def test_lock_moves_a_branch():
    text = two_joints().replace("</robot>", link("x") + joint("s", "two", "x", "prismatic") + "</robot>")
    chain = serial_chain(parse_robot(text), "two", lock={"s": 0.5})
    assert chain.joints[1].inertia.com == pytest.approx((0.25, 0, 0.25), abs=1e-15)
    assert chain.locked == (("s", 0.5),)


def test_a_follower_off_the_chain_that_is_locked_by_its_leader_is_no_warning():
    """As the second finger of a gripper; a joint locked beyond its limits is said to be there."""
    follow = f'{LIMIT}<axis xyz="1 0 0"/><mimic joint="s"/>'
    inside = '<axis xyz="1 0 0"/><limit lower="0" upper="0.04" velocity="1" effort="1"/>'
    text = two_joints().replace(
        "</robot>",
        link("x")
        + link("y")
        + joint("s", "two", "x", "prismatic", inside)
        + joint("t", "two", "y", "prismatic", follow)
        + "</robot>",
    )
    for position, outside in ((0.02, False), (0.2, True)):
        findings = serial_chain(parse_robot(text), "two", lock={"s": position}).findings
        assert not [found for found in findings if found.code == "KD604"]
        warned = [found.element for found in findings if found.code == "KD614"]
        assert warned == (["joint 's'"] if outside else [])


@pytest.mark.parametrize(("position", "asks"), [(45.0, True), (1000.0, False)])
def test_a_lock_outside_the_limits_that_would_fit_as_degrees_is_asked_about(position, asks):
    """The limits are 1 rad to each side: 57 degrees."""
    findings = serial_chain(parse_robot(two_joints()), lock={"b": position}).findings
    (found,) = [found for found in findings if found.code == "KD614"]
    assert found.severity == "warning"
    assert ("degrees" in found.message) == asks


def test_locked_joint_of_the_chain_becomes_fixed():
    """Field report 42: dimensions follow the moving joints."""
    chain = serial_chain(parse_robot(two_joints()), lock={"b": 0.0})
    as_fixed = two_joints().replace('name="b" type="revolute"', 'name="b" type="fixed"')
    assert chain.coordinates == ("a",)
    assert chain.joints[0].inertia == serial_chain(parse_robot(as_fixed)).joints[0].inertia


@pytest.mark.parametrize(
    ("multiplier", "lock", "position"),
    [("2", {"a": 0.25}, 0.6), ("0", None, 0.1)],
)
def test_follower_stands_with_its_leader_or_with_multiplier_0(multiplier, lock, position):
    follow = f'{LIMIT}<axis xyz="0 0 1"/><mimic joint="a" multiplier="{multiplier}" offset="0.1"/>'
    text = robot(
        link("base"), link("one"), link("two"), link("three"),
        joint("a", "base", "one"), joint("b", "one", "two", inside=follow), joint("c", "two", "three"),
    )  # fmt: skip
    chain = serial_chain(parse_robot(text), lock=lock)
    assert "b" not in chain.coordinates
    found = [f.message for f in chain.findings if f.code == "KD607" and f.element == "joint 'b'"]
    assert found == [f"locked at {position}, as its <mimic> says"]


def test_default_tip_is_the_leaf_that_most_joints_lead_to_and_the_first_of_equals():
    text = robot(
        link("base"), link("x"), link("y"), link("z"), link("frame", ""),
        joint("a", "base", "x"), joint("b", "x", "z"), joint("c", "x", "y"), fixed("f", "base", "frame"),
    )  # fmt: skip
    chain = serial_chain(parse_robot(text))
    assert chain.tip == "y"
    assert [f.message for f in chain.findings if f.code == "KD602"] == [
        "no tip was asked for: 'y' was chosen, to which 2 moving joints lead"
    ]


def test_names_that_need_care_are_one_finding_for_each_reason():
    text = two_joints().replace('"one"', '"link-one"').replace('"two"', '"link-two"').replace('"a"', '"1st"')
    text = text.replace('"b"', '"1ST"')
    found = [(f.code, f.line, f.element) for f in parse_robot(text).findings]
    assert found == [
        ("KD214", 3, "link 'link-one'"),
        ("KD214", 5, "joint '1st'"),
        ("KD215", 5, "joint '1st'"),
    ]
    (links, *_) = (f.message for f in parse_robot(text).findings)
    assert "'link-two'" in links


# Inertias about the links' origins, and efforts of weak arms in N mm


def arm_of_rods(share, lengths=(0.3, 0.4, 0.5), effort="20", mass=1.0):
    """Rods along x, ``share`` m l^2 across them: 1/12 about the centres of mass, 1/3 about the origins."""
    parts, parent = [link("base")], "base"
    for k, length in enumerate(lengths):
        across, along = share * mass * length**2, mass * 0.02**2 / 2
        parts += [
            link(
                f"rod{k}",
                f'<inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
                f'<inertia ixx="{along}" iyy="{across}" izz="{across}" ixy="0" ixz="0" iyz="0"/></inertial>',
            ),
            joint(
                f"j{k}", parent, f"rod{k}", xyz=f"{lengths[k - 1] if k else 0} 0 0",
                inside=f'<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="{effort}"/>',
            ),
        ]  # fmt: skip
        parent = f"rod{k}"
    return robot(*parts)


def test_tensors_about_the_origins_of_several_links_are_noted_at_the_first():
    found = warnings(arm_of_rods(1 / 3), "rod2")
    assert [(code, line) for code, line, _ in found] == [("KD415", 3)]
    assert "'rod1', 'rod2'" in found[0][2]


@pytest.mark.parametrize(
    ("share", "lengths"),
    [
        (1 / 12, (0.3, 0.4, 0.5)),
        (1 / 3, (0.3,)),  # one may be odd
        (1 / 3, (0.4, 0.4, 0.4, 0.4)),  # the same one, four times
    ],
)
def test_central_tensors_and_one_odd_link_are_not_called_about_the_origin(share, lengths):
    assert warnings(arm_of_rods(share, lengths, effort="100"), f"rod{len(lengths) - 1}") == []


def test_one_central_tensor_among_three_acquits_the_others():
    text = arm_of_rods(1 / 3).replace(f'iyy="{1 / 3 * 0.25}" izz="{1 / 3 * 0.25}"', 'iyy="0.021" izz="0.021"')
    assert text != arm_of_rods(1 / 3)
    assert warnings(text, "rod2") == []


@pytest.mark.parametrize(("effort", "count"), [("0.5", 0), ("500", 3), ("100", 0), ("1000", 0)])
def test_efforts_of_a_weak_arm_in_millimetres_are_noted(effort, count):
    """Rods of 20 g: gravity asks for at most 0.2 N m; 100 and 1000 of all joints are placeholders."""
    text = arm_of_rods(1 / 12, effort=effort, mass=0.02)
    assert [code for code, *_ in warnings(text, "rod2")] == ["KD510"] * count
