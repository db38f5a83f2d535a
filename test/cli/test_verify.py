"""``kane_dynamics verify``: real robots pass, a wrong module and another robot's do not."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from compilers import C_COMPILER
from example_robots import ROBOTS
from small_urdf import INERTIA, LIMIT, joint, link, robot, two_joints

from kane_dynamics_ros.checksum import MARK, with_checksum
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.cli.verify import WITNESSES, random_trials, relative, write_record
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, physics_hash, serial_chain
from kane_dynamics_ros.errors import KaneDynamicsError, singular_mass_matrix
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.share import share_directory

REFERENCE = share_directory() / "urdf" / "manipulator_5dof.urdf"
CHECKS = (
    *("Lagrange", "Maggi", "Gibbs-Appell", "Pinocchio, from the URDF"),
    *("mass matrix, by columns", "bias", "gravity", "Coriolis matrix"),
    *("forward dynamics inverts", "terms add up", "energy", "regressor", "reaction wrenches", "derivatives"),
    "batch",
    *("tip", "centre of mass"),
)


def generate(
    urdf: Path, folder: Path, tip: str | None = None, locks: tuple[tuple[str, float], ...] = ()
) -> str:
    """A module for pure Python, which needs no compiler; its path."""
    return str(
        write_module(derive(serial_chain(load_robot(urdf), tip, lock=dict(locks))), "module", folder)[0]
    )


def verify(module: str, urdf: Path, *options: str) -> int:
    words = ["verify", module, "--urdf", str(urdf), "--backend", "python", "--states", "3", *options]
    return main(words)


@pytest.mark.parametrize("backend", ["python"] + (["c"] if C_COMPILER else []))
def test_the_reference_robot_passes(backend, capsys):
    assert main(["verify", "manipulator_5dof", "--urdf", str(REFERENCE), "--backend", backend]) == 0
    first, *checks, chain_witnesses, urdf_witness, last = capsys.readouterr().out.splitlines()
    assert first == f"manipulator_5dof, backend {backend}: largest relative difference at 20 states"
    assert tuple(line[2:28].rstrip() for line in checks) == CHECKS
    assert chain_witnesses.endswith(": Lagrange, Maggi, Gibbs-Appell")
    assert "Pinocchio" in urdf_witness
    assert last == "verified"


@pytest.mark.parametrize(
    ("robot", "tip"),
    [
        ("ur_description/urdf/ur5_robot.urdf", "tool0"),
        ("panda_description/urdf/panda.urdf", "panda_link8"),
        ("so_arm_description/urdf/so101.urdf", None),
    ],
)
def test_real_robots_pass(robot, tip, tmp_path, capsys):
    module = generate(ROBOTS / robot, tmp_path, tip)
    assert verify(module, ROBOTS / robot) == 0
    assert capsys.readouterr().out.endswith("verified\n")


def test_a_tree_is_verified_with_a_payload_at_each_tip(tmp_path, capsys):
    """The witnesses and the module tell the same of both; of one alone they would not."""
    urdf = share_directory() / "urdf" / "two_arms.urdf"
    module = generate(urdf, tmp_path, "all")
    assert verify(module, urdf) == 0
    assert capsys.readouterr().out.endswith("verified\n")
    model, chain = load_model(module, backend="python"), serial_chain(load_robot(urdf), "all")
    *_, trial = random_trials(model, chain, None, 1, 0)
    first, second = trial.payloads
    other = replace(trial, payloads=(first, replace(second, mass=2.0 * second.mass)))
    for name, derivation in WITNESSES.items():
        of_both, of_another = trial.rigid_effort_by(derivation), other.rigid_effort_by(derivation)
        assert relative(of_another, of_both) > 0.01, name


def test_tip_and_locks_are_those_that_the_module_states(tmp_path):
    module = generate(REFERENCE, tmp_path, "hand", (("gamma_4", 0.3),))
    assert load_model(module, backend="python").joint_names == ("gamma_1", "alpha_2", "alpha_3", "beta_4")
    assert verify(module, REFERENCE) == 0


def test_inertial_parameters_at_run_time_are_verified_with_other_bodies(tmp_path):
    derived = derive(serial_chain(load_robot(REFERENCE)), inertial="runtime")
    module = str(write_module(derived, "module", tmp_path)[0])
    model, chain = load_model(module, backend="python"), serial_chain(load_robot(REFERENCE))
    *_, loaded = random_trials(model, chain, None, 1, seed=0)
    assert loaded.model.parameters.inertial != model.parameters.inertial
    assert verify(module, REFERENCE) == 0


def test_a_robot_without_forward_dynamics_is_verified_as_far_as_it_goes(tmp_path, capsys):
    """Its last link has a mass on the axis and no tensor: every torque is right, and M is singular."""
    point = '<inertial><origin xyz="0 0 0.1"/><mass value="1"/></inertial>'
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(two_joints(second=point, inside=f'<axis xyz="0 1 0"/>{LIMIT}'))
    assert verify(generate(urdf, tmp_path), urdf) == 0
    assert capsys.readouterr().out.endswith("verified\n")


def test_a_module_that_refuses_forward_dynamics_without_reason_fails(tmp_path, monkeypatch, capsys):
    module = generate(REFERENCE, tmp_path)

    def refusing(*arguments):
        raise singular_mass_matrix(("gamma_1",))

    monkeypatch.setattr(DynamicsModel, "forward_dynamics", refusing)
    assert verify(module, REFERENCE) == 2
    assert "singular" in capsys.readouterr().err


def test_a_module_with_a_changed_number_fails(tmp_path, capsys):
    """The checksum is made good again, so that only the equations give it away."""
    path = Path(generate(REFERENCE, tmp_path))
    text = path.read_text(encoding="utf-8")
    body = text[: text.rindex(MARK)]
    start = body.index("def inverse_dynamics")
    changed, count = re.subn(r"(?<![\w.])0\.\d+", lambda m: f"{float(m[0]) * 1.001!r}", body[start:], count=1)
    assert count == 1
    path.write_text(with_checksum(body[:start] + changed), encoding="utf-8")
    assert verify(str(path), REFERENCE) == 1
    out = capsys.readouterr().out
    assert re.search(r"^  Lagrange +\S+  TOO LARGE$", out, re.MULTILINE)
    assert out.endswith("NOT verified: the limit is 1e-09\n")


def test_another_robots_urdf_is_refused_with_both_hashes(tmp_path, capsys):
    module = generate(REFERENCE, tmp_path)
    heavier = tmp_path / "heavier.urdf"
    heavier.write_text(REFERENCE.read_text(encoding="utf-8").replace('mass value="3"', 'mass value="3.5"'))
    found = load_model(module, backend="python").urdf_hash
    expected = physics_hash(serial_chain(load_robot(heavier), "tool"))
    assert verify(module, heavier) == 2
    assert capsys.readouterr().err == (
        f"error: {module}: it was generated from a chain with hash {found[:16]}, but {heavier} with the same "
        f"tip and locks has {expected[:16]}; generate it again, or give the URDF that it was made from\n"
    )


def test_a_urdf_without_the_modules_links_is_told_as_another_robots(tmp_path, capsys):
    module = generate(REFERENCE, tmp_path)
    other = tmp_path / "other.urdf"
    other.write_text(REFERENCE.read_text(encoding="utf-8").replace('"tool"', '"flange"'))
    assert verify(module, other) == 2
    assert f"{module} was generated from another robot" in (told := capsys.readouterr().err)
    assert "KD601" in told
    assert verify(module, other, "--tip", "nowhere") == 2
    assert "another robot" not in capsys.readouterr().err


def test_record_writes_the_last_verification_into_the_module(tmp_path):
    module = generate(REFERENCE, tmp_path)
    assert verify(module, REFERENCE, "--record", "--seed", "7") == 0
    lines = Path(module).read_text(encoding="utf-8").splitlines()
    (record,) = (line for line in lines if line.startswith("VERIFIED = "))
    assert re.fullmatch(
        r"VERIFIED = \{'date': '\d{4}-\d\d-\d\d', 'states': 3, 'seed': 7, 'largest': \S+, 'of': '[^']+'\}",
        record,
    )
    assert verify(module, REFERENCE, "--record") == 0  # the checksum still fits, and the line is found again


def test_a_file_without_the_line_cannot_be_recorded_in(tmp_path):
    path = tmp_path / "other.py"
    path.write_text("x = 1\n")
    with pytest.raises(KaneDynamicsError) as error:
        write_record(path, {"Lagrange": 1e-15}, 1, 0)
    assert (error.value.code, error.value.module) == ("record", path)


def test_rotors_alone_are_verified(tmp_path, capsys):
    inside = f'<axis xyz="0 0 1"/>{LIMIT}<dynamics armature="0.1"/>'
    urdf = tmp_path / "rotor.urdf"
    urdf.write_text(robot(link("a", ""), link("b", ""), joint("j", "a", "b", inside=inside)))
    assert verify(generate(urdf, tmp_path), urdf) == 0
    assert capsys.readouterr().out.endswith("verified\n")


@pytest.mark.parametrize(("option", "value", "least"), [("--states", "0", 1), ("--seed", "-1", 0)])
def test_states_are_above_zero_and_the_seed_is_not_negative(option, value, least, capsys):
    assert main(["verify", "manipulator_5dof", "--urdf", str(REFERENCE), f"{option}={value}"]) == 2
    assert f"{option} '{value}': a whole number from {least} on" in capsys.readouterr().err


def test_without_pinocchio_the_words_say_that_nothing_read_the_urdf_itself(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pinocchio", None)  # as where it is not installed
    assert verify("manipulator_5dof", REFERENCE) == 0
    out = capsys.readouterr().out
    assert "none: Pinocchio is not installed" in out
    assert out.splitlines()[-1].startswith("verified, except for ")


def test_a_urdf_that_pinocchio_cannot_read_is_said_and_no_failure(tmp_path, capsys):
    """A number that cannot be read, on a link that does not move."""
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(two_joints().replace(link("base", ""), link("base", INERTIA.replace('"1"', '"heavy"'))))
    assert verify(generate(urdf, tmp_path), urdf) == 0
    out = capsys.readouterr().out
    assert "none: Pinocchio cannot read this URDF" in out
    assert out.splitlines()[-1].startswith("verified, except for ")
    assert "install" not in out
