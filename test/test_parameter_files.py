"""What commands make of a file of the node's parameters, as ``identify`` writes it, with coupled drives."""

import json

import numpy as np
import pytest
import yaml
from replay_bags import effort, motion, pinocchio_arm, record, write_bag

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.runtime.node_parameters import RosParameterError, with_parameter_file
from kane_dynamics_ros.simulation.engine import SimulationError
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions
from kane_dynamics_ros.yaml_text import parameter_file

MODEL, N = load_model("manipulator_5dof"), 5
C = np.eye(N)  # the last drive turns with the joint before it, too
C[4, 3] = 1.0
ROTORS, VISCOUS, COULOMB, OFFSET = (
    np.array([0.1, 0.2, 0.1, 0.05, 0.05]),
    np.array([0.5, 0.4, 0.3, 0.2, 0.2]),
    np.array([0.6, 0.8, 0.5, 0.4, 0.3]),
    np.array([0.0, 0.3, 0.0, 0.0, -0.2]),
)
GIVEN = {
    "rotor_inertia": ROTORS.tolist(),
    "friction": {
        "viscous": VISCOUS.tolist(),
        "coulomb": COULOMB.tolist(),
        "coulomb_velocity": 0.02,
        "offset": OFFSET.tolist(),
        "load": [0.05] * N,
        "coupling": C.ravel().tolist(),
    },
}
Q, QD, QDD = (2.0 * values for values in motion(8.0, 250.0, N))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text(parameter_file({"model": "any.py", "mode": "feedforward", **GIVEN}, ["found"]))
    return path


def efforts(q, qd, qdd, at_rest=0.0):
    """Of bodies, rotors and drives, from Pinocchio and virtual power.

    ``at_rest``: the part of dry friction that stays in the direction of the last motion while a drive stands.
    """
    bodies = effort(pinocchio_arm(), q, qd, qdd) - MODEL.parameters.rotor_inertia * qdd
    w = qd @ C.T
    rotors = (qdd @ C.T * ROTORS) @ C
    load = (bodies + rotors) @ np.linalg.inv(C)
    s, last = np.tanh(w / 0.02), np.zeros_like(w)
    for k in range(len(w)):
        last[k] = np.where(np.abs(w[k]) >= 0.02, np.sign(w[k]), last[k - 1] if k else 0.0)
    dry = (COULOMB + 0.05 * np.abs(load)) * (s + at_rest * (1.0 - np.abs(s)) * last)
    return bodies + rotors + (VISCOUS * w + dry + OFFSET) @ C


def test_torque_gives_the_efforts_of_coupled_drives(file, capsys):
    states = [",".join(map(repr, each[700].tolist())) for each in (Q, QD, QDD)]
    options = [word for pair in zip(("--q", "--qd", "--qdd"), states, strict=True) for word in pair]
    assert main(["torque", "manipulator_5dof", "--parameters", str(file), *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = efforts(Q[[700]], QD[[700]], QDD[[700]])[0]
    np.testing.assert_allclose(found["torque"], expected, rtol=1e-9, atol=1e-9)
    parts = [found[name] for name in ("inertia", "coriolis", "gravity", "friction")]
    np.testing.assert_allclose(np.sum(parts, axis=0), expected, rtol=1e-9, atol=1e-9)


def test_annotate_writes_them(file, tmp_path, capsys):
    points = [
        {
            "positions": q.tolist(),
            "velocities": qd.tolist(),
            "accelerations": qdd.tolist(),
            "time_from_start": {"sec": 1, "nanosec": 4_000_000 * k},
        }
        for k, (q, qd, qdd) in enumerate(zip(Q[700:720], QD[700:720], QDD[700:720], strict=True))
    ]
    points[-1]["velocities"] = [0.0] * N  # a motion ends at rest
    source, target = tmp_path / "in.yaml", tmp_path / "out.yaml"
    source.write_text(yaml.safe_dump({"joint_names": list(MODEL.joint_names), "points": points}))
    words = ["manipulator_5dof", str(source), "-o", str(target), "--no-limits", "--parameters", str(file)]
    assert main(["annotate", *words]) == 0
    first = yaml.safe_load(target.read_text())["points"][0]["effort"]
    np.testing.assert_allclose(first, efforts(Q[[700]], QD[[700]], QDD[[700]])[0], rtol=1e-9, atol=1e-9)


def test_replay_judges_with_what_identify_wrote(file, tmp_path, capsys):
    """Without the file the coupling is what remains; with it, nothing does."""
    stays = {**GIVEN["friction"], "at_rest": [0.5] * N}
    file.write_text(parameter_file({**GIVEN, "friction": stays}, []))
    tau = efforts(Q, QD, QDD, at_rest=0.5)
    bag = write_bag(tmp_path / "bag", record(Q, QD, tau, 250.0, MODEL.joint_names))
    words = ["replay", str(bag), "--model", "manipulator_5dof", "--max-nrmse", "0.001"]
    assert main([*words, "--parameters", str(file)]) == 0
    assert "no term is at fault" in capsys.readouterr().out
    single = {**stays, "coupling": []}
    file.write_text(parameter_file({**GIVEN, "friction": single}, []))
    assert main([*words, "--parameters", str(file)]) == 1
    assert "beta_4" in capsys.readouterr().out
    assert main([*words, "--parameters", str(file), "--live"]) == 2
    assert "ros2 param load" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"mode": "feedforward"}, "gravity, payload, rotor_inertia, friction"),
        ({"friction": {"viscos": [1.0]}}, "'friction.viscos': found [1.0]; allowed is no such parameter"),
        ({"friction": {"viscous": [1.0, 2.0]}}, "'friction.viscous': found [1.0, 2.0]"),
        ({"friction": {"coulomb": ["a"]}}, "'friction.coulomb'"),
        ({"friction": {"coupling": [1.0, 0.0]}}, "'friction.coupling'"),
    ],
    ids=["nothing of the model", "misspelt", "too few", "no number", "no matrix"],
)
def test_a_file_that_cannot_be_meant_is_refused(content, said, tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text(parameter_file(content, []))
    with pytest.raises(RosParameterError) as refused:
        with_parameter_file(MODEL, file)
    assert said in str(refused.value)


def test_what_a_file_leaves_out_is_as_the_node_has_it(tmp_path):
    """The URDF's friction, and the model's gravity; a tool, as identify --payload-only writes it."""
    tool = {"mass": 1.5, "com": [0.01, 0.0, 0.1], "inertia": [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]}
    file = tmp_path / "parameters.yaml"
    file.write_text(parameter_file({"payload": tool}, []))
    model, beyond = with_parameter_file(MODEL, file)
    known = Payload(1.5, (0.01, 0.0, 0.1), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    assert model.parameters == MODEL.with_urdf_friction().with_parameters(payload=known).parameters
    assert beyond is not None
    assert not beyond.any
    assert beyond.coupling is None


def test_gains_that_are_not_given_follow_the_drives_inertia_too():
    pytest.importorskip("rclpy", reason="the node's parameters need ROS 2")
    from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings

    values = {each.name: each.default for each in TABLE} | {"mode": "feedforward_pd", "payload.mass": 3.0}
    values |= {"rotor_inertia": ROTORS.tolist(), "friction.coupling": C.ravel().tolist()}
    bodies = MODEL.with_parameters(rotor_inertia=np.zeros(N)).mass_matrix(np.zeros(N))
    inertia = 1.0 / np.diag(np.linalg.inv(bodies + C.T @ np.diag(ROTORS) @ C))
    law = build_settings(values, MODEL).law
    np.testing.assert_allclose(law.kp, 400.0 * inertia, rtol=1e-11)  # rounding in the inverse
    np.testing.assert_allclose(law.kd, 40.0 * inertia, rtol=1e-11)


def test_the_simulated_arm_refuses_drives_that_are_not_independent():
    singular = np.eye(N)
    singular[3, 4] = singular[4, 3] = 1.0
    with pytest.raises(SimulationError) as refused:
        Friction(VISCOUS, COULOMB, ExtraFriction.of(N, coupling=singular))
    assert refused.value.option == "friction.coupling"


def test_a_brake_that_may_slip_is_refused_where_drives_are_coupled():
    plant = Plant(MODEL, PlantOptions(friction=Friction(VISCOUS, COULOMB, ExtraFriction.of(N, coupling=C))))
    with pytest.raises(SimulationError) as refused:
        plant.set_brake(np.array([0.0, 0.0, 2.0, 0.0, 0.0]))
    assert refused.value.option == "brake"
    plant.set_brake(np.array([0.0, 0.0, np.inf, 0.0, 0.0]))
