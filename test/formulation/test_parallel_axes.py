"""Groups of joints about parallel axes."""

from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.description.model import IDENTITY as ONE
from kane_dynamics_ros.description.model import ZERO, Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.symbolic.trigonometry import parallel_groups
from kane_dynamics_ros.share import share_directory

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
TURNED = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))  # a quarter turn about x


def chain_of(*joints) -> Chain:
    """Joints given as (kind, axis, coordinate, R_PJ)."""
    body = Inertia(1.0, ZERO, (ZERO, ZERO, ZERO))
    made = tuple(
        ChainJoint(f"j{i}", kind, R_PJ, ZERO, axis, f"b{i}", body, coordinate, i - 1)
        for i, (kind, axis, coordinate, R_PJ) in enumerate(joints)
    )
    count = 1 + max(joint.coordinate for joint in made)
    return Chain("chain", "base", "tip", made, tuple(f"j{i}" for i in range(count)), len(made) - 1)


def test_the_manipulators_shoulder_and_elbow_are_parallel():
    chain = serial_chain(load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf"))
    assert parallel_groups(chain) == ((0,), (1, 2), (3,), (4,))


def test_axes_are_compared_in_one_frame():
    """The second joint's frame is turned: its y is the first one's z."""
    chain = chain_of(("revolute", Z, 0, ONE), ("revolute", Y, 1, TURNED), ("revolute", Z, 2, ONE))
    assert parallel_groups(chain) == ((0, 1), (2,))


def test_antiparallel_axes_are_parallel():
    chain = chain_of(("revolute", Z, 0, ONE), ("continuous", (0.0, 0.0, -1.0), 1, ONE))
    assert parallel_groups(chain) == ((0, 1),)


def test_a_slide_between_parallel_axes_does_not_part_them():
    chain = chain_of(("revolute", Z, 0, ONE), ("prismatic", X, 1, ONE), ("revolute", Z, 2, ONE))
    assert parallel_groups(chain) == ((0, 2), (1,))


def test_slides_alone_make_groups_of_their_own():
    assert parallel_groups(chain_of(("prismatic", X, 0, ONE), ("prismatic", X, 1, ONE))) == (
        (0,),
        (1,),
    )


def test_a_follower_joins_the_groups_of_its_leader():
    chain = chain_of(("revolute", X, 0, ONE), ("revolute", Y, 1, ONE), ("revolute", Z, 0, ONE))
    assert parallel_groups(chain) == ((0,), (1,))
    chain = chain_of(("revolute", X, 0, ONE), ("revolute", X, 1, ONE), ("revolute", Y, 0, ONE))
    assert parallel_groups(chain) == ((0, 1),)
