"""What the physics hash covers, what it does not, and how differences are named."""

import math
import re

import pytest
from small_urdf import LIMIT, fixed, joint, link, robot, two_joints

from kane_dynamics_ros.description import geometry, parse_robot, physics_hash, serial_chain
from kane_dynamics_ros.description.physics_hash import physical_content

BASE = two_joints(inside=f'<axis xyz="0 0 1"/>{LIMIT}<dynamics damping="0.5" friction="0.25"/>')


def chain_of(text, **options):
    return serial_chain(parse_robot(text), "two", **options)


def differences(a, b):
    """What the hashes of two chains cover and what differs in it, a line each."""
    ours, theirs = physical_content(a), physical_content(b)
    labels = [label for label in {**ours, **theirs} if ours.get(label) != theirs.get(label)]
    return tuple(f"{label}: {ours.get(label)!r} became {theirs.get(label)!r}" for label in labels)


PHYSICAL = {
    "mass": (
        lambda text: text.replace('mass value="1"', 'mass value="1.5"', 1),
        "joint 'a' mass: 1.0 became 1.5",
    ),
    "centre of mass": (
        lambda text: text.replace('xyz="0.1 0 0"', 'xyz="0.1 0.2 0"', 1),
        "joint 'a' com: (0.1, 0.0, 0.0) became (0.1, 0.2, 0.0)",
    ),
    "moment": (
        lambda text: text.replace('iyy="0.01"', 'iyy="0.012"', 1),
        "joint 'a' tensor: ((0.01, 0.0, 0.0), (0.0, 0.01, 0.0), (0.0, 0.0, 0.01)) became "
        "((0.01, 0.0, 0.0), (0.0, 0.012, 0.0), (0.0, 0.0, 0.01))",
    ),
    "position": (
        lambda text: text.replace('xyz="0.3 0 0"', 'xyz="0.31 0 0"', 1),
        "joint 'a' p_PoJo_P: (0.3, 0.0, 0.0) became (0.31, 0.0, 0.0)",
    ),
    "axis": (
        lambda text: text.replace('axis xyz="0 0 1"', 'axis xyz="0 1 0"', 1),
        "joint 'a' axis: (0.0, 0.0, 1.0) became (0.0, 1.0, 0.0)",
    ),
    "kind": (
        lambda text: text.replace("revolute", "prismatic", 1),
        "joint 'a' kind: 'revolute' became 'prismatic'",
    ),
    "damping": (lambda text: text.replace('"0.5"', '"0.6"'), "joint 'a' damping: 0.5 became 0.6"),
    "friction": (lambda text: text.replace('"0.25"', '"0.3"'), "joint 'a' friction: 0.25 became 0.3"),
    "rotor inertia": (
        lambda text: text.replace("<dynamics", '<dynamics armature="0.1"'),
        "joint 'a' rotor_inertia: 0.0 became 0.1",
    ),
}


@pytest.mark.parametrize("what", PHYSICAL)
def test_every_physical_change_changes_the_hash_and_is_named(what):
    change, line = PHYSICAL[what]
    before, after = chain_of(BASE), chain_of(change(BASE))
    assert physics_hash(before) != physics_hash(after)
    assert differences(before, after) == (line,)


def test_mimic_and_lock_count():
    led = (
        BASE.replace("</robot>", "").replace(LIMIT + "</joint>", f'{LIMIT}<mimic joint="a"/></joint>')
        + "</robot>"
    )
    assert differences(chain_of(BASE), chain_of(led)) == (
        "coordinates: ('a', 'b') became ('a',)",
        "joint 'b' coordinate: 1 became 0",
    )
    names = [line.split(":")[0] for line in differences(chain_of(BASE), chain_of(BASE, lock={"b": 0.5}))]
    assert names[:5] == ["coordinates", "tip orientation", "tip position", "locked joints", "joints"]


NOT_PHYSICAL = {
    "comments": lambda text: text.replace("<link", "<!-- a link --><link"),
    "the robot's name": lambda text: text.replace('name="arm"', 'name="leg"'),
    "limits": lambda text: text.replace(LIMIT, '<limit lower="-2" upper="2" velocity="3" effort="4"/>'),
    "visuals": lambda text: text.replace("</link>", "<visual><geometry/></visual></link>"),
    "how numbers are written": lambda text: text.replace('"0.01"', '"1.0e-2"').replace(
        "0.3 0 0", "+0.30 0. -0"
    ),
    "the order of elements": lambda text: text.replace(
        (joints := re.search("<joint.*</joint>\n", text, re.DOTALL)[0]), ""
    ).replace(">\n", ">\n" + joints, 1),
    "the length of an axis": lambda text: text.replace('axis xyz="0 0 1"', 'axis xyz="0 0 4"'),
    "a massless frame": lambda text: text.replace(
        "</robot>", link("f", "") + fixed("g", "one", "f") + "</robot>"
    ),
    "an initial position": lambda text: text.replace(
        "</robot>",
        '<ros2_control><joint name="a"><state_interface name="position"><param name="initial_value">1</param>'
        "</state_interface></joint></ros2_control></robot>",
    ),
}


@pytest.mark.parametrize("what", NOT_PHYSICAL)
def test_what_is_not_physical_leaves_the_hash(what):
    text = NOT_PHYSICAL[what](BASE)
    assert physics_hash(chain_of(text)) == physics_hash(chain_of(BASE))
    assert differences(chain_of(BASE), chain_of(text)) == ()


def test_branches_count_through_the_body_that_they_are_lumped_into():
    parts = [
        link("base"),
        link("one"),
        link("two"),
        link("x"),
        joint("a", "base", "one"),
        joint("b", "one", "two"),
    ]
    bare = chain_of(robot(*parts[:3], *parts[4:]))
    with_branch = chain_of(robot(*parts, joint("c", "two", "x")))
    assert [line.split(":")[0] for line in differences(bare, with_branch)] == [
        "joint 'b' mass",
        "joint 'b' com",
        "joint 'b' tensor",
    ]


def test_hash_is_the_same_with_another_mathematics_library(monkeypatch):
    """Sines and cosines that differ in the last bit, as between computers, leave the hash."""
    text = BASE.replace('rpy="0 0 0"', 'rpy="0.3 -0.4 2.5"')
    before = chain_of(text)
    sine_cosine = geometry.sine_cosine

    def other_library(angle):
        sine, cosine = sine_cosine(angle)
        return math.nextafter(sine, 2.0), math.nextafter(cosine, -2.0)

    monkeypatch.setattr(geometry, "sine_cosine", other_library)
    after = chain_of(text)
    assert after.joints[0].R_PJ != before.joints[0].R_PJ
    assert physics_hash(after) == physics_hash(before)


def test_small_bodies_count_to_as_many_digits_as_large_ones():
    tiny = BASE.replace('"0.01"', '"1e-9"').replace('mass value="1"', 'mass value="1e-5"')
    changed = tiny.replace('"1e-9"', '"1.00000001e-9"')
    assert physics_hash(chain_of(tiny)) != physics_hash(chain_of(changed))


def test_hash_is_stable():
    """Known from the first version: a change here makes every generated module stale, so it must be meant."""
    digest = physics_hash(chain_of(BASE))
    assert len(digest) == 64
    assert digest == "7bfedc929ad03e251cf02ae91f9d011f757cf31b16782e37f086ab28fdd0b677"
