"""What touches the tip: the laws, their texts, and what an arm does under them.

Closed forms on a slider, and MuJoCo, which computes its own kinematics and steps twenty times as often,
on the reference robot.
"""

import math
from typing import Any

import numpy as np
import pytest
from generated_robots import generated

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import parse_robot, serial_chain
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.contact import ConstantWrench, Hand, Wall, parse_contact
from kane_dynamics_ros.simulation.engine import SimulationError, TipMotion
from kane_dynamics_ros.simulation.faults import Fault, parse_fault
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.hardware import HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.mujoco_engine import MujocoEngine
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions

MASS, STIFFNESS = 2.0, 2e4
SLIDER = f"""<robot name="slider"><link name="base"/><link name="cart"><inertial><mass value="{MASS}"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="100" velocity="9"/></joint></robot>"""


@pytest.fixture(scope="module")
def slider(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A cart of 2 kg that slides along x, without friction."""
    chain = serial_chain(parse_robot(SLIDER, "slider"))
    return load_model(write_module(derive(chain), "slider", tmp_path_factory.mktemp("slider"))[0])


def touched(model: Any, fault: str, seconds: float, qd: list[float], effort: list[float]) -> np.ndarray:
    """Positions and velocities (N, 2, n) at each time step of an arm under one fault."""
    hardware = SimulatedHardware(Plant(model), HardwareOptions(faults=(parse_fault(fault),)))
    hardware.write(np.array(effort))
    hardware.engine.reset(np.zeros(len(qd)), np.array(qd))
    found = []
    for _ in range(round(seconds / hardware.engine.time_step)):
        hardware.step()
        found.append([hardware.engine.q.copy(), hardware.engine.qd.copy()])
    return np.array(found)


def test_a_wrench_accelerates_the_arm_while_it_lasts(slider: Any) -> None:
    found = touched(slider, "contact:wrench force=6,50,0@0.1..0.3", 0.5, [0.0], [0.0])
    assert found[98, 1, 0] == 0.0
    np.testing.assert_allclose(found[-1, 1, 0], 6.0 / MASS * 0.2, rtol=1e-12)
    assert found[298, 1, 0] < found[299, 1, 0] == found[-1, 1, 0]


def test_a_wrench_in_tip_axes_turns_with_the_tip() -> None:
    R_RT = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    tip = TipMotion(R_RT, np.zeros(3), np.zeros(3))
    force, torque = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
    own = ConstantWrench(force, torque, "tip").wrench(tip, 0.0, math.inf)
    np.testing.assert_allclose(own, [-2.0, 1.0, 3.0, -5.0, 4.0, 6.0], atol=1e-15)
    np.testing.assert_array_equal(ConstantWrench(force, torque).wrench(tip, 0.0, math.inf), [*force, *torque])


def test_an_elastic_wall_throws_back_all_of_the_speed(slider: Any) -> None:
    """Half a period of the spring, pi sqrt(m/k), and as deep as v sqrt(m/k); energy is kept."""
    v = 0.5
    found = touched(
        slider, f"contact:wall point=0.1,0,0 normal=-2,0,0 stiffness={STIFFNESS:g}", 0.5, [v], [0]
    )
    inside = found[:, 0, 0] > 0.1
    half_period, depth = math.pi * math.sqrt(MASS / STIFFNESS), v * math.sqrt(MASS / STIFFNESS)
    assert abs(inside.sum() * 1e-3 - half_period) <= 2e-3  # seen in steps of 1 ms
    np.testing.assert_allclose(found[:, 0, 0].max() - 0.1, depth, rtol=0.01)
    np.testing.assert_allclose(found[-1, 1, 0], -v, rtol=0.02)  # entry and exit fall within a step


def test_an_arm_that_leans_on_a_damped_wall_rests_where_the_spring_holds_it(slider: Any) -> None:
    wall = f"contact:wall point=0.1,0,0 normal=-1,0,0 stiffness={STIFFNESS:g} damping=400"
    found = touched(slider, wall, 4.0, [0.0], [30.0])
    np.testing.assert_allclose(found[-1, 0, 0], 0.1 + 30.0 / STIFFNESS, rtol=1e-9)
    assert abs(found[-1, 1, 0]) < 1e-9


def test_a_wall_never_pulls() -> None:
    wall = Wall((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 100.0, 50.0)
    leaving = TipMotion(np.eye(3), np.array([-0.01, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    assert not wall.wrench(leaving, 0.0, math.inf).any()
    outside = TipMotion(np.eye(3), np.array([0.01, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]))
    assert not wall.wrench(outside, 0.0, math.inf).any()


def test_a_hand_comes_and_goes_smoothly() -> None:
    tip = TipMotion(np.eye(3), np.zeros(3), np.zeros(3))
    hand = Hand((0.0, 10.0, 0.0), rise=0.2)
    time = np.linspace(0.0, 1.0, 1001)
    force = np.array([hand.wrench(tip, t, 1.0 - t)[1] for t in time])
    np.testing.assert_allclose(
        force[[0, 100, 200, 500, 800, 900, 1000]], [0, 5, 10, 10, 10, 5, 0], atol=1e-12
    )
    steepest = 10.0 * math.pi / 2 / 0.2
    assert np.abs(np.diff(force) / np.diff(time)).max() <= steepest


def test_a_hand_switched_by_hand_begins_when_it_is_switched(slider: Any) -> None:
    hardware = SimulatedHardware(Plant(slider))
    hardware.write(np.zeros(1))
    for _ in range(500):
        hardware.step()
    hardware.switch_faults([parse_fault("contact:hand force=10,0,0 rise=0.1")])
    speeds = []
    for _ in range(100):
        hardware.step()
        speeds.append(float(hardware.engine.qd[0]))
    # the rise's mean is half of the force
    np.testing.assert_allclose(speeds[-1], 0.5 * 10.0 / MASS * 0.1, rtol=0.02)
    hardware.switch_faults([])
    hardware.step()
    hardware.step()
    assert hardware.engine.qd[0] == pytest.approx(speeds[-1], abs=1e-12)


@pytest.mark.parametrize(("kind", "bound"), [("wall", 5e-3), ("hand", 1e-3)])
def test_mujoco_moves_the_arm_alike_under_a_contact(kind: str, bound: float) -> None:
    """The reference robot swings into a wall that stands across its way, or is pushed; angles after 0.6 s.

    MuJoCo finds the tip and carries its load to the joints by itself, twenty times a step. The bound is a
    fraction of what the contact does to the angles; at the wall, the step in which it is met counts.
    """
    robot = generated("manipulator_5dof")
    model = load_model(robot.module)
    options = PlantOptions(friction=Friction.none(5), hard_stops=False)
    start, speed = np.array([0.3, 0.9, 0.5, 0.2, -0.1]), np.array([0.3, 0.9, 0.4, 0.0, 0.0])

    def end(engine: Plant | MujocoEngine, steps: int, fault: str | None) -> np.ndarray:
        faults = () if fault is None else (parse_fault(fault),)
        hardware = SimulatedHardware(engine, HardwareOptions(faults=faults))
        engine.set_tip_load(None)
        hardware.write(model.gravity(start))
        engine.reset(start, speed)
        for _ in range(steps):
            hardware.step()
        return engine.q.copy()

    plant, mujoco = Plant(model, options), MujocoEngine(robot.urdf.read_text(), model, options)
    on_the_way = [model.tip_pose(end(plant, steps, None))[:3, 3] for steps in (300, 301)]
    point, normal = on_the_way[0], on_the_way[0] - on_the_way[1]
    texts = {
        "wall": f"wall point={','.join(map(repr, point.tolist()))} "
        f"normal={','.join(map(repr, normal.tolist()))} stiffness=8000 damping=150",
        "hand": "hand force=60,-40,30",
    }
    fault = f"contact:{texts[kind]}@0.05.."
    ours, free = end(plant, 600, fault), end(plant, 600, None)
    assert np.abs(ours - free).max() > 0.03
    np.testing.assert_allclose(end(mujoco, 600, None), free, atol=1e-5)
    assert np.abs(end(mujoco, 600, fault) - ours).max() < bound * np.abs(ours - free).max()


def test_the_text_of_a_contact_reads_back() -> None:
    for text in (
        "contact:wrench force=0,0,-20 torque=0,1,0 frame=tip@1..2",
        "contact:wall point=0.6,0,0.3 normal=-1,0,0 stiffness=20000 damping=30@0.5..inf",
        "contact:hand force=0,15,0 rise=0.2",
    ):
        fault = parse_fault(text)
        assert fault.contact is not None
        assert parse_fault(str(fault)) == fault


@pytest.mark.parametrize(
    "text",
    [
        "contact",
        "contact:hammer force=1,2,3",
        "contact:wrench",
        "contact:wrench force=1,2",
        "contact:wrench force=1,2,nan",
        "contact:wrench force=1,2,3 frame=world",
        "contact:hand force=1,2,3 rise=0",
        "contact:wall point=0,0,0 normal=0,0,0 stiffness=1",
        "contact:wall point=0,0,0 normal=1,0,0 stiffness=-1",
        "contact:wall point=0,0,0 normal=1,0,0 stiffness=1 colour=red",
    ],
)
def test_a_contact_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(SimulationError):
        parse_fault(text)


def test_a_contact_needs_its_law_and_no_other_fault_takes_one() -> None:
    with pytest.raises(SimulationError):
        Fault("contact")
    with pytest.raises(SimulationError):
        Fault("dropout", contact=parse_contact("hand force=1,0,0"))
