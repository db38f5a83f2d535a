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
    Lever,
    Loads,
    Mechanism,
    MechanismState,
    PumpMotion,
    driven,
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
        return [y[1], PumpMotion(pump, MechanismState(speed * t, speed, y[0], y[1])).slide_acceleration()]

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


def lever_motion(motion: PumpMotion, independent: Array) -> RigidMotion:
    """Acceleration of B less free fall, omega_2, epsilon_2, in the lever's frame, at (epsilon_1, x_D'')."""
    lever = motion.bodies(independent)["lever"]
    along, across = axes(motion)
    up = GRAVITY * np.array([along[1], across[1], 0.0])
    return RigidMotion(np.array(lever.a) + up, np.array(lever.omega), np.array(lever.alpha))


def axes(motion: PumpMotion) -> tuple[Array, Array]:
    """Unit vectors along the lever and across it."""
    angle = motion.q[0] + motion.q[1]
    return np.array([math.cos(angle), math.sin(angle)]), np.array([-math.sin(angle), math.cos(angle)])


def end_pull(motion: PumpMotion, loads: Loads) -> float:
    """What C' pulls the lever with along its axis, eq. (A34) [N]."""
    X_C, Y_C = loads.liaison[4:6]
    return float(np.array([X_C, -Y_C]) @ axes(motion)[0])


def lever_frequencies(
    pump: Mechanism, lever: Lever, turn: CrankTurn, stiffened: bool = False, modes: int = 2
) -> Array:
    """The lever's first natural frequencies [rad/s] at each sample, (N, modes): eq. (20), figure 6."""
    body = lever_body(pump, lever)
    rows = []
    for state, loads in zip(turn.motions, turn.loads, strict=True):
        motion = PumpMotion(pump, state)
        rigid = lever_motion(motion, loads.accelerations)
        system = coefficients(body, rigid)
        if stiffened:
            k_G = geometric_stiffness(body, axial_load(body, rigid, end_pull(motion, loads)))
            system = system._replace(k=system.k + k_G)
        rows.append(gyroscopic_frequencies(system)[:modes])
    return np.array(rows)


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
