"""``verify`` finds errors of reading that all witnesses share which start from the chain.

Each is planted in the reader, the module generated with it, and verified with it: the derivations agree with
one another, and Pinocchio, which reads the URDF itself, does not.
"""

import re
from pathlib import Path

import pytest
from small_urdf import LIMIT, fixed, joint, link, robot

from kane_dynamics_ros.algebra import apply
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import Chain, Inertia, chain, load_robot, reader, serial_chain
from kane_dynamics_ros.description.geometry import Pose, add_matrices, lump, point_mass_tensor
from kane_dynamics_ros.description.model import Mimic

TURNED = (
    '<inertial><origin xyz="0.1 0.02 -0.03" rpy="0.4 0.3 0.2"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.04"/></inertial>'
)


def follower(name, parent, child, multiplier, offset):
    inside = (
        f'<axis xyz="0 1 0.3"/>{LIMIT}<dynamics damping="0.4" friction="0.2" armature="0.07"/>'
        f'<mimic joint="a" multiplier="{multiplier}" offset="{offset}"/>'
    )
    return joint(name, parent, child, inside=inside, rpy="0 0.4 0")


def motor(name, inertia, ratio):
    return (
        f'<transmission name="t"><mechanicalReduction>{ratio}</mechanicalReduction><joint name="{name}"/>'
        f'<actuator name="m"><rotorInertia>{inertia}</rotorInertia></actuator></transmission>'
    )


ROBOT = robot(
    *(link(name, TURNED) for name in ("base", "one", "two", "side", "plate", "branch")),
    joint("a", "base", "one", inside=f'<axis xyz="0 0 1"/>{LIMIT}<dynamics damping="1" friction="0.5"/>'),
    follower("follows", "one", "side", -1.5, 0.3),
    joint("b", "one", "two", inside=f'<axis xyz="1 0 0.2"/>{LIMIT}', rpy="0.1 0.2 0"),
    fixed("flange", "two", "plate", xyz="0.1 0 0.2", rpy="0.3 0 0"),
    joint("off", "two", "branch", "prismatic", f'<axis xyz="1 0 0"/>{LIMIT}'),
    motor("b", 1e-4, 30),
)


def pose_of_inertial(change):
    """The reader's ``read_pose`` with ``change`` made to the frames of ``<inertial>`` alone."""
    right = reader.read_pose
    return lambda owner, parsed: (
        change(right(owner, parsed)) if owner.element.tag == "inertial" else right(owner, parsed)
    )


def followed(change):
    right = reader.read_mimic
    return lambda parsed: change(right(parsed)) if parsed is not None else None


def lumped_with_the_wrong_sign(parts):
    """The parallel-axis theorem, but subtracted."""
    parts = list(parts)
    right = lump(parts)
    tensor = ((0.0,) * 3,) * 3
    for part in parts:
        arm = tuple(a - b for a, b in zip(part.com, right.com, strict=True))
        tensor = add_matrices(tensor, add_matrices(part.tensor, point_mass_tensor(-part.mass, arm)))
    return Inertia(right.mass, right.com, tensor)


def rotors(power):
    """Rotor inertias of the coordinates with |k|^power."""

    def of_chain(chain):
        total = [0.0] * len(chain.coordinates)
        for j in chain.joints:
            total[j.coordinate] += abs(j.multiplier) ** power * j.rotor_inertia
        return tuple(total)

    return property(of_chain)


PLANTED = {
    "nothing": lambda patch: None,
    "inertial rpy ignored": lambda patch: patch(
        reader, "read_pose", pose_of_inertial(lambda pose: Pose(p=pose.p))
    ),
    "centre of mass turned": lambda patch: patch(
        reader, "read_pose", pose_of_inertial(lambda pose: Pose(pose.R, apply(pose.R, pose.p)))
    ),
    "mimic multiplier": lambda patch: patch(
        reader, "read_mimic", followed(lambda m: Mimic(m.leader, -m.multiplier, m.offset))
    ),
    "mimic offset": lambda patch: patch(
        reader, "read_mimic", followed(lambda m: Mimic(m.leader, m.multiplier, 0.0))
    ),
    "Steiner's sign in lumping": lambda patch: patch(chain, "lump", lumped_with_the_wrong_sign),
    "rotor k instead of k^2": lambda patch: patch(Chain, "rotor_inertia", rotors(1)),
    "friction without k": lambda patch: patch(
        Chain, "friction", property(lambda chain: tuple(
            sum(j.friction for j in chain.joints if j.coordinate == k) for k in range(len(chain.coordinates))
        ))
    ),
}  # fmt: skip


@pytest.mark.parametrize("error", PLANTED)
@pytest.mark.parametrize("lock", [{}, {"off": 0.2}], ids=["branch at rest", "branch locked"])
def test_an_error_of_reading_is_found_by_the_witness_that_reads_the_urdf(
    tmp_path: Path, monkeypatch, capsys, error, lock
):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ROBOT)
    PLANTED[error](monkeypatch.setattr)
    module = write_module(derive(serial_chain(load_robot(urdf), "plate", lock=lock)), "arm", tmp_path)[0]
    code = main(["verify", str(module), "--urdf", str(urdf), "--backend", "python", "--states", "2"])
    wrong = re.findall(r"^  (.*?)  +\S+  TOO LARGE$", capsys.readouterr().out, re.MULTILINE)
    expected = [] if error == "nothing" else ["Pinocchio, from the URDF"]
    assert (code, [name.strip() for name in wrong]) == (0 if error == "nothing" else 1, expected)


@pytest.mark.parametrize("kind", ["fixed", "prismatic", "planar", "floating", "revolute"])
@pytest.mark.parametrize("turned", ["0 0 0", "1.5708 0 0.3"])
def test_gravity_below_a_root_is_what_the_urdf_says(tmp_path: Path, capsys, kind, turned):
    """The witness turns it by its own means, whatever joint lies above."""
    urdf = tmp_path / "arm.urdf"
    text = ROBOT.replace("</robot>", link("world", TURNED) + "</robot>")
    inside = f'<axis xyz="0 0 1"/>{LIMIT}' if kind not in ("fixed", "floating") else ""
    above = joint("mount", "world", "base", kind, inside, rpy=turned)
    urdf.write_text(text.replace("</robot>", above + "</robot>"))
    chain = serial_chain(load_robot(urdf), "plate", root="base")
    module = write_module(derive(chain), "arm", tmp_path)[0]
    assert main(["verify", str(module), "--urdf", str(urdf), "--backend", "python", "--states", "1"]) == 0
    assert "Pinocchio, from the URDF, on" in capsys.readouterr().out
