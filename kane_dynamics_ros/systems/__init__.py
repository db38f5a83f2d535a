"""Kane's method for systems of bodies: trees, loops, rolling, couplings, generalized speeds of one's own."""

from kane_dynamics_ros.systems.equations import (
    close,
    constraint_efforts,
    energy,
    forward_dynamics,
    independent_speeds,
    inverse_dynamics,
)
from kane_dynamics_ros.systems.kinematics import cos, sin
from kane_dynamics_ros.systems.linear import Linearisation, linearise
from kane_dynamics_ros.systems.model import (
    Body,
    Coincident,
    Coupling,
    Holonomic,
    MultibodyError,
    Nonholonomic,
    NoSlip,
    Perpendicular,
    Point,
    System,
)
from kane_dynamics_ros.systems.motion import Simulation, complete_speeds, simulate
from kane_dynamics_ros.systems.read import load_system, system_of_robot
from kane_dynamics_ros.systems.witnesses import Agreement, verify

__all__ = [
    "Agreement",
    "Body",
    "Coincident",
    "Coupling",
    "Holonomic",
    "Linearisation",
    "MultibodyError",
    "NoSlip",
    "Nonholonomic",
    "Perpendicular",
    "Point",
    "Simulation",
    "System",
    "close",
    "complete_speeds",
    "constraint_efforts",
    "cos",
    "energy",
    "forward_dynamics",
    "independent_speeds",
    "inverse_dynamics",
    "linearise",
    "load_system",
    "simulate",
    "sin",
    "system_of_robot",
    "verify",
]
