"""MuJoCo as an engine: the same arm as our plant, and clear refusals where it cannot be."""

import builtins
import sys
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.engine import Engine, SimulationDivergedError, SimulationError
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.mujoco_engine import MujocoEngine
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions
from kane_dynamics_ros.simulation.rollout import simulate

URDF = (share_directory() / "urdf" / "manipulator_5dof.urdf").read_text()
MODEL = load_model("manipulator_5dof")
N = 5


def run(engine: Engine, effort: list[float], steps: int) -> None:
    for _ in range(steps):
        engine.step(np.array(effort))


STIFF = Friction((1.0, 1.0, 1.0, 5.0, 5.0), (0.0,) * N, ExtraFriction.of(N))  # wrist: d h / J up to 5


@pytest.mark.parametrize(
    ("friction", "tolerance"),
    [
        (Friction.none(N), 1e-10),  # the same Runge-Kutta formula, MuJoCo's in steps half as long
        (None, 1e-6),  # MuJoCo's dry friction is soft
        (STIFF, 1e-3),  # MuJoCo's implicit integrator is of first order
    ],
)
def test_both_engines_move_alike(friction: Friction | None, tolerance: float) -> None:
    options = PlantOptions(friction=friction)
    engines = Plant(MODEL, options), MujocoEngine(URDF, MODEL, options)
    for engine in engines:
        engine.reset(np.array([0.1, 0.3, 0.2, 0.4, 0.5]), np.array([1.0, 0.0, 0.0, 0.5, 0.2]))
        engine.set_payload(Payload(1.0, (0.0, 0.02, 0.1), (0.01, 0.001, 0.0, 0.02, 0.002, 0.02)))
        run(engine, [3.0, 50.0, 20.0, 0.1, 0.1], 300)
    assert np.abs(engines[0].qd).max() > 1.5
    np.testing.assert_allclose(engines[1].q, engines[0].q, atol=tolerance)
    np.testing.assert_allclose(engines[1].qd, engines[0].qd, atol=tolerance)


def test_gravity_rotors_and_initial_positions_are_the_models() -> None:
    model = MODEL.with_parameters(gravity=(0.0, 0.0, -1.62), rotor_inertia=(1.0, 2.0, 3.0, 4.0, 5.0))
    engines = Plant(model), MujocoEngine(URDF, model)
    np.testing.assert_array_equal(engines[1].q, engines[0].q)
    for engine in engines:
        run(engine, [5.0, 30.0, 10.0, 2.0, 2.0], 200)
    np.testing.assert_allclose(engines[1].q, engines[0].q, atol=1e-4)


def test_locked_and_braked_joints_stay_exactly() -> None:
    engine = MujocoEngine(URDF, MODEL, PlantOptions(locked=("alpha_2",)))
    start = engine.q
    run(engine, [0.0, 0.0, 0.0, 1.0, 0.0], 100)
    assert engine.q[1] == start[1]
    assert engine.q[2] != start[2]
    engine.set_brake(np.full(N, np.inf))
    held = engine.q
    run(engine, [10.0, 100.0, 100.0, 1.0, 1.0], 100)
    np.testing.assert_array_equal(engine.q, held)


def test_friction_holds_nearly_still() -> None:
    engine = MujocoEngine(URDF, MODEL)
    start = engine.q
    extra = 0.9 * np.array([joint.friction for joint in MODEL.joints])
    run(engine, (MODEL.gravity(start) + extra).tolist(), 1000)
    np.testing.assert_allclose(engine.q, start, atol=1e-6)  # it creeps; our plant does not


def test_stops_can_be_switched_off() -> None:
    effort = [0.0, 0.0, 0.0, 5.0, 0.0]
    stopped, free = (MujocoEngine(URDF, MODEL, PlantOptions(hard_stops=stops)) for stops in (True, False))
    run(stopped, effort, 500)
    run(free, effort, 500)
    assert stopped.q[3] < 3.11
    assert free.q[3] > 4.0


def test_a_controller_errs_alike_on_both_engines() -> None:
    w = 2.0 * np.pi * 0.5
    amplitude = np.array([0.5, 0.4, 0.5, 0.6, 0.6])
    model = MODEL.with_urdf_friction()

    def trajectory(t: float) -> np.ndarray:
        c, s = np.cos(w * t), np.sin(w * t)
        start = np.array([0.0, 0.6, 0.4, 0.0, 0.0])
        return np.array([start + amplitude * (1 - c), amplitude * w * s, amplitude * w * w * c])

    def controller(reference: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        wanted = reference[2] + 400.0 * (reference[0] - q) + 40.0 * (reference[1] - qd)
        return MODEL.mass_matrix(q) @ wanted + MODEL.bias(q, qd)

    rms = []
    for engine in (Plant(model), MujocoEngine(URDF, model)):
        engine.reset(trajectory(0.0)[0], np.zeros(N))
        rollout = simulate(MODEL, controller, trajectory, 2.0, SimulatedHardware(engine))
        rms.append(np.sqrt((rollout.error**2).mean(axis=0)))
    np.testing.assert_allclose(rms[1], rms[0], rtol=0.1)  # the bound that we promise; measured 1 %


def test_other_joints_are_fixed_and_geometry_is_not_read() -> None:
    visual = '<visual><geometry><mesh filename="package://nowhere/tool.stl"/></geometry></visual>'
    extra = f"""
      <link name="finger">{visual}<inertial><mass value="0.1"/>
        <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="grip" type="prismatic"><parent link="tool"/><child link="finger"/>
        <limit lower="0" upper="0.1" effort="1" velocity="1"/></joint></robot>"""
    engine = MujocoEngine(URDF.replace("</robot>", extra), MODEL)
    run(engine, [0.0] * N, 10)
    assert len(engine.q) == N


@pytest.mark.parametrize(
    ("urdf", "message"),
    [
        (
            "<robot",
            "engine mujoco: MuJoCo refuses the URDF: unclosed token: line 1, column 0; correct the URDF, or "
            "use the own engine",
        ),
        (
            URDF.replace("beta_4", "beta_5"),
            "engine mujoco: the URDF has no joint 'beta_4'; give the URDF that model 'manipulator_5dof' was "
            "generated from",
        ),
        (
            URDF.replace('"tool"', '"tcp"'),
            "engine mujoco: the URDF has no link 'tool'; give the URDF that model 'manipulator_5dof' was "
            "generated from",
        ),
        (
            URDF.replace(
                "</robot>",
                '<joint name="f" type="revolute"><parent link="tool"/><child link="x"/>'
                '<mimic joint="gamma_4"/></joint></robot>',
            ),
            "engine mujoco: joint 'f' mimics 'gamma_4'; MuJoCo's URDF reader ignores that; "
            "use the own engine",
        ),
    ],
)
def test_a_urdf_that_does_not_fit_is_refused(urdf: str, message: str) -> None:
    with pytest.raises(SimulationError) as caught:
        MujocoEngine(urdf, MODEL)
    assert str(caught.value) == message


def test_without_mujoco_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mujoco", raising=False)
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(SimulationError) as caught:
        MujocoEngine(URDF, MODEL)
    assert str(caught.value) == (
        "engine mujoco: the mujoco package is not installed; pip install '.[mujoco]' in a checkout, or use "
        "the own engine"
    )


def test_a_diverging_arm_says_where_and_keeps_its_state(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its log there
    engine = MujocoEngine(URDF, MODEL)
    start = engine.q
    with pytest.raises(SimulationDivergedError):
        run(engine, [1e300] * N, 10)
    np.testing.assert_array_equal(engine.q, start)
