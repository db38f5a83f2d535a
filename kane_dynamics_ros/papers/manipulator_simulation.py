"""[Malvezzi2017]'s simulations, both ways: Maggi's equations as a DAE, Kane's as an ODE.

The arm is the reference robot's URDF with its wrist locked and the end-effector a point mass at O_4: Table
2's numbers. Each input curve rises to its extremum and returns, by the cycloid s = t/T - sin(2 pi t/T) / (2
pi): its second derivative is a sine, and first and second derivatives vanish together at both ends of each
stroke.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description import Chain, Inertia, Robot, serial_chain
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.papers import manipulator_maggi as symbols
from kane_dynamics_ros.papers.manipulator_maggi import FREE, MaggiDae

Acceleration = Callable[[float, Array, Array], Array]  # (t, q, qd) -> qdd

# The paper gives neither amplitudes nor durations; these are ours.
STROKE = 2.5  # [s], the slow motion's rise; its return takes as long
FASTER = 2.5  # the paper's ratio between the rates of figures 2 and 3
AMPLITUDES = (np.pi / 2, np.pi / 4, -np.pi / 3)  # [rad] of gamma_1, alpha_2, alpha_3
VARIATIONS = (3.0, 0.4, -0.2)  # [N m], added to the static torques in the forward simulation
FORWARD_STROKE = 1.0  # [s]
GRAVITY = 9.81  # [m/s^2]
LIMBS = ("limb_1", "limb_2", "limb_3")
END_EFFECTOR = ("wrist", "hand")
WRIST = ("beta_4", "gamma_4")
TOLERANCE = 1e-11  # of the integrations, relative and absolute


# Input curves


class InputCurve(NamedTuple):
    """A curve at times t: value, first and second derivative; each (..., 3) for three coordinates."""

    position: Array
    rate: Array
    acceleration: Array


def there_and_back(t: ArrayLike, amplitudes: ArrayLike, stroke: float) -> InputCurve:
    """From 0 to ``amplitudes`` in ``stroke`` seconds and back to 0; still before and after."""
    time = np.clip(np.asarray(t, float), 0.0, 2 * stroke)[..., None]
    phase, returning = time / stroke, time > stroke
    turn = 2 * np.pi * phase
    rise = phase - np.sin(turn) / (2 * np.pi)
    sign = np.where(returning, -1.0, 1.0)
    position = np.where(returning, 2.0 - rise, rise)
    rate = sign * (1 - np.cos(turn)) / stroke
    acceleration = sign * 2 * np.pi * np.sin(turn) / stroke**2
    size = np.asarray(amplitudes, float)
    return InputCurve(position * size, rate * size, acceleration * size)


# The arm


class Manipulator(NamedTuple):
    """The paper's manipulator: three limbs, and the end-effector as a point mass at the tip."""

    chain: Chain
    end_effector: Inertia

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """T (3,) by Kane's equations."""
        gravity, payload = (0.0, 0.0, -GRAVITY), self.end_effector
        return np.array(dynamics.inverse_dynamics(self.chain, q, qd, qdd, gravity, payload), float)

    def forward_dynamics(self, q: Array, qd: Array, torques: Array) -> Array:
        """The accelerations (3,) that torques cause: M u' = T - V."""
        still = np.zeros(FREE)
        at_rest = self.inverse_dynamics(q, still, still)
        M = np.column_stack([self.inverse_dynamics(q, still, e) - at_rest for e in np.eye(FREE)])
        return np.asarray(np.linalg.solve(M, torques - self.inverse_dynamics(q, qd, still)))


def manipulator(robot: Robot) -> Manipulator:
    """The paper's model out of the reference robot's URDF."""
    chain = serial_chain(robot, lock=dict.fromkeys(WRIST, 0.0))
    inertias = {link.name: link.inertia for link in robot.links if link.inertia is not None}
    joints = tuple(
        replace(joint, inertia=inertias[limb]) for joint, limb in zip(chain.joints, LIMBS, strict=True)
    )
    mass = sum(inertias[link].mass for link in END_EFFECTOR)
    nothing = (0.0, 0.0, 0.0)
    return Manipulator(replace(chain, joints=joints), Inertia(mass, nothing, (nothing, nothing, nothing)))


def maggi_dae(arm: Manipulator) -> MaggiDae:
    """The paper's Maggi equations with the same numbers."""
    first, second, third = (joint.inertia for joint in arm.chain.joints)
    numbers = {symbols.g: GRAVITY, symbols.J_z1: first.tensor[2][2], symbols.m_4: arm.end_effector.mass}
    numbers |= {symbols.l_2: 2 * second.com[1], symbols.l_3: 2 * third.com[1]}
    numbers |= {symbols.m_2: second.mass, symbols.m_3: third.mass}
    for body, names in ((second, "J_x2 J_y2 J_z2"), (third, "J_x3 J_y3 J_z3")):
        numbers |= {getattr(symbols, name): body.tensor[i][i] for i, name in enumerate(names.split())}
    return MaggiDae(numbers)


# Simulations


class Inverse(NamedTuple):
    """A prescribed motion and the torques that it takes, (N, 3) each."""

    t: Array
    motion: InputCurve
    maggi: Array
    kane: Array


def inverse_simulation(arm: Manipulator, amplitudes: ArrayLike, stroke: float, samples: int) -> Inverse:
    """Torques of a motion there and back, by Maggi's DAE and by Kane's equations."""
    t = np.linspace(0.0, 2 * stroke, samples)
    motion = there_and_back(t, amplitudes, stroke)
    dae = maggi_dae(arm)
    maggi = np.array([dae.torques(*state) for state in zip(*motion, strict=True)])
    kane = np.array([arm.inverse_dynamics(*state) for state in zip(*motion, strict=True)])
    return Inverse(t, motion, maggi, kane)


class Forward(NamedTuple):
    """Torques near the static ones and the motion that follows: ``maggi`` and ``kane`` (N, 3) positions.

    ``drift`` is the largest constraint violation of the DAE's solution [m or rad].
    """

    t: Array
    torques: Array
    maggi: Array
    kane: Array
    drift: float


def static_torques(arm: Manipulator) -> Array:
    """What holds the arm at gamma_1 = alpha_2 = alpha_3 = 0."""
    return arm.inverse_dynamics(np.zeros(FREE), np.zeros(FREE), np.zeros(FREE))


def forward_simulation(
    arm: Manipulator, samples: int, variations: ArrayLike = VARIATIONS, stroke: float = FORWARD_STROKE
) -> Forward:
    """The arm let go at rest under slightly varied static torques, integrated both ways."""
    static = static_torques(arm)

    def torques(t: ArrayLike) -> Array:
        return np.asarray(static + there_and_back(t, variations, stroke).position)

    t = np.linspace(0.0, 2 * stroke, samples)
    dae = maggi_dae(arm)
    q_0 = dae.positions(np.zeros(FREE))
    redundant = _integrate(lambda time, q, v: dae.acceleration(q, v, torques(time)), t, q_0)
    minimal = _integrate(lambda time, q, v: arm.forward_dynamics(q, v, torques(time)), t, np.zeros(FREE))
    drift = max(float(np.max(np.abs(dae.constraints(q)))) for q in redundant)
    return Forward(t, torques(t), redundant[:, :FREE], minimal, drift)


def _integrate(acceleration: Acceleration, t: Array, q_0: Array) -> Array:
    """Positions (N, n) at times t from rest at q_0 (n,)."""
    n = q_0.size

    def rate(time: float, state: Array) -> Array:
        return np.concatenate([state[n:], acceleration(time, state[:n], state[n:])])

    start = np.concatenate([q_0, np.zeros(n)])
    solution = solve_ivp(rate, (t[0], t[-1]), start, "DOP853", t, rtol=TOLERANCE, atol=TOLERANCE)
    return np.asarray(solution.y[:n].T)
