"""The control loop, the observer and a simulated arm that meets a wall, in lock step: no ROS."""

from dataclasses import replace

import numpy as np
import pytest

from kane_dynamics_ros.control.law import Law, TermSwitches
from kane_dynamics_ros.control.limits import effort_limits, position_limits
from kane_dynamics_ros.control.loop import ControlLoop, LoopSettings
from kane_dynamics_ros.control.observer import MomentumObserver, ObserverSettings, default_thresholds
from kane_dynamics_ros.control.states import Collided, Safety
from kane_dynamics_ros.control.validation import RequestPoint, Rules, TrajectoryRequest
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.faults import parse_fault
from kane_dynamics_ros.simulation.hardware import HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant

MODEL = load_model("manipulator_5dof")
RUBBING = MODEL.with_urdf_friction()
LIMITS = effort_limits(MODEL.joints)
START = np.array([0.0, 0.9, -1.2, 0.3, 0.5])
GOAL = START + np.array([0.9, 0.0, 0.0, 0.0, 0.0])
STIFFNESS = 2e4  # [N/m]


def tip(q: np.ndarray) -> np.ndarray:
    return np.asarray(MODEL.tip_pose(q)[:3, 3])


def wall() -> str:
    """Across the way of the tip, in the middle of the motion."""
    half = (START + GOAL) / 2
    point, normal = tip(half), tip(half - 1e-3) - tip(half)
    texts = (",".join(f"{value:.9g}" for value in vector) for vector in (point, normal * [1.0, 1.0, 0.0]))
    place, direction = texts
    return f"contact:wall point={place} normal={direction} stiffness={STIFFNESS:g} damping=200"


def largest_force(reaction: str) -> tuple[float, float, ControlLoop]:
    """The wall's largest and last force [N] in two seconds of a motion of one second into it."""
    lower, upper = position_limits(MODEL.joints)
    safety = Safety()
    settings = LoopSettings(
        law=Law("computed_torque", RUBBING, np.full(5, 400.0), np.full(5, 40.0), TermSwitches()),
        rules=Rules(),
        safety=replace(safety, reactions=safety.reactions | {"collision": reaction}),
        effort_limits=LIMITS,
        effort_rate=None,
        lower=lower,
        upper=upper,
        reference_limits="reject",
    )
    loop = ControlLoop(settings)
    observer = MomentumObserver(
        ObserverSettings(MODEL, RUBBING, np.full(5, 100.0), default_thresholds(RUBBING, LIMITS))
    )
    fault = parse_fault(wall())
    hardware = SimulatedHardware(Plant(MODEL), HardwareOptions(faults=(fault,)))
    hardware.engine.reset(START, np.zeros(5))
    assert fault.contact is not None
    normal = np.array(fault.contact.normal) / np.linalg.norm(fault.contact.normal)
    forces = []
    for k in range(2000):
        now = k * 1_000_000
        q, qd, effort = hardware.read()
        tau = loop.step(q, qd, now, k * 1e-3)
        assert tau is not None
        if k == 1:
            end = RequestPoint(1_000_000_000, GOAL, np.zeros(5), np.zeros(5), ())
            loop.follow(TrajectoryRequest(MODEL.joint_names, (end,), 0), now)
        if observer.update(q, qd, effort, k * 1e-3) and observer.collision and not loop.counts["collision"]:
            loop.collide(observer.collision.joint)
        hardware.write(tau)
        hardware.step()
        depth = normal @ (np.array(fault.contact.point) - tip(hardware.engine.q))
        forces.append(STIFFNESS * max(float(depth), 0.0))
    return max(forces), forces[-1], loop


@pytest.mark.parametrize("reaction", ["hold", "comply"])
def test_an_arm_that_meets_a_wall_stops_pressing_on_it(reaction: str) -> None:
    """Without a reaction computed torque leans on the wall; with one it lets go of what it pressed."""
    ignored, leaning, loop = largest_force("ignore")
    assert loop.counts["collision"] == 1
    assert leaning > 100.0
    largest, last, loop = largest_force(reaction)
    assert loop.counts["collision"] == 1
    assert isinstance(loop.state, Collided)
    assert loop.state.reaction == reaction
    assert largest < 0.9 * ignored
    assert last < 0.1 * leaning
