"""One turn of the crank: the steady motion, the liaison forces, and the elastic lever's frequencies.

The liaison forces at the nodes of an elastic body are gone from the assembled equations, and recovered from
the motion afterwards. Assembly is a projection: with the nodal coordinates of all elements one after the
other, delta_e = A delta, and A^T (m_e A delta'' + ... - Q_e - Q_liaison) = 0 has no liaison forces left,
because those of two elements at one node are opposite ([WindPump] eqs. (A44) to (A46)). Each element's own
equation (20) gives them back.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.body import DOFS, ElasticBody, restrict, straight_beam
from kane_dynamics_ros.elastic.equations import (
    RigidMotion,
    axial_load,
    coefficients,
    geometric_stiffness,
    gyroscopic_frequencies,
    skew,
)
from kane_dynamics_ros.elastic.link import beam_rates
from kane_dynamics_ros.papers.wind_pump_mechanism import (
    CRANK_SPEED,
    GRAVITY,
    Angles,
    Lever,
    Loads,
    Mechanism,
    MechanismState,
    acceleration_terms,
    close_loop,
    direction,
    driven,
    slide_acceleration,
    speed_ratios,
)

SETTLING_TURNS = 6


class CrankTurn(NamedTuple):
    """Samples over one turn: time [s], (N,), states and loads."""

    time: Array
    motions: tuple[MechanismState, ...]
    loads: tuple[Loads, ...]


def steady_turn(pump: Mechanism, samples: int = 181, speed: float = CRANK_SPEED) -> CrankTurn:
    """The turn to which the slide settles when the crank turns at ``speed`` [rad/s].

    The paper reads this motion from an optical record; ours follows from eq. (A46).
    """
    period = 2 * math.pi / speed
    start = SETTLING_TURNS * period

    def rate(t: float, y: Array) -> list[float]:
        return [y[1], slide_acceleration(pump, MechanismState(speed * t, speed, y[0], y[1]))]

    time = np.linspace(start, start + period, samples)
    solution = solve_ivp(rate, (0.0, time[-1]), [pump.x0, 0.0], "LSODA", time, rtol=1e-7, atol=1e-9)
    motions = tuple(
        MechanismState(speed * t, speed, float(x), float(v))
        for t, x, v in zip(time, *solution.y, strict=True)
    )
    return CrankTurn(time - start, motions, tuple(driven(pump, motion) for motion in motions))


def lever_body(pump: Mechanism, lever: Lever) -> ElasticBody:
    """The lever BC' in the plane, pinned at B and guided across at C', where the liaison force acts."""
    rates = beam_rates(lever.material, lever.section)
    body = straight_beam("plane", rates, pump.l2, lever.elements)
    return restrict(body, (0, 1, lever.elements * DOFS["plane"] + 1))


def lever_motion(pump: Mechanism, motion: MechanismState, loads: Loads) -> RigidMotion:
    """Acceleration of B less free fall, omega_2 and epsilon_2, in the lever's frame."""
    angles = close_loop(pump, motion.phi_1, motion.x_D)
    a = speed_ratios(pump, angles)
    b = acceleration_terms(pump, angles, a)
    speeds = np.array([pump.l1 * motion.omega_1, motion.v_D])
    epsilon_1, slide = loads.accelerations
    products = np.array([speeds[0] ** 2, speeds[0] * speeds[1], speeds[1] ** 2])
    omega_2 = float(a[0] @ speeds) / pump.l2  # eq. (A20)
    epsilon_2 = float(a[0] @ [pump.l1 * epsilon_1, slide] + b[0] @ products) / pump.l2  # eq. (A24)
    crank = pump.l1 * direction(motion.phi_1)
    a_B = epsilon_1 * np.array([-crank[1], crank[0]]) - motion.omega_1**2 * crank + [0.0, GRAVITY]
    along, across = axes(angles)
    return RigidMotion(
        np.array([a_B @ along, a_B @ across, 0.0]),
        np.array([0.0, 0.0, omega_2]),
        np.array([0.0, 0.0, epsilon_2]),
    )


def lever_frequencies(
    pump: Mechanism, lever: Lever, turn: CrankTurn, stiffened: bool = False, modes: int = 2
) -> Array:
    """The lever's first natural frequencies [rad/s] at each sample, (N, modes): eq. (20), figure 6."""
    body = lever_body(pump, lever)
    rows = []
    for motion, loads in zip(turn.motions, turn.loads, strict=True):
        rigid = lever_motion(pump, motion, loads)
        system = coefficients(body, rigid)
        if stiffened:
            along, _ = axes(close_loop(pump, motion.phi_1, motion.x_D))
            X_C, Y_C = loads.liaison[4:6]
            end_load = float(np.array([X_C, -Y_C]) @ along)  # what C' pulls with, eq. (A34)
            k_G = geometric_stiffness(body, axial_load(body, rigid, end_load))
            system = system._replace(k=system.k + k_G)
        rows.append(gyroscopic_frequencies(system)[:modes])
    return np.array(rows)


def axes(angles: Angles) -> tuple[Array, Array]:
    """Unit vectors along the lever and across it."""
    along = direction(angles.phi_2)
    return along, np.array([-along[1], along[0]])


# Liaison forces at the nodes of an elastic body


def connectivity(body: ElasticBody) -> Array:
    """A with delta_e = A delta, (elements * 2 dofs, free coordinates)."""
    dofs = DOFS[body.kind]
    rows = np.concatenate([np.arange(e * dofs, (e + 2) * dofs) for e in range(body.elements)])
    return np.asarray(np.eye((body.elements + 1) * dofs)[rows][:, body.free])


def liaison_forces(body: ElasticBody, motion: RigidMotion, delta: Array, rate: Array, second: Array) -> Array:
    """Forces and moments on each element's two nodes by its neighbours, supports and loads.

    ``delta``, ``rate``, ``second``: the free coordinates and their derivatives. Returns (elements, 2 dofs)
    [N, N m] in the frame L, node 1 before node 2; without stiffening and damping.
    """
    part, A = body.element, connectivity(body)
    W = skew(motion.epsilon) + skew(motion.omega) @ skew(motion.omega)
    m = np.einsum("aaij->ij", part.D)
    c = 2.0 * np.tensordot(skew(motion.omega), part.D, 2)
    k = part.k + np.tensordot(W, part.D, 2)
    starts = body.x0 + part.L * np.arange(body.elements)
    acceleration = motion.a_O + np.outer(starts, W[:, 0])  # of each element's first node, undeformed
    rigid = acceleration @ part.m_O + np.tensordot(W, part.E, 2)
    d, v, a = ((A @ values).reshape(body.elements, -1) for values in (delta, rate, second))
    return np.asarray(a @ m.T + v @ c.T + d @ k.T + rigid)


def support_reactions(body: ElasticBody, forces: Array) -> Array:
    """Sum of the liaison forces at each node, (nodes, dofs): 0 where no support and no load acts."""
    dofs = DOFS[body.kind]
    total = np.zeros((body.elements + 1, dofs))
    total[:-1] += forces[:, :dofs]
    total[1:] += forces[:, dofs:]
    return total
