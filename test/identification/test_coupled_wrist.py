"""identify finds drives that turn with two joints, and none where there are none."""

import json
from pathlib import Path

import numpy as np
import planted_arm
import pytest
import two_links
import yaml
from example_robots import ROBOTS

from kane_dynamics_ros.cli.identify import couplings
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.control.law import Law, TermSwitches, efforts
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.identification.judging import Errors, written_terms
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions
from kane_dynamics_ros.simulation.rollout import simulate

UR5 = ROBOTS / "ur_description/urdf/ur5_robot.urdf"
SCARA = """<robot name="scara"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0.15 0 0"/><mass value="4"/>
    <inertia ixx=".01" iyy=".05" izz=".05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.1 0 0"/><mass value="3"/>
    <inertia ixx=".01" iyy=".03" izz=".03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="quill"><inertial><origin xyz="0 0 0.05"/><mass value="1"/>
    <inertia ixx=".004" iyy=".004" izz=".001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0.02 0 0"/><mass value="0.7"/>
    <inertia ixx=".002" iyy=".002" izz=".002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="100" velocity="9"/><dynamics damping="0" friction="0"/></joint>
  <joint name="j2" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.3 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="100" velocity="9"/></joint>
  <joint name="j3" type="prismatic"><parent link="fore"/><child link="quill"/><origin xyz="0.25 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="500" velocity="2"/></joint>
  <joint name="j4" type="revolute"><parent link="quill"/><child link="hand"/><axis xyz="0 0 1"/>
    <limit lower="-99" upper="99" effort="20" velocity="30"/></joint>
</robot>"""
RATE = 200.0
FRICTION = {"viscous": (2.0, 2.0, 1.5, 0.5, 0.4, 0.3), "coulomb": (4.0, 5.0, 3.0, 1.2, 1.0, 0.8)}
ROTORS = (0.3, 0.3, 0.2, 0.05, 0.04, 0.03)


def matrix(n: int, **factors: float) -> np.ndarray:
    """C with factors by their place: ``_65`` is row 6, column 5, counted from 1."""
    C = np.eye(n)
    for place, factor in factors.items():
        C[int(place[1]) - 1, int(place[2]) - 1] = factor
    return C


def harmonics(sizes: np.ndarray, seconds: float, rate: float = RATE) -> np.ndarray:
    """Five harmonics of 0.1 Hz on each joint, of speeds about ``sizes``: (3, N, n)."""
    random, n = np.random.default_rng(5), len(sizes)
    w = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None]
    speed = sizes * random.uniform(0.25, 0.6, (5, n)) * random.choice([-1, 1], (5, n))
    angle = w[:, None] * np.arange(round(seconds * rate))[:, None] / rate
    angle = angle + random.uniform(0, 2 * np.pi, (5, 1, n))
    parts = (speed / w)[:, None], speed[:, None], (-speed * w)[:, None]
    waves = np.sin(angle), np.cos(angle), np.sin(angle)
    return np.stack([(part * wave).sum(axis=0) for part, wave in zip(parts, waves, strict=True)])


def arm(urdf: Path, folder: Path) -> DynamicsModel:
    module, *_ = write_module(derive(serial_chain(load_robot(urdf))), "arm", folder)
    return load_model(module)


def identified(bag: Path, urdf: Path, output: Path, *more: str) -> tuple[dict, dict]:
    """The parameters for the node, and everything that was found."""
    command = ["identify", str(bag), "--urdf", str(urdf), "-o", str(output), "--no-compile", *more]
    assert main(command) == 0
    parameters = yaml.safe_load((output / "parameters.yaml").read_text())["/**"]["ros__parameters"]
    return parameters, json.loads((output / "identified.json").read_text())


def recorded(folder: Path, model: DynamicsModel, motion: np.ndarray, noise: float = 0.01) -> Path:
    """The efforts of a model along a motion, with white noise of that part of each."""
    tau = model.inverse_dynamics(*motion)
    random, size = np.random.default_rng(0), noise * np.sqrt((tau**2).mean(axis=0))
    noisy = tau + size * random.normal(size=tau.shape)
    return planted_arm.write(folder / "bag", motion[0], motion[1], noisy, RATE, model.joint_names)


def test_the_wrist_of_a_simulated_arm_is_found_and_compensated(tmp_path, capsys):
    """Six joints whose last drive turns with both wrist joints; nothing is told of it."""
    pytest.importorskip("rclpy", reason="the node's parameters need ROS 2")
    from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings

    C, rate, n = matrix(6, _65=1.0), 500.0, 6
    model = arm(UR5, tmp_path)
    drives = Friction(*FRICTION.values(), ExtraFriction.of(n, coupling=C))

    def hardware() -> SimulatedHardware:
        plant = Plant(
            model.with_parameters(rotor_inertia=ROTORS),
            PlantOptions(1.0 / rate, friction=drives, hard_stops=False),
        )
        plant.reset(*motion[:2, 0])
        return SimulatedHardware(plant)

    motion = harmonics(np.full(n, 0.7), 45.0, rate)
    motion[0] += [0.0, -1.2, 1.0, 0.0, 0.0, 0.0]

    def reference(time: float) -> np.ndarray:
        return motion[:, min(round(time * rate), motion.shape[1] - 1)]

    stiff = Law("computed_torque", model, *np.array([[4e3] * n, [120.0] * n]), TermSwitches())
    run = simulate(model, lambda *a: efforts(stiff, *a), reference, 45.0, hardware())
    effort = np.concatenate([run.effort[1:], run.effort[-1:]])  # of the step that begins here
    noise = 0.01 * np.sqrt((effort**2).mean(axis=0))
    noisy = effort + noise * np.random.default_rng(1).normal(size=effort.shape)
    bag = planted_arm.write(tmp_path / "bag", run.q, run.qd, noisy, rate, model.joint_names)
    parameters, data = identified(bag, UR5, tmp_path / "out")
    assert np.reshape(parameters["friction"]["coupling"], (n, n)) == pytest.approx(C, abs=0.01)
    assert data["coupling"] == pytest.approx(C, abs=0.01)
    assert parameters["friction"]["coulomb"] == pytest.approx(FRICTION["coulomb"], rel=0.08)
    assert parameters["rotor_inertia"][5] == pytest.approx(ROTORS[5], rel=0.1)
    assert "wrist_3_joint turns with wrist_2_joint, too: 1" in capsys.readouterr().out
    # one drive for each joint leaves much more, and it is said why
    _, single = identified(bag, UR5, tmp_path / "single", "--couple", "none")
    assert single["coupling"] is None
    both = (each["residual"]["held_out"]["joints"][4:] for each in (data, single))
    for coupled, alone in zip(*both, strict=True):
        assert coupled["urdf_and_node_rms"] < 0.4 * alone["urdf_and_node_rms"]
    said = {each["name"]: each["sentence"] for each in single["verdict"]["joints"]}
    assert "follows wrist_2_joint: are the two coupled" in said["wrist_3_joint"]
    # the node's law with these parameters and the identified model, by weak gains
    learnt = arm(tmp_path / "out" / "ur5_robot.identified.urdf", tmp_path / "out")
    errors = []
    for known in (parameters["friction"], {**parameters["friction"], "coupling": []}):
        values = {each.name: each.default for each in TABLE} | {"mode": "computed_torque"}
        values |= {"computed_torque.kp": [100.0], "computed_torque.kd": [20.0]}
        values |= {"rotor_inertia": parameters["rotor_inertia"]}
        values |= {f"friction.{name}": value for name, value in known.items()}
        law = build_settings(values, learnt).law
        run = simulate(learnt, lambda *a, law=law: efforts(law, *a), reference, 5.0, hardware())
        errors.append(np.sqrt(np.mean(run.error**2, axis=0))[4:])
    assert (errors[0] < 0.1 * errors[1]).all()


@pytest.mark.parametrize(
    ("C", "most"),
    [(matrix(6, _54=-0.5, _64=0.4, _65=0.25), 0.01), (matrix(6, _56=0.7), 0.01)],
    ids=["PUMA", "upwards"],
)
def test_couplings_of_other_wrists_are_found(C, most, tmp_path):
    model = arm(UR5, tmp_path).with_parameters(**FRICTION, rotor_inertia=ROTORS, coupling=C.ravel())
    motion = harmonics(np.full(6, 0.7), 60.0)
    motion[0] += [0.0, -1.2, 1.0, 0.0, 0.0, 0.0]
    _, data = identified(recorded(tmp_path, model, motion), UR5, tmp_path / "out")
    assert np.reshape(data["coupling"], (6, 6)) == pytest.approx(C, abs=most)
    held = data["residual"]["held_out"]
    below = np.sqrt(2 * data["bags"][0]["cutoff"] / RATE)  # of the noise, below the cut-off
    for joint in held["joints"]:
        assert joint["urdf_and_node_rms"] < 1.3 * below * 0.01 * joint["effort_rms"]


def scara(folder: Path, C: np.ndarray) -> tuple[Path, DynamicsModel]:
    urdf = folder / "scara.urdf"
    urdf.write_text(SCARA)
    model = arm(urdf, folder)
    friction = {"viscous": (1.0, 1.0, 20.0, 0.05), "coulomb": (3.0, 2.0, 25.0, 0.2)}
    return urdf, model.with_parameters(**friction, coupling=C.ravel())


def test_the_nut_of_a_scara_is_found_in_metres_a_radian(tmp_path, capsys):
    """A spindle of 25 mm a turn: the quill's drive turns with the hand, too."""
    pitch = 0.025 / (2 * np.pi)
    urdf, model = scara(tmp_path, matrix(4, _34=-pitch))
    motion = harmonics(np.array([0.8, 0.8, 0.06, 6.0]), 60.0)
    _, data = identified(recorded(tmp_path, model, motion), urdf, tmp_path / "out")
    assert data["coupling"][2][3] == pytest.approx(-pitch, rel=0.01)
    assert np.count_nonzero(data["coupling"]) == 5
    assert (
        f"the drive of j3 turns with j4, too: {data['coupling'][2][3]:.4g} m a rad" in capsys.readouterr().out
    )


@pytest.mark.parametrize("which", ["UR5", "SCARA", "two links", "manipulator_5dof"])
def test_none_is_found_where_there_is_none(which, tmp_path):
    urdf: Path
    if which == "UR5":
        urdf, model = UR5, arm(UR5, tmp_path).with_parameters(**FRICTION, rotor_inertia=ROTORS)
        bag = recorded(tmp_path, model, harmonics(np.full(6, 0.7), 30.0), noise=0.05)
    elif which == "SCARA":
        urdf, model = scara(tmp_path, np.eye(4))
        bag = recorded(tmp_path, model, harmonics(np.array([0.8, 0.8, 0.06, 6.0]), 30.0), noise=0.05)
    elif which == "two links":
        urdf, motion = two_links.urdf(tmp_path), two_links.harmonics()
        rigid, s = two_links.rigid(motion), np.tanh(motion[1] / 0.01)
        bag = two_links.bag(tmp_path / "bag", motion, rigid + (0.5 + 0.25 * np.abs(rigid)) * s)
    else:
        urdf = planted_arm.URDF
        bag, _ = planted_arm.recorded(tmp_path / "bag", planted_arm.planted(1), seconds=30.0)
    _, data = identified(bag, urdf, tmp_path / "out")
    assert data["coupling"] is None


def test_what_is_given_is_taken_and_motors_efforts_are_those_of_drives(tmp_path):
    """The motors' torques are C^-T tau; as efforts of the joints they fit badly."""
    C = matrix(6, _65=1.0)
    model = arm(UR5, tmp_path).with_parameters(**FRICTION, rotor_inertia=ROTORS, coupling=C.ravel())
    motion = harmonics(np.full(6, 0.7), 30.0)
    motors = model.inverse_dynamics(*motion) @ np.linalg.inv(C)
    bag = planted_arm.write(tmp_path / "bag", motion[0], motion[1], motors, RATE, model.joint_names)
    given = "--couple", "wrist_3_joint=wrist_2_joint:1"
    left = {}
    for words in ((), given, (*given, "--motor-efforts")):
        main(["identify", str(bag), "--urdf", str(UR5), "-o", str(tmp_path / "out"), "--no-compile", *words])
        data = json.loads((tmp_path / "out" / "identified.json").read_text())
        left[len(words)] = data["residual"]["held_out"]["relative"]["identified"]
    assert data["coupling"] == C.tolist()
    assert left[3] < 1e-3
    assert left[3] < 0.1 * min(left[0], left[2])


def test_a_joint_without_effort_spoils_no_drive_that_turns_with_it(tmp_path):
    """wrist_2's effort is never measured; wrist_3's drive, which turns with it, is found as before."""
    C = matrix(6, _65=1.0)
    model = arm(UR5, tmp_path).with_parameters(**FRICTION, rotor_inertia=ROTORS, coupling=C.ravel())
    motion = harmonics(np.full(6, 0.7), 30.0)
    tau = model.inverse_dynamics(*motion)
    tau += 0.01 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    tau[:, 4] = 0.5
    bag = planted_arm.write(tmp_path / "bag", motion[0], motion[1], tau, RATE, model.joint_names)
    main(
        [
            *("identify", str(bag), "--urdf", str(UR5), "-o", str(tmp_path / "out"), "--no-compile"),
            *("--couple", "wrist_3_joint=wrist_2_joint:1"),
        ]
    )
    data = json.loads((tmp_path / "out" / "identified.json").read_text())
    joints = data["residual"]["held_out"]["joints"]
    assert all(joints[j]["identified_rms"] < 0.01 * joints[j]["effort_rms"] for j in (0, 1, 2, 3, 5))
    assert [each["code"] for each in data["verdict"]["joints"]][4] == "unmeasured"
    coulomb = next(term for term in data["joints"][5]["terms"] if term["name"] == "Coulomb friction")
    assert coulomb["value"] == pytest.approx(FRICTION["coulomb"][5], rel=0.05)


def test_joints_with_coupled_drives_get_their_terms_together():
    """Full terms are much better at the second joint, a little worse at the third, coupled to it.

    Drives share their friction: both have the full terms, or none. The first joint is chosen for alone.
    """
    one = np.ones(3)
    errors = {
        "identified": [2.0, 1.0, 1.2],
        "momentary": [2.0, 1.0, 1.2],
        "plain": [1.0, 3.0, 1.0],
        "kept": [4.0, 4.0, 4.0],
    }
    held = Errors(1, one, one, **{name: np.array(each) for name, each in errors.items()})
    terms = [np.full((3, 9), value) for value in (1.0, 2.0, 3.0)]
    for C, chosen in ((None, [2.0, 1.0, 2.0]), (matrix(3, _32=1.0), [2.0, 1.0, 1.0])):
        written = written_terms(held, terms, np.zeros(3), C)
        assert written.node[:, 0].tolist() == chosen
        assert written.urdf[:, 0].tolist() == [2.0, 2.0, 2.0]


def test_gains_beside_a_coupling_are_of_drives_alone(tmp_path, capsys):
    """Recorded joints' efforts mix the drives': no gain of one drive could be told from them."""
    model = arm(UR5, tmp_path)
    bag = recorded(tmp_path, model, harmonics(np.full(6, 0.7), 10.0))
    words = "--couple", "wrist_3_joint=wrist_2_joint:1", "--payload", f"{bag.name}=2"
    code = main(["identify", str(bag), "--urdf", str(UR5), "-o", str(tmp_path / "out"), *words])
    assert code == 2
    assert "--motor-efforts" in capsys.readouterr().err


@pytest.mark.parametrize(
    "texts",
    [["b=c:1"], ["b:1"], ["b=a"], ["b=a:x"], ["b=b:1"], ["b=a:1", "a=b:1"], ["b=a:inf"], ["none", "b=a:1"]],
    ids=str,
)
def test_couplings_that_cannot_be_are_refused(texts):
    with pytest.raises(KaneDynamicsError) as error:
        couplings(texts, ("a", "b"))
    assert error.value.code == "couple"
    assert couplings(["none"], ("a", "b")) is None
