"""Does the lever's elasticity disturb the pump's motion? [WindPump] supposes not, and computes one way.

One way, as the paper: the rigid mechanism's motion moves the lever's frame, and the lever is integrated in
time under it and the liaison force at C' (``lever_under_liaison_forces``). Both ways (``coupled_run``): the
slide x_D and the amplitudes eta of the lever's first bending modes are coordinates of one system while the
crank turns steadily,

    M (x_D'', eta'')^T = sum P^T (forces - inertia forces), P: partial velocities by x_D' and eta'.

The lever bends between B and C', whose distance stays l_2 to the first order, so that the loop closes as for
the rigid lever.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.arm_model import floating_inertia
from kane_dynamics_ros.elastic.body import DOFS, ElasticBody, restrict, straight_beam
from kane_dynamics_ros.elastic.equations import coefficients, geometric_stiffness, mass, proportional_damping
from kane_dynamics_ros.elastic.link import beam_rates
from kane_dynamics_ros.elastic.stepping import State, beam_step, sample_time
from kane_dynamics_ros.papers.wind_pump_mechanism import (
    CRANK_SPEED,
    Lever,
    Mechanism,
    MechanismState,
    PumpMotion,
    driven,
    external_forces,
    liaison_matrix,
    mass_matrix,
)
from kane_dynamics_ros.papers.wind_pump_turn import end_pull, lever_body, lever_motion

DAMPING = 0.02  # ratio of the lever's first two modes
MODES = 3
PENDULUM_AND_SLIDE = slice(6, 10)  # their rows of (A43), which hold the forces at C' and D and no others
FORCES_AT_C_AND_D = slice(4, 8)


class CoupledMotion(NamedTuple):
    """Samples of a run, N of them.

    Time [s] (N,), slide [m] (N,), the lever's middle across its chord [m] (N,), how much nearer its ends are
    for its bend [m] (N,), and X_C, Y_C, X_D, Y_D [N] (N, 4).
    """

    time: Array
    slide: Array
    deflection: Array
    shortening: Array
    liaison: Array


class Modes(NamedTuple):
    """The lever over the amplitudes of its first bending modes, of unit modal mass.

    ``middle`` (modes,): deflection of the middle; ``shortening`` (modes, modes): int v'^2 dx / 2 is
    eta . shortening eta.
    """

    body: ElasticBody
    frequencies: Array
    middle: Array
    shortening: Array


def with_lever(pump: Mechanism, lever: Lever) -> Mechanism:
    """The pump with mass and inertia of this lever, taken as rigid."""
    m2 = beam_rates(lever.material, lever.section).m * pump.l2
    return replace(pump, a2=0.5, m2=m2, J2=m2 * pump.l2**2 / 12)


def bending_modes(pump: Mechanism, lever: Lever, modes: int = MODES) -> Modes:
    """Modes of the lever pinned at B and guided at C', without stretch."""
    dofs, last = DOFS["plane"], lever.elements * DOFS["plane"]
    beam = straight_beam("plane", beam_rates(lever.material, lever.section), pump.l2, lever.elements)
    bent = restrict(beam, {1, last + 1, *range(0, last + 1, dofs)})
    squared, shapes = scipy.linalg.eigh(bent.k, np.einsum("aaij->ij", bent.D))
    shapes = shapes[:, :modes]
    unit_load = geometric_stiffness(bent, np.ones((lever.elements, 3)))  # int N'^T N' dx
    middle = shapes[bent.free.index(lever.elements // 2 * dofs + 1)]
    body = replace(
        bent,
        D=np.einsum("abij,ik,jl->abkl", bent.D, shapes, shapes),
        E=bent.E @ shapes,
        m_O=bent.m_O @ shapes,
        k=shapes.T @ bent.k @ shapes,
        free=tuple(range(modes)),
    )
    return Modes(body, np.sqrt(squared[:modes]), middle, shapes.T @ unit_load @ shapes / 2)


def coupled_run(
    pump: Mechanism, lever: Lever, start: MechanismState, duration: float, samples: int, modes: int = MODES
) -> CoupledMotion:
    """The slide and the lever's modes as one system, the crank turning steadily; the lever starts straight.

    The mechanism's other bodies contribute as in eq. (A46), by their partial velocities. Without ``modes``
    the lever is rigid.
    """
    pump = with_lever(pump, lever)
    shape = bending_modes(pump, lever, modes)
    rest = replace(pump, m2=0.0, J2=0.0)
    c = np.diag(2 * DAMPING * shape.frequencies)

    def state_at(t: float, y: Array) -> MechanismState:
        return MechanismState(start.phi_1 + start.omega_1 * t, start.omega_1, y[0], y[modes + 1])

    def second(t: float, y: Array) -> Array:
        eta, rate = y[1 : modes + 1], y[modes + 2 :]
        motion = PumpMotion(rest, state_at(t, y))
        frame = lever_motion(motion, np.zeros(2))  # at x_D'' = 0
        inertia = floating_inertia(
            shape.body, eta, rate, frame.omega, np.concatenate([frame.epsilon, frame.a_O])
        )
        turning = motion.reduced.T[1, 1]  # of the lever, by x_D'
        matrix, load = motion.equations(0.0)
        M = np.eye(modes + 1)
        M[0, 0] = matrix[1, 1] + turning**2 * inertia.spatial[2, 2]
        M[0, 1:] = M[1:, 0] = turning * inertia.coupling[2]
        forces = np.empty(modes + 1)
        forces[0] = load[1] - turning * inertia.bias[2]
        forces[1:] = -inertia.bias_delta - shape.body.k @ eta - c @ rate
        return np.asarray(np.linalg.solve(M, forces), dtype=float)

    def rate_of(t: float, y: Array) -> Array:
        return np.concatenate([y[modes + 1 :], second(t, y)])

    moments = np.linspace(0.0, duration, samples)
    y0 = np.zeros(2 * modes + 2)
    y0[0], y0[modes + 1] = start.x_D, start.v_D
    y = solve_ivp(rate_of, (0.0, duration), y0, "DOP853", moments, rtol=1e-8, atol=1e-10).y.T
    eta = y[:, 1 : modes + 1]
    liaison = [
        forces_at_C_and_D(pump, state_at(t, state), float(second(t, state)[0]))
        for t, state in zip(moments, y, strict=True)
    ]
    shortening = np.einsum("ni,ij,nj->n", eta, shape.shortening, eta)
    return CoupledMotion(moments, y[:, 0], eta @ shape.middle, shortening, np.array(liaison))


def forces_at_C_and_D(pump: Mechanism, state: MechanismState, slide: float) -> Array:
    """X_C, Y_C, X_D, Y_D [N] from the pendulum's and the slide's rows of (A43) at x_D'' = ``slide``."""
    a = PumpMotion(pump, state).accelerations(np.array([0.0, slide]))
    left = mass_matrix(pump) @ a - external_forces(pump, state, 0.0)
    rows = liaison_matrix(pump, state.phi_1, state.x_D)[PENDULUM_AND_SLIDE, FORCES_AT_C_AND_D]
    return np.asarray(np.linalg.solve(rows, left[PENDULUM_AND_SLIDE]))


def lever_under_liaison_forces(
    pump: Mechanism, lever: Lever, start: MechanismState, duration: float, samples: int, steps: int = 10
) -> CoupledMotion:
    """The lever integrated in time, its frame moving as the rigid mechanism's and C' pulled by (X_C, -Y_C).

    ``steps`` between two samples. The pull's share across the lever goes into the guide at C'.
    """
    pump = with_lever(pump, lever)
    h = duration / (steps * (samples - 1))
    body = lever_body(pump, lever)
    first, second = bending_modes(pump, lever, 2).frequencies
    a, b = proportional_damping((DAMPING, DAMPING), (float(first), float(second)))
    damping = a * mass(body) + b * body.k
    stretch, middle = (
        body.free.index(lever.elements * k * DOFS["plane"] // 2 + i) for k, i in ((2, 0), (1, 1))
    )
    radius = 0.8  # the stretch's frequencies are far above what the steps resolve

    def state_at(t: float, y: Array) -> MechanismState:
        return MechanismState(start.phi_1 + start.omega_1 * t, start.omega_1, *y)

    def rate_of(t: float, y: Array) -> list[float]:
        return [y[1], PumpMotion(pump, state_at(t, y)).slide_acceleration()]

    slide = solve_ivp(
        rate_of,
        (0.0, duration + h),
        [start.x_D, start.v_D],
        "DOP853",
        dense_output=True,
        rtol=1e-8,
        atol=1e-10,
    ).sol
    state = State(*np.zeros((3, len(body.free))))
    found = [state.x]
    for i in range(steps * (samples - 1)):
        t = sample_time(i * h, h, radius)
        now = state_at(t, slide(t))
        motion, loads = PumpMotion(pump, now), driven(pump, now)
        system = coefficients(body, lever_motion(motion, loads.accelerations))
        force = np.zeros(len(body.free))
        force[stretch] = end_pull(motion, loads)
        state = beam_step(state, system._replace(c=system.c + damping, Q=system.Q + force), h, radius)
        if (i + 1) % steps == 0:
            found.append(state.x)
    d = np.array(found)
    moments = np.linspace(0.0, duration, samples)
    liaison = [driven(pump, state_at(t, slide(t))).liaison[4:8] for t in moments]
    return CoupledMotion(moments, slide(moments)[0], d[:, middle], -d[:, stretch], np.array(liaison))


def hypothesis(
    pump: Mechanism, lever: Lever, start: MechanismState, turns: int = 3, samples: int = 241
) -> list[str]:
    """What elasticity changes over the last of ``turns`` turns of the crank, a line each."""
    duration = turns * 2 * math.pi / CRANK_SPEED
    rigid = coupled_run(pump, lever, start, duration, samples, modes=0)
    both = coupled_run(pump, lever, start, duration, samples)
    one = lever_under_liaison_forces(pump, lever, start, duration, samples)
    last = slice(-samples // turns, None)
    stroke = float(np.ptp(rigid.slide[last]))
    moved = float(np.abs(both.slide - rigid.slide)[last].max())
    pull = np.hypot(rigid.liaison[:, 0], rigid.liaison[:, 1])[last].max()
    change = np.hypot(*(both.liaison - rigid.liaison)[last, :2].T).max()
    return [
        f"the elastic lever over turn {turns} of the crank, {MODES} bending modes, damping ratio {DAMPING:g}",
        f"  middle, one way as in the paper  {np.abs(one.deflection[last]).max() * 1e3:8.4f} mm",
        f"  middle, coupled                  {np.abs(both.deflection[last]).max() * 1e3:8.4f} mm",
        f"  stretch at C', one way           {np.abs(one.shortening[last]).max() * 1e6:8.4f} um",
        f"  ends nearer by the bend, coupled {both.shortening[last].max() * 1e6:8.4f} um",
        f"  slide, coupled less rigid        {moved * 1e6:8.4f} um of a stroke of {stroke * 1e3:.2f} mm "
        f"({moved / stroke:.1e})",
        f"  force at C', coupled less rigid  {change:8.4f} N of {pull:.2f} N ({change / pull:.1e})",
    ]
