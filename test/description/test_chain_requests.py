"""A tip or a lock that cannot be is refused with what is possible."""

import pytest
from chains_of_text import chain_of
from small_urdf import LIMIT, fixed, joint, link, robot, two_joints

from kane_dynamics_ros.description import DescriptionError


def refusal(text, **options):
    with pytest.raises(DescriptionError) as caught:
        chain_of(text, **options)
    return str(caught.value)


def test_unknown_tip_names_the_links_that_there_are():
    assert refusal(two_joints(), tip="hand") == (
        "arm.urdf: there is no link 'hand'; its links are 'base', 'one', 'two' [KD601]"
    )


def test_misspelt_tip_is_guessed():
    assert refusal(two_joints(), tip="tow") == (
        "arm.urdf: there is no link 'tow'; did you mean 'two'? its links are 'base', 'one', 'two' [KD601]"
    )


def test_tip_that_no_joint_moves_is_refused():
    assert refusal(two_joints(), tip="base") == (
        "arm.urdf: no joint moves between the root 'base' and the tip 'base'; a chain needs at least one "
        "revolute, "
        "continuous or prismatic joint that is not locked: choose another --tip [KD207]"
    )


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        ({"c": 0.0}, "arm.urdf: there is no joint 'c'; its joints are 'a', 'b', 'f' [KD601]"),
        (
            {"a": float("nan")},
            "arm.urdf:6: joint 'a': it cannot be locked at nan; a finite position of at most 1e+12 is "
            "needed [KD610]",
        ),
        (
            {"f": 0.0},
            "arm.urdf:8: joint 'f': it cannot be locked at 0.0; it is fixed already: leave it out [KD610]",
        ),
    ],
)
def test_lock_that_cannot_be_is_refused(lock, message):
    text = robot(
        link("base"), link("one"), link("two"), link("tool", ""),
        joint("a", "base", "one"), joint("b", "one", "two"), fixed("f", "two", "tool"),
    )  # fmt: skip
    assert refusal(text, lock=lock) == message


def test_follower_cannot_be_locked_alone():
    text = robot(
        link("base"), link("one"), link("two"),
        joint("a", "base", "one"), joint("b", "one", "two", inside=f'{LIMIT}<mimic joint="a"/>'),
    )  # fmt: skip
    assert refusal(text, lock={"b": 0.1}) == (
        "arm.urdf:6: joint 'b': it cannot be locked at 0.1; it follows joint 'a': lock that one [KD610]"
    )
